"""One ranking in many spellings: whatever a system says beside the text, the score is the same, or there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from assay.errors import NothingMeasured
from assay.evaluation.datasets.checks import ACCEPTED
from assay.evaluation.question_generation import generate
from assay.evaluation.results import RunResult
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import run
from assay.metrics.spec import parse_specs
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import Retrieved
from assay.records.run_results import CaveatKind, caveats_about
from assay.systems.protocol import System
from assay.systems.replies import read_reply
from assay.text.sections import markdown_sections

CONCEPTS = Path(__file__).parents[3] / "docs" / "concepts"
METRICS = "recall_any@5,anchor_precision@5,anchor_mrr,recall_any@10"
WINDOW = 60
"""Words of a chunk: this chunker knows nothing of headings."""


class Chunk(NamedTuple):
    path: str
    heading: str
    text: str


@pytest.fixture(scope="module")
def golden() -> Dataset:
    """Cases generated from real documents, as if somebody had accepted them all."""
    made = generate(CONCEPTS).dataset
    return replace(made, cases=tuple(replace(one, tags=(*one.tags, ACCEPTED)) for one in made.cases))


@pytest.fixture(scope="module")
def chunks(golden: Dataset) -> list[Chunk]:
    return [chunk for one in golden.documents for chunk in windows(one.rel_path, one.text)]


def windows(path: str, text: str) -> list[Chunk]:
    words = [(found.start(), found.end()) for found in re.finditer(r"\S+", text)]
    starts = [(section.start, section.heading_path) for section in markdown_sections(text)]
    cut = [words[at : at + WINDOW] for at in range(0, len(words), WINDOW)]
    spans = [(part[0][0], part[-1][1]) for part in cut]
    return [Chunk(path, [name for at, name in starts if at <= begin][-1], text[begin:end]) for begin, end in spans]


Spelling = Callable[[int, Chunk], Any]


class Lexical(System):
    """Ranks chunks by the words they share with the query, and tells of them in one spelling."""

    name = "lexical"

    def __init__(self, chunks: list[Chunk], spelling: Spelling) -> None:
        self._chunks = [(chunk, set(chunk.text.lower().split())) for chunk in chunks]
        self._spelling = spelling

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        asked = set(query.lower().rstrip("?").split())
        order = sorted(range(len(self._chunks)), key=lambda at: -len(asked & self._chunks[at][1]))
        return read_reply([self._spelling(at, self._chunks[at][0]) for at in order[:k]])


def measured(golden: Dataset, chunks: list[Chunk], spelling: Spelling) -> RunResult:
    return run(golden, Lexical(chunks, spelling), RunOptions(metrics=parse_specs(METRICS)))


def values(result: RunResult) -> dict[str, float | None]:
    return {metric: result.value(metric) for metric in METRICS.split(",")}


SPELLINGS: Mapping[str, Spelling] = {
    "path and text": lambda at, one: {"id": f"c{at}", "rel_path": one.path, "text": one.text},
    "path, heading and text": lambda at, one: {
        "id": f"c{at}",
        "rel_path": one.path,
        "heading_path": one.heading,
        "text": one.text,
    },
    "another root": lambda at, one: {
        "id": f"c{at}",
        "rel_path": f"corpus/docs/{one.path}",
        "heading_path": one.heading,
        "text": one.text,
    },
    "text alone": lambda at, one: {"id": at, "text": one.text},
    "text without markup": lambda at, one: {
        "id": at,
        "text": re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`#|]+", lambda m: m.group(1) or " ", one.text),
    },
    "heading put before the text": lambda at, one: {"id": at, "text": f"{one.heading}\n\n{one.text}"},
    "text cut off": lambda at, one: {"id": at, "rel_path": one.path, "text": one.text[:-3] + "..."},
}


@pytest.fixture(scope="module")
def reference(golden: Dataset, chunks: list[Chunk]) -> dict[str, float | None]:
    return values(measured(golden, chunks, SPELLINGS["path and text"]))


def test_the_reference_says_something(reference: dict[str, float | None], golden: Dataset) -> None:
    assert len(golden.cases) >= 20
    assert 0.2 < (reference["recall_any@5"] or 0.0) < 1.0


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_same_ranking_has_the_same_score_in_every_spelling(
    spelling: str, golden: Dataset, chunks: list[Chunk], reference: dict[str, float | None]
) -> None:
    found = values(measured(golden, chunks, SPELLINGS[spelling]))
    exact = "cut off" not in spelling and "without markup" not in spelling
    assert found == pytest.approx(reference, abs=0 if exact else 0.04 + 1e-9)


UNPLACEABLE: Mapping[str, Spelling] = {
    "ids of the documents": lambda _, one: one.path,
    "ids of chunks": lambda at, one: f"{one.path}#{at}",
    "ids that mean nothing here": lambda at, _: f"vec-{at}",
    "path without heading or text": lambda at, one: {"id": at, "rel_path": one.path},
}


@pytest.mark.parametrize("spelling", UNPLACEABLE)
def test_results_that_cannot_be_placed_give_no_number(spelling: str, golden: Dataset, chunks: list[Chunk]) -> None:
    with pytest.raises(NothingMeasured) as refused:
        measured(golden, chunks, UNPLACEABLE[spelling])
    assert "Return the text of each result" in (refused.value.remedy or "")
    if spelling != "ids that mean nothing here":
        assert re.search(r"\d+ of \d+ results cannot be placed .* \d+ of \d+ cases are undecided", str(refused.value))


def test_heading_and_path_without_text_are_believed_where_the_document_has_them(
    golden: Dataset, chunks: list[Chunk]
) -> None:
    def spelling(at: int, one: Chunk) -> Any:
        return {"id": f"c{at}", "rel_path": f"./{one.path}", "heading_path": one.heading}

    assert 0.2 < (measured(golden, chunks, spelling).value("recall_any@5") or 0.0) < 1.0


def test_a_few_results_that_cannot_be_placed_leave_their_cases_out(golden: Dataset, chunks: list[Chunk]) -> None:
    first = golden.cases[0]
    support = first.anchors.supports[0] if first.anchors else None

    class OnceWithoutText(Lexical):
        def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
            found = super().retrieve(query, k, case)
            return read_reply([support.rel_path]) if case.id == first.id and support else found

    result = run(
        golden, OnceWithoutText(chunks, SPELLINGS["path and text"]), RunOptions(metrics=parse_specs("recall_any@5"))
    )
    assert result.per_case("recall_any@5")[first.id].kind == "skipped"
    (said,) = caveats_about(result.caveats, CaveatKind.PLACEMENT)
    assert (said.metrics, said.count, said.of) == (("recall_any@5",), 1, len(golden.cases))
    assert said.sentence.startswith("1 of ")
    assert result.aggregates[parse_specs("recall_any@5")[0]].scored == len(golden.cases) - 1
