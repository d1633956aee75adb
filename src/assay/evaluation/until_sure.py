"""Stop a run when its comparison with a baseline is decided: `assay run --until-sure --against BASELINE`.

- The plan: metric, order of the cases and the baseline's values, fixed in the manifest before the first case.
- From outcomes to votes, and what they decide.
- What a reader is told of it.

Everything follows from the manifest and the outcomes of the cases: a run that was killed, interrupted or judged anew
comes to the same decision. The order is random, and votes count in that order, whichever case ends first. A case in
which the system failed counts with the worst value there is, as the gate counts it as lost. One that could not be
judged for another reason counts against whatever would be decided.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.errors import BadValue, NotComparable
from assay.metrics.catalog import Better, FromCases, FromRun
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import CaseResult, Outcome, OutcomeKind, RunManifest
from assay.records.run_results import Caveat, CaveatKind, caveats_about
from assay.statistics import Comparison, EProcessRule, PairedEProcess

if TYPE_CHECKING:
    from assay.evaluation.readings import Reading

# --- The plan ---

MOST_WITHOUT = 0.05
"""The share of cases that may have no value in the baseline through no fault of its system; as in the gate."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SureAgainst:
    """What a run is compared with while it runs."""

    control: Reading
    metric: str | None = None
    """The metric that decides; None: the first nDCG, else the first metric of the run."""
    rule: EProcessRule = field(default_factory=EProcessRule)


class SurePlan(NamedTuple):
    """What the manifest holds of the test, and the cases in the order in which they are asked."""

    test: dict[str, Any]
    case_ids: tuple[str, ...]


def plan_test(
    asked: SureAgainst, metrics: Sequence[MetricSpec], case_ids: Sequence[str], clusters: Mapping[str, str], seed: int
) -> SurePlan:
    """Fix the test and the order of the cases; raises `BadValue` or `NotComparable` where there can be no test.

    Cases without a value in the baseline, such as those to which the metric does not apply, come last.
    """
    spec = _choose_metric(asked.metric, metrics)
    control = _control_values(asked.control, spec, case_ids)
    units: dict[str, list[str]] = {}
    for case in sorted(control):
        units.setdefault(_unit(case, clusters), []).append(case)
    ordered = [case for unit in sorted(units, key=lambda name: _order(name, seed)) for case in units[unit]]
    test = {
        "metric": str(spec),
        "against": {"run_id": asked.control.run_id, "name": asked.control.name},
        "rule": asdict(asked.rule),
        "seed": seed,
        "control": {case: control[case] for case in ordered},
    }
    return SurePlan(test, (*ordered, *(case for case in case_ids if case not in control)))


def _choose_metric(named: str | None, metrics: Sequence[MetricSpec]) -> MetricSpec:
    usable = [spec for spec in metrics if _is_usable(spec)]
    if named is not None:
        spec = MetricSpec.parse(named)
        if spec not in usable:
            raise BadValue(
                f"--until-sure cannot decide by {spec}",
                remedy=f"It takes a metric of the run with a value a case and bounds: {', '.join(map(str, usable))}.",
            )
        return spec
    if not usable:
        raise BadValue(
            f"--until-sure cannot decide by {', '.join(map(str, metrics))}",
            remedy="Give --metrics one that has a value for each case, bounds and a direction, such as ndcg@10.",
        )
    return next((spec for spec in usable if spec.name == "ndcg"), usable[0])


def _is_usable(spec: MetricSpec) -> bool:
    """Whether each case has a value of its own between known bounds, one end of which is better."""
    entry = spec.entry
    bounded = entry.lowest is not None and entry.highest is not None
    return bounded and entry.better is not Better.NEITHER and not isinstance(entry.compute, FromCases | FromRun)


