"""A store of LangGraph over Assay's memory: `graph.compile(store=AssayStore())`.

An item is a memory: its namespace is the folder, its value is kept as metadata, and the text of its value is what
searches find. A value that is put again becomes a new version. Deleting an item erases it. Items are saved without the
gate, which would merge or refuse notes that look alike: a store gives back what was put. Secrets in values are masked,
as in every memory.

Not supported, and refused: `ttl`.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from assay.api import Memory
from assay.errors import BadValue
from assay.extras import refuse_package
from assay.hashing import content_hash
from assay.records import Draft, Format
from assay.records.memory import MemoryRecord

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
        tokenize_path,
    )
except ModuleNotFoundError as problem:
    raise refuse_package("langgraph", problem) from problem

KEPT = "langgraph"
"""The metadata under which an item is kept."""
TITLE = 80
MOST = 100
"""Results that a search looks at, at most."""
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class AssayStore(BaseStore):
    """Keeps items as memories; without a `memory`, in the memory of the settings."""

    __slots__ = ("memory",)

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = memory or Memory()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations in order."""
        return [self._do(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations in order, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _do(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op.namespace, op.key)
        if isinstance(op, PutOp):
            self._put(op)
            return None
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list(op)
        raise BadValue(f"{op!r} is not an operation of a store", remedy="Use get, put, delete, search or list.")

    def _get(self, namespace: tuple[str, ...], key: str) -> Item | None:
        with self.memory.engine.store.reading(self.memory.scope) as work:
            source = _source(namespace, key)
            current = work.memories.current_of_source(source)
            if current is None:
                return None
            begun = min(version.created_at for version in work.memories.by_source(source))
        kept = current.metadata[KEPT]
        return Item(value=kept["value"], key=key, namespace=namespace, created_at=begun, updated_at=current.created_at)

    def _put(self, op: PutOp) -> None:
        if op.ttl is not None:
            raise BadValue(f"a ttl of {op.ttl} minutes is not supported", remedy="Put items without a ttl.")
        source = _source(op.namespace, op.key)
        if op.value is None:
            with self.memory.engine.store.reading(self.memory.scope) as work:
                current = work.memories.current_of_source(source)
            if current is not None:
                self.memory.forget(current.id, versions=True)
            return
        text = _text(op)
        draft = Draft(
            title=text.partition("\n")[0][:TITLE].strip() or op.key,
            body=text,
            format=Format.TEXT,
            folder=_folder(op.namespace),
            metadata={
                KEPT: {
                    "namespace": list(op.namespace),
                    "key": op.key,
                    "value": dict(op.value),
                    "indexed": op.index is not False,
                }
            },
            source_id=source,
            # Values may differ where their texts are equal.
            source_hash=content_hash([text, dict(op.value), op.index]),
            written_with="langgraph",
            automated=True,
        )
        for _, outcome in self.memory.engine.saver.save_many(self.memory.scope, [draft]):
            error = getattr(outcome, "error", None)
            if error is not None:
                raise error

    def _search(self, op: SearchOp) -> list[SearchItem]:
        found: list[tuple[MemoryRecord, float | None]]
        if op.query is None:
            found = [(record, None) for record in self._records(op.namespace_prefix)]
            found.sort(key=lambda pair: pair[0].created_at, reverse=True)
        else:
            found = list(self._find(op.query, op.namespace_prefix))
        fitting = [
            SearchItem(
                namespace=tuple(record.metadata[KEPT]["namespace"]),
                key=record.metadata[KEPT]["key"],
                value=record.metadata[KEPT]["value"],
                created_at=record.created_at,
                updated_at=record.created_at,
                score=score,
            )
            for record, score in found
            if _fits(record.metadata[KEPT]["value"], op.filter or {})
        ]
        return fitting[op.offset : op.offset + op.limit]

    def _find(self, query: str, prefix: tuple[str, ...]) -> Iterator[tuple[MemoryRecord, float | None]]:
        hits = self.memory.search(query, k=MOST, folder=_folder(prefix) or None).hits
        with self.memory.engine.store.reading(self.memory.scope) as work:
            for hit in hits:
                record = work.memories.get(hit.memory_id)
                if KEPT in record.metadata and record.metadata[KEPT]["indexed"]:
                    yield record, hit.score

    def _records(self, prefix: tuple[str, ...]) -> Iterator[MemoryRecord]:
        """Every current item below a namespace."""
        after = ""
        with self.memory.engine.store.reading(self.memory.scope) as work:
            while page := work.memories.page(after=after):
                after = page[-1].id
                for record in page:
                    kept = record.metadata.get(KEPT)
                    if kept and record.superseded_at is None and tuple(kept["namespace"][: len(prefix)]) == prefix:
                        yield record

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        known = {tuple(record.metadata[KEPT]["namespace"]) for record in self._records(())}
        fitting = {
            namespace[: op.max_depth]
            for namespace in known
            if all(_matches(condition, namespace) for condition in op.match_conditions or ())
        }
        return sorted(fitting)[op.offset : op.offset + op.limit]


def _source(namespace: tuple[str, ...], key: str) -> str:
    return f"langgraph:{content_hash([*namespace, key])}"


def _folder(namespace: tuple[str, ...]) -> str:
    return "/".join(quote(label, safe="") for label in namespace)


def _text(op: PutOp) -> str:
    """The text that searches find: of the named fields, else of every text in the value."""
    named = [text for path in op.index or () for text in get_text_at_path(op.value, tokenize_path(path))]
    texts = named if op.index else _leaves(op.value)
    return "\n".join(filter(None, (text.strip() for text in texts))) or op.key


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str):
        yield value


def _fits(value: Any, wanted: Mapping[str, Any]) -> bool:
    return all(_compare(value.get(name) if isinstance(value, Mapping) else None, what) for name, what in wanted.items())


def _compare(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if not any(name.startswith("$") for name in wanted):
        return _fits(value, wanted)
    for name, limit in wanted.items():
        if name not in _COMPARISONS:
            raise BadValue(f"{name!r} is not a comparison", remedy=f"Use one of: {', '.join(_COMPARISONS)}.")
        try:
            fits = _COMPARISONS[name](value, limit)
        except TypeError:  # what is missing or of another type is neither smaller nor larger
            return False
        if not fits:
            return False
    return True


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
