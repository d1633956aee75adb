"""Assay itself as a contender: a tenant for each user, a memory for each item, the search that users have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from assay.errors import InputError
from assay.formats.memory_files.reading import title_of
from assay.memory.saving.saver import Refused
from assay.records import Draft, Filters, Format, Mode, Origin, Scope, SearchRequest
from assay.records.fields import one_of
from assay.referee.contenders.contract import FILTERS, Contender, ContenderHit, Declaration
from assay.referee.contenders.plain import folder_name, missing_item
from assay.referee.sets.values import MemoryItem
from assay.text.surroundings import find_surroundings

if TYPE_CHECKING:
    from assay.memory.engine import Engine

TOOL = "assay bench"


class AssayMemory(Contender):
    """Saves and searches as `assay save` and `assay search` do.

    The title of a memory is the beginning of its text, as in an import; the id of an item is never part of what is
    searched. Items are saved without the quality gate, which only warns in a new store anyway.
    """

    def __init__(self, engine: Engine, *, name: str = "assay", configuration: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self._engine = engine
        self._configuration = dict(configuration or {})
        self._mode = one_of(Mode)(self._configuration["mode"], "mode") if "mode" in self._configuration else Mode.AUTO
        self._items: dict[str, dict[str, str]] = {}

    @property
    def declaration(self) -> Declaration:
        """Return mode and model."""
        embedder = self._engine.embedder
        return Declaration(
            ignores=(FILTERS,),
            embedder=None if embedder is None else embedder.model,
            configuration={"mode": "chosen by the question", **self._configuration},
        )

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        """Save the items in order."""
        scope = _scope(user)
        for draft, outcome in self._engine.saver.save_many(scope, _drafts(items)):
            if isinstance(outcome, Refused):
                raise InputError(f"{draft.source_id}: {outcome.reason}", remedy="Leave the item out.")
        self._engine.indexes.compact(scope)
        self._items.pop(user, None)

    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        """Search, and name the items that the memories were made of."""
        request = SearchRequest(
            query=question, k=k, mode=self._mode, filters=Filters(), origin=Origin.EVALUATION, tool_name=TOOL
        )
        result = self._engine.searcher.search(_scope(user), request)
        sources = self._sources(user)
        with self._engine.store.reading(_scope(user)) as work:
            bodies = {hit.memory_id: work.memories.get(hit.memory_id).body for hit in result.hits}
        return [
            ContenderHit(id=sources.get(hit.memory_id, hit.memory_id), text=bodies[hit.memory_id])
            for hit in result.hits
        ]

    def update(self, user: str, item: MemoryItem) -> None:
        """Save a new version that takes the old one's place."""
        memory_id = self._find(user, item.id)
        self._engine.saver.update(_scope(user), memory_id, {"title": title_of(item.text), "body": item.text}, tool=TOOL)
        self._items.pop(user, None)

    def delete(self, user: str, item_id: str) -> None:
        """Hide the memory from every search."""
        self._engine.saver.forget(_scope(user), self._find(user, item_id))

    def close(self) -> None:
        """Close the store."""
        self._engine.close()

    def _find(self, user: str, item_id: str) -> str:
        with self._engine.store.reading(_scope(user)) as work:
            memory = work.memories.current_of_source(item_id)
        if memory is None:
            raise missing_item(self.name, user, item_id)
        return memory.id

    def _sources(self, user: str) -> Mapping[str, str]:
        """Return the item of each memory."""
        if user not in self._items:
            found: dict[str, str] = {}
            after = ""
            with self._engine.store.reading(_scope(user)) as work:
                while page := work.memories.page(after=after):
                    after = page[-1].id
                    found |= {memory.id: memory.source_id for memory in page if memory.source_id}
            self._items[user] = found
        return self._items[user]


def _scope(user: str) -> Scope:
    return Scope(tenant=folder_name(user))


def _drafts(items: Sequence[MemoryItem]) -> Iterator[Draft]:
    """The items in order; turns of one session with what stands around them, as `assay ingest --conversation` saves."""
    for _, sitting in groupby(items, key=lambda item: (item.session, bool(item.speaker))):
        together = list(sitting)
        is_chat = bool(together[0].speaker)
        around = find_surroundings([item.text for item in together]) if is_chat else [""] * len(together)
        yield from map(_draft, together, around)


def _draft(item: MemoryItem, surroundings: str) -> Draft:
    return Draft(
        title=title_of(item.text) or item.id,
        body=item.text if item.text.strip() else item.id,
        format=Format.TEXT,
        surroundings=surroundings,
        source_id=item.id,
        valid_from=item.date,
        written_with=TOOL,
    )
