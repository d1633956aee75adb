"""Settings: from `assay.toml`, the environment and command-line options into one frozen value that knows its origins.

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
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from assay.errors import BadValue, InputError, SettingError
from assay.records import DEFAULT_TENANT, values

FILE_NAME = "assay.toml"
PREFIX = "ASSAY_"
FLAG_PREFIX = "ASSAY_FLAG_"
"""Environment names that belong to feature flags, not to settings."""
FLAG_TABLE = "flags"
"""The table of the file in which feature flags stand, by name."""
FLOOR_TABLE = "floors"
"""The table of the file in which stands what a gate demands, by metric."""


class Origin(NamedTuple):
    """Where a value came from."""

    layer: str
    """`default`, `file`, `environment` or `option`."""
    place: str
    """The file, variable or option by name."""


def _setting(key: str, meaning: str, default: Any, **more: Any) -> Any:
    return field(default=default, metadata={"key": key, "meaning": meaning, **more})


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Everything that can be set. The field's metadata holds its key in the file and its meaning."""

    db: str = _setting("db", "The store: the path of a SQLite file, or postgresql://user:password@host/name.", "")
    tenant: str = _setting("tenant", "Whose rows are meant.", DEFAULT_TENANT)
    principal: str = _setting("principal", "Who acts; written to the audit log.", "local")
    lock_timeout_s: float = _setting("store.lock_timeout_s", "How long a write waits for others, in seconds.", 30.0)
    readers: int = _setting("store.readers", "Connections for reading that are kept open.", 8)
    flush_interval_s: float = _setting(
        "log.flush_interval_s", "A logged query is in the store this many seconds later.", 0.2
    )
    log_capacity: int = _setting(
        "log.capacity", "Queries that may wait to be logged; more are dropped, counted.", 20_000
    )
    checkpoint_folder: Path | None = _setting(
        "checkpoints.folder", "Where checkpoints are kept. Unset: beside the SQLite file.", None
    )
    postgres_schema: str = _setting("postgres.schema", "The PostgreSQL schema that holds Assay's tables.", "assay")
    postgres_programs: Path | None = _setting(
        "postgres.programs", "The folder of pg_dump and psql. Unset: the search path.", None
    )
    embedder: str = _setting(
        "embedder.kind",
        "What makes vectors: minilm (bundled), static (fast, coarser), local (embedder.folder), remote, or none.",
        "minilm",
        choices=("minilm", "static", "local", "remote", "none"),
    )
    embedder_folder: Path | None = _setting(
        "embedder.folder", "For local: a folder with model.onnx and tokenizer.json.", None
    )
    embedder_url: str = _setting(
        "embedder.url", "For remote: an OpenAI-compatible address, such as http://127.0.0.1:11434/v1.", ""
    )
    embedder_model: str = _setting("embedder.model", "For remote: the model's name at that address.", "")
    embedder_dimension: int | None = _setting(
        "embedder.dimension", "For remote: the length of the model's vectors. Unset: it is asked.", None
    )
    embedder_key_variable: str = _setting(
        "embedder.key_variable", "For remote: the environment variable that holds the key.", ""
    )
    embedder_threads: int | None = _setting(
        "embedder.threads", "Threads that make vectors. Unset: one for each core.", None
    )
    similarity_duplicate: float | None = _setting(
        "similarity.duplicate", "Above it, a save that agrees is a duplicate. Unset: as the embedder says.", None
    )
    similarity_merge: float | None = _setting(
        "similarity.merge", "From it on, a save that agrees is merged. Unset: as the embedder says.", None
    )
    similarity_related: float | None = _setting(
        "similarity.related", "From it on, the same subject is replaced. Unset: as the embedder says.", None
    )
    index_folder: Path | None = _setting(
        "index.folder", "Where derived indexes are kept. Unset: beside the SQLite file, or the user's cache.", None
    )
    index_exact_below: int = _setting(
        "index.exact_below", "Up to this many chunks, vectors are compared one by one, without an index.", 20_000
    )
    search_k: int = _setting("search.k", "Results of a search that names no number.", 10)
    search_fusion: str = _setting(
        "search.fusion", "How the channels' lists become one: convex or rrf.", "convex", choices=("convex", "rrf")
    )
    datasets_folder: Path | None = _setting(
        "datasets.folder", "Where imported datasets are kept. Unset: the user's data folder.", None
    )
    runs_folder: Path | None = _setting(
        "runs.folder", "Where runs are kept. Unset: .assay/runs below the working folder.", None
    )
    flags: Mapping[str, tuple[str, Origin]] = field(default_factory=dict)
    """What the environment and the file say of feature flags: value and origin by the flag's name, unchecked."""
    floors: Mapping[str, float] = field(default_factory=dict)
    """What the file demands of every run, by metric; for what is better when lower, a ceiling."""


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


