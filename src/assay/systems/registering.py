"""The registry of systems, and `@system`, which adds one of your own.

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

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from assay.errors import AssayError, BadValue, ExtensionFailed, UnknownSystem
from assay.records.datasets import Dataset
from assay.registry import Registry
from assay.systems.protocol import System
from assay.systems.python_function import PythonFunction

OnDocument = Callable[[int, int], None]
"""Told how many documents are taken in, of how many."""
Made = TypeVar("Made", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemRequest:
    """What a system is opened with."""

    text: str
    """The system as it was asked for, such as `my-search:index.bin`."""
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
    """How it is asked for."""
    open: Callable[[SystemRequest], System]
    needs_target: bool = False
    """Whether something has to follow the name."""


def read_system(name: str, thing: object) -> SystemEntry:
    """Make an entry of a class of `System` or of a search function."""
    return make_system(thing, name)


SYSTEMS: Registry[SystemEntry] = Registry(
    "system", group="assay.systems", read=read_system, builtin=("assay.wiring.system_kinds",)
)
"""Every kind of system, by the name that stands before the colon."""


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
