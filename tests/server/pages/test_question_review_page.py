"""The review of proposed questions on its page: by form, by keyboard, and by people who may not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient
from tests.evaluation.labelling.proposed import proposed_dataset
from tests.server.pages.looking import Visitor
from tests.server.serving import OWN, bearer, reaching, services_at

from assay.records.access import Access
from assay.server.services import Services

NAME = "asked"
PATH = f"/evaluation/review/{NAME}"


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with services_at(tmp_path) as services:
        services.shelf(OWN).keep_dataset(proposed_dataset(NAME), origin="test")
        yield services


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services, local=False, pages=True) as client:
        yield client


def test_a_question_is_kept_reworded_dropped_and_taken_back(client: TestClient, services: Services) -> None:
    headers = bearer(services, Access.WRITE)
    page = client.get(PATH, headers=headers).text
    assert ">How long is a badge valid?</textarea>" in page
    assert "3 of 3 questions are left" in page
    for form in (
        {"key": "k", "case": "g1", "asked": "How long is a badge valid?", "wording": "How long does a badge last?"},
        {"key": "k", "case": "g2", "asked": "Who has spare ones?", "wording": "Who has spare ones?"},
        {"key": "d", "case": "g3", "wording": ""},
    ):
        assert client.post(PATH, data=form, headers=headers).headers["location"] == PATH
    found = services.shelf(OWN).proposals(NAME)
    assert [(question.state.value, question.question) for question in found.questions] == [
        ("kept", "How long does a badge last?"),
        ("kept", "Who has spare ones?"),
        ("dropped", "Who has a key?"),
    ]
    assert "All 3 questions are reviewed" in client.get(PATH, headers=headers).text
    undone = client.post(PATH, data={"key": "u", "last": "g3"}, headers=headers)
    assert ">Who has a key?</textarea>" in client.get(undone.headers["location"], headers=headers).text
    with services.engine.store.reading(OWN) as work:
        lines = [(entry.action, entry.target, entry.detail.get("wording")) for entry in work.audit.entries()]
    assert [line for line in reversed(lines) if line[0].startswith("question.")] == [
        ("question.keep", "g1", "How long does a badge last?"),
        ("question.keep", "g2", None),
        ("question.drop", "g3", None),
        ("question.undo", "g3", None),
    ]


def test_what_the_page_refuses(client: TestClient, services: Services) -> None:
    reader, writer = bearer(services, Access.READ), bearer(services, Access.WRITE)
    assert "Your token can read and not review." in client.get(PATH, headers=reader).text
    assert client.post(PATH, data={"key": "d", "case": "g1"}, headers=reader).status_code == 403
    for form, status in (
        ({"key": "x", "case": "g1"}, 422),
        ({"key": "k", "case": "g1", "wording": " "}, 422),
        ({"key": "d", "case": "own"}, 404),
        ({"key": "u", "last": "g1"}, 422),
    ):
        assert client.post(PATH, data=form, headers=writer).status_code == status, form
    assert client.get(f"{PATH}?case=nobody", headers=writer).status_code == 404
    services.shelf(OWN).keep_dataset(
        replace(proposed_dataset("none"), cases=proposed_dataset().cases[3:]), origin="test"
    )
    assert "No question was proposed" in client.get("/evaluation/review/none", headers=writer).text


@pytest.mark.slow
def test_questions_are_reviewed_by_keyboard_and_by_mouse(visitor: Visitor, filled: Services) -> None:
    filled.shelf(OWN).keep_dataset(proposed_dataset("typed"), origin="test")
    page = visitor.go("/evaluation/label")
    page.get_by_role("link", name="review 3 proposed questions").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Review typed")
    page.keyboard.press("e")
    page.keyboard.type("How long does a badge last?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Kept: How long does a badge last?")
    page.keyboard.press("d")
    expect(page.get_by_role("status")).to_have_text("Dropped: Who has spare ones?")
    page.keyboard.press("u")
    expect(page.get_by_role("status")).to_have_text("Undone.")
    expect(page.locator("#wording")).to_have_value("Who has spare ones?")
    page.get_by_role("button", name="keep").click()
    expect(page.get_by_role("status")).to_have_text("Kept: Who has spare ones?")
    states = [question.state.value for question in filled.shelf(OWN).proposals("typed").questions]
    assert states == ["kept", "kept", "open"]
