"""Search: takes a request and returns an explained result.

- Constitutional memories: returned with every result, outside k, ranking, filters and session history.
- The quality proxy: one number from 0 to 1 for how a search went, about health and not about relevance.
- Telemetry of one search, in the terms that dashboards use.
- The entry of a search in the query log.
- The searcher.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from assay.clock import Clock
from assay.embedding.protocol import CrossEncoder, Embedder
from assay.flags import Flags, find_flag
from assay.index import PassageNames, Rows, SearchIndexes, numbers_of, scores_of
from assay.memory.searching.candidates import Embedded, embed_query
from assay.memory.searching.channels import QueryVector
from assay.memory.searching.modes import ModeChoice, PressureReading, choose_mode, plan_mode, read_pressure
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.pipeline import Answer, Pipeline
from assay.memory.searching.query import classify_intent
from assay.memory.searching.results import count_near_top
from assay.memory.searching.search_setting import Asked, Setting
from assay.memory.searching.trace import Failures, Guard, Stopwatch, Trace
from assay.memory.sessions import History, Sessions, Turn, earlier
from assay.records import (
    Channel,
    ChannelCandidates,
    FusionMethod,
    Hit,
    LoggedQuery,
    LogPosition,
    MemoryRecord,
    Mode,
    Origin,
    Pinned,
    Scope,
    SearchRequest,
    SearchResult,
    Telemetry,
)
from assay.records.fields import make_checked
from assay.storage import Store, Work

# --- Constitutional memories: returned with every result, outside k, ranking, filters and session history ---
#
# They change seldom and are wanted always, so they are kept per tenant for as long as the change log stands still.


class _Law(NamedTuple):
    """One constitutional memory and when it held."""

    pinned: Pinned
    valid_from: datetime
    superseded_at: datetime | None

    def was_in_force(self, moment: datetime | None) -> bool:
        if moment is None:
            return self.superseded_at is None
        return self.valid_from <= moment and (self.superseded_at is None or self.superseded_at > moment)


class PinnedMemories:
    """Reads the constitutional memories of a tenant, once for each position of its change log."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[LogPosition | None, tuple[_Law, ...]]] = {}

    def of(
        self, work: Work, *, tenant: str, position: LogPosition | None, as_of: datetime | None
    ) -> tuple[Pinned, ...]:
        """Those that hold now, or held then; oldest first. `position` is how far the log is known, if it is."""
        kept = self._kept.get(tenant)
        if kept is None or kept[0] != position:
            kept = (
                position,
                tuple(_law(work, memory) for memory in work.memories.constitutional(include_superseded=True)),
            )
            # What is known of the log may be newer than this snapshot: then these rows are not kept for it.
            if position == work.changes.position():
                # One assignment, so that threads need no lock: at worst two read the same rows.
                self._kept[tenant] = kept
        return tuple(law.pinned for law in kept[1] if law.was_in_force(as_of))


def _law(work: Work, memory: MemoryRecord) -> _Law:
    tokens = sum(piece.token_count for piece in work.memories.chunks_of(memory.id))
    pinned = Pinned(memory_id=memory.id, title=memory.title, body=memory.body, tokens=tokens)
    return _Law(pinned, memory.valid_from, memory.superseded_at)


# --- The quality proxy: one number from 0 to 1 for how a search went, about health and not about relevance ---
#
# `0.40 * mean score + 0.25 * top score + 0.20 * saturation + 0.15 * promptness`, where
#
# - saturation is the number of results over 5, at most 1: five results are enough to choose from;
# - promptness is 1 up to 50 ms, 0 from 500 ms on, and falls in a straight line between them.
#
# An empty result is a result: its scores and its saturation count as 0, and what is left says how promptly nothing
# came. Scores are those shown, so the proxies of two fusion methods or weights are not to be compared.

MEAN_SHARE, TOP_SHARE, COUNT_SHARE, LATENCY_SHARE = 0.40, 0.25, 0.20, 0.15
ENOUGH_RESULTS = 5
PROMPT_MS, SLOW_MS = 50.0, 500.0


