"""Find and mask what an older version stored in clear: in memories, logs, research records, verdicts and archives.

The rules for secrets grow. What they would mask today is found in everything that is stored, and with `mask` replaced
in place: memories are cut and embedded anew, other rows and archives are rewritten, index files go, and the database is
written anew so that no byte of it stays. Checkpoints and exported files are reported, not changed: they are copies made
on purpose. A run that was interrupted is finished by running it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.errors import MalformedFile
from assay.index import SearchIndexes
from assay.memory.forgetting import UNFINISHED
from assay.memory.saving.preparing import Prepared
from assay.memory.saving.saver import Saver
from assay.records import Draft, MemoryRecord, Scope
from assay.records.maintenance import RescanReport
from assay.records.memory import LABEL_FIELDS, TEXT_FIELDS
from assay.storage import Marks, Store, Work, archives
from assay.storage.archives import files_holding
from assay.storage.backend import of_file
from assay.storage.erasing import search
from assay.text.secrets import Held, find_in_json, mask_json

ROUNDS = 3
"""Passes over memories that another process changed during the scan."""
BATCH = 50
"""Memories between two writes."""
LEAST_NEEDLE = 8
"""Shortest secret that is searched for in files and checkpoints: shorter ones also occur in unrelated texts."""
MOST_NEEDLES = 2_000
_TEXTS = (*TEXT_FIELDS, *LABEL_FIELDS, "learned_triggers")


@dataclass(slots=True)
class _Seen:
    """What a look at the store found."""

    kinds: Counter[str] = field(default_factory=Counter)
    memories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    needles: dict[str, None] = field(default_factory=dict)

    def note(self, secrets: Iterable[Held]) -> None:
        """Count secrets, and keep the longer ones to look for."""
        for secret in secrets:
            self.kinds[secret.kind] += 1
            if len(secret.text) >= LEAST_NEEDLE and len(self.needles) < MOST_NEEDLES:
                # A line of a key is enough, and no file holds its line ends twice.
                self.needles[max(secret.text.splitlines(), key=len)] = None

    @property
    def marks(self) -> Marks:
        """The same as marks of rows and files."""
        return Marks(pieces=tuple(self.needles))


class Rescanning:
    """Looks for secrets in what a tenant has stored, and masks them."""

    def __init__(self, store: Store, indexes: SearchIndexes, saver: Saver) -> None:
        self._store = store
        self._indexes = indexes
        self._saver = saver

    def find(self, scope: Scope) -> RescanReport:
        """Find what today's rules would mask, and change nothing."""
        self._store.log.flush()
        return self._report(scope, self._look(scope))

    def mask(self, scope: Scope) -> RescanReport:
        """Mask it in place, erase the old bytes and search the files for them."""
        self._store.log.flush()
        seen = self._look(scope)
        found = self._report(scope, seen)
        if found.clean:
            return replace(found, masked=True)
        mask_archives(self._store, scope)
        for _ in range(ROUNDS):
            if not self._mask_memories(scope):
                break
        with self._store.writing(scope) as work:
            work.stored_secrets.mask()
            work.meta.put(UNFINISHED, "yes")
            told = {"secrets": found.secrets, "memories": len(found.memories), "kinds": dict(found.kinds)}
            work.audit.append("memory.rescan", scope.tenant, told)
        folder = self._indexes.erase(scope)
        self._store.erasing.scrub()
        with self._store.writing(scope) as work:
            work.meta.put(UNFINISHED, "no")
        return self._proven(scope, seen, found, folder)

    def _look(self, scope: Scope) -> _Seen:
        seen = _Seen()
        with self._store.reading(scope) as work:
            for memory in _every(work):
                if secrets := _secrets_of(memory):
                    seen.note(secrets)
                    seen.memories[memory.id] = tuple(sorted({secret.kind for secret in secrets}))
            for row in work.stored_secrets.rows():
                seen.note(row.secrets)
                seen.rows[row.table] += 1
        return seen

    def _report(self, scope: Scope, seen: _Seen) -> RescanReport:
        marks = seen.marks
        with self._store.reading(scope) as work:
            unfinished = work.meta.get(UNFINISHED) == "yes"
        return RescanReport(
            masked=False,
            secrets=seen.kinds.total(),
            kinds=dict(seen.kinds.most_common()),
            memories=seen.memories,
            rows=dict(seen.rows),
            files=files_holding(self._store, scope, marks) if marks.pieces else (),
            checkpoints=self._copies(scope, marks),
            unfinished=unfinished,
        )

    def _copies(self, scope: Scope, marks: Marks) -> tuple[str, ...]:
        if not marks.pieces:
            return ()
        held = self._store.checkpoints.holding(scope.tenant, marks)
        return (*(copy.id for copy in held), *(copy.name for copy in self._store.erasing.list_aside()))

    def _mask_memories(self, scope: Scope) -> int:
        """Mask the memories that hold a secret; return how many were found."""
        with self._store.reading(scope) as work:
            held = [memory for memory in _every(work) if _secrets_of(memory)]
        for start in range(0, len(held), BATCH):
            batch = held[start : start + BATCH]
            clean = [_mask_memory(memory) for memory in batch]
            prepared = self._saver.preparer.prepare(scope, [_prepare_memory(memory) for memory in clean])
            with self._store.writing(scope) as work:
                for before, memory, ready in zip(batch, clean, prepared, strict=True):
                    # Changed by somebody meanwhile: the next round sees it.
                    if work.memories.find(memory.id) == before:
                        self._write(work, memory, ready)
        return len(held)

    def _write(self, work: Work, memory: MemoryRecord, ready: Prepared) -> None:
        if not work.memories.chunks_of(memory.id):
            # Set apart: it has no chunks, and gets none.
            work.memories.update(memory)
            return
        vectors = ready.chunk_vectors()
        model = self._saver.model if vectors is not None else None
        work.memories.update(memory, ready.chunks(memory.id), vectors=vectors, model=model)

    def _proven(self, scope: Scope, seen: _Seen, found: RescanReport, folder: Path | None) -> RescanReport:
        """Search the files of the database; what other tenants' rows hold is theirs and not left."""
        needles = [(text, needle) for text in seen.needles for needle in Marks(pieces=(text,)).as_bytes()]
        files = [*self._store.erasing.files(), *_files_of(folder)]
        searched = search(files, [needle for _, needle in needles])
        there = {needles[place][0] for places in searched.found.values() for place in places}
        with self._store.reading(scope) as work:
            elsewhere = work.erasure.find_stored(there)
        left = [
            file
            for file, places in searched.found.items()
            if any(needles[place][0] not in elsewhere for place in places)
        ]
        return replace(
            found,
            masked=True,
            unfinished=False,
            files=files_holding(self._store, scope, seen.marks) if seen.needles else (),
            searched=searched.files,
            left=tuple(left),
        )


