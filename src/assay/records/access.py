"""Who may reach a server: how far access goes, and a token as the store keeps it, which is never the token itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from assay.records import values
from assay.records.checked import allow, one_of, require


class Access(StrEnum):
    """How far a caller may go; each includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    OPERATOR = "operator"
    """Above the admins of tenants: acts that touch the whole store, such as restoring a checkpoint, need it."""

    def includes(self, other: Access) -> bool:
        """Whether whoever has this may do what needs the other."""
        order = list(Access)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessToken:
    """One token: what it allows, in whose rows, and until when. Only a hash of it is kept."""

    token_id: str
    name: str
    access: Access
    digest: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    """None: it does not expire."""
    revoked_at: datetime | None = None
    person: bool = False
    """A person uses it: what is saved with it counts as written by hand. Otherwise a program does."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "token_id")
        require(self, values.short_label, "name", "digest", "created_by")
        require(self, one_of(Access), "access")
        require(self, values.moment, "created_at")
        allow(self, values.moment, "expires_at", "revoked_at")
        require(self, values.flag, "person")

    def is_good(self, now: datetime) -> bool:
        """Whether it still opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestKey:
    """A write that a caller named, so that sending it again does nothing twice."""

    key: str
    principal: str
    fingerprint: str
    """Of what was asked: the same key for something else is a mistake of the caller."""
    created_at: datetime
    status: int | None = None
    """None: it is still being worked on, or the server ended in the middle."""
    answer: str | None = None

    def __post_init__(self) -> None:
        require(self, values.short_label, "key", "principal", "fingerprint")
        require(self, values.moment, "created_at")
        allow(self, values.count, "status")
        allow(self, values.text, "answer")
