"""The caller's filters, said once more on the rows themselves.

Indexes apply them early, to spare work; here they decide. A passage that fails one is gone, whichever channel found it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from assay.memory.searching.channels.ask import Offer
from assay.records import Channel, Filters
from assay.storage import Candidate

Passes = Callable[[Candidate], bool]


def passes(filters: Filters, folders: Sequence[str] | None = None) -> Passes:
    """The test that a row has to pass; `folders`, when given, are those the search was narrowed to."""
    tests = [*_of_time(filters), *_of_kind(filters), *_of_place(filters, folders)]
    if len(tests) == 1:
        return tests[0]
    return lambda row: all(test(row) for test in tests)


def below(folder: str, top: str) -> bool:
    """Whether a folder is another one or lies in it, by whole names of the path."""
    wanted = top.strip("/")
    return folder.strip("/") == wanted or folder.lstrip("/").startswith(f"{wanted}/")


def kept(lists: Mapping[Channel, Offer], good: Mapping[int, Candidate]) -> dict[Channel, Offer]:
    """The lists without what did not pass; a channel that ran and has nothing left stays, empty."""
    return {channel: [one for one in offered if one[0] in good] for channel, offered in lists.items()}


def _of_time(filters: Filters) -> Iterable[Passes]:
    as_of, since, until = (
        None if at is None else at.timestamp() for at in (filters.as_of, filters.since, filters.until)
    )
    if as_of is not None:
        yield lambda row: row.memory.valid_from <= as_of
        if not filters.include_superseded:
            yield lambda row: row.memory.superseded_at is None or row.memory.superseded_at > as_of
    elif not filters.include_superseded:
        yield lambda row: row.memory.superseded_at is None
    if since is not None:
        yield lambda row: row.memory.valid_from >= since
    if until is not None:
        yield lambda row: row.memory.valid_from < until


def _of_kind(filters: Filters) -> Iterable[Passes]:
    tiers, tags = frozenset(map(str, filters.tiers)), frozenset(filters.tags)
    if tiers:
        yield lambda row: row.memory.tier in tiers
    if tags:
        yield lambda row: tags.issubset(row.memory.tags)
    if filters.entity_type is not None:
        yield lambda row: row.memory.entity_type == filters.entity_type
    if filters.context_type is not None:
        yield lambda row: row.memory.context_type == filters.context_type


def _of_place(filters: Filters, folders: Sequence[str] | None) -> Iterable[Passes]:
    top = filters.folder
    if top is not None:
        yield lambda row: below(row.memory.folder, top)
    if folders is not None:
        yield lambda row: row.memory.folder in folders
