"""Registries: things with a name that Assay has built in and that packages and programs can add to.

    METRICS = Registry("metric", group="assay.metrics", builtin=("assay.metrics.ranking_metrics",), read=read_metric)
    METRICS.add("answer_words", entry, thing=answer_words)
    METRICS.find("answer_words")

There is one registry for each kind: metrics, systems, judges, gate rules, dataset formats, channels, embedders. What
is built in registers itself like anything else, when the modules named by `builtin` are imported. An installed package
registers through an entry point of the group; the entry point's name is the name of the thing. Entry points are read
when a name is looked up that is not registered yet, or when a list is needed. One that cannot be loaded is a line in
`problems`: it names the package, and everything else goes on.

Two things of one name are refused, and the message names the source of both. Code that registers the same function
again (a notebook cell run twice) replaces it.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from types import FunctionType, MappingProxyType
from typing import Any, Generic, TypeVar

from assay.errors import BadValue, NameTaken
from assay.hashing import content_hash

Entry = TypeVar("Entry")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
"""What a registered name looks like."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Registered(Generic[Entry]):
    """One thing in a registry and where it comes from."""

    name: str
    entry: Entry
    origin: str
    """Module and name, with the package where an entry point brought it."""
    module: str
    """Where it was registered; what is built in is listed in the order of its modules."""
    package: str
    """The installed package that added it, such as `my-metrics 1.2`; empty for what is built in or added by code."""


def find_installed(group: str) -> Iterable[EntryPoint]:
    """Return the entry points that installed packages have in a group."""
    return entry_points(group=group)


