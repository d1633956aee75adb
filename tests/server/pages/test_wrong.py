"""What a browser is shown when it is refused before any page sees it; programs are told the same as JSON."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient
from tests.server.pages.looking import Visitor
from tests.server.serving import HERE, cookie_secret, reaching, served, services_at, token_text

from assay.access import acts
from assay.records.access import Access
from assay.server.application import build
from assay.server.routing import with_act
from assay.server.security.guard import RouteTable
from assay.server.services import Services
from assay.testing import FixedClock

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FRAME = '<nav id="menu"'


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with services_at(tmp_path, tenant="acme") as found:
        yield found


def title_of(page: str) -> str:
    found = re.search(r"<h1>([^<]+)</h1>", page)
    return "" if found is None else found[1]


def way_back(page: str) -> tuple[str, str]:
    found = re.search(r'<a class="button first" href="([^"]*)">([^<]*)</a>', page)
    assert found is not None
    return found[1], found[2]


def test_an_unknown_address_is_told_on_a_page_with_a_way_back(services: Services) -> None:
    with reaching(services, pages=True) as client:
        reply = client.get("/memroy", headers=BROWSER)
    assert (reply.status_code, title_of(reply.text)) == (404, "Not found")
    assert "/memroy" in reply.text
    assert FRAME in reply.text
    assert way_back(reply.text) == ("/", "To the first page")


def test_programs_and_the_api_keep_the_one_shape(services: Services) -> None:
    with reaching(services, pages=True) as client:
        for path, headers in (("/nowhere", {}), ("/api/nowhere", BROWSER), ("/api/memory/m_none", BROWSER)):
            fault = client.get(path, headers=headers).json()["error"]
            assert sorted(fault) == ["code", "message", "remedy", "request_id"]
    with reaching(services) as client:
        assert client.get("/nowhere", headers=BROWSER).json()["error"]["code"] == "not_found"


def test_a_form_of_an_earlier_server_leads_back_to_its_page(services: Services) -> None:
    with reaching(services, pages=True) as earlier:
        token = re.findall(r'name="csrf_token" value="(\w+)"', earlier.get("/evaluation/prompts/planner").text)[0]
    form = {"csrf_token": token, "text": "x"}
    with reaching(services, pages=True) as client:
        sent = {**BROWSER, "Referer": f"{HERE}/evaluation/prompts/planner?first=0"}
        reply = client.post("/evaluation/prompts/planner", data=form, headers=sent)
        assert (reply.status_code, title_of(reply.text)) == (403, "The form is too old")
        assert way_back(reply.text) == ("/evaluation/prompts/planner?first=0", "Load the page again")
        for foreign in ("http://evil.example/memory", "http://127.0.0.1:9/memory", f"{HERE}//evil.example"):
            reply = client.post("/evaluation/prompts/planner", data=form, headers={**BROWSER, "Referer": foreign})
            assert way_back(reply.text)[0] == "/"


def test_who_is_too_fast_is_shown_when_to_go_on_without_a_second_request(tmp_path: Path) -> None:
    slow = services_at(tmp_path, clock=FixedClock(), server_requests_per_minute=4)
    with slow as services, reaching(services, pages=True) as client:
        assert client.get("/memory", headers=BROWSER).status_code == 200
        reply = client.get("/memory?folder=a&tier=x", headers=BROWSER)
    assert (reply.status_code, title_of(reply.text)) == (429, "Too fast")
    assert f"Go on in {reply.headers['Retry-After']} s" in reply.text
    assert way_back(reply.text) == ("/memory?folder=a&amp;tier=x", "Try again")
    assert re.findall(r'(?:src|<link[^>]*href)="/', reply.text) == []


def test_what_is_told_to_strangers_says_nothing_of_the_inside(services: Services) -> None:
    with reaching(services, local=False, pages=True) as client:
        wrong = client.get("/memory", headers={**BROWSER, "Host": "evil.example"})
        crossed = client.post("/ask", headers={**BROWSER, "Origin": "http://evil.example"})
        unknown = client.post("/ask", data={"question": "x"}, headers={**BROWSER, "Referer": f"{HERE}/?q=x"})
    seen = [(one.status_code, title_of(one.text)) for one in (wrong, crossed, unknown)]
    assert seen == [(421, "Another server"), (403, "Not allowed"), (401, "Not signed in")]
    assert way_back(unknown.text) == ("/login?next=/%3Fq%3Dx", "Sign in")
    for one in (wrong, crossed, unknown):
        assert "acme" not in one.text
        assert FRAME not in one.text


def test_a_token_that_reaches_too_little_is_told_which_would(services: Services) -> None:
    cookie = cookie_secret(services, token_text(services, Access.READ))
    with reaching(services, local=False, pages=True) as client:
        sent = {**BROWSER, "Cookie": f"assay_session={cookie}", "Referer": f"{HERE}/memory/m_1"}
        reply = client.post("/memory/m_1/validate", data={"was_useful": "yes"}, headers=sent)
    assert (reply.status_code, title_of(reply.text)) == (403, "Not allowed")
    assert "--scope write" in reply.text
    assert way_back(reply.text) == ("/memory/m_1", "Back")


def test_an_address_that_only_takes_forms_says_so(services: Services) -> None:
    with reaching(services, pages=True) as client:
        reply = client.get("/ask", headers=BROWSER)
    assert (reply.status_code, reply.headers["Allow"], title_of(reply.text)) == (405, "POST", "Not in this way")


def test_a_bug_is_shown_without_its_inside(services: Services, caplog: pytest.LogCaptureFixture) -> None:
    @with_act(acts.SERVER_METRICS)
    async def broken() -> str:
        raise RuntimeError("the password is swordfish")

    guard = build(services, open_to_this_machine=True)
    guard.app.add_api_route("/broken", broken)  # type: ignore[attr-defined] # it is a Guard
    guard.table = RouteTable(guard.app.routes)  # type: ignore[attr-defined] # the same
    with TestClient(guard, base_url=HERE, raise_server_exceptions=False) as client, caplog.at_level(logging.ERROR):
        reply = client.get("/broken", headers=BROWSER)
    assert (reply.status_code, title_of(reply.text)) == (500, "That did not work")
    assert "swordfish" not in reply.text


def test_an_address_with_markup_is_shown_and_not_obeyed(services: Services) -> None:
    with reaching(services, pages=True) as client:
        reply = client.get("/%3Cscript%3Ealert(1)%3C/script%3E", headers=BROWSER)
    assert reply.status_code == 404
    assert "<script>alert" not in reply.text


def test_a_browser_shows_these_pages_in_the_design_of_the_others(browser: Browser, tmp_path: Path) -> None:
    # On a clock that stands still a bucket of a hundred is never filled again.
    own = services_at(tmp_path, clock=FixedClock(), server_requests_per_minute=400)
    with own as services, served(services, pages=True) as address:
        visitor = Visitor(browser, address, width=400)
        page = visitor.go("/nowhere")
        expect(page.locator("h1")).to_have_text("Not found")
        assert visitor.too_wide() == []
        page.get_by_role("link", name="To the first page").click()
        expect(page.locator("h1")).to_contain_text("Ask")
        page = visitor.go("/evaluation/prompts/planner")
        page.evaluate("document.querySelector('form[method=post] [name=csrf_token]').value = '0'.repeat(64)")
        page.get_by_role("button", name="Keep it").click()
        expect(page.locator("h1")).to_have_text("The form is too old")
        page.get_by_role("link", name="Load the page again").click()
        expect(page.get_by_role("button", name="Keep it")).to_be_visible()
        assert 429 in [page.request.get(f"{address}/api/flags").status for _ in range(101)]
        page = visitor.go("/memory")
        expect(page.locator("h1")).to_have_text("Too fast")
        expect(page.locator(".card").first).to_have_css("border-radius", "10px")
        assert visitor.too_wide() == []
        visitor.leave()
    unexpected = [one for one in visitor.complaints if "status of 4" not in one]
    assert unexpected == []
