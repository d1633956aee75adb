"""Every feature flag with its default, owner and graduation criteria, and how values are written.

- The table of flags.
- Parse and format `on`, `off` and percentages.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from assay.errors import SettingError, UnknownFlag
from assay.records.flags import Flag

# --- The table of flags ---
#
# One table: whatever asks for a flag by a name that is not here is told the near names.


def _table(*flags: Flag) -> Mapping[str, Flag]:
    return MappingProxyType({flag.name: flag for flag in flags})


FLAGS = _table(
    Flag(
        name="docscore_aggregation",
        meaning="A memory with several matching chunks scores above its best chunk.",
        owner="searching",
        default=False,
    ),
    Flag(
        name="save_quality_gate",
        meaning="A save that says too little, or nothing new, is turned away.",
        owner="saving",
        default=True,
    ),
    Flag(
        name="reconsolidation",
        meaning="A save merges with, supersedes or is marked against the memories like it.",
        owner="saving",
        default=True,
    ),
    Flag(
        name="trust_ranking",
        meaning="A program's note never stands above a person's note that it contradicts or repeats.",
        owner="searching",
        default=True,
    ),
    Flag(
        name="tier_boost",
        meaning="Critical and important memories are raised a little, and deprecated ones are served last.",
        owner="searching",
        default=True,
    ),
    Flag(
        name="learn_from_selection",
        meaning="Memories learn trigger words from the queries they were chosen for.",
        owner="learning",
        default=False,
    ),
    Flag(
        name="adaptive_fusion",
        meaning="The intent of a query sets the weights of the channels.",
        owner="searching",
        default=False,
    ),
    Flag(
        name="session_boost",
        meaning="What the session is about is raised.",
        owner="searching",
        default=True,
    ),
    Flag(
        name="causal_boost",
        meaning="What is joined to a good hit by edges is raised.",
        owner="searching",
        default=True,
    ),
    Flag(
        name="named_boost",
        meaning="What a better result names by its title is raised, except in quick mode.",
        owner="searching",
        default=True,
    ),
    Flag(
        name="coactivation",
        meaning="What was found together before is raised together.",
        owner="searching",
        default=True,
    ),
    Flag(
        name="mmr",
        meaning="In deep mode, results that repeat each other are spread.",
        owner="searching",
        default=True,
    ),
    Flag(
        name="cross_encoder",
        meaning="The cross-encoder of rerank.folder orders the first results again, except in quick mode.",
        owner="searching",
        default=False,
    ),
    Flag(
        name="query_expansion",
        meaning="In deep mode, words of the first results join the query, unless these are a line or two.",
        owner="searching",
        default=True,
    ),
    Flag(
        name="negative_feedback",
        meaning="Memories that were found useless are lowered.",
        owner="learning",
        default=True,
    ),
    Flag(
        name="graph_scoring",
        meaning="Neighbours of good hits are candidates too.",
        owner="searching",
        default=True,
    ),
    Flag(
        name="threshold_tuning",
        meaning="Thresholds of the retrieval and answer checkpoints follow what people say of answers.",
        owner="research",
        default=False,
    ),
    Flag(
        name="pattern_planning",
        meaning="The planner is told what questions like this one failed by before.",
        owner="research",
        default=False,
    ),
    Flag(
        name="similar_evaluations",
        meaning="An evaluation is taken over for a question that asks the same in other words.",
        owner="research",
        default=False,
    ),
)
"""By name."""


RETIRED: Mapping[str, str] = MappingProxyType(
    {"multi_vector": "a title is part of the vector of each of its passages, and a vector of its own found no more"}
)
"""Flags that there were, each with the reason why it is gone."""


def find_flag(name: str) -> Flag:
    """The flag of that name."""
    if name in RETIRED:
        raise UnknownFlag(f"the flag {name!r} was removed: {RETIRED[name]}", remedy="Leave it out.")
    if name not in FLAGS:
        near = difflib.get_close_matches(name, FLAGS, n=3)
        hint = f"Did you mean {' or '.join(near)}? " if near else ""
        raise UnknownFlag(f"there is no flag {name!r}", remedy=f"{hint}All of them: {', '.join(FLAGS)}.")
    return FLAGS[name]


# --- Parse and format `on`, `off` and percentages ---

_WORDS = {"on": 100, "true": 100, "1": 100, "off": 0, "false": 0, "0": 0}
_PERCENT = re.compile(r"(\d{1,3})\s*%?")


class Override(NamedTuple):
    """The value of a flag in the environment or the settings file, which overrides stored rows."""

    percent: int
    layer: str
    """`environment` or `file`."""
    place: str
    """The variable, or the path of the file."""


def percent_of(value: str | bool | int, where: str) -> int:
    """How many of a hundred identities see the flag. `1` is on, as in most environments; one percent is `1%`."""
    text = str(value).strip().lower()
    if text in _WORDS:
        return _WORDS[text]
    found = _PERCENT.fullmatch(text)
    if found is None or int(found[1]) > 100:
        raise SettingError(f"{where} has the value {value!r}", remedy="Give on, off, or a percentage from 0 to 100.")
    return int(found[1])


def overrides_from(given: Mapping[str, tuple[str, tuple[str, str]]]) -> dict[str, Override]:
    """Overrides by name, from what the settings found: each value with its layer and place."""
    return {
        find_flag(name).name: Override(percent_of(value, f"the flag {name} ({layer} {place})"), layer, place)
        for name, (value, (layer, place)) in given.items()
    }
