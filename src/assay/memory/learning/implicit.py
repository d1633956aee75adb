"""What use says without words: which events follow from what an agent read or wrote, given what its session was shown.

`read_after_search`: it read a memory that a search of the session returned. `scroll_past`: results above it in that
list that it did not read. `reference`: it wrote a text that repeats a memory it was given word for word. `re_search`:
it asked nearly the same again without having chosen anything. Pure: lists in, events out; every event has a key of its
own, so that whatever is derived twice counts once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Any

from assay.memory.learning.validation import event_key, rank_of
from assay.memory.sessions import Turn
from assay.records import EventType, FeedbackEvent
from assay.storage.repositories.queries import UsedQuery
from assay.text.terms import words

RUN = 8
"""Words in a row that make a repetition; a stock phrase is shorter."""
STRIDE = 4
"""Runs of a memory begin at every fourth word, so eleven words in a row are found wherever they begin."""
READ_WORDS = 3_000
"""Words of a written text, and of a memory, that are compared."""
SKIPPED = 20
"""Results above the one that was read that count as passed over."""
ALIKE = 0.5
"""Of the words of two questions together, the share that both have, from which the second repeats the first."""
SOON = timedelta(minutes=30)
"""A question after more than this is a new one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """Whose events they are, and when."""

    session_id: str
    principal: str
    now: datetime

    def event(
        self, kind: EventType, query_id: str, memory_id: str | None, rank: int | None, *, key: str = "", **more: Any
    ) -> FeedbackEvent:
        """One event of this session. `key` is what its sender calls it."""
        return FeedbackEvent(
            event_key=key or event_key(kind, self.session_id, query_id, memory_id),
            event_type=kind,
            session_id=self.session_id,
            created_at=self.now,
            query_id=query_id,
            memory_id=memory_id,
            rank_in_results=rank,
            metadata={"principal": self.principal, **more},
        )


def read(watch: Watch, memory_id: str, turns: Sequence[Turn], *, key: str = "") -> list[FeedbackEvent]:
    """A memory was read: tied to the newest search that returned it, with what stood above it."""
    turn = _newest(memory_id, turns)
    if turn is None:
        return []
    rank = rank_of(memory_id, turn.memory_ids) or 0
    above = turn.memory_ids[: rank - 1][:SKIPPED]
    found = watch.event(EventType.READ_AFTER_SEARCH, turn.query_id, memory_id, rank, key=key)
    passed = (
        watch.event(EventType.SCROLL_PAST, turn.query_id, one, place, read_at=rank)
        for place, one in enumerate(above, start=1)
    )
    return [found, *passed]


def references(
    watch: Watch, wrote: str, bodies: Iterable[tuple[str, str]], turns: Sequence[Turn], *, key: str = ""
) -> list[FeedbackEvent]:
    """A text was written: one event for each memory of the session whose words it repeats."""
    said = words(wrote)[:READ_WORDS]
    runs = {tuple(said[start : start + RUN]) for start in range(len(said) - RUN + 1)}
    if not runs:
        return []
    repeated = [memory_id for memory_id, body in bodies if not _runs(body).isdisjoint(runs)]
    return [
        watch.event(EventType.REFERENCE, turn.query_id, one, rank_of(one, turn.memory_ids), key=_number_key(key, place))
        for place, one in enumerate(repeated)
        if (turn := _newest(one, turns)) is not None
    ]


def re_searches(watch: Watch, asked: Sequence[UsedQuery], chosen: Collection[str]) -> Iterator[FeedbackEvent]:
    """Questions, oldest first, that were asked nearly the same again soon, and whose results nobody chose."""
    for first, again in pairwise(asked):
        soon = timedelta(0) <= again.created_at - first.created_at <= SOON
        if soon and first.query_id not in chosen and (share := alike(first.query, again.query)) >= ALIKE:
            yield watch.event(
                EventType.RE_SEARCH, first.query_id, None, None, again=again.query_id, alike=round(share, 3)
            )


def alike(first: str, second: str) -> float:
    """Of the words of both questions together, the share that both have."""
    one, other = set(words(first)[:READ_WORDS]), set(words(second)[:READ_WORDS])
    return len(one & other) / len(one | other) if one | other else 0.0


def _newest(memory_id: str, turns: Sequence[Turn]) -> Turn | None:
    return next((turn for turn in reversed(turns) if turn.query_id and memory_id in turn.memory_ids), None)


def _number_key(key: str, place: int) -> str:
    return key and (key if place == 0 else f"{key}.{place + 1}")


@lru_cache(maxsize=2_000)
def _runs(body: str) -> frozenset[tuple[str, ...]]:
    found = words(body)[:READ_WORDS]
    return frozenset(tuple(found[start : start + RUN]) for start in range(0, len(found) - RUN + 1, STRIDE))
