"""Whether gold anchors still lead somewhere, and where those that do not may have moved.

- Where the words of a section are today.
- Resolving and relocating anchors.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from assay.formats.anchored import read_notes
from assay.records.heading_path import SEPARATOR, lies_under
from assay.text.sections import document_sections

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from assay.records.answers import GoldSupport
    from assay.records.datasets import Case, Dataset, Document
    from assay.text.sections import Section

# --- Where the words of a section are today ---
#
# Two sections are alike by the share of three-word runs they have in common, headings left out. Two things keep a lost
# section from being found in the wrong place. A file is followed as a whole: whatever most of it went into is its
# counterpart. And a section that its own file's past explains is nobody else's: boilerplate that stands in fifty files
# stood there before.

ALIKE = 0.5
"""From this share of common runs on, a section is taken for another one as it was."""
ALIKE_AT_HOME = 0.25
"""The same in the file that its file became: few sections are there to take it for."""
_RUN = 3
_WORD = re.compile(r"\w+")

Runs = frozenset[int]


class Worded(NamedTuple):
    """One section: its place, and its words without the heading."""

    rel_path: str
    heading_path: str
    words: str
    bare: bool = False
    """Whether the words are those of the sections below it. Such a section is like others of its kind alone."""


class Likeness(NamedTuple):
    """A section of today that has the words of an earlier one."""

    rel_path: str
    heading_path: str
    share: float
    in_counterpart: bool
    """Whether it is in the file that the earlier section's file became."""


class SectionWording:
    """Sections as they were and as they are."""

    def __init__(self, before: Iterable[Worded], now: Iterable[Worded]) -> None:
        self._before = _Side(before)
        self._now = _Side(now)

    def knows(self, rel_path: str, heading_path: str) -> bool:
        """Whether the notes as they were have such a section, with words in it."""
        place = self._before.places.get((rel_path, heading_path))
        return place is not None and bool(self._before.runs[place])

    def counterpart(self, rel_path: str) -> str | None:
        """The file of today that holds most of an earlier one's words."""
        return self._became.get(rel_path)

    def now_at(self, rel_path: str, heading_path: str) -> list[Likeness]:
        """Sections of today with the words of an earlier one, most alike first."""
        place = self._before.places.get((rel_path, heading_path))
        if place is None:
            return []
        found = [
            Likeness(*self._now.names[at], share, self._became.get(rel_path) == self._now.names[at][0])
            for at, share in self._now.alike(self._before.runs[place])
            if self._near_enough(at, rel_path, share) and self._now.bare[at] == self._before.bare[place]
        ]
        return sorted(found, key=lambda item: (-item.share, not item.in_counterpart, item.rel_path, item.heading_path))

    def _near_enough(self, at: int, rel_path: str, share: float) -> bool:
        """Similar, and not explained by what was in its own file before."""
        was = self._was.get(self._now.names[at][0])
        if was == rel_path:
            return True
        return share >= ALIKE and not (was is not None and self._was_there_before(at, was, share))

    def _was_there_before(self, at: int, was: str, share: float) -> bool:
        """Whether a section of today was, in its own file's past, already what it is."""
        return any(
            self._before.names[place][0] == was and past >= share
            for place, past in self._before.alike(self._now.runs[at])
        )

    @cached_property
    def _became(self) -> dict[str, str]:
        return {old: new for new, old in self._was.items()}

    @cached_property
    def _was(self) -> dict[str, str]:
        """Today's files with the earlier file each is; a file of the same path that shares words comes first."""
        shared = Counter(self._count_shared_runs())
        pairs = sorted(shared, key=lambda pair: (pair[0] != pair[1], -shared[pair], pair))
        found: dict[str, str] = {}
        taken: set[str] = set()
        for old, new in pairs:
            if old not in taken and new not in found:
                found[new] = old
                taken.add(old)
        return found

    def _count_shared_runs(self) -> dict[tuple[str, str], float]:
        """How many word runs two files share; a run that is in many files counts little."""
        found: dict[tuple[str, str], float] = defaultdict(float)
        for run, places in self._before.index.items():
            there = {self._now.names[at][0] for at in self._now.index.get(run, ())}
            here = {self._before.names[at][0] for at in places}
            for old in here if len(here) * len(there) <= _COMMON else ():
                for new in there:
                    found[old, new] += 1.0 / (len(here) * len(there))
        return found


