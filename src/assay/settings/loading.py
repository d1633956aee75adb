"""Reading settings from `assay.toml`, the environment and command-line options, with the origin of each.

Options win over the environment, the environment over the file, the file over the default. The file is the one that
`--config` or ASSAY_CONFIG names, else the first `assay.toml` found from the working folder upwards (not beyond the home
folder), else the one in the user's configuration folder. A key that does not exist is an error with the nearest names,
wherever it stands: a setting with a typo must not look like it was heard. Paths in the file are relative to the file;
everywhere else, to the working folder.

A file that was found rather than named may come from somebody else. What it says of addresses, keys and programs counts
only after the user approved it (`approvals`); a file that belongs to another user of the machine is refused.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import BadValue, InputError, SettingError
from assay.records import values
from assay.settings.approvals import ApprovedFiles, Withheld, find_requests, find_withheld, fingerprint_of
from assay.settings.places import default_db, fit_to_show, user_folder
from assay.settings.table import CONFIG_VARIABLE, KNOWN, PREFIX, SECRETS, KnownSetting, Origin, Settings

FILE_NAME = "assay.toml"
FLAG_PREFIX = "ASSAY_FLAG_"
"""Environment names that belong to feature flags, not to settings."""
FLAG_TABLE = "flags"
"""The table of the file in which feature flags stand, by name."""
FLOOR_TABLE = "floors"
"""The table of the file in which stands what a gate demands, by metric."""
RESEARCH_TABLE = "research"
"""The table of the file in which stands how questions are answered and answers evaluated."""
TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off", ""})
ROOT_USER = 0
"""Files of this user are taken too: an image or a package may have put them there."""


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
    file: Path | None = None,
) -> LoadedSettings:
    """Read file, environment and options (by key, None for "not given") into one value.

    `file` names the settings file; without it, ASSAY_CONFIG does, or one is looked for.
    """
    environment = os.environ if environment is None else environment
    folder = Path.cwd() if folder is None else folder
    named = named_file(file, environment, folder)
    file = named or find_file(folder, environment)
    # Read once: what was checked for approval is what takes effect.
    content = {} if file is None else _read(file)
    given = {**_from_environment(environment, folder), **_from_options(options or {}, folder)}
    asked = {} if named is not None or file is None or file == users_file(environment) else requests_of(content)
    given = {**_from_users_own(file, content, environment), **given}
    withheld = _withheld(file, asked, given, environment)
    found = {**_from_file(file, content), **given}
    chosen = {one.name: found[one.key][0] for one in KNOWN if one.key in found and one.key not in withheld}
    chosen.setdefault("db", str(default_db(environment)))
    settings = Settings(
        **chosen,
        flags=_flags_in_file(file, content) | _flags_in_environment(environment),
        floors=_floors_in_file(file, content),
        research=_research_without(_table(file, content, RESEARCH_TABLE), withheld),
        withheld=withheld,
    )
    origins = {one.key: found[one.key][1] if one.key in found else Origin("default", "") for one in KNOWN}
    origins |= {key: Origin("withheld", entry.file) for key, entry in withheld.items() if key in origins}
    return LoadedSettings(settings=settings, origins=origins, file=file, asked=asked)


def named_file(file: Path | None, environment: Mapping[str, str], folder: Path) -> Path | None:
    """The settings file that the user named, by option or environment; it has to be there."""
    text = str(file) if file is not None else environment.get(CONFIG_VARIABLE, "")
    if not text:
        return None
    place = folder / Path(text).expanduser()
    if not place.is_file():
        origin = "--config" if file is not None else CONFIG_VARIABLE
        raise SettingError(f"{origin} names {place}, and there is no such file", remedy="Name an existing file.")
    return place


def find_file(folder: Path, environment: Mapping[str, str], *, user: int | None = None) -> Path | None:
    """The settings file that counts when none is named: upwards from a folder, then the user's own.

    A file that belongs to another user than `user` (None: the one who runs this) is refused.
    """
    for place in _folders_above(folder, environment):
        if (place / FILE_NAME).is_file():
            _refuse_foreign(place / FILE_NAME, user)
            return place / FILE_NAME
    users = users_file(environment)
    return users if users.is_file() else None


def users_file(environment: Mapping[str, str]) -> Path:
    """Where the user's own settings file is, or would be."""
    return user_folder(environment, "XDG_CONFIG_HOME", ".config") / "assay" / FILE_NAME


def requests_of(content: Mapping[str, Any]) -> dict[str, str]:
    """What a settings file asks for that may need approval, by key."""
    research = content.get(RESEARCH_TABLE)
    return find_requests(dict(_settings_in(content)), research if isinstance(research, dict) else {})


def read_requests(file: Path) -> dict[str, str]:
    """The same of a file by its path."""
    return requests_of(_read(file))


