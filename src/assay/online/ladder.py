"""The ladder of one change: offline runs, shadow, test, graduation and rollback in one record.

- The ladder and its steps.
- Offline evidence from two finished runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import InputError, NothingMeasured
from assay.evaluation.running.own_memory import explain_foreign
from assay.flags import Flags
from assay.metrics.spec import MetricSpec
from assay.online.graduation import (
    Gains,
    GraduationEvidence,
    all_hold,
    conditions,
    guardrails,
)
from assay.online.judged import with_deltas
from assay.online.shadow import DROPPED
from assay.online.trials import Trials, add_reason, decision_of, find_test, lacks_correction, ratio_of
from assay.records import AbTest, AbTestStatus, Scope, ShadowRun
from assay.records.flags import (
    ChangedSearch,
    GraduationCondition,
    Guardrail,
    LadderPage,
    LadderStep,
    ShadowAgreement,
    ShadowGroup,
    ShadowSummary,
    Sides,
    Step,
    StepOutcome,
)
from assay.statistics.intervals import bootstrap_mean

if TYPE_CHECKING:
    from assay.clock import Clock
    from assay.evaluation.results import RunResult
    from assay.records.evaluations import Outcome
    from assay.storage import Store, Work

# --- The ladder and its steps ---
#
# Every step writes a `LadderStep` and a line of the audit log. `decide` looks at the four conditions: it recommends,
# or switches the flag on where the flag says it graduates by itself; a test that says worse or futile rejects. `watch`
# looks after what has graduated and takes it back, to what it was before, when a guardrail breaks.

IDENTICAL = "identical"
SHADOWED = 2_000
"""Shadow runs that are summed up."""
WATCHED = 2_000
"""Searches on each side of graduation that guardrails look at."""

Surfacing = Callable[[Scope], float | None]
"""The share of constitutional memories that a search gives now; None when there are none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OfflineEvidence:
    """What control and treatment came to on a dataset."""

    dataset: str
    control_run: str
    treatment_run: str
    gains: Gains
    constitutional: Sides | None = None
    latency_p95_ms: Sides | None = None
    gate_passed: bool = True
    """Whether the treatment holds the dataset's gate."""
    own_share: float | None = None
    """The share of the dataset's documents that this memory holds; None if unknown."""


