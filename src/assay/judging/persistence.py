"""What judging stores: paid replies, money spent, and the secret of the marked lines."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

from assay.errors import BudgetExhausted
from assay.judging.injection import InjectionGuard
from assay.models.budget import Cost, Limits
from assay.models.chat import ChatReply
from assay.records.judging import JudgedAnswer, StoredVerdict
from assay.storage.repositories.judging import Balance

if TYPE_CHECKING:
    from datetime import datetime

    from assay.clock import Clock
    from assay.records import Scope
    from assay.storage import Store

Period = Literal["day", "month", "ever"]
SECRET = "judge_secret"  # noqa: S105 - the name under which it is kept
_REPLY = ("text", "model", "latency_ms", "prompt_tokens", "completion_tokens", "finish_reason")


class StoredReplies:
    """Replies of one tenant, kept for good."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    def get(self, key: str) -> ChatReply | None:
        """The reply under a key."""
        with self._store.reading(self._scope) as work:
            found = work.model_replies.get(key)
        return None if found is None else ChatReply(**found)

    def put(self, key: str, reply: ChatReply) -> None:
        """Keep a reply."""
        with self._store.writing(self._scope) as work:
            work.model_replies.put(key, {name: getattr(reply, name) for name in _REPLY})


class StoredSpending:
    """One tenant's account for the current period; every process that opens the store draws on the same one."""

    def __init__(self, store: Store, scope: Scope, *, period: Period, clock: Clock) -> None:
        self._store = store
        self._scope = scope
        self._period = period
        self._clock = clock

    def reserve(self, most: Cost, limits: Limits) -> str:
        """Set aside what a call can cost; refuse what would go beyond the limits."""
        account = account_of(self._period, self._clock.now())
        name = uuid4().hex
        with self._store.writing(self._scope) as work:
            if work.spending.reserve(account, name, Balance(*most), limits):
                return name
            spent = work.spending.balance(account)
        limits.refuse(Cost(*spent), most)
        raise BudgetExhausted(  # pragma: no cover - what was refused is refused
            "the budget is spent", remedy="Raise it, or wait for its next period."
        )

    def settle(self, reservation: str, cost: Cost) -> None:
        """Put what a call did cost in the place of what was set aside."""
        with self._store.writing(self._scope) as work:
            work.spending.settle(reservation, Balance(*cost))

    def spent(self) -> Cost:
        """All that was spent or is set aside in this period."""
        with self._store.reading(self._scope) as work:
            return Cost(*work.spending.balance(account_of(self._period, self._clock.now())))


def account_of(period: Period, moment: datetime) -> str:
    """The name of the account that a moment belongs to."""
    return {"day": f"{moment:%Y-%m-%d}", "month": f"{moment:%Y-%m}", "ever": "ever"}[period]


def to_stored_verdict(run_id: str, case_id: str, judged: JudgedAnswer, at: datetime, repeat: int = 0) -> StoredVerdict:
    """One verdict as it is kept."""
    verdict = judged.verdict
    claims = {
        name: list(getattr(verdict, name))
        for name in ("supported_claims", "unsupported_claims")
        if hasattr(verdict, name)
    }
    return StoredVerdict(
        run_id=run_id,
        case_id=case_id,
        repeat=repeat,
        kind=judged.input.kind,
        fingerprint_id=judged.fingerprint.id,
        input_hash=judged.input.input_hash,
        outcome=verdict.outcome,
        score=judged.score,
        reason=verdict.reason,
        detail={
            **claims,
            "judge": judged.fingerprint.as_json(),
            "probability": verdict.probability,
            "flags": list(judged.flags),
            "raw": list(judged.raw),
            "latency_ms": judged.latency_ms,
            "prompt_tokens": judged.prompt_tokens,
            "completion_tokens": judged.completion_tokens,
            "cached": judged.cached,
            "served": list(judged.served),
            "usage": judged.usage.as_json(),
        },
        created_at=at,
    )


_making = threading.Lock()


def guard_of(store: Store, scope: Scope) -> InjectionGuard:
    """The guard of a store; its secret is made when it is first needed, and is the same ever after."""
    with store.reading(scope) as work:
        found = work.meta.get(SECRET)
    if found is None:
        with _making, store.writing(scope) as work:
            found = work.meta.get(SECRET) or secrets.token_hex(32)
            work.meta.put(SECRET, found)
    return InjectionGuard(bytes.fromhex(found))
