"""The registry of channels, and `@channel`, which adds one of your own.

    @channel("bookmarks", weight=0.2)
    def find_bookmarks(ask: Ask) -> list[tuple[str, float]]: ...

The function is asked in each search of the modes it names and returns ids of memories with scores from 0 to 1. Each
votes for its memory's best passage; filters and scope hold for it as for the others. What it raises is said in the
result's `degraded`, and the other channels answer.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from assay.errors import BadValue
from assay.memory.searching.channels import bm25, fts, trigger, vector
from assay.memory.searching.channels.ask import Ask, Offer
from assay.records import Channel, Mode
from assay.records.fields import one_of
from assay.records.searching import add_channel, load_channels_by
from assay.registry import Registry, hash_function

Offers = Iterable[tuple[str, float]]
"""Ids of memories with their scores."""
Function = TypeVar("Function", bound=Callable[[Ask], Offers])


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelEntry:
    """One channel."""

    channel: Channel
    summary: str
    of_passages: Callable[[Ask], Offer] | None = None
    """Finds passages by number; asked before those that find memories."""
    of_memories: Callable[[Ask], Sequence[tuple[str, float]]] | None = None
    """Finds memories by id."""
    weight: float | None = None
    """Of an added channel; those of the built-in ones depend on what a query is after."""
    modes: frozenset[Mode] = frozenset({Mode.FOCUSED, Mode.DEEP})
    """In which an added channel is asked without being named."""
    code: str = ""
    """Hash of the function of an added channel."""


def read_channel(name: str, thing: object) -> ChannelEntry:
    """Make a channel of a plain function."""
    if not callable(thing):
        raise BadValue(f"{thing!r} is not a function", remedy="Give a function of an Ask that returns ids and scores.")
    return make_channel(thing, name)


CHANNELS: Registry[ChannelEntry] = Registry("channel", group="assay.channels", read=read_channel)
"""Every channel, by name."""


def channel(
    name: str,
    *,
    weight: float = 0.1,
    modes: Sequence[Mode | str] = (Mode.FOCUSED, Mode.DEEP),
    summary: str = "",
) -> Callable[[Function], Function]:
    """Register a function as a channel; it is returned unchanged.

    `weight` is what its vote counts beside the others (meaning has 0.7, words 0.3). It is asked in the `modes` given,
    and whenever a search names it.
    """

    def add(function: Function) -> Function:
        CHANNELS.add(name, make_channel(function, name, weight=weight, modes=modes, summary=summary), thing=function)
        return function

    return add


def make_channel(
    function: Callable[[Ask], Offers],
    name: str,
    *,
    weight: float = 0.1,
    modes: Sequence[Mode | str] = (Mode.FOCUSED, Mode.DEEP),
    summary: str = "",
) -> ChannelEntry:
    """Make the entry of a channel that is added."""
    if not (math.isfinite(weight) and weight > 0):
        raise BadValue(f"the weight {weight} of the channel {name} is not above 0", remedy="Give a number such as 0.1.")
    first_line = (inspect.getdoc(function) or "").partition("\n")[0]
    return ChannelEntry(
        channel=add_channel(name),
        summary=summary or first_line,
        of_memories=lambda ask: _read_offers(function(ask), name)[: ask.limit],
        weight=weight,
        modes=frozenset(one_of(Mode)(mode, "modes") for mode in modes),
        code=hash_function(function),
    )


def _read_offers(offered: Offers, name: str) -> list[tuple[str, float]]:
    read = [(str(memory_id), float(score)) for memory_id, score in offered]
    if not all(0.0 <= score <= 1.0 for _, score in read):
        raise BadValue(f"the channel {name} gave a score outside 0 to 1", remedy="Scale its scores.")
    return sorted(read, key=lambda offer: (-offer[1], offer[0]))


def added_channels(mode: Mode | None = None) -> list[ChannelEntry]:
    """Return the channels that packages and programs added; with a mode, those that it asks."""
    entries = [registered.entry for registered in CHANNELS.all().values()]
    return [entry for entry in entries if entry.weight is not None and (mode is None or mode in entry.modes)]


def _add_builtin(channel_name: Channel, summary: str, **finds: Any) -> None:
    entry = ChannelEntry(channel=channel_name, summary=summary, **finds)
    CHANNELS.add(channel_name.value, entry, thing=entry, origin=f"Assay itself ({channel_name.value})", module=__name__)


_add_builtin(Channel.VECTOR, "Passages whose meaning is nearest.", of_passages=vector.search)
_add_builtin(Channel.FTS5, "Passages that hold the words, word for word.", of_passages=fts.search)
_add_builtin(Channel.BM25, "Passages that share most stems.", of_passages=bm25.search)
_add_builtin(Channel.TRIGGER, "Memories whose trigger phrase stands in the query.", of_memories=trigger.search)
_add_builtin(Channel.GRAPH, "Memories near the best hits of the others.", of_memories=lambda ask: ask.neighbours())
load_channels_by(CHANNELS.find)
