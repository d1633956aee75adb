"""What a tool may do and who may ask for it: a policy for each tool, a grant for each caller, who gives grants.

The tenant and the principal come from the grant, which the server makes; nothing a client sends reaches them. An
`Authoriser` turns what a caller showed into a grant: on stdio and without a token whoever reaches the server has the
full one, with a token only whoever knows it.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from assay.records import Scope


class Access(StrEnum):
    """How far a caller may go; each includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: Access) -> bool:
        """Whether whoever has this may do what needs the other."""
        order = list(Access)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What a tool does to the store, and the access it needs."""

    name: str
    access: Access
    destructive: bool = False
    """May remove or replace what is there."""
    idempotent: bool = False
    """The same call again changes nothing more."""

    @property
    def reads_only(self) -> bool:
        """Whether it changes nothing but logs."""
        return self.access is Access.READ


READ = Policy(name="read", access=Access.READ, idempotent=True)
ADD = Policy(name="add", access=Access.WRITE)
ADD_ONCE = Policy(name="add once", access=Access.WRITE, idempotent=True)
REPLACE = Policy(name="replace", access=Access.ADMIN, destructive=True, idempotent=True)
"""For what concerns the whole store, of every tenant."""
MEASURE = Policy(name="measure", access=Access.WRITE)
"""Costs time and leaves a run behind."""


class Grant(NamedTuple):
    """What one caller may do, and in whose rows."""

    scope: Scope
    access: Access

    def allows(self, policy: Policy) -> bool:
        """Whether a tool of this policy may be seen and called."""
        return self.access.includes(policy.access)


class Authoriser(Protocol):
    """Decides what a caller may do."""

    def grant(self, token: str | None) -> Grant | None:
        """The grant of whoever shows this token; None: nothing at all."""
        ...


class Everybody:
    """Whoever reaches the server may do everything: for stdio, and for loopback without a token."""

    def __init__(self, grant: Grant) -> None:
        self._grant = grant

    def grant(self, token: str | None) -> Grant | None:  # noqa: ARG002 - there is no token to look at
        """The one grant."""
        return self._grant


class OneToken:
    """Whoever knows the token may do everything. Compared in constant time."""

    def __init__(self, token: str, grant: Grant) -> None:
        self._token = token.encode()
        self._grant = grant

    def grant(self, token: str | None) -> Grant | None:
        """The one grant, for the one token."""
        known = hmac.compare_digest((token or "").encode("utf-8", "surrogatepass"), self._token)
        return self._grant if known else None