class Ladder:
    """Takes changes up and down."""

    def __init__(self, *, store: Store, flags: Flags, clock: Clock, surfacing: Surfacing) -> None:
        self._store = store
        self._flags = flags
        self._clock = clock
        self._surfacing = surfacing
        self.trials = Trials(store=store, flags=flags, clock=clock)

    def offline(self, scope: Scope, feature_id: str, evidence: OfflineEvidence) -> LadderStep:
        """Write down what an offline comparison came to."""
        with self._store.reading(scope) as work:
            flag = self._flags.states(work)[feature_id].flag
        found = conditions(flag, _offline_only(evidence))
        kept = [condition for condition in found if condition.name != "test"]
        outcome = StepOutcome.PASSED
        if not evidence.gate_passed or any(condition.holds is False for condition in kept):
            outcome = StepOutcome.FAILED
        elif any(condition.holds is None for condition in kept):
            outcome = StepOutcome.INCONCLUSIVE
        gains = evidence.gains
        sentence = f"{gains.metric} {gains.mean:+.4f} on {evidence.dataset}, over {gains.queries} queries."
        if not evidence.gate_passed:
            sentence += " The treatment does not pass the gate."
        if foreign := explain_foreign(evidence.dataset, evidence.own_share):
            sentence += f" It does not count for graduation: {foreign}"
        with self._store.writing(scope) as work:
            return self._step(work, feature_id, (Step.OFFLINE, outcome), sentence, **asdict(evidence))

    def page(self, scope: Scope, feature_id: str, *, rng: np.random.Generator) -> LadderPage:
        """Everything about one change."""
        with self._store.reading(scope) as work:
            state = self._flags.states(work)[feature_id]
            steps = tuple(work.ladder_steps.of(feature_id))
            shadow = read_shadows(work, feature_id)
            test = find_test(work, feature_id)
            evidence = _evidence(work, steps, shadow, test)
        standing = None if test is None else self.trials.standing(scope, feature_id, rng=rng)
        found = conditions(state.flag, evidence)
        return LadderPage(
            state=state,
            steps=steps,
            shadow=shadow,
            test=standing,
            conditions=found,
            may_graduate=all_hold(found),
        )

    def decide(self, scope: Scope, feature_id: str) -> LadderStep | None:
        """Look whether a change has earned its place or lost it; None while neither is so."""
        with self._store.writing(scope) as work:
            test = find_test(work, feature_id)
            if test is not None and decision_of(test) in ("worse", "futile"):
                return self._reject(work, test)
            steps = work.ladder_steps.of(feature_id)
            shadow = read_shadows(work, feature_id)
            state = self._flags.states(work)[feature_id]
            found = conditions(state.flag, _evidence(work, steps, shadow, test))
            if test is None or test.status is not AbTestStatus.RUNNING or not all_hold(found):
                return None
            if not state.flag.graduates_itself:
                return self._recommend(work, feature_id, steps, found)
        return self.graduate(scope, feature_id)

    def graduate(self, scope: Scope, feature_id: str, *, why: str = "") -> LadderStep:
        """Roll a change out to all; `why` is kept. Raises while a condition does not hold."""
        page = self.page(scope, feature_id, rng=np.random.default_rng(0))
        if not page.may_graduate:
            missing = " ".join(condition.sentence for condition in page.conditions if condition.holds is not True)
            raise InputError(f"{feature_id} has not earned it: {missing}", remedy="Measure what is missing.")
        before = page.state.percent
        self._flags.turn(self._store, scope, feature_id, "on", why=why)
        with self._store.writing(scope) as work:
            test = work.ab_tests.latest(feature_id, to_change=True)
            self.trials.close(work, test, AbTestStatus.GRADUATED)
            done, held = (Step.GRADUATION, StepOutcome.GRADUATED), [asdict(one) for one in page.conditions]
            sentence = add_reason(f"On for everybody; it was on for {before} % before.", why)
            return self._step(work, feature_id, done, sentence, percent_before=before, conditions=held)

    def watch(self, scope: Scope, *, rng: np.random.Generator) -> dict[str, tuple[Guardrail, ...]]:
        """Look after every change that has graduated, and take back what breaks a guardrail."""
        self._store.log.flush()
        seen = {}
        with self._store.reading(scope) as work:
            graduated = [
                (name, step) for name in work.ladder_steps.features() if (step := _find_graduation(work, name))
            ]
        for name, step in graduated:
            seen[name] = self._watch_guardrails(scope, step, rng)
            broken = [guardrail for guardrail in seen[name] if guardrail.broken]
            if broken:
                self.rollback(scope, name, " ".join(guardrail.sentence for guardrail in broken))
        return seen

    def rollback(self, scope: Scope, feature_id: str, why: str) -> LadderStep:
        """Set a flag back to what it was before it graduated."""
        with self._store.reading(scope) as work:
            step = _find_graduation(work, feature_id)
        if step is None:
            raise InputError(f"{feature_id} has not graduated, so there is nothing to take back", remedy="Switch it.")
        before = int(step.detail["percent_before"])
        self._flags.turn(self._store, scope, feature_id, f"{before}%", why=why)
        with self._store.writing(scope) as work:
            sentence = f"Back to {before} %. {why}"
            return self._step(work, feature_id, (Step.GUARDRAIL, StepOutcome.ROLLED_BACK), sentence, why=why)

    def _watch_guardrails(self, scope: Scope, step: LadderStep, rng: np.random.Generator) -> tuple[Guardrail, ...]:
        with self._store.reading(scope) as work:
            before = work.queries.until(step.created_at, limit=WATCHED)
            after = work.queries.since(step.created_at, limit=WATCHED)
        return guardrails(before, after, self._surfacing(scope), rng=rng)

    def _reject(self, work: Work, test: AbTest) -> LadderStep | None:
        steps = work.ladder_steps.of(test.feature_id)
        if any(step.outcome is StepOutcome.REJECTED and step.attempt == test.attempt for step in steps):
            return None
        sentence = f"Attempt {test.attempt} ended {decision_of(test)}, after {test.sample_count} queries."
        return self._step(work, test.feature_id, (Step.GRADUATION, StepOutcome.REJECTED), sentence)

    def _recommend(
        self, work: Work, feature_id: str, steps: Sequence[LadderStep], found: tuple[GraduationCondition, ...]
    ) -> LadderStep | None:
        if steps and steps[-1].outcome is StepOutcome.RECOMMENDED:
            return None
        sentence = f"All four conditions hold. To give it to everybody: `assay ladder graduate {feature_id}`."
        done, held = (Step.GRADUATION, StepOutcome.RECOMMENDED), [asdict(condition) for condition in found]
        return self._step(work, feature_id, done, sentence, conditions=held)

    def _step(
        self, work: Work, feature_id: str, step: tuple[Step, StepOutcome], sentence: str, **detail: Any
    ) -> LadderStep:
        test = find_test(work, feature_id)
        made = LadderStep(
            feature_id=feature_id,
            attempt=0 if test is None else test.attempt,
            step=step[0],
            outcome=step[1],
            sentence=sentence,
            detail=detail,
            created_at=self._clock.now(),
        )
        work.ladder_steps.add(made)
        work.audit.append(f"ladder.{made.outcome}", feature_id, {"step": str(made.step), "sentence": sentence})
        return made


