"""Forgetting, to the last byte: memories, a person, a writer, or all of a tenant.

What is found first decides what is looked for: the ids of memories, pieces of their texts, names. Then, in an order
that can be repeated after a kill: archives and exports lose it, the rows go in one transaction, index files go, the
database is written anew, checkpoints that hold it are listed or deleted. Last, every file is searched for the bytes.

A memory into which a forgotten text was merged is kept without that merge. A memory whose text contains a person's name
is erased as a whole: the rest of a sentence about a person is still about that person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import RecordNotFound
from assay.index import SearchIndexes
from assay.memory.saving import restoring
from assay.memory.saving.drafts import RESERVED
from assay.records import Erased, ErasurePlan, Forget, MemoryRecord, Scope, Titled
from assay.records.fields import plain
from assay.storage import Marks, Store, Work
from assay.storage.archives import files_holding, strike_files
from assay.storage.erasing import ByteSearch, search

MOST_PIECES = 2_000
"""Pieces of text looked for in logs and files, over all memories."""
SHORTEST_PIECE = 20
"""Letters of a piece: shorter lines stand in many texts."""
LONGEST_PIECE = 200
UNFINISHED = "erasure_unfinished"
"""Under which the store remembers that rows are gone and their bytes perhaps not."""


class _Merge(NamedTuple):
    """A text that was merged into a memory which stays."""

    memory_id: str
    save_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What a request touches, and by what it is recognised elsewhere."""

    memories: tuple[MemoryRecord, ...]
    merges: tuple[_Merge, ...]
    queries: tuple[str, ...]
    versions: tuple[MemoryRecord, ...]
    marks: Marks

    @property
    def plan(self) -> ErasurePlan:
        """Return the same as a report."""
        return ErasurePlan(
            memories=tuple(Titled(memory.id, memory.title) for memory in self.memories),
            merges=len(self.merges),
            queries=len(self.queries),
            other_versions=tuple(Titled(version.id, version.title) for version in self.versions),
        )


