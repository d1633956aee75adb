"""Health: does every channel find what it must find, and how do indexes, vectors, gate and log stand?

One canary per channel: a question made of a stored memory's own words, vector, trigger or edge, which that channel
cannot miss. A channel that finds nothing for it is `silent`, which no ordinary search would show. Canaries are logged
under their own origin and count for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import NamedTuple

import numpy as np

from assay.clock import Clock
from assay.embedding.protocol import Embedder
from assay.flags import Flags, FlagState
from assay.index import SearchIndexes
from assay.memory.reembedding import model_state
from assay.memory.saving import spam_filter
from assay.memory.saving.decisions import is_enforced
from assay.memory.searching.channels import is_ordinary
from assay.memory.searching.searcher import Searcher
from assay.memory.searching.trace import Failures, Guard
from assay.records import Channel, Filters, MemoryRecord, Mode, Origin, Scope, SearchRequest, SearchResult
from assay.records.memory_list import Condition, HealthLine, HealthReport, report_health
from assay.storage import Store, Work
from assay.text.terms import normalise_phrase

LOOKED_THROUGH = 2_000
"""Memories among which a canary is looked for."""
RECALL_SAMPLE = 20
GOOD_RECALL = 0.99
SHOWN_HELD = 5
"""Memories in quarantine that are named."""
WORDS = 12
"""Of a passage, in a canary's question."""


class _Canary(NamedTuple):
    """A question that a channel cannot miss, and the channels to ask it of."""

    query: str
    channels: tuple[Channel, ...]


class Health:
    """Checks a memory that is in use."""

    def __init__(
        self,
        *,
        store: Store,
        searcher: Searcher,
        indexes: SearchIndexes,
        flags: Flags,
        embedder: Embedder | None,
        clock: Clock,
        warn_only: timedelta = timedelta(days=14),
        rng: np.random.Generator | None = None,
    ) -> None:
        self._store = store
        self._searcher = searcher
        self._indexes = indexes
        self._flags = flags
        self._embedder = embedder
        self._clock = clock
        self._warn_only = warn_only
        # The same vectors are compared each time, so that a change of the figure is a change of the index.
        self._rng = rng or np.random.default_rng(0)

    def check(self, scope: Scope) -> HealthReport:
        """Look at everything."""
        with self._store.reading(scope) as work:
            lines = [
                self._contents(work),
                *self._models(work),
                self._gate(work),
                *self._flag_lines(work),
                _quarantine(work),
            ]
            canaries = self._canaries(work)
        lines += [self._sing(scope, channel, canaries.get(channel)) for channel in Channel]
        lines += [self._recall(scope), self._index(scope), self._log(), self._failures()]
        return report_health(tuple(lines), self._clock.now())

    def _contents(self, work: Work) -> HealthLine:
        memories, chunks, edges = work.memories.count(), work.memories.count_chunks(), work.edges.count()
        state = Condition.OK if memories else Condition.EMPTY
        return HealthLine("contents", state, f"{memories:,} memories, {chunks:,} passages, {edges:,} edges")

    def _canaries(self, work: Work) -> dict[Channel, _Canary]:
        """A question for each channel that has something to find."""
        found: dict[Channel, _Canary] = {}
        current = [memory for memory in work.memories.page(limit=LOOKED_THROUGH) if memory.superseded_at is None]
        if (words := _first_words(work, current)) is not None:
            found |= {channel: _Canary(words, (channel,)) for channel in (Channel.VECTOR, Channel.FTS5, Channel.BM25)}
        if (phrase := self._firing(work, current)) is not None:
            found[Channel.TRIGGER] = _Canary(phrase, (Channel.TRIGGER,))
        if (joined := _find_joined_words(work, current)) is not None:
            found[Channel.GRAPH] = _Canary(joined, (Channel.FTS5, Channel.GRAPH))
        return found

    def _firing(self, work: Work, memories: Iterable[MemoryRecord]) -> str | None:
        """Return a trigger phrase that should fire; never an ordinary word, since those do not fire as triggers."""
        # An index that cannot be read has a line of its own; without it no frequency is known, as in a search.
        view = Guard(Failures()).run("index", work, lambda: self._indexes.view(work))
        phrases = (phrase for memory in memories for phrase in memory.triggers if any(map(str.isalnum, phrase)))
        options = self._searcher.options
        return next((phrase for phrase in phrases if not is_ordinary(normalise_phrase(phrase), view, options)), None)

    def _sing(self, scope: Scope, channel: Channel, canary: _Canary | None) -> HealthLine:
        if canary is None:
            return HealthLine(channel, Condition.EMPTY, _NOTHING_FOR[channel])
        result = self._searcher.search(scope, _question(canary))
        found = _count_offered(result, channel)
        if found is None:
            return HealthLine(channel, Condition.DEGRADED, " ".join(result.degraded) or "it was not asked")
        if not found:
            return HealthLine(channel, Condition.SILENT, f"found nothing for {canary.query!r}, which it must find")
        return HealthLine(channel, Condition.OK, f"found its canary among {found}")

    def _models(self, work: Work) -> Iterator[HealthLine]:
        if self._embedder is None:
            yield HealthLine("embedding", Condition.DEGRADED, "no embedder is configured, so nothing gets a vector")
            return
        try:
            model = self._embedder.model
        except Exception as problem:  # noqa: BLE001 - whatever stops an embedder, health has to say it
            yield HealthLine("embedding", Condition.DEGRADED, f"the embedder cannot be loaded: {problem}")
            return
        state = model_state(work, model)
        said = f"{state.done:,} of {state.chunks:,} passages have a vector of {model}"
        if not state.chunks:
            yield HealthLine("embedding", Condition.EMPTY, said)
        elif not state.needed:
            yield HealthLine("embedding", Condition.OK, said)
        else:
            used = state.active or "no model yet"
            yield HealthLine("embedding", Condition.DEGRADED, f"{said}; search uses {used}. Run `assay index reembed`")

    def _gate(self, work: Work) -> HealthLine:
        gate = self._flags.states(work)["save_quality_gate"]
        if not gate.on:
            return HealthLine("save gate", Condition.OK, "off: nothing is turned away")
        if gate.activated_at is None:
            return HealthLine("save gate", Condition.EMPTY, "on, not used yet")
        counts = work.saves.counts(gate.activated_at)
        saved, doubted = sum(counts.by_decision.values()), sum(counts.would_reject.values())
        reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(counts.would_reject.items()))
        said = f"{doubted:,} of {saved:,} saves would have been rejected" + (f" ({reasons})" if reasons else "")
        return HealthLine("save gate", Condition.OK, f"{self._gate_period(gate)}; {said}")

    def _flag_lines(self, work: Work) -> Iterator[HealthLine]:
        """A line for each flag that is on and yet does nothing."""
        for state in self._flags.describe(work).values():
            if state.held_off:
                yield HealthLine(state.flag.name, Condition.DEGRADED, f"on, but held off: {state.held_off}")

    def _gate_period(self, gate: FlagState) -> str:
        now = self._clock.now()
        if is_enforced(gate, now, self._warn_only):
            return "enforced"
        begun = gate.activated_at or now
        day = (now - begun).days + 1
        if day <= self._warn_only.days:
            return f"warns only, day {day} of {self._warn_only.days}"
        return "warns only until its rejections are reviewed (`assay flag review save_quality_gate`)"

    def _recall(self, scope: Scope) -> HealthLine:
        found = self._indexes.recall(scope, sample=RECALL_SAMPLE, rng=self._rng)
        if found.share is None:
            return HealthLine("vector recall", Condition.EMPTY, "there are no vectors to compare")
        state = Condition.OK if found.share >= GOOD_RECALL else Condition.DEGRADED
        return HealthLine(
            "vector recall", state, f"{found.share:.3f} of the exact first {found.depth}, over {found.queries} queries"
        )

    def _index(self, scope: Scope) -> HealthLine:
        status = self._indexes.status(scope)
        said = f"{status.base_passages:,} passages in the base, {status.tail_passages:,} in the tail"
        said += f", vectors: {status.vector_kind}"
        problems = [problem for problem in (status.last_problem, status.rebuilt_because) if problem]
        if status.behind:
            problems.append(f"{status.behind} changes behind")
        state = Condition.DEGRADED if status.last_problem or status.behind else Condition.OK
        return HealthLine("index", state, "; ".join([said, *problems]))

    def _log(self) -> HealthLine:
        status = self._store.log.status()
        said = f"{status.waiting:,} waiting, {status.dropped:,} dropped"
        if status.last_problem is not None:
            said += f"; {status.last_problem}"
        state = Condition.DEGRADED if status.dropped or status.last_problem else Condition.OK
        return HealthLine("query log", state, said)

    def _failures(self) -> HealthLine:
        counts = self._searcher.failures.counts()
        if not counts:
            return HealthLine("failures", Condition.OK, "none in this process")
        said = ", ".join(f"{part} {kind} {count}" for (part, kind), count in sorted(counts.items()))
        return HealthLine("failures", Condition.DEGRADED, said)


