"""Secrets are masked before anything is stored, embedded or compared: `[masked: AWS access key]` stands in their place.

Shapes of known kinds come from detect-secrets (its patterns only: its scanning goes through settings that all threads
share) and from the table below. A value without a shape of its own is masked when its name says that it is secret.
Hashes, ids and encoded images have no such name and are left alone.
"""

from __future__ import annotations

import importlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from assay.records import Draft, Mask

_FOREIGN = {
    "azure_storage_key.AzureStorageKeyDetector": "Azure storage key",
    "aws.AWSKeyDetector": "AWS access key",
    "cloudant.CloudantDetector": "Cloudant credentials",
    "discord.DiscordBotTokenDetector": "Discord bot token",
    "github_token.GitHubTokenDetector": "GitHub token",
    "gitlab_token.GitLabTokenDetector": "GitLab token",
    "ibm_cos_hmac.IbmCosHmacDetector": "IBM COS credentials",
    "mailchimp.MailchimpDetector": "Mailchimp key",
    "npm.NpmDetector": "npm token",
    "pypi_token.PypiTokenDetector": "PyPI token",
    "sendgrid.SendGridDetector": "SendGrid key",
    "slack.SlackDetector": "Slack token",
    "softlayer.SoftlayerDetector": "SoftLayer credentials",
    "square_oauth.SquareOAuthDetector": "Square token",
    "stripe.StripeDetector": "Stripe key",
    "telegram_token.TelegramBotTokenDetector": "Telegram bot token",
}
"""Detectors of detect-secrets, with the words in which we name what they find.

Those of web tokens and OpenAI keys are left out: on long runs of letters their patterns take time that grows with the
square of the text, and the table below has both kinds.
"""

_OWN = {
    "private key": r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:.{0,16000}?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]*)",
    "AWS access key": r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b",
    "AWS secret key": r"(?i:aws|secret|access)[\w .-]{0,30}[\"']?\s*[:=]\s*[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    "GitHub token": r"\bgithub_pat_[A-Za-z0-9_]{30,}|\bgh[pousr]_[A-Za-z0-9]{36,}",
    "Google API key": r"\bAIza[0-9A-Za-z_-]{35}",
    "Google OAuth secret": r"\bGOCSPX-[0-9A-Za-z_-]{20,}",
    "Anthropic key": r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    "OpenAI key": r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,}",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}",
    "Slack token": r"\bxapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+|\bxox[abposr]-[A-Za-z0-9-]{20,}",
    "Stripe key": r"\b[rs]k_(?:live|test)_[0-9a-zA-Z]{16,}|\bwhsec_[0-9a-zA-Z]{24,}",
    "Twilio key": r"\b(?:AC|SK)[a-f0-9]{32}\b",
    "DigitalOcean token": r"\bdo[opr]_v1_[a-f0-9]{64}",
    "Shopify token": r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    "Databricks token": r"\bdapi[a-f0-9]{32}\b",
    "Azure signature": r"[?&]sig=([A-Za-z0-9%+/]{30,}=*)",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
    "authorisation header": r"(?i:\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+)"
    r"([A-Za-z0-9._~+/=-]{12,})",
    "bearer token": r"(?i:\bbearer\s+)(?=[A-Za-z._~+/=-]*\d)([A-Za-z0-9._~+/=-]{20,})",
}

_HINTS = {
    "AWS access key": "akia asia abia acca a3t aws",
    "AWS secret key": "aws secret access",
    "Anthropic key": "sk-ant-",
    "Azure signature": "sig=",
    "Azure storage key": "accountkey=",
    "Cloudant credentials": "cloudant",
    "DigitalOcean token": "_v1_",
    "GitHub token": "github_pat_ ghp_ gho_ ghu_ ghs_ ghr_",
    "GitLab token": "gl gr1348941",
    "IBM COS credentials": "secret access key_id key-id keyid",
    "JSON web token": "eyj",
    "Mailchimp key": "-us",
    "OpenAI key": "sk-",
    "Shopify token": "shp",
    "Slack token": "xox xapp hooks.slack.com",
    "SoftLayer credentials": "softlayer sl_ sl-",
    "Stripe key": "k_live_ k_test_ whsec_",
    "authorisation header": "authorization",
    "bearer token": "bearer",
    "npm token": "npm_ :_authtoken",
    "private key": "private",
}
"""Without one of these, in any case, a text holds none of the kind: most texts are done after this look."""