_COMMON = 100


class _Side:
    """The sections of one time, and which of them have a run of words."""

    def __init__(self, sections: Iterable[Worded]) -> None:
        each = list(sections)
        self.names = [(section.rel_path, section.heading_path) for section in each]
        self.runs = [runs_of(section.words) for section in each]
        self.bare = [section.bare for section in each]
        self.places = {name: at for at, name in reversed(list(enumerate(self.names)))}

    @cached_property
    def index(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for at, runs in enumerate(self.runs):
            for run in runs:
                found[run].append(at)
        return found

    def alike(self, runs: Runs) -> Iterator[tuple[int, float]]:
        """Sections that share enough runs, with the share."""
        common = Counter(at for run in runs for at in self.index.get(run, ()))
        for at, count in common.items():
            share = count / (len(runs) + len(self.runs[at]) - count)
            if share >= ALIKE_AT_HOME:
                yield at, share


def runs_of(words: str) -> Runs:
    """Every three words that follow each other; of a shorter text the words themselves."""
    each = _WORD.findall(words.casefold())
    if len(each) < _RUN:
        return frozenset(hash(run) for run in each)
    return frozenset(hash(run) for run in zip(*(each[start:] for start in range(_RUN)), strict=False))


# --- Resolving and relocating anchors ---
#
# An anchor resolves when its file is there and some section lies under its heading path. One that does not gets
# proposals: the section with the words it led to, where the notes as they were are known; the section that holds one
# of its snippets; the same heading elsewhere; the heading most like it. A proposal is clear when nothing else comes
# near it; only clear ones are applied without a person. Where it is known what an anchor led to, by the notes as they
# were or by its snippets, a heading alone makes nothing clear: a section whose words are gone was removed or written
# anew, and which of the two nobody can tell from a heading.

LIKE = 0.6
"""How alike two headings are at least for one to be proposed for the other."""
LAST_LIKE = 0.65
"""The same for the last heading of a path alone."""
SAME = 0.9
"""How alike the same last heading under others is."""
CLEAR = 0.1
"""How much better the best proposal is than the next to be applied without a person."""
MOST_PROPOSALS = 3


class NoteSection(NamedTuple):
    """One section of one note."""

    rel_path: str
    heading_path: str
    text: str
    """White space made even."""
    words: str = ""
    """The text under the heading; where there is none, the text under its subheadings."""
    bare: bool = False
    """Whether there is no text directly under the heading."""

    def __str__(self) -> str:
        return f"{self.rel_path}{f' > {self.heading_path}' if self.heading_path else ''}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Relocation:
    """Where an anchor may have gone."""

    rel_path: str
    heading_path: str
    reason: str
    score: float
    by_words: bool = True
    """Whether the proposal rests on the section's text, not on its heading or file alone."""
    sure: bool = True
    """Whether it may be applied where nothing else comes near it."""

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
        if not self.proposals or not self.proposals[0].sure:
            return None
        best, *others = self.proposals
        return best if not others or best.score - others[0].score >= CLEAR else None


class Notes:
    """The sections of every note that anchors may name; `before` are those of the notes as they were."""

    def __init__(self, documents: Sequence[Document], before: Notes | None = None) -> None:
        self._documents = {document.rel_path or document.id: document for document in documents}
        self._read: dict[str, list[NoteSection]] = {}
        self._before = before

    def __contains__(self, rel_path: object) -> bool:
        return rel_path in self._documents

    def of(self, rel_path: str) -> list[NoteSection]:
        """The sections of one note."""
        if rel_path not in self._read:
            self._read[rel_path] = _places(rel_path, self._documents[rel_path])
        return self._read[rel_path]

    @cached_property
    def all(self) -> list[NoteSection]:
        """Every section there is."""
        return [place for rel_path in self._documents for place in self.of(rel_path)]

    @cached_property
    def wording(self) -> SectionWording | None:
        """What became of the words of the notes as they were; None where those are not known."""
        return None if self._before is None else SectionWording(_word_sections(self._before), _word_sections(self))


def notes_of(dataset: Dataset, corpus_root: Path | None = None) -> Notes:
    """The notes a dataset's anchors are about: those under a folder, or its own documents.

    With a folder, its own documents are the notes as they were when the anchors were written.
    """
    if corpus_root is None:
        return Notes(dataset.documents)
    return Notes(tuple(read_notes(corpus_root)), Notes(dataset.documents) if dataset.documents else None)


def find_unresolved_anchors(dataset: Dataset, notes: Notes) -> Iterator[Unresolved]:
    """Every support that does not hold, with proposals."""
    for case in dataset.cases:
        for position in range(len(case.anchors.supports) if case.anchors else 0):
            found = _check_support(case, position, notes)
            if found is not None:
                yield found


def _check_support(case: Case, position: int, notes: Notes) -> Unresolved | None:
    support = case.anchors.supports[position] if case.anchors else None
    problem, blocks = ("", False) if support is None else _problem(support, notes)
    if support is None or not problem:
        return None
    alike = _Alike.of(support, notes)
    proposals = tuple(_proposals(support, notes, alike))
    if not blocks:
        # The place is still there: only the words themselves say where it should lead instead.
        proposals = tuple(proposal for proposal in proposals if proposal.by_words)
    return Unresolved(
        case_id=case.id,
        support=position,
        problem=problem,
        blocks_scoring=blocks,
        proposals=proposals[:MOST_PROPOSALS],
    )


def _problem(support: GoldSupport, notes: Notes) -> tuple[str, bool]:
    if support.rel_path not in notes:
        return f"there is no file {support.rel_path!r}", True
    under = [place for place in notes.of(support.rel_path) if lies_under(place.heading_path, support.heading_path)]
    if support.heading_path and not under:
        return f"{support.rel_path} has no heading {support.heading_path!r}", True
    if support.snippets and not any(_holds(place, support) for place in under):
        where = f"{support.rel_path}{f' > {support.heading_path}' if support.heading_path else ''}"
        return f"none of its snippets stands in {where}", False
    return "", False


class _Alike(NamedTuple):
    """What the words that an anchor led to say of today's sections."""

    known: bool
    shares: Mapping[tuple[str, str], float]
    counterpart: str | None
    """The file that its file became."""

    @classmethod
    def of(cls, support: GoldSupport, notes: Notes) -> _Alike:
        """Nothing, where the notes as they were are not known."""
        wording = notes.wording
        if wording is None:
            return cls(False, {}, None)
        found = wording.now_at(support.rel_path, support.heading_path) if support.heading_path else []
        shares = {(match.rel_path, match.heading_path): match.share for match in reversed(found)}
        counterpart = wording.counterpart(support.rel_path)
        known = (
            wording.knows(support.rel_path, support.heading_path) if support.heading_path else counterpart is not None
        )
        return cls(known, shares, counterpart)


def _proposals(support: GoldSupport, notes: Notes, alike: _Alike) -> list[Relocation]:
    """One proposal for each section that qualifies, best first."""
    found: dict[tuple[str, str], Relocation] = {}
    for proposal in (_propose_section(support, place, alike) for place in notes.all):
        if proposal is not None:
            best = found.get((proposal.rel_path, proposal.heading_path))
            found[proposal.rel_path, proposal.heading_path] = (
                proposal if best is None or proposal.score > best.score else best
            )
    return sorted(found.values(), key=lambda item: (-item.score, item.rel_path, item.heading_path))


def _propose_section(support: GoldSupport, place: NoteSection, alike: _Alike) -> Relocation | None:
    """Propose a section by its text first, then its heading, then its file; None where nothing fits."""
    snippet = _holds(place, support)
    became = not support.heading_path and place.rel_path == alike.counterpart
    share = 1.0 if became else alike.shares.get((place.rel_path, place.heading_path), 0.0)
    same_file = place.rel_path in {support.rel_path, alike.counterpart}
    same_name = _name(place.rel_path) == _name(support.rel_path)
    near = same_file or same_name
    likeness, reason = _likeness(support, place, near_file=near)
    if not snippet and not share and likeness < LIKE:
        return None
    score = 3.0 * share + 2.0 * snippet + likeness + 0.3 * same_file + 0.2 * same_name
    said = "its file went there" if became else "its words stand there" if share else ""
    return Relocation(
        rel_path=place.rel_path,
        heading_path=_heading(support, place, snippet=snippet and not share),
        reason=said or ("its snippet stands there" if snippet else reason),
        score=round(score, 6),
        by_words=bool(share or snippet),
        sure=bool(share) or _sure_without(support, place, alike, snippet=snippet, same=near and likeness >= SAME),
    )


def _sure_without(support: GoldSupport, place: NoteSection, alike: _Alike, *, snippet: bool, same: bool) -> bool:
    """Whether less than the words an anchor led to is enough.

    Where those are known and gone, a snippet in another file is a different sentence. Where nothing is known, the
    same heading in its own file, or the whole path of several elsewhere, is the best there can be; a heading that is
    only like it never is.
    """
    if snippet:
        return not alike.known or place.rel_path in {support.rel_path, alike.counterpart}
    elsewhere = SEPARATOR in support.heading_path and place.heading_path == support.heading_path
    return not alike.known and not support.snippets and (same or elsewhere)


def _heading(support: GoldSupport, place: NoteSection, *, snippet: bool) -> str:
    """Where in the file: an anchor to a whole file stays one, and a snippet may stand below the section it is for."""
    if not support.heading_path:
        return ""
    depth = len(support.heading_path.split(SEPARATOR)) if snippet else None
    return SEPARATOR.join(place.heading_path.split(SEPARATOR)[:depth])


def _likeness(support: GoldSupport, place: NoteSection, *, near_file: bool) -> tuple[float, str]:
    """How alike the headings are; one that is only like it counts in a file that may be its own, and nowhere else."""
    if not support.heading_path:
        same = _name(place.rel_path) == _name(support.rel_path)
        return (1.0 if same else 0.0), "a file of the same name"
    if place.heading_path == support.heading_path:
        return 1.0, "the same heading path"
    if _last(place.heading_path) == _last(support.heading_path):
        return SAME, "the same heading"
    return (
        _heading_similarity(support.heading_path, place.heading_path) if near_file else 0.0
    ), "the heading most like it"


def _heading_similarity(text: str, other: str) -> float:
    """How alike two heading paths are; 0 where what they share is the headings above them."""
    whole = difflib.SequenceMatcher(None, text.casefold(), other.casefold())
    if whole.real_quick_ratio() < LIKE or whole.quick_ratio() < LIKE or whole.ratio() < LIKE / 0.8:
        return 0.0
    last = difflib.SequenceMatcher(None, _last(text), _last(other))
    return 0.8 * whole.ratio() if last.ratio() >= LAST_LIKE else 0.0


def _name(rel_path: str) -> str:
    return rel_path.rsplit("/", 1)[-1]


def _last(path: str) -> str:
    return path.rsplit(SEPARATOR, 1)[-1].casefold()


def _holds(place: NoteSection, support: GoldSupport) -> bool:
    return any(snippet in place.text for snippet in _even(support.snippets))


@lru_cache(maxsize=1024)
def _even(snippets: tuple[str, ...]) -> tuple[str, ...]:
    """White space made even, as in a place's text."""
    return tuple(" ".join(snippet.split()) for snippet in snippets)


def _places(rel_path: str, document: Document) -> list[NoteSection]:
    found = document_sections(document.text, rel_path=rel_path, format=document.format)
    made = [
        NoteSection(rel_path, chunk.heading_path, " ".join(chunk.text.split()), _words(chunk, found), chunk.is_bare)
        for chunk in found
    ]
    return made or [NoteSection(rel_path, "", "")]


def _words(section: Section, found: Sequence[Section]) -> str:
    if not section.is_bare:
        return section.text[section.opening :]
    below = [other for other in found if other is not section and lies_under(other.heading_path, section.heading_path)]
    return " ".join(other.text[other.opening :] for other in below) if section.heading_path else ""


def _word_sections(notes: Notes) -> Iterator[Worded]:
    return (Worded(place.rel_path, place.heading_path, place.words, place.bare) for place in notes.all)
