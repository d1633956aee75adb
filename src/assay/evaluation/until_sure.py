"""What the cases of a run decide about it and a baseline: votes, the decision, and what a reader is told of it.

- From outcomes to votes.
- What a reader is told of it.

The test itself is fixed in the manifest before the first case (`running.early_stopping`). Everything here follows from
the manifest and the outcomes of the cases: a run that was interrupted or judged anew comes to the same decision. Votes
count in the planned order, whichever case ends first. A case in which the system failed counts with the worst
value there is, as the gate counts it as lost. One that could not be judged for another reason counts against whatever
would be decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from assay.metrics.catalog import Better
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import Outcome, OutcomeKind, RunManifest
from assay.records.run_results import Caveat, CaveatKind, caveats_about
from assay.statistics import Comparison, EProcessRule, PairedEProcess

# --- From outcomes to votes ---


def unit_of(case: str, clusters: Mapping[str, str]) -> str:
    """The cluster of a case; a case alone is its own."""
    return f"cluster {clusters[case]}" if case in clusters else f"case {case}"


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
        units.setdefault(unit_of(case, manifest.clusters), []).append(case)
    test = PairedEProcess(rule=EProcessRule(**plan["rule"]), least_votes=plan["least_votes"])
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
