"""The registry of systems, `@system` to add your own, and how a system is named.

- Registry and `@system`.
- Names such as `assay:mode=quick` or `python:pkg.module:search`.

Registry and `@system`:

    @system("my-search")
    class MySearch(System):
        name = "my-search"

        def __init__(self, target: str, dataset: Dataset) -> None: ...

        def retrieve(self, query: str, k: int, case: Case) -> Retrieved: ...

`assay run hotel --system my-search:index.bin` makes it with the target `index.bin`. A class is given `target` and
`dataset` as far as its `__init__` takes them. A plain function of `query` and `k` is a system too: it returns document
ids, best first, or anything else that `python:` systems may return.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.errors import AssayError, BadValue, ExtensionFailed, UnknownSystem
from assay.records import Channel, FolderMode, Mode
from assay.records.fields import one_of, read_toml_text
from assay.registry import Registry
from assay.regular_files import read_regular_text
from assay.systems.protocol import System
from assay.systems.python_function import PythonFunction

if TYPE_CHECKING:
    from assay.records.datasets import Dataset

# --- Registry and `@system` ---

OnDocument = Callable[[int, int], None]
"""Called with the number of documents stored and their total."""
Made = TypeVar("Made", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemRequest:
    """What a system is opened with."""

    text: str
    """The system as named by the user, such as `my-search:index.bin`."""
    target: str
    """What follows the name; empty where nothing does."""
    dataset: Dataset
    folder: Path
    """Where files are looked for."""
    on_document: OnDocument | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemEntry:
    """One kind of system."""

    name: str
    summary: str
    example: str
    """An example of its name."""
    open: Callable[[SystemRequest], System]
    needs_target: bool = False
    """Whether something has to follow the name."""


def read_system(name: str, thing: object) -> SystemEntry:
    """Make an entry of a class of `System` or of a search function."""
    return make_system(thing, name)


SYSTEMS: Registry[SystemEntry] = Registry(
    "system",
    group="assay.systems",
    read=read_system,
    builtin=("assay.wiring.system_kinds", "assay.wiring.adapter_kinds"),
)
"""Every kind of system, by the name before the colon."""


def system(name: str, *, summary: str = "") -> Callable[[Made], Made]:
    """Register a class of `System`, or a function of query and k, under a name; it is returned unchanged."""

    def add(thing: Made) -> Made:
        SYSTEMS.add(name, make_system(thing, name, summary), thing=thing)
        return thing

    return add


def make_system(thing: object, name: str, summary: str = "") -> SystemEntry:
    """Make an entry of a class of `System` or of a search function."""
    if isinstance(thing, type) and issubclass(thing, System):
        opener = _open_class(thing, name)
    elif callable(thing) and not isinstance(thing, type):
        function = thing

        def opener(request: SystemRequest) -> System:
            return PythonFunction(function, request.text)

    else:
        raise BadValue(f"{thing!r} is not a system", remedy="Give a class of System, or a function of query and k.")
    first_line = (inspect.getdoc(thing) or "").partition("\n")[0]
    return SystemEntry(name=name, summary=summary or first_line, example=name, open=opener)


def _open_class(made: type[System], name: str) -> Callable[[SystemRequest], System]:
    takes = set(inspect.signature(made).parameters)

    def open_system(request: SystemRequest) -> System:
        given = {"target": request.target, "dataset": request.dataset}
        if request.target and "target" not in takes:
            raise UnknownSystem(f"the system {name} takes no {request.target!r}", remedy=f"Ask for it as {name}.")
        try:
            return made(**{field: value for field, value in given.items() if field in takes})
        except AssayError:
            raise
        except Exception as problem:
            raise ExtensionFailed(
                f"the system {name} cannot be opened: {type(problem).__name__}: {problem}",
                remedy="Correct its __init__, or what it is given.",
            ) from problem

    return open_system


def add_builtin(
    name: str, *, summary: str, example: str, needs_target: bool = True
) -> Callable[[Callable[[SystemRequest], System]], Callable[[SystemRequest], System]]:
    """Register a kind of system that Assay has itself: a function that opens it."""

    def add(opener: Callable[[SystemRequest], System]) -> Callable[[SystemRequest], System]:
        entry = SystemEntry(name=name, summary=summary, example=example, open=opener, needs_target=needs_target)
        SYSTEMS.add(name, entry, thing=opener)
        return opener

    return add


# --- Names such as `assay:mode=quick` or `python:pkg.module:search` ---
#
# What follows `assay:` is a list of `key=value` with commas between, or the path of a TOML file. A key is `mode`,
# `channels` (joined by `+`), `folder_mode`, `context_type`, `token_budget`, `tokens_used` or `min_relevance`, which go
# into every search, `previous_query` (on: a case of a conversation is asked with the user's turn before it), a setting
# such as `search.fusion`, or a flag as `flags.NAME`. With a budget and used tokens a run simulates searches from a
# context that is filling up.

_FLAGS = "flags."


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """How Assay is to work in one run."""

    mode: Mode = Mode.AUTO
    channels: tuple[Channel, ...] | None = None
    folder_mode: FolderMode = FolderMode.OFF
    context_type: str | None = None
    token_budget: int | None = None
    tokens_used: int = 0
    min_relevance: float | None = None
    """Without it lists are not cut, whatever the settings say: rankings are measured whole."""
    previous_query: bool = False
    """Whether a case of a conversation is asked with the user's turn before it, as an agent may; other systems get the
    question alone, so it is off unless it is asked for."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """By key, over those of file and environment."""
    flags: Mapping[str, str] = field(default_factory=dict)

    answers: bool = False
    """Whether questions are answered as `assay ask` does, instead of searched for."""

    def as_json(self) -> dict[str, Any]:
        """The given options, without defaults."""
        told = {
            "answers": self.answers,
            "mode": None if self.mode is Mode.AUTO else self.mode.value,
            "channels": None if self.channels is None else [channel.value for channel in self.channels],
            "folder_mode": None if self.folder_mode is FolderMode.OFF else self.folder_mode.value,
            "context_type": self.context_type,
            "token_budget": self.token_budget,
            "tokens_used": self.tokens_used,
            "min_relevance": self.min_relevance,
            "previous_query": self.previous_query,
            "settings": dict(self.settings),
            "flags": dict(self.flags),
        }
        return {name: value for name, value in told.items() if value}


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemSpec:
    """A system as the user named it."""

    text: str
    kind: str
    target: str
    """What follows the kind; empty for plain `assay`."""
    entry: SystemEntry
    """What the registry has under the kind."""
    configuration: Configuration | None = None
    """Of `assay` only."""


def parse_spec(text: str, folder: Path) -> SystemSpec:
    """Read a system's name; files are looked for from a folder."""
    kind, _, target = text.strip().partition(":")
    entry = SYSTEMS.find(kind)
    if entry is None:
        raise _unknown(text, kind)
    if entry.needs_target and not target:
        raise UnknownSystem(f"the system {text!r} does not say which", remedy=_examples())
    configuration = read_configuration(target, folder) if kind == "assay" else None
    return SystemSpec(text=text.strip(), kind=kind, target=target, entry=entry, configuration=configuration)


