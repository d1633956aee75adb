"""Export: every memory as JSON lines that lose nothing, with the way back, or the current ones as Markdown notes.

- Assay's own export: every memory with all that belongs to it, as JSON lines, and restoring it.
- Export to a file: JSON lines, or Markdown notes to read.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from uuid import uuid4

from assay.errors import InputError, MalformedFile, RecordNotFound
from assay.formats.files import write_lines, writing
from assay.formats.memory_files.reading import EXPORT_KIND, Element, read_json_lines
from assay.formats.strict_json import one_line
from assay.memory.importing import OnProgress
from assay.memory.saving import Saver, drafts
from assay.memory.saving.drafts import RESERVED
from assay.memory.saving.preparing import Prepared
from assay.memory.saving.writing import tokens_of
from assay.private_files import make_private_folder
from assay.records import Draft, Edge, Format, MemoryFilter, MemoryRecord, MemoryStatus, Scope, Tier
from assay.records.fields import plain
from assay.records.learning import LearnedTerm, Safeguard, TermState
from assay.records.memory import WRITTEN_FIELDS
from assay.records.saving import Exported, ExportFormat, ImportFormat, ImportProblem, ImportReport
from assay.storage import Saved, SaveRecord, Store, Work

# --- Assay's own export: every memory with all that belongs to it, as JSON lines, and restoring it ---
#
# The first line says what the file is, the last how much it holds; between them stand `memory`, `save`, `learned_term`
# and `edge` lines. Restored into an empty store and exported again, it is the same file. What the store numbers for
# itself (rows, the change log) and what is derived (passages, vectors, indexes) is made anew; the audit log, logged
# searches, feedback and settings are not part of it.

VERSION = 1
BATCH = 64
"""Memories of one transaction."""
SET_APART = frozenset({MemoryStatus.QUARANTINED, MemoryStatus.FORGOTTEN})
"""These have no passages."""
_MOMENTS = frozenset(
    {"created_at", "updated_at", "valid_from", "superseded_at", "at", "learned_at", "applied_at", "ended_at"}
)
_TEXTS = tuple(known.name for known in WRITTEN_FIELDS if known.name not in {"metadata", "source_id"})
"""Fields that are checked and masked as a draft's are."""

Value = TypeVar("Value", MemoryRecord, Edge, SaveRecord, LearnedTerm)


def export_lines(work: Work, counts: Counter[str]) -> Iterator[str]:
    """The lines of an export; `counts` is filled while they are made."""
    yield one_line({"record": EXPORT_KIND, "version": VERSION})
    for page in _pages(work):
        saves: dict[str | None, list[SaveRecord]] = {}
        for save in work.saves.of_many([memory.id for memory in page]):
            saves.setdefault(save.memory_id, []).append(save)
        for memory in page:
            counts["memories"] += 1
            counts[memory.status.value] += 1
            yield one_line({"record": "memory", "status": memory.status.value, **plain(memory)})
            for save in saves.get(memory.id, ()):
                counts["saves"] += 1
                yield one_line({"record": "save", **plain(save)})
    for term in work.learned_terms.of():
        counts["learned_terms"] += 1
        yield one_line({"record": "learned_term", **plain(term)})
    for page in _pages(work):
        for edge in work.edges.beginning_at([memory.id for memory in page]):
            counts["edges"] += 1
            yield one_line({"record": "edge", **plain(edge)})
    sections = ("memories", "edges", "saves", "learned_terms")
    yield one_line({"record": "end", **{name: counts[name] for name in sections}})


def export_jsonl(store: Store, scope: Scope, path: Path) -> Exported:
    """Write every memory to a file that only its owner can read; whole, or not at all.

    The store notes the file first, so that erasing a memory later reaches it too.
    """
    place = path.resolve()
    with store.writing(scope) as work:
        work.files.note(str(place), "export")
    counts: Counter[str] = Counter()
    with store.reading(scope) as work:
        write_lines(place, export_lines(work, counts), private=True)
    return Exported(
        path=str(path),
        format="jsonl",
        memories=counts["memories"],
        by_status={status.value: counts[status.value] for status in MemoryStatus if counts[status.value]},
        edges=counts["edges"],
    )


