"""Who may do what on a server: policies of routes and tools, grants of callers, and the tokens that give grants."""

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
