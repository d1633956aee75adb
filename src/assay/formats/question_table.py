"""A table of questions: CSV with one question a row and the documents that answer it, and a folder of documents.

    question,expected_doc
    How do I reset my badge?,handbook/access.md
    May I carry holidays over?,handbook/leave.md;handbook/faq.md

Documents in one cell are separated by `;`; rows with the same question are one case. A document is named by its path
below the folder, or by as much of its end as no other document shares: `access.md`, or `access`. Further columns are
read where they are there: the reference answer, an id, a category. Common other names of the columns are known, and the
table may be separated by commas, semicolons or tabs, as spreadsheet programs write it.

The documents are those of `--docs`, else of the folder `docs` or `vault` beside the file, or of one named like it.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from assay.errors import BadValue, InputError, MalformedFile
from assay.formats.anchored import VAULT, list_notes, path_in_vault, read_notes
from assay.formats.document_text import name_text_file
from assay.formats.files import inside, write_lines
from assay.formats.strict_json import Placed, Refuse, raise_it, read_text
from assay.records.datasets import Case, Dataset, Document, Grade

FILE_NAME = "questions.csv"
DOCUMENTS = "docs"
_SEPARATORS = (",", ";", "\t")
_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "query", "user_input", "prompt", "q"),
    "expected_doc": (
        "expected_doc", "expected_docs", "expected_document", "expected_documents", "expected", "document", "documents",
        "doc", "docs", "doc_id", "doc_ids", "file", "files", "file_name", "filename", "path", "source", "sources",
        "rel_path", "relevant_docs", "relevant_documents",
    ),
    "answer": ("answer", "reference", "reference_answer", "expected_answer", "ground_truth"),
    "id": ("id", "case_id", "query_id", "question_id"),
    "category": ("category", "topic", "type"),
}  # fmt: skip
"""What each column may be called; the first name is the one that is written."""


class Row(NamedTuple):
    """One row with a question."""

    placed: Placed
    """The cells by column, and the place in the file."""
    documents: tuple[str, ...]
    """The documents as they are named there."""

    def cell(self, column: str) -> str:
        """A cell without the blanks around it; empty where there is none."""
        return str(self.placed.value.get(column) or "").strip()


def is_question_table(path: Path) -> bool:
    """Whether a CSV file has a column of questions and one of expected documents."""
    return _find_columns(read_text(path).partition("\n")[0]) is not None


def read_question_table(
    path: Path, *, name: str | None = None, docs: Path | None = None, refuse: Refuse = raise_it
) -> Dataset:
    """The dataset of a table, or of a folder with a `questions.csv`."""
    file = path / FILE_NAME if path.is_dir() else path
    own = path.resolve().name if path.is_dir() else path.name.split(".")[0]
    folder = docs or _docs_beside(file)
    files = list_notes(folder)
    place = _Places([path_in_vault(note, folder) for note in files.taken], folder)
    cases = tuple(_cases(file, place, refuse))
    return Dataset(
        name=name or own,
        documents=tuple(read_notes(folder)),
        cases=cases,
        highest_grade=1,
        relevance_level=1,
        ranked_unit="document",
    )


def write_question_table(path: Path, dataset: Dataset) -> None:
    """`questions.csv` and the documents under `docs`."""
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    writer.writerow(_NAMES)
    for case in dataset.cases:
        writer.writerow(
            (case.query, ";".join(_expected(case, dataset)), case.reference_answer or "", case.id, case.category)
        )
    for document in dataset.documents:
        name = _file_of(document)
        place = inside(path / DOCUMENTS, name_text_file(name))
        if place is None:
            raise BadValue(
                f"document {document.id!r} would be written to {name!r}",
                remedy="A table of questions names files; export datasets of other documents as golden.",
            )
        write_lines(place, [document.text])
    write_lines(path / FILE_NAME, [rows.getvalue().removesuffix("\n")])


def _expected(case: Case, dataset: Dataset) -> list[str]:
    anchored = [support.rel_path for support in case.anchors.supports] if case.anchors else []
    graded = [ident for ident, grade in case.labels.items() if grade >= dataset.relevance_level]
    paths = [_file_of(dataset.by_id[ident]) for ident in graded if ident in dataset.by_id]
    return list(dict.fromkeys([*anchored, *paths]))


def _file_of(document: Document) -> str:
    """The name of its file; a document that never was one gets its id for a name."""
    return document.rel_path or f"{document.id}.txt"


def _docs_beside(file: Path) -> Path:
    places = [file.parent / name for name in (DOCUMENTS, VAULT, file.name.split(".")[0])]
    found = next((place for place in places if place.is_dir()), None)
    if found is None:
        raise InputError(
            f"{file} names documents, and there is no folder of them beside it",
            remedy=f"Name the folder with --docs, or put it beside the file as {DOCUMENTS}.",
        )
    return found


# --- Rows ---


def _find_columns(header: str) -> tuple[str, dict[int, str]] | None:
    """The separator, and what each column is; None: it is not such a table."""
    for separator in _SEPARATORS:
        cells = next(csv.reader([header.strip()], delimiter=separator), [])
        known = {place: found for place, cell in enumerate(cells) if (found := _column(cell)) is not None}
        if {"question", "expected_doc"} <= set(known.values()):
            return separator, known
    return None


def _column(cell: str) -> str | None:
    bare = "_".join(cell.strip().lower().replace("-", " ").split())
    return next((column for column, names in _NAMES.items() if bare in names), None)


def _rows(file: Path, refuse: Refuse) -> Iterator[Row]:
    text = read_text(file)
    header = text.partition("\n")[0]
    found = _find_columns(header)
    if found is None:
        raise MalformedFile(
            f"{file}, line 1: the columns are {header.strip()[:200]!r}",
            remedy="Name them question,expected_doc; a third column answer may hold the reference answer.",
        )
    separator, columns = found
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    next(reader)
    for cells in reader:
        # Of two columns for the same thing the first one that is filled counts.
        row: dict[str, str] = {}
        for place, column in columns.items():
            if place < len(cells) and cells[place].strip():
                row.setdefault(column, cells[place])
        if not row:
            continue
        placed = Placed(row, file, reader.line_num)
        if missing := next((column for column in ("question", "expected_doc") if column not in row), None):
            refuse(placed.error(f"the row has no {missing}", "Fill the cell, or remove the row."))
            continue
        named = row["expected_doc"].replace("\n", ";").split(";")
        yield Row(placed, tuple(name.strip() for name in named if name.strip()))


def _cases(file: Path, place: _Places, refuse: Refuse) -> Iterator[Case]:
    """One case for each question; rows with the same question are joined."""
    together: dict[str, list[Row]] = {}
    for row in _rows(file, refuse):
        together.setdefault(" ".join(row.cell("question").casefold().split()), []).append(row)
    ids: dict[str, int] = {}
    for rows in together.values():
        case = _case(rows, place, refuse)
        if case is None:
            continue
        if case.id in ids:
            refuse(rows[0].placed.error(f"the id {case.id!r} was given on line {ids[case.id]:,}", "Make ids unique."))
            continue
        ids[case.id] = rows[0].placed.line
        yield case


def _case(rows: Sequence[Row], place: _Places, refuse: Refuse) -> Case | None:
    first = rows[0]
    answers = {answer: row for row in reversed(rows) if (answer := row.cell("answer"))}
    if len(answers) > 1:
        lines = " and ".join(
            f"{row.placed.line:,}" for row in sorted(answers.values(), key=lambda item: item.placed.line)
        )
        refuse(first.placed.error(f"the same question has other answers on lines {lines}", "Keep one of them."))
        return None
    grades: dict[str, Grade] = {}
    for row in rows:
        for name in row.documents:
            found = place.find(name, row.placed, refuse)
            if found is None:
                return None
            grades[found] = Grade(document_id=found, grade=1)
    question = first.cell("question")
    return Case(
        id=first.cell("id") or f"c-{hashlib.sha256(question.encode()).hexdigest()[:12]}",
        query=question,
        grades=tuple(grades.values()),
        reference_answer=next(iter(answers), None),
        category=first.cell("category"),
    )


class _Places:
    """Documents of a folder, found by the names that people write."""

    def __init__(self, paths: Sequence[str], folder: Path) -> None:
        self._paths = paths
        self._folder = folder
        self._ends: dict[str, list[str]] = {}
        for path in paths:
            for end in {*_ends(path), *_ends(PurePosixPath(path).with_suffix("").as_posix())}:
                self._ends.setdefault(end, []).append(path)

    def find(self, name: str, row: Placed, refuse: Refuse) -> str | None:
        """The document that a cell names; refused, with the nearest, where there is none or several."""
        asked = name.replace("\\", "/").removeprefix("./").strip("/")
        for spelt in (asked, asked.removeprefix(f"{self._folder.resolve().name}/")):
            if spelt in self._paths:
                return spelt
            found = self._ends.get(spelt, [])
            if len(found) == 1:
                return found[0]
            if found:
                choices = ", ".join(sorted(found)[:3])
                refuse(row.error(f"{name!r} may be any of {choices}", "Write the path of one of them."))
                return None
        refuse(self._missing(name, asked, row))
        return None

    def _missing(self, name: str, asked: str, row: Placed) -> MalformedFile:
        if (self._folder / asked).is_file():
            return row.error(
                f"{name!r} is not a document that Assay reads",
                "Give Markdown, reStructuredText, .txt, HTML, PDF or JSON.",
            )
        near = difflib.get_close_matches(asked, self._paths, n=1, cutoff=0.4) or difflib.get_close_matches(
            PurePosixPath(asked).name, [PurePosixPath(path).name for path in self._paths], n=1, cutoff=0.4
        )
        hint = f"Did you mean {near[0]!r}? " if near else ""
        return row.error(
            f"there is no document {name!r} in {self._folder}",
            f"{hint}Write a path below that folder; it has {len(self._paths):,} documents.",
        )


def _ends(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[at:]) for at in range(len(parts))]
