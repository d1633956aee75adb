# ruff: noqa: A005 - only ever imported as bench.collections
"""Public labelled collections as the quality benchmarks read them: `load(folder, name)`.

A collection lies in a folder of its own in BEIR's layout: `corpus.jsonl`, `queries.jsonl`, `qrels.tsv` with a header.
Only questions for which something is relevant are kept: the others (unanswerable ones) have no ranking to be right.
Every scifact claim here is of the train split; should a copy hold the public test claims too, they are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

NEEDED = ("scifact", "noveleval", "hotpotqa100", "beam100k")
"""The collections on which fusion must not lose to its best channel."""
FURTHER = ("mtrag", "clapnq", "squad2", "pubmedqa")
ALL = NEEDED + FURTHER
HELD_OUT_SPLIT = {"scifact": "test"}


class Document(NamedTuple):
    """One text of a corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Collection:
    """Texts, questions and what is relevant for each."""

    name: str
    documents: list[Document]
    questions: dict[str, str]
    judgments: dict[str, dict[str, int]]
    """Grades by question and document; the same questions, in the same order."""
    previous: Mapping[str, str] = field(default_factory=dict)
    """By question that continues a conversation, what the user said before it."""
    surroundings: Mapping[str, str] = field(default_factory=dict)
    """By document that is a turn of a chat, the turns around it, as `assay ingest --conversation` takes them in."""
    one_by_one: bool = False
    """Whether the documents are notes that somebody saves one after the other, so that later ones may replace earlier
    ones; otherwise they are files that are taken in together."""


def load(folder: Path, name: str) -> Collection:
    """Read one collection."""
    place = folder / name
    graded = read_grades(place / "qrels.tsv")
    asked = [
        line
        for line in read_lines(place / "queries.jsonl")
        if max(graded.get(line["_id"], {}).values(), default=0) > 0 and not _held_out(name, line)
    ]
    questions = {str(line["_id"]): str(line["text"]) for line in asked}
    documents = [
        Document(line["_id"], line.get("title") or "", line["text"]) for line in read_lines(place / "corpus.jsonl")
    ]
    return Collection(
        name=name,
        documents=documents,
        questions=questions,
        judgments={question: graded[question] for question in questions},
        previous={str(line["_id"]): said for line in asked if (said := _find_previous(line)) is not None},
    )


def _find_previous(question: Mapping[str, Any]) -> str | None:
    """Return what the user said before a question of a conversation."""
    turns = reversed(question.get("metadata", {}).get("history", []))
    return next((turn["text"] for turn in turns if turn["speaker"] == "user" and turn["text"].strip()), None)


def _held_out(name: str, question: Mapping[str, Any]) -> bool:
    split = HELD_OUT_SPLIT.get(name)
    return split is not None and question.get("metadata", {}).get("split") == split


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the object of every line."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def read_grades(path: Path) -> dict[str, dict[str, int]]:
    """Read grades by question and document from a file with a header."""
    found: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8") as file:
        next(file)
        for line in file:
            question, document, grade = line.rstrip("\n").split("\t")
            found.setdefault(question, {})[document] = int(grade)
    return found


def headings(folder: Path) -> list[str]:
    """Titles and headings of the Kubernetes documentation, as somebody might ask for them; each once, in order."""
    asked: dict[str, None] = {}
    for line in read_lines(folder / "docs_kubernetes" / "notes.jsonl"):
        path = line["metadata"]["heading_path"]
        question = f"{path[-1]} in {line['title']}?" if path and path[-1] != line["title"] else line["title"]
        if len(question.split()) > 1:
            asked.setdefault(question)
    return list(asked)