def read_shadows(work: Work, feature_id: str) -> ShadowSummary:
    """Sum up the newest shadow runs of a change, by the judgments there are now."""
    runs = work.shadow_runs.of(feature_id, limit=SHADOWED)
    searches = work.queries.intents_of([run.query_id for run in runs])
    return summarise_shadows(with_deltas(work, runs), searches)


def summarise_shadows(
    runs: Sequence[ShadowRun], searches: Mapping[str, tuple[str | None, str | None]] | None = None
) -> ShadowSummary:
    """What shadow runs came to. `searches` has the intent and the session of each search that is still logged."""
    asked = [run for run in runs if run.problem != DROPPED]
    compared = [run for run in asked if run.problem is None]
    deltas = [run.mrr_delta for run in compared if run.mrr_delta is not None]
    known = searches or {}
    by_intent: dict[str, list[ShadowRun]] = {}
    sessions: dict[str, bool] = {}
    for run in compared:
        intent, session = known.get(run.query_id, (None, None))
        by_intent.setdefault(intent or "not known", []).append(run)
        if session is not None:
            sessions[session] = sessions.get(session, False) or run.classified != IDENTICAL
    gains = [run.ndcg_delta for run in compared if run.ndcg_delta is not None]
    times = [
        (run.control_latency_ms, run.treatment_latency_ms)
        for run in compared
        if run.control_latency_ms is not None and run.treatment_latency_ms is not None
    ]
    return ShadowSummary(
        runs=len(asked),
        classes=dict(Counter(str(run.classified) for run in compared)),
        problems=len(asked) - len(compared),
        dropped=len(runs) - len(asked),
        judged=len(deltas),
        mean_mrr_delta=float(np.mean(deltas)) if deltas else None,
        mean_ndcg_delta=float(np.mean(gains)) if gains else None,
        latency_p95_ms=_p95s(times),
        by_intent={intent: _summarise_group(group) for intent, group in sorted(by_intent.items())},
        sessions=len(sessions),
        changed_sessions=sum(sessions.values()),
        first_at=min((run.created_at for run in runs), default=None),
        last_at=max((run.created_at for run in runs), default=None),
        agreement=_agreement(compared) if compared else None,
        most_changed=_most_changed(compared),
    )


def _summarise_group(runs: Sequence[ShadowRun]) -> ShadowGroup:
    deltas = [run.mrr_delta for run in runs if run.mrr_delta is not None]
    return ShadowGroup(
        runs=len(runs),
        changed=sum(run.classified != IDENTICAL for run in runs),
        judged=len(deltas),
        mean_mrr_delta=float(np.mean(deltas)) if deltas else None,
    )


