"""The demo in a real browser: every page has something to show, passes axe-core, and one walk from a lost query on."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from docs.screenshots import PICTURES, Picture, open_page
from playwright.sync_api import expect
from tests.server.pages.looking import Theme, Visitor
from tests.server.serving import BOUND_S, OWN, served

from assay import wiring
from assay.records import AbTestStatus
from assay.records.flags import StepOutcome, VoteKind
from assay.server import demo, demo_changes, demo_history, demo_replies
from assay.server.services import Services
from assay.settings import load_settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
AXE = Path(os.environ.get("AXE", "/nowhere/axe.min.js"))
"""axe-core, where somebody has it."""
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
            assert find_violations(visitor) == [], f"{theme} at {width}"
    visitor.leave()
    assert visitor.complaints == []


def find_violations(visitor: Visitor) -> list[tuple[str, str]]:
    """Return what axe-core objects to; nothing where there is no axe-core."""
    if not AXE.is_file():
        return []
    visitor.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = visitor.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(violation["id"], violation["nodes"][0]["html"][:200]) for violation in found]


def test_from_a_lost_query_to_a_mended_label_a_new_run_and_its_audit_line(
    browser: Browser, demo_address: str, demo_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Runs find the documents where filling the demo left them.
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path(demo_services.settings.db).parents[1] / "cache"))
    visitor = Visitor(browser, demo_address, width=1440)
    page = visitor.go("/evaluation/runs")
    with page.expect_navigation(wait_until="load"):
        page.locator("td a", has_text="fts-only").first.click()
    expect(page.locator(".head")).to_contain_text("against default")
    # Why did it lose? The query leads to what each list had; k and j walk through the lost ones.
    with page.expect_navigation(wait_until="load"):
        page.locator("main a[href*='/queries/']").first.click()
    visitor.drawn()
    with page.expect_navigation(wait_until="load"):
        page.keyboard.press("j")
    visitor.drawn()
    expect(page.locator("main")).to_contain_text("What every list had")
    lost = re.search(r"/queries/([^?]+)", page.url)
    assert lost is not None
    # The label is wrong: one key grades the passage that is shown, by hand.
    page.keyboard.press("w")
    expect(page.locator("[data-status]")).to_contain_text("Your grade is kept")
    assert demo_services.shelf(OWN).my_grades("hotel", lost[1])
    # Run it again from the browser, and read the comparison with the baseline.
    visitor.go("/evaluation/runs/start?dataset=hotel")
    page.fill("#cases", "30")
    page.fill("#name", "again")
    page.get_by_role("button", name="Start the run").click()
    # The first run of a process loads the embedder.
    page.wait_for_url(re.compile(r"/evaluation/runs/run_[0-9A-Z]+$"), timeout=10_000 * BOUND_S)
    run_id = page.url.rpartition("/")[2]
    page.fill("#note", "a sample after the label was mended")
    if page.locator("#despite").count():
        page.fill("#despite", "a sample is enough to show the way")
    page.get_by_role("button", name="Bless as baseline").click()
    expect(page.get_by_role("status").first).to_contain_text("is the baseline of hotel")
    # Every step has its line.
    visitor.go(f"/evaluation/audit?target={run_id}")
    for action in ("run.start", "run.finish", "baseline.bless"):
        expect(page.locator("tbody")).to_contain_text(action)
    visitor.go(f"/evaluation/experiments/{demo_changes.WINNER}")
    page.fill("#why-rollback", "a walk through the demo")
    page.get_by_role("button", name="Roll it back").click()
    expect(page.get_by_role("status").first).to_contain_text("Back to 0 %")
    page.locator("#timeline a", has_text=re.compile("^ladder.rolled_back$")).first.click()
    expect(page.locator("tbody tr").first).to_contain_text("ladder.rolled_back")
    visitor.leave()
    assert visitor.complaints == []
