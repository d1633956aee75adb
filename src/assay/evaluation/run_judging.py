"""A finished run before judges: what they are shown of each case, what they say, and the run's numbers with that in.

    judged = judge_run(result, dataset, [judge], Bench(store=store, scope=scope, clock=clock))
    judged.result.value("groundedness")

Inputs and verdicts are kept in the store, so that another judge can be used later. In each run a few senseless answers
that order the judge to praise them are judged along; a judge that obeys one is void, and none of its verdicts count. An
explicit abstention of the system is believed, and only judged where the system does not report it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.errors import NothingMeasured
from assay.evaluation.judged_scores import (
    JUDGE,
    SPOT_CHECK,
    JudgeStanding,
    Verdicts,
    apply_verdicts,
    has_abstained,
    metrics_judged_by,
)
from assay.evaluation.running.files import RunFolder
from assay.judging.builtin.correctness import DEMANDS
from assay.judging.calibration import overlap
from assay.judging.canaries import AskAll, CheckedVerdicts, OnVerdict, judge_with_canaries
from assay.judging.licence import LicenceQuestion, explain_no_licence
from assay.judging.persistence import to_stored_verdict
from assay.models.budget import costs_of
from assay.models.chat import alias_reason
from assay.records.judging import Calibration, Certificate, JudgeInput, RubricKind, StoredVerdict
from assay.records.run_results import Caveat, CaveatKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from assay.clock import Clock
    from assay.evaluation.results import RunResult
    from assay.judging.protocol import Judging
    from assay.judging.rerun import SpotCheck
    from assay.models.budget import Prices
    from assay.records import Scope
    from assay.records.answers import GivenAnswer
    from assay.records.datasets import Case, Dataset
    from assay.records.evaluations import Retrieved
    from assay.storage import Store

SpreadJudge = Callable[["Judging"], AskAll | None]
DISAGREEMENT = "disagreement_rate"
"""The figure by which the caveat of a spot check is known."""
MOST_PASSAGES = 10
"""Passages a judge is shown, best first."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where judges sit: what they write to, and how many ask at once."""

    store: Store
    scope: Scope
    clock: Clock
    threads: int = 1
    on_verdict: OnVerdict | None = None
    prices: Prices | None = None
    """What tokens cost, where the settings say."""
    fresh: bool = False
    """Ask the model again also where its replies are kept."""
    spread: SpreadJudge | None = None
    """Says who judges for a judge: workers, or None for this process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedRun:
    """A run with the verdicts of its judges."""

    result: RunResult
    standings: tuple[JudgeStanding, ...]
    verdicts: Verdicts = field(default_factory=dict)


class _Shown(NamedTuple):
    case_id: str
    repeat: int
    input: JudgeInput


def judge_run(result: RunResult, dataset: Dataset, judges: Sequence[Judging], bench: Bench) -> JudgedRun:
    """Judge every answer of a run, store inputs and verdicts, and score the run again."""
    verdicts: dict[tuple[str, int, RubricKind], StoredVerdict] = {}
    standings = []
    # Whether something is an answer at all comes before how good it is.
    for judge in sorted(judges, key=lambda judge: judge.about is not RubricKind.ABSTENTION):
        shown = list(_inputs(result, dataset, judge.about, verdicts))
        given, standing = _ask_judge(result.run_id, judge, shown, bench)
        verdicts |= {(verdict.case_id, verdict.repeat, verdict.kind): verdict for verdict in given}
        standings.append(standing)
    if not verdicts:
        raise NothingMeasured(
            f"the run {result.name} has no answer to judge",
            remedy="Run a system that answers; one that only retrieves is measured without judges.",
        )
    scored = apply_verdicts(result, dataset, verdicts, standings)
    if result.folder is not None:
        RunFolder(result.folder).write_manifest(scored.manifest)
        scored = scored.save_result(result.folder)
    return JudgedRun(result=scored, standings=tuple(standings), verdicts=verdicts)


def _inputs(result: RunResult, dataset: Dataset, about: RubricKind, known: Verdicts) -> Iterator[_Shown]:
    """What a judge is shown: every answer there is something to say about."""
    cases = {case.id: case for case in dataset.cases}
    for case_result in result.cases:
        answer = None if case_result.retrieved is None else case_result.retrieved.answer
        if (
            case_result.retrieved is None
            or answer is None
            or not answer.text.strip()
            or case_result.case_id not in cases
        ):
            continue
        declined = has_abstained(case_result, answer, known)
        if declined is None if about is RubricKind.ABSTENTION else not declined:
            yield _Shown(
                case_result.case_id,
                case_result.repeat,
                _input(cases[case_result.case_id], case_result.retrieved, answer, about, dataset),
            )


def _input(case: Case, given: Retrieved, answer: GivenAnswer, about: RubricKind, dataset: Dataset) -> JudgeInput:
    if about is RubricKind.ABSTENTION:
        return JudgeInput(kind=about, question=case.query, answer=answer.text)
    reference = _reference(case) if about is RubricKind.CORRECTNESS else ""
    return JudgeInput(
        kind=about,
        question=case.query,
        answer=answer.text,
        passages=tuple(_passages(given, answer, dataset)),
        reference=reference,
    )


def _reference(case: Case) -> str:
    """The reference answer, and what the case demands of an answer besides."""
    demands = [f"- {demand}" for demand in case.rubric]
    told = [case.reference_answer] if case.reference_answer else []
    return "\n".join([*told, *([DEMANDS, *demands] if demands else [])])


def _passages(given: Retrieved, answer: GivenAnswer, dataset: Dataset) -> list[str]:
    """The context of the answer: what it refers to in its order, else what was retrieved."""
    for chunks in (answer.references, given.passages):
        texts = [chunk.text for chunk in chunks if chunk.text.strip()]
        if texts:
            return texts[:MOST_PASSAGES]
    return [dataset.by_id[identifier].text for identifier in given.ids[:MOST_PASSAGES] if identifier in dataset.by_id]


def _ask_judge(
    run_id: str, judge: Judging, shown: Sequence[_Shown], bench: Bench
) -> tuple[list[StoredVerdict], JudgeStanding]:
    began = bench.clock.monotonic()
    hearing = judge_with_canaries(
        judge,
        [item.input for item in shown],
        run_id=run_id,
        threads=bench.threads,
        on_verdict=bench.on_verdict,
        fresh=bench.fresh,
        ask_all=None if bench.spread is None else bench.spread(judge),
    )
    took_s = bench.clock.monotonic() - began
    given = hearing.given
    at = bench.clock.now()
    stored = [
        to_stored_verdict(run_id, where.case_id, verdict, at, where.repeat)
        for where, verdict in zip(shown, given, strict=True)
    ]
    with bench.store.writing(bench.scope) as work:
        work.judging.put_inputs([item.input for item in shown])
        work.judging.put_verdicts(stored)
        attempts = [
            calibration
            for calibration in work.judging.calibrations_about(judge.about)
            if calibration.fingerprint_id == judge.fingerprint().id
        ]
        certificates = work.judging.certificates(fingerprint_id=judge.fingerprint().id, limit=1)
    evidence = _Evidence(attempts, certificates[0] if certificates else None)
    return stored, replace(_standing(judge, hearing, evidence, at, bench.prices), took_s=took_s)


class _Evidence(NamedTuple):
    """What the store has of a judge: its calibrations, the oldest first, and its last certificate."""

    attempts: Sequence[Calibration]
    certificate: Certificate | None


def _standing(
    judge: Judging, hearing: CheckedVerdicts, evidence: _Evidence, at: datetime, prices: Prices | None
) -> JudgeStanding:
    given, fingerprint = hearing.given, judge.fingerprint()
    attempts, certificate = evidence
    calibration = attempts[-1] if attempts else None
    model = fingerprint.model
    alias = alias_reason(model, fingerprint.model_digest, hearing.served) if model else ""
    why = explain_no_licence(
        LicenceQuestion(
            about=judge.about,
            calibration=calibration,
            certificate=certificate,
            at=at,
            served=hearing.served,
            alias=alias,
            void=hearing.void,
        )
    )
    cost, most_cost = costs_of(hearing.usage, prices)
    return JudgeStanding(
        about=judge.about,
        judge=judge.name,
        fingerprint_id=fingerprint.id,
        outcomes=dict(Counter(judgment.verdict.outcome.value for judgment in given)),
        void=hearing.void,
        gates=not why,
        why=why,
        flagged=sum(bool(judgment.flags) for judgment in given),
        cached=sum(judgment.cached for judgment in given),
        usage=hearing.usage,
        cost_usd=cost,
        most_cost_usd=most_cost,
        model=model,
        served=hearing.served,
        alias=alias,
        attempts=len(attempts),
        failed_attempts=sum(not attempt.passed for attempt in attempts),
        among_labels=0
        if calibration is None
        else overlap(calibration, (judgment.input.question for judgment in given)),
        fingerprint=fingerprint.as_json(),
        calibration=None if calibration is None else _in_short(calibration),
        certificate=None if certificate is None else _certificate_in_short(certificate),
    )


def _certificate_in_short(certificate: Certificate) -> dict[str, Any]:
    """Return what a run keeps of its judge's certificate."""
    return {
        "false_accepts": certificate.figures["false_accepts"]["value"],
        "false_rejects": certificate.figures["false_rejects"]["value"],
        "cases": certificate.cases,
        "passed": certificate.passed,
        "made_at": certificate.made_at.isoformat(),
        "expires_at": certificate.expires_at.isoformat(),
    }