def _pages(work: Work) -> Iterator[list[MemoryRecord]]:
    after = ""
    while page := work.memories.page(after=after):
        yield page
        after = page[-1].id


class Restorer:
    """Puts an export back, with ids, dates, counts and states as they were."""

    def __init__(self, *, store: Store, saver: Saver) -> None:
        self._store = store
        self._saver = saver

    def run(
        self, scope: Scope, path: Path, *, dry_run: bool = False, on_progress: OnProgress | None = None
    ) -> ImportReport:
        """Restore every line; a line that cannot be restored is named and does not stop the others."""
        run = _Run(path, on_progress)
        memories = iter(run.memories())
        while batch := list(islice(memories, BATCH)):
            if dry_run:
                self._expect(scope, batch, run)
            else:
                self._restore(scope, batch, run)
        if not dry_run:
            with self._store.writing(scope) as work:
                _restore_rest(work, run)
                work.audit.append("memory.import", path.name, {"format": "assay", **run.counts})
        return run.report(dry_run=dry_run)

    def _expect(self, scope: Scope, batch: Sequence[_Line], run: _Run) -> None:
        with self._store.reading(scope) as work:
            there = work.memories.by_ids([line.memory.id for line in batch])
        for line in batch:
            fate = _fate(there.get(line.memory.id), line.memory)
            if fate == "older":
                run.tell_older(line)
            else:
                run.counts[fate] += 1

    def _restore(self, scope: Scope, batch: Sequence[_Line], run: _Run) -> None:
        with self._store.reading(scope) as work:
            there = work.memories.by_ids([line.memory.id for line in batch])
        checked: list[tuple[_Line, Prepared]] = []
        for line in batch:
            fate = _fate(there.get(line.memory.id), line.memory)
            if fate == "older":
                run.tell_older(line)
            elif fate == "unchanged":
                run.counts["unchanged"] += 1
            elif (prepared := self._check_line(line, run)) is not None:
                checked.append((line, prepared))
        embedded = self._saver.preparer.prepare(scope, [prepared for _, prepared in checked])
        with self._store.writing(scope) as work:
            there = work.memories.by_ids([line.memory.id for line, _ in checked])
            fresh: list[Saved] = []
            for (line, _), prepared in zip(checked, embedded, strict=True):
                saved = self._make_rows(line, prepared, there.get(line.memory.id))
                if saved.memory.tier is Tier.CONSTITUTIONAL:
                    # How much room is left depends on those before it.
                    work.memories.add_many(fresh)
                    fresh.clear()
                if not _has_room(work, saved.memory, prepared.tokens, line, run):
                    continue
                self._activate(work, saved.model)
                if saved.memory.id in there:
                    work.memories.update(saved.memory, saved.chunks, vectors=saved.vectors, model=saved.model)
                else:
                    fresh.append(saved)
                run.counts["updated" if saved.memory.id in there else "imported"] += 1
                run.chunks += len(saved.chunks)
            work.memories.add_many(fresh)

    def _check_line(self, line: _Line, run: _Run) -> Prepared | None:
        """The texts of a memory, masked; None when it cannot be kept."""
        memory = line.memory
        given = {name: getattr(memory, name) for name in _TEXTS}
        own = {key: value for key, value in memory.metadata.items() if key != RESERVED}
        try:
            prepared = self._saver.preparer.check(Draft(**given, metadata=own), scored=False)
        except InputError as problem:
            run.problem(line.number, "refused", problem.message)
            return None
        run.masked += len(prepared.masks)
        return prepared

    def _make_rows(self, line: _Line, prepared: Prepared, there: MemoryRecord | None) -> Saved:
        """The rows of a memory: its fields as the file has them, its texts masked.

        What it learned stays as it is here: a file proves nothing of how a word was learned.
        """
        own = line.memory.metadata.get(RESERVED)
        kept: dict[str, Any] = {name: getattr(prepared.draft, name) for name in _TEXTS}
        kept["metadata"] = {**prepared.draft.metadata, **({} if own is None else {RESERVED: own})}
        kept["learned_triggers"] = () if there is None else there.learned_triggers
        memory = replace(line.memory, **kept)
        if memory.status in SET_APART:
            return Saved(memory)
        vectors = prepared.chunk_vectors()
        return Saved(
            memory,
            prepared.chunks(memory.id),
            vectors,
            self._saver.model if vectors is not None else None,
            self._saver.preparer.chunker.version,
            prepared.skipped,
            str(memory.format),
        )

    def _activate(self, work: Work, model: str | None) -> None:
        if model is not None and work.vectors.active() is None:
            work.vectors.activate(model)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Line:
    memory: MemoryRecord
    number: int


