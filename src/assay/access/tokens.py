"""Tokens and browser sign-ins: made, kept as a hash, expired and revoked.

- Tokens.
- Browser sign-ins.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from assay.access.policies import Authoriser, Grant
from assay.clock import Clock
from assay.errors import InputError, NotAllowed, SettingError, StorageError
from assay.records import Scope
from assay.records.access import LONGEST_DAYS, TOKEN_SHAPE, Access, AccessToken, LoginSession, SignInLine
from assay.storage import Store

# --- Tokens ---
#
# A token is 256 random bits, so its plain SHA-256 is safe to keep: there is nothing to guess. The hash alone finds the
# row, and the row says whose rows it opens.

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

        `by` is the access of the caller; the person at the command line is the operator. Raises `NotAllowed` for a
        token that would reach further than that. A token is a program's unless it is made for a `person`: only then
        do notes saved with it count as written by hand.
        """
        _check_reach(by, access, "make")
        if days is not None and not 1 <= days <= LONGEST_DAYS:
            raise InputError(f"a token cannot last {days} days", remedy=f"Give 1 to {LONGEST_DAYS} days.")
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

    def list_everywhere(self, scope: Scope) -> list[tuple[str, AccessToken]]:
        """Every token of every tenant, with its tenant. The caller checks that an operator asks."""
        with self._store.reading(scope) as work:
            return work.access_tokens.list_everywhere()

    def revoke(self, scope: Scope, token_id: str, *, by: Access = Access.OPERATOR) -> AccessToken:
        """Let a token open nothing from now on, nor any browser that signed in with it; `by` as for `create`."""
        with self._store.writing(scope) as work:
            _check_reach(by, work.access_tokens.get(token_id).access, "revoke")
            gone = work.access_tokens.revoke(token_id, self._clock.now())
            ended = work.login_sessions.end_of_token(token_id, self._clock.now())
            work.audit.append("token.revoke", token_id, {"name": gone.name, "sessions_ended": ended})
        return gone


class StoredTokens:
    """Accepts tokens that the store has; others are left to a second authoriser."""

    def __init__(self, store: Store, clock: Clock, otherwise: Authoriser | None = None) -> None:
        self._store = store
        self._clock = clock
        self._otherwise = otherwise
        self._good: dict[str, tuple[float, Grant | None]] = {}
        # Apart from the good ones, so that guessing tokens does not push those out of the cache.
        self._bad: dict[str, tuple[float, Grant | None]] = {}
        self._lock = threading.Lock()

    def grant(self, token: str | None) -> Grant | None:
        """Return the grant of a valid token; None: no access. A store that cannot be read refuses all."""
        if token is not None and TOKEN_SHAPE.fullmatch(token):
            return self._look_up(digest_of(token), self._look)
        return None if self._otherwise is None else self._otherwise.grant(token)

    def or_else(self, otherwise: Authoriser | None) -> StoredTokens:
        """The same tokens, and another authoriser for everything that is none of them."""
        return StoredTokens(self._store, self._clock, otherwise)

    def exist(self) -> bool:
        """Whether any tenant has a token that was not revoked."""
        with self._store.reading(Scope(principal="server")) as work:
            return work.access_tokens.exist()

    def forget(self) -> None:
        """Empty the cache, so that the next call reads the store."""
        with self._lock:
            self._good.clear()
            self._bad.clear()

    def _look_up(self, digest: str, look: Callable[[str], Grant | None]) -> Grant | None:
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
                found = work.access_tokens.find_by_digest(digest)
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
    """Refuse to create or revoke a token with more access than the caller has."""
    if not by.includes(access):
        raise NotAllowed(
            f"a caller with {by} access cannot {verb} a token with {access} access",
            remedy=f"Ask somebody with {access} access, or use `assay token` on the server.",
        )