def _examples() -> str:
    return f"Such as {', '.join(registered.entry.example for registered in SYSTEMS.all().values())}."


def _unknown(text: str, kind: str) -> UnknownSystem:
    if SYSTEMS.problem(kind):
        return UnknownSystem(SYSTEMS.problem(kind), remedy="Repair or uninstall that package.")
    near = difflib.get_close_matches(kind, SYSTEMS.names(), n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    if not near and text.endswith(".toml"):
        hint = f"Did you mean http:{text} or assay:{text}? "
    elif not near and Path(text).suffix in (".trec", ".run", ".gz", ".txt"):
        hint = f"Did you mean run:{text}? "
    return UnknownSystem(f"no kind of system is called {kind!r}", remedy=f"{hint}{_examples()}")


ANSWER = "answer"
"""What stands first after `assay:` where Assay's own answers are evaluated."""


def read_configuration(target: str, folder: Path) -> Configuration:
    """Read what follows `assay:`."""
    if not target:
        return Configuration()
    first, _, rest = target.partition(",")
    if first.strip() == ANSWER:
        return replace(read_configuration(rest.strip(), folder), answers=True)
    if target.endswith(".toml"):
        return _read(dict(_flat(_toml(folder / Path(target).expanduser()))))
    pairs = [part.partition("=") for part in target.split(",")]
    if not all(key.strip() and sign and value.strip() for key, sign, value in pairs):
        raise UnknownSystem(
            f"cannot read assay:{target}",
            remedy="Write it like assay:mode=quick,channels=fts5+bm25 or assay:answer,mode=quick.",
        )
    return _read({key.strip(): value.strip() for key, _, value in pairs})


def _toml(path: Path) -> dict[str, Any]:
    try:
        return read_toml_text(read_regular_text(path))
    except FileNotFoundError as problem:
        raise UnknownSystem(f"there is no file {path}", remedy="Give a TOML file: assay:FILE.toml.") from problem
    except (OSError, ValueError) as problem:
        raise UnknownSystem(f"cannot read {path}: {problem}", remedy="Write it as TOML in UTF-8.") from problem


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, list):
            yield f"{before}{name}", "+".join(map(str, value))
        else:
            yield f"{before}{name}", str(value).lower() if isinstance(value, bool) else str(value)