def quality_proxy(scores: Sequence[float], latency_ms: float) -> float:
    """The proxy of a search that showed these scores, best first, after this time."""
    mean = math.fsum(scores) / len(scores) if scores else 0.0
    top = max(scores, default=0.0)
    parts = (MEAN_SHARE * mean, TOP_SHARE * top, COUNT_SHARE * saturation(len(scores)))
    return math.fsum((*parts, LATENCY_SHARE * promptness(latency_ms)))


def saturation(count: int) -> float:
    """How near the number of results is to enough."""
    return min(count / ENOUGH_RESULTS, 1.0)


def promptness(latency_ms: float) -> float:
    """Return 1 for an instant answer, falling to 0 for a slow one."""
    return min(max((SLOW_MS - latency_ms) / (SLOW_MS - PROMPT_MS), 0.0), 1.0)


# --- Telemetry of one search, in the terms that dashboards use ---
#
# Shares of the time come from the trace. `extraction_count_in_session` counts the memories the session has been given,
# this search's included. None means that nothing was returned to take a mean of.


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """Facts for the telemetry beside the trace and the hits."""

    choice: ModeChoice
    pressure: PressureReading
    embedding_ms: float
    fallback: str | None
    degraded: tuple[str, ...]
    history: History
    """What the session was given before."""


def make_telemetry(trace: Trace, hits: Sequence[Hit], unboosted: Sequence[float], around: Circumstances) -> Telemetry:
    """How the search went. `unboosted` has the score of each hit before its boosts."""
    scores = [hit.score for hit in hits]
    spent = trace.sum_by_name()
    total = trace.elapsed_ms()
    mean = math.fsum(scores) / len(scores) if scores else None
    return Telemetry(
        total_latency_ms=total,
        embedding_latency_ms=around.embedding_ms,
        candidate_latency_ms=spent["candidate"] + spent["filter"],
        fusion_latency_ms=spent["fusion"] + spent["aggregate"],
        rerank_latency_ms=spent["rerank"],
        boost_latency_ms=spent["boost"],
        selected_mode=around.choice.mode,
        mode_override_applied=around.choice.overridden,
        pressure_level=around.pressure.level,
        token_usage_ratio=around.pressure.ratio,
        fallback_triggered=around.fallback is not None,
        fallback_reason=around.fallback,
        degraded_mode_active=bool(around.degraded),
        result_count=len(hits),
        avg_relevance_score=mean,
        top_result_score=max(scores, default=None),
        boost_impact_delta=_mean_change(scores, unboosted),
        extraction_count_in_session=len(around.history.memories_given() | {hit.memory_id for hit in hits}),
        quality_proxy_score=quality_proxy(scores, total),
    )


def _mean_change(after: Sequence[float], before: Sequence[float]) -> float | None:
    if not after:
        return None
    return math.fsum([value - other for value, other in zip(after, before, strict=True)]) / len(after)


# --- The entry of a search in the query log ---
#
# It holds what was returned and every channel's candidates as they were fused, so that any fusion can be replayed
# offline.

Lists = Mapping[Channel, Sequence[tuple[int, float]]]
Compared = Mapping[Channel, Collection[int]]