def digest_of(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


# --- Browser sign-ins ---
#
# The cookie never holds the token itself. The store is asked with every request, so a sign-in that was ended, or whose
# token was revoked or has expired, opens nothing from that moment on, in every serving process.

SIGN_IN_PREFIX = "session_"
"""Prefix of every secret, so that it is not mistaken for a token."""
SIGN_IN_LENGTH = len(SIGN_IN_PREFIX) + 43
SEEN_EVERY = timedelta(minutes=1)
"""How exactly the last use is written down: a write with every request would be one too many."""
LISTED = timedelta(days=30)
"""How long a sign-in that is over stays in the list."""
LONGEST = timedelta(days=30)
_SERVER = Scope(principal="server")


class NewSignIn(NamedTuple):
    """A sign-in that was just made. `text` belongs into the cookie and is nowhere else."""

    text: str
    kept: LoginSession


class OpenSignIn(NamedTuple):
    """A sign-in that opens something."""

    grant: Grant
    kept: LoginSession


class SignIns:
    """Begins, finds, lists and ends sign-ins.

    `lasts` is how long one opens anything at all, `idle` how long it may go unused.
    """

    def __init__(self, store: Store, clock: Clock, *, lasts: timedelta, idle: timedelta) -> None:
        self._store = store
        self._clock = clock
        self.lasts = _check_duration(lasts, "server.session_hours")
        self._idle = _check_duration(idle, "server.session_idle_minutes")

    def begin(self, token: str, via: str) -> NewSignIn | None:
        """Sign in with a token, from somewhere; None: the token opens nothing."""
        if not TOKEN_SHAPE.fullmatch(token):
            return None
        digest = digest_of(token)
        with self._store.reading(_SERVER) as work:
            found = work.access_tokens.find_by_digest(digest)
        if found is None:
            return None
        text, now = SIGN_IN_PREFIX + secrets.token_urlsafe(32), self._clock.now()
        with self._store.writing(Scope(tenant=found[0], principal=f"token:{found[1].name}", via=via)) as work:
            # Once more, under the lock: it may have been revoked meanwhile.
            found = work.access_tokens.find_by_digest(digest)
            if found is None or not found[1].is_good(now):
                return None
            kept = LoginSession(
                session_id=self._store.ids.new("ls"),
                token_id=found[1].token_id,
                digest=digest_of(text),
                created_at=now,
                last_seen_at=now,
                expires_at=now + self.lasts,
                via=via,
            )
            work.login_sessions.remove_before(now - LISTED)
            work.login_sessions.add(kept)
            work.audit.append("session.begin", kept.session_id, {"token_id": kept.token_id})
        return NewSignIn(text, kept)

    def find(self, text: str) -> OpenSignIn | None:
        """Return the sign-in of a cookie's secret; None: no access. A store that cannot be read refuses all."""
        if len(text) != SIGN_IN_LENGTH or not text.startswith(SIGN_IN_PREFIX):
            return None
        now = self._clock.now()
        try:
            with self._store.reading(_SERVER) as work:
                found = work.login_sessions.find_by_digest(digest_of(text))
            if found is None:
                return None
            tenant, session, token = found
            if not session.is_open(now, self._idle) or not token.is_good(now):
                return None
            grant = grant_of(tenant, token)
            if now - session.last_seen_at >= SEEN_EVERY:
                with self._store.writing(grant.scope) as work:
                    work.login_sessions.see(session.session_id, now)
        except StorageError:
            return None
        return OpenSignIn(grant, session)

    def sign_out(self, text: str, via: str) -> bool:
        """End the sign-in of a cookie; whether there was one."""
        found = self.find(text)
        if found is None:
            return False
        self.end(replace(found.grant.scope, via=via), found.kept.session_id)
        return True

    def all(self, scope: Scope) -> list[SignInLine]:
        """Every sign-in of the tenant, newest first; those that are over too, for a month."""
        now = self._clock.now()
        with self._store.reading(scope) as work:
            tokens = {token.token_id: token for token in work.access_tokens.all()}
            sessions = work.login_sessions.all()
        return [self._line(session, tokens.get(session.token_id), now) for session in sessions]

    def end(self, scope: Scope, session_id: str) -> SignInLine:
        """Let a sign-in of the tenant open nothing from now on."""
        now = self._clock.now()
        with self._store.writing(scope) as work:
            ended = work.login_sessions.end(session_id, now)
            work.audit.append("session.end", session_id, {"token_id": ended.token_id})
            tokens = {token.token_id: token for token in work.access_tokens.all()}
        return self._line(ended, tokens.get(ended.token_id), now)

    def _line(self, session: LoginSession, token: AccessToken | None, now: datetime) -> SignInLine:
        """Return a sign-in as a list shows it: with the name of its token, without the hash of its secret."""
        return SignInLine(
            session_id=session.session_id,
            token_id=session.token_id,
            token_name="" if token is None else token.name,
            via=session.via,
            created_at=session.created_at,
            last_seen_at=session.last_seen_at,
            expires_at=session.expires_at,
            ended_at=session.ended_at,
            is_open=session.is_open(now, self._idle) and token is not None and token.is_good(now),
        )


def _check_duration(given: timedelta, setting: str) -> timedelta:
    if not timedelta(0) < given <= LONGEST:
        raise SettingError(
            f"{setting} is {given.total_seconds() / 3600:g} hours",
            remedy=f"Set {setting} above 0 and to at most {LONGEST.days} days.",
        )
    return given
