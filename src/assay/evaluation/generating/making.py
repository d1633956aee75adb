"""Documents into anchored cases: the most telling parts of each, one question a part."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.errors import BadValue, InputError, NothingMeasured
from assay.evaluation.datasets.generated import GENERATED
from assay.evaluation.generating.asking import Asked, ask
from assay.evaluation.generating.sections import Telling, plain, telling
from assay.evaluation.generating.templates import question
from assay.formats.anchored import RANKED_UNIT, NoteFiles, list_notes, read_note
from assay.models.chat import ChatModel
from assay.records.anchors import GoldAnchors, GoldSupport
from assay.records.datasets import Case, Dataset, Document
from assay.records.document_kinds import KINDS, count_by_kind, kind_of

BUILT_IN = "templates"


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateOptions:
    """How much to make."""

    name: str | None = None
    """None: as the folder is called."""
    per_document: int = 3
    most: int = 100

    def __post_init__(self) -> None:
        if self.per_document < 1 or self.most < 1:
            raise BadValue(f"{self.per_document} a document, {self.most} in all", remedy="Ask for one or more.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Generated:
    """What was made."""

    dataset: Dataset
    source: str
    """Who made the questions: `templates`, or the model by name."""
    parts: int
    """Parts of documents that say something."""
    thrown_away: int
    """Replies of a model that could not be used."""
    taken: Mapping[str, int]
    """Documents by suffix."""
    skipped: Mapping[str, int]
    """Files that are not documents, by suffix."""


def generate(path: Path, options: GenerateOptions | None = None, *, model: ChatModel | None = None) -> Generated:
    """Question and anchor candidates from a folder of documents, or from one of them."""
    options = options or GenerateOptions()
    files = _files(path)
    documents = _documents(path, files)
    parts = telling(documents)
    if not parts:
        raise NothingMeasured(
            f"{path} has no sentence that could be asked about",
            remedy=f"Give documents with whole sentences ({', '.join(sorted(KINDS))}).",
        )
    source = BUILT_IN if model is None else f"model:{model.name}"
    made = [(one, _asked(one, model)) for one in _chosen(parts, options)]
    cases = {case.id: case for one, asked in made if asked is not None for case in [_case(one, asked, source)]}
    if not cases:
        raise NothingMeasured(f"{source} made no question that could be used", remedy="Try again without the model.")
    name = options.name or path.resolve().name.split(".")[0]
    dataset = Dataset(
        name=name,
        description=f"Generated from documents by {source}; every case is to be labelled before it counts.",
        documents=tuple(documents),
        cases=tuple(cases.values()),
        ranked_unit=RANKED_UNIT,
    )
    thrown = sum(asked is None for _, asked in made)
    return Generated(
        dataset=dataset,
        source=source,
        parts=len(parts),
        thrown_away=thrown,
        taken=count_by_kind(files.taken),
        skipped=count_by_kind(files.skipped),
    )


def _files(path: Path) -> NoteFiles:
    if path.is_dir():
        return list_notes(path)
    if not path.is_file():
        raise InputError(f"{path} does not exist", remedy="Give a document or a folder of them.")
    if kind_of(path) is None:
        raise InputError(
            f"{path.name} is not a document that Assay reads", remedy=f"Give one of these kinds: {', '.join(KINDS)}."
        )
    return NoteFiles(taken=(path,), skipped=())


def _documents(path: Path, files: NoteFiles) -> list[Document]:
    root = path if path.is_dir() else path.parent
    return [read_note(file, root) for file in files.taken]


def _chosen(parts: list[Telling], options: GenerateOptions) -> Iterator[Telling]:
    """The most telling parts, so many of each document and so many in all, in the order of the documents."""
    ranked = sorted(parts, key=lambda one: -one.worth)
    taken: Counter[str] = Counter()
    best: set[int] = set()
    for one in ranked:
        if len(best) < options.most and taken[one.document.id] < options.per_document:
            taken[one.document.id] += 1
            best.add(id(one))
    return (one for one in parts if id(one) in best)


def _asked(one: Telling, model: ChatModel | None) -> Asked | None:
    return Asked(question(one), one.sentence) if model is None else ask(model, one)


def _case(one: Telling, asked: Asked, source: str) -> Case:
    support = GoldSupport(rel_path=one.document.rel_path, heading_path=one.heading_path, snippets=(asked.quote,))
    digest = hashlib.sha256(f"{asked.question}\x00{one.document.id}\x00{one.heading_path}".encode()).hexdigest()
    return Case(
        id=f"g-{digest[:12]}",
        query=asked.question,
        anchors=GoldAnchors(supports=(support,)),
        reference_answer=plain(asked.quote),
        category="generated",
        tags=(GENERATED, source),
    )
