"""Locate results in the dataset's documents, so that anchors measure retrieval and not metadata.

- Copies: documents that are in a corpus more than once.
- Finding a text in the documents, exactly or by most of its three-word runs.
- Which file of the dataset a system's path means.
- The sections in which each result lies.
- Runs whose results cannot be located.

The sections in which each result lies:

What a result is placed by, the first that is decisive:

    its text         it is in a document of the dataset (`corpus`), under any path and heading the system gives
    file and heading the file is one of the dataset's (`paths`) and has that heading
    file alone       the file has no headings
    a snippet        its text holds a snippet of one of the case's gold supports

What is left may be evidence or not: that is not known, and the result stays open (`PlacedChunk.open_in`). Two kinds of
results are certainly from elsewhere and no evidence: a text that has nothing in common with the documents, and a file
that the dataset does not have, from a system that spells most files as the dataset does (`ALIKE_SPELT`). Where a
dataset has anchors and no documents, file and heading are taken as the system gives them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from assay.errors import NothingMeasured
from assay.metrics.anchors import is_unplaced
from assay.metrics.outcome_columns import distinct_outcomes
from assay.records.answers import GoldSupport, PlacedChunk, RetrievedChunk, Spot
from assay.records.heading_path import SEPARATOR, lies_under
from assay.records.run_results import Caveat, CaveatKind
from assay.text.sections import document_sections

if TYPE_CHECKING:
    from assay.metrics.spec import MetricSpec
    from assay.records.datasets import Case, Dataset, Document
    from assay.records.evaluations import CaseResult, Outcome, Retrieved

# --- Copies: documents that are in a corpus more than once ---
#
# Two documents are copies when their texts are the same but for white space; texts of a few words must have the same
# title, too. Where one copy of a document was judged and another was not, both are one unit for that case: a hit on
# either counts, and counts once, with the best of their grades. Copies that were all judged keep their own judgments.

COPIES = "one unit"
"""How copies count: a part of the instrument where a dataset has some."""
FEW_WORDS = 5
"""Words below which equal texts ("See above.") are copies only under the same title."""


_KEPT: dict[str, dict[str, frozenset[str]]] = {}
_MOST_KEPT = 4


def copies_in(dataset: Dataset) -> dict[str, frozenset[str]]:
    """`find_copies` of a dataset's documents, cached because a run needs it several times."""
    if dataset.corpus_hash not in _KEPT:
        while len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)))
        _KEPT[dataset.corpus_hash] = find_copies(dataset.documents)
    return _KEPT[dataset.corpus_hash]


def find_copies(documents: Iterable[Document]) -> dict[str, frozenset[str]]:
    """Every document that has copies, with all of them, itself included."""
    alike: dict[tuple[str, str], list[str]] = {}
    for document in documents:
        words = document.text.split()
        if words:
            title = " ".join(document.title.casefold().split()) if len(words) < FEW_WORDS else ""
            alike.setdefault((" ".join(words), title), []).append(document.id)
    groups = (frozenset(ids) for ids in alike.values() if len(ids) > 1)
    return {name: group for group in groups for name in group}


def join_units(declared: Mapping[str, str], copies: Mapping[str, str]) -> dict[str, str]:
    """Both ways of counting documents as one; a unit that shares a member with another is one with it."""
    joined = dict(declared)
    for name, unit in copies.items():
        joined.setdefault(name, unit)
    renamed = {unit: declared[name] for name, unit in copies.items() if name in declared}
    return {name: renamed.get(unit, unit) for name, unit in joined.items()}


