"""Who may do what on a server: policies of routes and tools, grants of callers, and the tokens that give grants."""

from __future__ import annotations

from assay.access import acts
from assay.access.acts import ACTS, Act
from assay.access.policies import Authoriser, Everybody, Grant, OneToken, Policy
from assay.access.sign_ins import SignIns
from assay.access.tokens import NewToken, StoredTokens, Tokens
from assay.records.access import Access

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