def _load_added_channels(named: str) -> None:
    """Let channels of packages be found by name, where one is named."""
    builtin = {channel.value for channel in Channel}
    if any(name.strip() not in builtin for name in named.split("+") if name) and find_spec("sqlalchemy") is not None:
        importlib.import_module("assay.memory.searching.channels")


def _read(given: Mapping[str, str]) -> Configuration:
    rest = dict(given)
    mode = one_of(Mode)(rest.pop("mode", Mode.AUTO), "mode")
    folder_mode = one_of(FolderMode)(rest.pop("folder_mode", FolderMode.OFF), "folder_mode")
    named = rest.pop("channels", "")
    _load_added_channels(named)
    channels = tuple(one_of(Channel)(channel.strip(), "channels") for channel in named.split("+")) if named else None
    context_type = rest.pop("context_type", None)
    budget, used = rest.pop("token_budget", None), rest.pop("tokens_used", "0")
    least = rest.pop("min_relevance", None)
    previous = rest.pop("previous_query", "off")
    flags = {key.removeprefix(_FLAGS): value for key, value in rest.items() if key.startswith(_FLAGS)}
    settings = {key: value for key, value in rest.items() if not key.startswith(_FLAGS)}
    return Configuration(
        mode=mode,
        channels=channels,
        folder_mode=folder_mode,
        context_type=context_type,
        token_budget=None if budget is None else _count(budget, "token_budget"),
        tokens_used=_count(used, "tokens_used"),
        min_relevance=None if least is None else _share(least, "min_relevance"),
        previous_query=_switch(previous, "previous_query"),
        settings=settings,
        flags=flags,
    )


def _switch(text: str, name: str) -> bool:
    # A TOML file says true or false.
    known = {"on": True, "true": True, "off": False, "false": False}
    if text not in known:
        raise UnknownSystem(f"{name}={text} is neither on nor off", remedy=f"Write it like {name}=on.")
    return known[text]


def _count(text: str, name: str) -> int:
    if not text.isdecimal():
        raise UnknownSystem(f"{name}={text} is not a number of tokens", remedy=f"Write it like {name}=2000.")
    return int(text)


def _share(text: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise UnknownSystem(f"{name}={text} is not a number from 0 to 1", remedy=f"Write it like {name}=0.2.")
    return number