class KnownSetting(NamedTuple):
    """One entry of the table of settings."""

    key: str
    name: str
    kind: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return PREFIX + self.key.replace(".", "_").upper()


KNOWN = tuple(
    KnownSetting(
        one.metadata["key"],
        one.name,
        str(one.type),
        one.default,
        one.metadata["meaning"],
        one.metadata.get("choices", ()),
    )
    for one in fields(Settings)
    if "key" in one.metadata
)
"""Every setting there is; the reference page is made from it."""


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
    settings = Settings(**chosen, flags=flags, floors=_floors_in_file(file))
    origins = {one.key: found[one.key][1] if one.key in found else Origin("default", "") for one in KNOWN}
    return LoadedSettings(settings=settings, origins=origins, file=file)


def find_file(folder: Path, environment: Mapping[str, str]) -> Path | None:
    """The settings file that counts: upwards from a folder, then the user's own."""
    for place in (folder, *folder.parents):
        if (place / FILE_NAME).is_file():
            return place / FILE_NAME
    users = _home(environment, "XDG_CONFIG_HOME", ".config") / "assay" / FILE_NAME
    return users if users.is_file() else None


def default_db(environment: Mapping[str, str]) -> Path:
    """The store when nobody said otherwise."""
    return _home(environment, "XDG_DATA_HOME", ".local/share") / "assay" / "assay.db"


def default_cache(environment: Mapping[str, str]) -> Path:
    """What can be made again: corpora taken in for evaluation."""
    return _home(environment, "XDG_CACHE_HOME", ".cache") / "assay"


def fit_to_show(value: Any) -> str:
    """A value as text, without the password an address may hold."""
    if value is None:
        return ""
    text = str(value)
    if "://" not in text:
        return text
    try:
        password = urlsplit(text).password
    except ValueError:
        return "(an address that cannot be read)"
    return text.replace(f":{password}@", ":***@") if password else text


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
    tables = (FLAG_TABLE, FLOOR_TABLE)
    flat = dict(_flatten({name: value for name, value in _read(file).items() if name not in tables}))
    origin = Origin("file", str(file))
    for key in flat:
        _known(key, f"{file} has the key")
    return {key: (_convert(_by_key(key), value, origin, file.parent), origin) for key, value in flat.items()}


def _from_environment(environment: Mapping[str, str], folder: Path) -> dict[str, tuple[Any, Origin]]:
    found: dict[str, tuple[Any, Origin]] = {}
    by_variable = {one.variable: one for one in KNOWN}
    for name in sorted(environment):
        if not name.startswith(PREFIX) or name.startswith(FLAG_PREFIX):
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


def _home(environment: Mapping[str, str], variable: str, fallback: str) -> Path:
    given = environment.get(variable)
    # The standard says that a relative path here is to be ignored.
    if given and Path(given).is_absolute():
        return Path(given)
    return Path(environment.get("HOME") or Path.home()) / fallback
