"""Memories, and filters on them.

- Conditions on the JSON of memories.
- Memories.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    case,
    cast,
    delete,
    exists,
    func,
    literal,
    literal_column,
    not_,
    or_,
    select,
    type_coerce,
    update,
)
from sqlalchemy.exc import IntegrityError

from assay.errors import RecordExists, RecordNotFound
from assay.hashing import canonical_json
from assay.records import (
    Author,
    Chunk,
    MemoryFilter,
    MemoryRecord,
    MemoryStatus,
    Operation,
    RowKind,
    values,
)
from assay.records.memory import FORGOTTEN_MARK, QUARANTINED_MARK, RESERVED, read_author
from assay.storage.repositories.base import Bound, Repository, among, draw, mine, open_savepoint
from assay.storage.repositories.chunks import ChunkVector, ChunkWriter, Indexed, Saved, TriggerRows, check
from assay.storage.repositories.edges import Edges
from assay.storage.repositories.facts import Facts
from assay.storage.repositories.history import ChangedRow, Changes
from assay.storage.rows import TextType, from_row, to_row
from assay.storage.tables import chunks, memories

# --- Conditions on the JSON of memories ---

_TAGS = type_coerce(memories.c.tags, TextType)
_METADATA = type_coerce(memories.c.metadata, TextType)


def has_tag(connection: Connection, tag: str) -> ColumnElement[bool]:
    """Return the condition that a memory has a tag: a quick text search in the JSON first, then an exact test."""
    written = canonical_json(tag)
    tag_given = bindparam(None, tag, type_=TextType)
    if connection.dialect.name == "sqlite":
        items = func.json_each(_TAGS).table_valued("value")
        is_item = exists(select(items.c.value).where(items.c.value == tag_given))
        return and_(func.instr(_TAGS, written) > 0, is_item)
    from sqlalchemy.dialects.postgresql import JSONB  # noqa: PLC0415 - see `rows.insert`

    return and_(func.strpos(_TAGS, written) > 0, func.jsonb_exists(cast(_TAGS, JSONB), tag_given))


def status_of(connection: Connection) -> ColumnElement[str]:
    """Return the status of a memory, as `MemoryRecord.status` computes it."""
    # A quarantined memory was never valid: it is superseded from the moment its validity begins.
    never_held = memories.c.superseded_at == memories.c.valid_from
    return case(
        (memories.c.superseded_at.is_(None), literal(MemoryStatus.CURRENT.value)),
        (and_(never_held, _has_mark(connection, FORGOTTEN_MARK)), literal(MemoryStatus.FORGOTTEN.value)),
        (and_(never_held, _has_mark(connection, QUARANTINED_MARK)), literal(MemoryStatus.QUARANTINED.value)),
        else_=literal(MemoryStatus.SUPERSEDED.value),
    )


def is_forgotten(connection: Connection) -> ColumnElement[bool]:
    """Whether a memory is forgotten; the JSON is read for quarantined memories only."""
    never_held = memories.c.superseded_at == memories.c.valid_from
    return case((never_held, _has_mark(connection, FORGOTTEN_MARK)), else_=literal(False))


def conditions(connection: Connection, wanted: MemoryFilter) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of a filter of memories."""
    if wanted.folder == "":
        yield memories.c.folder == ""
    elif wanted.folder is not None:
        folder = wanted.folder.strip("/")
        inside = memories.c.folder.startswith(f"{folder}/", autoescape=True)
        yield or_(memories.c.folder == folder, inside)
    yield from (has_tag(connection, tag) for tag in wanted.tags)
    if wanted.tier is not None:
        yield memories.c.tier == str(wanted.tier)
    if wanted.since is not None:
        yield memories.c.updated_at >= wanted.since
    if wanted.status is not None:
        yield status_of(connection) == str(wanted.status)


def _has_mark(connection: Connection, mark: str) -> ColumnElement[bool]:
    if connection.dialect.name == "sqlite":
        return func.json_type(_METADATA, f"$.{RESERVED}.{mark}").is_not(None)
    from sqlalchemy.dialects.postgresql import JSONB  # noqa: PLC0415 - see `rows.insert`

    return func.jsonb_extract_path(cast(_METADATA, JSONB), RESERVED, mark).is_not(None)


# --- Memories ---
#
# Every change of a row is written to the change log in the same transaction, and so are the rows that depend on it:
# full text, vectors, trigger phrases. A chunk keeps its number; new chunks get new numbers.

