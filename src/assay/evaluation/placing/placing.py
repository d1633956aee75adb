"""The results of a case, each with the sections of the dataset's documents in which it stands.

What a result is placed by, the first that says something:

    its text         it stands in a document of the dataset (`corpus`), whatever path and heading the system gives
    file and heading the file is one of the dataset's (`paths`) and has that heading
    file alone       the file has no headings
    a snippet        its text holds a snippet of one of the case's gold supports

What is left may be evidence or not: nobody can tell, and the result stays open (`PlacedChunk.open_in`). Two kinds of
results are certainly from elsewhere and no evidence: a text that has nothing in common with the documents, and a file
that the dataset does not have, from a system that spells most files as the dataset does (`ALIKE_SPELT`). Where a
dataset has anchors and no documents, file and heading are taken as the system gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.evaluation.copies import copies_in
from assay.evaluation.placing.corpus import CorpusText, words_of
from assay.evaluation.placing.paths import Paths
from assay.records.anchors import GoldSupport, PlacedChunk, RetrievedChunk, Spot
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import CaseResult, Retrieved
from assay.records.heading_path import SEPARATOR, lies_under

PLACING = 1
"""Raised when results would be placed otherwise: a part of the instrument of anchored runs."""
ALIKE_SPELT = 0.5
"""From this share of results on whose file the dataset has as it is spelt, the other files are other files."""
SNIPPET = 4
"""Words of a snippet that place a text by themselves; "yes" stands everywhere."""


def place_results(dataset: Dataset, results: Sequence[CaseResult]) -> tuple[CaseResult, ...]:
    """Results with every passage and every citation placed; cases without anchors stay as they are."""
    anchored = {case.id: case for case in dataset.cases if case.anchors is not None}
    if not anchored:
        return tuple(results)
    placing = Placing(dataset, results)
    return tuple(
        result
        if result.retrieved is None or result.case_id not in anchored
        else replace(result, retrieved=placing.place(anchored[result.case_id], result.retrieved))
        for result in results
    )


class Placing:
    """Places what a system gave among the documents of one dataset."""

    def __init__(self, dataset: Dataset, results: Sequence[CaseResult] = ()) -> None:
        self._corpus = CorpusText(dataset.documents)
        gold = {support.rel_path for case in dataset.cases if case.anchors for support in case.anchors.supports}
        self._copies = _copied_paths(dataset)
        self._by_id = {document.id: document.rel_path or document.id for document in dataset.documents}
        self._paths = Paths({*self._corpus.paths, *gold})
        known = {*self._by_id, *self._corpus.paths, *gold}
        given = [chunk.rel_path for one in results if one.retrieved for chunk in _given(one.retrieved)]
        alike = sum(path in known for path in given) >= ALIKE_SPELT * len(given) > 0
        self._unknown_is_elsewhere = alike or not dataset.documents

    def place(self, case: Case, retrieved: Retrieved) -> Retrieved:
        """What was given for a case, placed. A result that is only an id is a passage somewhere in that document."""
        supports = case.anchors.supports if case.anchors is not None else ()
        answer = retrieved.answer
        if answer is not None and answer.references:
            answer = replace(answer, references=self._each(answer.references, supports))
        return replace(retrieved, passages=self._each(_given(retrieved), supports), answer=answer)

    def _each(self, chunks: Iterable[RetrievedChunk], supports: Sequence[GoldSupport]) -> tuple[PlacedChunk, ...]:
        return tuple(self._placed(chunk, supports) for chunk in chunks)

    def _placed(self, chunk: RetrievedChunk, supports: Sequence[GoldSupport]) -> PlacedChunk:
        path = self._by_id.get(chunk.rel_path) or self._paths.find(chunk.rel_path)
        spots = self._by_text(chunk, path) or self._by_heading(chunk, path) or _by_snippet(chunk, supports)
        if spots:
            return _made(chunk, self._with_copies(spots))
        if path is not None:
            # An anchor to the whole file is met wherever in the file the passage stands.
            return _made(chunk, (Spot(path, ""),), open_in=path)
        elsewhere = self._unknown_is_elsewhere or self._corpus.is_foreign(chunk.text)
        return _made(chunk, (), open_in=None if elsewhere else "")

    def _with_copies(self, spots: tuple[Spot, ...]) -> tuple[Spot, ...]:
        """The same sections in every copy of a document."""
        if not self._copies:
            return spots
        return tuple(Spot(path, heading) for own, heading in spots for path in self._copies.get(own, (own,)))

    def _by_text(self, chunk: RetrievedChunk, path: str | None) -> tuple[Spot, ...]:
        return self._corpus.locate(chunk.text, path if path in self._corpus.paths else None)

    def _by_heading(self, chunk: RetrievedChunk, path: str | None) -> tuple[Spot, ...]:
        if path is None:
            return ()
        if path not in self._corpus.paths:
            return (Spot(path, chunk.heading_path),) if chunk.heading_path else ()
        headings = self._corpus.headings(path)
        if not any(headings):
            return (Spot(path, ""),)
        found = _heading_among(headings, chunk.heading_path) if chunk.heading_path else None
        return () if found is None else (Spot(path, found),)


def _copied_paths(dataset: Dataset) -> dict[str, tuple[str, ...]]:
    """Files that have copies, each with all of them."""
    path_of = {document.id: document.rel_path or document.id for document in dataset.documents}
    return {path_of[name]: tuple(sorted(path_of[one] for one in group)) for name, group in copies_in(dataset).items()}


def _given(retrieved: Retrieved) -> Sequence[RetrievedChunk]:
    """The passages; of a system that gives ids alone, one for each."""
    return retrieved.passages or [RetrievedChunk(rel_path=one) for one in retrieved.ids]


def _heading_among(headings: Sequence[str], given: str) -> str | None:
    """The heading path of a file that is meant: as given, or the only one that ends so."""
    if any(lies_under(heading, given) for heading in headings):
        return given
    ending = [heading for heading in headings if f"{SEPARATOR}{heading}".endswith(f"{SEPARATOR}{given}")]
    return ending[0] if len(ending) == 1 else None


def _by_snippet(chunk: RetrievedChunk, supports: Sequence[GoldSupport]) -> tuple[Spot, ...]:
    if not chunk.text:
        return ()
    text = f" {' '.join(words_of(chunk.text))} "
    return tuple(
        Spot(support.rel_path, support.heading_path)
        for support in supports
        if any(len(words) >= SNIPPET and f" {' '.join(words)} " in text for words in map(words_of, support.snippets))
    )


def _made(chunk: RetrievedChunk, spots: tuple[Spot, ...], open_in: str | None = None) -> PlacedChunk:
    return PlacedChunk(
        rel_path=chunk.rel_path,
        heading_path=chunk.heading_path,
        text=chunk.text,
        chunk_id=chunk.chunk_id,
        spots=spots,
        open_in=open_in,
    )
