"""The demo in a real browser: every page has something to show and passes axe-core, and one walk through all tasks."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np
import pytest
from docs.screenshots import PICTURES, Picture, open_page
from playwright.sync_api import expect
from tests.server.pages.looking import Theme, Visitor
from tests.server.pages.test_change_walk import FLAG, send, win
from tests.server.serving import BOUND_S, OWN, served

from assay import wiring
from assay.records import AbTestStatus
from assay.records.flags import StepOutcome, VoteKind
from assay.server import demo, demo_changes, demo_history, demo_replies
from assay.server.services import Services
from assay.settings import load_settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

pytestmark = pytest.mark.slow
FILLED = os.environ.get("FILLED_DEMO")
"""A folder that `assay serve --demo` has filled; a copy of it saves the minute that filling takes."""


@pytest.fixture(scope="module")
def demo_services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """The demo, filled with the embedder that comes with Assay."""
    folder = tmp_path_factory.mktemp("demo")
    if FILLED is not None:
        shutil.copytree(FILLED, folder / "demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        settings = demo.demo_settings(load_settings().settings, folder / "demo")
        demo.fill(settings, print)
        # A demo that was filled is found again, and nothing more is done.
        demo.fill(demo.demo_settings(load_settings().settings, folder / "demo"), pytest.fail)
        with wiring.serving(settings) as engine:
            yield Services(engine, settings)


@pytest.fixture(scope="module")
def demo_address(demo_services: Services) -> Iterator[str]:
    """A server over the demo."""
    with served(demo_services, pages=True) as address:
        yield address


def test_twelve_weeks_were_asked_and_models_were_replayed(demo_services: Services) -> None:
    with demo_services.engine.store.reading(OWN) as work:
        asked = demo_history.A_WEEK * demo_history.WEEKS + demo_history.TODAY + len(demo_history.OUTSIDE)
        totals = work.research.totals()
        assert totals.sessions > asked
        assert len(totals.days) > 5 * demo_history.WEEKS
        recorded = [found for found in work.research.each() if demo_replies.RECORDED in found.tags]
        traces = [work.research.get(found.log_id).trace for found in recorded]
    assert [found.passed for found in recorded] == [True, True, True]
    assert sorted(found.iterations for found in recorded) == [1, 1, 2]
    assert [found.escalated for found in recorded].count(True) == 1
    assert [found.regenerated for found in recorded].count(True) == 1
    # Nothing fell back to rules: every reply that was needed is recorded.
    assert all(
        trace is not None and not [note for note in trace["notices"] if "rules" in note["message"]] for trace in traces
    )


def test_the_better_search_graduated_and_the_worse_one_was_rejected(demo_services: Services) -> None:
    ladder = wiring.ladder_of(demo_services.engine)
    won, lost = (
        ladder.page(OWN, name, rng=np.random.default_rng(0)) for name in (demo_changes.WINNER, demo_changes.LOSER)
    )
    assert won.test is not None
    assert lost.test is not None
    assert (won.test.kind, won.test.decision, won.test.status) == (VoteKind.PAIRED, "better", AbTestStatus.GRADUATED)
    assert won.state.percent == 100
    assert (lost.test.kind, lost.test.status) == (VoteKind.INTERLEAVED, AbTestStatus.REJECTED)
    assert lost.test.mean is not None
    assert lost.test.mean < 0.0
    assert lost.steps[-1].outcome is StepOutcome.REJECTED
    # The tests were made in earlier weeks, and the clock went on between the days.
    assert (demo_services.engine.clock.now() - won.steps[-1].created_at).days > 7 * (demo_changes.WINNER_WEEK - 2)


@pytest.mark.parametrize("picture", PICTURES, ids=[picture.name for picture in PICTURES])
def test_every_page_shows_something_and_passes_axe(browser: Browser, demo_address: str, picture: Picture) -> None:
    visitor = Visitor(browser, demo_address, width=1440)
    open_page(visitor.page, demo_address, picture)
    themes: tuple[Theme, ...] = ("light", "dark")
    for theme in themes:
        visitor.page.emulate_media(color_scheme=theme)
        for width in (1440, 390):
            visitor.page.set_viewport_size({"width": width, "height": 900})
            visitor.drawn()
            assert visitor.too_wide() == [], f"{theme} at {width}"
            assert visitor.violations() == [], f"{theme} at {width}"
    visitor.leave()
    assert visitor.complaints == []


def test_one_walk_from_a_lost_query_to_a_change_that_is_rolled_back(
    browser: Browser, demo_address: str, demo_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Runs find the documents where filling the demo left them.
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path(demo_services.settings.db).parents[1] / "cache"))
    visitor = Visitor(browser, demo_address, width=1280)
    find_out_why_it_lost(visitor)
    mend_the_label(visitor, demo_services)
    before = run_again(visitor, name="before")
    bless(visitor, "before")
    after = run_again(visitor, change=f"{FLAG}=on", name="after")
    compare(visitor, before, after)
    page = visitor.go(f"/evaluation/experiments/{FLAG}")
    send(page, "begin", "Begin a test", "Attempt 1 began.")
    send(page, "pause", "Pause the test", "is paused")
    send(page, "resume", "Resume the test", "goes on with 0 votes")
    win(demo_services)
    visitor.again()
    send(page, "graduate", "Turn it on for all", "On for everybody")
    send(page, "rollback", "Roll it back", "Back to 0 %")
    find_audit_lines(visitor, before, after)
    visitor.leave()
    assert visitor.complaints == []


LOST = "What is the postage for a forgotten item at home compared with abroad?"
"""The query q035 of `hotel`, of which a search by words alone finds nothing."""
MENDED = "hotel-mended"


def follow(visitor: Visitor, link: Locator) -> None:
    """Click a link and wait for its page."""
    with visitor.page.expect_navigation(wait_until="load"):
        link.click()
    visitor.drawn()


def find_out_why_it_lost(visitor: Visitor) -> None:
    """From the list of runs to the lost query, and to the channel that found it in the baseline; by mouse and keys."""
    page = visitor.go("/evaluation/runs")
    follow(visitor, page.locator("td a", has_text="fts-only").first)
    expect(page.locator(".head")).to_contain_text("against default")
    follow(visitor, page.locator("main a[href*='/queries/q035']").first)
    expect(page.locator(".head")).to_contain_text(LOST)
    expect(page.locator("main")).to_contain_text("Asked and found nothing: fts5.")
    expect(page.locator("main")).to_contain_text("never a candidate")
    follow(visitor, page.get_by_role("link", name="Which channel found it there"))
    expect(page.locator("[data-lists] h3:has-text('vector') + ol a.gold").first).to_be_visible()
    with page.expect_navigation(wait_until="load"):
        page.go_back()
    visitor.drawn()
    # The next lost query and back again, by keys.
    for key, lost in (("j", "(?!q035)"), ("k", "q035")):
        with page.expect_navigation(wait_until="load"):
            page.keyboard.press(key)
        visitor.drawn()
        expect(page).to_have_url(re.compile(f"/queries/{lost}"))


def mend_the_label(visitor: Visitor, services: Services) -> None:
    """Say by key that a label is wrong, and write the grade into a dataset."""
    page = visitor.page
    page.keyboard.press("w")
    expect(page.locator("[data-status]")).to_contain_text("Your grade is kept")
    assert services.shelf(OWN).my_grades("hotel", "q035")
    visitor.drawn()
    follow(visitor, page.get_by_role("link", name="hotel", exact=True))
    page.fill("#name", MENDED)
    page.fill("#version", "1.0.0")
    follow(visitor, page.get_by_role("button", name="Write it"))
    expect(page.locator(".notice.is-pass")).to_contain_text(f"{MENDED} 1.0.0")


def run_again(visitor: Visitor, *, name: str, change: str = "") -> str:
    """Start a run over the mended dataset and wait for its verdict; return its id."""
    page = visitor.go(f"/evaluation/runs/start?{urlencode({'dataset': MENDED, 'change': change})}")
    page.fill("#cases", "40")
    page.fill("#name", name)
    page.get_by_role("button", name="Start the run").click()
    # The first run of a process loads the embedder.
    page.wait_for_url(re.compile(r"/evaluation/runs/run_[0-9A-Z]+$"), timeout=10_000 * BOUND_S)
    visitor.drawn()
    return page.url.rpartition("/")[2]


def bless(visitor: Visitor, name: str) -> None:
    """Make the run that is shown the baseline of its dataset."""
    page = visitor.page
    page.fill("#note", "the search of today, after the label was mended")
    if page.locator("#despite").count():
        page.fill("#despite", "a sample is enough to show the way")
    page.get_by_role("button", name="Bless as baseline").click()
    expect(page.get_by_role("status").first).to_contain_text(f"{name} is the baseline of {MENDED}")


def compare(visitor: Visitor, before: str, after: str) -> None:
    """Compare the run with the one before it: the list has chosen both."""
    page = visitor.go(f"/evaluation/runs?dataset={MENDED}")
    expect(page.locator("#control")).to_have_value(before)
    expect(page.locator("#treatment")).to_have_value(after)
    follow(visitor, page.get_by_role("button", name="Compare the two"))
    expect(page.get_by_role("heading", name="after against before")).to_be_visible()


def find_audit_lines(visitor: Visitor, before: str, after: str) -> None:
    """Find the line of every step in the audit log, from the timeline of the change or by what was acted on."""
    page = visitor.page
    for action in ("test.begun", "test.paused", "test.resumed", "ladder.graduated", "ladder.rolled_back"):
        visitor.go(f"/evaluation/experiments/{FLAG}")
        follow(visitor, page.locator("#timeline a", has_text=re.compile(f"^{re.escape(action)}$")).first)
        expect(page.locator("tbody tr").first).to_contain_text(action)
    for target, actions in (
        (before, ("run.start", "run.finish", "baseline.bless")),
        (after, ("run.start", "run.finish")),
        ("hotel", ("label.write",)),
        (MENDED, ("label.apply",)),
    ):
        visitor.go(f"/evaluation/audit?target={target}")
        for action in actions:
            expect(page.locator("tbody")).to_contain_text(action)
