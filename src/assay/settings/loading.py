"""Reading settings from `assay.toml`, the environment and command-line options, with the origin of each.

Options win over the environment, the environment over the file, the file over the default. The file is the first
`assay.toml` found from the working folder upwards, else the one in the user's configuration folder. A key that does not
exist is an error with the nearest names, wherever it stands: a setting with a typo must not look like it was heard.
Paths in the file are relative to the file; everywhere else, to the working folder.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import BadValue, InputError, SettingError
from assay.records import values
from assay.settings.places import default_db, fit_to_show, user_folder
from assay.settings.table import KNOWN, PREFIX, SECRETS, KnownSetting, Origin, Settings

FILE_NAME = "assay.toml"
FLAG_PREFIX = "ASSAY_FLAG_"
"""Environment names that belong to feature flags, not to settings."""
FLAG_TABLE = "flags"
"""The table of the file in which feature flags stand, by name."""
FLOOR_TABLE = "floors"
"""The table of the file in which stands what a gate demands, by metric."""
RESEARCH_TABLE = "research"
"""The table of the file in which stands how questions are answered and answers evaluated."""


class Shown(NamedTuple):
    """One line of `assay config`."""

    key: str
    value: str
    origin: Origin
    meaning: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedSettings:
    """The settings and the origin of each."""

    settings: Settings
    origins: Mapping[str, Origin]
    """By key."""
    file: Path | None
    """The settings file that was read, if there was one."""

    def shown(self) -> list[Shown]:
        """Every setting with its origin; passwords are masked."""
        return [
            Shown(one.key, fit_to_show(getattr(self.settings, one.name)), self.origins[one.key], one.meaning)
            for one in KNOWN
        ]


def load_settings(
    *,
    options: Mapping[str, str | None] | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> LoadedSettings:
    """Read file, environment and options (by key, None for "not given") into one value."""
    environment = os.environ if environment is None else environment
    folder = Path.cwd() if folder is None else folder
    file = find_file(folder, environment)
    found: dict[str, tuple[Any, Origin]] = {}
    if file is not None:
        found |= _from_file(file)
    found |= _from_environment(environment, folder)
    found |= _from_options(options or {}, folder)
    chosen = {one.name: found[one.key][0] for one in KNOWN if one.key in found}
    chosen.setdefault("db", str(default_db(environment)))
    flags = _flags_in_file(file) | _flags_in_environment(environment)
    research = _table(file, RESEARCH_TABLE)
    settings = Settings(**chosen, flags=flags, floors=_floors_in_file(file), research=research)
    origins = {one.key: found[one.key][1] if one.key in found else Origin("default", "") for one in KNOWN}
    return LoadedSettings(settings=settings, origins=origins, file=file)


def find_file(folder: Path, environment: Mapping[str, str]) -> Path | None:
    """The settings file that counts: upwards from a folder, then the user's own."""
    for place in (folder, *folder.parents):
        if (place / FILE_NAME).is_file():
            return place / FILE_NAME
    users = user_folder(environment, "XDG_CONFIG_HOME", ".config") / "assay" / FILE_NAME
    return users if users.is_file() else None


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_bytes().decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise SettingError(f"cannot read {file}: {problem}", remedy="Write it as TOML in UTF-8.") from problem


def _table(file: Path | None, name: str) -> dict[str, Any]:
    table = {} if file is None else _read(file).get(name, {})
    if not isinstance(table, dict):
        raise SettingError(f"{file} has the key {name!r}, which is no table", remedy=f"Write [{name}] above {name}.")
    return table


def _flags_in_file(file: Path | None) -> dict[str, tuple[str, Origin]]:
    return {name: (str(value), Origin("file", str(file))) for name, value in _table(file, FLAG_TABLE).items()}


def _floors_in_file(file: Path | None) -> dict[str, float]:
    try:
        return {name: values.finite(value, f"floors.{name}") for name, value in _table(file, FLOOR_TABLE).items()}
    except BadValue as problem:
        raise SettingError(f"{problem.message} ({file})", remedy='Write it like "recall@5" = 0.8.') from problem


def _flags_in_environment(environment: Mapping[str, str]) -> dict[str, tuple[str, Origin]]:
    names = sorted(name for name in environment if name.startswith(FLAG_PREFIX))
    return {name.removeprefix(FLAG_PREFIX).lower(): (environment[name], Origin("environment", name)) for name in names}