CHANGED_SHOWN = 5
"""Searches that are shown of those whose lists changed."""


def _agreement(runs: Sequence[ShadowRun]) -> ShadowAgreement:
    def mean_of(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if known else None

    return ShadowAgreement(
        rank_correlation=mean_of([run.rank_correlation for run in runs]),
        set_overlap=mean_of([run.set_overlap for run in runs]),
        rbo=mean_of([run.rbo for run in runs]),
        order_differences=mean_of([run.order_differences for run in runs]),
        top_changed=sum(bool(run.top_result_changed) for run in runs),
    )


def _most_changed(runs: Sequence[ShadowRun]) -> tuple[ChangedSearch, ...]:
    changed = [run for run in runs if run.control_result_ids != run.treatment_result_ids]
    # Without an RBO (rows of version 0.1 have none) a run is shown after those that have one.
    worst = sorted(changed, key=lambda run: (run.rbo is None, run.rbo or 0.0))
    return tuple(
        ChangedSearch(
            query_id=run.query_id,
            classified=str(run.classified),
            rbo=run.rbo,
            entered=_only_in(run.treatment_result_ids, run.control_result_ids),
            left=_only_in(run.control_result_ids, run.treatment_result_ids),
        )
        for run in worst[:CHANGED_SHOWN]
    )


def _only_in(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    return tuple(memory_id for memory_id in first if memory_id not in second)


def _p95s(times: Sequence[tuple[float, float]]) -> Sides | None:
    if not times:
        return None
    control, treatment = np.quantile(np.asarray(times), 0.95, axis=0)
    return Sides(control=float(control), treatment=float(treatment), n=len(times))


def _find_graduation(work: Work, feature_id: str) -> LadderStep | None:
    """The step by which a change graduated; None when it did not, or was taken back since."""
    for step in reversed(work.ladder_steps.of(feature_id)):
        if step.outcome is StepOutcome.ROLLED_BACK:
            return None
        if step.outcome is StepOutcome.GRADUATED:
            return step
    return None


def _offline_only(evidence: OfflineEvidence) -> GraduationEvidence:
    return GraduationEvidence(
        gains=evidence.gains, constitutional=evidence.constitutional, latency_p95_ms=evidence.latency_p95_ms
    )


def _evidence(
    work: Work, steps: Sequence[LadderStep], shadow: ShadowSummary, test: AbTest | None
) -> GraduationEvidence:
    """What is known: of gains and constitutional memories offline, of the test, and of time where traffic is real."""
    offline = _find_offline_step(steps)
    return GraduationEvidence(
        gains=None if offline is None else Gains(**offline["gains"]),
        offline_problem=_offline_problem(steps),
        foreign_corpus="" if offline is None else explain_foreign(offline["dataset"], offline.get("own_share")),
        decision=None if test is None else decision_of(test),
        votes=0 if test is None else test.sample_count,
        attempt=1 if test is None else test.attempt,
        alpha=None if test is None else float(test.state_json["process"]["rule"]["alpha"]),
        test_problem="" if test is None else _test_problem(work, test),
        constitutional=None if offline is None else _sides(offline["constitutional"]),
        latency_p95_ms=shadow.latency_p95_ms or (None if offline is None else _sides(offline["latency_p95_ms"])),
    )


def _latest_by_dataset(steps: Sequence[LadderStep]) -> dict[str, Mapping[str, Any]]:
    """Return the newest offline step of each dataset, the newest dataset last."""
    latest: dict[str, Mapping[str, Any]] = {}
    for step in steps:
        if step.step is Step.OFFLINE:
            name = str(step.detail["dataset"])
            latest.pop(name, None)
            latest[name] = step.detail
    return latest


def _find_offline_step(steps: Sequence[LadderStep]) -> Mapping[str, Any] | None:
    """Return the offline step that counts: of this memory's own corpora the one with the least gain.

    Where a change was measured on several, the best of them would be a choice made after looking. Without one of its
    own it is the newest, so that its figures can be shown beside why they do not count.
    """
    latest = list(_latest_by_dataset(steps).values())
    own = [detail for detail in latest if not explain_foreign(detail["dataset"], detail.get("own_share"))]
    if own:
        return min(own, key=lambda detail: float(detail["gains"]["mean"]))
    return latest[-1] if latest else None


def _offline_problem(steps: Sequence[LadderStep]) -> str:
    """Return why the newest offline step forbids graduation; empty when it does not."""
    newest = next((step for step in reversed(steps) if step.step is Step.OFFLINE), None)
    if newest is None or newest.detail.get("gate_passed", True):
        return ""
    return f"The newest offline step failed: the treatment does not pass the gate on {newest.detail['dataset']}."


def _test_problem(work: Work, test: AbTest) -> str:
    """Return why the decision of a test does not count; empty when it does."""
    ratio = ratio_of(work, test)
    if ratio is not None and ratio.withheld:
        return ratio.withheld
    if decision_of(test) == "better" and lacks_correction(test):
        return f"Attempt {test.attempt} was not corrected for the attempts before it. Begin a new one."
    return ""


def _sides(stored: dict[str, Any] | None) -> Sides | None:
    return None if stored is None else Sides(**stored)


# --- Offline evidence from two finished runs ---

GAINED = tuple(MetricSpec.parse(name) for name in ("mrr@5", "mrr@10", "mrr", "anchor_mrr"))
"""What is gained: the first of these that was measured."""
SURFACES = MetricSpec.parse("constitutional_surfacing@5")


def offline_evidence(
    control: RunResult,
    treatment: RunResult,
    *,
    gate_passed: bool,
    rng: np.random.Generator,
    own_share: float | None = None,
) -> OfflineEvidence:
    """Gain, constitutional memories and time, over the cases that both sides answered."""
    metric = metric_of_gain(control)
    pairs = _pairs(control.per_case(metric), treatment.per_case(metric))
    if len(pairs) < 2:
        raise NothingMeasured(
            f"{control.manifest.dataset} has {len(pairs)} cases that both sides answered", remedy="Add cases."
        )
    differences = np.asarray([after - before for before, after in pairs])
    interval = bootstrap_mean(differences, rng=rng, bounds=(-1.0, 1.0))
    return OfflineEvidence(
        dataset=control.manifest.dataset,
        control_run=control.run_id,
        treatment_run=treatment.run_id,
        gains=Gains(
            queries=len(pairs),
            mean=float(differences.mean()),
            low=-1.0 if interval.low is None else interval.low,
            metric=str(metric),
        ),
        constitutional=_surfacing(control, treatment),
        latency_p95_ms=_p95(control, treatment),
        gate_passed=gate_passed,
        own_share=own_share,
    )


def metric_of_gain(run: RunResult) -> MetricSpec:
    """Return the metric of a run that measures the gain of a change."""
    for metric in GAINED:
        if metric in run.scores:
            return metric
    raise NothingMeasured(f"{run.name} measured none of {', '.join(map(str, GAINED))}", remedy="Measure one of them.")


def _pairs(before: dict[str, Outcome], after: dict[str, Outcome]) -> list[tuple[float, float]]:
    both = [(before[case].value, after[case].value) for case in before if case in after]
    return [(before, other) for before, other in both if before is not None and other is not None]


def _surfacing(control: RunResult, treatment: RunResult) -> Sides | None:
    if SURFACES not in control.scores or SURFACES not in treatment.scores:
        return None
    pairs = _pairs(control.per_case(SURFACES), treatment.per_case(SURFACES))
    if not pairs:
        return None
    before, after = np.asarray(pairs).mean(axis=0)
    return Sides(control=float(before), treatment=float(after), n=len(pairs))


def _p95(control: RunResult, treatment: RunResult) -> Sides | None:
    before, after = control.latency.get("total"), treatment.latency.get("total")
    if before is None or after is None or before.p95 is None or after.p95 is None:
        return None
    return Sides(control=before.p95, treatment=after.p95, n=min(before.timed, after.timed))
