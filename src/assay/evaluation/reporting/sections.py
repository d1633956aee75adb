"""Sections of a report: the status of each number, the judges, and each query.

- The judges of a run: prompts, reliability, price.
- The status of each number, and of the whole.
- One query at a time, worst first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.evaluation.gating import RuleVerdict, Verdict
from assay.evaluation.gating import Status as Ruled
from assay.evaluation.gating.verdict import order_rulings
from assay.evaluation.judged_scores import CALIBRATION, FINGERPRINT, JUDGE, SPENT, SPOT_CHECK
from assay.evaluation.readings import Reading, lower_is_better
from assay.evaluation.reporting import wording
from assay.evaluation.reporting.content import Given, LineStatus, Query, Ruling, SummaryLine
from assay.evaluation.results import count_scored
from assay.evaluation.run_metrics import RUN_UNITS
from assay.metrics.catalog import Better
from assay.metrics.operations import TOTAL
from assay.metrics.spec import MetricSpec
from assay.presentation.wording import count_of
from assay.records.evaluations import CaseStatus

if TYPE_CHECKING:
    from assay.evaluation.comparison import Compared
    from assay.evaluation.results import RunResult
    from assay.evaluation.waterfall import GoldFate, Waterfall
    from assay.metrics.aggregate import Aggregate
    from assay.records.datasets import Case, Dataset
    from assay.records.evaluations import CaseResult, OutcomeKind, RunManifest

# --- The judges of a run: prompts, reliability, price ---
#
# Everything comes from the manifest of the run, where `assay judge run` and `assay judge spot-check` write it. A run
# that version 0.1 judged has the judge's name and id alone; what is not known is None and is said to be not recorded.

NOBODY = "no judge was asked"
_UNKNOWN = "not recorded"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedJudge:
    """One judge of a run."""

    about: str
    """What it judged, such as groundedness."""
    name: str
    id: str
    fingerprint: Mapping[str, Any]
    """Model, rubric, prompt and parameters; empty: not recorded."""
    gates: bool
    why: str
    """Why no gate listens to it."""
    calibration: Mapping[str, Any] | None
    spot_check: Mapping[str, Any] | None
    spent: Mapping[str, Any]

    @property
    def temperature(self) -> float | None:
        """The temperature of the requests; None: no model, or not recorded."""
        found = self.fingerprint.get("parameters", {}).get("temperature")
        return None if found is None else float(found)

    @property
    def tokens(self) -> int | None:
        """Tokens sent and replied, as the server counted them; None: not recorded."""
        counted = [self.spent.get(name) for name in ("prompt_tokens", "completion_tokens")]
        return None if None in counted else sum(counted)  # type: ignore[arg-type] # None was just looked for

    def reliability(self) -> dict[str, Any]:
        """How far its verdicts can be trusted: agreement with people, disagreement of a second judge."""
        calibration, check = self.calibration or {}, self.spot_check or {}
        return {
            "judge": self.name,
            "judge_id": self.id,
            "kappa": calibration.get("kappa"),
            "kappa_interval": calibration.get("kappa_interval"),
            "calibration_n": calibration.get("cases"),
            "calibration_expires_at": calibration.get("expires_at"),
            "disagreement_rate": check.get("disagreement_rate"),
            "disagreement_interval": check.get("interval"),
            "spot_check_n": check.get("spot_check_n"),
            "second_judge": check.get("second"),
            "gates_listen": self.gates,
            "why_not": self.why,
        }

    def as_config(self) -> dict[str, Any]:
        """Return who it is, for `config.json`: everything that moves its verdicts, and what judging took."""
        known = self.fingerprint
        return {
            "about": self.about,
            "judge": self.name,
            "judge_id": self.id,
            "judge_kind": known.get("judge_kind"),
            "model": known.get("model"),
            "model_digest": known.get("model_digest"),
            "rubric": known.get("rubric"),
            "prompt_version": known.get("rubric_version"),
            "prompt_hash": known.get("prompt_hash"),
            "parser_version": known.get("parser_version"),
            "temperature": self.temperature,
            "parameters": known.get("parameters"),
            "tokens": self.tokens,
            "spent": dict(self.spent),
        }

    def facts(self) -> list[tuple[str, str]]:
        """Return what the report lists under "How it was measured"."""
        return [
            (f"judge of {self.about}", f"{self.name} ({self.id})"),
            (f"{self.about}: prompt", self._prompt()),
            (f"{self.about}: reliability", f"{self._describe_calibration()}; {self._describe_spot_check()}"),
            (f"{self.about}: gates", "listen" if self.gates else f"do not listen: {self.why or _UNKNOWN}"),
            (f"{self.about}: tokens", _UNKNOWN if self.tokens is None else self._tokens()),
            (f"{self.about}: time", self._time()),
        ]

    def _prompt(self) -> str:
        known = self.fingerprint
        if not known:
            return _UNKNOWN
        model = f"model {known['model']}" if known.get("model") else "no model"
        hot = "" if self.temperature is None else f", temperature {self.temperature:g}"
        return f"{known['rubric']} {known['rubric_version']}, {known['prompt_hash']}, {model}{hot}"

    def _describe_calibration(self) -> str:
        found = self.calibration
        if found is None:
            return "never calibrated" if self.fingerprint else f"calibration {_UNKNOWN}"
        kappa = "no kappa" if found.get("kappa") is None else f"kappa {found['kappa']:.2f}"
        if not found.get("passed"):
            return f"{kappa} over {found['cases']} labels, calibration not passed"
        return f"{kappa} over {found['cases']} labels, until {str(found['expires_at'])[:10]}"

    def _describe_spot_check(self) -> str:
        found = self.spot_check
        if found is None:
            return "no second judge was asked"
        share = f"{found['disagreement_rate']:.0%}"
        return f"a second judge disagreed on {share} of {found['spot_check_n']} verdicts"

    def _time(self) -> str:
        took = self.spent.get("took_s")
        return _UNKNOWN if took is None else f"{took:.3f} s"

    def _tokens(self) -> str:
        cost = self.spent.get("cost_usd")
        cached = self.spent.get("cached")
        kept = f" (and {cached:,} replies from the cache)" if cached else ""
        return f"{self.tokens:,}" + ("" if cost is None else f", {cost:.4f} USD") + kept


def judges_of(manifest: RunManifest) -> tuple[ReportedJudge, ...]:
    """Return the judges of a run by what they judged; empty where the run was not judged."""
    named = manifest.instrument.get(JUDGE) or {}
    facts = manifest.subject.get(JUDGE) or {}
    return tuple(
        ReportedJudge(
            about=about,
            name=str(judge.get("name", "")),
            id=str(judge.get("id", "")),
            fingerprint=facts.get(about, {}).get(FINGERPRINT) or {},
            gates=bool(facts.get(about, {}).get("gates")),
            why=str(facts.get(about, {}).get("why", "")),
            calibration=facts.get(about, {}).get(CALIBRATION),
            spot_check=facts.get(about, {}).get(SPOT_CHECK),
            spent=facts.get(about, {}).get(SPENT) or {},
        )
        for about, judge in named.items()
    )


# --- The status of each number, and of the whole ---

PERCENTILES = ("p50", "p95", "p99")
RATES = ("error_rate", "timeout_rate", "empty_response_rate")
NAMES = {"p50": "latency p50", "p95": "latency p95", "p99": "latency p99"}
"""Readable names of metrics whose own name is unclear."""
UNASKED = "quality"
"""The rule that nothing about quality was checked."""
_STATUS = {
    Ruled.PASS: LineStatus.PASS,
    Ruled.FAIL: LineStatus.FAIL,
    Ruled.INCONCLUSIVE: LineStatus.INCONCLUSIVE,
    Ruled.NOT_APPLICABLE: LineStatus.NOT_GATED,
}


def rulings_of(verdict: Verdict) -> tuple[Ruling, ...]:
    """Every rule, failures first."""
    return tuple(
        Ruling(rule=ruling.title, status=_STATUS[ruling.status], sentence=ruling.sentence)
        for ruling in order_rulings(verdict)
    )


def status_of(verdict: Verdict) -> LineStatus:
    """Return the gate's verdict; "no verdict" where its only problem is that nothing about quality was checked."""
    unasked = {ruling.rule for ruling in verdict.of(Ruled.INCONCLUSIVE)} == {UNASKED}
    return LineStatus.NOT_GATED if unasked and not verdict.of(Ruled.FAIL) else _STATUS[verdict.status]