def _folders_above(folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """A folder and those it lies in, not beyond the home folder."""
    home = Path(environment.get("HOME") or Path.home())
    homes = (home, home.resolve())
    for place in (folder, *folder.parents):
        yield place
        if place in homes:
            return


def _refuse_foreign(file: Path, user: int | None) -> None:
    """Refuse a file of another user: whoever can write into a shared folder must not decide what Assay does."""
    if os.name != "posix":
        return
    ours = {os.geteuid() if user is None else user, ROOT_USER}
    # A link in a shared folder belongs to whoever made it, whatever it leads to.
    owners = {file.lstat().st_uid, file.stat().st_uid}
    if not owners <= ours:
        raise SettingError(
            f"{file} belongs to another user (number {max(owners - ours)})",
            remedy=f"If you mean this file, name it: --config {file} or {CONFIG_VARIABLE}={file}. "
            "Otherwise work in another folder.",
        )


def _withheld(
    file: Path | None,
    asked: Mapping[str, str],
    given: Mapping[str, tuple[Any, Origin]],
    environment: Mapping[str, str],
) -> dict[str, Withheld]:
    """What a file asks for and does not get, because the user did not approve it."""
    keys = find_withheld(asked, {key: value for key, (value, _) in given.items()})
    if file is None or not keys:
        return {}
    approved = ApprovedFiles(environment).find(file)
    if approved is not None and approved.fingerprint == fingerprint_of(asked):
        return {}
    return dict.fromkeys(keys, Withheld(file=str(file), changed=approved is not None))


def _research_without(research: Mapping[str, Any], withheld: Mapping[str, Withheld]) -> dict[str, Any]:
    """The table `[research]` without custom dimensions that would run a program nobody approved."""
    custom = research.get("custom")
    if not withheld or not isinstance(custom, dict):
        return dict(research)
    kept = {name: value for name, value in custom.items() if f"research.custom.{name}.python" not in withheld}
    return {**research, "custom": kept}


def _from_users_own(
    file: Path | None, content: Mapping[str, Any], environment: Mapping[str, str]
) -> dict[str, tuple[Any, Origin]]:
    """What the user's own file says of the network, where another file is read in its place.

    A project's file may switch `network.offline` on, and never off.
    """
    users = users_file(environment)
    if file is None or file == users or not users.is_file():
        return {}
    own = {key: value for key, value in _from_file(users, _read(users)).items() if key.startswith("network.")}
    if own.get("network.offline", (False,))[0]:
        return own
    there = dict(_settings_in(content))
    return {key: value for key, value in own.items() if key not in there}


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_bytes().decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise SettingError(f"cannot read {file}: {problem}", remedy="Write it as TOML in UTF-8.") from problem


def _table(file: Path | None, content: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise SettingError(f"{file} has the key {name!r}, which is no table", remedy=f"Write [{name}] above {name}.")
    return table


def _flags_in_file(file: Path | None, content: Mapping[str, Any]) -> dict[str, tuple[str, Origin]]:
    flags = _table(file, content, FLAG_TABLE)
    return {name: (str(value), Origin("file", str(file))) for name, value in flags.items()}


def _floors_in_file(file: Path | None, content: Mapping[str, Any]) -> dict[str, float]:
    floors = _table(file, content, FLOOR_TABLE)
    try:
        return {name: values.finite(value, f"floors.{name}") for name, value in floors.items()}
    except BadValue as problem:
        raise SettingError(f"{problem.message} ({file})", remedy='Write it like "recall@5" = 0.8.') from problem


def _flags_in_environment(environment: Mapping[str, str]) -> dict[str, tuple[str, Origin]]:
    names = sorted(name for name in environment if name.startswith(FLAG_PREFIX))
    return {name.removeprefix(FLAG_PREFIX).lower(): (environment[name], Origin("environment", name)) for name in names}


def _settings_in(content: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """The settings of a file by dotted key, without the tables that are not settings."""
    tables = (FLAG_TABLE, FLOOR_TABLE, RESEARCH_TABLE)
    return _flatten({name: value for name, value in content.items() if name not in tables})


def _from_file(file: Path | None, content: Mapping[str, Any]) -> dict[str, tuple[Any, Origin]]:
    if file is None:
        return {}
    flat = dict(_settings_in(content))
    origin = Origin("file", str(file))
    for key in flat:
        _known(key, f"{file} has the key")
    return {key: (_convert(_by_key(key), value, origin, file.parent), origin) for key, value in flat.items()}


def _from_environment(environment: Mapping[str, str], folder: Path) -> dict[str, tuple[Any, Origin]]:
    found: dict[str, tuple[Any, Origin]] = {}
    by_variable = {one.variable: one for one in KNOWN}
    for name in sorted(environment):
        if not name.startswith(PREFIX) or name.startswith(FLAG_PREFIX) or name in (*SECRETS, CONFIG_VARIABLE):
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


def _texts(value: Any, key: str, folder: Path) -> tuple[str, ...]:  # noqa: ARG001 - one shape for all converters
    """A list, or a text with commas between its items; an empty text is an empty list."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list):
        raise BadValue(f"{key} {value!r} is not a list", remedy=f'Write it like {key} = ["first", "second"].')
    return tuple(values.label(item.strip() if isinstance(item, str) else item, key) for item in items if item != "")


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


def _truth(value: Any, key: str, folder: Path) -> bool:  # noqa: ARG001 - one shape for all converters
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower() if isinstance(value, str) else ""
    if text in TRUE or text in FALSE:
        return text in TRUE
    raise BadValue(f"{key} {value!r} is neither true nor false", remedy=f"Give {key} true or false.")


_CONVERTERS = {
    "bool": _truth,
    "str": _text,
    "tuple[str, ...]": _texts,
    "float": _real,
    "float | None": _real,
    "int": _whole,
    "int | None": _whole,
    "Path | None": _path,
}