PAGE = 1_000
# Used at every save, so they are built once.
_ADD = memories.insert()
_BY_NUMBERS = select(memories).where(mine(memories), among(memories.c.number, "numbers"))
_NUMBERS = select(memories.c.id, memories.c.number).where(mine(memories), among(memories.c.id, "ids"))
_CHUNKS = select(chunks).where(mine(chunks), chunks.c.memory_id == bindparam("memory_id")).order_by(chunks.c.position)
_HEADINGS = (
    select(chunks.c.memory_id, chunks.c.heading_path)
    .where(mine(chunks), among(chunks.c.memory_id, "ids"))
    .order_by(chunks.c.memory_id, chunks.c.position)
)
_LAWS = select(memories).where(mine(memories), memories.c.tier == literal_column("'constitutional'"))
_EVERY_LAW = _LAWS.order_by(memories.c.number)
_CURRENT_LAWS = _LAWS.where(memories.c.superseded_at.is_(None)).order_by(memories.c.number)

_AUTHORS = select(
    memories.c.id,
    memories.c.written_by,
    memories.c.written_with,
    # As stored: most metadata say nothing of the author, and of the time only whether there is one counts.
    type_coerce(memories.c.metadata, TextType).label("metadata"),
    type_coerce(memories.c.superseded_at, TextType).label("superseded_at"),
).where(mine(memories), among(memories.c.id, "ids"))

_OF_SOURCE = select(memories).where(mine(memories), memories.c.source_id == bindparam("source_id"))
_CURRENT_OF_SOURCE = (
    _OF_SOURCE.where(memories.c.superseded_at.is_(None))
    .order_by(memories.c.version.desc(), memories.c.number.desc())
    .limit(1)
)
_VERSIONS_OF_SOURCE = _OF_SOURCE.with_only_columns(memories.c.version)
_KNOWN_SOURCES = select(memories.c.source_id).where(mine(memories), among(memories.c.source_id, "sources"))


class CurrentText(NamedTuple):
    """The text of a memory that nothing has superseded."""

    id: str
    source_id: str | None
    body: str


class Authorship(NamedTuple):
    """Who wrote a memory, and whether it still holds."""

    author: Author
    is_current: bool


