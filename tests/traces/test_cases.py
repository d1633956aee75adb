"""Traces become cases that people label, the gate judges, and whose waterfall the report shows."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.cli.telling import Run, runner
from tests.traces.made import (
    ANSWER,
    BAR,
    BEGAN,
    LIFT,
    POOL,
    QUESTION,
    Recorder,
    found,
    record_pool,
    to_otlp_json,
    trace_span,
    write_json,
)
from tests.traces.test_analysis import pool_spans

from assay.clock import SystemClock
from assay.evaluation.datasets import load_dataset
from assay.evaluation.labelling import FROM_TRACE, LabelJournal, LabelSession, tasks_of
from assay.evaluation.waterfall import LossStage, waterfall
from assay.records import Scope
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evaluations import CaseResult, CaseStatus
from assay.records.traces import SpanRole, TraceFault
from assay.settings import load_settings
from assay.storage import open_store
from assay.traces.analysis import AnalysedTrace
from assay.traces.cases import NO_QUESTION, NO_TEXTS, add_cases, has_fault, new_dataset
from assay.traces.replaying import replay
from assay.wiring import registry_of

EMPTY = new_dataset("prod", BEGAN)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run commands where nothing is yet."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def graded(dataset: Dataset, document_id: str) -> Dataset:
    """The dataset as it is when a person has labelled one document of each case."""
    cases = [
        Case(id=case.id, query=case.query, tags=case.tags, grades=(Grade(document_id=document_id, grade=3),))
        for case in dataset.cases
    ]
    return Dataset(name=dataset.name, documents=dataset.documents, cases=tuple(cases))


def test_a_trace_becomes_a_case_without_any_grade() -> None:
    made = add_cases(EMPTY, [AnalysedTrace(pool_spans())])
    assert made.dataset.cases == (Case(id="t1", query=QUESTION, tags=(FROM_TRACE, "stale"), harvested_at=BEGAN),)
    assert {document.id: document.text for document in made.dataset.documents} == {
        "pool": POOL,
        "bar": BAR,
        "lift": LIFT,
    }
    assert (made.added, made.known, made.left_out, made.to_label) == (("t1",), (), {}, 3)


def test_the_documents_of_a_case_wait_for_labels() -> None:
    other = [trace_span("t2", role=SpanRole.RETRIEVER, input="Where is the bar?", documents=(found("bar", BAR),))]
    made = add_cases(EMPTY, [AnalysedTrace(pool_spans()), AnalysedTrace(other)])
    assert [task.key for task in tasks_of(made.dataset)] == [
        ("t1", "pool"),
        ("t1", "bar"),
        ("t1", "lift"),
        ("t2", "bar"),
    ]
    labelled = graded(made.dataset, "pool")
    assert [task.key for task in tasks_of(labelled)][:2] == [("t1", "pool"), ("t1", "bar")]


def test_the_same_trace_again_adds_nothing_and_what_cannot_be_a_case_is_counted() -> None:
    once = add_cases(EMPTY, [AnalysedTrace(pool_spans())])
    silent = AnalysedTrace([trace_span("t2")])
    bare = AnalysedTrace([trace_span("t3", role=SpanRole.RETRIEVER, input=QUESTION, documents=(found("d"),))])
    again = add_cases(once.dataset, [AnalysedTrace(pool_spans()), silent, bare])
    assert again.dataset == once.dataset
    assert (again.added, again.known, again.left_out) == ((), ("t1",), {NO_QUESTION: 1, NO_TEXTS: 1})


def test_traces_are_chosen_by_their_faults() -> None:
    trace = AnalysedTrace(pool_spans())
    assert has_fault(trace, ())
    assert has_fault(trace, (TraceFault.SLOW, TraceFault.STALE))
    assert not has_fault(trace, (TraceFault.SLOW,))


@pytest.mark.parametrize(
    ("gold", "stage"),
    [
        ("pool", LossStage.REACHED),
        ("lift", LossStage.LOST_IN_RERANK),
        ("bar", LossStage.NOT_CITED),
        ("kitchen", LossStage.NOT_A_CANDIDATE),
    ],
)
def test_the_waterfall_follows_the_gold_of_a_recorded_trace(gold: str, stage: LossStage) -> None:
    made = add_cases(EMPTY, [AnalysedTrace(pool_spans())]).dataset
    kitchen = Document(id="kitchen", text="The kitchen closes at nine.", title="Kitchen")
    dataset = graded(Dataset(name="prod", documents=(*made.documents, kitchen), cases=made.cases), gold)
    result = CaseResult(case_id="t1", status=CaseStatus.OK, retrieved=replay(AnalysedTrace(pool_spans()), k=10))
    (fate,) = waterfall(dataset, [result], k=10).fates
    # Whether an index held a document is not recorded: what no search returned was lost before or there.
    assert stage in (fate.stage, *fate.between)


def test_replayed_traces_say_what_was_given_and_answered() -> None:
    retrieved = replay(AnalysedTrace(pool_spans()), k=1)
    assert retrieved.ids == ("pool",)
    assert retrieved.answer is not None
    assert (retrieved.answer.text, retrieved.answer.abstained) == (ANSWER, False)
    assert [reference.chunk_id for reference in retrieved.answer.references] == ["pool"]
    assert retrieved.seen is not None
    assert retrieved.seen.channels == {"vectors": ("pool", "lift"), "words": ("bar", "pool")}
    assert retrieved.seen.fused == ("bar", "pool", "lift")
    assert retrieved.cost == 0.002
    assert retrieved.stages["model chat"] == pytest.approx(timedelta(seconds=1.3) / timedelta(milliseconds=1))


def label_as(dataset: str, folder: Path, relevant: str) -> Path:
    """Label every pair of a dataset as a person would: one document is relevant, the others are not."""
    tasks = tasks_of(load_dataset(dataset, registry=registry_of(load_settings().settings)))
    journal = LabelJournal(folder / "labels.jsonl", clock=SystemClock())
    session = LabelSession(tasks, journal, "ada")
    while (task := session.current) is not None:
        session.press("3" if task.document_id == relevant else "0")
    return journal.path


def test_from_a_file_to_a_failing_gate_with_its_waterfall(run: Run, tmp_path: Path) -> None:
    """The whole way on the command line: import, choose, label, run what was recorded, gate, report."""
    recorder = Recorder()
    trace_id = record_pool(recorder, "The pool closes at three in the afternoon on Fridays in winter.")
    write_json(tmp_path / "spans.json", to_otlp_json(recorder.spans))
    assert run("traces", "import", "spans.json").out.splitlines()[0] == "5 spans read, 5 stored; 1 new traces."
    assert run("dataset", "from-traces", "prod", "--failing", "abstained").code == 2
    told = run("dataset", "from-traces", "prod", "--failing", "ungrounded", "--json").json
    assert (told["added"], told["to_label"]) == ([trace_id], 3)
    labels = label_as("prod", tmp_path, "lift")
    assert run("label", "prod", "--labels", str(labels), "--apply", "labelled.json").code == 0
    done = run("run", "labelled.json", "--system", "traces", "--metrics", "recall@5", "-k", "5", "--name", "recorded")
    assert done.code == 0, done.err
    (tmp_path / "assay.toml").write_text('[floors]\n"recall@5" = 0.9\n', encoding="utf-8")
    assert run("gate", "recorded", "--no-baseline").code == 1
    why = run("report", "recorded", "--why", trace_id, "--dataset", "labelled.json")
    assert LossStage.LOST_IN_RERANK.value in why.out


def test_one_process_at_a_time_adds_cases_to_a_dataset(run: Run, scope: Scope) -> None:
    assert run("init").code == 0
    with open_store(load_settings().settings.db, clock=SystemClock(), create=False) as store:
        with store.coordinating(scope) as work:
            work.leases.take("dataset:default:prod", "another server", timedelta(minutes=1))
        refused = run("dataset", "from-traces", "prod")
        assert refused.code == 4
        assert "another process adds cases to the dataset prod" in refused.err
        assert "no trace can become a case" in run("dataset", "from-traces", "other").err


def test_a_case_of_another_store_cannot_be_replayed(run: Run, tmp_path: Path) -> None:
    recorder = Recorder()
    record_pool(recorder)
    write_json(tmp_path / "spans.json", to_otlp_json(recorder.spans))
    assert run("traces", "import", "spans.json").code == 0
    done = run("run", "hotel", "--system", "traces", "--max-cases", "1", "--json")
    assert "was not made of a trace of this store" in done.out + done.err


def test_traces_are_listed_shown_and_summed_up_in_the_terminal(run: Run, tmp_path: Path) -> None:
    run("init")
    assert "assay traces import FILE" in run("traces", "list").out
    recorder = Recorder()
    trace_id = record_pool(recorder)
    write_json(tmp_path / "spans.json", to_otlp_json(recorder.spans))
    run("traces", "import", "spans.json")
    assert trace_id in run("traces", "list").out
    shown = run("traces", "show", trace_id).out
    assert QUESTION in shown
    assert "vectors #2" in shown
    assert "█" in shown
    report = run("traces", "report").out
    assert "1 of 1 traces, 5 spans" in report
    assert "no document states until when it is valid" in report
    assert run("traces", "show", "gone").code == 3
