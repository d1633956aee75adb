"""What an act does and which access it needs: the policies, the grant of each caller, and who gives grants.

Each act of the table `acts` has one of the policies below.

The tenant and the principal come from the grant, which the server makes; nothing a client sends reaches them. An
`Authoriser` turns a caller's proof into a grant: on stdio, and on a server without tokens, every caller has the
full grant; on a server with a token, only callers who present it.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from assay.records import Scope
from assay.records.access import Access


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What an act does to the store, and the access it needs."""

    name: str
    access: Access
    destructive: bool = False
    """May remove or replace what is there."""
    idempotent: bool = False
    """The same call again changes nothing more."""
    takes_long: bool = False
    """Seconds or minutes, not milliseconds."""

    @property
    def reads_only(self) -> bool:
        """Whether it changes nothing but logs."""
        return self.access is Access.READ


PUBLIC = Policy(name="public", access=Access.READ, idempotent=True)
"""For all callers, also without a token. There are three such addresses: see `application.PUBLIC_PATHS`."""
READ = Policy(name="read", access=Access.READ, idempotent=True)
ADD = Policy(name="add", access=Access.WRITE)
ADD_ONCE = Policy(name="add once", access=Access.WRITE, idempotent=True)
SET = Policy(name="set", access=Access.WRITE, destructive=True, idempotent=True)
CHANGE = Policy(name="change", access=Access.WRITE, destructive=True)
"""Twice is an error: the second call finds a newer version than it names."""
MEASURE = Policy(name="measure", access=Access.WRITE, takes_long=True)
"""Costs time and leaves something behind: a run, a researched answer, an analysis."""
OVERSEE = Policy(name="oversee", access=Access.ADMIN, idempotent=True)
"""Shows who may come in and what was done."""
GOVERN = Policy(name="govern", access=Access.ADMIN, destructive=True, idempotent=True)
"""Changes what all users of the tenant see, or who has access."""
SURVEY = Policy(name="survey", access=Access.OPERATOR, idempotent=True)
"""Shows what concerns the whole server or store, rows of every tenant."""
COPY = Policy(name="copy", access=Access.OPERATOR)
"""Adds a copy of the whole store."""
OPERATE = Policy(name="operate", access=Access.OPERATOR, destructive=True, idempotent=True)
"""Changes the whole store, rows of every tenant."""


class Grant(NamedTuple):
    """What one caller may do, and in whose rows."""

    scope: Scope
    access: Access
    person: bool = False
    """A person calls: what is saved counts as written by hand. A caller without proof of that is a program."""

    def allows(self, policy: Policy) -> bool:
        """Whether what has this policy may be seen and called."""
        return self.access.includes(policy.access)


class Authoriser(Protocol):
    """Decides what a caller may do."""

    def grant(self, token: str | None) -> Grant | None:
        """Return the grant for this token; None: no access."""
        ...


class Everybody:
    """Callers without a token may do everything: for stdio, and for an open server on the loopback."""

    def __init__(self, grant: Grant) -> None:
        self._grant = grant

    def grant(self, token: str | None) -> Grant | None:
        """Return the full grant; a caller who presents a token is refused, because no token is valid here."""
        return self._grant if token is None else None


class OneToken:
    """Callers who present the token may do everything. Compared in constant time."""

    def __init__(self, token: str, grant: Grant) -> None:
        self._token = token.encode()
        self._grant = grant

    def grant(self, token: str | None) -> Grant | None:
        """The one grant, for the one token."""
        known = hmac.compare_digest((token or "").encode("utf-8", "surrogatepass"), self._token)
        return self._grant if known else None