class Registry(Generic[Entry]):
    """Everything of one kind, by name."""

    def __init__(
        self,
        noun: str,
        *,
        group: str,
        read: Callable[[str, object], Entry],
        builtin: tuple[str, ...] = (),
        installed: Callable[[str], Iterable[EntryPoint]] = find_installed,
    ) -> None:
        """Make an empty registry.

        `noun` is what messages call one entry. `read` turns what an entry point names into an entry, where loading it
        did not register one. `builtin` are modules whose import registers what Assay has itself.
        """
        self.noun = noun
        self.group = group
        self._read = read
        self._builtin = builtin
        self._installed = installed
        self._entries: dict[str, Registered[Entry]] = {}
        # Keeps each thing alive beside its name, so that its id cannot pass to another object.
        self._names: dict[int, tuple[object, str]] = {}
        self._points: dict[str, list[EntryPoint]] | None = None
        self._problems: dict[str, str] = {}
        self._package = ""
        self._has_builtin = False
        self._listed: tuple[tuple[Registered[Entry], ...], Mapping[str, Registered[Entry]]] | None = None
        """What `all` returned last, and what it was made of."""
        self._lock = threading.RLock()

    def add(self, name: str, entry: Entry, *, thing: object, origin: str = "", module: str = "") -> None:
        """Register an entry; `thing` is the function or class it was made from, and its place the origin.

        Raises `BadValue` for a name that cannot be typed and `NameTaken` for one that something else has.
        """
        if not NAME.fullmatch(name):
            raise BadValue(
                f"{name!r} is not a name for a {self.noun}",
                remedy="Begin with a letter and use letters, digits, '_', '-' and '.'; at most 64 characters.",
            )
        with self._lock:
            if not self._is_builtin(thing):
                self._load_builtin()
            origin = origin or describe_origin(thing)
            known = self._entries.get(name)
            if known is not None and (known.origin != origin or self._is_builtin(thing)):
                raise self._taken(name, known.origin, origin)
            self._entries[name] = Registered(
                name=name,
                entry=entry,
                origin=origin,
                module=module or getattr(thing, "__module__", None) or "",
                package=self._package,
            )
            self._names[id(thing)] = (thing, name)

    def find(self, name: str) -> Entry | None:
        """Return the entry of a name; None when there is none, or when its package cannot be loaded."""
        with self._lock:
            self._load_builtin()
            if name not in self._entries:
                self._load_point(name)
            known = self._entries.get(name)
        return None if known is None else known.entry

    def name_of(self, thing: object) -> str | None:
        """Return the name under which a function or class is registered."""
        with self._lock:
            return self._names.get(id(thing), (None, None))[1]

    def all(self) -> Mapping[str, Registered[Entry]]:
        """Return everything there is: first what is built in, then what code and packages added."""
        with self._lock:
            self._load_builtin()
            for name in self._read_points():
                self._load_point(name)
            entries = tuple(self._entries.values())
            # Every search asks for all channels, and hardly ever has one been added since.
            if self._listed is None or self._listed[0] != entries:
                places = {module: place for place, module in enumerate(self._builtin)}
                # Modules may be imported in any order, and lists must not depend on it.
                ordered = sorted(entries, key=lambda known: places.get(known.module, len(places)))
                self._listed = entries, MappingProxyType({known.name: known for known in ordered})
            return self._listed[1]

    def names(self) -> tuple[str, ...]:
        """Return every name."""
        return tuple(self.all())

    def problems(self) -> tuple[str, ...]:
        """Return one line for each entry point that could not be used."""
        self.all()
        return tuple(self._problems.values())

    def problem(self, name: str) -> str:
        """Return why the entry point of a name cannot be used; empty when it can, or when there is none."""
        return self._problems.get(name, "")

    def explain_missing(self, name: str) -> str:
        """Return why there is no entry of a name, with the nearest names, for an error message."""
        if self.problem(name):
            return self.problem(name)
        near = difflib.get_close_matches(name, self.names(), n=3, cutoff=0.5)
        hint = f"; close names: {', '.join(near)}" if near else ""
        return f"no {self.noun} is called {name!r}{hint}"

    def save(self) -> tuple[Any, ...]:
        """Return everything that is registered, for `restore`: tests that register something take it out again."""
        self._load_builtin()
        return dict(self._entries), dict(self._names), dict(self._problems), self._points

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Go back to what `save` returned."""
        entries, names, problems, self._points = saved
        self._entries, self._names, self._problems = dict(entries), dict(names), dict(problems)

    def _load_builtin(self) -> None:
        if not self._has_builtin:
            self._has_builtin = True
            for module in self._builtin:
                importlib.import_module(module)

    def _is_builtin(self, thing: object) -> bool:
        return (getattr(thing, "__module__", None) or "").partition(".")[0] == __name__.partition(".")[0]

    def _read_points(self) -> dict[str, list[EntryPoint]]:
        if self._points is None:
            self._points = {}
            for point in self._installed(self.group):
                self._points.setdefault(point.name, []).append(point)
        return self._points

    def _load_point(self, name: str) -> None:
        """Load the entry point of a name once; what goes wrong becomes a problem and nothing else."""
        points = self._read_points().get(name, [])
        if not points or name in self._problems or self._came_from(name, points):
            return
        if len(points) > 1:
            packages = " and ".join(describe_package(point) for point in points)
            self._problems[name] = f"the {self.noun} {name!r} is added by {packages}: uninstall one of them"
            return
        before, names = dict(self._entries), dict(self._names)
        self._package = describe_package(points[0])
        try:
            self._register_point(points[0])
        except (Exception, SystemExit) as problem:  # noqa: BLE001 - a package may raise anything when it is imported
            self._entries, self._names = before, names
            reason = " ".join(str(problem).split()) or "no reason given"
            self._problems[name] = (
                f"the package {self._package} cannot add the {self.noun} {name!r}: {type(problem).__name__}: {reason}"
            )
        finally:
            self._package = ""

    def _came_from(self, name: str, points: list[EntryPoint]) -> bool:
        known = self._entries.get(name)
        return known is not None and known.package == describe_package(points[0]) and len(points) == 1

    def _register_point(self, point: EntryPoint) -> None:
        thing = point.load()
        registered = self.name_of(thing)
        if registered is None:
            self.add(point.name, self._read(point.name, thing), thing=thing)
        elif registered != point.name:
            raise BadValue(
                f"its entry point is called {point.name!r} and registers {registered!r}",
                remedy="Give both the same name.",
            )
        else:
            self._entries[point.name] = replace(self._entries[point.name], package=self._package)

    def _taken(self, name: str, first: str, second: str) -> NameTaken:
        return NameTaken(
            f"two {self.noun}s are called {name!r}: {first} and {second}", remedy="Give one of them another name."
        )


def describe_origin(thing: object) -> str:
    """Return the module and the name of a function or class."""
    made = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{getattr(made, '__module__', '?')}.{getattr(made, '__qualname__', '?')}"


def describe_package(point: EntryPoint) -> str:
    """Return name and version of the package that an entry point belongs to."""
    return "unknown" if point.dist is None else f"{point.dist.name} {point.dist.version}"


def hash_function(function: Callable[..., Any]) -> str:
    """Return a hash of a function's source and of the functions of its package that it calls."""
    told: dict[str, str] = {}
    waiting = [function]
    while waiting:
        current = inspect.unwrap(waiting.pop())
        called = (
            current if isinstance(current, FunctionType) else inspect.getattr_static(type(current), "__call__", None)
        )
        if not isinstance(called, FunctionType) or describe_origin(called) in told:
            continue
        told[describe_origin(called)] = _source(called)
        package = (called.__module__ or "").partition(".")[0]
        for name in called.__code__.co_names:
            used = called.__globals__.get(name)
            if isinstance(used, FunctionType) and (used.__module__ or "").partition(".")[0] == package:
                waiting.append(used)
            elif isinstance(used, (int, float, str)):
                told[f"{called.__module__}.{name}"] = repr(used)
    return content_hash(told)


def _source(function: FunctionType) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into a session
        return repr((function.__code__.co_code.hex(), function.__code__.co_names, function.__code__.co_consts))
