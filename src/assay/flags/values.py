"""How a flag is written: `on`, `off`, or the percent of identities that see it. One reading for every surface."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from assay.errors import SettingError
from assay.flags.registry import known

_WORDS = {"on": 100, "true": 100, "1": 100, "off": 0, "false": 0, "0": 0}
_PERCENT = re.compile(r"(\d{1,3})\s*%?")


class Override(NamedTuple):
    """What the environment or the settings file says of a flag, against which no stored row counts."""

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
        known(name).name: Override(percent_of(value, f"the flag {name} ({layer} {place})"), layer, place)
        for name, (value, (layer, place)) in given.items()
    }
