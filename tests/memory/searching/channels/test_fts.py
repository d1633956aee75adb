"""Precise full text: the database finds, our own formula ranks, so both back ends agree."""

from __future__ import annotations

import pytest
from tests.memory.searching.shelf import Shelf, ids

from assay.memory.searching.options import SearchOptions
from assay.testing import note


def library(shelf: Shelf) -> None:
    shelf.put(
        note("m_near", title="Retries", body="The retry budget is ten per cent."),
        note("m_far", title="Budget", body="Money. " + "word " * 40 + "retry"),
        note("m_title", title="Retry budget", body="See the wiki."),
        note("m_trigger", title="Other", body="Nothing.", triggers=("retry budget",)),
        note("m_one", title="Tries", body="A retry costs."),
    )


def test_all_words_near_each_other_and_in_the_title_come_first(shelf: Shelf) -> None:
    library(shelf)
    result = shelf.search("retry budget", channels=("fts5",))
    assert ids(result)[:2] == ["m_title", "m_trigger"]
    assert ids(result).index("m_near") < ids(result).index("m_far")


def test_a_quoted_phrase_has_to_stand_word_for_word(shelf: Shelf) -> None:
    library(shelf)
    assert set(ids(shelf.search('"retry budget"', channels=("fts5",)))) == {"m_near", "m_title", "m_trigger"}


def test_a_star_finds_words_that_begin_so(shelf: Shelf) -> None:
    library(shelf)
    assert ids(shelf.search("retri*", channels=("fts5",))) == ["m_near"]


@pytest.mark.parametrize(
    "query",
    [
        'retry AND NOT "',
        "NEAR(retry budget, 2)",
        "title:retry",
        "retry & !budget | (",
        "'; DROP TABLE chunks; --",
        '"" *',
    ],
)
def test_operators_and_quotes_are_words_or_nothing_at_all(shelf: Shelf, query: str) -> None:
    library(shelf)
    result = shelf.search(query, channels=("fts5", "bm25"))
    assert result.degraded == ()
    assert shelf.searcher.failures.counts() == {}


def test_it_answers_without_an_index(sqlite_shelf: Shelf) -> None:
    library(sqlite_shelf)

    class Broken:
        def prepare(self, scope: object) -> None: ...

        def view(self, work: object) -> None:
            raise OSError("gone")

    sqlite_shelf.searcher = sqlite_shelf.searching(indexes=Broken())
    result = sqlite_shelf.search("retry budget")
    assert set(ids(result)[:2]) == {"m_title", "m_trigger"}
    assert set(result.weights) == {"fts5", "trigger", "graph"}
    assert any("OSError: gone" in said for said in result.degraded)


@pytest.mark.parametrize(
    ("channels", "embedded", "scored"),
    [
        (("fts5",), True, 4),
        (("fts5", "trigger"), True, 4),
        (("fts5", "bm25"), False, 2),
        (("fts5", "vector"), True, 2),
        (("fts5", "vector"), False, 4),
    ],
)
def test_beside_a_channel_that_ranks_all_passages_fewer_matches_are_scored(
    sqlite_shelf: Shelf, channels: tuple[str, ...], embedded: bool, scored: int
) -> None:
    sqlite_shelf.put(
        *(note(f"m_{number}", body=f"A retry, number {number}.") for number in range(6)), embedded=embedded
    )
    sqlite_shelf.searcher = sqlite_shelf.searching(options=SearchOptions(full_text_limit=4, full_text_beside=2))
    result = sqlite_shelf.search("retry", channels=channels)
    (stage,) = (stage for stage in result.stages if stage.name == "candidate")
    assert stage.detail["fts5"]["found"] == scored