def make_logged_query(
    request: SearchRequest,
    result: SearchResult,
    *,
    lists: Lists,
    compared: Compared = MappingProxyType({}),
    rows: Rows,
    rrf_k: int,
    near_top: int,
    at: datetime,
) -> LoggedQuery:
    """The record of one search.

    `lists` are those that were fused, by number; `rows` are their passages; `compared` are those that stand in the list
    of a channel that did not find them.
    """
    names = rows.passage_names()
    # All of it was checked when the request was made, comes from the store, or was made here.
    return make_checked(
        LoggedQuery,
        query_id=result.query_id,
        query=request.query,
        tool_name=request.tool_name,
        created_at=at,
        origin=request.origin,
        intent=str(result.intent),
        mode=str(result.mode),
        session_id=request.session_id,
        result_ids=result.ids,
        channel_contributions=contributions(result.hits, lists, compared),
        total_latency_ms=result.telemetry.total_latency_ms,
        fusion_weights=_weights(result.fusion, result.weights, rrf_k),
        is_eval_corpus=False,
        eval_category=None,
        quality_proxy_score=result.telemetry.quality_proxy_score,
        trace_id=result.trace_id,
        tokens_saved=result.tokens_saved if request.session_id else None,
        held_back=len(result.held_back) if request.session_id else None,
        near_top=near_top,
        mode_overridden=result.telemetry.mode_override_applied,
        pressure_level=str(result.telemetry.pressure_level),
        token_usage_ratio=result.telemetry.token_usage_ratio,
        context_type=request.context_type,
        previous_query=request.previous_query,
        candidates=tuple([OfferedCandidates(channel, lists[channel], names) for channel in sorted(lists)]),
    )


def contributions(
    hits: Sequence[Hit], lists: Lists, compared: Compared = MappingProxyType({})
) -> dict[str, dict[str, int]]:
    """For each channel that ran: how many candidates it had, how many of the hits it found, how many it alone found."""
    told = {channel: {"alone": 0, "candidates": len(lists[channel]), "found": 0} for channel in sorted(lists)}
    for channel in told.keys() & compared.keys():
        told[channel]["candidates"] -= sum(map(compared[channel].__contains__, numbers_of(lists[channel])))
    for hit in hits:
        channels = hit.channels
        for channel in channels:
            if channel in told:
                told[channel]["found"] += 1
        if len(channels) == 1 and channels[0] in told:
            told[channels[0]]["alone"] += 1
    return {channel.value: counts for channel, counts in told.items()}


def _weights(method: FusionMethod, weights: Mapping[str, float], rrf_k: int) -> dict[str, Any]:
    shown = {"weights": dict(sorted(weights.items()))}
    constant = {"rrf_k": rrf_k} if method is FusionMethod.RRF else {}
    return {"method": method.value, **constant, **shown}


class OfferedCandidates(ChannelCandidates):
    """What a channel offered, named when somebody reads it: the thread that writes the log, not the search."""

    __slots__ = ("_numbers", "_passages")
    _numbers: tuple[int, ...]
    _passages: PassageNames

    def __init__(self, channel: Channel, offered: Sequence[tuple[int, float]], passages: PassageNames) -> None:
        object.__setattr__(self, "channel", channel.value)
        # Two plain tuples: hundreds of pairs that wait for the writer would be looked at by every garbage collection.
        object.__setattr__(self, "scores", tuple(map(float, scores_of(offered))))
        object.__setattr__(self, "_numbers", tuple(numbers_of(offered)))
        object.__setattr__(self, "_passages", passages)

    @property
    def ids(self) -> tuple[str, ...]:
        """The passages."""
        return self._passages.name(self._numbers)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChannelCandidates):
            return NotImplemented
        return (self.channel, self.ids, self.scores) == (other.channel, other.ids, other.scores)

    __hash__ = None  # type: ignore[assignment]  # nobody looks one up

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(ChannelCandidates, channel=self.channel, ids=self.ids, scores=self.scores), ()


# --- The searcher ---
#
# Everything is read in one snapshot. A search writes nothing but a line of the query log, and that not before it has
# answered. Observers see the finished result and can neither change it nor make the search fail.

Observer = Callable[[Scope, SearchRequest, SearchResult], None]
"""Called after every finished search."""
Blend = Callable[[SearchResult], SearchResult]
"""Makes one result of this one and another."""


