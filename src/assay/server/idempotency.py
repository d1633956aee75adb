"""Writes with an `Idempotency-Key`: sent again, they are done once.

The key is stored before the work begins, and the answer with it afterwards; the same request with the same key gets
that answer again. What a route shows once, such as the text of a new token, is not stored: a repeat has null in its
place and a notice. After a failure on the server's side the key is free again. A server that crashed leaves a key
without an answer; it is free again after `STALE`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from starlette.types import Message, Send

from assay.clock import Clock
from assay.errors import BadValue
from assay.records import Scope, values
from assay.records.access import RequestKey
from assay.server.errors import RequestRefused
from assay.storage import Store
from assay.verbs.verb import ShownOnce

HEADER = "idempotency-key"
REPLAYED = (b"idempotency-replayed", b"true")
KEPT = timedelta(hours=24)
STALE = timedelta(minutes=5)
LONGEST_ANSWER = 1_000_000
"""Bytes of an answer that are stored. A longer answer is not repeated, and its key stays used."""


class KeyedWrite(NamedTuple):
    """A write with its key."""

    scope: Scope
    key: str
    fingerprint: str
    shown_once: ShownOnce | None = None
    """The part of the answer that must not be stored."""


class EarlierAnswer(NamedTuple):
    """The answer that was sent before."""

    status: int
    body: bytes


def make_keyed_write(scope: Scope, key: str, target: bytes, body: bytes) -> KeyedWrite:
    """Return a request with its key; refuse (422) a key that is not a valid id."""
    try:
        values.identifier(key, "Idempotency-Key")
    except BadValue as problem:
        raise RequestRefused(422, problem.code, problem.message, remedy=problem.remedy) from problem
    # Two tokens with the same name are two callers, and neither gets the other's answers.
    caller = replace(scope, principal=scope.identity)
    return KeyedWrite(caller, key, hashlib.sha256(target + b"\n" + body).hexdigest())


class Repeats:
    """Stores keys and the answers sent for them."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def begin(self, write: KeyedWrite) -> EarlierAnswer | None:
        """Reserve a key; return the earlier answer if the write was done before, None if it is to be done now."""
        now = self._clock.now()
        principal = write.scope.principal
        row = RequestKey(key=write.key, principal=principal, fingerprint=write.fingerprint, created_at=now)
        with self._store.writing(write.scope) as work:
            work.request_keys.remove_before(now - KEPT)
            found = work.request_keys.begin(row)
            if found is not None and found.status is None and now - found.created_at > STALE:
                work.request_keys.forget(principal, write.key)
                found = work.request_keys.begin(row)
        return None if found is None else _read_earlier_answer(found, write)

    def finish(self, write: KeyedWrite, status: int, body: bytes) -> None:
        """Store an answer, or free the key of a request that may be tried again."""
        with self._store.writing(write.scope) as work:
            if status >= 500 or status in (409, 429):
                work.request_keys.forget(write.scope.principal, write.key)
            elif len(body) <= LONGEST_ANSWER:
                kept = body.decode() if write.shown_once is None else _without_secrets(body, write.shown_once)
                work.request_keys.finish(write.scope.principal, write.key, status, kept)

    def release(self, write: KeyedWrite) -> None:
        """Free the key of a write whose answer cannot be repeated."""
        with self._store.writing(write.scope) as work:
            work.request_keys.forget(write.scope.principal, write.key)


class RecordingSend:
    """A `send` that also keeps the status and body of the response."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.complete = False
        self.streamed = False
        self._parts: list[bytes] = []

    @property
    def body(self) -> bytes:
        """The whole body that was sent."""
        return b"".join(self._parts)

    async def __call__(self, message: Message) -> None:
        """Pass one message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            kinds = [value for name, value in message.get("headers", []) if name.lower() == b"content-type"]
            self.streamed = not any(kind.startswith(b"application/json") for kind in kinds)
        elif message["type"] == "http.response.body" and not self.streamed:
            self._parts.append(message.get("body", b""))
            self.complete = not message.get("more_body", False)
        await self._send(message)


def _without_secrets(body: bytes, shown_once: ShownOnce) -> str:
    """Return the answer as a repeat gets it: null for what is shown once, and a notice. Errors stay as they are."""
    answer = json.loads(body)
    if not any(answer.get(name) is not None for name in shown_once.fields):
        return body.decode()
    hidden: dict[str, str | None] = dict.fromkeys(shown_once.fields)
    return json.dumps({**answer, **hidden, "notice": shown_once.notice}, separators=(",", ":"), ensure_ascii=False)


def _read_earlier_answer(found: RequestKey, write: KeyedWrite) -> EarlierAnswer:
    if found.fingerprint != write.fingerprint:
        raise RequestRefused(
            422,
            "key_reused",
            f"the Idempotency-Key {write.key} was used for another request",
            remedy="Give each write a key of its own.",
        )
    if found.status is None:
        raise RequestRefused(
            409,
            "still_under_way",
            f"the request with the Idempotency-Key {write.key} is still running",
            remedy="Send it again in a few seconds.",
            headers={"Retry-After": "2"},
        )
    return EarlierAnswer(found.status, (found.answer or "").encode())
