"""Where a result stands: by its text, by file and heading, by a snippet, or not known."""

from __future__ import annotations

import time

import pytest

from assay.evaluation.placement import CorpusText, Paths, Placing
from assay.records.answers import GivenAnswer, GoldAnchors, GoldSupport, PlacedChunk, RetrievedChunk, Spot
from assay.records.datasets import Case, Dataset, Document
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved
from assay.records.memory import Format

FAQ = """\
# FAQ

## Spaces

Black uses four spaces for every level and this option will _never_ be changed, because visually
impaired developers may find [conversion](https://example.org/a/b) simpler.

## Strings

Double quotes are preferred over single ones wherever that does not add more backslash escapes.
"""
RST = "Jobs\n====\n\nSometimes for big sites it is desirable to pause crawls and be able to resume them.\n"
DOCUMENTS = (
    Document(id="black/faq.md", rel_path="black/faq.md", text=FAQ),
    Document(id="scrapy/jobs.rst", rel_path="scrapy/jobs.rst", text=RST, format=Format.TEXT),
    Document(id="notes.txt", rel_path="notes.txt", text="Backups are kept for ninety days.", format=Format.TEXT),
)
SPACES = Spot("black/faq.md", "FAQ > Spaces")
GOLD = GoldSupport(rel_path="black/faq.md", heading_path="FAQ > Spaces", snippets=("four spaces for every level",))
CASE = Case(id="c1", query="why spaces", anchors=GoldAnchors(supports=(GOLD,)))
DATASET = Dataset(name="docs", documents=DOCUMENTS, cases=(CASE,), ranked_unit="anchor")


def placed(chunk: RetrievedChunk, dataset: Dataset = DATASET, others: tuple[str, ...] = ()) -> PlacedChunk:
    given = Retrieved(ids=("x",), passages=(chunk, *(RetrievedChunk(rel_path=one) for one in others)))
    result = CaseResult(case_id="c1", status=CaseStatus.OK, retrieved=given)
    found = Placing(dataset, [result]).place(CASE, given).passages[0]
    assert isinstance(found, PlacedChunk)
    return found


SENTENCE = "Black uses four spaces for every level and this option will never be changed"


@pytest.mark.parametrize(
    "chunk",
    [
        RetrievedChunk(rel_path="17", text=SENTENCE),
        RetrievedChunk(rel_path="black/faq.md", text=SENTENCE),
        RetrievedChunk(rel_path="notes.txt", heading_path="Strings", text=SENTENCE),
        RetrievedChunk(rel_path="17", text=f"black faq\n\n{SENTENCE.upper()} ..."),
        RetrievedChunk(rel_path="srv/data/black/faq.md", heading_path="FAQ > Spaces"),
        RetrievedChunk(rel_path="faq.md", heading_path="Spaces"),
        RetrievedChunk(rel_path="black/faq.md", heading_path="FAQ > Spaces", text="A summary a model wrote of it."),
    ],
)
def test_text_decides_and_where_there_is_none_file_and_heading_do(chunk: RetrievedChunk) -> None:
    assert (placed(chunk).spots, placed(chunk).open_in) == ((SPACES,), None)


def test_a_text_over_two_sections_is_a_passage_of_both() -> None:
    found = placed(RetrievedChunk(rel_path="x", text=FAQ))
    assert found.spots == (SPACES, Spot("black/faq.md", "FAQ > Strings"))


def test_the_last_words_of_a_section_do_not_make_a_text_a_passage_of_it() -> None:
    tail = FAQ[FAQ.index("simpler") :]
    assert placed(RetrievedChunk(rel_path="x", text=tail)).spots == (Spot("black/faq.md", "FAQ > Strings"),)


def test_a_file_without_headings_is_one_place() -> None:
    assert placed(RetrievedChunk(rel_path="notes.txt")).spots == (Spot("notes.txt", ""),)


def test_headings_of_restructured_text_are_places() -> None:
    found = placed(
        RetrievedChunk(rel_path="x", text="it is desirable to pause crawls and be able to resume them later")
    )
    assert found.spots == (Spot("scrapy/jobs.rst", "Jobs"),)


def test_a_file_whose_section_is_not_known_is_open_there_and_met_as_a_whole() -> None:
    found = placed(RetrievedChunk(rel_path="black/faq.md"))
    assert (found.spots, found.open_in) == ((Spot("black/faq.md", ""),), "black/faq.md")


def test_an_unknown_file_is_open_unless_the_system_spells_files_as_the_dataset_does() -> None:
    unknown = RetrievedChunk(rel_path="other.md")
    assert placed(unknown).open_in == ""
    found = placed(unknown, others=("black/faq.md", "notes.txt"))
    assert (found.spots, found.open_in) == ((), None)


def test_a_text_from_elsewhere_is_no_evidence_and_not_open() -> None:
    found = placed(
        RetrievedChunk(rel_path="9", text="Unrelated prose about mountains and rivers and the weather of today")
    )
    assert (found.spots, found.open_in) == ((), None)


def test_without_documents_snippets_place_and_headings_are_believed() -> None:
    bare = Dataset(name="docs", documents=(), cases=(CASE,), ranked_unit="anchor")
    assert placed(RetrievedChunk(rel_path="17", text=SENTENCE), bare).spots == (SPACES,)
    assert placed(RetrievedChunk(rel_path="corpus/black/faq.md", heading_path="FAQ > Spaces"), bare).spots == (SPACES,)
    assert placed(RetrievedChunk(rel_path="black/faq.md", text="something else"), bare).open_in == "black/faq.md"
    assert placed(RetrievedChunk(rel_path="other.md"), bare).open_in is None


def test_citations_are_placed_as_results_are() -> None:
    answer = GivenAnswer(text="Four.", references=(RetrievedChunk(rel_path="corpus/black/faq.md", text=SENTENCE),))
    found = Placing(DATASET).place(CASE, Retrieved(ids=(), answer=answer)).answer
    assert found is not None
    assert [one.spots for one in found.references if isinstance(one, PlacedChunk)] == [(SPACES,)]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("black/faq.md", "black/faq.md"),
        ("/srv/corpus/black/faq.md", "black/faq.md"),
        ("corpus\\black\\faq.md", "black/faq.md"),
        ("faq.md", "black/faq.md"),
        ("black/faq.md#12", "black/faq.md"),
        ("black/faq.md::3", "black/faq.md"),
        ("black/faq.md:chunk:0", "black/faq.md"),
        ("index.md", "index.md"),
        ("red/index.md", "red/index.md"),
        ("blue/index.md", None),
        ("vec-17", None),
    ],
)
def test_a_file_is_found_below_any_root_unless_it_could_be_several(given: str, path: str | None) -> None:
    assert Paths(["black/faq.md", "index.md", "red/index.md"]).find(given) == path


def test_thousands_of_results_are_placed_in_a_moment() -> None:
    words = [f"w{number}" for number in range(400)]
    texts = [" ".join(words[(place * 7 + step * 3) % 400] for step in range(300)) for place in range(60)]
    corpus = CorpusText(Document(id=f"d{place}", text=text, format=Format.TEXT) for place, text in enumerate(texts))
    begun = time.perf_counter()
    for number in range(3_000):
        body = texts[number % 60].split()
        assert corpus.locate(" ".join(["changed", *body[number % 200 : number % 200 + 80]]), None)
    assert time.perf_counter() - begun < 20