def _from_file(file: Path) -> dict[str, tuple[Any, Origin]]:
    tables = (FLAG_TABLE, FLOOR_TABLE, RESEARCH_TABLE)
    flat = dict(_flatten({name: value for name, value in _read(file).items() if name not in tables}))
    origin = Origin("file", str(file))
    for key in flat:
        _known(key, f"{file} has the key")
    return {key: (_convert(_by_key(key), value, origin, file.parent), origin) for key, value in flat.items()}


def _from_environment(environment: Mapping[str, str], folder: Path) -> dict[str, tuple[Any, Origin]]:
    found: dict[str, tuple[Any, Origin]] = {}
    by_variable = {one.variable: one for one in KNOWN}
    for name in sorted(environment):
        if not name.startswith(PREFIX) or name.startswith(FLAG_PREFIX) or name in SECRETS:
            continue
        if name not in by_variable:
            raise _unknown(name, by_variable, "the environment has the variable")
        origin = Origin("environment", name)
        one = by_variable[name]
        found[one.key] = (_convert(one, environment[name], origin, folder), origin)
    return found


def _from_options(options: Mapping[str, str | None], folder: Path) -> dict[str, tuple[Any, Origin]]:
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        _known(key, "the options have the key")
    origins = {key: Origin("option", f"--{key.replace('.', '-')}") for key in given}
    return {key: (_convert(_by_key(key), value, origins[key], folder), origins[key]) for key, value in given.items()}


def _flatten(table: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _by_key(key: str) -> KnownSetting:
    return next(one for one in KNOWN if one.key == key)


def _known(key: str, where: str) -> None:
    names = [one.key for one in KNOWN]
    if key not in names:
        raise _unknown(key, names, where)


def _unknown(name: str, names: Iterable[str], where: str) -> SettingError:
    close = difflib.get_close_matches(name, list(names), n=3)
    hint = f"Did you mean {' or '.join(close)}? " if close else ""
    return SettingError(
        f"{where} {name!r}, which is no setting", remedy=f"{hint}All of them: docs/reference/settings.md."
    )


def _convert(one: KnownSetting, value: Any, origin: Origin, folder: Path) -> Any:
    try:
        return _chosen(_CONVERTERS[one.kind](value, one.key, folder), one)
    except (BadValue, ValueError) as problem:
        reason = problem.message if isinstance(problem, BadValue) else f"{one.key} {value!r} is not a number"
        remedy = (
            problem.remedy
            if isinstance(problem, InputError)
            else f"Give {one.key} a number, such as {one.default or 1}."
        )
        where = f" ({origin.layer} {origin.place})".rstrip()
        raise SettingError(f"{reason}{where}", remedy=remedy) from problem


def _chosen(value: Any, one: KnownSetting) -> Any:
    if one.choices and value not in one.choices:
        raise BadValue(f"{one.key} {value!r} is not known", remedy=f"Give one of {', '.join(one.choices)}.")
    return value


def _text(value: Any, key: str, folder: Path) -> str:
    checked = values.label(value, key)
    if key == "db" and "://" not in checked:
        return str(folder / Path(checked).expanduser())
    return values.identifier(checked, key) if key in ("tenant", "postgres.schema") else checked


def _path(value: Any, key: str, folder: Path) -> Path:
    return folder / Path(values.label(value, key)).expanduser()


def _positive(number: float, key: str) -> None:
    if number <= 0:
        raise BadValue(f"{key} {number} is not above zero", remedy=f"Give {key} a number above zero.")


def _real(value: Any, key: str, folder: Path) -> float:  # noqa: ARG001 - one shape for all converters
    number = values.finite(float(value) if isinstance(value, str) else value, key)
    _positive(number, key)
    return number


def _whole(value: Any, key: str, folder: Path) -> int:  # noqa: ARG001 - one shape for all converters
    number = values.whole(int(value) if isinstance(value, str) else value, key)
    _positive(number, key)
    return number


_CONVERTERS = {
    "str": _text,
    "float": _real,
    "float | None": _real,
    "int": _whole,
    "int | None": _whole,
    "Path | None": _path,
}