class Searcher:
    """Searches the memories of a store.

    searcher = Searcher(store=store, embedder=embedder, indexes=indexes, flags=flags, clock=clock)
    result = searcher.search(scope, SearchRequest(query="how do we sign in?"))
    """

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None,
        indexes: SearchIndexes,
        flags: Flags,
        clock: Clock,
        options: SearchOptions | None = None,
        cross_encoder: CrossEncoder | None = None,
        observers: Sequence[Observer] = (),
        stopwatch: Stopwatch = time.perf_counter,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._indexes = indexes
        self._flags = flags
        self._clock = clock
        self._options = options or SearchOptions()
        self._cross_encoder = cross_encoder
        self._observers = tuple(observers)
        self._stopwatch = stopwatch
        self._pinned = PinnedMemories()
        self._sessions = Sessions()
        self.failures = Failures()
        """What failed in this process, by part and kind of error."""

    @property
    def options(self) -> SearchOptions:
        """The numbers it searches by."""
        return self._options

    @property
    def flags(self) -> Flags:
        """The flags it searches under."""
        return self._flags

    @property
    def cross_encoder(self) -> CrossEncoder | None:
        """What orders results again where the flag is on; None: nothing is configured."""
        return self._cross_encoder

    def watch(self, observer: Observer) -> None:
        """Call an observer after every search from now on."""
        self._observers = (*self._observers, observer)

    def with_options(self, options: SearchOptions) -> Searcher:
        """Return a searcher of the same memories and sessions with other options and without observers."""
        other = copy(self)
        other._options, other._observers = options, ()  # noqa: SLF001 - its own copy
        return other

    def with_flags(self, flags: Flags) -> Searcher:
        """Return a searcher of the same memories and sessions under other flags and without observers."""
        other = copy(self)
        other._flags, other._observers = flags, ()  # noqa: SLF001 - its own copy
        return other

    def with_observers_of(self, original: Searcher) -> Searcher:
        """Return this searcher with the observers that another one has now."""
        other = copy(self)
        other._observers = original._observers  # noqa: SLF001 - its own copy
        return other

    def search(
        self, scope: Scope, request: SearchRequest, *, before: str | None = None, blend: Blend | None = None
    ) -> SearchResult:
        """Answer a question. Fails only when the store itself cannot be read.

        `before` names a query: the session's history counts up to it, so that an earlier search can be repeated.
        `blend` may mix another's hits in; what it returns is what is logged and returned.
        """
        for name in request.without:
            find_flag(name)
        trace = Trace(self._store.ids.new("tr"), self._stopwatch)
        guard = Guard(self.failures)
        pressure = read_pressure(request.token_budget, request.tokens_used, options=self._options)
        choice = choose_mode(request, pressure.level)
        embedded = self._embed(request, choice, guard)
        asked = Asked(
            scope=scope,
            request=request,
            intent=request.intent or classify_intent(request.query).intent,
            choice=choice,
            vector=embedded.vector,
            now=self._clock.now(),
            before=before,
        )
        self._indexes.prepare(scope)
        with self._store.reading(scope) as work:
            setting = self._setting(work, asked, guard)
            answer = Pipeline(asked, setting, trace, guard).run()
            pinned = self._load_pinned(setting, asked)
        around = Circumstances(
            choice=choice,
            pressure=pressure,
            embedding_ms=embedded.duration_ms,
            fallback=answer.fallback,
            degraded=tuple(guard.notes),
            history=setting.history,
        )
        result = self._result(asked, answer, pinned, trace, around)
        result = result if blend is None else blend(result)
        self._leave(asked, answer, result)
        return result

    @property
    def sessions(self) -> Sessions:
        """The histories of sessions in this process."""
        return self._sessions

    def match_triggers(self, scope: Scope, text: str, limit: int = 10) -> SearchResult:
        """Return the memories one of whose trigger phrases is in a text: the trigger channel alone."""
        return self.search(
            scope,
            SearchRequest(
                query=text, k=limit, mode=Mode.QUICK, channels=(Channel.TRIGGER,), tool_name="match_triggers"
            ),
        )

    def embed(self, query: str) -> QueryVector | None:
        """Embed a query as a search does, from the same cache; None: there is no embedder, or it failed."""
        return embed_query(self._embedder, query, stopwatch=self._stopwatch, failures=self.failures).vector

    def _embed(self, request: SearchRequest, choice: ModeChoice, guard: Guard) -> Embedded:
        channels = request.channels or plan_mode(choice.mode, self._options).channels
        if Channel.VECTOR not in channels:
            return Embedded(None, None, 0.0)
        made = embed_query(self._embedder, request.query, stopwatch=self._stopwatch, failures=self.failures)
        if made.problem is not None:
            guard.left_out(Channel.VECTOR, made.problem)
        if made.vector is None or request.previous_query is None:
            return made
        previous = embed_query(
            self._embedder, request.previous_query, stopwatch=self._stopwatch, failures=self.failures
        )
        if previous.problem is not None:
            guard.note(f"The previous question counts by its words alone: {previous.problem}")
        return made.lean_towards(previous, self._options.previous_weight)

    def _setting(self, work: Work, asked: Asked, guard: Guard) -> Setting:
        return Setting(
            work=work,
            view=guard.run("index", work, lambda: self._indexes.view(work)),
            states=self._flags.states(work),
            history=self._history(work, asked),
            past=lambda: earlier(self._sessions.past(work, asked.scope), asked.before),
            options=self._options,
            cross_encoder=self._cross_encoder,
        )

    def _history(self, work: Work, asked: Asked) -> History:
        request = asked.request
        there = self._sessions.history(work, asked.scope, request.session_id) if request.session_id else History()
        return History(earlier(there.turns, asked.before)).holding(request.working_memory)

    def _load_pinned(self, setting: Setting, asked: Asked) -> tuple[Pinned, ...]:
        position = None if setting.view is None else setting.view.position
        as_of = asked.request.filters.as_of
        return self._pinned.of(setting.work, tenant=asked.scope.tenant, position=position, as_of=as_of)

    def _result(
        self, asked: Asked, answer: Answer, pinned: tuple[Pinned, ...], trace: Trace, around: Circumstances
    ) -> SearchResult:
        shown = answer.shown
        return SearchResult(
            query_id=self._store.ids.new("eq"),
            trace_id=trace.id,
            hits=shown.hits,
            pinned=pinned,
            mode=asked.choice.mode,
            intent=asked.intent,
            fusion=self._options.method,
            weights=answer.weights,
            stages=trace.stages,
            telemetry=make_telemetry(trace, shown.hits, shown.unboosted, around),
            degraded=around.degraded,
            excluded_folders=answer.reach.excluded,
            chosen_folders=answer.reach.chosen,
            cold_start=asked.request.session_id is not None and around.history.cold,
            held_back=shown.held_back,
            tokens_saved=shown.tokens_saved,
            below_cut=shown.below_cut,
            cosines=answer.cosines,
            below_threshold=answer.ranking.below_threshold,
            min_relevance=shown.min_relevance,
            below_relevance=shown.below_relevance,
            beyond_budget=shown.beyond_budget,
        )

    def _leave(self, asked: Asked, answer: Answer, result: SearchResult) -> None:
        """What a search leaves behind, once it is complete. Nothing here can fail it."""
        scope, request = asked.scope, asked.request
        near_top = count_near_top(result, self._options)
        self._quietly("query log", lambda: self._log(asked, answer, result, near_top))
        if request.origin is Origin.USE:
            self._sessions.note(scope, request.session_id, Turn(result.query_id, result.ids, near_top))
        for observe in self._observers:
            self._quietly("observer", partial(observe, scope, request, result))

    def _log(self, asked: Asked, answer: Answer, result: SearchResult, near_top: int) -> None:
        ranking = answer.ranking
        line = make_logged_query(
            asked.request,
            result,
            lists=ranking.lists,
            compared=ranking.compared,
            rows=ranking.rows,
            rrf_k=self._options.rrf_k,
            near_top=near_top,
            at=asked.now,
        )
        self._store.log.append(asked.scope, line)

    def _quietly(self, part: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as problem:  # noqa: BLE001 - whoever watches a search must not be able to stop it
            self.failures.count(part, problem)
