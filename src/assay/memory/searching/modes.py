"""Modes: how much work a search does, chosen from the query and from how full the caller's context is.

`quick` for what looks like an exact name, `deep` for long, many-part or comparing questions, `focused` otherwise. A
mode that the caller names is obeyed. Under high pressure a chosen mode goes down one step, under critical pressure to
`quick`: a context with no room gains nothing from a longer look.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from assay.memory.searching.channels import list_added_channels
from assay.memory.searching.options import ALL_CHANNELS, QUICK_CHANNELS, SearchOptions
from assay.records import Channel, Mode, Pressure, SearchRequest

MODE_CHARACTERS = 4_000
"""Of a longer query, the rest does not change its kind."""
QUICK_WORDS = 3
QUICK_CHARACTERS = 200
DEEP_WORDS = 25

_LADDER = (Mode.QUICK, Mode.FOCUSED, Mode.DEEP)
_EXACT = re.compile(
    r"""^["'`].+["'`]$"""  # quoted whole
    r"|[\w./-]+\.(?:py|md|ts|js|json|ya?ml|toml|sql|rs|go|txt)\b"  # a file
    r"|\b\w+_\w+|\b[a-z]+[A-Z]\w+|\b[A-Z]{2,}-\d+|\w+\(\)|\w+::\w+|\*\s*$"  # an identifier, ticket, call or prefix
)
_COMPARING = re.compile(
    r"\b(?:why|compar(?:e[ds]?|ing|ison)|versus|vs|differ(?:s|ences?)?|trade-?offs?|pros and cons|in common)\b",
    re.IGNORECASE,
)
_CLAUSES = re.compile(r"[?;]|,\s|\b(?:and|or|but|then|because|while|as well as)\b", re.IGNORECASE)


class PressureReading(NamedTuple):
    """How full the caller's context is."""

    level: Pressure
    ratio: float | None
    """0 to 1; None when no budget was given."""


class ModeChoice(NamedTuple):
    """The mode a search runs in."""

    mode: Mode
    overridden: bool
    """Whether something other than the query decided: the caller, or pressure."""
    reason: str


class SearchPlan(NamedTuple):
    """What a mode does."""

    channels: tuple[Channel, ...]
    full_text: bool
    """Whether `fts5` is asked for every question, or only for one with a quoted phrase or the beginning of a word."""
    pool: int
    rerank: bool
    expand: bool
    hops: bool
    """Whether questions in several steps are followed from fact to fact."""


def read_pressure(
    token_budget: int | None, tokens_used: int, *, options: SearchOptions | None = None
) -> PressureReading:
    """How much of a token budget is used. A budget of 0 is used up."""
    if token_budget is None:
        return PressureReading(Pressure.NONE, None)
    limits = options or SearchOptions()
    ratio = min(tokens_used / token_budget, 1.0) if token_budget else 1.0
    if ratio >= limits.critical_pressure:
        return PressureReading(Pressure.CRITICAL, ratio)
    if ratio >= limits.high_pressure:
        return PressureReading(Pressure.HIGH, ratio)
    return PressureReading(Pressure.LOW if ratio >= limits.low_pressure else Pressure.NONE, ratio)


def choose_mode(request: SearchRequest, pressure: Pressure) -> ModeChoice:
    """The mode for a request; never `auto`."""
    if request.mode is not Mode.AUTO:
        return ModeChoice(request.mode, overridden=True, reason="asked for")
    mode, reason = _from_query(request.query[:MODE_CHARACTERS])
    lowered = _lower_mode(mode, pressure)
    if lowered is mode:
        return ModeChoice(mode, overridden=False, reason=reason)
    return ModeChoice(lowered, overridden=True, reason=f"{mode} ({reason}) lowered by {pressure} token pressure")


def plan_mode(mode: Mode, options: SearchOptions) -> SearchPlan:
    """What a mode does; `auto` has to be chosen first."""
    builtin = QUICK_CHANNELS if mode is Mode.QUICK else ALL_CHANNELS
    channels = (*builtin, *(entry.channel for entry in list_added_channels(mode)))
    deep = mode is Mode.DEEP
    # Quick mode has no other channel for exact words.
    full_text = options.full_text_always or mode is Mode.QUICK
    return SearchPlan(channels, full_text, options.pools[mode], rerank=deep, expand=deep, hops=mode is not Mode.QUICK)


def _from_query(query: str) -> tuple[Mode, str]:
    length = len(query.split())
    if _COMPARING.search(query):
        return Mode.DEEP, "asks why or compares"
    if length > DEEP_WORDS:
        return Mode.DEEP, f"more than {DEEP_WORDS} words"
    if length > 8 and len(_CLAUSES.findall(query.rstrip(" ?"))) >= 2:
        return Mode.DEEP, "several clauses"
    if length <= QUICK_WORDS and len(query) <= QUICK_CHARACTERS and (length == 1 or _EXACT.search(query)):
        return Mode.QUICK, "short and exact"
    return Mode.FOCUSED, "an ordinary question"


def _lower_mode(mode: Mode, pressure: Pressure) -> Mode:
    if pressure is Pressure.CRITICAL:
        return Mode.QUICK
    return _LADDER[max(_LADDER.index(mode) - 1, 0)] if pressure is Pressure.HIGH else mode