def sentence_of(verdict: Verdict, lines: tuple[SummaryLine, ...]) -> str:
    """The whole in a sentence."""
    status = status_of(verdict)
    if status is LineStatus.NOT_GATED:
        said = verdict.of(Ruled.INCONCLUSIVE)[0].sentence
        return f"{said[0].upper()}{said[1:]}."
    if status is LineStatus.PASS:
        held = count_of(len(verdict.of(Ruled.PASS)), "rule")
        return f"{held} hold{'' if held.endswith('s') else 's'}{_describe_degraded(lines)}."
    bad = verdict.of(Ruled.FAIL) or verdict.of(Ruled.INCONCLUSIVE)
    if not bad:
        return "No rule applies, so nothing is decided."
    ends = "failed" if status is LineStatus.FAIL else "cannot be decided"
    decided = sum(1 for rule in verdict.rules if rule.status is not Ruled.NOT_APPLICABLE)
    names = ", ".join(dict.fromkeys(ruling.about or ruling.rule for ruling in bad))
    return f"{bad[0].sentence}." if len(bad) == 1 else f"{len(bad)} of {decided} rules {ends}: {names}."


def _describe_degraded(lines: tuple[SummaryLine, ...]) -> str:
    worse = [f"{line.metric} {wording.change(line)}" for line in lines if line.status is LineStatus.DEGRADED]
    return f"; worse than the baseline beyond chance, within what is allowed: {', '.join(worse)}" if worse else ""