class _Run:
    """What one restore has seen so far."""

    def __init__(self, path: Path, tell: OnProgress | None) -> None:
        self.counts: Counter[str] = Counter()
        self.edges: list[tuple[Edge, int]] = []
        self.saves: list[SaveRecord] = []
        self.terms: list[tuple[LearnedTerm, int]] = []
        self.edges_made = 0
        self.masked = 0
        self.chunks = 0
        self._path = path
        self._tell = tell
        self._problems: list[ImportProblem] = []
        self._expected: Mapping[str, Any] | None = None
        self._read: Counter[str] = Counter()
        self._seen: dict[str, int] = {}

    def memories(self) -> Iterator[_Line]:
        """Every memory; the lines that belong to memories are gathered on the way."""
        size, done = self._path.stat().st_size, 0
        for element in read_json_lines(self._path, self._path.name):
            done += element.size
            if isinstance(element, ImportProblem):
                self._problems.append(element)
            elif (memory := self._sort(element)) is not None:
                if self._seen.setdefault(memory.id, element.line) == element.line:
                    yield _Line(memory=memory, number=element.line)
                else:
                    self.problem(element.line, "id given twice", f"{memory.id!r} was in line {self._seen[memory.id]:,}")
            if self._tell is not None:
                self._tell(min(done, size), size)

    def problem(self, line: int | None, reason: str, detail: str, *, partial: bool = False) -> None:
        """Something that was not restored."""
        found = ImportProblem(place=self._path.name, line=line, reason=reason, detail=detail, partial=partial)
        self._problems.append(found)

    def tell_older(self, line: _Line) -> None:
        """A memory that was changed here since the export."""
        self.problem(line.number, "older than what is here", f"the memory {line.memory.id!r} was changed since")

    def report(self, *, dry_run: bool) -> ImportReport:
        """Return the report of the restore."""
        self._check_end()
        order = ("imported", "updated", "unchanged")
        return ImportReport(
            format=ImportFormat.ASSAY.value,
            counts={name: self.counts[name] for name in order if self.counts[name]},
            skipped=dict(sorted(Counter(problem.reason for problem in self._problems if not problem.partial).items())),
            incomplete=dict(sorted(Counter(problem.reason for problem in self._problems if problem.partial).items())),
            edges=self.edges_made,
            masked=self.masked,
            chunks=self.chunks,
            problems=tuple(self._problems),
            dry_run=dry_run,
        )

    def _sort(self, element: Element) -> MemoryRecord | None:
        record = element.value if isinstance(element.value, dict) else {}
        # Not `kind`: an edge has a kind of its own.
        kind = record.get("record")
        try:
            if kind == EXPORT_KIND:
                _check_version(self._path, record)
            elif kind == "memory":
                self._read["memories"] += 1
                return _make(MemoryRecord, record)
            elif kind == "edge":
                self._read["edges"] += 1
                self.edges.append((_make(Edge, record), element.line))
            elif kind == "save":
                self._read["saves"] += 1
                self.saves.append(_make(SaveRecord, record))
            elif kind == "learned_term":
                self._read["learned_terms"] += 1
                self.terms.append((_make(LearnedTerm, record), element.line))
            elif kind == "end":
                self._expected = record
            else:
                self.problem(element.line, "not a line of an export", f"it says that it is {kind!r}")
        except MalformedFile:
            raise
        except (InputError, TypeError, ValueError) as problem:
            message = problem.message if isinstance(problem, InputError) else str(problem)
            self.problem(element.line, "bad value", message)
        return None

    def _check_end(self) -> None:
        """Say when the file was cut: it ends with how much it holds."""
        if self._expected is None:
            self.problem(None, "the file has no end", "it was cut short: export it again", partial=True)
            return
        for name, count in self._read.items():
            if self._expected.get(name) != count:
                detail = f"{count:,} {name} were read, and the last line says {self._expected.get(name)}"
                self.problem(None, "lines are missing", detail, partial=True)


