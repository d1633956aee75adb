"""A dataset with reference answers, and systems that answer it well, badly or not at all."""

from __future__ import annotations

from collections.abc import Callable

from assay.evaluation.results import RunResult
from assay.evaluation.running.runner import run
from assay.records.answers import GivenAnswer, RetrievedChunk
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evaluations import Retrieved
from assay.systems.protocol import System

ANSWERABLE, UNANSWERABLE = 20, 4
DECLINED = GivenAnswer(text="I do not know.", abstained=True, confidence=0.1)
Answers = Callable[[int, Case], GivenAnswer]


def questions() -> Dataset:
    """Twenty questions with an answer in a document of their own, then four without one."""
    return Dataset(
        name="questions",
        documents=tuple(Document(id=f"d{n}", text=f"Room {n} has {n + 100} seats.") for n in range(ANSWERABLE)),
        cases=(
            *(
                Case(
                    id=f"q{n:02}",
                    query=f"how many seats does room {n} have",
                    grades=(Grade(document_id=f"d{n}", grade=1),),
                    reference_answer=f"{n + 100} seats",
                )
                for n in range(ANSWERABLE)
            ),
            *(Case(id=f"u{n}", query=f"who painted room {n}", answerable=False) for n in range(UNANSWERABLE)),
        ),
        relevance_level=1,
        floors={"recall@5": 0.8},
    )


def seats(number: int, *, confidence: float = 0.9) -> GivenAnswer:
    """The right answer to a question, with its reference."""
    reference = RetrievedChunk(rel_path=f"d{number}", text=f"Room {number} has {number + 100} seats.")
    return GivenAnswer(
        text=f"It has {number + 100} seats [1].", abstained=False, confidence=confidence, references=(reference,)
    )


def answer_well(number: int, case: Case) -> GivenAnswer:
    """Answers what can be answered, and declines the rest."""
    return seats(number) if case.answerable else DECLINED


def decline_all(number: int, case: Case) -> GivenAnswer:
    """Declines everything."""
    return DECLINED


class AnsweringSystem(System):
    """Finds what is wanted, and answers as a function says."""

    def __init__(self, answers: Answers, name: str = "answering") -> None:
        self.name = name
        self._answers = answers

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        number = int(case.id[1:])
        ids = (f"d{number}",)
        return Retrieved(ids=ids, answer=self._answers(number, case), stages={"retrieval": 2.0, "generation": 7.0})


def run_answers(answers: Answers, name: str = "answering") -> RunResult:
    """A run of such a system."""
    return run(questions(), AnsweringSystem(answers, name))
