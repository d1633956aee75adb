"""Facts about memories as columns of whole numbers, and the question which of them pass a filter.

A table of memories is one int64 matrix, a row for each `Fact` and a column for each memory, in the order of numbers:
each fact lies in one piece, and a table is one file. Times are microseconds since 1970; folders, tiers and types are
codes; a confidence is the bits of its float. An id takes four numbers, its letters as bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from assay.records import Filters, Tier
from assay.storage.repositories.passages import NOTHING_LEARNED, MemoryColumns

Whole = NDArray[np.int64]
Mask = NDArray[np.bool_]

NEVER = int(np.iinfo(np.int64).max)
"""When a current memory was superseded."""
REMOVED = -1
"""The tier of a memory that is no longer there, over a base that still holds it."""
TIERS = {str(tier): code for code, tier in enumerate(Tier)}

TIER_NAMES = tuple(TIERS)
"""By code."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ID_WORDS = 4
_ID_BYTES = 8 * _ID_WORDS
_BITS, _WHOLE = Struct(f"<d{_ID_BYTES}s"), Struct(f"<{1 + _ID_WORDS}q")


class Fact(IntEnum):
    """The rows of a table of memories."""

    NUMBER = 0
    FOLDER = 1
    TIER = 2
    CREATED = 3
    VALID_FROM = 4
    SUPERSEDED = 5
    UPDATED = 6
    CONTEXT_TYPE = 7
    ENTITY_TYPE = 8
    LEARNED = 9
    """1 where it has learned triggers from use."""
    CONFIDENCE = 10
    ID = 11
    """The first of the numbers that hold its id; all 0 for an id too long for them."""
    ID_2 = 12
    ID_3 = 13
    ID_4 = 14


def moment(at: datetime) -> int:
    """Microseconds since 1970, exactly."""
    return (at - _EPOCH) // timedelta(microseconds=1)


class Names:
    """Codes of names, given in the order they are met and never changed."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.listed = list(names)
        """Every name met so far, by code; it only grows."""
        self._codes = {name: code for code, name in enumerate(self.listed)}

    def code(self, name: str) -> int:
        """The code of a name, a new one if it is new."""
        found = self._codes.get(name)
        if found is None:
            # The name before its code: whoever reads a code finds its name.
            self.listed.append(name)
            found = self._codes[name] = len(self.listed) - 1
        return found

    def names(self) -> list[str]:
        """Every name met so far, by code."""
        return list(self.listed)

    def name(self, code: int) -> str:
        """The name of a code."""
        return self.listed[code]


class Folders(Names):
    """Codes of folders."""

    def below(self, folder: str) -> Mask:
        """For each code, whether it is the folder or lies below it."""
        wanted = folder.strip("/")
        inside = wanted + "/"
        return np.array(
            [name.strip("/") == wanted or name.lstrip("/").startswith(inside) for name in self.listed], bool
        )


def make_table(facts: Sequence[MemoryColumns], folders: Folders, types: Names) -> Whole:
    """A table of memories, in the order of their numbers."""
    rows = sorted((_as_row(fact, folders, types) for fact in facts), key=lambda row: row[0])
    return np.array(rows, dtype=np.int64).reshape(-1, len(Fact)).T.copy()


def _as_row(one: MemoryColumns, folders: Folders, types: Names) -> tuple[int, ...]:
    superseded = NEVER if one.superseded_at is None else moment(one.superseded_at)
    letters = one.id.encode("utf-8")
    fits = len(letters) <= _ID_BYTES and letters.isascii()
    return (
        one.number,
        folders.code(one.folder),
        TIERS.get(one.tier, REMOVED),
        moment(one.created_at),
        moment(one.valid_from),
        superseded,
        moment(one.updated_at),
        types.code(one.context_type),
        types.code(one.entity_type),
        int(one.stored_learned_triggers != NOTHING_LEARNED),
        *_WHOLE.unpack(_BITS.pack(one.confidence, letters if fits else b"")),
    )


def read_ids(table: Whole) -> list[str]:
    """The ids of the memories of a table; an empty text for one that is too long to be kept."""
    words = np.ascontiguousarray(table[Fact.ID : Fact.ID + _ID_WORDS].T)
    letters: list[bytes] = words.view(f"S{_ID_BYTES}").ravel().tolist()
    return [found.decode("ascii") for found in letters]


def read_confidences(table: Whole) -> list[float]:
    """The confidences of the memories of a table."""
    found: list[float] = np.ascontiguousarray(table[Fact.CONFIDENCE]).view(np.float64).tolist()
    return found


def mark_removed(numbers: Whole) -> Whole:
    """Rows that say that these memories are gone."""
    rows = np.zeros((len(Fact), len(numbers)), dtype=np.int64)
    rows[Fact.NUMBER], rows[Fact.TIER] = np.sort(numbers), REMOVED
    return rows


def merge_tables(known: Whole, fresh: Whole) -> Whole:
    """A new table: `known` with the rows of `fresh` in place of those of the same number."""
    places, there = find(known[Fact.NUMBER], fresh[Fact.NUMBER])
    result = known.copy()
    result[:, places[there]] = fresh[:, there]
    if there.all():
        return result
    new = fresh[:, ~there]
    return np.insert(result, np.searchsorted(result[Fact.NUMBER], new[Fact.NUMBER]), new, axis=1)


def find(sorted_numbers: Whole, wanted: Whole) -> tuple[Whole, Mask]:
    """Return the place of each requested number, and whether it exists. No sorted number may stand there twice."""
    last = len(sorted_numbers) - 1
    if last < 0:
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), bool)
    first = int(sorted_numbers[0])
    if int(sorted_numbers[last]) - first == last:
        # Without a gap, as in a store that nothing was deleted from, a number says its place.
        places = wanted - first
        there = (places >= 0) & (places <= last)
        if not there.all():
            places[~there] = 0
        return places, there
    places = np.minimum(np.searchsorted(sorted_numbers, wanted), last)
    return places, sorted_numbers[places] == wanted


def passes(memories: Whole, filters: Filters, folders: Folders) -> Mask:
    """Which memories pass. Tags and types are not known here: SQL finds those."""
    kept: Mask = memories[Fact.TIER] != REMOVED
    if filters.folder is not None:
        kept &= folders.below(filters.folder)[memories[Fact.FOLDER]]
    if filters.tiers:
        kept &= np.isin(memories[Fact.TIER], [TIERS[str(tier)] for tier in filters.tiers])
    if filters.since is not None:
        kept &= memories[Fact.VALID_FROM] >= moment(filters.since)
    if filters.until is not None:
        kept &= memories[Fact.VALID_FROM] < moment(filters.until)
    return kept & _current(memories, filters)


def _current(memories: Whole, filters: Filters) -> Mask:
    if filters.as_of is None:
        return np.ones(memories.shape[1], bool) if filters.include_superseded else memories[Fact.SUPERSEDED] == NEVER
    at = moment(filters.as_of)
    kept: Mask = memories[Fact.VALID_FROM] <= at
    return kept if filters.include_superseded else kept & (memories[Fact.SUPERSEDED] > at)
