"""The query log's table: queries with what each channel offered."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.storage import samples
from tests.storage.homes import Home

from assay.errors import RecordNotFound
from assay.records import ChannelCandidates, Origin, Scope
from assay.storage import Store


def test_a_query_with_every_field_filled_comes_back_equal(store: Store, scope: Scope) -> None:
    kept = samples.full_query()
    with store.writing(scope) as work:
        assert work.queries.add_many([kept]) == 1
    with store.reading(scope) as work:
        assert work.queries.get(kept.query_id) == kept
        assert work.queries.get(kept.query_id).result_count == 3
    assert store.problems() == []


def test_a_query_with_only_what_is_required_comes_back_equal(store: Store, scope: Scope) -> None:
    kept = samples.query("q_1", query="")
    with store.writing(scope) as work:
        work.queries.add_many([kept])
    with store.reading(scope) as work:
        assert work.queries.get("q_1") == kept


def test_candidates_come_back_exactly_whatever_order_the_channels_had(store: Store, scope: Scope) -> None:
    ids = tuple(f"m_{number}#{number % 7}" for number in range(500))
    kept = samples.query(
        "q_1",
        candidates=(
            ChannelCandidates(channel="vector", ids=ids, scores=tuple(1 / (number + 1) for number in range(500))),
            ChannelCandidates(channel="Lexical", ids=(), scores=()),
            ChannelCandidates(channel="graph", ids=("m_1",), scores=(-0.0,)),
        ),
    )
    with store.writing(scope) as work:
        work.queries.add_many([kept])
    with store.reading(scope) as work:
        assert work.queries.get("q_1") == kept


def test_a_query_that_is_there_already_is_left_as_it_is(store: Store, scope: Scope) -> None:
    first = samples.full_query("q_1")
    with store.writing(scope) as work:
        assert work.queries.add_many([first]) == 1
        assert work.queries.add_many([samples.query("q_1"), samples.query("q_2")]) == 1
    with store.reading(scope) as work:
        assert work.queries.get("q_1") == first
        assert work.queries.count() == 2


def test_a_query_twice_in_one_batch_is_kept_once_as_first_sent(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        new = work.queries.add_many([samples.query("q_1", query="first"), samples.query("q_1", query="second")])
        assert new == 1
        assert work.queries.add_many([]) == 0
    with store.reading(scope) as work:
        assert work.queries.get("q_1").query == "first"


def test_the_newest_queries_are_given_first_in_the_order_they_were_logged(store: Store, scope: Scope) -> None:
    sent = [samples.query(id) for id in ("q_b", "q_a", "q_c")]  # noqa: A001 - the record's own word
    with store.writing(scope) as work:
        work.queries.add_many(sent)
    with store.reading(scope) as work:
        assert [query.query_id for query in work.queries.recent()] == ["q_c", "q_a", "q_b"]
        assert [query.query_id for query in work.queries.recent(limit=2)] == ["q_c", "q_a"]


def test_queries_are_listed_and_counted_by_origin(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.queries.add_many([samples.query(f"q_{origin}", origin=origin) for origin in Origin])
        work.queries.add_many([samples.query("q_2")])
    with store.reading(scope) as work:
        assert work.queries.count() == 5
        assert {origin: work.queries.count(origin=origin) for origin in Origin} == {
            Origin.USE: 2,
            Origin.EVALUATION: 1,
            Origin.SHADOW: 1,
            Origin.CANARY: 1,
        }
        assert [query.query_id for query in work.queries.recent(origin=Origin.USE)] == ["q_2", "q_use"]


def test_old_queries_go_with_their_candidates_but_an_evaluation_corpus_stays(store: Store, scope: Scope) -> None:
    offered = (ChannelCandidates(channel="lexical", ids=("m_1",), scores=(1.0,)),)
    day = timedelta(days=1)
    with store.writing(scope) as work:
        work.queries.add_many(
            [
                samples.query("q_old", created_at=samples.AT - day, candidates=offered),
                samples.query("q_corpus", created_at=samples.AT - day, candidates=offered, is_eval_corpus=True),
                samples.query("q_now", created_at=samples.AT, candidates=offered),
            ]
        )
        assert work.queries.remove_before(samples.AT) == 1
        assert work.queries.remove_before(samples.AT) == 0
    with store.reading(scope) as work:
        assert [query.query_id for query in work.queries.recent()] == ["q_now", "q_corpus"]
        assert work.queries.get("q_corpus").candidates == offered
        with pytest.raises(RecordNotFound):
            work.queries.get("q_old")
    assert store.problems() == []


def test_a_query_that_was_never_logged_is_refused_by_name(store: Store, scope: Scope) -> None:
    with store.reading(scope) as work, pytest.raises(RecordNotFound, match="q_unknown") as refused:
        work.queries.get("q_unknown")
    assert refused.value.remedy


def test_an_appended_query_is_in_the_store_after_a_flush(store: Store, scope: Scope) -> None:
    assert store.log.append(scope, samples.full_query("q_1"))
    store.log.flush()
    with store.reading(scope) as work:
        assert work.queries.get("q_1") == samples.full_query("q_1")


def test_closing_a_store_writes_what_its_log_still_holds(store: Store, home: Home, scope: Scope) -> None:
    store.log.append(scope, samples.query("q_1"))
    store.close()
    with home.open().reading(scope) as work:
        assert work.queries.get("q_1") == samples.query("q_1")
