"""What there is to label: pairs of a question and a candidate, from a dataset or from a file of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import NothingMeasured
from assay.formats.files import write_lines
from assay.formats.strict_json import Keys, made, one_line, raise_it, read_lines
from assay.records import heading_path
from assay.records.anchors import GoldSupport
from assay.records.datasets import Case, Dataset, Document
from assay.text.sectioning import document_sections

FILE_NAME = "to_label.jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One pair."""

    case_id: str
    query: str
    document_id: str
    title: str = ""
    text: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What a label is about."""
        return self.case_id, self.document_id


def tasks_of(dataset: Dataset) -> list[Task]:
    """Every graded or anchored document of every case, case by case."""
    found = [one for case in dataset.cases for one in _of_case(dataset, case)]
    if not found:
        raise NothingMeasured(
            f"{dataset.name} names no document that could be labelled",
            remedy=f"Give the {FILE_NAME} that `assay dataset build` wrote.",
        )
    return found


def _of_case(dataset: Dataset, case: Case) -> Iterator[Task]:
    supports = case.anchors.supports if case.anchors is not None else ()
    by_path = {one.rel_path: one for one in dataset.documents if one.rel_path}
    for support in supports:
        yield _task(case, support.rel_path, by_path.get(support.rel_path), support)
    for ident in dict.fromkeys(one.document_id for one in case.grades):
        yield _task(case, ident, dataset.by_id.get(ident), None)


def _task(case: Case, ident: str, document: Document | None, support: GoldSupport | None) -> Task:
    whole = "" if document is None else document.text
    parts = [whole] if support is None else [support.heading_path, *support.snippets, _part(document, support)]
    return Task(
        case_id=case.id,
        query=case.query,
        document_id=ident if document is None or support is not None else document.id,
        title=ident if document is None else document.title,
        text="\n\n".join(filter(None, parts)),
    )


def _part(document: Document | None, support: GoldSupport) -> str:
    """What stands under the heading that an anchor names; the whole document where there is none."""
    if document is None:
        return ""
    found = document_sections(document.text, rel_path=document.rel_path, format=document.format)
    under = [one.text for one in found if heading_path.lies_under(one.heading_path, support.heading_path)]
    return "".join(under).strip() if support.heading_path and under else document.text


def write_tasks(path: Path, tasks: Iterable[Task]) -> None:
    """Write one pair a line, for the owner's eyes only: the texts may come from a memory."""
    write_lines(path, (one_line(_fields(one)) for one in tasks), private=True)


def read_tasks(path: Path) -> list[Task]:
    """What `write_tasks` wrote."""
    found = [made(place, _read, raise_it) for place in read_lines(path, raise_it)]
    if not found:
        raise NothingMeasured(f"{path} holds nothing to label", remedy="Build it again: `assay dataset build`.")
    return found


def _fields(one: Task) -> dict[str, Any]:
    return {
        "case": one.case_id,
        "query": one.query,
        "document": one.document_id,
        "title": one.title,
        "text": one.text,
    }


def _read(value: Any) -> Task:
    keys = Keys(value, "the pair")
    found = Task(
        case_id=keys.need("case"),
        query=keys.need("query"),
        document_id=keys.need("document"),
        title=keys.take("title", ""),
        text=keys.take("text", ""),
    )
    keys.done()
    return found
