"""BEIR folders: `corpus.jsonl`, `queries.jsonl`, and judgments in `qrels.tsv` or one file a split in `qrels/`.

Kept of a document are id, title, text and metadata; of a query id, text and what `query_metadata` reads in its
metadata. Each file may be gzipped. With a folder of splits only the queries that the chosen split judges are cases: the
others belong to other splits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from assay.errors import BadValue, InputError
from assay.formats.files import write_lines, writing
from assay.formats.grades import Grades, read_grades
from assay.formats.keys import Keys, an_object
from assay.formats.query_metadata import case_said, said_of_case
from assay.formats.strict_json import Placed, Refuse, made, one_line, raise_it, read_lines
from assay.formats.writing import write_beir_qrels
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.memory import Format

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels.tsv"
OnRead = Callable[[int], None]
Record = TypeVar("Record", Document, Case)


def read_beir(
    folder: Path,
    *,
    name: str | None = None,
    split: str | None = None,
    refuse: Refuse = raise_it,
    on_read: OnRead | None = None,
) -> Dataset:
    """The dataset of a BEIR folder; `split` chooses among several files of judgments."""
    qrels = _qrels_file(folder, split)
    grades = read_grades(qrels)
    chosen = (lambda ident, _: ident in grades) if qrels.parent.name == "qrels" else _of_split(folder, split)
    documents = tuple(stream_corpus(_file(folder, CORPUS), refuse=refuse, on_read=on_read))
    cases = tuple(cases_of(read_lines(_file(folder, QUERIES), refuse), grades, chosen, refuse))
    refuse_unknown(qrels, grades, {one.id for one in cases}, whole=split is None)
    return Dataset(name=name or folder.resolve().name, documents=documents, cases=cases, **scale_of(grades))


def stream_corpus(path: Path, *, refuse: Refuse = raise_it, on_read: OnRead | None = None) -> Iterator[Document]:
    """The documents of a corpus, one line at a time."""
    return documents_of(read_lines(path, refuse), refuse, on_read)


def documents_of(places: Iterable[Placed], refuse: Refuse, on_read: OnRead | None = None) -> Iterator[Document]:
    """The documents of lines or rows."""
    lines: dict[str, int] = {}
    for place in places:
        one: Document | None = _first_of_its_id(place, made(place, _document, refuse), lines, refuse)
        if one is not None:
            yield one
            if on_read is not None and len(lines) % 1000 == 0:
                on_read(len(lines))


def write_beir(folder: Path, dataset: Dataset, *, split: str | None = None) -> None:
    """A BEIR folder; with a split its judgments stand in `qrels/SPLIT.tsv`."""
    write_lines(folder / CORPUS, (one_line(document_fields(one)) for one in dataset.documents))
    write_lines(folder / QUERIES, (one_line(query_fields(one)) for one in dataset.cases))
    place = folder / QRELS if split is None else folder / "qrels" / f"{split}.tsv"
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_beir_qrels(place, labels_of(dataset))


def labels_of(dataset: Dataset) -> Grades:
    """The grades of every case that has some."""
    return {one.id: one.labels for one in dataset.cases if one.grades}


def scale_of(grades: Grades) -> dict[str, Any]:
    """How judgments without a declared scale are read: 1 and above is relevant, as in trec_eval."""
    given = {grade for row in grades.values() for grade in row.values()}
    return {
        "lowest_grade": min(given | {0}),
        "highest_grade": max(given | {1}),
        "relevance_level": 1,
        "ranked_unit": "document",
    }


def with_grades(ident: str, query: str, row: dict[str, int], **more: Any) -> Case:
    """A case with the judgments of one topic."""
    judged = tuple(Grade(document_id=document, grade=grade) for document, grade in row.items())
    return Case(id=ident, query=query, grades=judged, **more)


def _file(folder: Path, name: str) -> Path:
    packed = folder / f"{name}.gz"
    return packed if packed.is_file() else folder / name


def _qrels_file(folder: Path, split: str | None) -> Path:
    splits = {path.name.split(".")[0]: path for path in sorted((folder / "qrels").glob("*.tsv*"))}
    alone = _file(folder, QRELS)
    if not splits and alone.is_file():
        return alone
    if not splits:
        raise InputError(f"{folder} has no judgments", remedy=f"A BEIR folder has {QRELS} or qrels/*.tsv.")
    if split is None and len(splits) == 1:
        return next(iter(splits.values()))
    if split not in splits:
        said = "several splits" if split is None else f"no split {split!r}"
        raise InputError(f"{folder} has {said}", remedy=f"Choose with --split one of: {', '.join(splits)}.")
    return splits[split]


def _of_split(folder: Path, split: str | None) -> Callable[[str, dict[str, Any]], bool]:
    """With one file of judgments, queries may still say in their metadata which split they belong to."""
    if split is None:
        return lambda _ident, _said: True
    known = {_metadata(place.value).get("split") for place in read_lines(_file(folder, QUERIES))}
    if split not in known:
        named = ", ".join(sorted(str(one) for one in known if one)) or "none"
        raise InputError(f"{folder} has no split {split!r}", remedy=f"Its queries name these splits: {named}.")
    return lambda _ident, said: said.get("split") == split


def _metadata(value: Any) -> dict[str, Any]:
    found = value.get("metadata") if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _document(value: Any) -> Document:
    keys = Keys(value, "the document")
    ident, text, title = _id(keys.need("_id")), keys.need("text"), keys.take("title") or ""
    metadata = an_object(keys.take("metadata") or {}, "metadata")
    own = {key: inner for key, inner in value.items() if key not in {"_id", "text", "title", "metadata"}}
    return Document(id=ident, text=text, title=title, metadata={**own, **metadata}, format=Format.TEXT)


def document_fields(one: Document) -> dict[str, Any]:
    """A document as its line."""
    more = {"metadata": dict(one.metadata)} if one.metadata else {}
    return {"_id": one.id, "title": one.title, "text": one.text, **more}


def cases_of(
    places: Iterable[Placed], grades: Grades, chosen: Callable[[str, dict[str, Any]], bool], refuse: Refuse
) -> Iterator[Case]:
    """The cases of lines or rows that are chosen by id and metadata."""
    lines: dict[str, int] = {}

    def make(value: Any) -> Case | None:
        keys = Keys(value, "the query")
        ident, text = _id(keys.need("_id")), keys.need("text")
        said = an_object(keys.take("metadata") or {}, "metadata")
        return with_grades(ident, text, grades.get(ident, {}), **said_of_case(said)) if chosen(ident, said) else None

    for place in places:
        one: Case | None = _first_of_its_id(place, made(place, make, refuse), lines, refuse)
        if one is not None:
            yield one


def query_fields(one: Case) -> dict[str, Any]:
    """A case as its line."""
    metadata = case_said(one)
    return {"_id": one.id, "text": one.query, **({"metadata": metadata} if metadata else {})}


def _id(value: Any) -> Any:
    """Ids are texts; some tools write them as numbers."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _first_of_its_id(place: Placed, one: Record | None, lines: dict[str, int], refuse: Refuse) -> Record | None:
    if one is None:
        return None
    if one.id in lines:
        refuse(place.refused(f"id {one.id!r} was given on line {lines[one.id]:,}", "Make ids unique."))
        return None
    lines[one.id] = place.line
    return one


def refuse_unknown(qrels: Path, grades: Grades, known: Iterable[str], *, whole: bool) -> None:
    """Judgments of a query that nobody wrote down cannot be asked."""
    missing = sorted(set(grades) - set(known)) if whole else []
    if missing:
        raise BadValue(
            f"{qrels} judges {len(missing):,} queries that {QUERIES} does not have, such as {missing[0]!r}",
            remedy="Compare the ids of both files.",
        )
