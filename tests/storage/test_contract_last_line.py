"""The schema itself refuses what no record would hold, should anybody write around the records."""

from __future__ import annotations

from contextlib import suppress

import pytest
from sqlalchemy import inspect, text
from tests.storage import samples
from tests.storage.homes import raw

from assay.errors import BadValue, RecordExists, RecordNotFound
from assay.records import Scope
from assay.records.evidence import RESULT_NUMBERS
from assay.storage import Store
from assay.storage.tables import metadata

OURS = Scope(tenant="t")
OF_THE_STORE = ("meta", "leases", "shared_limits")
"""What belongs to nobody."""


def fill(store: Store) -> None:
    with store.writing(OURS) as work:
        work.memories.add_many([samples.embedded("m_1", triggers=("roll back",))])
        work.edges.put(samples.edge("m_1", "m_1"))
        work.saves.record(samples.save_record(quality=0.5, similarity=0.5))
        work.flags.put("mmr", enabled=True, rollout_percent=10, shadow=False)
        work.queries.add_many([samples.full_query("q_1")])
        work.judgments.put_many([samples.judgment()])
        work.results.add(samples.full_result())
        work.feedback.record([samples.event(rank_in_results=1)])
        work.ab_tests.put(samples.full_ab_test())
        work.shadow_runs.add_many([samples.full_shadow_run()])


INFINITE = ("9e999", "'Infinity'::float8")
NEGATIVE_INFINITE = ("-9e999", "'-Infinity'::float8")
NOT_A_NUMBER = ("9e999 - 9e999", "'NaN'::float8")
"""SQLite has no NaN: the difference of infinities is NULL there, which a required column refuses."""
WORD = ("'many'", "'many'")
NUMBERS = {
    "memories": ["confidence"],
    "edges": ["strength"],
    "eval_judgments": ["confidence"],
    "eval_ab_tests": ["log_likelihood_ratio", "upper_bound", "lower_bound", "control_mrr_sum", "graduation_threshold"],
}
OPTIONAL_NUMBERS = {
    "eval_queries": ["total_latency_ms", "quality_proxy_score"],
    "eval_results": list(RESULT_NUMBERS),
    "eval_shadow_runs": ["rank_correlation", "set_overlap", "mrr_delta", "ndcg_delta", "control_latency_ms"],
    "memory_saves": ["quality", "similarity"],
}
COUNTS = {
    "memories": ["version", "validation_count", "access_count", "frequency"],
    "chunks": ["position", "token_count"],
    "eval_queries": ["result_count"],
    "eval_candidates": ["candidate_count"],
    "eval_results": ["query_count"],
    "eval_feedback": ["rank_in_results"],
    "eval_ab_tests": ["attempt", "sample_count", "min_samples"],
    "eval_shadow_runs": ["order_differences"],
}
SHARES = {
    "memories": ["confidence"],
    "edges": ["strength"],
    "eval_judgments": ["confidence"],
    "memory_saves": ["quality"],
}
WORDS = {
    "memories": ["tier", "format"],
    "edges": ["kind"],
    "changes": ["kind", "operation"],
    "eval_queries": ["origin"],
    "eval_judgments": ["source"],
    "eval_results": ["run_type"],
    "eval_feedback": ["event_type"],
    "eval_ab_tests": ["status"],
    "memory_saves": ["decision"],
}
FLAGS = {
    "eval_queries": ["is_eval_corpus"],
    "eval_results": ["is_significant"],
    "eval_shadow_runs": ["top_result_changed"],
    "memory_saves": ["enforced"],
    "flags": ["enabled", "shadow"],
}


def refuse_all(store: Store, columns: dict[str, list[str]], *values: tuple[str, str]) -> None:
    """Each value, spelt for SQLite and for PostgreSQL, is refused in each column."""
    fill(store)
    spelling = 0 if store.backend_name == "sqlite" else 1
    accepted: list[str] = []
    for table, column, value in [(t, c, v[spelling]) for t, some in columns.items() for c in some for v in values]:
        with suppress(BadValue), raw(store) as connection:
            done = connection.execute(text(f"UPDATE {table} SET {column} = {value}"))
            assert done.rowcount > 0, f"{table} has no row to try {column} on"
            accepted.append(f"{table}.{column} = {value}")
    assert accepted == []


def test_numbers_that_are_not_finite_are_refused(store: Store) -> None:
    refuse_all(store, NUMBERS, INFINITE, NEGATIVE_INFINITE, NOT_A_NUMBER)


def test_optional_numbers_that_are_not_finite_are_refused(store: Store) -> None:
    refuse_all(store, OPTIONAL_NUMBERS, INFINITE, NEGATIVE_INFINITE)


def test_a_nan_is_never_kept(store: Store) -> None:
    """PostgreSQL refuses it; SQLite, which has none, knows it as "not known"."""
    fill(store)
    if store.backend_name == "postgres":
        refuse_nan(store)
    else:
        with raw(store) as connection:
            connection.execute(text("UPDATE eval_results SET p_value = :nan"), {"nan": float("nan")})
            assert connection.execute(text("SELECT p_value FROM eval_results")).scalar_one() is None


