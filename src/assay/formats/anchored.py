"""Anchored cases: JSONL, one question a line with the places that support its answer, and a vault of notes beside it.

The notes stand in the folder `vault` beside the file, or in one named like the file; `rel_path` is relative to it. A
note is any document of `records.memory.KINDS`. It is known by its path, its title is its first heading. A question
without an id is known by a hash of its words, so that lines may be moved.

What is written of a web page or a PDF is its text, beside which nothing says how it was read: `guide.html.md` is the
text of `guide.html` and known by that path.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from assay.errors import BadValue, InputError, MalformedFile, MissingExtra
from assay.formats.case_fields import anchor_fields, anchors, fact_value_fields, fact_values, turn_fields, turns
from assay.formats.document_text import (
    NO_READER,
    ReadProblem,
    document_of,
    extract_text,
    is_extracted,
    most_bytes,
    name_text_file,
)
from assay.formats.files import inside, write_lines
from assay.formats.golden import read_bytes, read_content
from assay.formats.strict_json import Keys, Refuse, build_or_refuse, one_line, raise_it, read_lines, texts
from assay.records import heading_path
from assay.records.answers import FolderMode, GoldAnchors
from assay.records.datasets import Case, Dataset, Document
from assay.records.memory import KINDS, Markup, kind_of

FILE_NAME = "cases.jsonl"
VAULT = "vault"
MOST_NAMED = 5
"""Notes that an error names, of those that cannot be read."""
RANKED_UNIT = "anchor"
_MARKDOWN_HEADING = re.compile(r"^#{1,6}[ \t]+([^\n]*)$", re.MULTILINE)
_UNDERLINED_HEADING = re.compile(r"^(?! )(?=[^\n]*\w)([^\n]++)\n([!-/:-@\[-`{-~])\2{2,}+[ \t]*+$", re.MULTILINE)


def read_anchored(
    path: Path, *, name: str | None = None, vault: Path | None = None, refuse: Refuse = raise_it
) -> Dataset:
    """The dataset of a JSONL file, or of a folder with a `cases.jsonl`; `vault` names another folder of notes."""
    file = path / FILE_NAME if path.is_dir() else path
    notes = vault or _vault_beside(file)
    own = file.resolve().parent.name if file.name == FILE_NAME else file.name.split(".")[0]
    return Dataset(
        name=name or own,
        documents=() if notes is None else tuple(read_notes(notes)),
        cases=tuple(_cases(file, refuse)),
        ranked_unit=RANKED_UNIT,
    )


def write_anchored(folder: Path, dataset: Dataset) -> None:
    """`cases.jsonl` and the notes under `vault`."""
    lines = [one_line(case_fields(case)) for case in dataset.cases]
    for document in dataset.documents:
        place = inside(folder / VAULT, name_text_file(document.rel_path or document.id))
        if place is None or not document.rel_path:
            raise BadValue(
                f"document {document.id!r} has the path {document.rel_path!r}",
                remedy="A note of a vault has a path in it.",
            )
        write_lines(place, [document.text])
    write_lines(folder / FILE_NAME, lines)


class NoteFiles(NamedTuple):
    """The files of a vault."""

    taken: tuple[Path, ...]
    """Documents, in the order of their paths."""
    skipped: tuple[Path, ...]
    """Files that are not documents (`records.memory.KINDS`)."""


def list_notes(root: Path) -> NoteFiles:
    """Every file of a vault by whether it is a document; hidden files and links out of the vault are neither."""
    inside = root.resolve()
    found = (path for path in root.rglob("*") if path.is_file() and not _is_hidden(path.relative_to(root)))
    files = sorted(path for path in found if path.resolve().is_relative_to(inside))
    return NoteFiles(
        taken=tuple(path for path in files if kind_of(path) is not None),
        skipped=tuple(path for path in files if kind_of(path) is None),
    )


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def read_notes(root: Path) -> Iterator[Document]:
    """Every note of a vault, in the order of their paths."""
    if not root.is_dir():
        raise InputError(f"{root} is not a folder of notes", remedy="Name the folder that holds the vault.")
    problems: list[InputError] = []
    for path in list_notes(root).taken:
        try:
            yield read_note(path, root)
        except InputError as problem:
            problems.append(problem)
    if problems:
        raise _join(problems)


def _join(problems: Sequence[InputError]) -> InputError:
    """One error about every note that cannot be read: a dataset is read whole, or not at all."""
    first, more = problems[0], len(problems) - 1
    if not more:
        return first
    others = "; ".join(problem.message for problem in problems[1:MOST_NAMED])
    rest = f"; and {len(problems) - MOST_NAMED:,} more" if len(problems) > MOST_NAMED else ""
    return type(first)(f"{first.message}; {others}{rest}", remedy=first.remedy)


def read_note(path: Path, root: Path) -> Document:
    """One note of a vault, known by its path below the root."""
    document, rel_path = document_of(path), path_in_vault(path, root)
    text, kind = _read_text(path), KINDS[document.suffix.lower()]
    return Document(
        id=rel_path,
        text=text,
        title=_title(text, document, kind.markup),
        format=kind.format,
        rel_path=rel_path,
        folder=_folder(rel_path),
    )


def path_in_vault(path: Path, root: Path) -> str:
    """What a note is known by: its path below the root; that of the web page or PDF whose text it holds."""
    return document_of(path).relative_to(root).as_posix()


def _read_text(path: Path) -> str:
    if not is_extracted(path):
        return read_content(path)
    found = extract_text(read_bytes(path, largest=most_bytes(path)), path)
    if isinstance(found, ReadProblem):
        kind = MissingExtra if found.reason == NO_READER else MalformedFile
        remedy = f"{found.remedy.rstrip('.')}, or move the file out of the folder."
        raise kind(f"{path} cannot be read: {found.detail}", remedy=remedy)
    return found


def case(value: Any) -> Case:
    """A case from the object of one line."""
    keys = Keys(value, "the case")
    question = keys.need("question")
    answerable = keys.take("answerable", True)
    given: dict[str, Any] = {
        "id": keys.take("id") or _id_of(question),
        "query": question,
        "answerable": answerable,
        "anchors": anchors(keys, answerable=answerable) or GoldAnchors(answerable=answerable),
        "tags": texts(keys.take("tags", []), "tags"),
        "history": turns(keys.take("history", []), "history"),
        "rubric": texts(keys.take("rubric", []), "rubric"),
        **keys.present_values(
            category="category", difficulty="difficulty", vault="vault", reference_answer="reference_answer"
        ),
        **keys.present_values(folder_mode="folder_mode", intent="intent"),
        **fact_values(keys),
    }
    keys.check_none_left()
    return Case(**given)


def case_fields(given: Case) -> dict[str, Any]:
    """A case as the object of one line."""
    if given.anchors is None:
        raise BadValue(
            f"case {given.id!r} has grades and no anchors", remedy="Export it as golden, BEIR or TREC instead."
        )
    optional = {
        "category": given.category,
        "difficulty": given.difficulty,
        "tags": list(given.tags),
        "vault": given.vault,
        "folder_mode": None if given.folder_mode is FolderMode.OFF else given.folder_mode.value,
        "intent": given.intent and given.intent.value,
        "history": turn_fields(given.history),
        "rubric": list(given.rubric),
    }
    return {
        "id": given.id,
        "question": given.query,
        "answerable": given.answerable,
        **anchor_fields(given.anchors),
        **({} if given.reference_answer is None else {"reference_answer": given.reference_answer}),
        **fact_value_fields(given),
        **{key: value for key, value in optional.items() if value},
    }


def _cases(file: Path, refuse: Refuse) -> Iterator[Case]:
    lines: dict[str, int] = {}
    for place in read_lines(file, refuse):
        one: Case | None = build_or_refuse(place, case, refuse)
        if one is None:
            continue
        if one.id in lines:
            known = lines[one.id]
            refuse(place.error(f"case {one.id!r} was given on line {known:,}", "Make ids, or questions, unique."))
            continue
        lines[one.id] = place.line
        yield one


def _id_of(question: Any) -> str:
    return f"c-{hashlib.sha256(str(question).encode(errors='replace')).hexdigest()[:12]}"


def _vault_beside(file: Path) -> Path | None:
    places = (file.parent / VAULT, file.parent / file.name.split(".")[0])
    return next((place for place in places if place.is_dir()), None)


_HEADINGS = {Markup.MARKDOWN: _MARKDOWN_HEADING, Markup.RESTRUCTURED_TEXT: _UNDERLINED_HEADING}


def _title(text: str, path: Path, markup: Markup) -> str:
    pattern = _HEADINGS.get(markup)
    found = pattern.finditer(text) if pattern is not None else ()
    names = (heading_path.heading_text(match.group(1)) for match in found)
    return next(filter(None, names), path.stem)[:500]


def _folder(rel_path: str) -> str:
    parent = PurePosixPath(rel_path).parent.as_posix()
    return "" if parent == "." else parent
