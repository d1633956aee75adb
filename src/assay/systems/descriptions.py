"""What files that describe a system share: TOML with known keys, dotted paths into replies, `${NAME}` and `{name}`.

A path such as `data.hits.0.id` steps into objects by name and into lists by number. `${NAME}` is a variable of the
environment, so that no secret stands in a file; `{name}` is filled in for every question or document.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assay.errors import BadValue, UnknownSystem
from assay.records.toml_text import read_toml_text
from assay.regular_files import read_regular_text

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLACE = re.compile(r"\{([a-z_]+)\}")
_REFUSE = object()
_MOST_SHOWN = 120


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The tables of a file; `what` says what the file should be."""
    try:
        return read_toml_text(read_regular_text(path))
    except FileNotFoundError as problem:
        raise UnknownSystem(f"there is no file {path}", remedy=f"Give {what}.") from problem
    except (OSError, ValueError) as problem:
        raise UnknownSystem(f"cannot read {path}: {problem}", remedy="Write it as TOML in UTF-8.") from problem


def refuse_unknown(path: Path, found: Mapping[str, Any], names: Sequence[str]) -> None:
    """A key with a typo must not look like it was read."""
    for key in found:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise UnknownSystem(f"{path} has the key {key!r}", remedy=f"{hint}Known: {', '.join(names)}.")


def at_path(value: Any, path: str, *, default: Any = _REFUSE, what: str = "the reply") -> Any:
    """What stands at a dotted path; the empty path is the value itself."""
    passed: list[str] = []
    for name in path.split(".") if path else ():
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif default is not _REFUSE:
            return default
        else:
            where = f"at {'.'.join(passed)!r}" if passed else "at its top"
            raise BadValue(
                f"{what} has nothing at {path!r}; {where} it has {shape_of(value)}", remedy="Mend the path in the file."
            )
        passed.append(name)
    return value


def shape_of(value: Any) -> str:
    """What a value is, short enough to read."""
    if isinstance(value, Mapping):
        return f"the keys {', '.join(map(repr, list(value)[:8]))}" if value else "an object without keys"
    if isinstance(value, list):
        inner = f", the first with {shape_of(value[0])}" if value and isinstance(value[0], Mapping) else ""
        return f"a list of {len(value)}{inner}"
    text = " ".join(repr(value).split())
    return f"{text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 3] + '...'} ({type(value).__name__})"


def from_environment(text: str, environment: Mapping[str, str] | None, what: str) -> str:
    """A text with `${NAME}` replaced by the environment's values; None: those of this process."""
    environment = os.environ if environment is None else environment
    missing = [one for one in VARIABLE.findall(text) if not environment.get(one)]
    if missing:
        raise UnknownSystem(f"{what} needs the environment variable {missing[0]}", remedy="Set it.")
    return VARIABLE.sub(lambda found: environment[found[1]], text)


def headers_for(url: str, headers: Mapping[str, str], environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Headers as they are sent to an address; a secret never leaves the machine unencrypted."""
    address = urlsplit(url)
    open_road = address.scheme == "http" and address.hostname not in ("localhost", "127.0.0.1", "::1")
    found = {}
    for name, value in headers.items():
        found[name] = from_environment(value, environment, f"the header {name}")
        if open_road and VARIABLE.search(value):
            raise UnknownSystem(f"the header {name} would go to {address.hostname} unencrypted", remedy="Use https.")
    return found


def filled(template: Any, known: Mapping[str, Any]) -> Any:
    """A template with every `{name}` filled in; one that stands alone keeps its kind: `"{k}"` is a number."""
    if isinstance(template, Mapping):
        return {key: filled(value, known) for key, value in template.items()}
    if isinstance(template, list):
        return [filled(value, known) for value in template]
    if not isinstance(template, str):
        return template
    alone = _PLACE.fullmatch(template)
    if alone and alone[1] in known:
        return known[alone[1]]
    return _PLACE.sub(lambda found: str(known[found[1]]) if found[1] in known else found[0], template)
