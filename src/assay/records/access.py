"""Access to a server: grants, tokens, sign-ins and owners of files.

- Grants, tokens and sign-ins.
- Owners of files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum

from assay.records import values
from assay.records.fields import allow, one_of, require

# --- Grants, tokens and sign-ins ---

TOKEN_SHAPE = re.compile(r"assay_[A-Za-z0-9_-]{43}")
"""What the text of every token looks like."""
LONGEST_DAYS = 3_650
"""Days after which a token ends at the latest, if it ends at all."""


class Access(StrEnum):
    """How far a caller may go; each includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    OPERATOR = "operator"
    """Above the admins of tenants: acts that touch the whole store, such as restoring a checkpoint, need it."""

    def includes(self, other: Access) -> bool:
        """Whether this access includes the other."""
        order = list(Access)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenLine:
    """A token in a list; neither its text nor its hash."""

    token_id: str
    name: str
    access: Access
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    """None: it does not expire."""
    revoked_at: datetime | None
    person: bool
    """Whether a person uses it; otherwise a program does."""
    tenant: str
    """Whose rows it opens."""

    def is_good(self, now: datetime) -> bool:
        """Whether it still opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenList:
    """Every token of the tenant, or of every tenant, oldest first."""

    tokens: tuple[TokenLine, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TenantLine:
    """A tenant of the store, and what it holds."""

    tenant: str
    memories: int
    """Memories that searches can find."""
    stored_memories: int
    """Those and earlier versions, without forgotten ones."""
    tokens: int
    """Tokens that open something now."""
    made_tokens: int
    """Those and the revoked and expired ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TenantPage:
    """One page of the tenants of the store, in the order of their names."""

    tenants: tuple[TenantLine, ...]
    next_cursor: str | None
    """The cursor of the next page; None: this is the last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CreatedToken(TokenLine):
    """A new token, this once with its text."""

    token: str | None = field(repr=False)
    """Its text; None when the same request is answered again under its key."""
    notice: str | None = None
    """Why there is no text, and what to do; None when there is one."""


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

    def describe(self, tenant: str) -> TokenLine:
        """Return the token of a tenant as surfaces show it: without its hash."""
        shown = {field.name: getattr(self, field.name) for field in fields(TokenLine) if field.name != "tenant"}
        return TokenLine(**shown, tenant=tenant)

    def is_good(self, now: datetime) -> bool:
        """Whether it still opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, kw_only=True, slots=True)
class SignInLine:
    """A browser that signed in; never the secret of its cookie."""

    session_id: str
    token_id: str
    token_name: str
    """Empty when the token is gone."""
    via: str
    """From where the browser signed in."""
    created_at: datetime
    last_seen_at: datetime
    """When it was last used, to within a minute."""
    expires_at: datetime
    """When it ends however much it is used."""
    ended_at: datetime | None
    """When the sign-in was ended, by signing out or by an admin; None: it was not."""
    is_open: bool
    """Whether it still opens anything."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SignInList:
    """Sign-ins of the tenant, newest first; those that are over stay for a month."""

    sign_ins: tuple[SignInLine, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LoginSession:
    """One sign-in of a browser. The browser's cookie holds its secret; the store keeps a hash of it."""

    session_id: str
    """By which it is listed and ended. It opens nothing."""
    token_id: str
    """The token that was shown to sign in; the session ends with it."""
    digest: str
    created_at: datetime
    last_seen_at: datetime
    """When it was last used, to within a minute."""
    expires_at: datetime
    """When it ends however much it is used."""
    ended_at: datetime | None = None
    """When the sign-in was ended, by signing out or by an admin; None: it was not."""
    via: str = ""
    """From where the browser signed in."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "session_id", "token_id")
        require(self, values.short_label, "digest")
        require(self, values.moment, "created_at", "last_seen_at", "expires_at")
        allow(self, values.moment, "ended_at")
        require(self, values.optional_label, "via")

    def is_open(self, now: datetime, idle: timedelta) -> bool:
        """Whether it still opens anything: not ended, not too old, and used within the idle time."""
        return self.ended_at is None and now < self.expires_at and now - self.last_seen_at < idle


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestKey:
    """A write that a caller named, so that sending it again does nothing twice."""

    key: str
    principal: str
    fingerprint: str
    """Hash of the request. The same key for a different request is a mistake of the caller."""
    created_at: datetime
    status: int | None = None
    """None: it is still being worked on, or the server ended in the middle."""
    answer: str | None = None

    def __post_init__(self) -> None:
        require(self, values.short_label, "key", "principal", "fingerprint")
        require(self, values.moment, "created_at")
        allow(self, values.count, "status")
        allow(self, values.text, "answer")


# --- Owners of files ---


class FileKind(StrEnum):
    """What a tenant can own outside the database."""

    RUN = "run"
    DATASET = "dataset"
    LABELS = "labels"
    REPORT = "report"


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnedFile:
    """One file or folder of a tenant."""

    kind: FileKind
    name: str
    """The id of a run, which no other run ever has; the whole path of anything else."""
    principal: str
    """Who created the file; empty when that was not recorded."""
    created_at: datetime

    def __post_init__(self) -> None:
        require(self, one_of(FileKind), "kind")
        require(self, values.short_label, "name")
        require(self, values.optional_label, "principal")
        require(self, values.moment, "created_at")
