"""The program that measures indexes of vector stores, over a collection in miniature."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.vector_stores import COLLECTIONS, main

PLACES = ("Lisbon", "Oslo", "Quito", "Hanoi", "Perth", "Cairo", "Lima", "Riga", "Bern", "Doha")
TOPICS = ("ferry", "library", "bakery", "museum", "harbour", "market", "bridge", "stadium", "garden", "tower")


def write_collection(folder: Path) -> None:
    folder.mkdir()
    names = [(f"{place}, ward {ward}", topic) for place in PLACES for ward in (1, 2, 3) for topic in TOPICS]
    lines = [
        {
            "_id": f"d{number}",
            "title": f"{topic} of {place}",
            "text": f"The {topic} of {place} opens at {number} past nine.",
        }
        for number, (place, topic) in enumerate(names)
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    questions = [
        {"_id": f"q{number}", "text": f"when does the {line['title']} open"} for number, line in enumerate(lines)
    ]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    rows = [f"q{number}\td{number}\t1" for number in range(len(lines))]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(rows) + "\n", encoding="utf-8")


def test_every_store_prints_its_recall_beside_its_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_collection(tmp_path / COLLECTIONS[0])
    assert main(["--data", str(tmp_path), "--chunks", "300"]) == 0
    rows = {line.split(" | ")[0].strip("| "): line.split(" | ")[1:] for line in capsys.readouterr().out.splitlines()}
    exact = {"Qdrant, local", "LanceDB, no index", "FAISS, Flat"}
    assert {name for name, cells in rows.items() if cells and cells[0] == "exact"} == exact
    for name in ("Chroma, HNSW", "FAISS, HNSW32", "Milvus Lite, HNSW", "pgvector, hnsw"):
        assert float(rows[name][0]) > 0.9, name
        assert rows[name][2].endswith(" ms")
