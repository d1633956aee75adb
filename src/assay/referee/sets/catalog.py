"""The sets that `assay bench memory --set` can name, and how each is read."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from assay.errors import InputError
from assay.referee.sets import beam, bundled, factconsolidation, locomo, longmemeval, personamem, precisionmembench
from assay.referee.sets import realtalk as real
from assay.referee.sets.values import MemorySet, PublishedCounts

Reader = Callable[[Path], MemorySet]


class SetEntry(NamedTuple):
    """One set as `assay bench list` shows it."""

    name: str
    summary: str
    read: Reader
    quirks: tuple[str, ...]
    published: PublishedCounts | None
    bundled: bool = False


def _entries() -> tuple[SetEntry, ...]:
    sizes = (
        SetEntry(name, "Long chats with an assistant, ten abilities", read, beam.QUIRKS, beam.published_counts(name))
        for name, read in beam.READERS.items()
    )
    variants = (
        SetEntry(name, "500 questions, each over its own sessions", read, longmemeval.QUIRKS, longmemeval.PUBLISHED)
        for name, read in longmemeval.READERS.items()
    )
    return (
        SetEntry(
            bundled.NAME,
            "Eight users with two sessions each, written for Assay",
            bundled.read_bundled,
            bundled.QUIRKS,
            bundled.PUBLISHED,
            bundled=True,
        ),
        SetEntry(locomo.NAME, "Ten long chats of two people", locomo.read_locomo, locomo.QUIRKS, locomo.PUBLISHED),
        *variants,
        *sizes,
        SetEntry(
            personamem.NAME,
            "Multiple choice about what a user said",
            personamem.read_personamem,
            personamem.QUIRKS,
            personamem.PUBLISHED,
        ),
        SetEntry(
            factconsolidation.NAME,
            "Facts that contradict earlier ones",
            factconsolidation.read_factconsolidation,
            factconsolidation.QUIRKS,
            factconsolidation.PUBLISHED,
        ),
        SetEntry(
            precisionmembench.NAME,
            "What may be returned over a seed of beliefs",
            precisionmembench.read_precisionmembench,
            precisionmembench.QUIRKS,
            precisionmembench.PUBLISHED,
        ),
        SetEntry(real.NAME, "Ten chats of real people", real.read_realtalk, real.QUIRKS, real.PUBLISHED),
    )


SETS: Mapping[str, SetEntry] = {entry.name: entry for entry in _entries()}
"""Every set, by name."""


def load_set(name: str, data: Path | None) -> MemorySet:
    """Read a set; one that is not bundled is looked for below the folder `data`."""
    if name not in SETS:
        near = difflib.get_close_matches(name, SETS, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise InputError(f"there is no set {name!r}", remedy=f"{hint}Known: {', '.join(SETS)}.")
    entry = SETS[name]
    if entry.bundled:
        return entry.read(Path())
    if data is None:
        raise InputError(
            f"the set {name} is public data that Assay does not contain",
            remedy="Download it and name its folder with --data.",
        )
    if not data.is_dir():
        raise InputError(f"there is no folder {data}", remedy="Give --data a folder that holds the set's files.")
    return entry.read(data)
