"""Readings and runs made by hand, small enough to compute what a comparison or a gate must say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.evaluation.readings import Reading
from assay.evaluation.results import RunResult
from assay.evaluation.scoring import score_run
from assay.hashing import content_hash
from assay.metrics.spec import parse_specs
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evaluations import CaseResult, CaseStatus, Outcome, Retrieved, RunManifest, Seen

Values = Mapping[str, Mapping[str, float | Outcome]]
METRICS = "recall@5,precision@5,mrr,ndcg@5"


def reading(values: Values, *, name: str = "now", **more: Any) -> Reading:
    """A reading with these values by metric and case; every case was answered unless `statuses` say otherwise."""
    cases = sorted({case for of in values.values() for case in of})
    outcomes = {
        metric: {case: one if isinstance(one, Outcome) else Outcome.scored(one) for case, one in of.items()}
        for metric, of in values.items()
    }
    given: dict[str, Any] = {
        "run_id": f"r-{name}",
        "dataset": "docs",
        "dataset_version": "1.0.0",
        "instrument": {"dataset": "sha256:aa", "metrics": {metric: metric for metric in values}},
        "subject": {"system": name},
        "host": "here",
        "statuses": dict.fromkeys(cases, (CaseStatus.OK,)),
        **more,
    }
    return Reading(name=name, outcomes=outcomes, **given)


def level(value: float, cases: int = 60, **more: Any) -> Reading:
    """A reading with one value of ndcg@5 in every case."""
    return reading({"ndcg@5": {f"q{number:02}": value for number in range(cases)}}, **more)


def golden(cases: int = 30, *, floors: Mapping[str, float] | None = None) -> Dataset:
    """Each query has five documents of its own, three of them relevant."""
    documents = [f"d{case}-{place}" for case in range(cases) for place in range(5)]
    return Dataset(
        name="docs",
        documents=tuple(Document(id=one, text=f"text of {one}") for one in documents),
        cases=tuple(
            Case(
                id=f"q{case:02}",
                query=f"question {case}",
                grades=tuple(Grade(document_id=f"d{case}-{place}", grade=3 - place) for place in range(3)),
            )
            for case in range(cases)
        ),
        relevance_level=1,
        floors=floors or {},
    )


def good(case: int) -> tuple[str, ...]:
    """The best list there is."""
    return tuple(f"d{case}-{place}" for place in range(5))


def poor(case: int) -> tuple[str, ...]:
    """The best document comes last."""
    return tuple(f"d{case}-{place}" for place in (3, 4, 2, 1, 0))


def nothing(case: int) -> tuple[str, ...]:
    """Nothing that was wanted."""
    return (f"d{case}-3", f"d{case}-4")


def run_of(dataset: Dataset, lists: Sequence[tuple[str, ...] | None], *, name: str = "plain", **more: Any) -> RunResult:
    """A scored run that gave these lists, a case each; None: the system failed."""
    manifest = manifest_of(dataset, name, **more)
    results = [
        CaseResult(case_id=case.id, status=CaseStatus.ERROR, error="it broke")
        if found is None
        else CaseResult(
            case_id=case.id,
            status=CaseStatus.OK,
            retrieved=Retrieved(ids=found, seen=Seen(channels={"fts5": found})),
            total_ms=10.0 + place % 7,
        )
        for place, (case, found) in enumerate(zip(dataset.cases, lists, strict=True))
    ]
    return score_run(dataset, manifest, results)


def manifest_of(dataset: Dataset, name: str, **more: Any) -> RunManifest:
    """What was run over what."""
    whole = RunManifest(
        run_id=f"run-{name}",
        name=name,
        dataset=dataset.name,
        dataset_version=dataset.version,
        system=f"python:{name}",
        instrument={"dataset": dataset.content_hash, "metrics": {one: one for one in METRICS.split(",")}},
        subject={"system": name, "code": content_hash(name)},
        metrics=tuple(map(str, parse_specs(METRICS))),
        k=10,
        case_ids=tuple(case.id for case in dataset.cases),
        started_at=datetime(2026, 1, 4, tzinfo=UTC),
        host="here",
    )
    return replace(whole, **more)


def kept(run: RunResult, runs: Path) -> RunResult:
    """The run in its folder among the runs."""
    return run.save(runs / run.run_id)