_HINT = re.compile("|".join(re.escape(hint) for hints in _HINTS.values() for hint in hints.split()))
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s:/@\"'<>]*:([^\s/@\"'<>]+)@", re.IGNORECASE)
_NAMED = re.compile(
    r"""(?:password|passwd|passphrase|pwd|secret|api[_-]?key|apikey|access[_-]?key|auth[_-]?key
        |private[_-]?key|signing[_-]?key|encryption[_-]?key|token|credential|client[_-]?secret)
        ["'`*]*\s*(?::=|=>|[:=]|\bis\b)\s*["'`*]*(?P<value>[^\s"'`,;<>(){}\[\]*]{6,})""",
    re.IGNORECASE | re.VERBOSE,
)
_NAME_PARTS = ("pass", "pwd", "secret", "key", "token", "credential")
"""One of them stands in every name of a secret."""
_SECRET_NAME = re.compile(
    r"(?:password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|private[_-]?key|token|credential)s?$",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"[$%{}]|\*\*|xxx|\.\.\.|^(?:masked|password|passwd|pass|pwd|secret|token|none|null|true|false|string|str|changeme"
    r"|example|your|env|process|os|self|settings|config|required|optional)(?![a-z0-9]*\d)",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_][a-z_]*(?:[.-][A-Za-z_]+)*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[\d.,:/%-]+|[/.~][\w./-]+")
_MARK = re.compile(r"\[masked: [^\]]*\]")


class _Found(NamedTuple):
    start: int
    end: int
    kind: str


def mask(draft: Draft) -> tuple[Draft, tuple[Mask, ...]]:
    """The draft without its secrets, and what was masked where. A draft without any comes back as it is."""
    masks: list[Mask] = []
    fields: dict[str, Any] = {
        name: mask_text(getattr(draft, name), name, masks) for name in ("title", "body", "rel_path", "folder")
    }
    for name in ("triggers", "tags"):
        fields[name] = tuple(mask_text(text, name, masks) for text in getattr(draft, name))
    if draft.source_id is not None:
        fields["source_id"] = mask_text(draft.source_id, "source_id", masks)
    fields["metadata"] = _mask_json(draft.metadata, "metadata", masks)
    return (replace(draft, **fields), tuple(masks)) if masks else (draft, ())


def mask_text(text: str, where: str, masks: list[Mask]) -> str:
    """A text without its secrets; what was masked is added to `masks`."""
    if not text:
        return text
    found = _without_overlaps(_secrets(text))
    for one in reversed(found):
        text = f"{text[: one.start]}[masked: {one.kind}]{text[one.end :]}"
    masks += [Mask(one.kind, where, one.end - one.start) for one in found]
    return text


def _mask_json(value: Any, where: str, masks: list[Mask], name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {
            mask_text(key, where, masks): _mask_json(inner, where, masks, name=str(key)) for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_mask_json(inner, where, masks, name) for inner in value]
    if not isinstance(value, str):
        return value
    if _SECRET_NAME.search(name) and _looks_secret(value):
        masks.append(Mask("named secret", where, len(value)))
        return "[masked: named secret]"
    return mask_text(value, where, masks)


def _secrets(text: str) -> Iterator[_Found]:
    lower = text.lower()
    hinted = _HINT.search(lower) is not None
    for kind, pattern, hints in _patterns():
        if hints and not (hinted and any(hint in lower for hint in hints)):
            continue
        for match in pattern.finditer(text):
            group = match.lastindex or 0
            yield _Found(match.start(group), match.end(group), kind)
    for match in _ADDRESS.finditer(text) if "://" in text else ():
        if not _PLACEHOLDER.search(match[1]):
            yield _Found(match.start(1), match.end(1), "password in an address")
    for match in _NAMED.finditer(text) if _may_name(lower) else ():
        if _looks_secret(match["value"]):
            yield _Found(match.start("value"), match.end("value"), "named secret")


def _may_name(lower: str) -> bool:
    """Whether a text in small letters may name a secret; beyond ASCII other letters pass for those of a name."""
    return not lower.isascii() or any(part in lower for part in _NAME_PARTS)


def _without_overlaps(found: Iterable[_Found]) -> list[_Found]:
    """The leftmost, and of those that begin together the longest, then the first in the table."""
    kept: list[_Found] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if one.end > one.start and (not kept or one.start >= kept[-1].end):
            kept.append(one)
    return kept


def _looks_secret(value: str) -> bool:
    """Whether a value whose name says secret is one, rather than a word, a variable, a path or a number."""
    value = value.rstrip(".!?:")
    if len(value) < 6 or _PLACEHOLDER.search(value) or _MARK.search(value):
        return False
    if _IDENTIFIER.fullmatch(value):
        return len(value) >= 16 and value.isalpha() and not value.islower() and _entropy(value) > 3.5
    return any(character.isdigit() for character in value) or (len(value) >= 10 and _entropy(value) > 3.0)


def _entropy(text: str) -> float:
    """Bits for each character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...]:
    own = [(kind, re.compile(pattern, re.DOTALL)) for kind, pattern in _OWN.items()]
    foreign = [(kind, pattern) for place, kind in _FOREIGN.items() for pattern in _denylist(place)]
    return tuple((kind, pattern, tuple(_HINTS.get(kind, "").split())) for kind, pattern in (*own, *foreign))


def _denylist(place: str) -> Iterable[re.Pattern[str]]:
    module, name = place.split(".")
    # Imported at the first save: it brings an HTTP client along, which nothing here uses.
    detector = getattr(importlib.import_module(f"detect_secrets.plugins.{module}"), name)
    return tuple(detector.denylist)
