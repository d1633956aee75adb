"""A small memory with tiers, a session, a chain and channels, and runs over it whose numbers can be worked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.systems.sample import Given, grades

from assay.evaluation.results import RunResult
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import run
from assay.metrics.spec import parse_specs
from assay.records.datasets import Case, Dataset, Document, SessionContext
from assay.records.evaluations import Retrieved, Seen
from assay.records.memory import Edge, EdgeKind, Tier

AT = datetime(2026, 1, 5, tzinfo=UTC)
TIERS = {
    "law": Tier.CONSTITUTIONAL,
    "crit": Tier.CRITICAL,
    "crit2": Tier.CRITICAL,
    "imp": Tier.IMPORTANT,
    "norm": Tier.NORMAL,
    "tmp": Tier.TEMPORARY,
    "old": Tier.DEPRECATED,
}
DOCUMENTS = tuple(
    Document(id=name, text=f"about {name}", tier=tier, folder="a" if tier is Tier.CRITICAL else "b")
    for name, tier in TIERS.items()
)
COLD = SessionContext(session_id="s1")
WARM = SessionContext(session_id="s2", working_memory=("tmp",), turn=2)
CASES = (
    Case(id="c1", query="one", grades=grades(crit=3, law=2, norm=2, imp=0), session=COLD, category="cold", tags=("x",)),
    Case(id="c2", query="two", grades=grades(norm=3), session=WARM, category="warm", tags=("x", "y")),
    Case(id="c3", query="three", grades=grades(imp=3, crit2=2), causal_chain=("crit", "imp", "crit2"), category="why"),
    Case(id="c4", query="four", grades=grades(norm=0), answerable=False, category="none"),
)
EDGE = Edge(source_id="norm", target_id="old", kind=EdgeKind.SUPERSEDES, created_at=AT)


def memory(cases: tuple[Case, ...] = CASES) -> Dataset:
    return Dataset(name="remembered", documents=DOCUMENTS, cases=cases, edges=(EDGE,))


def given(*ids: str, pinned: tuple[str, ...] = ("law",), **seen: Any) -> Retrieved:
    return Retrieved(ids=ids, pinned=pinned, seen=Seen(**seen) if seen else None)


def measured(results: Mapping[str, Retrieved], metrics: str, dataset: Dataset | None = None) -> RunResult:
    options = RunOptions(metrics=parse_specs(metrics) if metrics else None)
    return run(dataset or memory(), Given(lambda case: results[case.id]), options)
