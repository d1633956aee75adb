"""A run's numbers with the verdicts of judges: which metrics they decide, and whether gates may use them.

A verdict that is missing is `judge_failed` or `skipped` in the judge's own words, never 0. What no judge decides stays
as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from assay.evaluation.caveats import missing_value_caveats, run_metric_caveats
from assay.evaluation.results import RunResult
from assay.evaluation.run_metrics import compute_view
from assay.evaluation.scoring import BREAKDOWNS, instrument_of, result_hash
from assay.metrics import catalog, outcomes
from assay.metrics.aggregate import Aggregate, Scores, aggregate, breakdown, scores_of
from assay.metrics.inputs import CaseView
from assay.metrics.spec import MetricSpec
from assay.records.answers import GivenAnswer
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import CaseResult, CaseStatus, Outcome, RunManifest
from assay.records.judging import RubricKind, StoredVerdict, Usage, VerdictOutcome
from assay.records.run_results import Caveat, CaveatKind

JUDGE = "judge"
"""The key of the judges in a run's instrument, and of their trust in its subject."""

SPENT = "spent"
"""Under which the subject keeps, for each kind of judge, what judging took: requests, tokens, cost, seconds."""
FINGERPRINT = "fingerprint"
"""Under which it keeps everything that moves the verdicts: model, prompt, parameters."""
CALIBRATION = "calibration"
"""Under which it keeps how far the judge agreed with people; None: it was never calibrated."""
CERTIFICATE = "certificate"
"""Under which it keeps what the judge made of answers that are wrong on purpose; None: it was never certified."""
SPOT_CHECK = "spot_check"
"""Under which it keeps how often a second judge disagreed."""
IDLE = "idle"
"""Under which it keeps that a judge had nothing to decide: such a judge takes no metric from a gate."""
_FACTS = frozenset({SPENT, FINGERPRINT, CALIBRATION, CERTIFICATE, SPOT_CHECK})
"""Facts about the judging that are not part of the system."""

Verdicts = Mapping[tuple[str, int, RubricKind], StoredVerdict]


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeStanding:
    """One judge in one run."""

    about: RubricKind
    judge: str
    fingerprint_id: str
    outcomes: Mapping[str, int]
    void: str = ""
    """Why its verdicts do not count; empty: it obeyed none of the planted orders."""
    gates: bool = False
    """Whether its calibration lets a gate listen to it."""
    why: str = ""
    """Why not."""
    flagged: int = 0
    """Cases whose text addresses the judge."""
    cached: int = 0
    """Verdicts that were read from kept replies alone."""
    usage: Usage = field(default_factory=Usage)
    """Every request of this judging: planted cases, second askings, retries and failures included."""
    cost_usd: float | None = None
    """Dollars for what the server counted; None: no price is set, or the server did not count."""
    most_cost_usd: float | None = None
    """Dollars at most, with what failed requests may have cost."""
    took_s: float | None = None
    """Seconds that its judging took; None: it was judged before this was kept."""
    model: str = ""
    """The requested model; empty for rules."""
    served: tuple[str, ...] = ()
    """The models that replied, as the server names them."""
    alias: str = ""
    """Why the model's name does not identify the weights that answered; empty: it does."""
    attempts: int = 0
    """How often this judge was calibrated."""
    failed_attempts: int = 0
    """Calibrations among them that did not license it."""
    among_labels: int = 0
    """Judged cases whose questions are among the labels of its calibration."""
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    """Everything that moves its verdicts: model, rubric, prompt, parameters."""
    calibration: Mapping[str, Any] | None = None
    """Its last calibration in short; None: there is none."""
    certificate: Mapping[str, Any] | None = None
    """Its last certificate in short; None: there is none, or what it judges needs none."""

    @property
    def judged(self) -> int:
        """Cases it judged."""
        return sum(self.outcomes.values())

    @property
    def other_served(self) -> tuple[str, ...]:
        """Models that replied under another name than the requested one."""
        return tuple(name for name in self.served if name != self.model)

    def spending_as_json(self) -> dict[str, Any]:
        """Return requests, tokens, cost and time, in the one shape of every surface."""
        return {
            **self.usage.as_json(),
            "cost_usd": self.cost_usd,
            "most_cost_usd": self.most_cost_usd,
            "took_s": self.took_s,
        }

    def as_json(self) -> dict[str, Any]:
        """The one shape of it on every surface."""
        return {
            "about": self.about.value,
            "judge": self.judge,
            "fingerprint_id": self.fingerprint_id,
            "outcomes": dict(self.outcomes),
            "void": self.void,
            "gates": self.gates,
            "why": self.why,
            "flagged": self.flagged,
            "cached": self.cached,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "spent": self.spending_as_json(),
            "model": self.model,
            "served": list(self.served),
            "alias": self.alias,
            "calibrations": {"attempts": self.attempts, "failed": self.failed_attempts},
            "among_labels": self.among_labels,
            "fingerprint": dict(self.fingerprint),
            "calibration": None if self.calibration is None else dict(self.calibration),
            "certificate": None if self.certificate is None else dict(self.certificate),
        }


