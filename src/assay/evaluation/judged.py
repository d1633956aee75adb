"""A finished run before judges: what they are shown of each case, what they say, and the run's numbers with that in.

    judged = judge_run(result, dataset, [judge], Bench(store=store, scope=scope, clock=clock))
    judged.result.value("groundedness")

Inputs and verdicts are kept in the store, so that another judge can be asked later. In each run a few senseless answers
that order the judge to praise them are judged along; a judge that obeys one is void, and nothing it said counts. An
explicit abstention of the system is believed, and only asked about where the system did not say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from assay.clock import Clock
from assay.errors import NothingMeasured
from assay.evaluation.judged_scores import JudgeStanding, Verdicts, declined_by, judged_result
from assay.evaluation.results import RunResult
from assay.evaluation.running.folder import RunFolder
from assay.judging.any_judge import Judging
from assay.judging.hearing import OnVerdict, heard
from assay.judging.keeping import stored_verdict
from assay.records import Scope
from assay.records.answers import GivenAnswer
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import Retrieved
from assay.records.judging import (
    Calibration,
    JudgedAnswer,
    JudgeInput,
    RubricKind,
    StoredVerdict,
)
from assay.storage import Store

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


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedRun:
    """A run with what its judges said."""

    result: RunResult
    standings: tuple[JudgeStanding, ...]
    verdicts: Verdicts = field(default_factory=dict)


class _Shown(NamedTuple):
    case_id: str
    repeat: int
    input: JudgeInput


def judge_run(result: RunResult, dataset: Dataset, judges: Sequence[Judging], bench: Bench) -> JudgedRun:
    """Judge every answer of a run, keep what was shown and said, and score the run anew."""
    verdicts: dict[tuple[str, int, RubricKind], StoredVerdict] = {}
    standings = []
    # Whether something is an answer at all comes before how good it is.
    for judge in sorted(judges, key=lambda one: one.about is not RubricKind.ABSTENTION):
        shown = list(_inputs(result, dataset, judge.about, verdicts))
        given, standing = _heard(result.run_id, judge, shown, bench)
        verdicts |= {(one.case_id, one.repeat, one.kind): one for one in given}
        standings.append(standing)
    if not verdicts:
        raise NothingMeasured(
            f"the run {result.name} has no answer to judge",
            remedy="Run a system that answers; one that only retrieves is measured without judges.",
        )
    scored = judged_result(result, dataset, verdicts, standings)
    if result.folder is not None:
        RunFolder(result.folder).write_manifest(scored.manifest)
        scored = scored.save_result(result.folder)
    return JudgedRun(result=scored, standings=tuple(standings), verdicts=verdicts)


def _inputs(result: RunResult, dataset: Dataset, about: RubricKind, known: Verdicts) -> Iterator[_Shown]:
    """What a judge is shown: every answer there is something to say about."""
    cases = {case.id: case for case in dataset.cases}
    for one in result.cases:
        answer = None if one.retrieved is None else one.retrieved.answer
        if one.retrieved is None or answer is None or not answer.text.strip() or one.case_id not in cases:
            continue
        declined = declined_by(one, answer, known)
        if declined is None if about is RubricKind.ABSTENTION else not declined:
            yield _Shown(one.case_id, one.repeat, _input(cases[one.case_id], one.retrieved, answer, about, dataset))


def _input(case: Case, given: Retrieved, answer: GivenAnswer, about: RubricKind, dataset: Dataset) -> JudgeInput:
    if about is RubricKind.ABSTENTION:
        return JudgeInput(kind=about, question=case.query, answer=answer.text)
    reference = (case.reference_answer or "") if about is RubricKind.CORRECTNESS else ""
    return JudgeInput(
        kind=about,
        question=case.query,
        answer=answer.text,
        passages=tuple(_passages(given, answer, dataset)),
        reference=reference,
    )


def _passages(given: Retrieved, answer: GivenAnswer, dataset: Dataset) -> list[str]:
    """The context of the answer: what it refers to in its order, else what was retrieved."""
    for chunks in (answer.references, given.passages):
        texts = [one.text for one in chunks if one.text.strip()]
        if texts:
            return texts[:MOST_PASSAGES]
    return [dataset.by_id[one].text for one in given.ids[:MOST_PASSAGES] if one in dataset.by_id]


def _heard(
    run_id: str, judge: Judging, shown: Sequence[_Shown], bench: Bench
) -> tuple[list[StoredVerdict], JudgeStanding]:
    hearing = heard(
        judge, [one.input for one in shown], run_id=run_id, threads=bench.threads, on_verdict=bench.on_verdict
    )
    given = hearing.given
    at = bench.clock.now()
    stored = [
        stored_verdict(run_id, where.case_id, one, at, where.repeat) for where, one in zip(shown, given, strict=True)
    ]
    with bench.store.writing(bench.scope) as work:
        work.judging.put_inputs([one.input for one in shown])
        work.judging.put_verdicts(stored)
        calibration = work.judging.calibration(judge.fingerprint().id)
    gates, why = _trusted(calibration, at, hearing.void)
    return stored, _standing(judge, given, void=hearing.void, gates=gates, why=why)


def _trusted(calibration: Calibration | None, at: datetime, void: str) -> tuple[bool, str]:
    if void:
        return False, void
    if calibration is None:
        return False, "its judge was never calibrated"
    if not calibration.passed:
        return False, f"its judge is below the floor: {'; '.join(calibration.figures.get('shortcomings', []))}"
    if not calibration.gates_at(at):
        return False, f"the calibration of its judge ended on {calibration.expires_at:%Y-%m-%d}"
    return True, ""


def _standing(judge: Judging, given: Sequence[JudgedAnswer], *, void: str, gates: bool, why: str) -> JudgeStanding:
    return JudgeStanding(
        about=judge.about,
        judge=judge.name,
        fingerprint_id=judge.fingerprint().id,
        outcomes=dict(Counter(one.verdict.outcome.value for one in given)),
        void=void,
        gates=gates,
        why=why,
        flagged=sum(bool(one.flags) for one in given),
        prompt_tokens=sum(one.prompt_tokens or 0 for one in given if not one.cached),
        completion_tokens=sum(one.completion_tokens or 0 for one in given if not one.cached),
        cached=sum(one.cached for one in given),
    )
