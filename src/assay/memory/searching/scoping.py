"""The folder-choice stage: what a search may look at.

The caller's filters hold always. With `folder_mode` on, a cheap look at the lexical index says in which folders the
query's words stand, and the search is narrowed to them; which were left out is kept, so that a miss can be measured.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.index import Allowed, View
from assay.memory.searching.filtering import Passes, below, passes
from assay.memory.searching.folders import FolderEvidence, FolderPick, choose_folders
from assay.memory.searching.guard import Guard
from assay.memory.searching.query import ParsedQuery
from assay.records import Filters, FolderMode, SearchRequest
from assay.storage import FolderCount, Work

PROBE = 100
"""Passages looked at to choose folders."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """What a search may look at."""

    filters: Filters
    allowed: Allowed | None = None
    """The same for the index; None: everything, or there is no index."""
    chosen: tuple[str, ...] | None = None
    """The folders the search was narrowed to; None: it was not."""
    excluded: tuple[str, ...] = ()
    folders_known: int = 0

    @property
    def passes(self) -> Passes:
        """The test of a row."""
        return passes(self.filters, self.chosen)

    @property
    def folders_searched(self) -> int:
        """How many folders are looked at."""
        return self.folders_known if self.chosen is None else len(self.chosen)


class Scoping:
    """Finds out what a search may look at."""

    def __init__(self, work: Work, view: View | None, parsed: ParsedQuery, guard: Guard) -> None:
        self._work = work
        self._view = view
        self._parsed = parsed
        self._guard = guard

    def widest(self, filters: Filters) -> Reach:
        """All that the filters allow."""
        return Reach(filters=filters, allowed=self._allowed(filters))

    def reach(self, request: SearchRequest) -> Reach:
        """What the request may look at, narrowed where it asks for that."""
        widest = self.widest(request.filters)
        if request.filters.folder is None and request.folder_mode is FolderMode.OFF:
            return widest
        folders = self._work.passages.folders()
        if request.filters.folder is not None:
            self._check_folder(request.filters.folder, folders)
        widest = replace(widest, folders_known=len(folders))
        if request.folder_mode is FolderMode.OFF:
            return widest
        pick = self._guard.run("folder choice", self._work, lambda: self._pick(widest, folders))
        return widest if pick is None else self._narrowed(widest, pick)

    def _check_folder(self, wanted: str, folders: Sequence[FolderCount]) -> None:
        names = [one.folder for one in folders]
        if any(below(name, wanted) for name in names):
            return
        near = difflib.get_close_matches(wanted, [name for name in names if name], n=3, cutoff=0.5)
        hint = f"near names: {', '.join(near)}" if near else "`assay index status` lists them"
        self._guard.note(f"There is no folder {wanted!r} with a current memory, so nothing can be found; {hint}.")

    def _pick(self, widest: Reach, folders: Sequence[FolderCount]) -> FolderPick | None:
        if self._view is None:
            return None
        asked = {stem: float(times) for stem, times in self._parsed.stems.items()}
        probe = {one.number: one.score for one in self._view.lexical(asked, limit=PROBE, allowed=widest.allowed)}
        weights = {one.folder: 0.0 for one in folders}
        for row in self._view.candidates(probe):
            weights[row.memory.folder] = weights.get(row.memory.folder, 0.0) + probe[row.number]
        within = widest.filters.folder
        evidence = [
            FolderEvidence(one.folder, one.memories, weights[one.folder])
            for one in folders
            if within is None or below(one.folder, within)
        ]
        return choose_folders(self._parsed, evidence)

    def _narrowed(self, widest: Reach, pick: FolderPick) -> Reach:
        return replace(
            widest, allowed=self._allowed(widest.filters, pick.chosen), chosen=pick.chosen, excluded=pick.excluded
        )

    def _allowed(self, filters: Filters, chosen: Sequence[str] | None = None) -> Allowed | None:
        """The filters for the index; what it cannot know is asked of the database."""
        view = self._view
        if view is None:
            return None
        numbers = None
        if filters.tags or filters.entity_type is not None or filters.context_type is not None:
            numbers = self._work.passages.numbers_where(
                tags=filters.tags, entity_type=filters.entity_type, context_type=filters.context_type
            )
        if chosen is None:
            return view.allowed(filters, numbers)
        # The root folder has no name of its own to filter by.
        parts = [view.allowed(replace(filters, folder=folder or "/"), numbers) for folder in chosen]
        return _any_of(parts)


def _any_of(parts: Sequence[Allowed | None]) -> Allowed | None:
    """What passes one filter or another."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or not known:
        return None
    base = np.logical_or.reduce([part.base for part in known])
    tail = np.logical_or.reduce([part.tail for part in known])
    return Allowed(base=base, tail=tail, count=int(base.sum()) + int(tail.sum()))
