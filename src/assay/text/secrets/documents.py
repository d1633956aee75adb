"""Secrets in cookies and in Kubernetes manifests, which are read part by part."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.text.secrets.placeholders import is_placeholder, looks_random, looks_secret
from assay.text.secrets.rule import Finding, words

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
    """Find the values of Kubernetes secrets, whatever their names."""
    if "Secret" not in text or _KUBERNETES.search(text) is None:
        return
    for head in _DATA.finditer(text):
        end = re.compile(rf"^(?![ \t]{{{len(head[1]) + 1},}}|[ \t]*$)", re.MULTILINE).search(text, head.end() + 1)
        last = end.start() if end is not None else len(text)
        for entry in _ENTRY.finditer(text, head.end() + 1, last):
            value = entry[2].rstrip()
            if not is_placeholder(value):
                yield Finding(entry.start(2), entry.start(2) + len(value), KUBERNETES_SECRET)
