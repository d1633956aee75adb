"""Every item there is, read from the code that defines it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from enum import StrEnum
from typing import Any, get_args

from pydantic import BaseModel

from assay.flags.registry import FLAGS
from assay.records.answers import EquivalenceClasses, GoldAnchors, GoldSupport
from assay.records.datasets import Case, Dataset, Document, Grade, SessionContext, Turn
from assay.settings.model import KNOWN, Settings
from assay.storage import tables
from assay.verbs.table import VERBS


class Kind(StrEnum):
    """What an item is; the first part of its name."""

    FLAG = "flag"
    SETTING = "setting"
    FIELD = "field"
    DATASET = "dataset"
    COLUMN = "column"


TABLES = ("floors", "research")
"""Whole tables of `assay.toml` that are settings too."""
RECORDS = {
    "dataset": Dataset,
    "document": Document,
    "case": Case,
    "grade": Grade,
    "session": SessionContext,
    "turn": Turn,
    "anchors": GoldAnchors,
    "support": GoldSupport,
    "equivalence": EquivalenceClasses,
}
"""What a dataset is made of, by the word that names it in items."""


def list_items(kind: Kind) -> list[str]:
    """Return the names of all items of a kind, such as `setting:search.k`."""
    return [f"{kind}:{name}" for name in _NAMES[kind]()]


def kind_of(item: str) -> Kind:
    """Return the kind of an item."""
    return Kind(item.partition(":")[0])


def _name_settings() -> Iterator[str]:
    yield from (known.key for known in KNOWN)
    yield from (name for name in TABLES if name in Settings.model_fields)


def _name_fields() -> Iterator[str]:
    for verb in VERBS.values():
        for name, field in verb.request.model_fields.items():
            yield f"{verb.name}.{name}"
            yield from (f"{verb.name}.{name}.{inner}" for inner in _inner_fields(field.annotation))


def _inner_fields(annotation: Any) -> Iterator[str]:
    """Name the fields of the requests that a field holds several of."""
    for part in get_args(annotation):
        if isinstance(part, type) and issubclass(part, BaseModel):
            yield from part.model_fields


def _name_dataset_fields() -> Iterator[str]:
    return (f"{word}.{field.name}" for word, record in RECORDS.items() for field in fields(record) if field.init)


def _name_columns() -> Iterator[str]:
    return (f"{table.name}.{column.name}" for table in tables.metadata.sorted_tables for column in table.columns)


_NAMES = {
    Kind.FLAG: lambda: FLAGS,
    Kind.SETTING: _name_settings,
    Kind.FIELD: _name_fields,
    Kind.DATASET: _name_dataset_fields,
    Kind.COLUMN: _name_columns,
}