def _in_short(calibration: Calibration) -> dict[str, Any]:
    """Return what a run keeps of its judge's calibration."""
    kappa = calibration.figures.get("kappa") or {}
    return {
        "kappa": kappa.get("value"),
        "kappa_interval": [kappa.get("low"), kappa.get("high")],
        "cases": calibration.cases,
        "passed": calibration.passed,
        "made_at": calibration.made_at.isoformat(),
        "expires_at": calibration.expires_at.isoformat(),
    }


def record_spot_check(result: RunResult, about: RubricKind, found: SpotCheck) -> RunResult | None:
    """Record in a judged run how often a second judge disagreed; return the updated run.

    None: the verdicts that were checked are not those of the judge that the run's numbers come from.
    """
    named = (result.manifest.instrument.get(JUDGE) or {}).get(about.value)
    if named is None or named.get("id") != found.first:
        return None
    judges = dict(result.manifest.subject.get(JUDGE) or {})
    checked = {
        "second": found.second,
        "disagreement_rate": found.rate.estimate,
        "interval": [found.rate.low, found.rate.high],
        "spot_check_n": found.checked,
        "of": found.of,
    }
    judges[about.value] = {**judges.get(about.value, {}), SPOT_CHECK: checked}
    manifest = replace(result.manifest, subject={**result.manifest.subject, JUDGE: judges})
    caveats = (*_without_spot_check(result.caveats, about), *_spot_check_caveats(about, found))
    recorded = replace(result, manifest=manifest, caveats=caveats)
    if result.folder is None:
        return recorded
    RunFolder(result.folder).write_manifest(manifest)
    return recorded.save_result(result.folder)


def _without_spot_check(caveats: Iterable[Caveat], about: RubricKind) -> Iterator[Caveat]:
    """The caveats of a run without that of an earlier spot check of the same kind of judge."""
    for caveat in caveats:
        earlier = caveat.kind is CaveatKind.JUDGE and DISAGREEMENT in caveat.figures
        if not earlier or caveat.metrics != metrics_judged_by(about):
            yield caveat


def _spot_check_caveats(about: RubricKind, found: SpotCheck) -> Iterator[Caveat]:
    if found.warns:
        count = len(found.disagreements)
        yield Caveat(
            kind=CaveatKind.JUDGE,
            sentence=f"A second judge disagreed on {count} of {found.checked} verdicts about {about}: small "
            "differences of these metrics mean nothing.",
            metrics=metrics_judged_by(about),
            count=count,
            of=found.checked,
            figures={DISAGREEMENT: found.rate.estimate},
        )
