"""A cross-encoder and overlapping chunks from the command line: settings, flag, search and run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.embedding.pair_models import write_pair_model
from tests.systems.sample import dataset

from assay.evaluation.datasets import export_dataset
from assay.records.datasets import Document

STEMS = "Cookies and more cookies: lifetimes of cookies, policies on cookies."
WORDS = "In section nine of the handbook for browsers there is a cookie lifetime policy of the company."


@pytest.fixture(autouse=True)
def own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DB", "notes.db")
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")


def instrument() -> str:
    """What the newest run was made with, as its folder has it."""
    newest = max(Path(".assay/runs").iterdir(), key=lambda folder: folder.name)
    return " ".join((newest / "manifest.json").read_text(encoding="utf-8").split())


def test_a_search_says_what_the_cross_encoder_gave_and_what_it_left_out(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for title, text in (("Stems", STEMS), ("Words", WORDS)):
        assert run("save", "--title", title, "--text", text).code == 0
    ask = ("search", "cookie lifetime policy", "--channel", "bm25", "--mode", "focused", "--explain")
    assert run(*ask).out.index("Stems") < run(*ask).out.index("Words")
    switched = run("flag", "on", "cross_encoder")
    assert (switched.code, "held off: no cross-encoder is configured. Set rerank.folder" in switched.out) == (0, True)

    monkeypatch.setenv("ASSAY_RERANK_FOLDER", str(write_pair_model(tmp_path / "shared-words")))
    assert "held off" not in run("flag", "show", "cross_encoder").out
    found = run(*ask)
    assert found.out.index("Words") < found.out.index("Stems")
    assert "reranked from place 2 by the cross-encoder, which gave 0.9526" in found.out
    monkeypatch.setenv("ASSAY_RERANK_THRESHOLD", "0.9")
    assert "1 left out: scored below rerank.threshold" in run(*ask).out
    monkeypatch.setenv("ASSAY_RERANK_THRESHOLD", "0.99")
    assert "Nothing reached rerank.threshold" in run(*ask).out
    monkeypatch.setenv("ASSAY_RERANK_THRESHOLD", "1.5")
    assert "Give rerank.threshold a number from 0 to 1" in run(*ask).err


def test_a_run_can_be_asked_for_with_a_cross_encoder(run: Run, tmp_path: Path) -> None:
    export_dataset(dataset(), tmp_path / "house.json")
    write_pair_model(tmp_path / "shared-words")
    refused = run("run", "house.json", "-s", "assay:flags.cross_encoder=on")
    assert (refused.code, "no cross-encoder is configured" in refused.err) == (3, True)
    broken = run("run", "house.json", "-s", "assay:flags.cross_encoder=on,rerank.folder=nowhere")
    assert (broken.code, "nowhere has no model.onnx" in broken.err) == (3, True)
    given = "assay:flags.cross_encoder=on,rerank.folder=shared-words,rerank.threshold=0.9,rerank.depth=4"
    done = run("run", "house.json", "-s", given, "-m", "recall@5,precision@5")
    assert done.code == 0, done.err
    told = instrument()
    assert "shared-words:" in told
    assert '"rerank_threshold": 0.9' in told
    assert '"rerank_depth": 4' in told


def test_overlapping_chunks_are_another_corpus(run: Run, tmp_path: Path) -> None:
    house = dataset()
    long = Document(id="long", title="Long", text=" ".join(f"Sentence {number} here." for number in range(300)))
    export_dataset(
        type(house)(name="house", documents=(*house.documents, long), cases=house.cases), tmp_path / "h.json"
    )
    made = {}
    for overlap in (0, 40):
        done = run("run", "h.json", "-s", f"assay:chunking.max_tokens=100,chunking.overlap_tokens={overlap}")
        assert done.code == 0, done.err
        made[overlap] = instrument()
    assert '"overlap_tokens": 40' in made[40]
    assert '"overlap_tokens": 40' not in made[0]
    corpora = list(Path(os.environ["XDG_CACHE_HOME"]).rglob("corpora/*/assay.db"))
    assert len(corpora) == 2
    too_much = run("run", "h.json", "-s", "assay:chunking.max_tokens=100,chunking.overlap_tokens=100")
    assert (too_much.code, "chunking.overlap_tokens 100 is more than half of a chunk" in too_much.err) == (3, True)
    assert "below zero" in run("run", "h.json", "-s", "assay:chunking.overlap_tokens=-1").err