def standing_cautions(standing: JudgeStanding) -> Iterator[str]:
    """Say what a reader of judged numbers must know of the judge, beside failed verdicts and whether gates listen."""
    if standing.other_served:
        served = ", ".join(standing.other_served)
        yield f"the judge of {standing.about} was to be {standing.model}, and {served} replied"
    if standing.alias:
        yield standing.alias
    if standing.failed_attempts:
        yield f"the judge of {standing.about} was calibrated {_attempts(standing)}"
    if standing.among_labels:
        yield (
            f"{standing.among_labels} of {standing.judged} judged cases ask questions of the labels that the judge of "
            f"{standing.about} was calibrated on"
        )


def _attempts(standing: JudgeStanding) -> str:
    if standing.attempts == 1:
        return "once, without success"
    return f"{standing.attempts} times, {standing.failed_attempts} of them without success"


def metrics_judged_by(about: RubricKind) -> tuple[str, ...]:
    """Return the metrics that a kind of judge decides."""
    return tuple(entry.name for entry in catalog.entries() if entry.judged_by is about)


def find_untrusted(subject: Mapping[str, Any]) -> dict[str, str]:
    """Return the judged metrics that no gate may use, with the reason, from a run's subject."""
    told = subject.get(JUDGE)
    standings = told if isinstance(told, Mapping) else {}
    return {
        metric: str(standing.get("why", ""))
        for about, standing in standings.items()
        if not standing.get("gates") and not standing.get(IDLE)
        for metric in metrics_judged_by(RubricKind(about))
    }


