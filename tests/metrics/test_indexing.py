"""Which documents and chunks an index lacks, and what it was made with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.examples import check_entries, mean, missing, value

from assay.errors import BadValue
from assay.metrics import indexing
from assay.metrics.indexing import Statistic, TokensPerChunk, VersionsFound
from assay.records.evaluations import Outcome, OutcomeKind, Rate
from assay.records.saving import IndexedDocument, IndexVersions

V1 = IndexVersions(chunker="v1", embedder="minilm", index="1")
V2 = IndexVersions(chunker="v2", embedder="minilm", index="1")
NONE = IndexedDocument(doc_type="pdf")
ALL_SKIPPED = IndexedDocument(skipped={"context": 1})
WHOLE = IndexedDocument(chunk_tokens=(100, 200, 600), doc_type="markdown", versions=V1)
PARTLY = IndexedDocument(chunk_tokens=(50,) * 8, skipped={"context": 1, "empty": 1})


def test_every_entry_has_its_worked_example() -> None:
    assert indexing.chunk_skip_rate([PARTLY], "context").value == 0.1
    sizes = {stat: value(indexing.chunk_tokens([WHOLE], stat)) for stat in Statistic}
    assert sizes == {"min": 100, "mean": 300, "p95": 600, "max": 600}
    mixed = [IndexedDocument(versions=V1)] * 9 + [IndexedDocument(versions=V2)]
    check_entries(
        indexing.ENTRIES,
        "indexing",
        {
            "no_chunk_rate": mean([indexing.no_chunk_rate(one) for one in (WHOLE, PARTLY, ALL_SKIPPED, NONE)]),
            "chunk_skip_rate": value(indexing.chunk_skip_rate([PARTLY]).outcome("no chunks")),
            "chunk_tokens": sizes[Statistic.MEAN],
            "index_versions": value(indexing.index_versions(mixed).count),
        },
    )


def test_a_document_whose_chunks_were_all_skipped_is_invisible_too() -> None:
    assert indexing.no_chunk_rate(ALL_SKIPPED) == Outcome.scored(0)
    assert indexing.no_chunk_rate(ALL_SKIPPED, embedded=True) == Outcome.scored(1)
    assert indexing.no_chunk_rate(NONE) == Outcome.scored(1)


def test_a_reason_that_never_occurred_skips_nothing() -> None:
    assert indexing.chunk_skip_rate([PARTLY, WHOLE], "language") == Rate(hits=0, of=13)
    assert indexing.chunk_skip_rate([NONE]).value is None


def test_sizes_of_a_hundred_chunks_tell_the_tail_from_the_largest() -> None:
    assert indexing.tokens_per_chunk([IndexedDocument(chunk_tokens=tuple(range(100, 0, -1)))]) == TokensPerChunk(
        min=1, mean=50.5, p95=95, max=100
    )


def test_without_embedded_chunks_there_are_no_sizes() -> None:
    assert indexing.tokens_per_chunk([NONE, ALL_SKIPPED]) is None
    assert missing(indexing.chunk_tokens([])) is OutcomeKind.NOT_APPLICABLE


def test_versions_are_listed_once_and_the_unknown_counted() -> None:
    found = indexing.index_versions([PARTLY, IndexedDocument(versions=V2), WHOLE, WHOLE])
    assert found == VersionsFound(versions=(V1, V2), unknown=1)
    assert indexing.index_versions([WHOLE]) == VersionsFound(versions=(V1,), unknown=0)
    assert missing(indexing.index_versions([NONE]).count) is OutcomeKind.NOT_APPLICABLE


def test_the_whole_account() -> None:
    assert indexing.index_coverage([WHOLE, PARTLY, ALL_SKIPPED, NONE]) == indexing.IndexCoverage(
        no_chunks=Rate(hits=1, of=4),
        unsearchable=Rate(hits=2, of=4),
        attempted=14,
        embedded=11,
        skipped={"context": 2, "empty": 1},
        tokens=TokensPerChunk(min=50, mean=1300 / 11, p95=600, max=600),
        versions=VersionsFound(versions=(V1,), unknown=3),
    )


def test_the_account_of_nothing_is_empty_rather_than_perfect() -> None:
    found = indexing.index_coverage([])
    assert found.no_chunks.value is None
    assert found.tokens is None


def test_coverage_by_document_type() -> None:
    found = indexing.coverage_by_doc_type([WHOLE, NONE, PARTLY])
    assert list(found) == ["", "markdown", "pdf"]
    assert found["pdf"].no_chunks.value == 1
    assert found["markdown"].no_chunks.value == 0


@pytest.mark.parametrize("wrong", [{"chunk_tokens": (-1,)}, {"skipped": {"context": -1}}, {"skipped": {"": 1}}])
def test_counts_are_whole_and_reasons_have_words(wrong: dict[str, tuple[int] | dict[str, int]]) -> None:
    with pytest.raises(BadValue):
        IndexedDocument(**wrong)  # type: ignore[arg-type] # the point is what the record refuses


DOCUMENTS = st.lists(
    st.builds(
        IndexedDocument,
        chunk_tokens=st.lists(st.integers(0, 2000), max_size=5).map(tuple),
        skipped=st.dictionaries(st.sampled_from(["context", "empty"]), st.integers(0, 3)),
    )
)


@given(DOCUMENTS)
def test_the_parts_add_up(documents: list[IndexedDocument]) -> None:
    found = indexing.index_coverage(documents)
    assert found.attempted == found.embedded + sum(found.skipped.values())
    assert found.no_chunks.hits <= found.unsearchable.hits <= len(documents)
    assert indexing.chunk_skip_rate(documents).hits == sum(found.skipped.values())
    tokens = found.tokens
    assert tokens is None or tokens.min <= tokens.mean <= tokens.max
    assert tokens is None or tokens.min <= tokens.p95 <= tokens.max
