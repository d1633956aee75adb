"""Test collections on disk: BEIR folders, and TREC topics with their qrels.

- BEIR folders: `corpus.jsonl`, `queries.jsonl` and qrels.
- TREC topics (`id TAB text`, or the older `<top>` form) with qrels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from assay.errors import BadValue, InputError, MalformedFile
from assay.formats.case_fields import case_said, read_case_fields
from assay.formats.files import blocks, write_lines, writing
from assay.formats.strict_json import (
    Keys,
    Placed,
    Refuse,
    an_object,
    build_or_refuse,
    one_line,
    raise_it,
    read_lines,
    read_text,
)
from assay.formats.trec import Grades, read_grades, write_beir_qrels, write_trec_qrels
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.memory import Format

if TYPE_CHECKING:
    from pathlib import Path

# --- BEIR folders: `corpus.jsonl`, `queries.jsonl` and qrels ---
#
# Kept of a document are id, title, text and metadata; of a query id, text and what `query_metadata` reads in its
# metadata. Each file may be gzipped. With a folder of splits only the queries that the chosen split judges are cases:
# the others belong to other splits.

CORPUS, QUERIES, BEIR_QRELS = "corpus.jsonl", "queries.jsonl", "qrels.tsv"
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
    refuse_unknown(qrels, grades, {case.id for case in cases}, whole=split is None)
    return Dataset(name=name or folder.resolve().name, documents=documents, cases=cases, **scale_of(grades))


def stream_corpus(path: Path, *, refuse: Refuse = raise_it, on_read: OnRead | None = None) -> Iterator[Document]:
    """The documents of a corpus, one line at a time."""
    return documents_of(read_lines(path, refuse), refuse, on_read)


def documents_of(places: Iterable[Placed], refuse: Refuse, on_read: OnRead | None = None) -> Iterator[Document]:
    """The documents of lines or rows."""
    lines: dict[str, int] = {}
    for place in places:
        one: Document | None = _first_of_its_id(place, build_or_refuse(place, _document, refuse), lines, refuse)
        if one is not None:
            yield one
            if on_read is not None and len(lines) % 1000 == 0:
                on_read(len(lines))


def write_beir(folder: Path, dataset: Dataset, *, split: str | None = None) -> None:
    """A BEIR folder; with a split its judgments stand in `qrels/SPLIT.tsv`."""
    write_lines(folder / CORPUS, (one_line(document_fields(document)) for document in dataset.documents))
    write_lines(folder / QUERIES, (one_line(query_fields(case)) for case in dataset.cases))
    place = folder / BEIR_QRELS if split is None else folder / "qrels" / f"{split}.tsv"
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_beir_qrels(place, labels_of(dataset))


def labels_of(dataset: Dataset) -> Grades:
    """The grades of every case that has some."""
    return {case.id: case.labels for case in dataset.cases if case.grades}


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
    alone = _file(folder, BEIR_QRELS)
    if not splits and alone.is_file():
        return alone
    if not splits:
        raise InputError(f"{folder} has no judgments", remedy=f"A BEIR folder has {BEIR_QRELS} or qrels/*.tsv.")
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
        named = ", ".join(sorted(str(split) for split in known if split)) or "none"
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


def document_fields(document: Document) -> dict[str, Any]:
    """A document as its line."""
    more = {"metadata": dict(document.metadata)} if document.metadata else {}
    return {"_id": document.id, "title": document.title, "text": document.text, **more}


def cases_of(
    places: Iterable[Placed], grades: Grades, chosen: Callable[[str, dict[str, Any]], bool], refuse: Refuse
) -> Iterator[Case]:
    """The cases of lines or rows that are chosen by id and metadata."""
    lines: dict[str, int] = {}

    def make(value: Any) -> Case | None:
        keys = Keys(value, "the query")
        ident, text = _id(keys.need("_id")), keys.need("text")
        said = an_object(keys.take("metadata") or {}, "metadata")
        return (
            with_grades(ident, text, grades.get(ident, {}), **read_case_fields(said)) if chosen(ident, said) else None
        )

    for place in places:
        one: Case | None = _first_of_its_id(place, build_or_refuse(place, make, refuse), lines, refuse)
        if one is not None:
            yield one


def query_fields(case: Case) -> dict[str, Any]:
    """A case as its line."""
    metadata = case_said(case)
    return {"_id": case.id, "text": case.query, **({"metadata": metadata} if metadata else {})}


def _id(value: Any) -> Any:
    """Ids are texts; some tools write them as numbers."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _first_of_its_id(place: Placed, record: Record | None, lines: dict[str, int], refuse: Refuse) -> Record | None:
    if record is None:
        return None
    if record.id in lines:
        refuse(place.error(f"id {record.id!r} was given on line {lines[record.id]:,}", "Make ids unique."))
        return None
    lines[record.id] = place.line
    return record


def refuse_unknown(qrels: Path, grades: Grades, known: Iterable[str], *, whole: bool) -> None:
    """Refuse judgments of a query that has no text."""
    missing = sorted(set(grades) - set(known)) if whole else []
    if missing:
        raise BadValue(
            f"{qrels} judges {len(missing):,} queries that {QUERIES} does not have, such as {missing[0]!r}",
            remedy="Compare the ids of both files.",
        )