class Memories(Repository):
    """The memories of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._changes = Changes(bound)
        self._chunks = ChunkWriter(bound)
        self._triggers = TriggerRows(bound)
        self._facts = Facts(bound)
        self._indexed = Indexed(bound)
        self._edges = Edges(bound)

    def add(self, memory: MemoryRecord, pieces: Sequence[Chunk] = ()) -> None:
        """Keep a new memory. An id that is taken is refused."""
        self.add_many([Saved(memory, pieces)])

    def add_many(self, saved: Iterable[Saved]) -> None:
        """Keep many new memories, in order, in one go: all of them, or none when an id is taken."""
        batch = list(saved)
        if not batch:
            return
        for item in batch:
            check(item)
        drawn = draw(self._connection, memories=len(batch), chunks=sum(len(item.chunks) for item in batch))
        rows = [
            {"tenant": self._tenant, "number": number, **to_row(item.memory, memories)}
            for item, number in zip(batch, drawn.memories, strict=True)
        ]
        try:
            with open_savepoint(self._connection) if len(rows) == 1 else self._connection.begin_nested():
                self._insert(_ADD, rows)
        except IntegrityError as problem:
            raise self._id_taken_error(batch) from problem
        lines = [ChangedRow(RowKind.MEMORY, row["id"], row["number"]) for row in rows]
        lines += self._chunks.insert(batch, drawn.chunks)
        self._changes.append(Operation.INSERT, lines)
        self._triggers.keep([item.memory for item in batch])
        # A memory without passages is in quarantine: it states nothing yet.
        self._facts.keep([item.memory for item in batch if item.chunks])
        self._indexed.put_many(batch)

    def update(
        self,
        memory: MemoryRecord,
        pieces: Sequence[Chunk] | None = None,
        *,
        vectors: Sequence[ChunkVector | None] | None = None,
        model: str | None = None,
    ) -> None:
        """Replace a memory's fields; with pieces, its chunks too, and their vectors."""
        saved = Saved(memory, pieces or (), vectors, model)
        check(saved)
        known = select(memories.c.number, memories.c.title, memories.c.triggers)
        mine = (self._mine(memories), memories.c.id == memory.id)
        before = self._connection.execute(known.where(*mine)).one_or_none()
        if before is None:
            raise _missing(memory.id)
        self._connection.execute(update(memories).where(*mine).values(to_row(memory, memories)))
        self._changes.append(Operation.UPDATE, [ChangedRow(RowKind.MEMORY, memory.id, before.number)])
        new_triggers = tuple(before.triggers) != memory.triggers
        if new_triggers:
            self._triggers.replace(memory)
        if pieces is not None:
            self._chunks.erase(memory.id)
            drawn = draw(self._connection, chunks=len(pieces))
            self._changes.append(Operation.INSERT, self._chunks.insert([saved], drawn.chunks))
            if pieces:
                self._facts.read_again(memory)
            else:
                self._facts.remove(memory.id)
        elif new_triggers or before.title != memory.title:
            self._chunks.reword(memory)

    def remove(self, memory_id: str) -> None:
        """Delete a memory with its chunks, edges and all other rows that belong to it."""
        self._edges.remove_of(memory_id)
        self._chunks.erase(memory_id)
        topics = self._facts.topics_touched_by([memory_id])
        mine = (self._mine(memories), memories.c.id == memory_id)
        number = self._connection.execute(select(memories.c.number).where(*mine)).scalar_one_or_none()
        if number is None:
            raise _missing(memory_id)
        self._connection.execute(delete(memories).where(*mine))
        self._facts.settle(topics, may_end=False)
        self._changes.append(Operation.DELETE, [ChangedRow(RowKind.MEMORY, memory_id, number)])

    def get(self, memory_id: str) -> MemoryRecord:
        """The memory with that id."""
        found = self.find(memory_id)
        if found is None:
            raise _missing(memory_id)
        return found

    def find(self, memory_id: str) -> MemoryRecord | None:
        """The memory with that id, if there is one."""
        row = self._connection.execute(self._select(memories, memories.c.id == memory_id)).one_or_none()
        return None if row is None else from_row(MemoryRecord, row, memories)

    def by_ids(self, ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """The memories with these ids; an id that is not there is absent."""
        rows = self._connection.execute(self._select(memories, self._among(memories.c.id, list(ids))))
        return {row.id: from_row(MemoryRecord, row, memories) for row in rows}

    def authors_of(self, ids: Iterable[str]) -> dict[str, Authorship]:
        """Who wrote these memories; an id that is not there is absent."""
        return {
            memory_id: Authorship(read_author(name, written_with, metadata), superseded_at is None)
            for memory_id, name, written_with, metadata, superseded_at in self._tuples(_AUTHORS, ids=list(ids))
        }

    def by_source(self, source_id: str) -> list[MemoryRecord]:
        """Every version that came from one source, oldest first."""
        statement = self._select(memories, memories.c.source_id == source_id).order_by(
            memories.c.version, memories.c.id
        )
        return [from_row(MemoryRecord, row, memories) for row in self._connection.execute(statement)]

    def current_of_source(self, source_id: str) -> MemoryRecord | None:
        """The newest version from a source that nothing has superseded, if there is one."""
        rows = self._rows(_CURRENT_OF_SOURCE, source_id=source_id)
        return from_row(MemoryRecord, rows[0], memories) if rows else None

    def sources_among(self, sources: Collection[str]) -> set[str]:
        """Return those of these sources that any memory came from, be it superseded."""
        return {source for (source,) in self._tuples(_KNOWN_SOURCES, sources=list(sources))} if sources else set()

    def last_version_of(self, source_id: str) -> int:
        """The highest version that came from a source; 0 when nothing did."""
        return max((version for (version,) in self._tuples(_VERSIONS_OF_SOURCE, source_id=source_id)), default=0)

    def current_hashes(self) -> dict[str, str | None]:
        """The content hash of every source whose memory nothing has superseded: what need not be taken in again."""
        held = (memories.c.source_id.is_not(None), memories.c.superseded_at.is_(None))
        columns = (memories.c.source_id, memories.c.source_hash)
        statement = select(*columns).where(self._mine(memories), *held).order_by(memories.c.version, memories.c.number)
        return {row.source_id: row.source_hash for row in self._connection.execute(statement)}

    def current_texts(self, names: Collection[str]) -> Iterator[CurrentText]:
        """Yield the texts of memories that nothing has superseded and whose id or source is among some names."""
        named = or_(self._among(memories.c.id, names), self._among(memories.c.source_id, names))
        columns = (memories.c.id, memories.c.source_id, memories.c.body)
        statement = select(*columns).where(self._mine(memories), memories.c.superseded_at.is_(None), named)
        yield from (CurrentText(*row) for row in self._connection.execute(statement))

    def constitutional(self, *, include_superseded: bool = False) -> list[MemoryRecord]:
        """Return every valid constitutional memory, oldest first; `include_superseded` adds the superseded ones."""
        # A literal, not a parameter: only then does the database know that it can use its partial index.
        statement = _EVERY_LAW if include_superseded else _CURRENT_LAWS
        return [from_row(MemoryRecord, row, memories) for row in self._rows(statement)]

    def never_held(self) -> list[MemoryRecord]:
        """Return the quarantined memories, oldest first: those superseded at the start of their validity."""
        statement = self._select(memories, memories.c.superseded_at == memories.c.valid_from)
        return [
            from_row(MemoryRecord, row, memories)
            for row in self._connection.execute(statement.order_by(memories.c.number))
        ]

    def by_numbers(self, numbers: Sequence[int]) -> dict[int, MemoryRecord]:
        """The memories with these numbers; a number that is gone is absent."""
        return {row.number: from_row(MemoryRecord, row, memories) for row in self._rows(_BY_NUMBERS, numbers=numbers)}

    def numbers_of(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of these memories; an id that is not there is absent."""
        return {row.id: row.number for row in self._rows(_NUMBERS, ids=ids)}

    def ids_by_source(self) -> dict[str, str]:
        """Return the current memory of each source id."""
        current = (memories.c.source_id.is_not(None), memories.c.superseded_at.is_(None))
        statement = select(memories.c.source_id, memories.c.id).where(self._mine(memories), *current)
        return {str(source): str(memory_id) for source, memory_id in self._connection.execute(statement)}

    def page(self, *, after: str = "", limit: int = PAGE, folder: str | None = None) -> list[MemoryRecord]:
        """Up to `limit` memories in the order of their ids, beginning after one of them."""
        statement = self._select(memories, memories.c.id > after).order_by(memories.c.id).limit(limit)
        if folder is not None:
            statement = statement.where(memories.c.folder == folder)
        return [from_row(MemoryRecord, row, memories) for row in self._connection.execute(statement)]

    def matching(self, wanted: MemoryFilter, *, after: str | None = None, limit: int = PAGE) -> list[MemoryRecord]:
        """Return up to `limit` memories that match a filter, newest first (by id), after a given one."""
        chosen = self._select(memories, *conditions(self._connection, wanted))
        if after is not None:
            chosen = chosen.where(memories.c.id < after)
        rows = self._connection.execute(chosen.order_by(memories.c.id.desc()).limit(limit))
        return [from_row(MemoryRecord, row, memories) for row in rows]

    def count_matching(self, wanted: MemoryFilter) -> dict[MemoryStatus, int]:
        """Count the memories that match a filter, by status; a status without memories is absent."""
        status = status_of(self._connection).label("status")
        chosen = select(status).where(self._mine(memories), *conditions(self._connection, wanted))
        inner = chosen.subquery()
        counted = select(inner.c.status, func.count()).group_by(inner.c.status)
        found = {MemoryStatus(row[0]): int(row[1]) for row in self._connection.execute(counted)}
        return {status: found[status] for status in MemoryStatus if status in found}

    def forgotten_sources(self) -> set[tuple[str, str | None]]:
        """Return source id and content hash of every forgotten memory, so that ingesting does not bring it back."""
        hidden = (memories.c.source_id.is_not(None), is_forgotten(self._connection))
        statement = select(memories.c.source_id, memories.c.source_hash).where(self._mine(memories), *hidden)
        return {(row.source_id, row.source_hash) for row in self._connection.execute(statement)}

    def mentioning(self, words: str, *, limit: int = 20) -> list[MemoryRecord]:
        """Memories whose title or body contains these words, letter for letter but for ASCII case; by id."""
        words = values.optional_label(words, "words")
        held = or_(
            memories.c.title.icontains(words, autoescape=True), memories.c.body.icontains(words, autoescape=True)
        )
        statement = self._select(memories, held).order_by(memories.c.id).limit(limit)
        return [from_row(MemoryRecord, row, memories) for row in self._connection.execute(statement)]

    def count(self) -> int:
        """How many memories there are; forgotten ones do not count."""
        known = (self._mine(memories), not_(is_forgotten(self._connection)))
        counted = select(func.count()).select_from(memories).where(*known)
        return int(self._connection.execute(counted).scalar_one())

    def chunks_of(self, memory_id: str) -> list[Chunk]:
        """A memory's chunks in document order."""
        return [from_row(Chunk, row, chunks) for row in self._rows(_CHUNKS, memory_id=memory_id)]

    def headings_of(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """The heading paths of these memories' chunks, in document order; a memory without chunks is absent."""
        found: dict[str, list[str]] = {}
        for memory_id, path in self._rows(_HEADINGS, ids=ids):
            found.setdefault(memory_id, []).append(path)
        return found

    def count_chunks(self) -> int:
        """How many chunks there are in all."""
        counted = select(func.count()).select_from(chunks).where(self._mine(chunks))
        return int(self._connection.execute(counted).scalar_one())

    def _id_taken_error(self, batch: Sequence[Saved]) -> RecordExists:
        seen: set[str] = set()
        for item in batch:
            if item.memory.id in seen or self.find(item.memory.id) is not None:
                break
            seen.add(item.memory.id)
        return RecordExists(
            f"the memory id {item.memory.id!r} is already taken in this scope",
            remedy="Use another id, or update the memory that is there.",
        )


def _missing(memory_id: str) -> RecordNotFound:
    return RecordNotFound(f"there is no memory {memory_id!r} in this scope", remedy="Check the id and the tenant.")
