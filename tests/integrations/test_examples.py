"""Every example runs as a program and prints a measurement; each adapter has one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import make_url
from tests.storage.homes import PostgresServer
from tests.systems.search_engine import Engine, running

from assay import Dataset
from assay.wiring.adapter_kinds import FRAMEWORKS, SEARCH_ENGINES, STORES

FOLDER = Path(__file__).parents[2] / "examples" / "integrations"
PROGRAMS = sorted(path for path in FOLDER.glob("*.py") if path.name != "hotel.py")
SERVED = ("pgvector_table.py", "opensearch_index.py", "elasticsearch_index.py")


def run(program: Path, folder: Path, **variables: str) -> str:
    """Run an example in a folder of its own; return what it printed."""
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=folder,
        env={**os.environ, "ASSAY_OFFLINE": "1", **variables},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def check(told: str) -> None:
    """A measurement over a tenth of the questions, without a failed case."""
    ended = re.search(r" on hotel: (\d+) ok", told)
    assert ended is not None, told
    assert int(ended[1]) > 10
    assert "error" not in told.partition("\n")[0]
    recall = re.search(r"recall@5\s+(\d\.\d+)", told)
    assert recall is not None
    assert float(recall[1]) > 0.2


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_an_example_has_at_most_forty_lines(program: Path) -> None:
    assert len(program.read_text(encoding="utf-8").splitlines()) <= 40


def test_every_adapter_has_an_example() -> None:
    told = "".join(path.read_text(encoding="utf-8") for path in PROGRAMS)
    kinds = {*FRAMEWORKS, *STORES, *SEARCH_ENGINES}
    assert {kind for kind in kinds if f'measure("{kind}:' in told or f'measure(f"{kind}:' in told} == kinds


@pytest.mark.parametrize("program", [path for path in PROGRAMS if path.name not in SERVED], ids=lambda path: path.stem)
def test_an_example_runs(program: Path, tmp_path: Path) -> None:
    told = run(program, tmp_path)
    check(told)
    approximate = program.stem in {"chroma_collection", "lancedb_table", "faiss_index", "milvus_collection"}
    assert ("The approximate index has a recall@" in told) == approximate
    assert ("the store searched exactly" in told) == (program.stem == "qdrant_collection")


def test_the_example_of_pgvector_runs(tmp_path: Path, postgres: PostgresServer) -> None:
    url = make_url(postgres.address).set(drivername="postgresql").render_as_string(hide_password=False)
    told = run(FOLDER / "pgvector_table.py", tmp_path, DATABASE_URL=url)
    check(told)
    assert "The approximate index has a recall@" in told


@pytest.mark.parametrize("kind", sorted(SEARCH_ENGINES))
def test_the_examples_of_search_engines_run(kind: str, tmp_path: Path) -> None:
    texts = {document.id: document.text for document in Dataset.load("hotel").documents}
    engine = Engine(kind, texts, np.zeros((len(texts), 1)), field={}, index="hotel")
    with running(engine):
        address = {f"{kind.upper()}_URL": engine.url, "ASSAY_NETWORK_ALLOW": engine.url}
        check(run(FOLDER / f"{kind}_index.py", tmp_path, **address))
        # Offline is on in every example, and an address that is not configured is refused.
        with pytest.raises(AssertionError, match="offline is on"):
            run(FOLDER / f"{kind}_index.py", tmp_path, **{f"{kind.upper()}_URL": engine.url})


@pytest.mark.parametrize(
    "system",
    ["langgraph:langgraph_agent:make_agent?id=rel_path", "pydantic-ai:pydantic_ai_agent:make_agent"],
)
def test_an_agent_with_a_memory_is_measured_from_the_command_line(system: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "assay",
            "run",
            "hotel",
            "--system",
            system,
            "-m",
            "recall@5",
            "--sample",
            "0.1",
            "--json",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(FOLDER)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    [told] = json.loads(done.stdout)["runs"]
    assert told["metrics"]["recall@5"]["value"] > 0.2
    assert told["counts"]["ok"] > 10
    first = json.loads(
        next(iter(tmp_path.glob(".assay/runs/*/cases.jsonl"))).read_text(encoding="utf-8").splitlines()[0]
    )
    assert first["retrieved"]["answer"]["text"] == "I looked it up in my notes."
