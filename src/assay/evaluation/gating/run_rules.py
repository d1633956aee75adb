"""Rules about the run alone: seals, coverage, answers and floors.

- Seals.
- Runs that were stopped early.
- Coverage: enough cases were judged.
- Answers: a system that answers must not decline most answerable questions.
- Floors, and ceilings for what is better when lower.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.evaluation.gating.rules import gate_rule
from assay.evaluation.gating.verdict import Question, RuleVerdict, Status, beyond
from assay.evaluation.paired_columns import find_missing
from assay.evaluation.run_metrics import asks_quality
from assay.metrics.catalog import Better
from assay.metrics.outcome_columns import OutcomeColumn
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import OutcomeKind
from assay.records.run_results import CaveatKind, caveats_about

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from assay.evaluation.readings import Reading
    from assay.records.evaluations import Outcome


# --- Seals ---
#
# Every run and baseline that Assay writes is sealed (`evaluation.running.seals`); those of version 0.1 are not.

SEAL_RULE = "seal"


@gate_rule("seal", quality=False)
def judge_seals(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each side without a seal."""
    sides = {"run": (question.run, "run it again"), "baseline": (question.baseline, "bless a run again")}
    for side, (reading, remedy) in sides.items():
        if reading is not None and not reading.sealed:
            yield RuleVerdict(
                rule=SEAL_RULE,
                about=side,
                status=Status.INCONCLUSIVE,
                sentence=f"the {side} {reading.name} has no seal: whether it was edited cannot be told; {remedy}",
            )


# --- Runs that were stopped early ---
#
# Their cases end where the difference was clear, so means, floors and p-values over them are not those of the dataset.
# What their own test decided is named; a pull request is decided by a run over all cases.

EARLY_RULE = "stopped early"


