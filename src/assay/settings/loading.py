"""Fill the settings from options, the environment and files, with the origin of each.

Options win over the environment, the environment over the file, the file over the default. Each of them is a source
that checks its own values, so that an error can name the source of a wrong value, and remembers
where each came from. A key that does not exist is an error with the nearest names, in every source: a setting with a
typo must not be ignored. Paths in a file are relative to the file; everywhere else, to the working folder.

A file that was found rather than named may come from another person. Its addresses, keys and programs take effect
only after the user approved the file (see `files`).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from assay.errors import BadValue, SettingError
from assay.records import values
from assay.settings.files import (
    CONFIG_VARIABLE,
    ApprovedFiles,
    Withheld,
    default_db,
    find_file,
    find_named_file,
    find_requests,
    find_withheld,
    fingerprint_of,
    fit_to_show,
    users_file,
)
from assay.settings.model import KNOWN, PREFIX, Origin, Settings, explain, unknown_setting

FLAG_PREFIX = "ASSAY_FLAG_"
"""Environment names that belong to feature flags, not to settings."""
SECRETS = ("ASSAY_MCP_TOKEN",)
"""Environment names that hold secrets: no settings, so that no file holds them and `assay config` never shows them."""
FLAG_TABLE = "flags"
"""The table of the file in which feature flags stand, by name."""
FLOOR_TABLE = "floors"
"""The table of the file with the gate's requirements, by metric."""
RESEARCH_TABLE = "research"
"""The table of the file that configures how questions are answered and answers evaluated."""
_NAMES = {known.key: known.name for known in KNOWN}
"""The fields of `Settings` by key."""
_VARIABLES = {known.variable: known.key for known in KNOWN}
"""The keys by the name of the environment variable."""


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
    asked: Mapping[str, str]
    """Addresses, key variables and programs that the file names, by key; empty for the user's own file."""

    def list_settings(self) -> list[Shown]:
        """Every setting with its origin; passwords are masked."""
        return [
            Shown(known.key, fit_to_show(getattr(self.settings, known.name)), self.origins[known.key], known.meaning)
            for known in KNOWN
        ]


def load_settings(
    *,
    options: Mapping[str, str | None] | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    file: Path | None = None,
) -> LoadedSettings:
    """Read file, environment and options (by key, None for "not given") into one value.

    `file` names the settings file; without it, ASSAY_CONFIG does, or one is looked for.
    """
    environment = os.environ if environment is None else environment
    folder = Path.cwd() if folder is None else folder
    named = find_named_file(file, environment, folder)
    file = named or find_file(folder, environment)
    # Read once: what was checked for approval is what takes effect.
    content = {} if file is None else _read(file)
    above = [
        _options_source(options or {}, folder),
        _environment_source(environment, folder),
        _network_of_user(file, content, environment),
    ]
    asked = {} if named is not None or file is None or file == users_file(environment) else requests_of(content)
    withheld = _find_withheld(file, asked, above, environment)
    sources = [
        *above,
        _file_source(file, content, withheld),
        Source({"db": str(default_db(environment)), "withheld": withheld}, folder=folder),
    ]
    settings = Settings.from_sources([source.values for source in sources])
    origins = {known.key: _find_origin(known.name, sources) for known in KNOWN}
    origins |= {key: Origin("withheld", entry.file) for key, entry in withheld.items() if key in origins}
    return LoadedSettings(settings=settings, origins=origins, file=file, asked=asked)


class Source:
    """One place that settings come from, with values by field that are checked already.

    `given` and `origins` are by the name of the field, and relative paths are below `folder`.
    """

    def __init__(
        self, given: Mapping[str, Any], origins: Mapping[str, Origin] | None = None, *, folder: Path = Path()
    ) -> None:
        self.origins = origins or {}
        try:
            checked = Settings.from_sources([given])
        except SettingError as problem:
            if isinstance(problem.__cause__, ValidationError):
                raise explain(problem.__cause__, self.origins) from problem.__cause__
            raise
        self.values = {name: _place(name, getattr(checked, name), folder) for name in given}
        """Every value that it gives, by field."""


def _place(name: str, value: Any, folder: Path) -> Any:
    """Put a relative path below the folder that it is relative to; any other value is returned as it is."""
    if isinstance(value, Path):
        return folder / value.expanduser()
    if name == "db" and "://" not in value:
        return str(folder / Path(value).expanduser())
    return value


def _find_origin(name: str, sources: Sequence[Source]) -> Origin:
    """Name the place that gave a field its value."""
    found = (source.origins[name] for source in sources if name in source.origins)
    return next(found, Origin("default", ""))


def _options_source(options: Mapping[str, str | None], folder: Path) -> Source:
    given = {key: value for key, value in options.items() if value is not None}
    _refuse_unknown(given, _NAMES, "the options have the key")
    origins = {_NAMES[key]: Origin("option", f"--{key.replace('.', '-')}") for key in given}
    return Source({_NAMES[key]: value for key, value in given.items()}, origins, folder=folder)


