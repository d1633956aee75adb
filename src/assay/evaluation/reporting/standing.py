"""How each number stands: its status from the gate's rules about it, and the whole in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from assay.evaluation.comparing import Compared
from assay.evaluation.gating import RuleVerdict, Verdict
from assay.evaluation.gating import Status as Ruled
from assay.evaluation.gating.verdict import told
from assay.evaluation.readings import Reading, lower_is_better
from assay.evaluation.reporting import wording
from assay.evaluation.reporting.content import Line, Ruling, Status
from assay.evaluation.results import RunResult
from assay.metrics.aggregate import Aggregate
from assay.metrics.operations import TOTAL
from assay.presentation.wording import counted as count_of
from assay.records.outcome import OutcomeKind

PERCENTILES = ("p50", "p95", "p99")
RATES = ("error_rate", "timeout_rate", "empty_response_rate")
NAMES = {"p50": "latency p50", "p95": "latency p95", "p99": "latency p99"}
"""What a reader calls a metric whose own name says too little."""
UNASKED = "quality"
"""The rule that says that nothing was asked of quality."""
_STATUS = {
    Ruled.PASS: Status.PASS,
    Ruled.FAIL: Status.FAIL,
    Ruled.INCONCLUSIVE: Status.INCONCLUSIVE,
    Ruled.NOT_APPLICABLE: Status.NOT_GATED,
}


def rulings_of(verdict: Verdict) -> tuple[Ruling, ...]:
    """Every rule, failures first."""
    return tuple(Ruling(rule=one.title, status=_STATUS[one.status], sentence=one.sentence) for one in told(verdict))


def status_of(verdict: Verdict) -> Status:
    """The gate's word; where all that is wrong is that nothing was asked of quality, there is no verdict."""
    unasked = {one.rule for one in verdict.of(Ruled.INCONCLUSIVE)} == {UNASKED}
    return Status.NOT_GATED if unasked and not verdict.of(Ruled.FAIL) else _STATUS[verdict.status]


def sentence_of(verdict: Verdict, lines: tuple[Line, ...]) -> str:
    """The whole in a sentence."""
    status = status_of(verdict)
    if status is Status.NOT_GATED:
        said = verdict.of(Ruled.INCONCLUSIVE)[0].sentence
        return f"{said[0].upper()}{said[1:]}."
    if status is Status.PASS:
        held = count_of(len(verdict.of(Ruled.PASS)), "rule")
        return f"{held} hold{'' if held.endswith('s') else 's'}{_degraded(lines)}."
    bad = verdict.of(Ruled.FAIL) or verdict.of(Ruled.INCONCLUSIVE)
    if not bad:
        return "No rule applies, so nothing is decided."
    ends = "failed" if status is Status.FAIL else "cannot be decided"
    decided = sum(1 for one in verdict.rules if one.status is not Ruled.NOT_APPLICABLE)
    names = ", ".join(dict.fromkeys(one.about or one.rule for one in bad))
    return f"{bad[0].sentence}." if len(bad) == 1 else f"{len(bad)} of {decided} rules {ends}: {names}."


def _degraded(lines: tuple[Line, ...]) -> str:
    worse = [f"{line.metric} {wording.change(line)}" for line in lines if line.status is Status.DEGRADED]
    return f"; worse than the baseline beyond chance, within what is allowed: {', '.join(worse)}" if worse else ""


def lines_of(
    run: RunResult, verdict: Verdict, compared: Compared | None, floors: Mapping[str, float]
) -> tuple[Line, ...]:
    """Every metric, then latencies, then failure rates."""
    baseline = None if compared is None else compared.control
    rules: dict[str, list[RuleVerdict]] = {}
    for one in verdict.rules:
        rules.setdefault(one.about, []).append(one)
    found = [*_metrics(run, compared, floors), *_latencies(run, compared, floors), *_rates(run, baseline, floors)]
    return tuple(_stood(line, rules.get(name, [])) for name, line in found)


Named = Iterator[tuple[str, Line]]
"""Each line with the name that rules know it by."""


def _metrics(run: RunResult, compared: Compared | None, floors: Mapping[str, float]) -> Named:
    for spec, one in run.shown.items():
        name = str(spec)
        line = line_of(one, floor=floors.get(name))
        change = None if compared is None else compared.metrics.get(name)
        if change is not None and compared is not None:
            seen = change.comparison
            certain = seen.verdict in {"better", "worse"}
            line = replace(line, baseline=change.before, paired=change.after, pairs=seen.n, certain=certain)
            line = replace(line, baseline_has_more=len(compared.control.values(name)) > seen.n)
        yield name, line


def line_of(one: Aggregate, *, floor: float | None = None) -> Line:
    """An aggregate as a line."""
    limits = one.interval
    return Line(
        metric=str(one.spec),
        value=one.value,
        low=None if limits is None else limits.low,
        high=None if limits is None else limits.high,
        floor=floor,
        lower_is_better=lower_is_better(str(one.spec)),
        lowest=one.spec.entry.lowest,
        highest=one.spec.entry.highest,
        scored=one.scored,
        others=wording.counted((_plain(kind), count) for kind, count in one.others.items()),
    )


def _plain(kind: OutcomeKind) -> str:
    return kind.value.replace("_", " ")


def _latencies(run: RunResult, compared: Compared | None, floors: Mapping[str, float]) -> Named:
    """Percentiles of every timed case; the change is that of `comparing`, over the cases timed on both sides.

    Times of two machines say nothing of each other: then there is no baseline and no change.
    """
    total = run.latency.get(TOTAL)
    changes = (
        {f"p{one.percent}": one for one in compared.latency} if compared is not None and compared.same_host else {}
    )
    for name in PERCENTILES:
        value = None if total is None else getattr(total, name)
        if value is None:
            continue
        line = _lower(name, value, None, floors.get(name), unit="ms")
        change = changes.get(name)
        if change is not None and compared is not None:
            certain = change.low is not None and change.high is not None and not change.low <= 0 <= change.high
            line = replace(line, baseline=change.before, paired=change.after, pairs=change.cases, certain=certain)
            line = replace(line, baseline_has_more=_timed(compared.control) > change.cases)
        yield name, line


def _timed(reading: Reading) -> int:
    """Return how many cases have a time, answered or given up."""
    return sum(1 for case in reading.cases if reading.times.get(case) or reading.waited.get(case))


def _rates(run: RunResult, baseline: Reading | None, floors: Mapping[str, float]) -> Named:
    failed = None if baseline is None else baseline.failures()
    before = {} if failed is None else dict(zip(RATES, (failed.any, failed.timeout, failed.empty), strict=True))
    for name in RATES:
        rate = run.rates.get(name)
        if rate is not None and (rate.hits or name == RATES[0]):
            yield name, _lower(name, rate.value, before[name].value if before else None, floors.get(name))


def _lower(name: str, value: float | None, baseline: float | None, floor: float | None, unit: str = "") -> Line:
    return Line(
        metric=NAMES.get(name, name.replace("_", " ")),
        value=value,
        baseline=baseline,
        floor=floor,
        lower_is_better=True,
        unit=unit,
    )


def _stood(line: Line, rules: list[RuleVerdict]) -> Line:
    """Give a line its status: the worst of the gate's rules about it, else whether it is worse beyond chance."""
    ruled = {_STATUS[one.status] for one in rules}
    for status in (Status.FAIL, Status.INCONCLUSIVE):
        if status in ruled:
            return replace(line, status=status)
    if line.is_worse:
        return replace(line, status=Status.DEGRADED)
    return replace(line, status=Status.PASS if Status.PASS in ruled else Status.NOT_GATED)
