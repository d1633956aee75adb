"""Every registered metric can be had from a run: each has a value somewhere, and a reason wherever it has none."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.judging.made import judge_of, reading_answers

import assay
from assay.evaluation.results import RunResult
from assay.evaluation.run_judging import Bench, judge_run
from assay.judging.builtin.judges import BuiltinAbstention
from assay.judging.protocol import AnyJudge, judging_abstention
from assay.metrics import catalog
from assay.metrics.catalog import Cutoff, FromRecord, MetricEntry
from assay.metrics.spec import MetricSpec
from assay.models.budget import Prices
from assay.records import Scope
from assay.records.answers import ConflictRule, GivenAnswer, GoldAnchors, GoldSupport, RetrievedChunk
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evaluations import Retrieved
from assay.records.judging import CorrectnessVerdict, RubricKind
from assay.records.saving import SaveDecision, Written
from assay.storage import open_store
from assay.systems.protocol import System
from assay.testing import FixedClock

ENTRIES = catalog.entries()
SHARE = {"agent-memory": 0.2, "vault": 0.15}
OLD, NEW = (
    GoldSupport(rel_path=f"{name}.md", dated=datetime(year, 1, 1, tzinfo=UTC))
    for name, year in (("old", 2024), ("new", 2025))
)


def spelt(entry: MetricEntry) -> str:
    return f"{entry.name}@5" if entry.cutoff is Cutoff.REQUIRED else entry.name


EVERYTHING = [spelt(entry) for entry in ENTRIES]


def conflict(name: str, rule: ConflictRule) -> Case:
    anchors = GoldAnchors(supports=(OLD, NEW), recency_conflict_rule=rule)
    return Case(id=name, query=f"question {name}", grades=(Grade(document_id="new", grade=1),), anchors=anchors)


QUESTIONS = Dataset(
    name="questions",
    documents=tuple(Document(id=name, text=f"What {name} says.", rel_path=f"{name}.md") for name in ("old", "new")),
    cases=(
        conflict("newer", ConflictRule.CITE_NEWER),
        conflict("both", ConflictRule.CITE_BOTH),
        conflict("disputed", ConflictRule.ACKNOWLEDGE_BOTH),
        Case(
            id="good",
            query="question good",
            grades=(Grade(document_id="new", grade=1),),
            reference_answer="It was well said, 5 times.",
            top_chunk="new:chunk:0",
        ),
        Case(id="nobody", query="question nobody", answerable=False),
    ),
    relevance_level=1,
)


class Answering(System):
    """Answers everything but what nobody can answer, with citations and how sure it is."""

    name = "answering"

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        chunks = tuple(
            RetrievedChunk(rel_path=f"{name}.md", text=f"What {name} says.", chunk_id=f"{name}:chunk:0")
            for name in ("new", "old")
        )
        declined = case.id == "nobody"
        answer = GivenAnswer(
            text="I cannot say." if declined else "Well said 5, as new says [1]. And so says old [2].",
            abstained=declined,
            confidence=0.5 if case.id == "good" else 0.9,
            references=() if declined else chunks,
        )
        return Retrieved(ids=("new", "old")[:k], passages=chunks, answer=answer)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunResult]:
    """Small runs that between them can measure everything, the last one judged."""
    folder = tmp_path_factory.mktemp("every-metric")
    found = [
        assay.evaluate(name, "assay", metrics=EVERYTHING, sample=share, name=name) for name, share in SHARE.items()
    ]
    found.append(assay.evaluate(paraphrases(), Merging(), metrics=EVERYTHING))
    answered = assay.evaluate(QUESTIONS, Answering(), metrics=EVERYTHING)
    found += [answered, judged(answered, folder)]
    return found


class Merging(System):
    """Merges every note with the one that is there, and keeps what both say."""

    name = "merging"

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        return Retrieved(ids=())

    def save(self, case: Case) -> Retrieved:
        assert case.save is not None
        kept = " ".join(case.save.facts)
        return Retrieved(
            ids=(case.save.after,), saved=Written(decided=SaveDecision.MERGE, old_live=True, new_live=True, kept=kept)
        )


def paraphrases() -> Dataset:
    """Saves that are best merged, and a few others."""
    whole = assay.Dataset.load("save-scenarios")
    return replace(
        whole, cases=tuple(case for case in whole.cases if case.category in ("paraphrase", "negation", "both_true"))
    )


def judged(result: RunResult, folder: Path) -> RunResult:
    model = reading_answers(lambda text: 5 if "Well said 5" in text else 0)
    right = AnyJudge(
        lambda given: CorrectnessVerdict(score=5.0 if "Well said 5" in given.answer else 0.0),
        name="right",
        kind="own",
        about=RubricKind.CORRECTNESS,
        version="1",
    )
    abstention = judging_abstention(BuiltinAbstention(), version="1")
    clock = FixedClock()
    with open_store(folder / "assay.db", clock=clock) as store:
        bench = Bench(
            store=store,
            scope=Scope(tenant="t", principal="p"),
            clock=clock,
            prices=Prices.per_million(1.0, 2.0),
        )
        return judge_run(result, QUESTIONS, [judge_of(model), right, abstention], bench).result


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_run_computes_it_or_says_why_not(entry: MetricEntry, runs: list[RunResult]) -> None:
    assert not isinstance(entry.compute, FromRecord)
    spec = MetricSpec.parse(spelt(entry))
    assert any(run.value(spec) is not None for run in runs), f"no run gives a value of {spec}"
    for run in runs:
        outcomes = [run.run_outcome(spec)] if spec.is_of_run else list(run.per_case(spec).values())
        silent = [one for one in outcomes if one.value is None and not one.reason and not spec.is_ranking]
        assert not silent, f"{spec} has no value in {run.name} and does not say why"


def test_a_metric_of_a_run_without_a_value_is_told_beside_the_numbers(runs: list[RunResult]) -> None:
    answered = runs[-2]
    assert any("chunk_tokens has no value: the system does not tell how" in note for note in answered.notes)
    assert replace(answered).run_metrics == answered.run_metrics