class Forgetting:
    """Erases memories of one tenant for good."""

    def __init__(self, store: Store, indexes: SearchIndexes) -> None:
        self._store = store
        self._indexes = indexes

    def plan(self, scope: Scope, what: Forget) -> ErasurePlan:
        """What would go, without touching anything."""
        self._store.log.flush()
        with self._store.reading(scope) as work:
            found = _find(work, what)
            rows = work.erasure.count(None if what.everything else found.marks)
        return replace(
            found.plan,
            other_rows=dict(rows),
            files=files_holding(self._store, scope, None if what.everything else found.marks),
            checkpoints=self._copies(scope, what, found.marks, delete=False),
        )

    def forget(self, scope: Scope, what: Forget) -> Erased:
        """Erase it, and prove it."""
        self._store.log.flush()
        with self._store.reading(scope) as work:
            found = _find(work, what)
        files = strike_files(self._store, scope, None if what.everything else found.marks)
        with self._store.writing(scope) as work:
            found = _find(work, what)
            rows = self._strike(work, what, found)
            work.meta.put(UNFINISHED, "yes")
        done = Erased(plan=found.plan, rows=dict(rows), files_changed=files.changed)
        return self._finish_erasure(scope, what, found.marks, replace(done, left=files.unreadable))

    def finish(self, scope: Scope) -> Erased:
        """Write the database anew after an erasure that was cut short; does no harm when none was."""
        self._scrub(scope)
        return Erased(plan=ErasurePlan(memories=(), merges=0, queries=0))

    def was_cut_short(self, scope: Scope) -> bool:
        """Whether an erasure was cut short before the bytes were gone."""
        with self._store.reading(scope) as work:
            return work.meta.get(UNFINISHED) == "yes"

    def _finish_erasure(self, scope: Scope, what: Forget, marks: Marks, done: Erased) -> Erased:
        index = self._indexes.erase(scope)
        self._scrub(scope)
        copies = self._copies(scope, what, marks, delete=what.checkpoints)
        searched, shared = self._search_bytes(scope, marks, index)
        return replace(
            done,
            index_deleted=None if index is None else str(index),
            checkpoints=copies,
            checkpoints_deleted=what.checkpoints and bool(copies),
            searched=searched.files,
            left=(*done.left, *searched.found),
            said_elsewhere=shared,
        )

    def _strike(self, work: Work, what: Forget, found: _Found) -> Counter[str]:
        if what.everything:
            return work.erasure.strike_tenant(self._store.ids.new("ep"))
        for memory in found.memories:
            work.memories.remove(memory.id)
        rows = Counter({"memories": len(found.memories)})
        rows["memory_saves"] += _unmerge(work, found.merges)
        rows["learned_terms"] += _unlearn(work, found)
        rows["edges"] += _drop_kept_edges(work, found)
        rows["eval_queries"] += work.erasure.remove_queries(found.queries)
        rows += work.erasure.strike(found.marks)
        if what.writer is not None:
            rows += work.erasure.rename_actor(what.writer, self._store.ids.new("erased"))
        told = {"memories": len(found.memories), "queries": len(found.queries), "merges": len(found.merges)}
        for target in what.memory_ids or (["person"] if what.names else ["writer"]):
            work.audit.append("memory.forget", target, told)
        return +rows

    def _scrub(self, scope: Scope) -> None:
        self._store.erasing.scrub()
        with self._store.writing(scope) as work:
            work.meta.put(UNFINISHED, "no")

    def _copies(self, scope: Scope, what: Forget, marks: Marks, *, delete: bool) -> tuple[str, ...]:
        """Return the copies that hold it, and every file that a restore kept aside, since not all can be read."""
        held = self._store.checkpoints.holding(scope.tenant, None if what.everything else marks)
        aside = self._store.erasing.list_aside()
        if delete:
            for memory in held:
                self._store.checkpoints.delete(memory.id)
            for copy in aside:
                self._store.erasing.remove_aside(copy)
        return (*(memory.id for memory in held), *(copy.name for copy in aside))

    def _search_bytes(self, scope: Scope, marks: Marks, index: Path | None) -> tuple[ByteSearch, tuple[str, ...]]:
        """Search the files for the erased bytes. Text that other rows rightly hold is reported separately."""
        texts = [*marks.pieces, *marks.names]
        files = [*self._store.erasing.files(), *_files_of(index)]
        needles = [(text, needle) for text in texts for needle in Marks(pieces=(text,)).as_bytes()]
        searched = search(files, [needle for _, needle in needles])
        seen = {needles[place][0] for places in searched.found.values() for place in places}
        with self._store.reading(scope) as work:
            shared = work.erasure.find_stored(seen)
        left = {
            file: real
            for file, places in searched.found.items()
            if (real := [place for place in places if needles[place][0] not in shared])
        }
        return ByteSearch(searched.files, left), tuple(sorted(shared))


def _find(work: Work, what: Forget) -> _Found:
    if what.everything:
        return _found_everything(work)
    named = Marks(names=what.names)
    if what.memory_ids:
        memories, versions = _choose_memories(work, what)
    else:
        held = (memory for memory in _every(work) if _concerns(memory, what.writer, named))
        memories, versions = list(held), []
    gone = {memory.id for memory in memories}
    merges = [] if what.memory_ids else list(_merges(work, what.writer, named, gone))
    marks = Marks(ids=frozenset(gone), names=what.names, pieces=_pieces(memories))
    queries = work.erasure.queries_holding(marks)
    return _Found(
        memories=tuple(memories),
        merges=tuple(merges),
        queries=tuple(queries),
        versions=tuple(versions),
        marks=marks.and_ids(queries),
    )


def _found_everything(work: Work) -> _Found:
    memories = tuple(_every(work))
    queries = tuple(query.query_id for query in work.queries.recent(limit=work.queries.count()))
    marks = Marks(ids=frozenset(memory.id for memory in memories), pieces=_pieces(memories)).and_ids(queries)
    return _Found(memories=memories, merges=(), queries=queries, versions=(), marks=marks)


def _choose_memories(work: Work, what: Forget) -> tuple[list[MemoryRecord], list[MemoryRecord]]:
    chosen = {memory_id: work.memories.get(memory_id) for memory_id in what.memory_ids}
    sources = {memory.source_id for memory in chosen.values() if memory.source_id is not None}
    related = {
        related_memory.id: related_memory for source in sources for related_memory in work.memories.by_source(source)
    }
    if what.versions:
        return list({**chosen, **related}.values()), []
    return list(chosen.values()), [
        related_memory for related_memory in related.values() if related_memory.id not in chosen
    ]


def _every(work: Work) -> Iterator[MemoryRecord]:
    after = ""
    while page := work.memories.page(after=after):
        yield from page
        after = page[-1].id