@gate_rule("stopped-early", quality=False)
def judge_early_stop(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each side that a sequential test ended."""
    for side, reading in (("run", question.run), ("baseline", question.baseline)):
        for caveat in () if reading is None else caveats_about(reading.caveats, CaveatKind.STOPPED_EARLY):
            yield RuleVerdict(
                rule=EARLY_RULE,
                about=side,
                status=Status.INCONCLUSIVE,
                sentence=f"the {side} {'' if reading is None else reading.name} was ended by --until-sure: "
                f"{caveat.sentence} Run it over all cases",
                evidence={"cases": caveat.count, "of": caveat.of},
            )


# --- Coverage: enough cases were judged ---
#
# Cases that nobody tried (a budget, a sample, an unresolved anchor), that a judge could not judge, or that the
# baseline has and the run does not: beyond the ceiling the run is `inconclusive`, whatever its means say.

COVERAGE_RULE = "coverage"
UNJUDGEABLE = frozenset({OutcomeKind.JUDGE_FAILED, OutcomeKind.SKIPPED})


@gate_rule("coverage", quality=False)
def judge_coverage(question: Question) -> Iterator[RuleVerdict]:
    """One verdict."""
    run, baseline = question.run, question.baseline
    missing = set() if baseline is None else find_missing(run, baseline)
    without = unjudgeable(run, question.diagnostic) | missing
    whole = len(run.statuses) + len(missing)
    share = len(without) / whole
    ceiling = question.options.unjudgeable
    absent = f", {len(missing)} of them are in the baseline only" if missing else ""
    undecided = _describe_undecided(question, without)
    yield RuleVerdict(
        rule=COVERAGE_RULE,
        status=Status.INCONCLUSIVE if beyond(share, ceiling) else Status.PASS,
        sentence=f"{len(without)} of {whole} cases could not be judged{undecided and ' under metrics that decide'}: "
        f"{share * 100:.1f} %, allowed {ceiling * 100:g} %{absent}{undecided}",
        evidence={"cases": whole, "unjudgeable": sorted(without), "ceiling": ceiling},
    )


def _describe_undecided(question: Question, counted: Collection[str]) -> str:
    """Name the further cases that failed under metrics of a judge that no gate listens to; empty: there are none."""
    lost = {
        metric: len(unjudgeable(question.run, set(question.run.outcomes) - {metric}) - set(counted))
        for metric in question.diagnostic
        if metric in question.run.outcomes
    }
    told = ", ".join(f"{count} more under {metric}" for metric, count in sorted(lost.items()) if count)
    return f"; {told}, which decides nothing" if told else ""


def unjudgeable(run: Reading, diagnostic: Collection[str] = ()) -> set[str]:
    """Cases that have no value for no reason of the system's, under some metric that may decide something."""
    return {
        case for metric in run.outcomes if metric not in diagnostic for case in _find_unjudgeable(run.outcomes[metric])
    }


def _find_unjudgeable(cases: Mapping[str, Outcome]) -> Iterator[str]:
    if isinstance(cases, OutcomeColumn):
        return cases.find_cases(UNJUDGEABLE)
    return (case for case, outcome in cases.items() if outcome.kind in UNJUDGEABLE)


# --- Answers: a system that answers must not decline most answerable questions ---
#
# Declining is safe under every metric that looks at answers alone. So a system that gave no answer at all to any
# answerable question fails, whatever its baseline is, and one that declined more than half of them fails without a
# baseline; with one, `relative` and `lost-cases` hold it against what the baseline answered. A floor on one of the two
# metrics replaces the rule.

ANSWERS_RULE = "answers"
MOST_DECLINED = 0.5
"""The share of answerable questions that may be declined where nothing else is declared."""
ANSWERED = "answer_rate"
DECLINED = "over_abstention_rate"
_ALLOW = f"set a ceiling for {DECLINED} under [floors] in assay.toml if it is meant to decline as many"


@gate_rule("answers", quality=False)
def judge_answers(question: Question) -> Iterator[RuleVerdict]:
    """One verdict where the system answers, unless a floor decides or a judge that no gate listens to did."""
    if DECLINED in question.diagnostic or {ANSWERED, DECLINED} & {
        MetricSpec.parse(name).name for name in question.floors
    }:
        return
    outcomes = question.run.outcomes.get(DECLINED, {}).values()
    values = [outcome.value for outcome in outcomes if outcome.value is not None]
    failed = sum(outcome.kind is OutcomeKind.SYSTEM_FAILED for outcome in outcomes)
    if values or failed:
        yield _judge_answers(question, declined=math.fsum(values), scored=len(values), failed=failed)


def _judge_answers(question: Question, *, declined: float, scored: int, failed: int) -> RuleVerdict:
    of = scored + failed
    evidence = {"declined": declined, "failed": failed, "answerable": of, "ceiling": MOST_DECLINED}
    told = f"{declined:g} of {of} answerable questions were declined" + (f" and {failed} failed" if failed else "")
    if declined + failed == of:
        sentence = f"{told}: the system answers nothing; look why it declines, or {_ALLOW}"
    elif question.baseline is None and beyond(declined / of, MOST_DECLINED):
        over = f"{DECLINED} {declined / of:.2f} is over the ceiling {MOST_DECLINED:.2f}"
        sentence = f"{told}: {over}; look why it declines, or {_ALLOW}"
    else:
        return RuleVerdict(rule=ANSWERS_RULE, about=DECLINED, status=Status.PASS, sentence=told, evidence=evidence)
    return RuleVerdict(rule=ANSWERS_RULE, about=DECLINED, status=Status.FAIL, sentence=sentence, evidence=evidence)


# --- Floors, and ceilings for what is better when lower ---
#
# Only what the dataset or the settings declare is in force: a floor that suits one dataset may be out of reach in
# another, as precision@5 of 0.60 is with one gold document a query. Ceilings of failure rates are in `failures`.

FLOOR_RULE = "floor"
RATES = ("error_rate", "timeout_rate", "empty_response_rate")
PERCENTILES = ("p50", "p95", "p99", "mean_latency")


@gate_rule("floor", quality=lambda question, verdict: asks_quality(verdict.about, question.floors[verdict.about]))
def judge_floors(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each floor that is declared."""
    for name, floor in question.floors.items():
        spec = MetricSpec.parse(name)
        if spec.name not in RATES and str(spec) not in question.diagnostic:
            yield _judge_floor(question.run, spec, floor)


def _judge_floor(run: Reading, spec: MetricSpec, floor: float) -> RuleVerdict:
    value, ceiling = value_of(run, spec), spec.entry.better is Better.LOWER
    evidence = {"value": value, "floor": floor}
    if value is None:
        return RuleVerdict(
            rule=FLOOR_RULE,
            about=str(spec),
            status=Status.INCONCLUSIVE,
            sentence=f"{spec} was not measured, and {'at most' if ceiling else 'at least'} {floor:g} is demanded",
            evidence=evidence,
        )
    missed = beyond(value, floor) if ceiling else beyond(floor, value)
    if not missed and is_lower_bound(run, spec):
        sentence = f"latency {spec} is at least {value:.3g} ms, since {run.latency().timed_out} cases ran out of time: "
        return RuleVerdict(
            rule=FLOOR_RULE,
            about=str(spec),
            status=Status.INCONCLUSIVE,
            sentence=f"{sentence}whether it is within the ceiling {floor:g} ms is not known; wait longer (--timeout)",
            evidence=evidence,
        )
    return RuleVerdict(
        rule=FLOOR_RULE,
        about=str(spec),
        status=Status.FAIL if missed else Status.PASS,
        sentence=_sentence(spec, value, floor, missed=missed, ceiling=ceiling),
        evidence=evidence,
    )


def value_of(run: Reading, spec: MetricSpec) -> float | None:
    """The value the run reached; percentiles come from its times, other metrics of a run only where requested."""
    if spec.name not in PERCENTILES:
        return run.of_run.get(str(spec)) if spec.is_of_run else run.mean(str(spec))
    if spec.parameters:
        return None
    found: float | None = getattr(run.latency(), spec.name.removesuffix("_latency"))
    return found


def is_lower_bound(run: Reading, spec: MetricSpec) -> bool:
    """Whether the value of a latency could be larger, because cases ran out of time."""
    return spec.name in PERCENTILES and spec.name.removesuffix("_latency") in run.latency().at_least


def _sentence(spec: MetricSpec, value: float, floor: float, *, missed: bool, ceiling: bool) -> str:
    if spec.name in PERCENTILES:
        shown, bound = f"latency {spec} {value:.3g} ms", f"{floor:g} ms"
    else:
        shown, bound = f"{spec} {_apart(value, floor)}", f"{floor:.2f}"
    if ceiling:
        return f"{shown} is {'over' if missed else 'within'} the ceiling {bound}"
    return f"{shown} {'is under' if missed else 'reaches'} the floor {bound}"


def _apart(value: float, floor: float) -> str:
    """With two digits, or as many as show that it is not the floor."""
    for digits in (2, 3, 4):
        shown = f"{value:.{digits}f}"
        if float(shown) != floor or value == floor:
            return shown
    return f"{value:.6g}"
