"""What the store holds and the disk no longer does: told after every run, superseded only when asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from assay.memory.ingesting.walk import Walked
from assay.storage import Work


class Known(NamedTuple):
    """The current memory of every source, as hashes of their content."""

    hashes: Mapping[str, str | None]
    forgotten: frozenset[tuple[str, str | None]] = frozenset()
    """Source and hash of what was forgotten: the same content again does not bring it back."""

    @classmethod
    def of(cls, work: Work) -> Known:
        """Every source of the tenant."""
        return cls(work.memories.current_hashes(), frozenset(work.memories.forgotten_sources()))

    def has(self, source: str, source_hash: str | None) -> bool:
        """Whether a source is there with this very content, or was forgotten with it."""
        return self.hashes.get(source) == source_hash or (source, source_hash) in self.forgotten

    def below(self, sources: Iterable[str]) -> list[str]:
        """The known ones among these sources and the records of these files."""
        wanted = frozenset(sources)
        return sorted(one for one in self.hashes if one in wanted or _file_of(one) in wanted)


def missing(known: Known, walked: Walked, seen: Collection[str], partly_read: Collection[str]) -> list[str]:
    """Sources below the walked folders, or in the walked files, that this walk did not meet.

    A file that could not be read whole may still hold what was not met, so nothing of it is missing.
    """
    folders = frozenset(walked.folders)
    return sorted(
        one
        for one in known.hashes
        if one not in seen
        and _file_of(one) not in partly_read
        and (_file_of(one) in seen or _within(one, folders))
        and not _within(one, walked.passed)
    )


def prune(work: Work, sources: Sequence[str], now: datetime) -> tuple[str, ...]:
    """Supersede the current memories of these sources; they are kept, out of default search."""
    for source in sources:
        memory = work.memories.current_of_source(source)
        if memory is not None:
            work.memories.update(replace(memory, superseded_at=now, updated_at=now))
            work.audit.append("ingest.prune", memory.id, {"source_id": source})
    return tuple(sources)


def _file_of(source: str) -> str:
    """The file a record stands in. A record's id follows the last `#`."""
    return source.rpartition("#")[0] or source


def _within(source: str, places: Collection[str]) -> bool:
    """Whether a source is one of these places or lies below one."""
    return source in places or any(source[:end] in places for end, sign in enumerate(source) if sign == "/")
