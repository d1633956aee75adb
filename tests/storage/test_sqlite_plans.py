"""SQLite's plans: what is asked by number or key reads no other row of the tenant, from the first row on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection

from assay.records import Scope
from assay.records.research_log import ResearchFilter
from assay.storage import Store, Work

pytestmark = pytest.mark.parametrize("home", ["sqlite"], indirect=True)

QUESTIONS: dict[str, Callable[[Work], object]] = {
    "candidates": lambda work: work.passages.candidates([1, 2]),
    "first_candidates": lambda work: work.passages.first_candidates(["m_1"]),
    "first_numbers": lambda work: work.passages.first_numbers(["m_1"]),
    "texts": lambda work: work.passages.texts([1, 2]),
    "shown": lambda work: work.passages.read_shown([1, 2]),
    "first_of": lambda work: work.passages.first_of([1, 2]),
    "page": lambda work: work.passages.page(after=1),
    "by_numbers": lambda work: work.passages.by_numbers([1, 2]),
    "memory_columns": lambda work: work.passages.memory_columns(after=1),
    "memory_columns_of": lambda work: work.passages.memory_columns_of([1, 2]),
    "vectors.page": lambda work: work.vectors.page("model", after=1),
    "vectors.by_numbers": lambda work: work.vectors.by_numbers("model", [1, 2]),
    "vectors.by_hashes": lambda work: work.vectors.by_hashes("model", ["a", "b"]),
    "vectors.of_memories": lambda work: work.vectors.of_memories([1, 2], "model"),
    "vectors.missing": lambda work: work.vectors.missing("model", after=1),
    "indexed.documents": lambda work: work.indexed.documents("model"),
    "triggers": lambda work: work.triggers.matching(["a", "b"]),
    "edges": lambda work: work.edges.around(["m_1"]),
    "memories.by_numbers": lambda work: work.memories.by_numbers([1, 2]),
    "memories.numbers_of": lambda work: work.memories.numbers_of(["m_1"]),
    "memories.chunks_of": lambda work: work.memories.chunks_of("m_1"),
    "memories.headings_of": lambda work: work.memories.headings_of(["m_1", "m_2"]),
    "memories.current_of_source": lambda work: work.memories.current_of_source("s"),
}


def plan(connection: Connection, ask: Callable[[], object]) -> list[str]:
    """How SQLite looks at each table for what is asked."""
    seen: list[str] = []
    driver: Any = connection.connection.driver_connection
    driver.set_trace_callback(seen.append)
    ask()
    driver.set_trace_callback(None)
    # SQLite also reports the statements that its full-text tables run inside; those are comments.
    asked = [statement for statement in seen if not statement.startswith("--")]
    assert asked
    return [str(row[3]) for statement in asked for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_by_key_reads_no_other_row_of_the_tenant(store: Store, scope: Scope, question: str) -> None:
    with store.reading(scope) as work:
        lines = plan(work._bound.connection, lambda: QUESTIONS[question](work))
    assert any(line.startswith("SEARCH") for line in lines)
    assert [line for line in lines if "(tenant=?)" in line or "(model=?)" in line] == []


def test_words_are_looked_up_by_number(store: Store, scope: Scope) -> None:
    with store.reading(scope) as work:
        lines = plan(work._bound.connection, lambda: work.passages.words([1, 2]))
    assert "SEARCH passages_fts_content USING INTEGER PRIMARY KEY (rowid=?)" in lines


def test_constitutional_memories_have_an_index_of_their_own(store: Store, scope: Scope) -> None:
    with store.reading(scope) as work:
        lines = plan(work._bound.connection, work.memories.constitutional)
    assert lines == ["SEARCH memories USING INDEX memories_constitutional (tenant=?)"]


def test_folders_are_counted_without_reading_a_memory(store: Store, scope: Scope) -> None:
    with store.reading(Scope(tenant=scope.tenant)) as work:
        lines = plan(work._bound.connection, work.passages.folders)
    assert lines == ["SCAN memories USING COVERING INDEX memories_by_folder"]


def test_totals_of_days_are_read_in_their_order_and_pages_from_their_end(store: Store, scope: Scope) -> None:
    wanted = ResearchFilter(passed=False)
    with store.reading(scope) as work:
        connection = work.research._connection
        days = plan(connection, lambda: list(work.research._days(wanted)))
        page = plan(connection, lambda: work.research.page(wanted, after=7))
    assert days == ["SEARCH research_sessions USING INDEX research_sessions_by_day (tenant=?)"]
    assert page == ["SEARCH research_sessions USING INDEX research_sessions_by_id (tenant=? AND id<?)"]
