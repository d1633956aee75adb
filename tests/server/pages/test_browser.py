"""Every page and every action in a real browser: no complaint on the console, no request to anybody else."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.server.pages.filled import FLAG, NOTES, QUESTION, many_sessions
from tests.server.pages.looking import Visitor
from tests.server.pages.payloads import PAYLOADS
from tests.server.serving import BOUND_S, OWN

from assay.errors import InputError
from assay.evaluation.datasets import load_dataset
from assay.records import Draft
from assay.records.datasets import Dataset
from assay.records.research_log import TracedAnswer
from assay.research.events import Listen
from assay.server.pages.page import MENU
from assay.server.pages.question_list import LISTED
from assay.server.services import Services

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

BACKGROUND = "getComputedStyle(document.body).backgroundColor"


def inner_pages(services: Services) -> list[str]:
    """One address of every page that has something of its own."""
    with services.engine.store.reading(OWN) as work:
        memories = work.memories.page(limit=20)
        asked = next(one.log_id for one in work.research.each() if one.question == QUESTION)
    runs = [run.path.name for run in services.shelf(OWN).runs()]
    return [
        *(f"/memory/{one.id}" for one in memories if one.folder == "strange"),
        "/memory?q=cancel",
        f"/answers/{asked}",
        f"/evaluation/queries/{asked}",
        "/evaluation/debugger?q=holiday&against=assay:search.fusion%3Drrf",
        f"/evaluation/runs/{runs[1]}?baseline={runs[0]}",
        f"/evaluation/runs/compare?control={runs[0]}&treatment={runs[1]}",
        f"/evaluation/runs/{runs[1]}/queries/q001?baseline={runs[0]}",
        f"/evaluation/experiments/{FLAG}",
        "/evaluation/label/hotel",
        "/traces/strange",
        "/evaluation/prompts/planner",
    ]


@pytest.mark.slow
def test_every_page_fits_a_wide_screen_and_a_phone(visitor: Visitor, filled: Services) -> None:
    for path in [*(entry.address for entry in MENU), *inner_pages(filled)]:
        page = visitor.go(path)
        expect(page.locator("h1")).not_to_be_empty()
        page.emulate_media(color_scheme="dark")
        for width in (1600, 400):
            page.set_viewport_size({"width": width, "height": 900})
            visitor.drawn()
            assert visitor.too_wide() == [], f"{path} at {width}"


def test_the_navigation_lights_the_page_that_is_shown(visitor: Visitor) -> None:
    page = visitor.go("/memory")
    expect(page.locator('nav a[aria-current="page"]')).to_have_text(["Memory"])
    assert visitor.addresses("nav a") == [entry.address for entry in MENU]


def test_charts_are_drawn_and_drawn_again_when_the_colours_change(visitor: Visitor, filled: Services) -> None:
    runs = [run.path.name for run in filled.shelf(OWN).runs()]
    page = visitor.go(f"/evaluation/runs/compare?control={runs[0]}&treatment={runs[1]}")
    chart, switch = page.locator(".chart .panel").first, page.locator("[data-theme-switch]")
    expect(chart).to_be_visible()
    light = page.evaluate(BACKGROUND)
    switch.click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(switch).to_have_text("Light")
    assert page.evaluate(BACKGROUND) != light
    visitor.again()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(chart).to_be_visible()


def test_a_question_is_answered_live_and_its_citation_opens_the_passage(visitor: Visitor) -> None:
    page = visitor.go("/")
    page.fill("#question", QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-answer]")
    page.wait_for_url("**/answers/r_*")
    expect(page.locator(".stage h2")).to_have_count(3)
    page.locator(".stage details summary").first.click()
    expect(page.locator(".stage .attempt").first).to_be_visible()
    page.locator("[data-cite]").first.click()
    expect(page.locator(".passages .lit .text")).to_be_visible()
    visitor.again()
    expect(page.locator(".stage")).to_have_count(3)
    page.get_by_role("button", name="Yes").click()
    expect(page.get_by_role("status")).to_contain_text("Counted as useful")


def test_a_severe_notice_can_be_looked_into_put_away_and_acted_on(visitor: Visitor) -> None:
    page = visitor.go("/")
    page.fill("#question", "Who painted the ceiling of the Sistine Chapel?")
    page.click("button.first")
    page.wait_for_selector("[data-notice]")
    page.get_by_role("link", name="View details").first.click()
    expect(page.locator("#stage-search details").first).to_have_attribute("open", "")
    page.get_by_role("button", name="Proceed anyway").click()
    expect(page.locator("[data-notice]").first).to_be_hidden()
    visitor.again()
    page.get_by_role("button", name="Retry search").click()
    page.wait_for_selector("[data-answer]")
    page.get_by_role("link", name="an earlier answer").wait_for()


def test_a_stream_that_is_gone_says_so(browser: Browser, address: str, filled: Services) -> None:
    looked_at = threading.Event()

    def answering(listen: Listen) -> TracedAnswer:
        """Gives no answer while it is looked at: one that is there already would have no stream to lose."""
        del listen
        looked_at.wait(BOUND_S)
        raise InputError("nobody waits for the answer any more", remedy="Ask again.")

    ticket = filled.live.start(OWN, QUESTION, answering).ticket
    visitor = Visitor(browser, address)
    visitor.page.route("**/events", lambda route: route.fulfill(status=404, body="gone"))
    try:
        told = visitor.go(f"/ask/{ticket}").locator("[role=alert]", has_text="list of questions")
        expect(told).to_have_count(1)
    finally:
        looked_at.set()
        visitor.leave()


def test_labels_are_given_by_keyboard_alone(visitor: Visitor) -> None:
    page = visitor.go("/evaluation/label/hotel")
    document, done = page.locator("input[name=document]"), page.locator(".head p").last
    first, before = document.input_value(), done.inner_text()
    page.keyboard.press("3")
    expect(document).not_to_have_value(first)
    expect(page.locator("[role=status]")).to_have_text("3: the answer")
    page.keyboard.press("u")
    expect(document).to_have_value(first)
    expect(done).to_have_text(before)
    page.keyboard.press("3")
    expect(document).not_to_have_value(first)
    page.wait_for_function(
        "(before) => fetch(location.pathname).then((reply) => reply.text()).then((text) => !text.includes(before))",
        arg=f">{before}<",
    )
    visitor.again()
    page.keyboard.press("u")
    expect(document).to_have_value(first)
    expect(done).to_have_text(before)


@pytest.fixture
def small_dataset(filled: Services) -> Dataset:
    """A dataset of some twenty pairs to label: quick to load."""
    hotel = load_dataset("hotel")
    dataset = replace(hotel, name="hotel-typed", cases=hotel.cases[:3], floors={})
    filled.shelf(OWN).keep_dataset(dataset, origin="test")
    return dataset


def test_ten_labels_typed_at_ten_keys_a_second_are_all_kept(
    visitor: Visitor, filled: Services, small_dataset: Dataset
) -> None:
    assert sum(len(case.grades) for case in small_dataset.cases) > 20
    held: list[Route] = []
    page = visitor.go("/evaluation/label/hotel-typed")
    page.route("**/label/hotel-typed", lambda route: held.append(route) if _is_first(route, held) else route.fallback())
    page.keyboard.type("3210321032", delay=100)
    # The server has not answered a single key yet, and every pair was shown: no key waits for it.
    expect(page.locator(".head h1 + p")).to_have_text(re.compile("^10 of "))
    held[0].fallback()
    until = time.monotonic() + BOUND_S
    while len(_typed(filled)) < 10 and time.monotonic() < until:
        visitor.drawn()
    assert _typed(filled) == [3, 2, 1, 0, 3, 2, 1, 0, 3, 2]
    page = visitor.go("/evaluation/label/hotel-typed")
    expect(page.locator(".head h1 + p")).to_have_text(re.compile("^10 of "))


def _typed(services: Services) -> list[int | None]:
    kept = services.shelf(OWN).labels("hotel-typed").get(OWN.identity, {})
    return [label.grade for label in kept.values()]


def _is_first(route: Route, held: list[Route]) -> bool:
    return route.request.method == "POST" and not held


def test_the_debugger_follows_its_controls_and_its_keys(visitor: Visitor) -> None:
    page = visitor.go("/evaluation/debugger?q=late+cancel+on+a+holiday&k=3")
    expect(page.locator(".lists h3", has_text="vector")).to_have_count(1)
    page.check("#channel-bm25")
    expect(page.locator(".lists h3", has_text="vector")).to_have_count(0)
    expect(page).to_have_url(re.compile("[?&]channel=bm25"))
    page.locator(".lists ol").last.locator("a.entry").last.click()
    chosen = page.locator("[data-shown] article.open")
    expect(chosen).to_have_count(1)
    expect(page).to_have_url(re.compile("#p-"))
    page.keyboard.press("1")
    expect(page.locator("[data-status]")).to_have_text("Your grade is kept: 1")
    expect(chosen.locator("h3 [data-grade]")).to_have_text("yours 1")
    page.keyboard.press("y")
    expect(page.locator("[data-status]")).to_have_text(re.compile("^(Copied|Selected)"))
    page.keyboard.press("c")
    expect(page.get_by_role("status")).to_contain_text("is a case of searches now")


@pytest.mark.slow
def test_lost_queries_of_a_run_are_walked_and_judged_by_keys(visitor: Visitor, filled: Services) -> None:
    good, worse = (run.path.name for run in filled.shelf(OWN).runs()[:2])
    page = visitor.go(f"/evaluation/runs/{worse}/queries/q001?baseline={good}")
    place = page.locator(".debugged p", has_text="Lost query").first
    expect(place).to_contain_text("Lost query 104 of")
    page.keyboard.press("j")
    expect(place).to_contain_text("Lost query 105 of")
    expect(page).to_have_url(re.compile(f"baseline={good}$"))
    visitor.drawn()
    page.keyboard.press("k")
    expect(place).to_contain_text("Lost query 104 of")
    visitor.drawn()
    page.keyboard.press("w")
    expect(page.locator("[data-status]")).to_have_text("Your grade is kept: 0")


def test_filters_stand_in_the_address(visitor: Visitor) -> None:
    page = visitor.go("/evaluation/queries")
    page.select_option("#severe", "yes")
    expect(page).to_have_url(re.compile("[?&]severe=yes"))
    expect(page).not_to_have_url(re.compile("[?&]text="))
    expect(page.locator("#severe")).to_have_value("yes")


def test_a_phone_opens_the_menu_and_a_keyboard_skips_it(browser: Browser, address: str) -> None:
    visitor = Visitor(browser, address, width=400)
    page = visitor.go("/memory")
    first = page.locator("nav a").first
    expect(first).to_be_hidden()
    page.click(".menu")
    expect(first).to_be_visible()
    visitor.again()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#page$"))
    visitor.leave()
    assert visitor.complaints == []


def test_a_flag_is_switched_and_a_prompt_gets_a_new_version(visitor: Visitor) -> None:
    page = visitor.go("/evaluation/experiments/session_boost")
    page.select_option("#value", "25%")
    page.fill("#why-turn", "to see what it does")
    page.get_by_role("button", name="Switch").click()
    page.get_by_text("session_boost is on for 25 %").wait_for()
    page = visitor.go("/evaluation/prompts/synthesiser")
    text = page.locator("#text").input_value()
    page.fill("#text", text.replace('task = """', 'task = """\nBe brief.', 1))
    page.fill("#note", "shorter")
    page.get_by_role("button", name="Keep it").click()
    page.locator(".diff .added", has_text="Be brief.").wait_for()
    page.get_by_role("button", name="Use").click()
    page.get_by_text("In use: as it came").wait_for()
    expect(page.locator("#text")).to_have_value(text)


def test_a_memory_is_found_opened_and_voted_for(visitor: Visitor) -> None:
    page = visitor.go("/memory")
    page.fill("#q", "how tall may a vehicle be")
    page.keyboard.press("Enter")
    page.locator("details.line summary", has_text="Parking").click()
    page.locator("details[open] a", has_text="Open the memory").click()
    page.locator(".text.boxed", has_text=NOTES["Parking"]).wait_for()
    page.get_by_role("button", name="Yes").click()
    page.get_by_text("Counted as useful").wait_for()
    expect(page.get_by_role("heading", level=1)).to_have_text("Parking")


def test_five_hundred_payloads_run_no_script(browser: Browser, address: str, filled: Services) -> None:
    assert len(PAYLOADS) >= 500
    many_sessions(filled, "payload", PAYLOADS)
    with filled.engine.store.reading(OWN) as work:
        there = {one.title for one in work.memories.page(limit=2_000)}
    drafts = [Draft(title=one, body=one, tags=(one,)) for one in PAYLOADS[::5] if one not in there]
    list(filled.engine.saver.save_many(OWN, drafts))
    visitor = Visitor(browser, address)
    shown, older = 0, ["/evaluation/queries?text=ran"]
    while older:
        page = visitor.go(older[0])
        shown += len(visitor.addresses("tbody a.cover"))
        assert page.evaluate("window.ran") is None
        older = visitor.addresses("a[rel=next]")
    assert shown >= len(PAYLOADS) - LISTED
    for path in (
        "/memory?after=",
        "/memory?q=ran",
        "/evaluation/debugger?q=ran&against=served",
        f"/evaluation/queries?text={'%3Cscript%3Ewindow.ran=1%3C/script%3E'}",
    ):
        visitor.go(path)
        assert page.evaluate("window.ran") is None
    visitor.leave()
    assert visitor.complaints == []
