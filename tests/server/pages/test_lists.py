"""Lists of pages: count, order, and exports that lose and add nothing."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient
from tests.server.serving import OWN, bearer

from assay.errors import BadValue
from assay.records.access import Access
from assay.server.pages.lists import Cell, ListColumn, ListSort, read_sort, sort_rows, to_json, write_csv
from assay.server.services import Services


class Plant(NamedTuple):
    """A row."""

    name: str
    height: float | None


COLUMNS = (
    ListColumn[Plant](name="name", value=lambda plant: plant.name),
    ListColumn[Plant](name="height", value=lambda plant: plant.height, numeric=True),
    ListColumn[Plant](name="note", value=lambda _: None, sorts=False),
)
PLANTS = [Plant("ivy", 3.0), Plant("Moss", None), Plant("oak", 20.5), Plant("fern", 0.0)]


def test_rows_without_a_value_come_last_in_both_directions() -> None:
    up = sort_rows(PLANTS, COLUMNS, ListSort("height"))
    down = sort_rows(PLANTS, COLUMNS, ListSort("height", descending=True))
    assert [plant.name for plant in up] == ["fern", "ivy", "oak", "Moss"]
    assert [plant.name for plant in down] == ["oak", "ivy", "fern", "Moss"]


def test_texts_are_sorted_without_regard_to_case() -> None:
    assert [plant.name for plant in sort_rows(PLANTS, COLUMNS, ListSort("name"))] == ["fern", "ivy", "Moss", "oak"]


@pytest.mark.parametrize("name", ["colour", "note", "-", "--name"])
def test_an_order_that_does_not_exist_is_refused_with_those_that_do(name: str) -> None:
    with pytest.raises(BadValue) as refused:
        read_sort({"sort": name}, COLUMNS)
    assert refused.value.remedy == "Choose one of name, height."


def test_csv_keeps_zero_and_missing_apart_and_defuses_formulas() -> None:
    moment = datetime(2026, 11, 17, 12, tzinfo=UTC)
    rows: list[dict[str, Cell]] = [
        {"a": 0, "b": None, "c": '=HYPERLINK("x")', "d": moment},
        {"a": -1.5, "b": False, "c": 'a "b", c\nd', "d": None},
    ]
    found = list(csv.reader(io.StringIO(write_csv(["a", "b", "c", "d"], rows))))
    assert found == [
        ["a", "b", "c", "d"],
        ["0", "", '\'=HYPERLINK("x")', "2026-11-17T12:00:00+00:00"],
        ["-1.5", "false", 'a "b", c\nd', ""],
    ]
    assert json.loads(to_json(rows))[0] == {"a": 0, "b": None, "c": '=HYPERLINK("x")', "d": "2026-11-17T12:00:00+00:00"}


def test_an_export_has_every_entry_of_the_audit_log_that_matches_and_no_other(
    client: TestClient, filled: Services
) -> None:
    with filled.engine.store.writing(OWN) as work:
        for place in range(60):
            work.audit.append("lists.test", f"target {place:02}", {"place": place})
    page = client.get("/evaluation/audit?action=lists.test")
    assert "60 entries" in page.text
    assert page.text.count('data-name="what"') == 50
    answer = client.get("/evaluation/audit?action=lists.test&sort=at&export=csv&before=3")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"].endswith('.csv"')
    # A page begins after entry 3; an export has the entries of all pages.
    address = (
        page.text.partition('class="small exports"')[2].partition('href="')[2].partition('"')[0].replace("&amp;", "&")
    )
    rows = list(csv.DictReader(io.StringIO(client.get(address).text)))
    assert [row["target"] for row in rows] == [f"target {place:02}" for place in reversed(range(60))]
    oldest = client.get(address.replace("export=csv", "export=json") + "&sort=at").json()
    assert [row["target"] for row in oldest] == [f"target {place:02}" for place in range(60)]
    assert oldest[0]["detail"] == '{"place":0}'


def test_a_page_without_a_list_says_so_instead_of_ignoring_the_export(client: TestClient) -> None:
    answer = client.get("/evaluation/settings?export=csv")
    assert answer.status_code == 422
    assert "no list to export" in answer.text


def test_a_token_is_made_shown_once_and_revoked(client: TestClient, filled: Services) -> None:
    page = client.get("/evaluation/tokens").text
    form = {"csrf_token": page.partition('name="csrf_token" value="')[2].partition('"')[0], "name": "ci of lists"}
    made = client.post("/evaluation/tokens", data={**form, "access": "read", "days": "30", "person": "no"})
    assert made.status_code == 200
    text = made.text.partition('class="command" tabindex="0">')[2].partition("<")[0]
    assert client.get("/api/memory/folders", headers={"Authorization": f"Bearer {text}"}).status_code == 200
    rows = client.get("/evaluation/tokens?export=json&sort=-created_at").json()
    token = next(row for row in rows if row["name"] == "ci of lists")
    assert (token["access"], token["person"], token["revoked_at"]) == ("read", "a program", None)
    listed = client.get("/evaluation/tokens").text
    assert text not in listed
    assert text not in json.dumps(rows)
    client.post(f"/evaluation/tokens/{token['token_id']}/revoke", data=form)
    assert client.get("/api/memory/folders", headers={"Authorization": f"Bearer {text}"}).status_code == 401


def test_a_reader_sees_no_tokens(client: TestClient, filled: Services) -> None:
    assert client.get("/evaluation/tokens", headers=bearer(filled, Access.READ)).status_code == 403


def test_questions_and_runs_are_counted_sorted_and_exported(client: TestClient) -> None:
    page = client.get("/evaluation/queries?sort=-overall").text
    assert 'aria-sort="descending"' in page
    questions = client.get("/evaluation/queries?sort=-overall&export=json").json()
    assert f"{len(questions):,} questions" in page
    scores = [row["overall"] for row in questions]
    known = [score for score in scores if score is not None]
    assert len(questions) >= 2
    assert known == sorted(known, reverse=True)
    assert scores[: len(known)] == known
    oldest = client.get("/evaluation/queries?sort=asked&export=json").json()
    assert [row["asked"] for row in oldest] == sorted(row["asked"] for row in questions)
    runs = client.get("/evaluation/runs?export=csv&words=worse")
    rows = list(csv.DictReader(io.StringIO(runs.text)))
    assert [row["name"] for row in rows] == ["worse"]
    assert float(rows[0]["ndcg@10"]) < 1.0
    assert 'class="small exports"' in client.get("/evaluation/runs").text