def _check_version(path: Path, header: Mapping[str, Any]) -> None:
    if header.get("version") != VERSION:
        raise MalformedFile(
            f"{path} is an export of version {header.get('version')!r}, and this Assay reads version {VERSION}",
            remedy="Import it with the Assay that wrote it, or a newer one.",
        )


def _make(kind: type[Value], record: Mapping[str, Any]) -> Value:
    known = {field_info.name for field_info in fields(kind)}
    given = {name: _moment(name, value) for name, value in record.items() if name in known}
    return kind(**given)


def _moment(name: str, value: Any) -> Any:
    return datetime.fromisoformat(value) if name in _MOMENTS and isinstance(value, str) else value


def _fate(there: MemoryRecord | None, memory: MemoryRecord) -> str:
    """What becomes of a memory, given the one with its id: the one that was changed last wins."""
    if there is None:
        return "imported"
    if there == replace(memory, learned_triggers=there.learned_triggers):
        return "unchanged"
    return "updated" if memory.updated_at >= there.updated_at else "older"


def _has_room(work: Work, memory: MemoryRecord, tokens: int, line: _Line, run: _Run) -> bool:
    """Whether a constitutional memory still fits into every search result; names it when it does not."""
    if memory.tier is not Tier.CONSTITUTIONAL or memory.status is not MemoryStatus.CURRENT:
        return True
    others = [other.id for other in work.memories.constitutional() if other.id != memory.id]
    try:
        drafts.check_constitutional(tokens, [tokens_of(work, other) for other in others])
    except InputError as problem:
        run.problem(line.number, "refused", problem.message)
        return False
    return True


def _restore_rest(work: Work, run: _Run) -> None:
    """Edges, decisions of saves and learned terms, of the memories that are there."""
    there = set(work.edges.beginning_at(sorted({edge.source_id for edge, _ in run.edges})))
    for edge, line in run.edges:
        if edge not in there:
            try:
                work.edges.put(edge)
                run.edges_made += 1
            except RecordNotFound as problem:
                run.problem(line, "edge to a memory that is not there", problem.message)
    kept = work.saves.find_known([save.save_id for save in run.saves])
    owners = {save.memory_id for save in run.saves} | {term.memory_id for term, _ in run.terms}
    present = work.memories.numbers_of(sorted(owner for owner in owners if owner is not None))
    work.saves.import_many([save for save in run.saves if save.save_id not in kept and save.memory_id in present])
    known = {(term.memory_id, term.term) for term in work.learned_terms.of()}
    for term, line in run.terms:
        if term.memory_id in present:
            if (term.memory_id, term.term) not in known:
                _restore_term(work, term)
        else:
            run.problem(line, "learned term of a memory that is not there", f"the memory {term.memory_id!r}")


def _restore_term(work: Work, term: LearnedTerm) -> None:
    """Keep a learned term as history. Its evidence is not in the file, so it has to be learned anew to apply."""
    ended = replace(term, state=TermState.WITHDRAWN, ended_at=term.ended_at or work.now())
    work.learned_terms.put(term if term.state in (TermState.EXPIRED, TermState.WITHDRAWN) else ended)
    said = {"term": term.term, "said": "imported without its evidence: it has to be learned anew"}
    work.audit.append(f"learning.{Safeguard.AUDIT}", term.memory_id, said)


# --- Export to a file: JSON lines, or Markdown notes to read ---
#
# Markdown notes have their properties in front matter and their edges as `[[links]]` there, so that Obsidian shows
# them and `assay import` reads them back; versions, states, counts and provenance are only in JSON lines.

