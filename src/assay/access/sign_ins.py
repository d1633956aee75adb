"""Sign-ins of browsers: a random secret in a cookie, its hash in the store, ended by time, by hand or with the token.

The cookie never holds the token itself. The store is asked with every request, so a sign-in that was ended, or whose
token was revoked or has expired, opens nothing from that moment on, in every serving process.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from assay.access.policies import Grant
from assay.access.tokens import digest_of, grant_of
from assay.clock import Clock
from assay.errors import SettingError, StorageError
from assay.records import Scope
from assay.records.access import TOKEN_SHAPE, AccessToken, LoginSession, SignInLine
from assay.storage import Store

MARK = "session_"
"""What every secret begins with, so that nobody takes it for a token."""
LENGTH = len(MARK) + 43
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
        self.lasts = _checked(lasts, "server.session_hours")
        self._idle = _checked(idle, "server.session_idle_minutes")

    def begin(self, token: str, via: str) -> NewSignIn | None:
        """Sign in with a token, from somewhere; None: the token opens nothing."""
        if not TOKEN_SHAPE.fullmatch(token):
            return None
        digest = digest_of(token)
        with self._store.reading(_SERVER) as work:
            found = work.access_tokens.opened_by(digest)
        if found is None:
            return None
        text, now = MARK + secrets.token_urlsafe(32), self._clock.now()
        with self._store.writing(Scope(tenant=found[0], principal=f"token:{found[1].name}", via=via)) as work:
            # Once more, under the lock: it may have been revoked meanwhile.
            found = work.access_tokens.opened_by(digest)
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
        """What the secret of a cookie opens; None: nothing. A store that cannot be asked lets nobody in."""
        if len(text) != LENGTH or not text.startswith(MARK):
            return None
        now = self._clock.now()
        try:
            with self._store.reading(_SERVER) as work:
                found = work.login_sessions.opened_by(digest_of(text))
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


def _checked(given: timedelta, setting: str) -> timedelta:
    if not timedelta(0) < given <= LONGEST:
        raise SettingError(
            f"{setting} is {given.total_seconds() / 3600:g} hours",
            remedy=f"Set {setting} above 0 and to at most {LONGEST.days} days.",
        )
    return given
