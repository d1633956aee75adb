"""From a change to its rollout in a real browser: run, compare, bless, test, graduate, roll back, and the audit log."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from tests.server.pages.looking import Theme, Visitor
from tests.server.serving import OWN, served, services_at
from tests.verbs.examples import OFFLINE

from assay.memory.searching import Searcher
from assay.records.flags import Arm
from assay.server.services import Services
from assay.wiring import ladder_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
FLAG = "docscore_aggregation"
PAGE = f"/evaluation/experiments/{FLAG}"


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    search = Searcher.search

    def search_slowly(*given: Any, **named: Any) -> Any:
        # A run must still go on when the page is looked at and its button is pressed.
        time.sleep(0.05)
        return search(*given, **named)

    monkeypatch.setattr(Searcher, "search", search_slowly)
    with services_at(tmp_path) as services:
        yield services


def check(visitor: Visitor) -> None:
    """Look at a page as people with other eyes, hands and screens do."""
    assert visitor.too_wide() == []
    assert visitor.violations() == []


def run_from_browser(visitor: Visitor, change: str, name: str) -> str:
    """Start a run, stop it, go on with it, and wait for its verdict; return its id."""
    page = visitor.go(f"/evaluation/runs/start?change={change}")
    check(visitor)
    page.fill("#cases", "163")
    page.fill("#name", name)
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url("**/live")
    expect(page.locator("[data-phase-is=running]")).to_be_visible()
    check(visitor)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Go on").wait_for()
    expect(page.locator("[data-sentence]")).to_contain_text("They are kept.")
    page.get_by_role("button", name="Go on").click()
    page.wait_for_url(re.compile(r"/evaluation/runs/run_[0-9A-Z]+$"))
    visitor.drawn()
    check(visitor)
    return page.url.rpartition("/")[2]


def send(page: Page, action: str, button: str, says: str) -> None:
    """Give a reason, press a button of the page of the change, and wait for what it says."""
    page.fill(f"#why-{action}", f"reason to {action}")
    page.get_by_role("button", name=button).click()
    expect(page.get_by_role("status").first).to_contain_text(says)


def win(services: Services) -> None:
    """Let the votes of the running test decide for the change."""
    ladder = ladder_of(services.engine)
    ladder.offline(OWN, FLAG, OFFLINE)
    with services.engine.store.writing(OWN) as work:
        for place in range(90):
            ladder.trials.vote_in(work, FLAG, f"query {place}", 0.3, arm=Arm.BOTH)


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_a_change_is_measured_tested_rolled_out_and_taken_back(
    browser: Browser, services: Services, width: int, theme: Theme
) -> None:
    with served(services, pages=True) as address:
        visitor = Visitor(browser, address, width=width, theme=theme)
        first = run_from_browser(visitor, "", "before")
        page = visitor.page
        page.fill("#note", "the state of today")
        if page.locator("#despite").count():
            page.fill("#despite", "without vectors it is under its floors")
        page.get_by_role("button", name="Bless as baseline").click()
        expect(page.get_by_role("status").first).to_contain_text("before is the baseline of hotel")
        second = run_from_browser(visitor, f"{FLAG}%3Don", "after")
        expect(page.locator(".head p").last).to_contain_text("against before")
        visitor.go("/evaluation/runs")
        check(visitor)
        expect(page.locator("#control")).to_have_value(first)
        expect(page.locator("#treatment")).to_have_value(second)
        page.get_by_role("button", name="Compare the two").click()
        expect(page.get_by_role("heading", name="after against before")).to_be_visible()
        visitor.drawn()
        check(visitor)
        visitor.go(PAGE)
        check(visitor)
        send(page, "begin", "Begin a test", "Attempt 1 began.")
        send(page, "pause", "Pause the test", "is paused")
        send(page, "resume", "Resume the test", "goes on with 0 votes")
        win(services)
        visitor.go(PAGE)
        send(page, "graduate", "Turn it on for all", "On for everybody")
        send(page, "rollback", "Roll it back", "Back to 0 %")
        visitor.drawn()
        check(visitor)
        for action in ("run.start", "run.finish", "flag.turn", "test.begun", "test.paused", "ladder.graduated"):
            visitor.go(PAGE)
            page.locator("#timeline a", has_text=re.compile(f"^{re.escape(action)}$")).first.click()
            expect(page.locator("tbody tr").first).to_contain_text(action)
        visitor.go(f"/evaluation/audit?target={first}")
        expect(page.locator("tbody")).to_contain_text("baseline.bless")
        visitor.leave()
        assert visitor.complaints == []
