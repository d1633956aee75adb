"""What a search asks of an index, whoever answers: files on this machine (`indexes`) or PostgreSQL (`database`).

- `AllowedPassages`: the passages that pass a filter.
- `SearchView`: what one search sees.
- `SearchIndexes`: the indexes of all tenants of a store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from assay.index.building import Progress
from assay.index.columns import Whole
from assay.index.options import Folded, IndexStatus, Recall
from assay.index.rows import Rows
from assay.index.scoring import Found, Query
from assay.records import CosineSpread, Filters, LogPosition, Scope
from assay.storage import Authorship, Reached, Stance, Work


class FolderSize(NamedTuple):
    """A folder and its current memories."""

    folder: str
    memories: int


class AllowedPassages(Protocol):
    """The passages that pass a filter, of one view."""

    @property
    def count(self) -> int:
        """How many there are."""
        ...


class SearchView(Protocol):
    """One state of a tenant's index, for one search."""

    @property
    def position(self) -> LogPosition:
        """Up to where the change log is known."""
        ...

    @property
    def model(self) -> str | None:
        """Whose vectors are searched; None when there are none."""
        ...

    @property
    def document_count(self) -> int:
        """How many passages there are."""
        ...

    def rows(self, numbers: Iterable[int]) -> Rows:
        """What ranking needs to know of these passages; deleted numbers are left out."""
        ...

    def first_passages(self, memory_ids: Collection[str]) -> dict[str, int]:
        """The number of the first passage of each of these memories; one without passages is left out."""
        ...

    def words(self, numbers: Sequence[int]) -> dict[int, str]:
        """The analysed words of these passages (`AnalysedPassage.lines`); a number that is gone is left out."""
        ...

    def authors_of(self, memory_ids: Collection[str]) -> dict[str, Authorship]:
        """Who wrote these memories; an id that is not there is absent."""
        ...

    def around(self, memory_ids: Sequence[str], *, hops: int, limit: int) -> list[Reached]:
        """The memories within so many hops of any of these, strongest first (`Edges.around`)."""
        ...

    def stances(self, memory_ids: Sequence[str]) -> list[Stance]:
        """What contradicts or supports one of these memories, or is by it; strongest first, each edge once."""
        ...

    def may_match_triggers(self, runs: Collection[str]) -> bool:
        """Whether one of these runs of words may be a memory's trigger phrase; False: none is."""
        ...

    def may_have_facts(self) -> bool:
        """Whether any memory may state a fact; False: none does."""
        ...

    def may_lead_on(self, subjects: Iterable[str], *, most: int) -> bool:
        """Return False when no fact about these subjects names something that another fact is about.

        Quick, since most questions lead nowhere; True where it would take more than a look at `most` facts to know.
        """
        ...

    def find_contested(self, memory_ids: Sequence[str]) -> set[str]:
        """Those of some memories whose facts are on a topic that another one speaks of, or have ended."""
        ...

    def document_frequency(self, stem: str) -> int:
        """How many passages hold a stem."""
        ...

    def word_frequency(self, word: str) -> int:
        """How many passages hold a word in any of its forms: the frequency of its stem."""
        ...

    def find_allowed(
        self, filters: Filters, memory_numbers: Sequence[int] | Whole | None = None
    ) -> AllowedPassages | None:
        """The passages that pass, or None when all do. Tags and types come as the memories that SQL found."""
        ...

    def find_allowed_only(self, wider: Filters, *, without: Filters) -> AllowedPassages:
        """The passages that pass the first filters and not the second."""
        ...

    def join_allowed(self, parts: Sequence[AllowedPassages | None]) -> AllowedPassages | None:
        """What passes one of these filters of this view; None when one of them lets everything pass."""
        ...

    def lexical(
        self, terms: Mapping[str, float], *, limit: int, allowed: AllowedPassages | None = None
    ) -> Sequence[Found]:
        """The best passages for weighted stems by BM25."""
        ...

    def lexical_of(self, terms: Mapping[str, float], numbers: Sequence[int]) -> Sequence[Found]:
        """BM25 of these passages for weighted stems, best first; one that holds none of them is left out."""
        ...

    def nearest(
        self, vector: Query, *, model: str, limit: int, allowed: AllowedPassages | None = None, exact: bool = False
    ) -> Sequence[Found]:
        """The passages whose vectors are nearest by cosine, of one model only."""
        ...

    def cosines(self, vector: Query, numbers: Sequence[int], *, model: str) -> Sequence[Found]:
        """The cosines of these passages, best first; one without a vector of the model is left out."""
        ...

    def cosine_spread(
        self, vector: Query, *, model: str, allowed: AllowedPassages | None = None
    ) -> CosineSpread | None:
        """How near the passages are to a vector as a whole; None without a passage that has a vector."""
        ...

    def numbers(self, allowed: AllowedPassages | None = None) -> Whole:
        """The numbers of every passage, or of those allowed."""
        ...

    def passes(self, numbers: Sequence[int] | Whole, allowed: AllowedPassages) -> list[bool]:
        """Return which of these passages, found elsewhere, are allowed."""
        ...

    def memories_of(self, numbers: Sequence[int] | Whole) -> Whole:
        """The memory number of each passage; -1 for a passage that is not here."""
        ...

    def folders(self, filters: Filters | None = None) -> list[FolderSize]:
        """Every folder that holds memories which pass, with their number, by name."""
        ...


class SearchIndexes(Protocol):
    """The indexes of all tenants of a store. Thread-safe; close it before the store."""

    def prepare(self, scope: Scope) -> None:
        """Do what must be done before the snapshot of a search is taken; nothing as a rule."""
        ...

    def view(self, work: Work, *, progress: Progress | None = None) -> SearchView:
        """What a search in this unit of work sees: everything its snapshot holds."""
        ...

    def compact(self, scope: Scope, progress: Progress | None = None, *, whole: bool = True) -> Folded:
        """Bring the index into its best shape now."""
        ...

    def status(self, scope: Scope) -> IndexStatus:
        """Return the status of the index."""
        ...

    def recall(self, scope: Scope, *, sample: int, rng: np.random.Generator, depth: int = 50) -> Recall:
        """How much of the exact answer the vector index gives, for stored vectors as queries."""
        ...

    def erase(self, scope: Scope) -> Path | None:
        """Delete a tenant's files, so that none holds an erased text; return their folder, None when there is none."""
        ...

    def delete(self, scope: Scope) -> str | None:
        """Delete a tenant's index; return what was deleted. The next search makes what it needs again."""
        ...

    def wait(self) -> None:
        """Wait for what is done in the background."""
        ...

    def close(self) -> None:
        """Stop what is done in the background. Closing twice is fine."""
        ...
