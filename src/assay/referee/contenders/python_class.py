"""A class of your own as a contender: `python:MODULE:NAME`.

class MyMemory:
def __init__(self, folder, embedder): ...      # both optional
def fill(self, user, items): ...               # items have id, text, session, speaker, date
def ask(self, user, question, k): ...          # ids, or (id, text) pairs, best first
def update(self, user, item): ...              # optional
def delete(self, user, item_id): ...           # optional
def close(self): ...                           # optional

ignores = ("filters", "timestamps")            # what it does not use; optional
embedder = "my-model"                          # optional: name of its model; None if it has none
configuration = {"top": 20}                    # optional
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import BadValue, InputError, UnknownSystem
from assay.referee.contenders.contract import Contender, ContenderHit, Declaration, OpenContender
from assay.referee.sets.values import MemoryItem
from assay.systems.protocol import code_of

NEEDED = ("fill", "ask")


class PythonContender(Contender):
    """Calls a class's methods."""

    def __init__(self, made: Any, name: str) -> None:
        missing = [method for method in NEEDED if not callable(getattr(made, method, None))]
        if missing:
            raise UnknownSystem(
                f"{name} has no method {missing[0]}", remedy="Give it that method; see `assay help bench memory`."
            )
        self.name = name
        self._made = made
        self._texts: dict[str, dict[str, str]] = {}

    @property
    def declaration(self) -> Declaration:
        """Return what the class says of itself."""
        embedder = getattr(self._made, "embedder", None)
        return Declaration(
            ignores=tuple(getattr(self._made, "ignores", ())),
            embedder=embedder if embedder is None or isinstance(embedder, str) else str(embedder.model),
            configuration=dict(getattr(self._made, "configuration", {})),
            persistent=bool(getattr(self._made, "persistent", True)),
        )

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        """Call its `fill`."""
        self._texts.setdefault(user, {}).update({item.id: item.text for item in items})
        self._made.fill(user, items)

    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        """Call its `ask`; an id alone has the text that it was filled with."""
        return [self._read(user, result) for result in self._made.ask(user, question, k)]

    def update(self, user: str, item: MemoryItem) -> None:
        """Call its `update`."""
        self._need("update")(user, item)
        self._texts.setdefault(user, {})[item.id] = item.text

    def delete(self, user: str, item_id: str) -> None:
        """Call its `delete`."""
        self._need("delete")(user, item_id)

    def close(self) -> None:
        """Call its `close`, where it has one."""
        close = getattr(self._made, "close", None)
        if callable(close):
            close()

    def subject(self) -> Mapping[str, Any]:
        """Return its declaration and hashes of its code."""
        return {**super().subject(), "code": code_of(type(self._made))}

    def _need(self, method: str) -> Any:
        found = getattr(self._made, method, None)
        if not callable(found):
            raise InputError(f"{self.name} has no method {method}", remedy=f"Write {method}, or do without it.")
        return found

    def _read(self, user: str, result: Any) -> ContenderHit:
        if isinstance(result, ContenderHit):
            return result
        if isinstance(result, str):
            return ContenderHit(id=result, text=self._texts.get(user, {}).get(result, ""))
        if isinstance(result, Sequence) and len(result) == 2:
            return ContenderHit(id=str(result[0]), text=str(result[1]))
        raise BadValue(
            f"{self.name} returned {str(result)[:80]!r} as a result", remedy="Return ids, or pairs of id and text."
        )


def make_contender(factory: Any, name: str, opened: OpenContender) -> PythonContender:
    """Call a class or factory with what it takes of `folder`, `embedder` and `seed`."""
    offered = {"folder": opened.folder, "embedder": opened.embedder, "seed": opened.seed}
    try:
        known = set(inspect.signature(factory).parameters)
    except (TypeError, ValueError):  # some written in C have no signature
        known = set()
    return PythonContender(factory(**{key: value for key, value in offered.items() if key in known}), name)
