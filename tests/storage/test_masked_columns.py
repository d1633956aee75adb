"""Texts that the saver does not see are masked on their way into their tables, and every table is accounted for."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text
from tests.storage import samples
from tests.storage.homes import raw

from assay.records import Scope
from assay.storage import Store
from assay.storage.rows import MASKED, NOT_MASKED, Json, mask_row
from assay.storage.tables import metadata

TOKEN = "ghp_" + "aB3" * 12
SAID = f"deploy with {TOKEN} please"


def test_every_table_is_masked_or_says_why_not() -> None:
    tables = set(metadata.tables)
    assert MASKED.keys().isdisjoint(NOT_MASKED)
    assert MASKED.keys() | NOT_MASKED.keys() == tables
    assert all(reason for reason in NOT_MASKED.values())


@pytest.mark.parametrize("table", sorted(MASKED))
def test_the_masked_columns_are_columns_and_lose_their_secrets(table: str) -> None:
    columns = metadata.tables[table].columns
    given: dict[str, Any] = {
        name: {"note": [SAID]} if isinstance(columns[name].type, Json) else SAID for name in MASKED[table]
    }
    assert TOKEN in str(given)
    assert TOKEN not in str(mask_row(table, given))


def test_a_logged_query_and_its_feedback_are_stored_without_secrets(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.queries.add_many([samples.query("q_1", query=SAID, previous_query=SAID)])
        work.feedback.record([samples.event("e_1", query_id="q_1", metadata={"note": SAID, "api_key": "zx81-Kf93"})])
        work.audit.append("note", "x", {"said": SAID})
    with store.reading(scope) as work:
        assert work.queries.get("q_1").query == "deploy with [masked: GitHub token] please"
    with raw(store) as connection:
        for table in ("eval_queries", "eval_feedback", "audit"):
            rows = str(connection.execute(text(f"SELECT * FROM {table}")).all())
            assert TOKEN not in rows
            assert "zx81-Kf93" not in rows


def test_a_row_without_secrets_is_stored_as_it_was(store: Store, scope: Scope) -> None:
    full = samples.full_query()
    with store.writing(scope) as work:
        work.queries.add_many([full])
    with store.reading(scope) as work:
        assert work.queries.get(full.query_id) == full
