"""What a system is, and the hashes of its code that show when it changed.

- Hashes of the source files behind a Python system.
- The protocol of a system.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import threading
import time
from abc import ABC, abstractmethod
from functools import partial
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar

from assay.errors import InputError
from assay.hashing import HASH_PREFIX, content_hash

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from assay.records.answers import GivenAnswer
    from assay.records.datasets import Case
    from assay.records.evaluations import Retrieved, Seen

# --- Hashes of the source files behind a Python system ---
#
# A module's file is hashed, and every file below the same folder that it imports, directly or through others.
# Installed packages are not followed from there; a system that is itself installed is followed within its own package.
# What cannot be known here is what the code reads when it runs: a model, an index, a service. Code without a file, as
# typed into a session, is known by its compiled form.

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_PARSER = threading.Lock()
"""Only one thread parses at a time: Python 3.11 counts the depth of the tree in one place for all threads, and raises
`SystemError` when two parsers meet."""
_INIT = "__init__.py"


def code_of(thing: Any) -> dict[str, str]:
    """Hashes of the code of a function, a class or an object that can be called, by file."""
    made = _behind(thing)
    return code_of_module(getattr(made, "__module__", "") or "") or _describe_compiled(made)


def code_of_module(name: str) -> dict[str, str]:
    """Hashes of the file of an imported module and of what it imports; empty where it has no file."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or file is None or not Path(file).is_file():
        return {}
    path = Path(file).resolve()
    return file_hashes(path, _root(path, module.__name__))


def file_hashes(path: Path, root: Path) -> dict[str, str]:
    """Hashes of a Python file and of what it imports below a folder, by path below that folder."""
    own = None if not _INSTALLED & set(root.parts) else path.relative_to(root).parts[0]
    found: dict[str, str] = {}
    waiting = [path]
    while waiting:
        at = waiting.pop()
        name = at.relative_to(root).as_posix()
        if name in found or (own is not None and at.relative_to(root).parts[0] != own):
            continue
        content = at.read_bytes()
        found[name] = HASH_PREFIX + hashlib.sha256(content).hexdigest()
        waiting += _find_imports(content, at, root)
    return dict(sorted(found.items()))


def _behind(thing: Any) -> Any:
    """The function or class that does the work."""
    while isinstance(thing, partial):
        thing = thing.func
    thing = getattr(thing, "__func__", thing)
    return thing if isinstance(thing, type) or hasattr(thing, "__code__") else type(thing)


def _root(path: Path, module: str) -> Path:
    """The folder that the module is imported from: as many folders up as its name has dots."""
    up = 0 if module == "__main__" else module.count(".") + (path.name == _INIT)
    return path.parents[min(up, len(path.parents) - 1)]


def _find_imports(content: bytes, path: Path, root: Path) -> Iterator[Path]:
    """The files below the root that a file imports, with the packages they stand in."""
    try:
        with _PARSER:
            tree = _parse(content)
    except (SyntaxError, ValueError):  # it cannot be imported either; its own hash is all there is
        return
    for node in ast.walk(tree):
        for name in _names(node, path, root):
            yield from _files(name, root)


def _parse(content: bytes, tries: int = 20) -> ast.Module:
    """Parse, again where a thread of another library that does not know of the lock was in the way."""
    for _ in range(tries - 1):
        try:
            return ast.parse(content)
        except SystemError:
            time.sleep(0.001)
    return ast.parse(content)


def _names(node: ast.AST, path: Path, root: Path) -> Iterator[str]:
    """Full names of the modules that an import statement may load."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        package = path.parent.relative_to(root).parts
        before = package[: len(package) - node.level + 1] if node.level else ()
        base = ".".join([*before, *([node.module] if node.module else [])])
        yield base
        yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)


def _files(module: str, root: Path) -> Iterator[Path]:
    parts = [part for part in module.split(".") if part]
    for length in range(1, len(parts) + 1):
        place = root.joinpath(*parts[:length])
        for file in (place.with_suffix(".py"), place / _INIT):
            if file.is_file() and file.resolve().is_relative_to(root):
                yield file.resolve()


def _describe_compiled(made: Any) -> dict[str, str]:
    """The compiled form of code that has no file; of a class, of all its functions."""
    codes = (
        {name: value.__code__ for name, value in vars(made).items() if hasattr(value, "__code__")}
        if isinstance(made, type)
        else {"function": made.__code__}
    )
    return {name: content_hash(_describe_code(code)) for name, code in sorted(codes.items())}


def _describe_code(code: CodeType) -> list[Any]:
    constants = [
        _describe_code(constant) if isinstance(constant, CodeType) else repr(constant) for constant in code.co_consts
    ]
    return [code.co_code.hex(), list(code.co_names), constants]


# --- The protocol of a system ---
#
# A `System` may raise, hang or return nonsense: the runner asks it through `boundary.ask`, where each of these becomes
# an outcome. What a system cannot tell (which documents it holds, how it came to its list, an answer) it leaves at
# None.


class System(ABC):
    """One thing under test. `name` is what tables call it."""

    name: str
    replays: ClassVar[bool] = False
    """Whether it only gives what was recorded before, so that a new question teaches nothing."""

    @abstractmethod
    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        """Documents for a query, best first, k of them at most."""

    def subject(self) -> Mapping[str, Any]:
        """What it is made of, as plain JSON values: what may differ between two runs that are compared.

        A run is resumed only with an equal subject. Here it is the name and the code of the class; add what else
        decides the results, such as a model or an index.
        """
        return {"system": self.name, "code": code_of(type(self))}

    def answer(self, question: str, case: Case) -> GivenAnswer | None:  # noqa: ARG002 - for those that answer
        """An answer in words; None: it only retrieves, or its answer came with what it retrieved."""
        return None

    def save(self, case: Case) -> Retrieved:
        """Save what a case gives beside the document that is there already; what became of it is in `saved`."""
        raise InputError(
            f"{self.name} cannot save: it only searches, and {case.id} is a save",
            remedy="Run a dataset of questions, or evaluate assay.",
        )

    def seen(self, case: Case, given: Retrieved) -> Seen | None:  # noqa: ARG002 - for those that know
        """How it made the list it gave for a case; called after the clock has stopped. None where it is not known."""
        return None

    def holds(self, document_ids: Collection[str]) -> frozenset[str] | None:  # noqa: ARG002 - for those that know
        """Which of these documents it has indexed; None where it is not known."""
        return None

    def close(self) -> None:  # noqa: B027 - most have nothing to give back
        """Give everything back. Closing twice is fine."""
