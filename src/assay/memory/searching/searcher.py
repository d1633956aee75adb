"""Search: one question in, one explained result out.

    searcher = Searcher(store=store, embedder=embedder, indexes=indexes, flags=flags, clock=clock)
    result = searcher.search(scope, SearchRequest(query="how do we sign in?"))

Everything is read in one snapshot. A search writes nothing but a line of the query log, and that not before it has
answered. Observers see the finished result and can neither change it nor make the search fail.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial

from assay.clock import Clock
from assay.embedding.protocol import Embedder
from assay.flags import Flags, known
from assay.index import Indexes
from assay.memory.searching import modes
from assay.memory.searching.embedding import Embedded, embed_query
from assay.memory.searching.guard import Failures, Guard
from assay.memory.searching.intent import classify
from assay.memory.searching.logging import logged_query
from assay.memory.searching.modes import ModeChoice
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.pinned import PinnedMemories
from assay.memory.searching.pipeline import Answer, Asked, Pipeline, Setting
from assay.memory.searching.relevance import count_near_top
from assay.memory.searching.rerank import CrossEncoder
from assay.memory.searching.telemetry import Circumstances, telemetry
from assay.memory.searching.trace import Stopwatch, Trace
from assay.memory.sessions import History, Sessions, Turn, earlier
from assay.records import Channel, Mode, Origin, Pinned, Scope, SearchRequest, SearchResult
from assay.storage import Store, Work

Observer = Callable[[Scope, SearchRequest, SearchResult], None]
"""Told of every finished search."""
Blend = Callable[[SearchResult], SearchResult]
"""Makes one result of this one and another."""


class Searcher:
    """Searches the memories of a store."""

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None,
        indexes: Indexes,
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

    def watch(self, observer: Observer) -> None:
        """Tell an observer of every search from now on."""
        self._observers = (*self._observers, observer)

    def with_options(self, options: SearchOptions) -> Searcher:
        """One that searches the same memories and sessions by other numbers, and whom nobody observes."""
        other = copy(self)
        other._options, other._observers = options, ()  # noqa: SLF001 - its own copy
        return other

    def with_flags(self, flags: Flags) -> Searcher:
        """One that searches the same memories and sessions under other flags, and whom nobody observes."""
        other = copy(self)
        other._flags, other._observers = flags, ()  # noqa: SLF001 - its own copy
        return other

    def search(
        self, scope: Scope, request: SearchRequest, *, before: str | None = None, blend: Blend | None = None
    ) -> SearchResult:
        """Answer a question. Fails only when the store itself cannot be read.

        `before` names a query: the session's history counts up to it, so that what it was asked can be asked again.
        `blend` may mix another's hits in; what it returns is what is logged and returned.
        """
        for name in request.without:
            known(name)
        trace = Trace(self._store.ids.new("tr"), self._stopwatch)
        guard = Guard(self.failures)
        pressure = modes.pressure(request.token_budget, request.tokens_used, options=self._options)
        choice = modes.choose_mode(request, pressure.level)
        embedded = self._embed(request, choice, guard)
        asked = Asked(
            scope=scope,
            request=request,
            intent=request.intent or classify(request.query).intent,
            choice=choice,
            vector=embedded.vector,
            now=self._clock.now(),
            before=before,
        )
        with self._store.reading(scope) as work:
            setting = self._setting(work, asked, guard)
            answer = Pipeline(asked, setting, trace, guard).run()
            pinned = self._pinned_memories(setting, asked)
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
        """What each session was given, as this process knows it."""
        return self._sessions

    def match_triggers(self, scope: Scope, text: str, limit: int = 10) -> SearchResult:
        """The memories one of whose trigger phrases stands in a text: the trigger channel alone."""
        return self.search(
            scope,
            SearchRequest(
                query=text, k=limit, mode=Mode.QUICK, channels=(Channel.TRIGGER,), tool_name="match_triggers"
            ),
        )

    def _embed(self, request: SearchRequest, choice: ModeChoice, guard: Guard) -> Embedded:
        channels = request.channels or modes.plan(choice.mode, self._options).channels
        if Channel.VECTOR not in channels:
            return Embedded(None, None, 0.0)
        made = embed_query(self._embedder, request.query, stopwatch=self._stopwatch, failures=self.failures)
        if made.problem is not None:
            guard.left_out(Channel.VECTOR, made.problem)
        return made

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

    def _pinned_memories(self, setting: Setting, asked: Asked) -> tuple[Pinned, ...]:
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
            telemetry=telemetry(trace, shown.hits, shown.unboosted, around),
            degraded=around.degraded,
            excluded_folders=answer.reach.excluded,
            chosen_folders=answer.reach.chosen,
            cold_start=asked.request.session_id is not None and around.history.cold,
            held_back=shown.held_back,
            tokens_saved=shown.tokens_saved,
            below_cut=shown.below_cut,
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
        line = logged_query(
            asked.request,
            result,
            lists=ranking.lists,
            passage_ids={number: row.passage_id for number, row in ranking.rows.items()},
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
