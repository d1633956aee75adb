"""The expected first chunk: another chunk of the right document is a miss, and what is not named is not scored."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.telling import Run, runner
from tests.metrics.examples import check_entries, missing, value

import assay
from assay.evaluation.run_metrics import default_metrics
from assay.metrics.inputs import CaseView
from assay.metrics.spec import MetricSpec
from assay.metrics.top_chunk import ENTRIES, top1_chunk
from assay.records.answers import RetrievedChunk
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evaluations import Cause, Outcome, OutcomeKind, Retrieved

TWO_PARTS = (
    "# Refunds\n\n"
    + "Money is given back within two weeks. " * 40
    + "\n\n# Deadlines\n\n"
    + ("A booking ends free of charge on the eve of arrival. " * 40)
)


def data(*expected: str | None) -> Dataset:
    cases = tuple(
        Case(id=f"q{number}", query="when does a booking end free of charge", top_chunk=chunk, grades=GRADES)
        for number, chunk in enumerate(expected)
    )
    documents = (Document(id="refunds", title="Terms", text=TWO_PARTS), Document(id="pets", text="Dogs are welcome."))
    return Dataset(name="terms", documents=documents, cases=cases)


GRADES = (Grade(document_id="refunds", grade=3),)


def score(expected: str | None, *first: str) -> Outcome:
    return scores(data(expected), list(first))["q0"]


def scores(dataset: Dataset, *chunks: list[str]) -> dict[str, Outcome]:
    given = [
        Retrieved(
            ids=tuple(name.partition(":")[0] for name in names),
            passages=tuple(RetrievedChunk(rel_path="terms.md", chunk_id=name) for name in names),
        )
        for names in chunks
    ]
    spec = MetricSpec.parse("top1_chunk")
    return top1_chunk([CaseView(spec, case, one, dataset) for case, one in zip(dataset.cases, given, strict=True)])


def test_the_catalog_and_its_example() -> None:
    check_entries(ENTRIES, "anchors", {"top1_chunk": value(score("refunds:chunk:0", "refunds:chunk:2"))})


def test_the_wrong_chunk_of_the_right_document_is_a_miss() -> None:
    assert value(score("refunds:chunk:0", "refunds:chunk:0", "refunds:chunk:1")) == 1.0
    assert value(score("refunds:chunk:0", "refunds:chunk:1", "refunds:chunk:0")) == 0.0
    assert value(score("refunds:chunk:0", "pets:chunk:0")) == 0.0


def test_a_case_that_names_no_chunk_is_not_scored() -> None:
    assert missing(score(None, "refunds:chunk:0")) is OutcomeKind.NOT_APPLICABLE


def test_a_system_that_names_no_chunks_is_untold_and_an_empty_list_of_one_that_does_is_a_miss() -> None:
    assert score("refunds:chunk:0", "refunds").cause is Cause.UNTOLD
    two = data("refunds:chunk:0", "refunds:chunk:0")
    assert {case: one.cause for case, one in scores(two, [], ["refunds"]).items()} == {
        "q0": Cause.UNTOLD,
        "q1": Cause.UNTOLD,
    }
    named = scores(two, [], ["refunds:chunk:0"])
    assert (named["q0"].value, named["q1"].value) == (0.0, 1.0)


def test_it_is_measured_by_default_where_a_case_names_a_chunk() -> None:
    spec = MetricSpec.parse("top1_chunk")
    assert spec in default_metrics(data("refunds:chunk:0"))
    assert spec not in default_metrics(data(None))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    return runner(capsys)


def test_naming_another_chunk_changes_what_a_run_of_assay_measures(run: Run) -> None:
    right = assay.evaluate(data("refunds:chunk:1"), "assay", metrics="top1_chunk,success@1")
    [found] = right.cases
    assert found.retrieved is not None
    first = found.retrieved.passages[0].chunk_id
    assert first != "refunds:chunk:0"
    values = [
        assay.evaluate(data(chunk), "assay", metrics="top1_chunk,success@1") for chunk in (first, "refunds:chunk:0")
    ]
    assert [(one.value("top1_chunk"), one.value("success@1")) for one in values] == [(1.0, 1.0), (0.0, 1.0)]
