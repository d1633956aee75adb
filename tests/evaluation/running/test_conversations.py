"""Questions in conversations and questions without an answer: how they are asked, and what a run says of them."""

from __future__ import annotations

from typing import Any

from assay.evaluation.results import RunResult
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import run
from assay.metrics.spec import parse_specs
from assay.records.datasets import Asking, Case, Dataset, Document, Grade, Turn
from assay.records.evaluations import OutcomeKind, Retrieved
from assay.systems.protocol import System

POOL = (Grade(document_id="pool", grade=3),)
EARLIER = (Turn(speaker="user", text="Is there a pool?"), Turn(speaker="agent", text="Yes."))
METRICS = parse_specs("recall@5,mrr")


class Heard(System):
    """Remembers what it was asked, and finds the pool."""

    name = "heard"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        self.asked.append(query)
        return Retrieved(ids=("pool",))


def measured(*cases: Case, **options: Any) -> tuple[RunResult, list[str]]:
    dataset = Dataset(name="house", documents=(Document(id="pool", text="The pool."),), cases=cases)
    system = Heard()
    return run(dataset, system, RunOptions(metrics=METRICS, **options)), system.asked


ALONE = Case(id="q1", query="Where is the pool?", grades=POOL)
LATER = Case(id="q2", query="When does it open?", grades=POOL, history=EARLIER)
NO_ANSWER = Case(id="q3", query="Is there a casino?", answerable=False)


def test_what_is_asked_is_as_the_options_say_and_part_of_the_subject() -> None:
    result, asked = measured(ALONE, LATER)
    assert asked == ["Where is the pool?", "When does it open?"]
    assert result.manifest.subject["asking"] == "last"
    result, asked = measured(ALONE, LATER, asking=Asking.USER)
    assert asked == ["Where is the pool?", "Is there a pool?\nWhen does it open?"]
    assert result.manifest.subject["asking"] == "user"


def test_a_dataset_without_conversations_does_not_speak_of_them() -> None:
    result, _ = measured(ALONE)
    assert "asking" not in result.manifest.subject
    assert "turn" not in result.breakdowns
    assert "answerable" not in result.breakdowns


def test_breakdowns_by_turn_and_answerability_add_up() -> None:
    many = tuple(Turn(speaker="user", text="And?") for _ in range(9))
    long = Case(id="q4", query="And then?", grades=POOL, history=many)
    result, _ = measured(ALONE, LATER, NO_ANSWER, long)
    spec = METRICS[0]
    assert {name: part[spec].cases for name, part in result.breakdowns["turn"].items()} == {
        "turn 1": 2,
        "turn 2": 1,
        "turn 6+": 1,
    }
    assert {name: part[spec].cases for name, part in result.breakdowns["answerable"].items()} == {"no": 1, "yes": 3}


def test_a_question_without_an_answer_has_an_outcome_of_its_own() -> None:
    result, _ = measured(ALONE, NO_ANSWER)
    outcome = result.scores[METRICS[0]]["q3"]
    assert outcome.kind is OutcomeKind.NOT_APPLICABLE
    assert outcome.reason == "the question has no answer among the documents"
    assert result.aggregates[METRICS[0]].value == 1.0
