"""Judgments and rankings written as TREC or BEIR files that the readers of this folder give back unchanged."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from assay.errors import BadValue

Grades = Mapping[str, Mapping[str, int]]
Scores = Mapping[str, Mapping[str, float]]


def write_trec_qrels(path: Path, qrels: Grades) -> None:
    """Write `topic 0 document grade` lines; packed when the name ends with .gz."""
    _write(path, (f"{_id(topic)} 0 {_id(doc)} {grade}\n" for topic, doc, grade in _cells(qrels)))


def write_beir_qrels(path: Path, qrels: Grades) -> None:
    """Write BEIR's table with its header."""
    rows = (f"{_id(topic, ' ')}\t{_id(doc, ' ')}\t{grade}\n" for topic, doc, grade in _cells(qrels))
    _write(path, ["query-id\tcorpus-id\tscore\n", *rows])


def write_trec_run(path: Path, run: Scores, tag: str) -> None:
    """Write `topic Q0 document rank score tag` lines in descending order of score; every digit is kept."""
    _write(path, (line for topic, scores in run.items() for line in _run_lines(topic, scores, tag)))


def _run_lines(topic: str, scores: Mapping[str, float], tag: str) -> Iterator[str]:
    for rank, (doc, score) in enumerate(sorted(scores.items(), key=lambda one: -one[1]), start=1):
        yield f"{_id(topic)} Q0 {_id(doc)} {rank} {float(score)!r} {_id(tag)}\n"


def _cells(qrels: Grades) -> Iterator[tuple[str, str, int]]:
    return ((topic, doc, grade) for topic, grades in qrels.items() for doc, grade in grades.items())


def _id(text: str, allowed: str = "") -> str:
    if not text or text.startswith("#") or any(character <= " " and character not in allowed for character in text):
        raise BadValue(
            f"id {text!r} cannot stand in this file", remedy="Use ids without blanks that do not begin with '#'."
        )
    return text


def _write(path: Path, lines: Iterable[str]) -> None:
    if path.suffix == ".gz":
        with gzip.open(path, "wt", encoding="utf-8", newline="\n") as packed:
            packed.writelines(lines)
    else:
        with path.open("w", encoding="utf-8", newline="\n") as plain:
            plain.writelines(lines)