_NOTHING_FOR = {
    Channel.VECTOR: "there is no current memory with a passage",
    Channel.FTS5: "there is no current memory with a passage",
    Channel.BM25: "there is no current memory with a passage",
    Channel.TRIGGER: "no current memory has a trigger phrase that fires",
    Channel.GRAPH: "no two current memories are joined by an edge",
}


def _question(canary: _Canary) -> SearchRequest:
    return SearchRequest(
        query=canary.query,
        mode=Mode.FOCUSED,
        channels=canary.channels,
        filters=Filters(),
        origin=Origin.CANARY,
        tool_name="health",
    )


def _count_offered(result: SearchResult, channel: Channel) -> int | None:
    """How much a channel offered; None when it did not run."""
    told = [stage.detail[channel]["found"] for stage in result.stages if channel in stage.detail]
    return int(told[0]) if told else None


def _quarantine(work: Work) -> HealthLine:
    held = [memory.id for memory in spam_filter.list_quarantined(work)]
    if not held:
        return HealthLine("quarantine", Condition.EMPTY, "no memory is in quarantine")
    shown = ", ".join(held[:SHOWN_HELD]) + (", ..." if len(held) > SHOWN_HELD else "")
    said = f"{len(held):,} kept out of search ({shown}): look with `assay show ID`, release with `assay restore ID`"
    return HealthLine("quarantine", Condition.OK, said)


def _first_words(work: Work, memories: Iterable[MemoryRecord]) -> str | None:
    """The beginning of some stored passage."""
    return next(filter(None, (_words_of(work, memory) for memory in memories)), None)


def _words_of(work: Work, memory: MemoryRecord) -> str:
    """The beginning of a memory's first passage; empty when it has none, or none with words."""
    pieces = work.memories.chunks_of(memory.id)
    if not pieces or not any(map(str.isalnum, pieces[0].text)):
        return ""
    return " ".join(pieces[0].text.split()[:WORDS])


def _find_joined_words(work: Work, memories: Iterable[MemoryRecord]) -> str | None:
    """The words of a memory that has a neighbour, as a phrase: a hit's neighbour that is a hit itself adds nothing."""
    if not work.edges.count():
        return None
    joined = (memory for memory in memories if work.edges.of(memory.id))
    found = next(filter(None, (_words_of(work, joined_memory) for joined_memory in joined)), None)
    return None if found is None else '"' + found.replace('"', " ") + '"'
