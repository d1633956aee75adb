"""What the MCP side needs of `access`: acts, grants, and who gives grants."""

from __future__ import annotations

from assay.access import Access, Act, Authoriser, Everybody, Grant, OneToken, Policy, acts

__all__ = [
    "Access",
    "Act",
    "Authoriser",
    "Everybody",
    "Grant",
    "OneToken",
    "Policy",
    "acts",
]