# --- TREC topics (`id TAB text`, or the older `<top>` form) with qrels ---
#
# Without documents such a dataset measures run files and systems that have an index of their own. Ids with blanks
# cannot stand in TREC files: they are refused, or written as `%20` where that is asked for.

TOPICS = ("topics.tsv", "topics.txt", "topics", "topics.tsv.gz")
TREC_QRELS = ("qrels.txt", "qrels", "qrels.tsv", "qrels.txt.gz")
_TOP = re.compile(r"<(/?)top>", re.IGNORECASE)
_NUM = re.compile(r"<num>\s*+(?:Number:\s*+)?([^\s<]+)", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*+(?:Topic:)?([^<]*)", re.IGNORECASE)
_TOPIC_LINE = "A line of topics is: id, a tab, the text of the query."


def read_trec(folder: Path, *, name: str | None = None, refuse: Refuse = raise_it) -> Dataset:
    """The dataset of a folder with topics and qrels."""
    return read_topics_and_qrels(
        _one_of(folder, TOPICS), _one_of(folder, TREC_QRELS), name=name or folder.resolve().name, refuse=refuse
    )


def read_topics_and_qrels(topics: Path, qrels: Path, *, name: str, refuse: Refuse = raise_it) -> Dataset:
    """The dataset of two files. Unjudged topics are cases, too."""
    grades = read_grades(qrels)
    queries = dict(_topics(topics, refuse))
    missing = sorted(set(grades) - set(queries))
    if missing:
        raise BadValue(
            f"{qrels} judges {len(missing):,} topics that {topics} does not have, such as {missing[0]!r}",
            remedy="Compare the ids of both files.",
        )
    cases = tuple(with_grades(ident, text, grades.get(ident, {})) for ident, text in queries.items())
    return Dataset(name=name, documents=(), cases=cases, **scale_of(grades))


def write_trec(folder: Path, dataset: Dataset, *, encode_ids: bool = False) -> None:
    """`topics.tsv` and `qrels.txt`; documents are not written."""
    spelt = _encode if encode_ids else str
    _refuse_blanks(dataset, encode_ids=encode_ids)
    grades: Grades = {
        spelt(topic): {spelt(ident): grade for ident, grade in row.items()} for topic, row in labels_of(dataset).items()
    }
    write_lines(folder / TOPICS[0], (f"{spelt(case.id)}\t{' '.join(case.query.split())}\n" for case in dataset.cases))
    with writing(folder / TREC_QRELS[0]):
        write_trec_qrels(folder / TREC_QRELS[0], grades)


def _encode(ident: str) -> str:
    """Reversible: a percent sign is encoded as well. Letters of other scripts stay as they are."""
    return "".join(quote(character) if character in "%#" or character <= " " else character for character in ident)


def _refuse_blanks(dataset: Dataset, *, encode_ids: bool) -> None:
    judged = (ident for row in labels_of(dataset).values() for ident in row)
    wrong = sorted(
        {identifier for identifier in (*(case.id for case in dataset.cases), *judged) if _cannot_stand(identifier)}
    )
    if wrong and not encode_ids:
        raise BadValue(
            f"{len(wrong):,} ids hold blanks or begin with '#', such as {wrong[0]!r}",
            remedy="Export with --encode-ids (blanks become %20), or as BEIR.",
        )


def _cannot_stand(ident: str) -> bool:
    return ident.startswith("#") or any(character <= " " for character in ident)


def _one_of(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{folder} has no file of {names[0].split('.')[0]}", remedy=f"Name one of: {', '.join(names)}.")


def _topics(path: Path, refuse: Refuse) -> Iterator[tuple[str, str]]:
    seen: dict[str, int] = {}
    source = _read_tagged(path) if _beginning(path).lstrip().lower().startswith("<top>") else _read_tabbed(path)
    for place in source:
        ident, text = place.value
        if not ident or not text:
            refuse(place.error("has no id or no text", _TOPIC_LINE))
        elif ident in seen:
            refuse(place.error(f"topic {ident!r} was given on line {seen[ident]:,}", "Make ids unique."))
        else:
            seen[ident] = place.line
            yield ident, text


def _beginning(path: Path) -> str:
    first = next(iter(blocks(path)), None)
    return "" if first is None else first.data[:1000].decode(errors="ignore")


def _read_tabbed(path: Path) -> Iterator[Placed]:
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if text.strip():
            ident, _, query = text.rstrip("\r").partition("\t")
            yield Placed((ident.strip(), query.strip()), path, line)


def _read_tagged(path: Path) -> Iterator[Placed]:
    text, line, counted = read_text(path), 1, 0
    for start, content in _topics_in(text):
        line += text.count("\n", counted, start)
        counted = start
        number, title = _NUM.search(content), _TITLE.search(content)
        if number is None or title is None:
            problem = f"{path}, line {line:,}: a topic has no <num> or no <title>"
            raise MalformedFile(problem, remedy="Each <top> holds a <num> and a <title>.")
        yield Placed((number.group(1), " ".join(title.group(1).split())), path, line)


def _topics_in(text: str) -> Iterator[tuple[int, str]]:
    """The start of each topic and the text between its tags; a topic without an end is skipped."""
    begun: re.Match[str] | None = None
    for tag in _TOP.finditer(text):
        if begun is None and not tag[1]:
            begun = tag
        elif begun is not None and tag[1]:
            yield begun.start(), text[begun.end() : tag.start()]
            begun = None
