"""Notices come from a signed cookie, once, on the page they were meant for; never from the address."""

from __future__ import annotations

from urllib.parse import quote

from starlette.testclient import TestClient
from tests.server.pages.filled import FLAG
from tests.server.pages.test_pages import token_in

from assay.server.security.callers import NOTICE_COOKIE

PAGE = f"/evaluation/experiments/{FLAG}"
PLANTED = "Your store was deleted. Call 555-1234"
PROMPT = "/evaluation/prompts/planner"


def use_prompt(client: TestClient) -> None:
    form = {"csrf_token": token_in(client.get(PROMPT).text), "version": "0"}
    answer = client.post(f"{PROMPT}/use", data=form, follow_redirects=False)
    assert answer.status_code == 303
    assert "said" not in answer.headers["location"]


def test_no_page_repeats_what_an_address_says(client: TestClient) -> None:
    for path in (PAGE, PROMPT, "/evaluation/sign-ins", "/evaluation/label/hotel", "/traces/strange", "/memory"):
        answer = client.get(f"{path}?said={quote(PLANTED)}")
        assert answer.status_code == 200
        assert PLANTED not in answer.text


def test_a_notice_is_shown_once(client: TestClient) -> None:
    use_prompt(client)
    assert "Version 0 is in use" in client.get(PROMPT).text
    assert "Version 0 is in use" not in client.get(PROMPT).text


def test_a_notice_is_shown_only_on_its_own_page(client: TestClient) -> None:
    use_prompt(client)
    assert "Version 0 is in use" not in client.get("/evaluation/prompts/synthesiser").text
    assert "Version 0 is in use" in client.get(PROMPT).text


def test_a_notice_that_was_altered_or_made_up_is_ignored(client: TestClient) -> None:
    use_prompt(client)
    encoded, _, signature = client.cookies[NOTICE_COOKIE].partition(".")
    client.cookies.clear()
    for value in (f"{encoded[:-4]}AAAA.{signature}", f"{encoded}.{signature[::-1]}", "x", "x.y", f"{encoded}."):
        page = client.get(PROMPT, headers={"cookie": f"{NOTICE_COOKIE}={value}"})
        assert page.status_code == 200
        assert "is in use" not in page.text.partition("<h2")[0]
