"""Access to a server: what each call does, who may make it, and the tokens that callers present.

- `acts`: the table of acts: everything a caller can request, each with its policy.
- `policies`: the policies, and the grant of each caller.
- `tokens`: tokens and browser sign-ins: created, stored as a hash, expired and revoked.
- `auditing`: reads the audit log in pages, and checks that its chain is complete.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assay.access import acts
from assay.access.acts import ACTS, Act
from assay.access.policies import Authoriser, Everybody, Grant, OneToken, Policy
from assay.records.access import Access

if TYPE_CHECKING:
    from assay.access.tokens import NewToken, SignIns, StoredTokens, Tokens

_IN_STORE = {
    "NewToken": "assay.access.tokens",
    "SignIns": "assay.access.tokens",
    "StoredTokens": "assay.access.tokens",
    "Tokens": "assay.access.tokens",
}
"""Names that need the store; the table of acts is read without one, by clients of a server."""

__all__ = [
    "ACTS",
    "Access",
    "Act",
    "Authoriser",
    "Everybody",
    "Grant",
    "NewToken",
    "OneToken",
    "Policy",
    "SignIns",
    "StoredTokens",
    "Tokens",
    "acts",
]


def __getattr__(name: str) -> Any:
    if name not in _IN_STORE:
        raise AttributeError(f"module 'assay.access' has no attribute {name!r}")
    return getattr(importlib.import_module(_IN_STORE[name]), name)
