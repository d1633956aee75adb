"""Lines of `health` beside the channels: metrics, drift, learning, shadow runs, tests.

Every line is read from the store. None of them can be `silent`: that status is for a channel that should have found
something.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import numpy as np

from assay.memory.engine import Engine
from assay.online.ladder import read_shadows
from assay.records import AbTest, AbTestStatus, EvalResult, Origin, Scope
from assay.records.learning import LearningStatus
from assay.records.memory_list import Condition, HealthLine
from assay.statistics.independent_samples import change_point
from assay.storage import Work

DRIFT_OVER = 500
"""Searches whose quality proxy is looked at."""
DRIFT_P = 0.01
FALL = 0.05
"""A smaller fall is reported, but is not a warning."""


def online_lines(engine: Engine, scope: Scope, *, rng: np.random.Generator) -> tuple[HealthLine, ...]:
    """The lines, in the order they are read."""
    now = engine.clock.now()
    engine.store.log.flush()
    with engine.store.reading(scope) as work:
        lines = [
            _metrics(work, now),
            _drift(work, rng),
            *_shadows(work, engine),
            _tests(work.ab_tests.in_state(AbTestStatus.RUNNING)),
        ]
    lines.append(_learning(engine.learning.standing(scope), now))
    if engine.forgetting.was_cut_short(scope):
        lines.append(
            HealthLine("erasure", Condition.DEGRADED, "one was begun and not finished: `assay forget --finish`")
        )
    return tuple(lines)


UNMEASURED = (
    "no run over this memory's own documents is stored yet: `assay dataset build --from-log mine` makes a dataset of "
    "its searches, `assay run mine` measures it"
)


def _metrics(work: Work, now: datetime) -> HealthLine:
    result = work.results.newest_of_memory()
    if result is None:
        return HealthLine("metrics", Condition.EMPTY, UNMEASURED)
    values = ", ".join(f"{name} {value:.3f}" for name, value in _values(result)) or "no ranking metric"
    age = (now - result.created_at).days
    reason = f"{values} over {result.query_count} queries, {age} days ago{_subject(result)}"
    return HealthLine("metrics", Condition.OK, reason)


def _subject(result: EvalResult) -> str:
    """Return under which name and on which dataset this memory was measured."""
    stored = result.metrics_json or {}
    name, dataset = stored.get("name"), stored.get("manifest", {}).get("dataset")
    return f" ({name} on {dataset})" if name and dataset else ""


def _values(result: EvalResult) -> Iterator[tuple[str, float]]:
    for name, value in (("mrr@5", result.mrr_at_5), ("ndcg@10", result.ndcg_at_10), ("recall@10", result.recall_at_10)):
        if value is not None:
            yield name, value


def _drift(work: Work, rng: np.random.Generator) -> HealthLine:
    recent = reversed(work.queries.recent(limit=DRIFT_OVER, origin=Origin.USE))
    proxies = [
        (query.quality_proxy_score, query.created_at) for query in recent if query.quality_proxy_score is not None
    ]
    found = change_point([value for value, _ in proxies], rng=rng)
    if found is None:
        return HealthLine("quality proxy", Condition.EMPTY, f"{len(proxies)} searches are too few to see it move")
    if found.p_value >= DRIFT_P:
        return HealthLine("quality proxy", Condition.OK, f"steady at {np.mean([proxy for proxy, _ in proxies]):.3f}")
    since = proxies[found.at][1]
    reason = f"{found.before:.3f} -> {found.after:.3f} since {since:%Y-%m-%d %H:%M} (p = {found.p_value:.4f})"
    fell = found.after < found.before * (1.0 - FALL)
    return HealthLine("quality proxy", Condition.DEGRADED if fell else Condition.OK, reason)


def _shadows(work: Work, engine: Engine) -> Iterator[HealthLine]:
    for name, state in engine.flags.states(work).items():
        if state.shadow:
            seen = read_shadows(work, name)
            changed = seen.runs - seen.problems - seen.classes.get("identical", 0)
            reason = f"{name}: {seen.runs} runs, {changed} of them changed the list, {seen.problems} failed"
            reason += f", {seen.dropped} searches dropped"
            worried = (seen.runs > 0 and seen.problems == seen.runs) or seen.dropped > seen.runs
            yield HealthLine("shadow", Condition.DEGRADED if worried else Condition.OK, reason)


def _tests(running: list[AbTest]) -> HealthLine:
    if not running:
        return HealthLine("tests", Condition.EMPTY, "none is running")
    told = ", ".join(
        f"{test.feature_id} {test.sample_count} votes, ln K {test.log_likelihood_ratio:.2f} of {test.upper_bound:.2f}"
        for test in running
    )
    return HealthLine("tests", Condition.OK, told)


def _learning(standing: LearningStatus, now: datetime) -> HealthLine:
    if not standing.on:
        return HealthLine("learning", Condition.EMPTY, "off (`learn_from_selection`)")
    if standing.killed_at is not None:
        return HealthLine("learning", Condition.DEGRADED, f"stopped: {standing.killed_because}")
    reasons = "; ".join(reason.said for reason in standing.closed)
    if standing.applying:
        return HealthLine("learning", Condition.OK, f"applied; {_noise(standing)}")
    if standing.shadow_until is not None and now < standing.shadow_until and standing.activated_at is not None:
        day, days = (now - standing.activated_at).days + 1, (standing.shadow_until - standing.activated_at).days
        reasons = f"shadow, day {day} of {days}; {reasons}"
    return HealthLine("learning", Condition.OK, f"{reasons}; {_noise(standing)}; {standing.cycles} cycles")


def _noise(standing: LearningStatus) -> str:
    rate = standing.noise.rate
    return "noise not known yet" if rate is None else f"noise {rate:.1%}"