def lines_of(
    run: RunResult, verdict: Verdict, compared: Compared | None, floors: Mapping[str, float]
) -> tuple[SummaryLine, ...]:
    """Every metric, then those of the whole run, latencies and failure rates."""
    baseline = None if compared is None else compared.control
    rules: dict[str, list[RuleVerdict]] = {}
    for rule in verdict.rules:
        rules.setdefault(rule.about, []).append(rule)
    found = [
        *_metrics(run, compared, floors),
        *_of_run(run, floors),
        *_latencies(run, compared, floors),
        *_rates(run, baseline, floors),
    ]
    return tuple(_with_status(line, rules.get(name, [])) for name, line in found)


Named = Iterator[tuple[str, SummaryLine]]
"""Each line with the name that rules know it by."""


def _metrics(run: RunResult, compared: Compared | None, floors: Mapping[str, float]) -> Named:
    for spec, aggregate in run.shown.items():
        name = str(spec)
        line = line_of(aggregate, floor=floors.get(name))
        line = replace(line, counted=count_scored(run, spec)) if run.has_answers else line
        change = None if compared is None else compared.metrics.get(name)
        if change is not None and compared is not None:
            seen = change.comparison
            certain = seen.verdict in {"better", "worse"}
            line = replace(line, baseline=change.before, paired=change.after, pairs=seen.n, certain=certain)
            line = replace(line, baseline_has_more=len(compared.control.values(name)) > seen.n)
        yield name, line


def _of_run(run: RunResult, floors: Mapping[str, float]) -> Named:
    """Metrics of the whole run, without the percentiles and rates that have lines of their own."""
    for spec, outcome in run.run_metrics.items():
        name = str(spec)
        if name in {*PERCENTILES, *RATES} or outcome.value is None:
            continue
        unit, _ = RUN_UNITS.get(spec.name, ("", 0))
        yield (
            name,
            SummaryLine(
                metric=name,
                value=outcome.value,
                floor=floors.get(name),
                lower_is_better=lower_is_better(name),
                unit=unit,
            ),
        )


def line_of(aggregate: Aggregate, *, floor: float | None = None) -> SummaryLine:
    """An aggregate as a line."""
    limits = aggregate.interval
    return SummaryLine(
        metric=str(aggregate.spec),
        value=aggregate.value,
        low=None if limits is None else limits.low,
        high=None if limits is None else limits.high,
        floor=floor,
        lower_is_better=lower_is_better(str(aggregate.spec)),
        lowest=aggregate.spec.entry.lowest,
        highest=aggregate.spec.entry.highest,
        scored=aggregate.scored,
        others=wording.join_counts((_plain(kind), count) for kind, count in aggregate.others.items()),
    )


def _plain(kind: OutcomeKind) -> str:
    return kind.value.replace("_", " ")