def _control_values(control: Reading, spec: MetricSpec, case_ids: Sequence[str]) -> dict[str, float | None]:
    """The baseline's value of each case; None where its system failed."""
    if caveats_about(control.caveats, CaveatKind.STOPPED_EARLY):
        raise NotComparable(
            f"the baseline {control.name} was itself stopped early",
            remedy="Compare with a run over all cases: run it again without --until-sure.",
        )
    found = control.outcomes.get(str(spec))
    if found is None:
        raise NotComparable(
            f"the baseline {control.name} was not measured with {spec}",
            remedy=f"It has: {', '.join(control.metrics)}. Name one of them under gate.metric, or with --metrics.",
        )
    without = [case for case in case_ids if case not in found or found[case].kind in _UNJUDGEABLE]
    if len(without) > MOST_WITHOUT * len(case_ids):
        raise NotComparable(
            f"the baseline {control.name} has no value of {spec} for {len(without):,} of {len(case_ids):,} cases, "
            f"such as {without[0]}",
            remedy="Run the baseline again over all cases.",
        )
    values = {case: found[case] for case in case_ids if case not in without}
    known = {case: outcome.value for case, outcome in values.items() if _counts(outcome)}
    if not known:
        raise NotComparable(
            f"{spec} has no value in any case of the baseline {control.name}",
            remedy="Name another metric under gate.metric, or with --metrics.",
        )
    return known


_UNJUDGEABLE = frozenset({OutcomeKind.JUDGE_FAILED, OutcomeKind.SKIPPED})


def _counts(outcome: Outcome) -> bool:
    return outcome.value is not None or outcome.kind is OutcomeKind.SYSTEM_FAILED


def _unit(case: str, clusters: Mapping[str, str]) -> str:
    """The cluster of a case; a case alone is its own."""
    return f"cluster {clusters[case]}" if case in clusters else f"case {case}"


def _order(unit: str, seed: int) -> bytes:
    """A random order that is the same on every machine."""
    return hashlib.sha256(f"until-sure\x00{seed}\x00{unit}".encode()).digest()


# --- From outcomes to votes ---

ScoreOutcomes = Callable[[Sequence[CaseResult]], Mapping[str, Outcome]]
"""Gives what became of each case whose repeats have all ended, under the metric of the test."""


class SureStanding(NamedTuple):
    """How the test stands."""

    test: PairedEProcess
    cases: int
    """Cases behind the votes that were used."""
    of: int
    """Cases that could be asked."""
    mean: float | None
    """The mean difference over those cases that have a value on both sides; better is above 0."""


def judge_votes(manifest: RunManifest, outcomes: Mapping[str, Outcome]) -> SureStanding:
    """Play the outcomes in the planned order, up to the first case that has not ended, and say what they decide."""
    plan = manifest.until_sure
    spec = MetricSpec.parse(plan["metric"])
    units: dict[str, list[str]] = {}
    for case in plan["control"]:
        units.setdefault(_unit(case, manifest.clusters), []).append(case)
    test = PairedEProcess(rule=EProcessRule(**plan["rule"]))
    cases, known = 0, list[float]()
    for unit in units.values():
        if any(_is_open(outcomes.get(case)) for case in unit) or test.decision is not None:
            break
        differences = [_difference(plan["control"][case], outcomes[case], spec) for case in unit]
        low, high = (sum(ends) / len(ends) for ends in zip(*differences, strict=True))
        test = test.update([low], [high])
        cases += len(unit)
        known += [low for low, high in differences if low == high]
    return SureStanding(test, cases, len(plan["control"]), sum(known) / len(known) if known else None)


def _is_open(outcome: Outcome | None) -> bool:
    return outcome is None or outcome.kind is OutcomeKind.SKIPPED


def _difference(before: float | None, outcome: Outcome, spec: MetricSpec) -> tuple[float, float]:
    """The lowest and the highest that run minus baseline can be, in [-1, 1], above 0 where the run is better."""
    lowest, highest = spec.entry.lowest or 0.0, spec.entry.highest or 0.0
    worst, best = (highest, lowest) if spec.entry.better is Better.LOWER else (lowest, highest)
    was = worst if before is None else before
    if outcome.value is not None:
        ends = (outcome.value, outcome.value)
    elif outcome.kind is OutcomeKind.SYSTEM_FAILED:
        ends = (worst, worst)
    else:
        ends = (worst, best)
    low, high = ((end - was) / (best - worst) for end in ends)
    return low, high


