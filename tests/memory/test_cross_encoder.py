"""A configured cross-encoder orders the first results again: a real pair model, on both stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.embedding.pair_models import write_pair_model
from tests.memory.engines import engine_at
from tests.storage.homes import Home

from assay.errors import SettingError
from assay.memory.engine import Engine
from assay.records import Channel, Mode, Scope, SearchRequest, SearchResult, make_draft
from assay.records.flags import VoteKind
from assay.records.memory_list import Condition
from assay.settings import Origin
from assay.wiring import ladder_of

ON = {"cross_encoder": ("on", Origin("option", "test"))}
QUERY = "cookie lifetime policy"
"""The model counts words that are equal as they stand; the lexical channels stem, so their order is another."""
NOTES = {
    "many stems": "Cookies and more cookies: lifetimes of cookies, policies on cookies.",
    "same words": "In section nine of the handbook for browsers there is a cookie lifetime policy of the company.",
    "one word": "A cookie is baked for twelve minutes at medium heat and left to cool.",
}


@contextmanager
def filled(home: Home, scope: Scope, **changed: Any) -> Iterator[Engine]:
    with engine_at(home, **changed) as engine:
        with engine.store.reading(scope) as work:
            there = work.memories.count_chunks()
        for title, body in NOTES.items() if not there else ():
            engine.saver.save(scope, make_draft(title=title, body=body))
        yield engine


def search(engine: Engine, scope: Scope, **changed: Any) -> SearchResult:
    request = SearchRequest(query=QUERY, mode=Mode.FOCUSED, channels=(Channel.BM25,), explain=True)
    return engine.searcher.search(scope, request if not changed else SearchRequest(query=QUERY, **changed))


def titles(found: SearchResult) -> list[str]:
    return [hit.title for hit in found]


def test_the_flag_orders_results_by_the_model_and_the_explanation_has_its_numbers(
    home: Home, scope: Scope, tmp_path: Path
) -> None:
    folder = write_pair_model(tmp_path / "shared-words")
    with filled(home, scope) as engine:
        plain = search(engine, scope)
    assert titles(plain)[0] == "many stems"
    with filled(home, scope, rerank_folder=folder, flags=ON) as engine:
        found = search(engine, scope)
        quick = search(engine, scope, mode=Mode.QUICK)
    assert titles(found) == ["same words", "many stems", "one word"]
    assert {hit.title: hit.score for hit in found} == {hit.title: hit.score for hit in plain}
    first = found[0].explanation
    assert first is not None
    assert first.reranked_from == titles(plain).index("same words") + 1
    # Three words are shared: the logistic function of 3.
    assert first.rerank_score == pytest.approx(0.95257, abs=1e-5)
    assert next(stage for stage in found.stages if stage.name == "rerank").detail["by"].startswith("shared-words:")
    assert all(stage.detail.get("by") is None for stage in quick.stages)


def test_only_results_that_reach_the_threshold_are_returned(home: Home, scope: Scope, tmp_path: Path) -> None:
    folder = write_pair_model(tmp_path / "shared-words")
    with filled(home, scope, rerank_folder=folder, rerank_threshold=0.9, flags=ON) as engine:
        found = search(engine, scope)
    assert (titles(found), found.below_threshold) == (["same words"], 2)
    with filled(home, scope, rerank_folder=folder, rerank_threshold=0.99, flags=ON) as engine:
        assert (titles(search(engine, scope)), search(engine, scope).below_threshold) == ([], 3)


def test_only_the_first_results_are_reranked(home: Home, scope: Scope, tmp_path: Path) -> None:
    folder = write_pair_model(tmp_path / "shared-words")
    with filled(home, scope) as engine:
        plain = titles(search(engine, scope))
    with filled(home, scope, rerank_folder=folder, rerank_depth=1, flags=ON) as engine:
        assert titles(search(engine, scope)) == plain
    # What the model did not look at has no score, so it cannot be known to reach a threshold.
    with filled(home, scope, rerank_folder=folder, rerank_depth=2, rerank_threshold=0.01, flags=ON) as engine:
        assert sorted(titles(search(engine, scope))) == sorted(plain[:2])


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_a_flag_that_is_on_without_a_model_says_what_to_set(home: Home, scope: Scope) -> None:
    with filled(home, scope) as engine:
        assert engine.flag_states(scope)["cross_encoder"].held_off == ""
        engine.flags.turn(engine.store, scope, "cross_encoder", "on")
        state = engine.flag_states(scope)["cross_encoder"]
        assert state.held_off.startswith("no cross-encoder is configured. Set rerank.folder")
        [line] = [line for line in engine.health(scope).parts if line.name == "cross_encoder"]
        assert (line.state, line.reason) == (Condition.DEGRADED, f"on, but held off: {state.held_off}")


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_a_trial_of_a_flag_that_can_do_nothing_is_refused(home: Home, scope: Scope, tmp_path: Path) -> None:
    with filled(home, scope) as engine, pytest.raises(SettingError, match="no cross-encoder") as refused:
        ladder_of(engine).trials.begin(scope, "cross_encoder", kind=VoteKind.PAIRED)
    assert "rerank.folder" in refused.value.remedy
    folder = write_pair_model(tmp_path / "shared-words")
    with filled(home, scope, rerank_folder=folder) as engine:
        assert ladder_of(engine).trials.begin(scope, "cross_encoder", kind=VoteKind.PAIRED).attempt == 1


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_a_model_that_cannot_be_loaded_is_named_and_the_search_answers(
    home: Home, scope: Scope, tmp_path: Path
) -> None:
    with filled(home, scope, rerank_folder=tmp_path / "nowhere", flags=ON) as engine:
        found = search(engine, scope)
    assert titles(found)[0] == "many stems"
    assert "rerank.folder" in found.degraded[0]
    assert "has no model.onnx" in found.degraded[0]


@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_a_threshold_without_a_model_is_refused(home: Home) -> None:
    with (
        pytest.raises(SettingError, match=r"rerank\.threshold is 0\.5") as refused,
        engine_at(home, rerank_threshold=0.5),
    ):
        pass
    assert "rerank.folder" in refused.value.remedy
