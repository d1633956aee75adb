"""What adapters of frameworks share: the object that a module has, and its documents and answers as results.

A system is named `langchain:MODULE:NAME`, with options after a question mark, such as `?id=source`. NAME is the object,
or a function without parameters that makes it. The working folder can be imported from.

The id of a document is the metadata field that `?id=` names; without it the field `id`, and where there is none the id
that the framework gave it.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar

from assay.errors import BadValue, UnknownSystem
from assay.extras import load_package, package_version
from assay.records.datasets import Case
from assay.records.evaluations import Retrieved
from assay.systems.adapters.options import read_options
from assay.systems.protocol import System, code_of_module
from assay.systems.python_function import load_attribute
from assay.systems.replies import at_path, read_reply

DOCUMENTS = ("documents", "context", "source_documents", "source_nodes", "passages", "results")
"""Names under which a reply may have its documents."""
ANSWERS = ("answer", "result", "output", "response")
"""Names under which it may have its answer."""
QUERIES = ("query", "question", "input", "text", "user_input")
"""Names under which it may take the query."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FrameworkTarget:
    """A framework's object as the user named it."""

    text: str
    module: str
    name: str
    options: Mapping[str, str] = field(default_factory=dict)


def read_framework_target(text: str, options: Collection[str]) -> FrameworkTarget:
    """Read `kind:MODULE:NAME?option=value`."""
    kind, _, rest = text.partition(":")
    named, _, query = rest.partition("?")
    module, _, name = named.partition(":")
    if not module or not name:
        raise UnknownSystem(
            f"{text!r} does not name an object", remedy=f"Write it like {kind}:my_module:{kind}_object."
        )
    given = read_options(text, query, options)
    return FrameworkTarget(text=text, module=module, name=name, options=given)


class FrameworkSystem(System):
    """An object of a framework under test. An adapter says which objects it takes, and asks them."""

    package: ClassVar[str]
    module: ClassVar[str]
    """One module of the package."""
    options: ClassVar[tuple[str, ...]] = ("id",)
    takes: ClassVar[str]
    """The objects it takes, for the error."""

    def __init__(self, text: str, folder: Path) -> None:
        self.name = text
        self.target = read_framework_target(text, self.options)
        load_package(self.module, self.package)
        found = load_attribute(f"{self.target.module}:{self.target.name}", folder)
        made = found() if isinstance(found, FunctionType) and not inspect.signature(found).parameters else found
        if not self.accepts(made):
            raise UnknownSystem(
                f"{text} is a {type(made).__name__}", remedy=f"Name {self.takes}, or a function that makes one."
            )
        self.thing: Any = made

    @abstractmethod
    def accepts(self, thing: Any) -> bool:
        """Whether the adapter can ask this object."""

    @abstractmethod
    def ask(self, query: str, k: int) -> Any:
        """Ask the object; return what `replies.read_reply` can read."""

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - frameworks know no cases
        """What the object replies, read."""
        return read_reply(self.ask(query, k))

    def subject(self) -> Mapping[str, Any]:
        """The package, and hashes of the module that makes the object."""
        version = f"{self.package} {package_version(self.package)}"
        return {"system": self.name, "package": version, "code": code_of_module(self.target.module)}

    def close(self) -> None:
        """Close what has a `close` of its own."""
        close = getattr(self.thing, "close", None)
        if callable(close):
            close()

    def document(
        self, facts: Mapping[str, Any] | None, own_ids: Iterable[Any], *, text: str, score: float | None = None
    ) -> dict[str, Any]:
        """Make a result of a document's metadata, the ids a framework gave it, its text and its score."""
        facts, path = facts or {}, self.target.options.get("id")
        candidates = [at_path(facts, path, what="the metadata of a document")] if path else [facts.get("id"), *own_ids]
        found = next((candidate for candidate in candidates if candidate is not None and candidate != ""), None)
        if found is None:
            raise BadValue(
                f"a document has no id; its metadata has {', '.join(map(repr, facts)) or 'nothing'}",
                remedy="Give documents an id, or name a field of their metadata: ?id=FIELD.",
            )
        return {"id": found, "text": text, **({} if score is None else {"score": float(score)})}


def first_of(found: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the first of these that a reply has; None where it has none."""
    return next((found[name] for name in names if found.get(name) is not None), None)


def steps_of(found: Mapping[str, Any], read: Callable[[list[Any]], list[Any]]) -> dict[str, Any]:
    """Return what a reply says of its channels and stages, as `systems.reported_steps` reads it.

    `read` makes results of a framework's documents. A state may have other things under the same names: only lists by
    channel are candidates, and only numbers or objects by name, or objects with a name, are stages.
    """
    candidates, stages = found.get("candidates"), found.get("stages")
    said: dict[str, Any] = {}
    if isinstance(candidates, Mapping) and all(isinstance(listed, list) for listed in candidates.values()):
        said["candidates"] = {
            str(name): read(listed) if listed and not isinstance(listed[0], (str, int, tuple, Mapping)) else listed
            for name, listed in candidates.items()
        }
    by_name = isinstance(stages, Mapping) and all(isinstance(stage, (int, float, Mapping)) for stage in stages.values())
    named = isinstance(stages, list) and all(isinstance(stage, Mapping) and "name" in stage for stage in stages)
    if stages and (by_name or named):
        said["stages"] = stages
    return said


def without_missing_scores(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop scores unless every result has one: some stores score a part of what they return."""
    if all("score" in result for result in results):
        return results
    return [{name: value for name, value in result.items() if name != "score"} for result in results]