def copy_units(case: Case, copies: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Each copy of a judged document that was not judged itself, and its originals, with the id they share."""
    labels = case.labels
    groups = {copies[name] for name in labels if name in copies}
    return {name: min(group) for group in groups if not group <= labels.keys() for name in group}


# --- Finding a text in the documents, exactly or by most of its word triples ---
#
# Texts are compared word by word, without case, punctuation and markup, so that a chunker may strip or wrap as it
# likes. A text that stands in a document word for word is there. One that does not (a heading put before it, links
# taken out, a cut at its end) is in the document that has the most of its runs of three words, if that is at least
# half of them (`ALIKE`). Documents are indexed once; a text costs time in proportion to its own length.
#
# A text may reach over several sections. It counts as a passage of each of which it has enough (`_covers`).

ALIKE = 0.5
"""The share of a text's runs that one document must have for the text to be placed there."""
FOREIGN = 0.1
"""Below this share in every document a text is not from these documents at all."""
RUN = 3
SHORT_TEXT = 8
"""Texts with fewer words must be found literally."""
ENOUGH = 8
"""Words of a section's body that make a text a passage of it; of a shorter body, half."""
_COMMON = 200
"""A word run in more documents than this does not show which of them is meant."""
_WORD = re.compile(r"[^\W_]+")

Words = Sequence[str]


class _Section(NamedTuple):
    heading_path: str
    start: int
    """The position of its first word under the heading, in the words of the document."""
    end: int


class CorpusText:
    """The documents of a dataset, searchable by passage."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._notes = {document.rel_path or document.id: _Note(document) for document in documents}
        self._places: dict[tuple[str, str | None], tuple[Spot, ...]] = {}

    @property
    def paths(self) -> Collection[str]:
        """Every file."""
        return self._notes.keys()

    def headings(self, rel_path: str) -> list[str]:
        """The heading paths of one file, in order."""
        return self._notes[rel_path].headings

    def locate(self, text: str, rel_path: str | None) -> tuple[Spot, ...]:
        """Every section that contains a text; the named file is searched first."""
        key = (text, rel_path)
        if key not in self._places:
            self._places[key] = tuple(dict.fromkeys(self._locate(words_of(text), rel_path)))
        return self._places[key]

    def is_foreign(self, text: str) -> bool:
        """Whether a text shares next to nothing with any document; False for short texts, where it is not known."""
        words = words_of(text)
        if len(words) < SHORT_TEXT:
            return False
        runs = set(_runs(words))
        return max(self._count_holders(runs).values(), default=0) < FOREIGN * len(runs)

    def _locate(self, words: Words, rel_path: str | None) -> Iterator[Spot]:
        if not words:
            return
        named = [] if rel_path is None else list(self._notes[rel_path].sections_with(words))
        if named:
            yield from (Spot(str(rel_path), heading) for heading in named)
            return
        for other in self._best(words):
            yield from (Spot(other, heading) for heading in self._notes[other].sections_with(words))

    def _best(self, words: Words) -> list[str]:
        """The files with the most of a text's runs; several where they have equally many."""
        runs = set(_runs(words))
        shared = self._count_holders(runs)
        most = max(shared.values(), default=0)
        least = len(runs) if len(words) < SHORT_TEXT else ALIKE * len(runs)
        return [path for path, count in shared.items() if count == most] if runs and most >= least else []

    def _count_holders(self, runs: set[int]) -> Counter[str]:
        holders = [self._index.get(run, []) for run in runs]
        telling = [found for found in holders if len(found) <= _COMMON]
        # A text that only has what everybody has is looked for all the same: it may be a licence in 300 files.
        return Counter(path for found in (telling if any(telling) else holders) for path in found)

    @cached_property
    def _index(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for path, note in self._notes.items():
            for run in note.places:
                found.setdefault(run, []).append(path)
        return found


class _Note:
    """One document as words, with where its sections begin."""

    def __init__(self, document: Document) -> None:
        self._document = document

    @cached_property
    def headings(self) -> list[str]:
        return list(dict.fromkeys(section.heading_path for section in self._divided[1]))

    @cached_property
    def _divided(self) -> tuple[list[str], list[_Section]]:
        words: list[str] = []
        found: list[_Section] = []
        one = self._document
        for section in document_sections(one.text, rel_path=one.rel_path or one.id, format=one.format):
            words += words_of(section.text[: section.opening])
            start = len(words)
            words += words_of(section.text[section.opening :])
            found.append(_Section(section.heading_path, start, len(words)))
        return words, found

    @cached_property
    def _joined(self) -> str:
        return f" {' '.join(self._divided[0])} "

    @cached_property
    def places(self) -> dict[int, list[int]]:
        """Where each run of three words begins."""
        found: dict[int, list[int]] = {}
        for place, run in enumerate(_runs(self._divided[0])):
            found.setdefault(run, []).append(place)
        return found

    def sections_with(self, words: Words) -> list[str]:
        """The heading paths of the sections that contain a text."""
        exact = [self._sections_covered(start, start + len(words)) for start in self._exact(words)]
        if exact:
            return [heading for headings in exact for heading in headings]
        return self._alike(words) if len(words) >= SHORT_TEXT else []

    def _exact(self, words: Words) -> Iterator[int]:
        wanted = f" {' '.join(words)} "
        at, place, counted = self._joined.find(wanted), 0, 0
        while at >= 0:
            place += self._joined.count(" ", counted, at)
            counted = at
            yield place
            at = self._joined.find(wanted, at + 1)

    def _sections_covered(self, start: int, end: int) -> list[str]:
        return [
            section.heading_path
            for section in self._divided[1]
            if _covers(min(end, section.end) - max(start, section.start), section, end - start)
        ]

    def _alike(self, words: Words) -> list[str]:
        """The sections that have enough of a text's runs.

        Each run counts for one section, that which has most of the text: a phrase that every section has does not make
        the text a passage of all of them.
        """
        runs = list(_runs(words))
        if sum(run in self.places for run in runs) < ALIKE * len(runs):
            return []
        found = [self._sections_of(run) for run in runs]
        totals = Counter(section for sections in found for section in sections)
        counted = Counter(max(sections, key=lambda item: (totals[item], -item)) for sections in found if sections)
        divided = self._divided[1]
        return [
            divided[place].heading_path
            for place, count in sorted(counted.items())
            if _covers(count + RUN - 1, divided[place], len(words))
        ]

    def _sections_of(self, run: int) -> set[int]:
        """The sections in whose body a run begins."""
        found = set()
        for place in self.places.get(run, ()):
            number = self._section_at(place)
            if number is not None:
                found.add(number)
        return found

    def _section_at(self, place: int) -> int | None:
        at = bisect_right(self._starts, place) - 1
        return at if at >= 0 and place < self._divided[1][at].end else None

    @cached_property
    def _starts(self) -> list[int]:
        return [section.start for section in self._divided[1]]


def _covers(words: int, section: _Section, length: int) -> bool:
    """Whether a text of this length has enough words of a section to be a passage of it."""
    body = section.end - section.start
    return words > 0 and (words >= ENOUGH or 2 * words >= body or 2 * words >= length)


def words_of(text: str) -> list[str]:
    """The words of a text: no case, punctuation or markup."""
    return _WORD.findall(text.casefold())


def _runs(words: Words) -> Iterator[int]:
    return (hash(run) for run in zip(*(words[start:] for start in range(RUN)), strict=False))


# --- Which file of the dataset a system's path means ---

_CHUNK_NAME = re.compile(r"(?:::?chunk[:_-]?|::|#).*\Z")
"""What chunkers append to the path of a document: `faq.md#3`, `faq.md::12`, `faq.md:chunk:0`."""


class Paths:
    """The files of a dataset."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = frozenset(known)
        self._ending: dict[str, list[str]] = {}
        for path in sorted(self._known):
            for ending in _endings(path):
                self._ending.setdefault(ending, []).append(path)

    def find(self, given: str) -> str | None:
        """The file that is meant; None: it is not known, or it could be several."""
        if given in self._known:
            return given
        spelt = given.replace("\\", "/").removeprefix("file://").strip("/")
        whole = self._below_another_root(PurePosixPath(spelt).as_posix())
        return whole or self._below_another_root(_CHUNK_NAME.sub("", spelt))

    def _below_another_root(self, given: str) -> str | None:
        """Either path may be longer. A bare file name counts only where one file alone has it."""
        shorter = self._ending.get(given, [])
        if len(shorter) == 1:
            return shorter[0]
        for ending in _endings(given):
            is_bare = "/" not in ending
            if ending in self._known and not (is_bare and len(self._ending[ending]) > 1):
                return ending
        return None


def _endings(path: str) -> Iterator[str]:
    """The path, then without its first folder, and so on to the file's name."""
    parts = path.split("/")
    for start in range(len(parts)):
        yield "/".join(parts[start:])


# --- The sections in which each result lies ---

PLACING = 1
"""Raised when results would be placed otherwise: a part of the instrument of anchored runs."""
ALIKE_SPELT = 0.5
"""From this share of results on whose file the dataset has as it is spelt, the other files are other files."""
SNIPPET = 4
"""The fewest words of a snippet that place a text; "yes" is in every text."""


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
        self._copies = _find_copied_paths(dataset)
        self._by_id = {document.id: document.rel_path or document.id for document in dataset.documents}
        self._paths = Paths({*self._corpus.paths, *gold})
        known = {*self._by_id, *self._corpus.paths, *gold}
        given = [chunk.rel_path for result in results if result.retrieved for chunk in _passages_of(result.retrieved)]
        alike = sum(path in known for path in given) >= ALIKE_SPELT * len(given) > 0
        self._unknown_is_elsewhere = alike or not dataset.documents

    def place(self, case: Case, retrieved: Retrieved) -> Retrieved:
        """What was given for a case, placed. A result that is only an id is a passage somewhere in that document."""
        supports = case.anchors.supports if case.anchors is not None else ()
        answer = retrieved.answer
        if answer is not None and answer.references:
            answer = replace(answer, references=self._each(answer.references, supports))
        return replace(retrieved, passages=self._each(_passages_of(retrieved), supports), answer=answer)

    def _each(self, chunks: Iterable[RetrievedChunk], supports: Sequence[GoldSupport]) -> tuple[PlacedChunk, ...]:
        return tuple(self._place_chunk(chunk, supports) for chunk in chunks)

    def _place_chunk(self, chunk: RetrievedChunk, supports: Sequence[GoldSupport]) -> PlacedChunk:
        path = self._by_id.get(chunk.rel_path) or self._paths.find(chunk.rel_path)
        spots = self._by_text(chunk, path) or self._by_heading(chunk, path) or _by_snippet(chunk, supports)
        if spots:
            return _make_placed(chunk, self._with_copies(spots))
        if path is not None:
            # An anchor to the whole file is met wherever in the file the passage stands.
            return _make_placed(chunk, (Spot(path, ""),), open_in=path)
        elsewhere = self._unknown_is_elsewhere or self._corpus.is_foreign(chunk.text)
        return _make_placed(chunk, (), open_in=None if elsewhere else "")

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


def _find_copied_paths(dataset: Dataset) -> dict[str, tuple[str, ...]]:
    """Files that have copies, each with all of them."""
    path_of = {document.id: document.rel_path or document.id for document in dataset.documents}
    return {path_of[name]: tuple(sorted(path_of[copy] for copy in group)) for name, group in copies_in(dataset).items()}


def _passages_of(retrieved: Retrieved) -> Sequence[RetrievedChunk]:
    """The passages; of a system that gives ids alone, one for each."""
    return retrieved.passages or [RetrievedChunk(rel_path=identifier) for identifier in retrieved.ids]


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


def _make_placed(chunk: RetrievedChunk, spots: tuple[Spot, ...], open_in: str | None = None) -> PlacedChunk:
    return PlacedChunk(
        rel_path=chunk.rel_path,
        heading_path=chunk.heading_path,
        text=chunk.text,
        chunk_id=chunk.chunk_id,
        spots=spots,
        open_in=open_in,
    )


# --- Runs whose results cannot be located ---
#
# A case whose value hangs on results that could not be placed has no value (`metrics.anchors`). A few such cases are
# left out, and counted. When they are more than `MOST_UNDECIDED` of the cases that could have a value, the rest is no
# fair sample of the dataset any more: no number is given at all.

MOST_UNDECIDED = 0.05
"""The share of a metric's cases that may hang on unplaced results; as many as a gate allows to be unjudgeable."""
_REMEDY = "Return the text of each result, or its rel_path with its heading_path as the dataset spells them, such as"


class Unplaced(NamedTuple):
    """What could not be placed in a run."""

    metrics: tuple[str, ...]
    """Every metric with undecided cases, the one with the most of them first."""
    cases: int
    of: int
    """Cases that have a value or would have one."""
    results: int
    results_of: int
    low: float
    """The mean if every undecided case were a miss."""
    high: float

    @property
    def is_too_much(self) -> bool:
        """Whether too few cases are left for a value."""
        return self.cases > MOST_UNDECIDED * self.of

    def __str__(self) -> str:
        return (
            f"{self.results:,} of {self.results_of:,} results cannot be placed in the dataset's documents, so "
            f"{self.cases:,} of {self.of:,} cases are undecided: {self.metrics[0]} is between {self.low:.3f} and "
            f"{self.high:.3f}"
        )


def find_unplaced(results: Iterable[CaseResult], scores: Mapping[MetricSpec, Mapping[str, Outcome]]) -> Unplaced | None:
    """What could not be placed, by the metric that it hurts most; None: every value is decided."""
    hurt = [found for spec, per_case in scores.items() if (found := _count_undecided(str(spec), per_case)) is not None]
    if not hurt:
        return None
    hurt.sort(key=lambda item: -item[1] / item[2])
    _, cases, of, total = hurt[0]
    chunks = _chunks(results)
    return Unplaced(
        metrics=tuple(metric for metric, *_ in hurt),
        cases=cases,
        of=of,
        results=sum(chunk.open_in is not None for chunk in chunks),
        results_of=len(chunks),
        low=total / of,
        high=(total + cases) / of,
    )


def placement_caveat(found: Unplaced) -> Caveat:
    """Say what could not be placed beside the values of the cases that could."""
    sentence = f"{found}. Those cases are left out of the means"
    return Caveat(
        kind=CaveatKind.PLACEMENT,
        sentence=f"{sentence}, and too many to trust these metrics." if found.is_too_much else f"{sentence}.",
        metrics=found.metrics,
        count=found.cases,
        of=found.of,
        figures={"results": found.results, "results_of": found.results_of, "worst": found.low, "best": found.high},
    )


def _count_undecided(metric: str, per_case: Mapping[str, Outcome]) -> tuple[str, int, int, float] | None:
    if not any(map(is_unplaced, distinct_outcomes(per_case))):
        return None
    values = [outcome.value for outcome in per_case.values() if outcome.value is not None]
    cases = sum(map(is_unplaced, per_case.values()))
    return (metric, cases, cases + len(values), sum(values))


def refuse_undecided(name: str, dataset: Dataset, results: Iterable[CaseResult], found: Unplaced | None) -> None:
    """Raise `NothingMeasured` for a run of which too much could not be placed, or nothing is the dataset's."""
    chunks = _chunks(results)
    if chunks and not any(chunk.spots or chunk.open_in for chunk in chunks):
        raise NothingMeasured(
            f"no result that {name} returned is from the documents of {dataset.name}",
            remedy=f"It returned {_describe_chunk(chunks[0])}. {_REMEDY} {_example(dataset)}.",
        )
    if found is not None and found.is_too_much:
        first = next(chunk for chunk in chunks if chunk.open_in is not None)
        raise NothingMeasured(
            f"{name} is undecided on {dataset.name}: {found}",
            remedy=f"The first that cannot be placed is {_describe_chunk(first)}. {_REMEDY} {_example(dataset)}.",
        )


def _chunks(results: Iterable[CaseResult]) -> list[PlacedChunk]:
    given = [result.retrieved for result in results if result.retrieved is not None]
    return [chunk for retrieved in given for chunk in retrieved.passages if isinstance(chunk, PlacedChunk)]


def _describe_chunk(chunk: PlacedChunk) -> str:
    heading = f" > {chunk.heading_path}" if chunk.heading_path else ""
    return f"{chunk.rel_path + heading!r} {'with a text that is not in it' if chunk.text else 'without a text'}"


def _example(dataset: Dataset) -> str:
    supports = (support for case in dataset.cases if case.anchors for support in case.anchors.supports)
    first = next(supports)
    return f"{first.rel_path!r}{f' with {first.heading_path!r}' if first.heading_path else ''}"
