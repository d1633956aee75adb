"""Tokens: made, shown once, kept as a hash, revoked; and the authoriser that knows the stored ones.

A token is 256 random bits, so its plain SHA-256 is safe to keep: there is nothing to guess. The hash alone finds the
row, and the row says whose rows it opens.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

from assay.access.policies import Authoriser, Grant
from assay.clock import Clock
from assay.errors import InputError, NotAllowed, StorageError
from assay.records import Scope
from assay.records.access import LONGEST_DAYS, TOKEN_SHAPE, Access, AccessToken
from assay.storage import Store

MARK = "assay_"
"""What every token begins with, so that scanners for secrets know one when they see it."""
REMEMBERED_S = 2.0
"""A token that was revoked by another process still opens for at most this long."""
MOST_REMEMBERED = 1_000


class NewToken(NamedTuple):
    """A token that was just made. `text` is nowhere else and cannot be shown again."""

    text: str
    kept: AccessToken


class Tokens:
    """Makes, lists and revokes the tokens of a tenant."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def create(
        self,
        scope: Scope,
        name: str,
        access: Access,
        *,
        days: int | None = None,
        by: Access = Access.OPERATOR,
        person: bool = False,
    ) -> NewToken:
        """A new token for the scope's tenant; without days it does not expire.

        `by` is the access of whoever asks; the person at the command line is the operator. Raises `NotAllowed` for a
        token that would reach further than that. A token is a program's unless it is made for a `person`: only then
        do notes saved with it count as written by hand.
        """
        _check_reach(by, access, "make")
        if days is not None and not 1 <= days <= LONGEST_DAYS:
            raise InputError(f"{days} days is no time for a token", remedy=f"Give 1 to {LONGEST_DAYS} days.")
        text = MARK + secrets.token_urlsafe(32)
        now = self._clock.now()
        kept = AccessToken(
            token_id=self._store.ids.new("t"),
            name=name,
            access=access,
            digest=digest_of(text),
            created_at=now,
            created_by=scope.principal,
            expires_at=None if days is None else now + timedelta(days=days),
            person=person,
        )
        with self._store.writing(scope) as work:
            work.access_tokens.add(kept)
            work.audit.append("token.create", kept.token_id, {"name": name, "access": str(access), "person": person})
        return NewToken(text, kept)

    def all(self, scope: Scope) -> list[AccessToken]:
        """Every token of the tenant, oldest first; revoked and expired ones too."""
        with self._store.reading(scope) as work:
            return work.access_tokens.all()

    def revoke(self, scope: Scope, token_id: str, *, by: Access = Access.OPERATOR) -> AccessToken:
        """Let a token open nothing from now on, nor any browser that signed in with it; `by` as for `create`."""
        with self._store.writing(scope) as work:
            _check_reach(by, work.access_tokens.get(token_id).access, "revoke")
            gone = work.access_tokens.revoke(token_id, self._clock.now())
            ended = work.login_sessions.end_of_token(token_id, self._clock.now())
            work.audit.append("token.revoke", token_id, {"name": gone.name, "sessions_ended": ended})
        return gone


class StoredTokens:
    """Lets in whoever shows a token that the store knows; others are left to a second authoriser."""

    def __init__(self, store: Store, clock: Clock, otherwise: Authoriser | None = None) -> None:
        self._store = store
        self._clock = clock
        self._otherwise = otherwise
        self._good: dict[str, tuple[float, Grant | None]] = {}
        # Apart from the good ones, so that whoever tries tokens does not make the server forget those.
        self._bad: dict[str, tuple[float, Grant | None]] = {}
        self._lock = threading.Lock()

    def grant(self, token: str | None) -> Grant | None:
        """The grant of a good token; a store that cannot be asked lets nobody in."""
        if token is not None and TOKEN_SHAPE.fullmatch(token):
            return self._remembered(digest_of(token), self._look)
        return None if self._otherwise is None else self._otherwise.grant(token)

    def or_else(self, otherwise: Authoriser | None) -> StoredTokens:
        """The same tokens, and another authoriser for everything that is none of them."""
        return StoredTokens(self._store, self._clock, otherwise)

    def exist(self) -> bool:
        """Whether any tenant has a token that was not revoked."""
        with self._store.reading(Scope(principal="server")) as work:
            return work.access_tokens.exist()

    def forget(self) -> None:
        """Ask the store again the next time."""
        with self._lock:
            self._good.clear()
            self._bad.clear()

    def _remembered(self, digest: str, look: Callable[[str], Grant | None]) -> Grant | None:
        now = self._clock.monotonic()
        with self._lock:
            known = self._good.get(digest) or self._bad.get(digest)
        if known is not None and now - known[0] < REMEMBERED_S:
            return known[1]
        found = look(digest)
        with self._lock:
            self._good.pop(digest, None)
            self._bad.pop(digest, None)
            kept = self._bad if found is None else self._good
            if len(kept) >= MOST_REMEMBERED:
                kept.clear()
            kept[digest] = (now, found)
        return found

    def _look(self, digest: str) -> Grant | None:
        try:
            with self._store.reading(Scope(principal="server")) as work:
                found = work.access_tokens.opened_by(digest)
        except StorageError:
            return None
        if found is None or not found[1].is_good(self._clock.now()):
            return None
        return grant_of(*found)


def grant_of(tenant: str, token: AccessToken) -> Grant:
    """Return what a token of a tenant allows."""
    scope = Scope(tenant=tenant, principal=f"token:{token.name}", principal_id=token.token_id)
    return Grant(scope, token.access, person=token.person)


def _check_reach(by: Access, access: Access, verb: str) -> None:
    """Refuse to make or revoke a token that reaches further than the access of whoever asks."""
    if not by.includes(access):
        raise NotAllowed(
            f"a caller with {by} access cannot {verb} a token with {access} access",
            remedy=f"Ask somebody with {access} access, or use `assay token` on the server.",
        )


def digest_of(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
