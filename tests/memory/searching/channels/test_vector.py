"""The nearest passages, of one model only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Never

from tests.memory.searching.shelf import Shelf, ids

from assay.embedding.protocol import Vectors
from assay.errors import EndpointUnavailable
from assay.memory.searching import SearchOptions
from assay.records import Channel, Hit, Mode, SearchResult
from assay.testing import HashedEmbedder, note


class Failing(HashedEmbedder):
    """An embedder whose server is down."""

    def __init__(self, problem: Exception) -> None:
        super().__init__()
        self.problem = problem

    def embed(self, texts: Sequence[str], *, progress: object = None) -> Vectors:
        raise self.problem


class Untouchable:
    """An embedder that must not even be looked at."""

    def __getattr__(self, name: str) -> Never:
        raise AssertionError(name)


def filled(shelf: Shelf) -> Shelf:
    shelf.put(
        note("m_1", title="Sign-in", body="Clients sign in with a code."),
        note("m_2", title="Bread", body="Bread is baked at night."),
    )
    return shelf


def test_the_nearest_passage_comes_first_and_its_score_is_the_cosine(shelf: Shelf) -> None:
    result = filled(shelf).search("clients sign in with a code", channels=("vector",), explain=True)
    assert ids(result)[0] == "m_1"
    made = shelf.embedder.embed(["Sign-in\nClients sign in with a code.", "clients sign in with a code"])
    explanation = result[0].explanation
    assert explanation is not None
    assert abs(explanation.passages[0].votes[0].score - float(made[0] @ made[1])) < 2e-3


def test_vectors_of_two_models_are_never_compared(shelf: Shelf) -> None:
    filled(shelf)
    shelf.searcher = shelf.searching(embedder=HashedEmbedder(model="another"))
    result = shelf.search("clients sign in")
    assert "vector" not in result.weights
    assert ids(result) == ["m_1"]
    (said,) = result.degraded
    assert "vectors here are of hashed-words" in said
    assert "0 of 2 passages" in said
    assert result.telemetry.degraded_mode_active


def test_passages_without_vectors_are_said_to_have_none(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(note("m_1", body="Some words."), embedded=False)
    result = sqlite_shelf.search("some words")
    assert ids(result) == ["m_1"]
    assert "of no model" in result.degraded[0]


def test_an_empty_store_is_not_degraded(sqlite_shelf: Shelf) -> None:
    result = sqlite_shelf.search("anything")
    assert (ids(result), result.degraded) == ([], ())


def test_a_missing_embedder_costs_the_vector_channel_alone(sqlite_shelf: Shelf) -> None:
    filled(sqlite_shelf)
    sqlite_shelf.searcher = sqlite_shelf.searching(embedder=None)
    result = sqlite_shelf.search("clients sign in")
    assert ids(result) == ["m_1"]
    assert result.degraded == (
        "vector was left out: no embedder is configured. Set `embedder.kind`, or name other channels.",
    )


def test_a_failing_embedder_costs_the_vector_channel_alone_and_is_counted(sqlite_shelf: Shelf) -> None:
    filled(sqlite_shelf)
    for problem in (EndpointUnavailable("no answer", remedy="Start it."), TypeError("a mistake")):
        sqlite_shelf.searcher = sqlite_shelf.searching(embedder=Failing(problem))
        result = sqlite_shelf.search("clients sign in")
        assert ids(result) == ["m_1"]
        assert str(problem) in result.degraded[0]
        assert sqlite_shelf.searcher.failures.counts() == {("embedder", type(problem).__name__): 1}


def test_nothing_is_embedded_when_no_vector_channel_is_to_run(sqlite_shelf: Shelf) -> None:
    filled(sqlite_shelf)
    sqlite_shelf.searcher = sqlite_shelf.searching(embedder=Untouchable())
    result = sqlite_shelf.search("clients sign in", channels=("bm25", "fts5"))
    assert ids(result) == ["m_1"]
    assert result.telemetry.embedding_latency_ms == 0.0


def test_what_only_words_find_has_the_cosine_that_the_channel_alone_gives_it(shelf: Shelf) -> None:
    shelf.put(
        note("m_rare", title="Bird", body="kestrel flies high today"),
        *(note(f"m_{place}", title="Wall", body=f"tower number{place}") for place in range(4)),
    )
    query = "tower kestrel"
    alone = {hit.memory_id: cosine_of(hit) for hit in shelf.search(query, channels=("vector",), explain=True)}
    pools = dict.fromkeys((Mode.QUICK, Mode.FOCUSED, Mode.DEEP), 2)
    asked: dict[str, Any] = {"query": query, "channels": ("vector", "bm25"), "k": 2, "explain": True}
    shelf.searcher = shelf.searcher.with_options(replace(SearchOptions(), pools=pools))
    found = shelf.search(**asked)
    assert ids(found)[0] == "m_rare"
    assert cosine_of(found[0]) == alone["m_rare"]
    assert compared_in(found) == 1
    assert [channel.value for channel in found[0].channels] == ["bm25"], "vector did not find it"
    assert all(hit.explanation is not None and hit.explanation.recompute() == hit.score for hit in found)
    shelf.searcher = shelf.searcher.with_options(replace(SearchOptions(), pools=pools, compare_found=False))
    assert compared_in(shelf.search(**asked)) == 0


def compared_in(result: SearchResult) -> int:
    """How many passages of other channels were compared with the query."""
    return int(next(stage for stage in result.stages if stage.name == "candidate").detail["vector"].get("compared", 0))


def cosine_of(hit: Hit) -> float:
    """The score that the vector channel gave the best passage."""
    assert hit.explanation is not None
    return next(vote.score for vote in hit.explanation.passages[0].votes if vote.channel is Channel.VECTOR)
