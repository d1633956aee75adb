"""Labelled answers and questions as the benchmarks of the built-in judges read them, with their splits.

A split is decided by what texts share (a page, an abstract, a paragraph, a request), never by single items, so that
nothing of a held-out text was seen while fitting. The collections here have one public split each; half of the groups
of each is for fitting, the other half held out. `mtrag_human` is held out as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.hashing import bucket

SALT = "bench-judge"
FAITHFUL_FROM = 3.3
"""Of people's mean faithfulness, 1 to 4: nearly all of them gave a 3 or better and most a 4."""
GRADES = {"supported": 1.0, "partially_supported": 0.5, "not_supported": 0.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One text somebody judged."""

    group: str
    question: str = ""
    text: str
    """A claim or an answer; for a question that may have no answer, empty."""
    passages: tuple[str, ...]
    label: bool
    """Supported, free of invention, or answerable."""
    grade: float
    """What people said, on the collection's own scale."""

    def is_held_out(self, name: str) -> bool:
        """Whether it may not be fitted on."""
        return name == "mtrag_human" or bucket(f"{name}/{self.group}", SALT) >= 50


def load(folder: Path, name: str) -> list[Judged]:
    """Every item of one collection."""
    return list(_READERS[name](folder / name))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _wice(place: Path) -> Iterator[Judged]:
    """Claims of Wikipedia against the pages they cite."""
    for line in _lines(place / "items.jsonl"):
        sentences = line["evidence_sentences"]
        yield Judged(
            group=" ".join(sentences[:3]),
            text=line["claim"],
            passages=("\n".join(sentences),),
            label=line["label"] == "supported",
            grade=GRADES[line["label"]],
        )


def _scifact(place: Path) -> Iterator[Judged]:
    """Claims of science against each abstract they cite: supported, contradicted, or neither."""
    abstracts = {one["_id"]: one["metadata"]["sentences"] for one in _lines(place / "corpus.jsonl")}
    for line in _lines(place / "claims.jsonl"):
        found = {one["doc_id"]: one["label"] == "SUPPORT" for one in line["evidence"]}
        for document in line["cited_doc_ids"]:
            label = found.get(document, False)
            text = "\n".join(abstracts[document])
            yield Judged(group=document, text=line["claim"], passages=(text,), label=label, grade=float(label))


def _halueval(place: Path) -> Iterator[Judged]:
    """Answers to general requests; no passage, people marked inventions."""
    for line in _lines(place / "items.jsonl"):
        label = line["hallucination"] == "no"
        yield Judged(
            group=line["user_query"],
            question=line["user_query"],
            text=line["chatgpt_response"],
            passages=(),
            label=label,
            grade=float(label),
        )


def _mtrag_human(place: Path) -> Iterator[Judged]:
    """Answers in conversations, rated for faithfulness by three people each."""
    for line in _lines(place / "human_evaluations.jsonl"):
        grade = float(np.mean(list(line["human"]["faithfulness"].values())))
        yield Judged(
            group=line["id"].split("<")[0],
            question=line["conversation"][-1]["text"],
            text=line["response"],
            passages=tuple(one["text"] for one in line["contexts"]),
            label=grade >= FAITHFUL_FROM,
            grade=grade,
        )


def _questions(place: Path) -> Iterator[Judged]:
    """Questions with the paragraph that answers them, or does not."""
    texts = {one["_id"]: one for one in _lines(place / "corpus.jsonl")}
    for line in _lines(place / "queries.jsonl"):
        about: Mapping[str, Any] = line["metadata"]
        document = texts[about.get("paragraph") or about["passage"]]
        label = bool(about["answerable"])
        yield Judged(
            group=document["_id"],
            question=line["text"],
            text="",
            passages=(document["text"],),
            label=label,
            grade=float(label),
        )


_READERS: Mapping[str, Callable[[Path], Iterator[Judged]]] = {
    "wice": _wice,
    "scifact": _scifact,
    "halueval": _halueval,
    "mtrag_human": _mtrag_human,
    "squad2": _questions,
    "clapnq": _questions,
}
