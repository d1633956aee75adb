"""Grades and scores by name: judgments and runs as mappings, for datasets whose every id is needed as text.

The columns of `trec` are for measuring millions of lines. Here the same readers decide what is right, and a second,
simpler pass over the file picks up the ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from assay.formats.beir import BEIR_QRELS, is_header
from assay.formats.qrels import read_qrels
from assay.formats.source import Block, blocks
from assay.formats.trec import TREC_QRELS, load_run

Grades = dict[str, dict[str, int]]
_BLANKS = re.compile(rb"[\x01-\x20]+")
_TABS = re.compile(rb"[\t\r]")


def read_grades(path: Path) -> Grades:
    """Every judgment of TREC or BEIR qrels, topic by topic in the order of their first line."""
    read_qrels(path)  # refuses what cannot be read, with the line and what was expected
    columns = BEIR_QRELS if is_header(_first_line(path)) else TREC_QRELS
    found: Grades = {}
    for line in _lines(path, skip=columns is BEIR_QRELS):
        fields = [one for one in (_TABS if columns.tabs else _BLANKS).split(line) if one]
        if fields and not fields[0].startswith(b"#"):
            topic, document = fields[columns.topic].decode(), fields[columns.document].decode()
            found.setdefault(topic, {})[document] = int(fields[columns.grade])
    return found


def read_scores(path: Path) -> Mapping[str, Mapping[str, float]]:
    """Every ranking of a TREC run, as `write_trec_run` takes them; a document listed twice keeps its better score."""
    found: dict[str, dict[str, float]] = {}
    for batch in load_run(path):
        parts = np.split(batch.scores, np.cumsum(batch.lengths)[:-1])
        for row, topic in enumerate(batch.topics):
            scores = found.setdefault(topic, {})
            for ident, score in zip(batch.ids(row), parts[row].tolist(), strict=True):
                name = ident.decode()
                scores[name] = max(score, scores.get(name, score))
    return found


def _first_line(path: Path) -> bytes:
    return next(blocks(path), Block(b"", 0)).data.partition(b"\n")[0]


def _lines(path: Path, *, skip: bool) -> Iterator[bytes]:
    for block in blocks(path):
        lines = block.data.split(b"\n")
        yield from lines[1:] if skip and block.offset == 0 else lines
