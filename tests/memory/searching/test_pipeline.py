"""The stages in their order: folders, fallback, boosts, reranking, aggregation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.memory.searching.shelf import Shelf, ids

from assay.errors import BadValue
from assay.memory.searching.candidates import Embedded
from assay.memory.searching.channels import QueryVector
from assay.memory.searching.options import SearchOptions
from assay.records import EdgeKind, Filters, FusionMethod, Hit, LoggedQuery, SearchRequest, SearchResult
from assay.records.learning import ChangeKind, LearnedTerm, TermState
from assay.testing import note


def boosts(result: SearchResult) -> dict[str, dict[str, float]]:
    """The factors by memory and name."""
    return {
        hit.memory_id: {boost.name: boost.factor for boost in hit.explanation.boosts}
        for hit in result
        if hit.explanation is not None
    }


def in_folders(shelf: Shelf) -> None:
    """Three folders, of which one speaks of sails."""
    for folder, word in (("boats", "sail"), ("bread", "oven"), ("birds", "wing")):
        shelf.put(*(note(f"m_{folder}{place}", body=f"{word} number {place}", folder=folder) for place in range(4)))
    shelf.put(note("m_mill", body="A mill has a sail too; also mast and flour", folder="bread"))


def test_folder_choice_narrows_and_says_what_it_left_out(shelf: Shelf) -> None:
    in_folders(shelf)
    result = shelf.search("sail", folder_mode="on")
    assert result.chosen_folders == ("boats",)
    assert result.excluded_folders == ("birds", "bread")
    assert {hit.folder for hit in result} == {"boats"}
    assert (result.stages[0].inputs, result.stages[0].outputs) == (3, 1)


def test_with_fallback_a_search_that_found_too_little_looks_everywhere(shelf: Shelf) -> None:
    shelf.put(*(note(f"m_boats{place}", body="sail", folder="boats") for place in range(2)))
    shelf.put(*(note(f"m_bread{place}", body=f"oven {place}", folder="bread") for place in range(7)))
    shelf.put(note("m_mill", body="sail " + "flour and meal and grain " * 8, folder="bread"))
    narrow = shelf.search("boats sail", folder_mode="on", channels=("bm25",))
    assert (narrow.chosen_folders, ids(narrow)) == (("boats",), ["m_boats0", "m_boats1"])
    assert not narrow.telemetry.fallback_triggered
    wide = shelf.search("boats sail", folder_mode="on_with_fallback", channels=("bm25",))
    assert (wide.chosen_folders, ids(wide)) == (None, ["m_boats0", "m_boats1", "m_mill"])
    assert wide.telemetry.fallback_reason == "2 found in the chosen folders, so all were searched"
    (stage,) = (stage for stage in wide.stages if stage.name == "fallback")
    assert (stage.inputs, stage.outputs) == (2, 3)


def test_flat_evidence_narrows_nothing(sqlite_shelf: Shelf) -> None:
    in_folders(sqlite_shelf)
    result = sqlite_shelf.search("number", folder_mode="on")
    assert result.chosen_folders is None
    assert result.excluded_folders == ()


def test_a_folder_that_the_caller_named_is_never_dropped(sqlite_shelf: Shelf) -> None:
    in_folders(sqlite_shelf)
    result = sqlite_shelf.search("sail", mode="quick", filters=Filters(folder="birds"), folder_mode="on_with_fallback")
    assert {hit.folder for hit in result} <= {"birds"}


def test_quick_mode_that_found_too_little_asks_every_channel(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(
        *(note(f"m_{place}", body=f"deploys {place}") for place in range(4)),
        embedded=False,
    )
    result = sqlite_shelf.search("deploying", mode="quick")
    assert len(result) == 4
    assert set(result.weights) == {"bm25", "fts5", "trigger", "graph"}
    assert result.telemetry.fallback_reason == "0 found in quick mode, so every channel was asked"
    assert result.mode == "quick"


def test_full_text_is_asked_beside_bm25_only_for_phrases_and_beginnings_unless_always(shelf: Shelf) -> None:
    shelf.put(*(note(f"m_{word}", body=f"A sail and a {word}") for word in ("mast", "keel", "rudder")))
    for query in ("which sail has a mast", "sail and mast"):
        assert "fts5" not in shelf.search(query).weights
        assert "fts5" not in shelf.search(query, mode="deep").weights
    for query in ('which "sail and a mast" is it', "which sail has a rud*"):
        assert "fts5" in shelf.search(query).weights
    assert "fts5" in shelf.search("which sail has a mast", channels=("fts5", "bm25")).weights
    shelf.searcher = shelf.searching(options=SearchOptions(full_text_always=True))
    assert "fts5" in shelf.search("which sail has a mast").weights


def test_a_small_store_that_gave_all_it_has_needs_no_fallback(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(note("m_1", body="deploy"))
    assert not sqlite_shelf.search("deploy", mode="quick").telemetry.fallback_triggered


def test_a_neighbour_of_a_hit_is_boosted_unless_the_flag_is_off(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(note("m_1", body="alpha beta"), note("m_2", body="alpha"), note("m_3", body="alpha"))
    sqlite_shelf.join("m_1", EdgeKind.CAUSED, "m_3")
    asked: dict[str, Any] = {"channels": ("bm25", "graph"), "explain": True}
    found = boosts(sqlite_shelf.search("beta", **asked))
    assert found["m_3"]["causal"] == pytest.approx(1.0 + SearchOptions().causal_strength * 0.5)
    assert "causal" not in found["m_1"]
    sqlite_shelf.searcher = sqlite_shelf.searching(flags=sqlite_shelf.flags(causal_boost=0))
    assert "causal" not in boosts(sqlite_shelf.search("beta", **asked))["m_3"]


def test_neighbours_are_boosted_also_when_they_are_no_candidates_of_their_own(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(*(note(f"m_{place}", body="alpha " * (8 - place)) for place in range(8)))
    sqlite_shelf.join("m_0", EdgeKind.CAUSED, "m_7")
    sqlite_shelf.searcher = sqlite_shelf.searching(flags=sqlite_shelf.flags(graph_scoring=0))
    assert "causal" in boosts(sqlite_shelf.search("alpha", explain=True))["m_7"]


def test_a_session_raises_what_is_joined_to_what_it_was_given(shelf: Shelf) -> None:
    shelf.put(note("m_1", body="kestrel"), note("m_2", body="harbour one"), note("m_3", body="harbour two"))
    shelf.join("m_1", EdgeKind.SUPPORTS, "m_3")
    assert ids(shelf.search("kestrel", session_id="s", channels=("bm25",), k=1)) == ["m_1"]
    found = boosts(shelf.search("harbour", session_id="s", channels=("bm25",), explain=True))
    assert found["m_3"]["session"] == pytest.approx(1.0 + SearchOptions().session_strength * 0.5)
    assert "session" not in found["m_2"]


def test_what_other_searches_gave_together_is_raised_together_in_a_session(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(note("m_1", body="kestrel tower"), note("m_2", body="tower wall"), note("m_3", body="wall paper"))
    sqlite_shelf.search("tower", session_id="earlier", channels=("bm25",))
    sqlite_shelf.search("kestrel", session_id="s", channels=("bm25",))
    found = boosts(sqlite_shelf.search("wall", session_id="s", channels=("bm25",), explain=True))
    # Of the two results that held what the session attends to, one held the second memory.
    assert found["m_2"]["coactivation"] == pytest.approx(1.0 + SearchOptions().coactivation_strength * 0.5)
    assert "coactivation" not in found["m_3"]


def test_confidence_context_and_learned_triggers_are_boosts(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(
        note("m_good", body="alpha", confidence=1.0),
        note("m_bad", body="alpha", confidence=0.0),
        note("m_same", body="alpha", context_type="review"),
        note("m_learned", body="alpha", learned_triggers=("Alpha waves",)),
        note("m_unknown", body="alpha", learned_triggers=("Alpha waves",)),
    )
    learned = LearnedTerm(
        memory_id="m_learned", term="Alpha waves", state=TermState.APPLIED, learned_at=sqlite_shelf.clock.now()
    )
    with sqlite_shelf.store.writing(sqlite_shelf.scope) as work:
        work.learned_terms.put(learned)
        work.queries.add_many(
            [LoggedQuery(query_id="eq_1", query="waves of alpha", tool_name="t", created_at=learned.learned_at)]
        )
        vote = {"useful": True, "steps": 5, "query_id": "eq_1"}
        work.learning.change("m_good", ChangeKind.VOTE, {"confidence": 1.0}, vote)
    asked: dict[str, Any] = {"explain": True, "context_type": "review"}
    found = boosts(sqlite_shelf.search("alpha waves", **asked))
    assert found["m_good"]["confidence"] == pytest.approx(1.2)
    assert found["m_bad"]["confidence"] == pytest.approx(0.3)
    assert found["m_same"]["context_type"] == pytest.approx(1.05)
    assert "learned_triggers" not in found["m_learned"]
    flags = sqlite_shelf.flags(negative_feedback=0, learn_from_selection=100)
    sqlite_shelf.searcher = sqlite_shelf.searching(flags=flags)
    found = boosts(sqlite_shelf.search("alpha waves", **asked))
    assert "confidence" not in found["m_bad"]
    assert found["m_learned"]["learned_triggers"] == pytest.approx(1.0 + 0.2 * 0.7)
    assert "learned_triggers" not in found["m_unknown"], "nobody knows since when it holds"


def test_in_deep_mode_what_repeats_itself_is_spread_and_scores_stay(shelf: Shelf) -> None:
    shelf.put(
        note("m_1", title="x", body="alpha beta gamma"),
        note("m_2", title="x", body="alpha beta gamma"),
        note("m_3", title="x", body="delta epsilon zeta"),
        # Out of search, but its words count: all of the query's are equally frequent.
        note("m_old", title="x", body="delta epsilon zeta", superseded_at=shelf.clock.now()),
    )
    query = "alpha beta gamma delta epsilon zeta"
    deep, plain = (shelf.search(query, mode=mode, explain=True, channels=("bm25",)) for mode in ("deep", "focused"))
    assert ids(plain) == ["m_1", "m_2", "m_3"]
    assert ids(deep) == ["m_1", "m_3", "m_2"]
    assert {hit.memory_id: hit.score for hit in deep} == {hit.memory_id: hit.score for hit in plain}
    moved = {hit.memory_id: hit.explanation.reranked_from for hit in deep if hit.explanation is not None}
    assert moved == {"m_1": 1, "m_3": 3, "m_2": 2}
    shelf.searcher = shelf.searching(flags=shelf.flags(mmr=0))
    assert ids(shelf.search(query, mode="deep", channels=("bm25",))) == ["m_1", "m_2", "m_3"]


class Shortest:
    """A cross-encoder that likes short texts."""

    name = "shortest"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.floating]:
        return np.array([1.0 / len(text) for text in texts])


class Broken(Shortest):
    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.floating]:
        raise RuntimeError("no memory left")


def test_a_cross_encoder_orders_the_first_results_when_its_flag_is_on(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(note("m_1", body="alpha beta and more"), note("m_2", body="alpha"))
    sqlite_shelf.searcher = sqlite_shelf.searching(cross_encoder=Shortest())
    assert ids(sqlite_shelf.search("alpha beta")) == ["m_1", "m_2"]
    flags = sqlite_shelf.flags(cross_encoder=100)
    sqlite_shelf.searcher = sqlite_shelf.searching(cross_encoder=Shortest(), flags=flags)
    result = sqlite_shelf.search("alpha beta")
    assert ids(result) == ["m_2", "m_1"]
    assert result.stages[6].detail["by"] == "shortest"
    assert ids(sqlite_shelf.search("alpha beta", mode="quick")) == ["m_1", "m_2"]
    sqlite_shelf.searcher = sqlite_shelf.searching(cross_encoder=Broken(), flags=flags)
    result = sqlite_shelf.search("alpha beta")
    assert ids(result) == ["m_1", "m_2"]
    assert "no memory left" in result.degraded[0]


@pytest.mark.parametrize("method", list(FusionMethod))
def test_with_aggregation_further_passages_add_to_the_best_and_stand_in_document_order(
    shelf: Shelf, method: FusionMethod
) -> None:
    shelf.put(
        note("m_one", title="x", body="alpha beta"),
        note("m_two", title="x", body="alpha\n\nnothing\n\nalpha beta"),
        note("m_best", title="x", body="alpha beta gamma"),
    )
    # So long that nothing is raised for being recent.
    shelf.clock.advance(days=36_500)

    def found(**flags: int) -> dict[str, Hit]:
        options = SearchOptions(method=method)
        shelf.searcher = shelf.searching(flags=shelf.flags(**flags), options=options)
        return {hit.memory_id: hit for hit in shelf.search("alpha beta gamma", channels=("bm25",), explain=True)}

    alone, together = found(docscore_aggregation=0), found(docscore_aggregation=100)
    assert together["m_one"].score == alone["m_one"].score
    assert together["m_two"].score > alone["m_two"].score
    assert [one.position for one in together["m_two"].passages] == [0, 2]
    for hit in (*alone.values(), *together.values()):
        assert hit.explanation is not None
        assert hit.explanation.recompute() == pytest.approx(hit.score, abs=1e-12)


def test_what_a_better_result_names_by_its_title_is_raised_unless_switched_off(shelf: Shelf) -> None:
    shelf.put(
        note("m_1", title="Ferry", body="alpha beta gamma, run by the Harbour Office"),
        note("m_2", title="Harbour Office", body="alpha beside the quay"),
        note("m_3", title="Market", body="alpha by the wall"),
    )
    asked: dict[str, Any] = {"query": "alpha beta gamma", "channels": ("bm25",), "explain": True}
    raised = shelf.search(**asked)
    assert ids(raised) == ["m_1", "m_2", "m_3"]
    assert [name for name, factors in boosts(raised).items() if "named" in factors] == ["m_2"]
    explanation = raised[1].explanation
    assert explanation is not None
    assert explanation.recompute() == pytest.approx(raised[1].score)
    # What the question names itself is no second step.
    asked_by_name = {"query": "alpha beta gamma of the harbour office"}
    for more in ({"mode": "quick"}, {"without": ("named_boost",)}, asked_by_name):
        assert all("named" not in factors for factors in boosts(shelf.search(**{**asked, **more})).values())


def test_a_follow_up_is_understood_by_the_question_before_it(shelf: Shelf) -> None:
    shelf.put(
        note("m_ferry", title="Ferry", body="ferry island fare"),
        note("m_train", title="Train", body="train coast fare"),
        note("m_bread", title="Bread", body="bread price"),
    )
    follow_up: dict[str, Any] = {"query": "fare"}
    for channel in ("bm25", "vector"):
        train = shelf.search(**follow_up, channels=(channel,), previous_query="train coast")
        assert ids(train)[0] == "m_train", channel
        ferry = shelf.search(**follow_up, channels=(channel,), previous_query="ferry island")
        assert ids(ferry)[0] == "m_ferry", channel
    [stage] = [stage for stage in ferry.stages if stage.name == "candidate"]
    assert "ferri" in stage.detail["previous_stems"]


def test_the_previous_question_counts_less_than_the_question(shelf: Shelf) -> None:
    shelf.put(
        note("m_1", title="Ferry", body="ferry island quay harbour"),
        note("m_2", title="Oven", body="oven bread flour yeast"),
    )
    asked = {"query": "oven bread flour yeast", "previous_query": "ferry island quay harbour"}
    assert ids(shelf.search(**asked))[0] == "m_2"
    plain = shelf.search("oven bread flour yeast")
    assert "previous_stems" not in next(stage for stage in plain.stages if stage.name == "candidate").detail


def test_stems_of_both_questions_count_together(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(note("m_1", title="t", body="alpha beta"), note("m_2", title="u", body="alpha gamma"))
    alone = sqlite_shelf.search("alpha beta", channels=("bm25",), explain=True)
    repeated = sqlite_shelf.search("alpha beta", previous_query="alpha beta", channels=("bm25",), explain=True)
    explained = [result.hits[0].explanation for result in (alone, repeated)]
    first, second = (found.passages[0].votes[0].score for found in explained if found is not None)
    assert second == pytest.approx(first * (1.0 + SearchOptions().previous_weight), rel=1e-3)


def test_an_empty_previous_question_is_refused() -> None:
    with pytest.raises(BadValue, match="previous_query"):
        SearchRequest(query="and how much is it?", previous_query="")


def test_opposite_vectors_leave_the_question_as_it_is() -> None:
    vector = np.array([1.0, 0.0], dtype=np.float32)
    asked = Embedded(QueryVector("model", vector), None, 1.0)
    opposite = Embedded(QueryVector("model", -vector), None, 2.0)
    kept = asked.lean_towards(opposite, 1.0)
    assert kept.duration_ms == 3.0
    assert kept.vector is not None
    assert kept.vector.values.tolist() == [1.0, 0.0]
    assert asked.lean_towards(Embedded(None, "no model", 2.0), 0.3).vector == asked.vector
