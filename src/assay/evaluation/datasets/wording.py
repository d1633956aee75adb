"""Where the words of a section stand today: the notes as they were, held against the notes as they are.

Two sections are alike by the share of three-word runs they have in common, headings left out. Two things keep a lost
section from being found in the wrong place. A file is followed as a whole: whatever most of it went into is its
counterpart. And a section that its own file's past explains is nobody else's: boilerplate that stands in fifty files
stood there before.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

ALIKE = 0.5
"""From this share of common runs on, a section is taken for another one as it was."""
ALIKE_AT_HOME = 0.25
"""The same in the file that its file became: few sections are there to take it for."""
_RUN = 3
_WORD = re.compile(r"\w+")

Runs = frozenset[int]


class Worded(NamedTuple):
    """One section: where it stands, and its words without the heading."""

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
    """Whether it stands in the file that the earlier section's file became."""


class Wording:
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
        return sorted(found, key=lambda one: (-one.share, not one.in_counterpart, one.rel_path, one.heading_path))

    def _near_enough(self, at: int, rel_path: str, share: float) -> bool:
        """Alike, and not explained by what stood in its own file before."""
        was = self._was.get(self._now.names[at][0])
        if was == rel_path:
            return True
        return share >= ALIKE and not (was is not None and self._explained(at, was, share))

    def _explained(self, at: int, was: str, share: float) -> bool:
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
        shared = Counter(self._shared())
        pairs = sorted(shared, key=lambda pair: (pair[0] != pair[1], -shared[pair], pair))
        found: dict[str, str] = {}
        taken: set[str] = set()
        for old, new in pairs:
            if old not in taken and new not in found:
                found[new] = old
                taken.add(old)
        return found

    def _shared(self) -> dict[tuple[str, str], float]:
        """How many runs two files have in common; one that stands in many files counts little."""
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
        self.names = [(one.rel_path, one.heading_path) for one in each]
        self.runs = [runs_of(one.words) for one in each]
        self.bare = [one.bare for one in each]
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
        return frozenset(hash(one) for one in each)
    return frozenset(hash(run) for run in zip(*(each[start:] for start in range(_RUN)), strict=False))
