"""A Python function as a system: `python:pkg.module:search`, called with the query and k.

It returns what `replies` can read. The working folder can be imported from, as with `python -m`. A parameter named
`case` is given the case itself.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from assay.errors import UnknownSystem
from assay.records.datasets import Case
from assay.records.evaluations import Retrieved
from assay.systems.protocol import System, code_of
from assay.systems.replies import read_reply


class PythonFunction(System):
    """Calls a function."""

    def __init__(self, function: Callable[..., Any], name: str = "") -> None:
        self._function = function
        self._wants_case = "case" in _parameters(function)
        self._code = code_of(function)
        self.name = name or getattr(function, "__name__", type(function).__name__)

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        """What the function returns, read."""
        more = {"case": case} if self._wants_case else {}
        return read_reply(self._function(query, k, **more))

    def subject(self) -> Mapping[str, Any]:
        """The function's name, its module's version, where it has one, and hashes of its code by file."""
        module = sys.modules.get(getattr(self._function, "__module__", "") or "")
        version = getattr(module, "__version__", None)
        told = {"version": version} if isinstance(version, str) else {}
        return {"system": self.name, "kind": "python", **told, "code": self._code}

    def holds(self, document_ids: Collection[str]) -> frozenset[str] | None:
        """Which of these it has indexed, where it has a `holds` of its own; None: it does not tell."""
        holds = getattr(self._function, "holds", None)
        return frozenset(holds(document_ids)) if callable(holds) else None

    def close(self) -> None:
        """Close what has a `close` of its own."""
        close = getattr(self._function, "close", None)
        if callable(close):
            close()


def load_function(target: str, folder: Path) -> PythonFunction:
    """The function that `pkg.module:name` names; dots after the colon lead into what the module has."""
    module_name, _, path = target.partition(":")
    function = load_attribute(target, folder)
    if isinstance(function, type):
        function = function()
    if not callable(function):
        raise UnknownSystem(f"{path} of {module_name} cannot be called", remedy="Name a function of (query, k).")
    return PythonFunction(function, target)


def load_attribute(target: str, folder: Path) -> Any:
    """Return what `pkg.module:name` names, looked for in the folder first."""
    module_name, _, path = target.partition(":")
    if not module_name or not path:
        raise UnknownSystem(
            f"python:{target} does not name a function", remedy="Write it like python:my_package.search:retrieve."
        )
    return _attribute(_module(module_name, folder), module_name, path)


_FOLDERS: set[str] = set()
"""Folders that were put on the path of modules here."""


def _module(name: str, folder: Path) -> Any:
    place = str(folder.resolve())
    if place in _FOLDERS and place in sys.path:
        # To the front: another folder may have been looked into since, and may hold a module of the same name.
        sys.path.remove(place)
    if place not in sys.path:
        sys.path.insert(0, place)
        _FOLDERS.add(place)
    _forget_namesake(name.partition(".")[0], Path(place))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name and problem.name.partition(".")[0] != name.partition(".")[0]:
            raise UnknownSystem(
                f"{name} needs the module {problem.name!r}, which is not installed", remedy=f"Install {problem.name}."
            ) from problem
        raise UnknownSystem(
            f"there is no module {problem.name!r} in {folder} or among what is installed",
            remedy="Run it from the folder that holds the module.",
        ) from problem
    except Exception as problem:
        raise UnknownSystem(
            f"{name} cannot be imported: {type(problem).__name__}: {problem}", remedy="Mend the module."
        ) from problem


def _forget_namesake(name: str, folder: Path) -> None:
    """Drop a module that was imported from another folder when this folder has one of the same name.

    Otherwise a process that runs `python:mine:search` in two folders would ask the function of the first one twice.
    Installed packages are never dropped.
    """
    file = getattr(sys.modules.get(name), "__file__", None)
    own = next((path for path in (folder / f"{name}.py", folder / name / "__init__.py") if path.is_file()), None)
    if file is None or own is None or Path(file).resolve() == own:
        return
    if not any(str(parent) in _FOLDERS for parent in Path(file).resolve().parents):
        return
    for loaded in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[loaded]
    importlib.invalidate_caches()


def _attribute(module: Any, module_name: str, path: str) -> Any:
    found = module
    for part in path.split("."):
        if not hasattr(found, part):
            known = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
            raise UnknownSystem(
                f"{module_name} has no {path!r}", remedy=f"It has: {', '.join(sorted(known)[:10]) or 'no functions'}."
            )
        found = getattr(found, part)
    return found


def _parameters(function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # some written in C have no signature
        return {}