def mask_archives(store: Store, scope: Scope) -> tuple[str, ...]:
    """Mask the rows of a tenant's archives; an archive that cannot be read is left as it is."""
    with store.reading(scope) as work:
        known = [Path(file.path) for file in work.files.every()]
    changed = []
    for path in known:
        if not path.name.endswith(archives.SUFFIX) or not path.is_file():
            continue
        try:
            rows = list(archives.read(path))
            clean = [mask_json(row, "", []) for row in rows]
            if clean != rows:
                archives.write(path, archives.verify(path).tenant, clean)
                changed.append(str(path))
        except MalformedFile:
            continue
        except OSError as problem:
            raise of_file(problem, f"cannot mask {path}") from problem
    return tuple(changed)


def _every(work: Work) -> Iterator[MemoryRecord]:
    after = ""
    while page := work.memories.page(after=after):
        yield from page
        after = page[-1].id


def _secrets_of(memory: MemoryRecord) -> tuple[Held, ...]:
    texts = [getattr(memory, name) for name in _TEXTS]
    return tuple(held for value in (*texts, dict(memory.metadata)) if value for held in find_in_json(value))


def _mask_memory(memory: MemoryRecord) -> MemoryRecord:
    fields: dict[str, Any] = {}
    for name in (*_TEXTS, "metadata"):
        value = getattr(memory, name)
        clean = mask_json(value, name, []) if value else value
        fields[name] = tuple(clean) if isinstance(value, tuple) else clean
    return replace(memory, **fields)


def _prepare_memory(memory: MemoryRecord) -> Prepared:
    draft = Draft(
        title=memory.title, body=memory.body, triggers=memory.triggers, tags=memory.tags, format=memory.format
    )
    return Prepared(draft=draft, source_hash=memory.source_hash or "")


def _files_of(folder: Path | None) -> list[Path]:
    return [] if folder is None else [path for path in folder.rglob("*") if path.is_file()]
