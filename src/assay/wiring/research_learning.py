"""What a pipeline takes from earlier questions, each behind a flag that is off by default.

`threshold_tuning` and `pattern_planning` look at the newest sessions of the tenant; the question that comes first waits
for it, and what was found is good for an hour. `similar_evaluations` remembers evaluations. All of it is kept in this
process with its engine and nowhere else, so that nothing has to be erased. Whatever fails here is logged, and the
pipeline works as if the flag were off.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

from assay.analysis.offline import newest
from assay.analysis.patterns import Caution, cautions_of, find_patterns, issues_for
from assay.analysis.thresholds import RatedSession, tune
from assay.flags import FlagStates
from assay.judging.builtin.similar_questions import AlikeQuestions
from assay.memory.engine import Engine
from assay.records import Scope
from assay.records.research import Checkpoint
from assay.records.research_log import EvaluatedBy
from assay.research.checkpoints import SimilarEvaluations
from assay.research.options import ResearchOptions
from assay.research.planner import PatternPlanner, Planner
from assay.research.rating import rating_of
from assay.storage import Work

THRESHOLDS, PATTERNS, SIMILAR = "threshold_tuning", "pattern_planning", "similar_evaluations"
"""The flags."""
GOOD_FOR = timedelta(hours=1)
RATED, LOOKED_AT = 500, 2_000
"""Sessions that ratings and patterns are looked for in, the newest first."""
_log = logging.getLogger("assay.research")
_SIMILAR: WeakKeyDictionary[Engine, dict[str, SimilarEvaluations]] = WeakKeyDictionary()
"""By engine and tenant."""
_FOUND: WeakKeyDictionary[Engine, dict[tuple[Any, ...], tuple[datetime, Any]]] = WeakKeyDictionary()
"""By engine, then by tenant and what it was found from: when, and what."""
Made = TypeVar("Made")


class Lessons(NamedTuple):
    """The flags as they stand for whoever asks, and over what."""

    engine: Engine
    scope: Scope
    states: FlagStates | None
    """None: they could not be read."""

    def on(self, flag: str) -> bool:
        """Whether this principal sees a flag."""
        return self.states is not None and self.states.enabled(flag, self.scope.principal)

    def options(self, own: ResearchOptions, by: EvaluatedBy) -> ResearchOptions:
        """The options with thresholds that people's ratings confirm; those of another kind of evaluator say nothing."""
        if not self.on(THRESHOLDS):
            return own
        return self._safely(THRESHOLDS, partial(self._tune_options, own, by), own)

    def planner(self, inner: Planner) -> Planner:
        """The planner, told of known weaknesses."""
        if not self.on(PATTERNS):
            return inner
        return self._safely(PATTERNS, partial(self._add_patterns, inner), inner)

    def similar(self) -> SimilarEvaluations | None:
        """Evaluations of earlier questions of the tenant; None: nothing is taken over."""
        if not self.on(SIMILAR):
            return None
        by_tenant = _SIMILAR.setdefault(self.engine, {})
        return by_tenant.setdefault(self.scope.tenant, SimilarEvaluations(AlikeQuestions(self.engine.embedder)))

    def _tune_options(self, own: ResearchOptions, by: EvaluatedBy) -> ResearchOptions:
        configured = own.panel.thresholds
        moved = self._find_within_hour(
            (THRESHOLDS, by, *configured.values()), partial(_find_moved, configured=configured, by=by)
        )
        return replace(own, panel=replace(own.panel, thresholds={**configured, **moved}))

    def _add_patterns(self, inner: Planner) -> Planner:
        known = self._find_within_hour((PATTERNS,), _cautions)
        return PatternPlanner(inner, partial(issues_for, cautions=known)) if known else inner

    def _find_within_hour(self, what: tuple[Any, ...], find: Callable[[Work], Made]) -> Made:
        """What was found within the hour, else what is found now."""
        kept, now = _FOUND.setdefault(self.engine, {}), self.engine.clock.now()
        at, found = kept.get((self.scope.tenant, *what), (None, None))
        if at is not None and now - at < GOOD_FOR:
            return cast("Made", found)
        with self.engine.store.reading(self.scope) as work:
            made = find(work)
        kept[self.scope.tenant, *what] = (now, made)
        return made

    def _safely(self, flag: str, work: Callable[[], Made], otherwise: Made) -> Made:
        try:
            return work()
        except Exception as problem:  # noqa: BLE001 - learning never breaks what it learns from
            _log.warning("%s: %s, going on without", flag, type(problem).__name__)
            return otherwise


def lessons_of(engine: Engine, scope: Scope) -> Lessons:
    """The flags of this moment; a store that cannot be read is no reason not to answer."""
    try:
        with engine.store.reading(scope) as work:
            return Lessons(engine, scope, engine.flags.states(work))
    except Exception as problem:  # noqa: BLE001 - learning never breaks what it learns from
        _log.warning("flags: %s, going on without", type(problem).__name__)
        return Lessons(engine, scope, None)


def _find_moved(work: Work, *, configured: Mapping[Checkpoint, float], by: EvaluatedBy) -> dict[Checkpoint, float]:
    return {one.checkpoint: one.after for one in tune(_read_rated(work, by), configured) if one.moved}


def _read_rated(work: Work, by: EvaluatedBy) -> Iterator[RatedSession]:
    """The newest sessions that somebody rated, judged as questions are judged now."""
    if not work.feedback.count():
        return
    for session in newest(work, None, RATED):
        scores = _scores(session.retrieval_score, session.answer_score)
        if session.evaluated_by is not by or not scores:
            continue
        trace = work.research.get(session.log_id).trace
        useful = None if trace is None else rating_of(work, trace)
        if useful is not None:
            yield RatedSession(log_id=session.log_id, useful=useful, scores=scores)


def _scores(retrieval: float | None, answer: float | None) -> dict[Checkpoint, float]:
    found = {Checkpoint.RETRIEVAL: retrieval, Checkpoint.ANSWER: answer}
    return {key: score for key, score in found.items() if score is not None}


def _cautions(work: Work) -> tuple[Caution, ...]:
    return cautions_of(find_patterns(newest(work, None, LOOKED_AT)))