def _concerns(memory: MemoryRecord, writer: str | None, named: Marks) -> bool:
    """Whether a memory is a writer's, or names a person anywhere but in what was merged into it or learned."""
    if writer is not None:
        return memory.written_by == writer
    metadata = {key: value for key, value in memory.metadata.items() if key != RESERVED}
    texts = (memory.title, memory.body, memory.rel_path, memory.folder, memory.source_id or "", memory.written_by)
    return named.in_value([*texts, list(memory.triggers), list(memory.tags), metadata])


def _list_merged(memory: MemoryRecord) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = memory.metadata.get(RESERVED, {}).get("merged", [])
    return found


def _merges(work: Work, writer: str | None, named: Marks, gone: set[str]) -> Iterator[_Merge]:
    """Merges of a writer's texts, or of texts that name a person, into memories that stay."""
    for memory in _every(work):
        for entry in _list_merged(memory) if memory.id not in gone else ():
            if _entry_concerns(work, entry, writer, named):
                yield _Merge(memory.id, entry["save_id"])


def _entry_concerns(work: Work, entry: Mapping[str, Any], writer: str | None, named: Marks) -> bool:
    if writer is not None:
        return bool(entry.get("written_by") == writer)
    try:
        incoming = work.saves.get(entry["save_id"]).detail
    except RecordNotFound:
        incoming = {}
    return named.in_value([dict(entry), dict(incoming)])


def _unmerge(work: Work, merges: Iterable[_Merge]) -> int:
    """Take merged texts out of memories that stay, with the triggers they brought."""
    by_memory: dict[str, set[str]] = {}
    for merge in merges:
        by_memory.setdefault(merge.memory_id, set()).add(merge.save_id)
    for memory_id, save_ids in by_memory.items():
        memory = work.memories.get(memory_id)
        entries = _list_merged(memory)
        brought = {
            trigger for entry in entries if entry["save_id"] in save_ids for trigger in entry.get("triggers", ())
        }
        own = {**memory.metadata[RESERVED], "merged": [entry for entry in entries if entry["save_id"] not in save_ids]}
        triggers = tuple(trigger for trigger in memory.triggers if trigger not in brought)
        work.memories.update(replace(memory, triggers=triggers, metadata={**memory.metadata, RESERVED: own}))
    return work.erasure.remove_saves(save_id for save_ids in by_memory.values() for save_id in save_ids)


def _unlearn(work: Work, found: _Found) -> int:
    """Take words from memories that stay, when they were learned from a search that goes or are part of a name."""
    terms = set(work.erasure.terms_learned_from(found.queries))
    names = found.marks.word_by_word()
    for memory in _every(work):
        learned = memory.learned_triggers
        kept = tuple(word for word in learned if (memory.id, word) not in terms and not names.in_value(word))
        if kept != learned:
            terms |= {(memory.id, word) for word in learned if word not in kept}
            work.memories.update(replace(memory, learned_triggers=kept))
    return work.erasure.remove_terms(terms)


def _drop_kept_edges(work: Work, found: _Found) -> int:
    """Take edges out of forgotten memories that stay, when they lead to what goes or their evidence names it."""
    dropped = 0
    for memory in _every(work):
        kept = restoring.load_edges(memory)
        gone = [edge for edge in kept if found.marks.in_value(plain(edge))]
        if gone:
            work.memories.update(restoring.drop_edges(memory, gone))
            dropped += len(gone)
    return dropped


def _pieces(memories: Iterable[MemoryRecord]) -> tuple[str, ...]:
    """Pieces of texts that are long enough to be theirs alone, the longest of each memory first."""
    texts = list(map(_pieces_of, memories))
    each = max(1, MOST_PIECES // max(1, len(texts)))
    return tuple(dict.fromkeys(piece for some in texts for piece in some[:each]))[:MOST_PIECES]


def _pieces_of(memory: MemoryRecord) -> list[str]:
    lines = (memory.title, *memory.triggers, *memory.body.splitlines())
    found = sorted({line.strip()[:LONGEST_PIECE].strip() for line in lines}, key=lambda line: (-len(line), line))
    # A memory of short lines is looked for by its longest one.
    return [line for line in found if len(line) >= SHORTEST_PIECE] or [line for line in found[:1] if line]


def _files_of(folder: Path | None) -> list[Path]:
    return [] if folder is None else [path for path in folder.rglob("*") if path.is_file()]