def refuse_nan(store: Store) -> None:
    for table, columns in OPTIONAL_NUMBERS.items():
        for column in columns:
            with pytest.raises(BadValue, match=column), raw(store) as connection:
                connection.execute(text(f"UPDATE {table} SET {column} = 'NaN'"))


def test_negative_counts_are_refused(store: Store) -> None:
    refuse_all(store, COUNTS, ("-1", "-1"))


def test_shares_beyond_zero_and_one_are_refused(store: Store) -> None:
    refuse_all(store, SHARES, ("1.0000001", "1.0000001"), ("-0.0000001", "-0.0000001"))


def test_unknown_words_are_refused(store: Store) -> None:
    refuse_all(store, WORDS, ("'unheard'", "'unheard'"), ("''", "''"), ("upper('Running ')", "upper('Running ')"))


def test_grades_beyond_zero_and_three_are_refused(store: Store) -> None:
    refuse_all(store, {"eval_judgments": ["relevance"]}, ("4", "4"), ("-1", "-1"))


def test_rollouts_beyond_a_hundred_percent_are_refused(store: Store) -> None:
    refuse_all(store, {"flags": ["rollout_percent"]}, ("101", "101"), ("-1", "-1"))


def test_a_vector_that_does_not_fit_its_dimension_is_refused(store: Store) -> None:
    refuse_all(store, {"vectors": ["vector"]}, ("x'0000'", "'[1,2]'"), ("NULL", "NULL"))


def test_flags_that_are_neither_yes_nor_no_are_refused(store: Store) -> None:
    refuse_all(store, FLAGS, ("2", "2"), ("-1", "-1"))


def test_words_in_columns_of_numbers_are_refused(store: Store) -> None:
    refuse_all(store, COUNTS, WORD)
    refuse_all_again(store, NUMBERS | OPTIONAL_NUMBERS)


def refuse_all_again(store: Store, columns: dict[str, list[str]]) -> None:
    for table, column in [(table, column) for table, some in columns.items() for column in some]:
        with pytest.raises(BadValue), raw(store) as connection:
            connection.execute(text(f"UPDATE {table} SET {column} = 'many'"))


def test_nothing_where_something_is_required_is_refused(store: Store) -> None:
    required = {"memories": ["title", "body", "tier", "created_at", "version", "confidence"], "audit": ["detail"]}
    refuse_all(store, required, ("NULL", "NULL"))


def test_every_table_of_a_user_demands_a_tenant(store: Store) -> None:
    users = [table.name for table in metadata.sorted_tables if table.name not in OF_THE_STORE]
    with raw(store) as connection:
        looked = inspect(connection)
        demanded = {
            table: [column["nullable"] for column in looked.get_columns(table) if column["name"] == "tenant"]
            for table in users
        }
    assert len(users) > len(OF_THE_STORE)
    assert demanded == {table: [False] for table in users}


def test_rows_that_refer_to_nothing_are_refused(store: Store) -> None:
    fill(store)
    for statement in (
        "UPDATE chunks SET memory_id = 'm_gone'",
        "UPDATE edges SET source_id = 'm_gone'",
        "UPDATE edges SET target_id = 'm_gone'",
        "UPDATE eval_candidates SET query_id = 'q_gone'",
        "UPDATE memory_triggers SET memory_id = 'm_gone'",
        "UPDATE indexed_documents SET memory_id = 'm_gone'",
        "UPDATE vectors SET number = 99",
        "UPDATE vectors SET tenant = 'other'",
        "DELETE FROM memories",
    ):
        with pytest.raises(RecordNotFound), raw(store) as connection:
            connection.execute(text(statement))
    assert store.problems() == []


def test_what_may_be_there_once_is_refused_the_second_time(store: Store) -> None:
    fill(store)
    with store.writing(OURS) as work:
        work.feedback.record([samples.event("e_2")])
        work.queries.add_many([samples.query("q_2")])
        work.judgments.put_many([samples.judgment(annotator="bob")])
        work.ab_tests.put(samples.ab_test(attempt=9))
    for statement in (
        "UPDATE eval_feedback SET event_key = 'e_1'",
        "UPDATE eval_queries SET query_id = 'q_1' WHERE query_id = 'q_2'",
        "UPDATE eval_judgments SET annotator = 'ada'",
        "UPDATE eval_ab_tests SET attempt = 9",
    ):
        with pytest.raises(RecordExists), raw(store) as connection:
            connection.execute(text(statement))


def test_the_largest_and_smallest_numbers_are_kept(store: Store) -> None:
    fill(store)
    for value in (samples.LARGEST, -samples.LARGEST, samples.SMALLEST, -0.0):
        with raw(store) as connection:
            connection.execute(text("UPDATE eval_results SET p_value = :value"), {"value": value})
            assert connection.execute(text("SELECT p_value FROM eval_results")).scalar_one() == value
