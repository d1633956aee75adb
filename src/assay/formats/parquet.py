"""Parquet: a folder with `corpus`, `queries` and `qrels` tables laid out like BEIR, or one table of cases.

A table is in `NAME.parquet`, or in several files in the folder `NAME/`, as hubs cut them. Columns are as in BEIR:
`_id` (or `id`), `title`, `text`, `metadata` (an object, or JSON as text); `query-id`, `corpus-id`, `score`. A table of
cases has a row for each: with the column `user_input` Ragas samples, with `haystack_sessions` questions of LongMemEval,
with `question` anchored cases. Needs pyarrow, which is loaded when a table is read or written.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.errors import BadValue, InputError, MalformedFile
from assay.extras import refuse_extra
from assay.formats import anchored, longmemeval, ragas
from assay.formats.files import writing
from assay.formats.strict_json import Placed, Refuse, build_or_refuse, raise_it
from assay.formats.test_collections import (
    OnRead,
    cases_of,
    document_fields,
    documents_of,
    labels_of,
    query_fields,
    refuse_unknown,
    scale_of,
)
from assay.formats.trec import Grades
from assay.records.datasets import Case, Dataset
from assay.regular_files import open_regular

SUFFIX = ".parquet"
CORPUS, QUERIES, QRELS = "corpus", "queries", "qrels"
ROWS = 1_000
"""Rows read or written at a time."""


def read_parquet(
    path: Path, *, name: str | None = None, refuse: Refuse = raise_it, on_read: OnRead | None = None
) -> Dataset:
    """The dataset of a folder of three tables, or of one table of cases."""
    named = name or path.resolve().name.removesuffix(SUFFIX)
    if path.is_dir():
        return _folder(path, named, refuse, on_read)
    columns = _columns(path)
    if ragas.is_sample(columns):
        return ragas.samples_dataset(_rows(path), name=named, refuse=refuse)
    if longmemeval.HAYSTACK in columns:
        return longmemeval.questions_dataset(_rows(path), name=named, refuse=refuse)
    if "question" in columns:
        return _read_anchored(path, named, refuse)
    raise MalformedFile(
        f"{path} has the columns {', '.join(columns)}",
        remedy="A table of cases has user_input (Ragas), haystack_sessions (LongMemEval) or question (anchored).",
    )


def write_parquet(folder: Path, dataset: Dataset) -> None:
    """Three tables, as `read_parquet` reads them."""
    schema = {"_id": "string", "title": "string", "text": "string", "metadata": "string"}
    _write(folder / f"{CORPUS}{SUFFIX}", schema, (_as_row(document_fields(document)) for document in dataset.documents))
    queries = {name: kind for name, kind in schema.items() if name != "title"}
    _write(folder / f"{QUERIES}{SUFFIX}", queries, (_as_row(query_fields(case)) for case in dataset.cases))
    grades = (
        {"query-id": topic, "corpus-id": document, "score": grade}
        for topic, row in labels_of(dataset).items()
        for document, grade in row.items()
    )
    _write(folder / f"{QRELS}{SUFFIX}", {"query-id": "string", "corpus-id": "string", "score": "int64"}, grades)


def is_parquet_folder(folder: Path) -> bool:
    """Whether a folder holds a corpus as Parquet."""
    return bool(_files(folder, CORPUS))


def _folder(folder: Path, name: str, refuse: Refuse, on_read: OnRead | None) -> Dataset:
    grades = _grades(folder)
    documents = tuple(documents_of(_table(folder, CORPUS), refuse, on_read))
    cases = tuple(cases_of(_table(folder, QUERIES), grades, lambda _ident, _said: True, refuse))
    refuse_unknown(folder / QRELS, grades, {case.id for case in cases}, whole=True)
    return Dataset(name=name, documents=documents, cases=cases, **scale_of(grades))


def _read_anchored(path: Path, name: str, refuse: Refuse) -> Dataset:
    notes = path.parent / anchored.VAULT
    documents = tuple(anchored.read_notes(notes)) if notes.is_dir() else ()
    read: list[Case | None] = [build_or_refuse(place, anchored.case, refuse) for place in _rows(path)]
    cases = tuple(case for case in read if case is not None)
    return Dataset(name=name, documents=documents, cases=cases, ranked_unit=anchored.RANKED_UNIT)


def _files(folder: Path, table: str) -> list[Path]:
    alone = folder / f"{table}{SUFFIX}"
    return [alone] if alone.is_file() else sorted((folder / table).glob(f"*{SUFFIX}"))


def _table(folder: Path, table: str) -> Iterator[Placed]:
    files = _files(folder, table)
    if not files:
        raise InputError(
            f"{folder} has no table {table!r}", remedy=f"Put it into {table}{SUFFIX} or {table}/*{SUFFIX}."
        )
    for path in files:
        for place in _rows(path):
            yield place._replace(value=_beir_row(place.value))


def _beir_row(row: dict[str, Any]) -> dict[str, Any]:
    found = {("_id" if name == "id" and "_id" not in row else name): value for name, value in row.items()}
    said = found.get("metadata")
    return {**found, "metadata": _parse_metadata(said)} if isinstance(said, str) else found


def _parse_metadata(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as problem:
        raise BadValue(
            f"metadata {text[:60]!r} is not JSON", remedy="Write it as a JSON object, or as a struct."
        ) from problem


def _grades(folder: Path) -> Grades:
    found: Grades = {}
    for place in _table(folder, QRELS):
        row = place.value
        topic, document, grade = row.get("query-id"), row.get("corpus-id"), row.get("score")
        if topic is None or document is None or not isinstance(grade, (int, float)) or grade != int(grade):
            raise place.error(f"the row {row} is not a judgment", "Its columns are query-id, corpus-id, score.")
        before = found.setdefault(str(topic), {}).setdefault(str(document), int(grade))
        if before != int(grade):
            raise place.error(f"{topic!r} judges {document!r} {before} and {int(grade)}", "Keep one of the two.")
    return found


def _as_row(fields: dict[str, Any]) -> dict[str, Any]:
    said = fields.get("metadata")
    return fields if said is None else {**fields, "metadata": json.dumps(said, ensure_ascii=False, allow_nan=False)}


def _columns(path: Path) -> list[str]:
    with _reading(path), open_regular(path) as opened:
        return list(_pyarrow().ParquetFile(opened).schema_arrow.names)


def _rows(path: Path) -> Iterator[Placed]:
    """Every row as an object without its nulls."""
    with _reading(path), open_regular(path) as opened:
        file = _pyarrow().ParquetFile(opened)
        number = 0
        for batch in file.iter_batches(batch_size=ROWS):
            for row in batch.to_pylist():
                number += 1
                yield Placed(_without_nulls(row), path, number)


def _without_nulls(value: Any) -> Any:
    """A struct column has every key in every row; a null means that the key is missing."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say which file could not be read, in words."""
    try:
        yield
    except (OSError, ValueError) as problem:
        raise MalformedFile(
            f"{path} cannot be read as Parquet: {problem}", remedy="Give a Parquet file, or --format."
        ) from problem


def _write(path: Path, columns: dict[str, str], rows: Iterable[dict[str, Any]]) -> None:
    parquet, arrow = _pyarrow(), _pyarrow("pyarrow")
    schema = arrow.schema([(name, arrow.type_for_alias(kind)) for name, kind in columns.items()])
    passing = path.with_name(f".{path.name}.part")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with parquet.ParquetWriter(passing, schema) as opened:
                for some in _batches(rows):
                    opened.write_table(arrow.Table.from_pylist(some, schema=schema))
            passing.replace(path)
        finally:
            passing.unlink(missing_ok=True)


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    some: list[dict[str, Any]] = []
    for row in rows:
        some.append(row)
        if len(some) == ROWS:
            yield some
            some = []
    if some:
        yield some


def _pyarrow(module: str = "pyarrow.parquet") -> Any:
    """Pyarrow has no type hints; what it returns is checked when records are made of it."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        raise refuse_extra("parquet", "pyarrow") from problem
