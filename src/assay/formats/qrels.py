"""Judgments from a file of either kind: TREC qrels, or BEIR's table with its header line."""

from __future__ import annotations

from pathlib import Path

from assay.formats import beir, trec
from assay.formats.source import Block, blocks
from assay.records.rankings import QrelTable


def read_qrels(path: Path) -> QrelTable:
    """Every judgment of the file."""
    first = next(blocks(path), Block(b"", 0))
    if beir.is_header(first.data.partition(b"\n")[0]):
        return beir.read_beir_qrels(path)
    return trec.read_trec_qrels(path)


def example_document(path: Path) -> str:
    """The document of some judgment, to show what the ids look like."""
    first = next(blocks(path), Block(b"", 0))
    lines = [line for line in first.data.split(b"\n") if line.strip() and not line.startswith(b"#")]
    tabbed = beir.is_header(lines[0]) if lines else False
    fields = lines[1].split(b"\t") if tabbed else lines[0].split()
    return fields[1 if tabbed else 2].decode()
