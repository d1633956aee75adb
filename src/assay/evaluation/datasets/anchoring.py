"""Whether gold anchors still lead somewhere, and where those that do not may have gone.

An anchor resolves when its file is there and some section lies under its heading path. One that does not gets
proposals: the section that holds one of its snippets, the same heading elsewhere, the heading most like it. A proposal
is clear when nothing else comes near it; only clear ones are applied without a person.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from assay.formats.anchored import read_notes
from assay.records.anchors import GoldSupport
from assay.records.datasets import Case, Dataset, Document
from assay.records.heading_path import SEPARATOR, lies_under
from assay.records.memory import Format
from assay.text.markdown import sections

LIKE = 0.6
"""How alike two headings are at least for one to be proposed for the other."""
CLEAR = 0.1
"""How much better the best proposal is than the next to be applied without a person."""
MOST_PROPOSALS = 3


class Place(NamedTuple):
    """One section of one note."""

    rel_path: str
    heading_path: str
    text: str
    """White space made even."""

    def __str__(self) -> str:
        return f"{self.rel_path}{f' > {self.heading_path}' if self.heading_path else ''}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Relocation:
    """Where an anchor may have gone."""

    rel_path: str
    heading_path: str
    reason: str
    score: float

    def __str__(self) -> str:
        return f"{self.rel_path}{f' > {self.heading_path}' if self.heading_path else ''} ({self.reason})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unresolved:
    """One support that leads nowhere, or whose words have gone from where it leads."""

    case_id: str
    support: int
    """Its position in the case."""
    problem: str
    blocks_scoring: bool
    """False where only the snippet is gone: the place itself is still there."""
    proposals: tuple[Relocation, ...]
    """Best first."""

    @property
    def clear(self) -> Relocation | None:
        """The one proposal that nothing else comes near."""
        if not self.proposals:
            return None
        best, *others = self.proposals
        return best if not others or best.score - others[0].score >= CLEAR else None


class Notes:
    """The sections of every note that anchors may name."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = {one.rel_path or one.id: one for one in documents}
        self._read: dict[str, list[Place]] = {}

    def __contains__(self, rel_path: object) -> bool:
        return rel_path in self._documents

    def of(self, rel_path: str) -> list[Place]:
        """The sections of one note."""
        if rel_path not in self._read:
            self._read[rel_path] = _places(rel_path, self._documents[rel_path])
        return self._read[rel_path]

    @cached_property
    def all(self) -> list[Place]:
        """Every section there is."""
        return [place for rel_path in self._documents for place in self.of(rel_path)]


def notes_of(dataset: Dataset, corpus_root: Path | None = None) -> Notes:
    """The notes a dataset's anchors are about: those under a folder, or its own documents."""
    return Notes(tuple(read_notes(corpus_root)) if corpus_root is not None else dataset.documents)


def unresolved_anchors(dataset: Dataset, notes: Notes) -> Iterator[Unresolved]:
    """Every support that does not hold, with proposals."""
    for case in dataset.cases:
        for position in range(len(case.anchors.supports) if case.anchors else 0):
            found = _unresolved(case, position, notes)
            if found is not None:
                yield found


def _unresolved(case: Case, position: int, notes: Notes) -> Unresolved | None:
    support = case.anchors.supports[position] if case.anchors else None
    problem, blocks = ("", False) if support is None else _problem(support, notes)
    if support is None or not problem:
        return None
    proposals = tuple(_proposals(support, notes))
    if not blocks:
        # The place is still there: only the words themselves say where it should lead instead.
        proposals = tuple(one for one in proposals if one.reason == _BY_SNIPPET)
    return Unresolved(
        case_id=case.id, support=position, problem=problem, blocks_scoring=blocks, proposals=proposals[:MOST_PROPOSALS]
    )


def _problem(support: GoldSupport, notes: Notes) -> tuple[str, bool]:
    if support.rel_path not in notes:
        return f"there is no file {support.rel_path!r}", True
    under = [one for one in notes.of(support.rel_path) if lies_under(one.heading_path, support.heading_path)]
    if support.heading_path and not under:
        return f"{support.rel_path} has no heading {support.heading_path!r}", True
    if support.snippets and not any(_holds(one, support) for one in under):
        where = f"{support.rel_path}{f' > {support.heading_path}' if support.heading_path else ''}"
        return f"none of its snippets stands in {where}", False
    return "", False


_BY_SNIPPET = "its snippet stands there"


def _proposals(support: GoldSupport, notes: Notes) -> list[Relocation]:
    """One for each section that speaks for itself, best first."""
    found: Mapping[tuple[str, str], Relocation] = {
        (one.rel_path, one.heading_path): one for one in (_proposed(support, place) for place in notes.all) if one
    }
    return sorted(found.values(), key=lambda one: (-one.score, one.rel_path, one.heading_path))


def _proposed(support: GoldSupport, place: Place) -> Relocation | None:
    """What speaks for a section: its words first, then its heading, then its file."""
    words = _holds(place, support)
    likeness, reason = _likeness(support, place)
    if not words and likeness < LIKE:
        return None
    same_file = place.rel_path == support.rel_path
    same_name = PurePosixPath(place.rel_path).name == PurePosixPath(support.rel_path).name
    score = 2.0 * words + likeness + 0.3 * same_file + 0.2 * same_name
    heading = place.heading_path if support.heading_path or words else ""
    return Relocation(
        rel_path=place.rel_path,
        heading_path=heading,
        reason=_BY_SNIPPET if words else reason,
        score=round(score, 6),
    )


def _likeness(support: GoldSupport, place: Place) -> tuple[float, str]:
    if not support.heading_path:
        same = PurePosixPath(place.rel_path).name == PurePosixPath(support.rel_path).name
        return (1.0 if same else 0.0), "a file of the same name"
    if place.heading_path == support.heading_path:
        return 1.0, "the same heading path"
    if _last(place.heading_path) == _last(support.heading_path):
        return 0.9, "the same heading"
    matcher = difflib.SequenceMatcher(None, support.heading_path.casefold(), place.heading_path.casefold())
    if matcher.real_quick_ratio() < LIKE or matcher.quick_ratio() < LIKE:
        return 0.0, ""
    return 0.8 * matcher.ratio() if matcher.ratio() >= LIKE / 0.8 else 0.0, "the heading most like it"


def _last(path: str) -> str:
    return path.rsplit(SEPARATOR, 1)[-1].casefold()


def _holds(place: Place, support: GoldSupport) -> bool:
    return any(" ".join(snippet.split()) in place.text for snippet in support.snippets)


def _places(rel_path: str, document: Document) -> list[Place]:
    if document.format is not Format.MARKDOWN:
        return [Place(rel_path, "", " ".join(document.text.split()))]
    made = [Place(rel_path, one.heading_path, " ".join(one.text.split())) for one in sections(document.text)]
    return made or [Place(rel_path, "", "")]
