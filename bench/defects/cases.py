"""Which questions get which defect: the same cases for the same questions and seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from assay.records.research import Material
from assay.text.terms import words
from bench.defects.planting import DEFECTS, Defect, Surroundings
from bench.defects.question_sets import ResearchedQuestion

SEED = 19
MOST_CASES = 40
"""Of one defect and one set."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DefectCase:
    """A good material and the same one with a defect."""

    defect: Defect
    question_id: str
    good: Material
    bad: Material

    @property
    def set_name(self) -> str:
        """The set of the question."""
        return self.question_id.split("/", maxsplit=1)[0]

    @property
    def wording(self) -> str:
        """`quoted`: the good answer is in the passages' own words; `written`: it is not; empty: it is no answer."""
        if self.good.synthesis is None or self.good.synthesis.abstained:
            return ""
        shown = [f" {' '.join(words(passage.text))} " for passage in self.good.passages]
        said = [f" {' '.join(words(statement.text))} " for statement in self.good.synthesis.statements]
        return "quoted" if all(any(text in passage for passage in shown) for text in said) else "written"


def build_cases(
    sets: Mapping[str, Sequence[ResearchedQuestion]], *, seed: int = SEED, most: int = MOST_CASES
) -> list[DefectCase]:
    """Plant every defect in questions of every set."""
    return [
        case
        for defect in DEFECTS
        for name, questions in sets.items()
        for case in islice(_plant(defect, Surroundings(tuple(questions)), seed, name), most)
    ]


def _plant(defect: Defect, around: Surroundings, seed: int, name: str) -> Iterator[DefectCase]:
    order = random.Random(f"{seed} {defect.name} {name}")
    for asked in order.sample(around.questions, len(around.questions)):
        pair = defect.plant(asked, around, random.Random(f"{seed} {defect.name} {asked.id}"))
        if pair is not None and pair.good != pair.bad:
            yield DefectCase(defect=defect, question_id=asked.id, good=pair.good, bad=pair.bad)


def sample_cases(cases: Sequence[DefectCase], count: int, *, seed: int = SEED) -> list[DefectCase]:
    """Choose some cases, as many of each defect as of any other."""
    rng = random.Random(seed)
    queues = {
        defect.name: rng.sample(own, len(own))
        for defect in DEFECTS
        if (own := [case for case in cases if case.defect.name == defect.name])
    }
    chosen: list[DefectCase] = []
    while len(chosen) < count and any(queues.values()):
        waiting = [queue for queue in queues.values() if queue]
        chosen += [queue.pop() for queue in waiting[: count - len(chosen)]]
    return chosen
