"""Secrets in addresses, cookies and Kubernetes manifests.

- Passwords, signatures and tokens in addresses.
- Cookies and Kubernetes manifests, read part by part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.text.secrets.rules import (
    Finding,
    SearchRule,
    is_placeholder,
    looks_random,
    looks_secret,
    may_be_password,
    search_rule,
    words,
)

# --- Passwords, signatures and tokens in addresses ---

PASSWORD_IN_ADDRESS = "password in an address"  # noqa: S105 - the name of a kind
TOKEN_IN_ADDRESS = "token in an address"  # noqa: S105 - the name of a kind
SIGNATURE_IN_ADDRESS = "signature in an address"
SECRET_IN_ADDRESS = "secret in an address"  # noqa: S105 - the name of a kind

_ADDRESS = re.compile(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,30}+://", re.IGNORECASE)
_USERINFO = re.compile(r"([^\s:/@\"'<>?#]{0,100}):([^\s/\"'<>]{1,300})@(?=[\w\[$({])")
_USER_WITH_SLASH = re.compile(r"([^\s:/@\"'<>?#]{0,100}):([^\s\"'<>@]{1,120})@(?=[\w.-]{1,80}(?::\d|/|$|\s|\"|'))")
_LONE_USER = re.compile(r"([A-Za-z0-9_.~%-]{16,300})@(?=[\w\[])")
_PARAMETER = re.compile(
    r"[?&;#](?:amp;)?(?P<name>[\w.$%\[\]-]{1,60})=(?P<value>[^\s&\"'<>#;)`|\\]{4,4000})",
)
_SIGNATURES = words(
    """sig signature x-amz-signature x-goog-signature x-amz-security-token x-oss-signature x-cos-signature hmac mac
    x-amz-credential-signature policy-signature hdnts hdnea __token__ hash-signature verify s-sig"""
)
_SECRET_PARAMETERS = words(
    """token access_token refresh_token id_token auth_token auth authtoken oauth_token session_token sessiontoken
    reset_token confirmation_token confirm_token invitation_token invite_token magic_token login_token
    verification_token verify_token unsubscribe_token one_time_token email_token activation_token csrf_token
    reset_password_token password_reset_token user_token bearer_token personal_access_token private_token job_token
    deploy_token api_token apitoken app_token bot_token feed_token rss_token oobcode otp code_verifier apikey
    api_key api-key key access_key accesskey secret_key secretkey subscription-key subscription_key app_key appkey
    application_key authkey auth_key private_key sharedkey client_secret clientsecret secret app_secret password
    passwd pass pwd passcode passphrase psk jwt assertion saml samlresponse ticket st sid jsessionid phpsessid
    sessionid session session_id code device_code user_code auth_code authorization_code magic invite invitation
    nonce_token t tk tok x-api-key x-auth-token x-functions-key hapikey webhook_token webhook_secret appid
    resourcekey share_token guest_token"""
)
_SHORT_PARAMETERS = frozenset({"password", "passwd", "pass", "pwd", "passcode", "passphrase", "secret", "psk"})


def _path(anchors: str, pattern: str) -> SearchRule:
    return search_rule(SECRET_IN_ADDRESS, anchors, pattern, begins=True)


_WEBHOOKS = (
    _path("hooks.slack", r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{15,200})"),
    _path("discord", r"discord(?:app)?\.(?:com|gg)/api/(?:v\d{1,2}/)?webhooks/\d{5,25}/([\w-]{20,120})"),
    _path(
        "outlook.office webhook.office",
        r"(?:outlook\.office(?:365)?\.com/webhook|webhook\.office\.com/webhookb2)/([\w@/-]{20,400})",
    ),
    _path("hooks.zapier", r"hooks\.zapier\.com/hooks/(?:catch|standard)/([\w/]{6,80})"),
    _path("maker.ifttt", r"maker\.ifttt\.com/trigger/[\w-]{1,80}/(?:json/)?with/key/([\w-]{10,80})"),
    _path("hook.", r"hook\.(?:[a-z0-9]{2,4}\.)?(?:make|integromat)\.(?:com|cloud)/([a-z0-9]{16,60})"),
    _path("api.telegram", r"api\.telegram\.org/(?:file/)?bot(\d{6,12}:[\w-]{20,60})"),
    _path("open.feishu open.larksuite", r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/([\w-]{20,60})"),
    _path("/ical/", r"/ical/[^\s/]{3,120}/private-([0-9a-f]{16,64})"),
    _path("hc-ping.com healthchecks.io", r"(?:hc-ping\.com|healthchecks\.io/ping)/([0-9a-f-]{30,40})"),
    _path("rest/", r"rest/\d{1,6}/([a-z0-9]{14,24})/(?:[a-z]{2,20}\.)"),
    _path("/hooks/", r"/hooks/([a-z0-9]{20,60}(?:/[A-Za-z0-9]{20,80})?)(?![\w.])"),
)
_LINK_WORDS = (
    r"reset|password[-_]?reset|reset[-_]?password|passwords?/(?:edit|reset)|magic(?:[-_]?links?)?|magic[-_]?login"
    r"|verify(?:[-_]email)?|confirm(?:ation)?|activate|activation|invit(?:e|ation)s?|login/(?:token|magic|email|link)"
    r"|signin/(?:token|magic|email|link)|one[-_]time(?:[-_]?secret)?|secret|unsubscribe|sso|auth/(?:token|magic|email)"
    r"|passwordless|recover|account/recover(?:y)?|set[-_]password|token"
)
_LINKS = search_rule(
    SECRET_IN_ADDRESS,
    "/reset /password /magic /verify /confirm /activat /invit /login/ /signin/ /one /secret /unsubscribe /sso /auth/ "
    "/recover /account/ /set /token",
    rf"/(?:{_LINK_WORDS})s?/(?:[\w-]{{1,24}}/)?([A-Za-z0-9_.~=-]{{20,600}})(?![\w/])",
    check=looks_random,
    begins=True,
)
IN_ADDRESSES = (*_WEBHOOKS, _LINKS)
"""Secrets that are part of a path: webhooks, and links that sign a user in."""


def find_in_addresses(text: str) -> Iterator[Finding]:
    """Find passwords, tokens and signatures in addresses."""
    if "://" in text:
        for match in _ADDRESS.finditer(text):
            yield from _find_userinfo(text, match.end())
    if "=" in text and ("?" in text or "&" in text or "#" in text):
        yield from _find_parameters(text)


def _find_userinfo(text: str, place: int) -> Iterator[Finding]:
    match = _USERINFO.match(text, place) or _USER_WITH_SLASH.match(text, place)
    if match is not None:
        # The last `@` before the host ends the password: `p@ss@host` is a password with an `@`.
        if not is_placeholder(match[2], lone_words=True) and match[2].lower() != "git":
            yield Finding(match.start(2), match.end(2), PASSWORD_IN_ADDRESS)
        elif looks_random(match[1]):
            yield Finding(match.start(1), match.end(1), PASSWORD_IN_ADDRESS)
        return
    lone = _LONE_USER.match(text, place)
    if lone is not None and looks_random(lone[1]) and "sentry" not in text[lone.end() : lone.end() + 60]:
        yield Finding(lone.start(1), lone.end(1), TOKEN_IN_ADDRESS)


def _find_parameters(text: str) -> Iterator[Finding]:
    for match in _PARAMETER.finditer(text):
        name, value = match["name"].lower(), match["value"].rstrip(".,:!?*")
        if name in _SIGNATURES:
            kind = SIGNATURE_IN_ADDRESS
            held = len(value) >= 16 and not is_placeholder(value)
        elif name in _SECRET_PARAMETERS or name.rsplit(".", 1)[-1] in _SECRET_PARAMETERS:
            kind = SECRET_IN_ADDRESS
            held = (
                may_be_password(value)
                if name in _SHORT_PARAMETERS
                else looks_random(value)
                or (len(value) >= 8 and name not in {"t", "st", "key", "code"} and looks_secret(value))
            )
        else:
            continue
        if held:
            yield Finding(match.start("value"), match.start("value") + len(value), kind)


# --- Cookies and Kubernetes manifests, read part by part ---

COOKIE = "cookie"
KUBERNETES_SECRET = "Kubernetes secret"  # noqa: S105 - the name of a kind

_COOKIE_LINE = re.compile(r"\b(?:set-)?cookie\b[\"']?\s{0,3}[:=]\s{0,3}[\"'`]?([^\n\"'`]{4,4000})", re.IGNORECASE)
_COOKIE_FLAG = re.compile(r"\s(?:-b ?|--cookie[ =])[\"']?([\w.%-]{1,60}=[^\n\"'`]{4,4000})")
_CRUMB = re.compile(r"([\w.$%!#&*+^|~-]{1,80})=([^\s;,]{1,4000})")
_PLAIN_CRUMBS = words(
    """path domain expires max-age samesite version comment theme lang language locale currency country region tz
    timezone consent cookie_consent cookieconsent gdpr _ga _gid _gat _fbp _gcl_au utm_source dark_mode ab_test
    variant priority cart_count visited first_visit last_visit referrer color"""
)
_SECRET_CRUMB = re.compile(
    r"sess|sid|auth|token|jwt|remember|login|csrf|xsrf|secret|identity|credential|sso|saml", re.IGNORECASE
)


COOKIE_WORDS = ("cookie", "curl")
"""Without one of these no text holds a cookie."""


def find_cookies(text: str) -> Iterator[Finding]:
    """Find session cookies in `Cookie` and `Set-Cookie` headers; settings such as a theme are left alone."""
    lower = text.lower()
    lines = [*_COOKIE_LINE.finditer(text)] if "cookie" in lower else []
    if "curl" in lower or "--cookie" in lower:
        lines += _COOKIE_FLAG.finditer(text)
    for line in lines:
        for crumb in _CRUMB.finditer(text, line.start(1), line.end(1)):
            name, value = crumb[1].lower(), crumb[2]
            if name in _PLAIN_CRUMBS or name.startswith(("_ga", "utm_")) or is_placeholder(value):
                continue
            named = _SECRET_CRUMB.search(name) is not None
            if (named and len(value) >= 6 and looks_secret(value)) or looks_random(value):
                yield Finding(crumb.start(2), crumb.end(2), COOKIE)


_KUBERNETES = re.compile(r"^[ \t-]{0,20}kind:[ \t]{1,4}Secret\b", re.MULTILINE)
_DATA = re.compile(r"^([ \t]{0,40})(?:data|stringData):[ \t]{0,10}$", re.MULTILINE)
_ENTRY = re.compile(r"^([ \t]{1,60})[\w.\-/\"']{1,120}:[ \t]{1,10}[\"']?([^\s\"'|>][^\n\"']{0,8000})", re.MULTILINE)


def find_kubernetes_secrets(text: str) -> Iterator[Finding]:
    """Find the values of Kubernetes secrets, under any name."""
    if "Secret" not in text or _KUBERNETES.search(text) is None:
        return
    for head in _DATA.finditer(text):
        end = re.compile(rf"^(?![ \t]{{{len(head[1]) + 1},}}|[ \t]*$)", re.MULTILINE).search(text, head.end() + 1)
        last = end.start() if end is not None else len(text)
        for entry in _ENTRY.finditer(text, head.end() + 1, last):
            value = entry[2].rstrip()
            if not is_placeholder(value):
                yield Finding(entry.start(2), entry.start(2) + len(value), KUBERNETES_SECRET)
