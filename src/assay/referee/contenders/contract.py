"""The contract of every system that `assay bench memory` compares.

    fill(user, items)       put items into the user's memory
    ask(user, question, k)  the best k items for a question, best first
    update(user, item)      give an item another text
    delete(user, item_id)   remove an item
    close()                 give everything back; opened again on the same folder, it still holds what it was given

A contender is also a `System` of `assay run`: it says what it is made of in `subject()`. What it cannot do it declares,
instead of accepting an argument and ignoring it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.records.datasets import Case
from assay.records.evaluations import Retrieved
from assay.referee.sets.values import MemoryItem
from assay.systems.protocol import System

FILTERS, LIMIT, TIMESTAMPS = "filters", "limit", "timestamps"
CAN_BE_IGNORED = (FILTERS, LIMIT, TIMESTAMPS)
"""What a contender may declare that it ignores: conditions on the search, the requested k, the items' dates."""
UNKNOWN_EMBEDDER = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class ContenderHit:
    """One result."""

    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a contender says about itself before it is measured."""

    ignores: tuple[str, ...] = ()
    embedder: str | None = None
    """The model behind its vectors; None: it has none; `unknown`: it does not say."""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    """How it was set up, with every default that was changed."""
    persistent: bool = True
    """Whether what it holds survives a restart."""
    rewrites: bool = False
    """Whether it returns other texts than it was filled with, such as extracted facts."""

    def __post_init__(self) -> None:
        wrong = next((name for name in self.ignores if name not in CAN_BE_IGNORED), None)
        if wrong is not None:
            raise InputError(
                f"a system declares that it ignores {wrong!r}", remedy=f"Use some of: {', '.join(CAN_BE_IGNORED)}."
            )

    def as_json(self) -> dict[str, Any]:
        """Return it as a capsule keeps it."""
        return {
            "ignores": list(self.ignores),
            "embedder": self.embedder,
            "configuration": dict(self.configuration),
            "persistent": self.persistent,
            "rewrites": self.rewrites,
        }


class Contender(System):
    """A memory system under comparison."""

    @property
    @abstractmethod
    def declaration(self) -> Declaration:
        """What it says about itself."""

    @abstractmethod
    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        """Put items into a user's memory, in order."""

    @abstractmethod
    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        """Return the best items of the user's memory for a question, best first, k of them at most."""

    @abstractmethod
    def update(self, user: str, item: MemoryItem) -> None:
        """Give an item that is there another text."""

    @abstractmethod
    def delete(self, user: str, item_id: str) -> None:
        """Remove an item."""

    def model_calls(self) -> int:
        """Return how many calls to a chat model were made so far; embedders are not counted."""
        return 0

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        """Answer as a system of `assay run`: the case's session names the user."""
        user = case.session.session_id if case.session is not None and case.session.session_id else ""
        return Retrieved(ids=tuple(hit.id for hit in self.ask(user, query, k)))

    def subject(self) -> Mapping[str, Any]:
        """Return what it is made of."""
        return {"system": self.name, "kind": "contender", **self.declaration.as_json()}


@dataclass(frozen=True, kw_only=True)
class OpenContender:
    """What a contender is opened with."""

    folder: Path
    """An empty folder, or one that the same contender was closed on."""
    embedder: Any = None
    """The embedder that all vector systems share; None where none is installed."""
    seed: int = 0
