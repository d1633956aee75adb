"""Access tokens, sign-ins, request keys, owners of files, and feature flags.

- Tokens, sign-ins and request keys.
- Owners of files.
- Feature flags of a tenant.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import delete, select, update

from assay.errors import RecordNotFound
from assay.records.access import AccessToken, FileKind, LoginSession, OwnedFile, RequestKey
from assay.storage.repositories.base import Repository, mine
from assay.storage.rows import from_row, insert, to_row, upsert
from assay.storage.tables import access_tokens, flags, login_sessions, owned_files, request_keys

# --- Tokens, sign-ins and request keys ---
#
# Tokens and sign-ins are looked up in all tenants: a request does not name its tenant, the stored row does.


class AccessTokens(Repository):
    """The tokens of one tenant, and the lookup of a token before its tenant is known."""

    def add(self, token: AccessToken) -> None:
        """Store a token."""
        row = {"tenant": self._tenant, **to_row(token, access_tokens)}
        self._connection.execute(access_tokens.insert().values(row))

    def all(self) -> list[AccessToken]:
        """Every token of the tenant, oldest first; revoked ones too."""
        statement = self._select(access_tokens).order_by(access_tokens.c.token_id)
        return [from_row(AccessToken, row, access_tokens) for row in self._connection.execute(statement)]

    def list_everywhere(self) -> list[tuple[str, AccessToken]]:
        """Return the tokens of every tenant with their tenants, by tenant, oldest first: for operators alone."""
        statement = select(access_tokens).order_by(access_tokens.c.tenant, access_tokens.c.token_id)
        rows = self._connection.execute(statement)
        return [(str(row.tenant), from_row(AccessToken, row, access_tokens)) for row in rows]

    def revoke(self, token_id: str, at: datetime) -> AccessToken:
        """Revoke a token."""
        table = access_tokens
        mine = (self._mine(table), table.c.token_id == token_id)
        self._connection.execute(update(table).where(*mine, table.c.revoked_at.is_(None)).values(revoked_at=at))
        return self.get(token_id)

    def get(self, token_id: str) -> AccessToken:
        """One token of the tenant."""
        statement = self._select(access_tokens, access_tokens.c.token_id == token_id)
        row = self._connection.execute(statement).one_or_none()
        if row is None:
            raise RecordNotFound(f"there is no token {token_id!r}", remedy="See `assay token list`.")
        return from_row(AccessToken, row, access_tokens)

    def exist(self) -> bool:
        """Whether any tenant has a token that is not revoked."""
        statement = select(access_tokens.c.token_id).where(access_tokens.c.revoked_at.is_(None)).limit(1)
        return self._connection.execute(statement).first() is not None

    def have_been_made(self) -> bool:
        """Whether any tenant has a token, revoked or not."""
        return self._connection.execute(select(access_tokens.c.token_id).limit(1)).first() is not None

    def find_by_digest(self, digest: str) -> tuple[str, AccessToken] | None:
        """Return the tenant and the token with this digest; all tenants are searched."""
        row = self._connection.execute(select(access_tokens).where(access_tokens.c.digest == digest)).one_or_none()
        return None if row is None else (str(row.tenant), from_row(AccessToken, row, access_tokens))


class LoginSessions(Repository):
    """The sign-ins of one tenant, and the lookup of a sign-in before its tenant is known."""

    def add(self, session: LoginSession) -> None:
        """Store a sign-in."""
        row = {"tenant": self._tenant, **to_row(session, login_sessions)}
        self._connection.execute(login_sessions.insert().values(row))

    def all(self) -> list[LoginSession]:
        """Every sign-in of the tenant that is still stored, newest first; ended ones too."""
        statement = self._select(login_sessions).order_by(login_sessions.c.session_id.desc())
        return [from_row(LoginSession, row, login_sessions) for row in self._connection.execute(statement)]

    def find_by_digest(self, digest: str) -> tuple[str, LoginSession, AccessToken] | None:
        """Return the tenant, the sign-in with this digest, and its token; all tenants are searched."""
        table = login_sessions
        row = self._connection.execute(select(table).where(table.c.digest == digest)).one_or_none()
        if row is None:
            return None
        same = (access_tokens.c.tenant == row.tenant, access_tokens.c.token_id == row.token_id)
        token = self._connection.execute(select(access_tokens).where(*same)).one_or_none()
        if token is None:
            return None
        return str(row.tenant), from_row(LoginSession, row, table), from_row(AccessToken, token, access_tokens)

    def see(self, session_id: str, at: datetime) -> None:
        """Note that a sign-in was used."""
        mine = (self._mine(login_sessions), login_sessions.c.session_id == session_id)
        self._connection.execute(update(login_sessions).where(*mine).values(last_seen_at=at))

    def end(self, session_id: str, at: datetime) -> LoginSession:
        """End a sign-in."""
        table = login_sessions
        mine = (self._mine(table), table.c.session_id == session_id)
        self._connection.execute(update(table).where(*mine, table.c.ended_at.is_(None)).values(ended_at=at))
        row = self._connection.execute(select(table).where(*mine)).one_or_none()
        if row is None:
            raise RecordNotFound(f"there is no sign-in {session_id!r}", remedy="See `assay token sessions`.")
        return from_row(LoginSession, row, table)

    def end_of_token(self, token_id: str, at: datetime) -> int:
        """End every sign-in with a token; return how many there were."""
        table = login_sessions
        open_ones = (self._mine(table), table.c.token_id == token_id, table.c.ended_at.is_(None))
        return int(self._connection.execute(update(table).where(*open_ones).values(ended_at=at)).rowcount)

    def remove_before(self, moment: datetime) -> int:
        """Delete sign-ins that ended before a moment."""
        old = login_sessions.c.expires_at < moment
        return int(self._connection.execute(delete(login_sessions).where(self._mine(login_sessions), old)).rowcount)


class RequestKeys(Repository):
    """Idempotency keys of writes; each caller has its own."""

    def begin(self, wanted: RequestKey) -> RequestKey | None:
        """Reserve a key; return None if it was free, otherwise the earlier request with this key."""
        row = {"tenant": self._tenant, **to_row(wanted, request_keys)}
        kept = insert(self._connection, request_keys).values(row).on_conflict_do_nothing()
        counted = self._connection.execution_options(preserve_rowcount=True)
        return None if counted.execute(kept).rowcount else self.find(wanted.principal, wanted.key)

    def find(self, principal: str, key: str) -> RequestKey | None:
        """Return the request with a caller's key, if there is one."""
        table = request_keys
        statement = self._select(table, table.c.principal == principal, table.c.key == key)
        row = self._connection.execute(statement).one_or_none()
        return None if row is None else from_row(RequestKey, row, table)

    def finish(self, principal: str, key: str, status: int, answer: str) -> None:
        """Store the answer of a request."""
        table = request_keys
        mine = (self._mine(table), table.c.principal == principal, table.c.key == key)
        self._connection.execute(update(table).where(*mine).values(status=status, answer=answer))

    def forget(self, principal: str, key: str) -> None:
        """Free a key."""
        table = request_keys
        mine = (self._mine(table), table.c.principal == principal, table.c.key == key)
        self._connection.execute(delete(table).where(*mine))

    def remove_before(self, moment: datetime) -> int:
        """Delete keys older than a moment."""
        old = request_keys.c.created_at < moment
        return int(self._connection.execute(delete(request_keys).where(self._mine(request_keys), old)).rowcount)