def _environment_source(environment: Mapping[str, str], folder: Path) -> Source:
    names = sorted(name for name in environment if name.startswith(PREFIX) and name not in (*SECRETS, CONFIG_VARIABLE))
    flags = {
        name.removeprefix(FLAG_PREFIX).lower(): (environment[name], Origin("environment", name))
        for name in names
        if name.startswith(FLAG_PREFIX)
    }
    variables = [name for name in names if not name.startswith(FLAG_PREFIX)]
    _refuse_unknown(variables, _VARIABLES, "the environment has the variable")
    fields = {name: _NAMES[_VARIABLES[name]] for name in variables}
    given = {field: environment[name] for name, field in fields.items()}
    origins = {field: Origin("environment", name) for name, field in fields.items()}
    return Source({**given, "flags": flags}, origins, folder=folder)


def _file_source(file: Path | None, content: Mapping[str, Any], withheld: Mapping[str, Withheld]) -> Source:
    """Return the settings of a file, without those that are withheld."""
    if file is None:
        return Source({})
    found = _settings_of_file(file, content)
    tables = {
        "flags": {
            name: (str(value), Origin("file", str(file))) for name, value in _table(file, content, FLAG_TABLE).items()
        },
        "floors": _read_floors(file, content),
        "research": _research_without(_table(file, content, RESEARCH_TABLE), withheld),
    }
    kept = {name: value for name, value in found.values.items() if name not in {_NAMES.get(key) for key in withheld}}
    return Source({**kept, **tables}, found.origins, folder=file.parent)


def _settings_of_file(file: Path, content: Mapping[str, Any]) -> Source:
    """Take the settings of a file, without its tables of other things, approved or not."""
    flat = dict(_settings_in(content))
    _refuse_unknown(flat, _NAMES, f"{file} has the key")
    origins = {_NAMES[key]: Origin("file", str(file)) for key in flat}
    return Source({_NAMES[key]: value for key, value in flat.items()}, origins, folder=file.parent)


def _network_of_user(file: Path | None, content: Mapping[str, Any], environment: Mapping[str, str]) -> Source:
    """Return the network settings of the user's own file, where another file is read in its place.

    A project's file may switch `network.offline` on, and never off.
    """
    users = users_file(environment)
    if file is None or file == users or not users.is_file():
        return Source({})
    own = _settings_of_file(users, _read(users))
    given = {name: value for name, value in own.values.items() if name.startswith("network_")}
    if not given.get("network_offline", False):
        said = {_NAMES.get(key) for key, _ in _settings_in(content)}
        given = {name: value for name, value in given.items() if name not in said}
    return Source(given, {name: own.origins[name] for name in given})


def requests_of(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of a file that may need approval, by key."""
    research = content.get(RESEARCH_TABLE)
    return find_requests(dict(_settings_in(content)), research if isinstance(research, dict) else {})


def read_requests(file: Path) -> dict[str, str]:
    """Return the same of a file by its path."""
    return requests_of(_read(file))


def _find_withheld(
    file: Path | None, asked: Mapping[str, str], above: Sequence[Source], environment: Mapping[str, str]
) -> dict[str, Withheld]:
    """Return the settings of a file that are withheld because the user did not approve them."""
    given = {key: source.values[name] for key, name in _NAMES.items() for source in above if name in source.values}
    keys = find_withheld(asked, given)
    if file is None or not keys:
        return {}
    approved = ApprovedFiles(environment).find(file)
    if approved is not None and approved.fingerprint == fingerprint_of(asked):
        return {}
    return dict.fromkeys(keys, Withheld(file=str(file), changed=approved is not None))


def _research_without(research: Mapping[str, Any], withheld: Mapping[str, Withheld]) -> dict[str, Any]:
    """Return the table `[research]` without custom dimensions that would run an unapproved program."""
    custom = research.get("custom")
    if not withheld or not isinstance(custom, dict):
        return dict(research)
    kept = {name: value for name, value in custom.items() if f"research.custom.{name}.python" not in withheld}
    return {**research, "custom": kept}


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_bytes().decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise SettingError(f"cannot read {file}: {problem}", remedy="Write it as TOML in UTF-8.") from problem


def _table(file: Path, content: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise SettingError(
            f"{file} has the key {name!r}, which is not a table", remedy=f"Write [{name}] above its entries."
        )
    return table


def _read_floors(file: Path, content: Mapping[str, Any]) -> dict[str, float]:
    floors = _table(file, content, FLOOR_TABLE)
    try:
        return {name: values.finite(value, f"floors.{name}") for name, value in floors.items()}
    except BadValue as problem:
        raise SettingError(f"{problem.message} ({file})", remedy='Write it like "recall@5" = 0.8.') from problem


def _settings_in(content: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Yield the settings of a file by dotted key, without the tables that are not settings."""
    tables = (FLAG_TABLE, FLOOR_TABLE, RESEARCH_TABLE)
    return _flatten({name: value for name, value in content.items() if name not in tables})


def _flatten(table: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _refuse_unknown(names: Iterable[str], known: Mapping[str, str], where: str) -> None:
    for name in names:
        if name not in known:
            raise unknown_setting(name, known, where)