PAGE = 500
LONGEST_NAME = 80
_UNSAFE = re.compile(r"[^\w .,()&'-]+")


def export(store: Store, scope: Scope, path: Path, wanted: ExportFormat) -> Exported:
    """Write memories to a path, whole or not at all."""
    if wanted is ExportFormat.JSONL:
        if path.is_dir():
            raise InputError(f"{path} is a folder", remedy="Name a file, such as memories.jsonl.")
        return export_jsonl(store, scope, path)
    return _export_markdown(store, scope, path)


def _export_markdown(store: Store, scope: Scope, path: Path) -> Exported:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} is there and not an empty folder", remedy="Name a folder that is new or empty.")
    with writing(path):
        make_private_folder(path.parent)
        passing = path.parent / f".{path.name}.{uuid4().hex[:8]}.part"
        passing.mkdir(mode=0o700)
        try:
            with store.writing(scope) as work:
                # A folder is not a file that erasure can search: each note is known by itself.
                notes = _names(work)
                for name in notes.values():
                    work.files.note(str(path.resolve() / name), "export")
            with store.reading(scope) as work:
                edges = _write_notes(work, passing, notes)
            passing.replace(path)
        finally:
            shutil.rmtree(passing, ignore_errors=True)
    current = MemoryStatus.CURRENT.value
    return Exported(
        path=str(path), format="markdown", memories=len(notes), by_status={current: len(notes)}, edges=edges
    )


def _names(work: Work) -> dict[str, str]:
    """A file for each current memory: its folder and its title, with a number where two are alike."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for memory in reversed(_current(work)):
        folder = PurePosixPath(*(_safe(part) for part in PurePosixPath(memory.folder).parts))
        stem = _safe(memory.title)
        name, number = str(folder / f"{stem}.md"), 1
        while name.lower() in taken:
            number += 1
            name = str(folder / f"{stem} {number}.md")
        taken.add(name.lower())
        names[memory.id] = name
    return names


def _current(work: Work) -> list[MemoryRecord]:
    found: list[MemoryRecord] = []
    wanted = MemoryFilter(status=MemoryStatus.CURRENT)
    while page := work.memories.matching(wanted, after=found[-1].id if found else None, limit=PAGE):
        found += page
    return found


def _safe(name: str) -> str:
    short = _UNSAFE.sub(" ", name)[:LONGEST_NAME]
    return " ".join(short.split()).strip(". ") or "untitled"


def _write_notes(work: Work, folder: Path, names: Mapping[str, str]) -> int:
    edges = 0
    for memory in _current(work):
        if memory.id not in names:
            continue
        joined = [edge for edge in work.edges.of(memory.id) if edge.source_id == memory.id and edge.target_id in names]
        links = [f"[[{names[edge.target_id].removesuffix('.md')}]]" for edge in joined]
        edges += len(links)
        file = folder / names[memory.id]
        make_private_folder(file.parent)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
            opened.write(_front_matter(memory, links) + _body(memory))
    return edges


def _front_matter(memory: MemoryRecord, links: list[str]) -> str:
    own = {key: value for key, value in memory.metadata.items() if key != RESERVED}
    properties: dict[str, Any] = {
        **own,
        "title": memory.title,
        "tags": list(memory.tags),
        "aliases": list(memory.triggers),
        "created": memory.valid_from.isoformat(),
        "updated": memory.updated_at.isoformat(),
        "tier": memory.tier.value,
        "assay_id": memory.id,
        "related": list(dict.fromkeys(links)),
    }
    # JSON is YAML, so every value is written as JSON: nothing in it can be read as something else.
    lines = [
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in properties.items()
        if value not in ("", [], {}, None)
    ]
    return "\n".join(("---", *lines, "---", "", ""))


def _body(memory: MemoryRecord) -> str:
    body = memory.body if memory.body.endswith("\n") else memory.body + "\n"
    return f"```json\n{body}```\n" if memory.format is Format.JSON else body
