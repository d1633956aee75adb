"""The policies that tools have. What a policy and a grant are, and who gives grants, is the business of `access`."""

from __future__ import annotations

from assay.access import Access, Authoriser, Everybody, Grant, OneToken, Policy

__all__ = [
    "ADD",
    "ADD_ONCE",
    "CHANGE",
    "CHANGE_ONCE",
    "MEASURE",
    "READ",
    "REPLACE",
    "Access",
    "Authoriser",
    "Everybody",
    "Grant",
    "OneToken",
    "Policy",
]

READ = Policy(name="read", access=Access.READ, idempotent=True)
ADD = Policy(name="add", access=Access.WRITE)
ADD_ONCE = Policy(name="add once", access=Access.WRITE, idempotent=True)
CHANGE = Policy(name="change", access=Access.WRITE, destructive=True)
"""Takes the place of what is there, and can be undone."""
CHANGE_ONCE = Policy(name="change once", access=Access.WRITE, destructive=True, idempotent=True)
REPLACE = Policy(name="replace", access=Access.ADMIN, destructive=True, idempotent=True)
"""For what concerns the whole store, of every tenant."""
MEASURE = Policy(name="measure", access=Access.WRITE)
"""Costs time and leaves a run behind."""