def without_spent(subject: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's subject without the facts of its judging: they are no change of the system."""
    judges = subject.get(JUDGE)
    if not isinstance(judges, Mapping):
        return dict(subject)
    kept = {
        about: {name: value for name, value in standing.items() if name not in _FACTS}
        for about, standing in judges.items()
    }
    return {**subject, JUDGE: kept}


def apply_verdicts(
    result: RunResult, dataset: Dataset, verdicts: Verdicts, standings: Sequence[JudgeStanding]
) -> RunResult:
    """Return the run scored with the judges' verdicts; metrics that no judge decides keep their values."""
    specs = list(dict.fromkeys([*result.scores, *_new_metrics(result, standings)]))
    asked = [case for case in dataset.cases if case.id in set(result.manifest.case_ids)]
    concerned = {name for standing in standings for name in metrics_judged_by(standing.about)}
    judges = frozenset(standing.about for standing in standings)
    scores = {
        spec: {case.id: _outcome(_Looked(spec, case, dataset, judges), result, verdicts) for case in asked}
        if spec.name in concerned
        else result.scores[spec]
        for spec in specs
    }
    instrument = instrument_of(dataset, result.manifest.k)
    columns = {spec: scores_of(spec, scores[spec].values()) for spec in specs if spec.name in concerned}
    aggregates = {**result.aggregates, **{spec: aggregate(column, instrument) for spec, column in columns.items()}}
    judged = replace(
        result,
        manifest=_manifest(result, specs, dataset, standings),
        scores=scores,
        aggregates=aggregates,
        breakdowns=_breakdowns(result, asked, columns, dataset),
        caveats=(*_current_caveats(result, concerned, scores), *_judge_caveats(standings)),
        result_hash=result_hash(result.cases, scores),
    )
    return replace(judged, caveats=(*judged.caveats, *run_metric_caveats(judged.run_metrics)))


def _breakdowns(
    result: RunResult, asked: Sequence[Case], columns: Mapping[MetricSpec, Scores], dataset: Dataset
) -> dict[str, dict[str, dict[MetricSpec, Aggregate]]]:
    """Those the run has, with the judged metrics in them."""
    instrument = instrument_of(dataset, result.manifest.k)
    found = {
        label: {value: dict(aggregates) for value, aggregates in parts.items()}
        for label, parts in result.breakdowns.items()
    }
    for label in found.keys() & BREAKDOWNS.keys():
        given = [BREAKDOWNS[label](case) for case in asked]
        for spec, column in columns.items():
            for value, part in breakdown(column, given, instrument).items():
                found[label].setdefault(value, {})[spec] = part
    return found


def _new_metrics(result: RunResult, standings: Sequence[JudgeStanding]) -> list[MetricSpec]:
    """Metrics that there now are values for, though the run did not ask for them."""
    main = {RubricKind.GROUNDEDNESS: "groundedness", RubricKind.CORRECTNESS: "correctness"}
    wanted = [MetricSpec.parse(main[standing.about]) for standing in standings if standing.about in main]
    return [spec for spec in wanted if spec not in result.scores]


def _manifest(
    result: RunResult, specs: Sequence[MetricSpec], dataset: Dataset, standings: Sequence[JudgeStanding]
) -> RunManifest:
    made = instrument_of(dataset, result.manifest.k)
    before = result.manifest.instrument.get(JUDGE) or {}
    judges = {**before, **{standing.about.value: _instrument_entry(standing) for standing in standings}}
    trusted = {standing.about.value: _subject_entry(standing) for standing in standings}
    return replace(
        result.manifest,
        metrics=(*map(str, specs), *map(str, result.asked_run_metrics)),
        instrument={
            **result.manifest.instrument,
            JUDGE: judges,
            "metrics": {str(spec): made.fingerprint(spec) for spec in (*specs, *result.asked_run_metrics)},
        },
        subject={**result.manifest.subject, JUDGE: {**(result.manifest.subject.get(JUDGE) or {}), **trusted}},
    )


def _subject_entry(standing: JudgeStanding) -> dict[str, Any]:
    """Describe a judge for reports; a spot check belongs to the verdicts that were checked, so none is kept."""
    return {
        "gates": standing.gates,
        "why": standing.why,
        **({} if standing.judged else {IDLE: True}),
        SPENT: standing.spending_as_json(),
        FINGERPRINT: dict(standing.fingerprint),
        CALIBRATION: None if standing.calibration is None else dict(standing.calibration),
        CERTIFICATE: None if standing.certificate is None else dict(standing.certificate),
    }


def _instrument_entry(standing: JudgeStanding) -> dict[str, Any]:
    """Name a judge: the requested model and, where the server replied under another name, that name."""
    served = {"served": ", ".join(standing.served)} if standing.other_served else {}
    return {"id": standing.fingerprint_id, "name": standing.judge, **served}


def _current_caveats(
    result: RunResult, judged: Collection[str], scores: Mapping[MetricSpec, Mapping[str, Outcome]]
) -> Iterator[Caveat]:
    """Return the run's caveats that still hold: reasons for missing values are new, earlier judges dropped."""
    told = missing_value_caveats(scores)
    yield from told
    for caveat in result.caveats:
        about = {MetricSpec.parse(metric).name for metric in caveat.metrics}
        outdated = caveat.kind in (CaveatKind.NO_JUDGE, CaveatKind.NOT_APPLICABLE)
        answered = caveat.kind is CaveatKind.JUDGE and bool(about & set(judged))
        if not outdated and not answered and caveat not in told:
            yield caveat


def _judge_caveats(standings: Sequence[JudgeStanding]) -> Iterator[Caveat]:
    for standing in standings:
        missing = {kind: count for kind, count in standing.outcomes.items() if kind != VerdictOutcome.SCORED}
        metrics, of = metrics_judged_by(standing.about), sum(standing.outcomes.values())
        if standing.void:
            sentence = f"Verdicts about {standing.about} are void: {standing.void}."
            yield Caveat(kind=CaveatKind.JUDGE, sentence=sentence, metrics=metrics)
        elif missing:
            counted = ", ".join(f"{count} {kind}" for kind, count in sorted(missing.items()))
            sentence = f"Of the verdicts about {standing.about}, {counted}."
            yield Caveat(kind=CaveatKind.JUDGE, sentence=sentence, metrics=metrics, count=sum(missing.values()), of=of)
        for caution in standing_cautions(standing):
            sentence = f"{caution[0].upper()}{caution[1:]}."
            yield Caveat(kind=CaveatKind.JUDGE, sentence=sentence, metrics=metrics)
        if standing.judged and not standing.gates:
            sentence = f"{', '.join(metrics)}: diagnostic only, {standing.why}."
            yield Caveat(kind=CaveatKind.JUDGE, sentence=sentence, metrics=metrics)


class _Looked(NamedTuple):
    """A case under one metric, with the subjects that judges decided."""

    spec: MetricSpec
    case: Case
    dataset: Dataset
    judges: frozenset[RubricKind]


def _outcome(looked: _Looked, result: RunResult, verdicts: Verdicts) -> Outcome:
    """A case under one metric, over its repeats."""
    each = [_one_outcome(looked, repeat, verdicts) for repeat in result.results_of(looked.case.id)]
    known = [outcome.value for outcome in each if outcome.value is not None]
    return Outcome.scored(sum(known) / len(known)) if known else each[0]


def _one_outcome(looked: _Looked, result: CaseResult, verdicts: Verdicts) -> Outcome:
    if result.retrieved is None or result.retrieved.answer is None:
        return _outcome_without_answer(result)
    answer = result.retrieved.answer
    given = replace(result.retrieved, answer=replace(answer, abstained=has_abstained(result, answer, verdicts)))
    said = {
        about: stored
        for about in RubricKind
        if (stored := verdicts.get((result.case_id, result.repeat, about))) is not None
    }
    return compute_view(CaseView(looked.spec, looked.case, given, looked.dataset, looked.judges, said))


def _outcome_without_answer(result: CaseResult) -> Outcome:
    """Of a case without an answer."""
    if result.status is CaseStatus.SKIPPED:
        return outcomes.skipped("the case was not tried")
    return (
        outcomes.system_failed(result.error)
        if result.retrieved is None
        else outcomes.not_applicable("there is no answer")
    )


def has_abstained(result: CaseResult, answer: GivenAnswer, known: Verdicts) -> bool | None:
    """Whether the system abstained: as it reports itself, else by a judge's verdict; None where neither is known."""
    if answer.abstained is not None:
        return answer.abstained
    said = known.get((result.case_id, result.repeat, RubricKind.ABSTENTION))
    return None if said is None or said.score is None else bool(said.score)
