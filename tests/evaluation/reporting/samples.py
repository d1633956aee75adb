"""Small runs with known ends: three queries over six documents, by a system that tells how it came to its lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from assay.evaluation.results import RunResult, with_skipped
from assay.evaluation.running.planning import RunOptions, plan_run
from assay.evaluation.scoring import score_run
from assay.metrics.spec import parse_specs
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved, Seen
from assay.systems.protocol import System

NASTY = "<script>alert('x')</script> | `rm` **b**"
"""Text that no report may obey."""
AT = datetime(2026, 1, 4, 9, 30, tzinfo=UTC)
METRICS = parse_specs("recall@2,ndcg@2,mrr")


class Named(System):
    """Only lends its name: results are given."""

    def __init__(self, name: str, **subject: object) -> None:
        self.name = name
        self._subject = subject

    def subject(self) -> Mapping[str, object]:
        return {"system": self.name, **self._subject}

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        raise NotImplementedError


def dataset(
    *, queries: Sequence[str] = ("refund", "pool", NASTY), floors: Mapping[str, float] | None = None
) -> Dataset:
    """Query n is about documents `a` and `b`, both relevant; `c` is judged and not."""
    documents = tuple(Document(id=one, title=f"Title of {one}", text=f"text {one}") for one in "abcdef")
    grades = (
        Grade(document_id="a", grade=3),
        Grade(document_id="b", grade=2),
        Grade(document_id="c", grade=0),
    )
    cases = tuple(
        Case(id=f"q{place}", query=query, grades=grades, category="odd" if place % 2 else "even")
        for place, query in enumerate(queries, start=1)
    )
    return Dataset(name="small", documents=documents, cases=cases, floors=floors or {})


def given(
    ids: str, *, seen: Seen | None = None, ms: float = 5.0, status: CaseStatus = CaseStatus.OK, error: str = ""
) -> dict[str, object]:
    """What a system gave: a document a letter."""
    retrieved = None if error else Retrieved(ids=tuple(ids), seen=seen, stages={"candidate": ms / 2})
    return {"status": status, "retrieved": retrieved, "total_ms": None if error else ms, "error": error}


def run(
    of: Dataset, results: Mapping[str, Mapping[str, object]], *, name: str = "mine", **subject: object
) -> RunResult:
    """Results scored; a case that none is given for was never tried."""
    options = RunOptions(metrics=METRICS, name=name)
    manifest = plan_run(of, Named(name, **subject), options, run_id=f"run_{name}", at=AT, host="here")
    cases = tuple(CaseResult(case_id=case, **one) for case, one in results.items())  # type: ignore[arg-type] # by name
    return score_run(of, manifest, with_skipped(manifest, cases))


def told(channels: Mapping[str, str], *, fused: str | None = None, excluded: str = "", indexed: str = "abcdef") -> Seen:
    """What a system tells, a document a letter."""
    return Seen(
        indexed=tuple(indexed),
        channels={name: tuple(ids) for name, ids in channels.items()},
        excluded=tuple(excluded),
        fused=None if fused is None else tuple(fused),
    )
