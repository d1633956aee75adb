"""BEIR qrels: tab-separated `query-id corpus-id score` under a header line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from assay.errors import MalformedFile
from assay.formats.source import Block, blocks
from assay.formats.trec import QrelColumns, gather_qrels
from assay.records.rankings import QrelTable

BEIR_QRELS = QrelColumns(
    3, 0, 1, 2, tabs=True, expected="A line of BEIR qrels has three fields between tabs: query-id, corpus-id, score."
)
HEADER = b"query-id\tcorpus-id\tscore\n"
_FIRST_NAMES = (b"query-id", b"query_id", b"queryid", b"qid")


def is_header(line: bytes) -> bool:
    """Whether a first line says that BEIR qrels follow."""
    names = line.strip().lower().split(b"\t")
    return len(names) == BEIR_QRELS.width and names[0] in _FIRST_NAMES


def read_beir_qrels(path: Path) -> QrelTable:
    """Every judgment of a BEIR qrels file."""
    return gather_qrels(path, _without_header(path), BEIR_QRELS)


def _without_header(path: Path) -> Iterator[Block]:
    source = blocks(path)
    first = next(source, Block(b"\n", 0))
    header, _, rest = first.data.partition(b"\n")
    if not is_header(header):
        raise MalformedFile(f"{path} has no header line", remedy="BEIR qrels begin with: query-id, corpus-id, score.")
    yield from chain([Block(rest, len(header) + 1)] if rest else [], source)