def _latencies(run: RunResult, compared: Compared | None, floors: Mapping[str, float]) -> Named:
    """Percentiles of every timed case; the change is that of `comparing`, over the cases timed on both sides.

    Times of two machines say nothing of each other: then there is no baseline and no change.
    """
    total = run.latency.get(TOTAL)
    changes = (
        {f"p{change.percent}": change for change in compared.latency}
        if compared is not None and compared.same_host
        else {}
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
            line = replace(line, baseline_has_more=_count_timed(compared.control) > change.cases)
        yield name, line


def _count_timed(reading: Reading) -> int:
    """Return how many cases have a time, answered or given up."""
    return sum(1 for case in reading.cases if reading.times.get(case) or reading.waited.get(case))


def _rates(run: RunResult, baseline: Reading | None, floors: Mapping[str, float]) -> Named:
    failed = None if baseline is None else baseline.failures()
    before = {} if failed is None else dict(zip(RATES, (failed.any, failed.timeout, failed.empty), strict=True))
    for name in RATES:
        rate = run.rates.get(name)
        if rate is not None and (rate.hits or name == RATES[0]):
            yield name, _lower(name, rate.value, before[name].value if before else None, floors.get(name))


def _lower(name: str, value: float | None, baseline: float | None, floor: float | None, unit: str = "") -> SummaryLine:
    return SummaryLine(
        metric=NAMES.get(name, name.replace("_", " ")),
        value=value,
        baseline=baseline,
        floor=floor,
        lower_is_better=True,
        unit=unit,
    )


def _with_status(line: SummaryLine, rules: list[RuleVerdict]) -> SummaryLine:
    """Give a line its status: the worst of the gate's rules about it, else whether it is worse beyond chance."""
    ruled = {_STATUS[rule.status] for rule in rules}
    for status in (LineStatus.FAIL, LineStatus.INCONCLUSIVE):
        if status in ruled:
            return replace(line, status=status)
    if line.is_worse:
        return replace(line, status=LineStatus.DEGRADED)
    return replace(line, status=LineStatus.PASS if LineStatus.PASS in ruled else LineStatus.NOT_GATED)


# --- One query at a time, worst first ---


class _Beside(NamedTuple):
    """What a case is looked at with."""

    dataset: Dataset | None
    cases: Mapping[str, Case]
    baseline: Reading | None


def queries_of(
    run: RunResult, dataset: Dataset | None, water: Waterfall | None, baseline: Reading | None
) -> tuple[Query, ...]:
    """Every case that was tried, the first repeat of each."""
    beside = _Beside(dataset, {} if dataset is None else {case.id: case for case in dataset.cases}, baseline)
    fates: dict[str, list[GoldFate]] = {}
    for fate in water.fates if water is not None else ():
        fates.setdefault(fate.case_id, []).append(fate)
    found = [
        _query(run, case, tuple(fates.get(case.case_id, ())), beside)
        for case in run.cases
        if case.repeat == 0 and case.status is not CaseStatus.SKIPPED
    ]
    return tuple(sorted(found, key=_badness))


def _badness(query: Query) -> tuple[bool, float, int, str]:
    """Failures first, then the lowest value of the first metric, then the most missed."""
    first = next(iter(query.values.values()), None)
    return query.status == CaseStatus.OK, 2.0 if first is None else first, -query.missed, query.id


WRONG_ANSWERS = {
    "over_abstention_rate": ("declined", "the question has an answer, and the system declined it"),
    "hallucination_rate": ("answered", "the question has no answer, and the system answered it"),
}
"""Metrics above 0 for a case whose answer was wrong whatever its words: how the case ended, and what was wrong."""


def _ending(run: RunResult, result: CaseResult) -> tuple[str, str]:
    """How a case ended and what went wrong; a question that was wrongly declined or answered did not end well."""
    if result.status is CaseStatus.OK:
        for name, ending in WRONG_ANSWERS.items():
            outcome = run.scores.get(MetricSpec.parse(name), {}).get(result.case_id)
            if outcome is not None and outcome.value:
                return ending
    return result.status.value, result.error


def _query(run: RunResult, result: CaseResult, fates: tuple[GoldFate, ...], beside: _Beside) -> Query:
    case, dataset, retrieved = beside.cases.get(result.case_id), beside.dataset, result.retrieved
    status, error = _ending(run, result)
    return Query(
        id=result.case_id,
        text="" if case is None else case.query,
        category="" if case is None else case.category,
        status=status,
        values=_values(run, result.case_id),
        before=_before(result.case_id, beside.baseline),
        expected=fates,
        titles=_titles(dataset, [fate.item for fate in fates]),
        given=_list_results(result, case, dataset),
        milliseconds=result.total_ms,
        error=error,
        notes=() if retrieved is None else retrieved.notes,
    )


def _values(run: RunResult, case_id: str) -> dict[str, float | None]:
    """By metric. Those of which neither end is better, such as a channel's share, say nothing about one query."""
    directed = {spec: cases for spec, cases in run.scores.items() if spec.entry.better is not Better.NEITHER}
    return {str(spec): cases[case_id].value for spec, cases in directed.items() if case_id in cases}


def _before(case_id: str, baseline: Reading | None) -> dict[str, float | None]:
    if baseline is None:
        return {}
    return {name: cases[case_id].value for name, cases in baseline.outcomes.items() if case_id in cases}


def _list_results(result: CaseResult, case: Case | None, dataset: Dataset | None) -> tuple[Given, ...]:
    labels: Mapping[str, int] = {} if case is None else case.labels
    level = 1 if dataset is None else dataset.relevance_level
    ids = () if result.retrieved is None else result.retrieved.ids
    titles = _titles(dataset, list(ids))
    return tuple(
        Given(
            rank=rank,
            id=name,
            title=titles.get(name, ""),
            grade=labels.get(name),
            relevant=labels.get(name, level - 1) >= level,
        )
        for rank, name in enumerate(ids, start=1)
    )


def _titles(dataset: Dataset | None, names: list[str]) -> dict[str, str]:
    known = {} if dataset is None else dataset.by_id
    return {name: known[name].title for name in names if name in known and known[name].title}