class SureWatch:
    """Notes how cases end, and says whether the test is decided.

    All that ended is scored anew at each look, because results are placed and scored together; so after a hundred
    cases it looks once in a hundredth of them. Looking less often changes no guarantee.
    """

    def __init__(self, manifest: RunManifest, score: ScoreOutcomes) -> None:
        self._manifest = manifest
        self._score = score
        self._waiting = 0
        self._ended: dict[tuple[str, int], CaseResult] = {}
        self._decided = False

    def add(self, results: Iterable[CaseResult]) -> None:
        """Note cases that ended."""
        for result in results:
            self._ended[result.case_id, result.repeat] = result
            self._waiting += 1

    @property
    def decided(self) -> bool:
        """Whether the comparison is decided by the cases that ended so far."""
        if not self._decided and self._waiting and self._waiting >= len(self._ended) // 100:
            self._waiting = 0
            standing = judge_votes(self._manifest, self._score(tuple(self._ended.values())))
            self._decided = standing.test.decision is not None
        return self._decided


# --- What a reader is told of it ---


def describe_stop(manifest: RunManifest, outcomes: Mapping[str, Outcome]) -> list[Caveat]:
    """Say that a run was stopped early and why, or that it went on to the end; nothing for other runs."""
    if not manifest.until_sure:
        return []
    standing = judge_votes(manifest, outcomes)
    untried = sum(_is_open(outcomes.get(case)) for case in manifest.case_ids)
    name, metric = manifest.until_sure["against"]["name"], manifest.until_sure["metric"]
    if standing.test.decision is None:
        ended = "until all cases had been asked" if not untried else "so far"
        sentence = f"Whether it is better or worse than {name} by {metric} was not decided {ended}."
        return [Caveat(kind=CaveatKind.OTHER, sentence=sentence, metrics=(metric,))]
    if not untried:
        sentence = f"{_describe_decision(standing, name, metric)} It was decided by {standing.cases:,} of them."
        return [Caveat(kind=CaveatKind.OTHER, sentence=f"All cases were asked. {sentence}", metrics=(metric,))]
    sentence = (
        f"Stopped early after {standing.cases:,} of {standing.of:,} cases: "
        f"{_describe_decision(standing, name, metric)} "
        "Its numbers are over the cases until then, not over the dataset; do not pool them with those of full runs."
    )
    figures = {"log_e_better": standing.test.log_e_better, "log_e_worse": standing.test.log_e_worse}
    return [
        Caveat(
            kind=CaveatKind.STOPPED_EARLY,
            sentence=sentence,
            metrics=(metric,),
            count=standing.cases,
            of=standing.of,
            figures=figures,
        )
    ]


def withhold_stopped(comparison: Comparison, caveats: Sequence[Caveat]) -> Comparison:
    """Withhold "better" or "worse" where one side was stopped early.

    Stopping when the difference looks large makes p too small: only the run's own test may decide.
    """
    stopped = caveats_about(tuple(caveats), CaveatKind.STOPPED_EARLY)
    if not stopped or comparison.verdict not in ("better", "worse"):
        return comparison
    why = "one of the runs was stopped early, which makes its p-values too small"
    return replace(comparison, verdict="withheld", sentence=f"Withheld: {why}. {stopped[0].sentence}")


def _describe_decision(standing: SureStanding, name: str, metric: str) -> str:
    rule = standing.test.rule
    if standing.test.decision == "equivalent":
        return f"the difference to {name} by {metric}, if there is one, is smaller than {rule.effect:g}."
    mean = "" if standing.mean is None else f" ({standing.mean:+.3f} over these cases)"
    return (
        f"{standing.test.decision} than {name} by {metric}{mean}, with a chance of at most {rule.alpha:.0%} to decide "
        "so between two that are the same."
    )
