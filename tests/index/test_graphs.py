"""Graphs in files are made by a program of their own: the same graph, faults told, nothing left when it is ended."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.index import graph_program
from assay.index.graphs import GraphInFile, GraphInMemory, open_graph
from assay.index.native import Index
from assay.index.options import IndexOptions
from assay.index.scoring import Halves

COUNT, DIMENSION = 1_200, 16
OPTIONS = IndexOptions()


def vectors() -> Halves:
    made = np.random.default_rng(3).standard_normal((COUNT, DIMENSION))
    unit: Halves = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float16)
    return unit


def go_on() -> None:
    """Nobody wants it to stop."""


def write_graph(target: Path, rows: Halves, *, source: Path | None = None, page: int = 500) -> Index:
    graph = GraphInFile(target, DIMENSION, OPTIONS, source=source)
    for begin in range(0, len(rows), page):
        graph.add(rows[begin : begin + page])
    return graph.finish(go_on)


def nearest(graph: Index) -> list[list[int]]:
    return [graph.search(row.astype(np.float32), 10, threads=1).keys.tolist() for row in vectors()[::97]]


def test_a_file_holds_the_graph_that_memory_would(tmp_path: Path) -> None:
    kept = GraphInMemory(DIMENSION, OPTIONS)
    kept.add(vectors())
    kept.finish(go_on).save(str(tmp_path / "kept"))
    write_graph(tmp_path / "written", vectors())
    assert (tmp_path / "written").read_bytes() == (tmp_path / "kept").read_bytes()


def test_a_graph_that_grew_is_the_one_made_at_once(tmp_path: Path) -> None:
    write_graph(tmp_path / "part", vectors()[:700])
    grown = write_graph(tmp_path / "grown", vectors()[700:], source=tmp_path / "part")
    assert len(grown) == COUNT
    assert nearest(grown) == nearest(write_graph(tmp_path / "whole", vectors()))
    assert len(open_graph(tmp_path / "part")) == 700


def test_this_process_neither_reads_nor_writes_the_whole_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hold_the_lock(*_: object) -> None:
        raise AssertionError("usearch keeps Python's lock meanwhile")

    monkeypatch.setattr(Index, "load", hold_the_lock)
    monkeypatch.setattr(Index, "save", hold_the_lock)
    write_graph(tmp_path / "part", vectors()[:700])
    assert len(write_graph(tmp_path / "grown", vectors()[700:], source=tmp_path / "part")) == COUNT


@pytest.mark.parametrize(("source", "target"), [("is-no-graph", "graph"), (None, "missing/graph")])
def test_what_goes_wrong_is_told(tmp_path: Path, source: str | None, target: str) -> None:
    (tmp_path / "is-no-graph").write_bytes(b"hello" * 100)
    with pytest.raises(OSError, match="the graph of vectors cannot be written: RuntimeError: ") as caught:
        write_graph(tmp_path / target, vectors(), source=None if source is None else tmp_path / source)
    assert caught.value.filename == str(tmp_path / target)


def test_giving_up_ends_the_program_and_leaves_no_graph(tmp_path: Path) -> None:
    graph = GraphInFile(tmp_path / "graph", DIMENSION, OPTIONS)
    graph.add(vectors())
    graph.give_up()
    assert graph._process.returncode is not None
    graph.give_up()
    ended = GraphInFile(tmp_path / "graph", DIMENSION, OPTIONS, source=tmp_path / "graph")
    with pytest.raises(OSError, match="cannot be written"):
        ended.finish(go_on)
    assert ended._process.returncode is not None
    assert list(tmp_path.iterdir()) == []


def test_vectors_that_stop_coming_make_no_graph(tmp_path: Path) -> None:
    """Whoever sent them is gone."""
    asked = {"target": str(tmp_path / "graph"), "source": None, "threads": 1, "niceness": 0}
    settings = {"ndim": DIMENSION, "metric": "ip", "dtype": "i8", "expansion_add": 64}
    rows = vectors()[:10].tobytes()
    done = subprocess.run(
        [sys.executable, "-P", str(Path(graph_program.__file__)), json.dumps({**asked, "settings": settings})],
        input=len(rows).to_bytes(graph_program.COUNT_BYTES, "little") + rows,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr.decode().strip()) == (1, "the vectors stopped coming")
    assert not (tmp_path / "graph").exists()