# --- Owners of files ---
#
# Owners are looked up in all tenants: a file in a shared folder does not show its tenant, the stored row does.


class OwnedFiles(Repository):
    """The files of one tenant, and the lookup of a file's owners in all tenants."""

    def claim(self, kind: FileKind, name: str) -> None:
        """Record that a file belongs to this tenant; the principal that claimed it first stays."""
        made = OwnedFile(kind=kind, name=name, principal=self._principal, created_at=self._clock.now())
        row = {"tenant": self._tenant, **to_row(made, owned_files)}
        self._connection.execute(insert(self._connection, owned_files).values(row).on_conflict_do_nothing())

    def all(self, kind: FileKind) -> list[OwnedFile]:
        """Every file of one kind that belongs to this tenant, by name."""
        statement = self._select(owned_files, owned_files.c.kind == str(kind)).order_by(owned_files.c.name)
        return [from_row(OwnedFile, row, owned_files) for row in self._connection.execute(statement)]

    def owners(self, kind: FileKind, names: Iterable[str]) -> dict[str, frozenset[str]]:
        """Return the tenants that each file belongs to; a file that no tenant claimed is left out."""
        table = owned_files
        statement = select(table.c.name, table.c.tenant).where(
            table.c.kind == str(kind), self._among(table.c.name, list(names))
        )
        found: dict[str, set[str]] = {}
        for name, tenant in self._connection.execute(statement):
            found.setdefault(str(name), set()).add(str(tenant))
        return {name: frozenset(tenants) for name, tenants in found.items()}


# --- Feature flags of a tenant ---


class FlagRow(NamedTuple):
    """The stored row of one flag."""

    name: str
    enabled: bool | None
    rollout_percent: int | None
    shadow: bool | None
    activated_at: datetime | None
    reviewed_at: datetime | None
    updated_at: datetime
    updated_by: str
    spec: str | None = None
    """What a variant changes, as `assay run --system` writes it; None: a flag of the program."""
    graduates_itself: bool | None = None


_EVERY = select(flags).where(mine(flags)).order_by(flags.c.name)


class FlagRows(Repository):
    """The flags of one tenant."""

    def get(self, name: str) -> FlagRow | None:
        """One flag, if anything is stored of it."""
        row = self._connection.execute(self._select(flags, flags.c.name == name)).one_or_none()
        return None if row is None else FlagRow(*row[1:])

    def all(self) -> list[FlagRow]:
        """Every stored flag, by name."""
        return [FlagRow(*row[1:]) for row in self._rows(_EVERY)]

    def put(
        self,
        name: str,
        *,
        enabled: bool | None = None,
        rollout_percent: int | None = None,
        shadow: bool | None = None,
        activated_at: datetime | None = None,
        reviewed_at: datetime | None = None,
        spec: str | None = None,
        graduates_itself: bool | None = None,
    ) -> None:
        """Store the whole row of a flag, replacing the old one."""
        row = {
            "tenant": self._tenant,
            "name": name,
            "enabled": enabled,
            "rollout_percent": rollout_percent,
            "shadow": shadow,
            "activated_at": activated_at,
            "reviewed_at": reviewed_at,
            "updated_at": self._clock.now(),
            "updated_by": self._principal,
            "spec": spec,
            "graduates_itself": graduates_itself,
        }
        statement = upsert(self._connection, flags, key=("tenant", "name"), fresh=FlagRow._fields[1:])
        self._connection.execute(statement, row)

    def remove(self, name: str) -> None:
        """Delete what is stored of a flag."""
        self._connection.execute(delete(flags).where(self._mine(flags), flags.c.name == name))
