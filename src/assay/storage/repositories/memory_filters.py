"""Conditions on memories that look into their JSON, in the words of either back end: tags, and whether one holds."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    literal,
    or_,
    select,
    type_coerce,
)

from assay.hashing import canonical_json
from assay.records import MemoryFilter, MemoryStatus
from assay.records.memory import FORGOTTEN_MARK, QUARANTINED_MARK, RESERVED
from assay.storage.tables import memories
from assay.storage.types import TextType

_TAGS = type_coerce(memories.c.tags, TextType)
_METADATA = type_coerce(memories.c.metadata, TextType)


def tagged(connection: Connection, tag: str) -> ColumnElement[bool]:
    """The tag's JSON stands somewhere in the list's, which is quick to see; then that it is an item of it."""
    written = canonical_json(tag)
    tag_given = bindparam(None, tag, type_=TextType)
    if connection.dialect.name == "sqlite":
        items = func.json_each(_TAGS).table_valued("value")
        is_item = exists(select(items.c.value).where(items.c.value == tag_given))
        return and_(func.instr(_TAGS, written) > 0, is_item)
    from sqlalchemy.dialects.postgresql import JSONB  # noqa: PLC0415 - see `rows.insert`

    return and_(func.strpos(_TAGS, written) > 0, func.jsonb_exists(cast(_TAGS, JSONB), tag_given))


def status_of(connection: Connection) -> ColumnElement[str]:
    """The status of a memory, as `MemoryRecord.status` tells it."""
    # A set-apart memory never held: it is superseded from the moment it would have been valid.
    never_held = memories.c.superseded_at == memories.c.valid_from
    return case(
        (memories.c.superseded_at.is_(None), literal(MemoryStatus.CURRENT.value)),
        (and_(never_held, _has_mark(connection, FORGOTTEN_MARK)), literal(MemoryStatus.FORGOTTEN.value)),
        (and_(never_held, _has_mark(connection, QUARANTINED_MARK)), literal(MemoryStatus.QUARANTINED.value)),
        else_=literal(MemoryStatus.SUPERSEDED.value),
    )


def is_forgotten(connection: Connection) -> ColumnElement[bool]:
    """Whether a memory is forgotten; a database looks into the JSON of set-apart memories only."""
    never_held = memories.c.superseded_at == memories.c.valid_from
    return case((never_held, _has_mark(connection, FORGOTTEN_MARK)), else_=literal(False))


def conditions(connection: Connection, wanted: MemoryFilter) -> Iterator[ColumnElement[bool]]:
    """What a memory has to be for a list to show it."""
    if wanted.folder == "":
        yield memories.c.folder == ""
    elif wanted.folder is not None:
        folder = wanted.folder.strip("/")
        inside = memories.c.folder.startswith(f"{folder}/", autoescape=True)
        yield or_(memories.c.folder == folder, inside)
    yield from (tagged(connection, tag) for tag in wanted.tags)
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
