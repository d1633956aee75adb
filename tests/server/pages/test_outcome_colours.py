"""No page and no command shows a question that did not pass in green; one that passed is green.

The questions go through the real pipeline, with scripted parts, into the store that the pages read.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from starlette.testclient import TestClient
from tests.judging.panels import alike
from tests.research.made import Answering, Finding, pipeline, scores
from tests.server.serving import OWN, reaching, services_at

import assay
from assay.cli.commands.ask import format_answer
from assay.presentation.outcomes import LIVE_TONES, TERMINAL_STYLES, Tone, question_tone
from assay.records import Draft
from assay.records.judging import RoleResult
from assay.records.research import Checkpoint, Material, SourceReading
from assay.records.research_log import (
    QuestionOutcome,
    ResearchSession,
    ResearchStatus,
    StoredResearch,
    TracedAnswer,
)
from assay.research.search import FoundPassages
from assay.server.pages.answers import describe_session
from assay.server.pages.page import environment
from assay.server.services import Services

TEMPLATES = Path(assay.__file__).parent / "server" / "pages" / "templates"
ADDRESSES = {
    "ask.html": "/",
    "answer.html": "/answers/{}",
    "query.html": "/evaluation/queries/{}",
    "queries.html": "/evaluation/queries",
    "overview.html": "/evaluation?range=all",
}
"""The address of each template that shows the result of a question."""
PARTS = {"answered.html", "answer_part.html", "ask_live.html", "ask_problem.html"}
"""Templates that are part of others, or are shown before there is a result."""
LOW = {"context_recall": 0.1, "context_precision": 0.9, "source_quality": 0.9}
WAYS: dict[str, tuple[QuestionOutcome, dict[str, Any]]] = {
    "failed": (QuestionOutcome.FAILED, {"find": Finding(OSError("disk"))}),
    "nothing found": (QuestionOutcome.REFUSED, {"find": Finding(FoundPassages())}),
    "refused": (QuestionOutcome.REFUSED, {"script": scores(retrieval=LOW), "synthesiser": Answering(abstains=True)}),
    "refused despite evidence": (
        QuestionOutcome.REFUSED_DESPITE_EVIDENCE,
        {"synthesiser": Answering(abstains=True)},
    ),
    "without evidence": (QuestionOutcome.ANSWERED_WITHOUT_EVIDENCE, {"script": scores(retrieval=LOW)}),
    "answer failed": (QuestionOutcome.ANSWERED, {"script": scores(answer=(0.3, 0.2))}),
    "plan failed": (QuestionOutcome.ANSWERED, {"script": scores((0.65, 0.65, 0.65))}),
}
"""Questions that do not pass, by how they come about."""


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with services_at(tmp_path) as services:
        services.engine.saver.save(OWN, Draft(title="Cookie", body="The session cookie lives for twelve hours."))
        yield services


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services, pages=True) as client:
        yield client


def ask(services: Services, question: str, script: Any = None, **parts: Any) -> TracedAnswer:
    return pipeline(services.engine.store, script, **parts).ask(OWN, question)


def on_terminal(answer: TracedAnswer) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=200, record=True)
    console.print(format_answer(answer, details=True))
    return console.export_text(styles=True)


def green_at_terminal() -> str:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", record=True)
    console.print("x", style=TERMINAL_STYLES[Tone.GREEN])
    found = re.search(r"\x1b\[([0-9;]+)m", console.export_text(styles=True))
    assert found is not None
    return found[1]


def styles_of(text: str) -> set[str]:
    return {code for codes in re.findall(r"\x1b\[([0-9;]+)m", text) for code in codes.split(";")}


def test_every_template_that_shows_a_result_is_walked() -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in TEMPLATES.glob("*.html")}
    showing = {name for name, text in pages.items() if re.search(r"\bresults\.\w", text)}
    assert showing <= {*ADDRESSES, *PARTS}
    assert set(ADDRESSES) <= showing
    of_a_question = re.compile(r"\b(?:one\.overall_score|session\.(?:overall_score|passed|outcome|status))\b")
    scored = {name for name, text in pages.items() if of_a_question.search(text)}
    assert scored <= {*ADDRESSES, *PARTS}


@pytest.mark.parametrize("way", WAYS)
def test_a_question_that_did_not_pass_is_green_nowhere(services: Services, client: TestClient, way: str) -> None:
    outcome, parts = WAYS[way]
    answer = ask(services, "How long does the session cookie live?", **parts)
    assert (answer.outcome, answer.session.passed) == (outcome, False)
    for template, address in ADDRESSES.items():
        reply = client.get(address.format(answer.log_id))
        assert reply.status_code == 200, template
        assert Tone.GREEN not in reply.text, template
        assert question_tone(answer.session) in reply.text, template
    assert green_at_terminal() not in styles_of(on_terminal(answer))
    part = environment().get_template("answer_part.html").render(**context(services, answer))
    assert Tone.GREEN not in part


def context(services: Services, answer: TracedAnswer) -> dict[str, Any]:
    with services.engine.store.reading(OWN) as work:
        stored = work.research.get(answer.log_id)
    return {"session": stored.session, **describe_session(stored), "csrf_token": "", "now": stored.session.created_at}


def test_a_question_that_passed_is_green_where_its_result_is_shown(services: Services, client: TestClient) -> None:
    answer = ask(services, "How long does the session cookie live?")
    assert (answer.outcome, answer.session.passed) == (QuestionOutcome.ANSWERED, True)
    for template in ("ask.html", "answer.html", "query.html", "queries.html"):
        assert Tone.GREEN in client.get(ADDRESSES[template].format(answer.log_id)).text, template
    assert green_at_terminal() in styles_of(on_terminal(answer))


def test_nothing_is_green_while_a_question_is_answered_or_when_its_record_is_gone(
    services: Services, client: TestClient
) -> None:
    assert Tone.GREEN not in LIVE_TONES.values()
    answer = ask(services, "How long?", find=Finding(OSError("disk")))
    lost = replace(answer.session, log_id="r_lost")
    with services.engine.store.writing(OWN) as work:
        work.research.put(lost, {})
    for address in ("/answers/r_lost", "/evaluation/queries/r_lost"):
        page = client.get(address).text
        assert Tone.GREEN not in page
        assert Tone.RED in page


@pytest.mark.parametrize("status", [ResearchStatus.ABSTAINED, ResearchStatus.WITHHELD, ResearchStatus.FAILED])
def test_an_old_refusal_that_counted_as_passed_is_not_green(status: ResearchStatus, services: Services) -> None:
    old = ResearchSession(
        log_id="r_old", created_at=services.clock.now(), question="x", status=status, passed=True, overall_score=0.92
    )
    assert question_tone(old) is not Tone.GREEN
    assert describe_session(StoredResearch(session=old, trace=None))["evidence"] is None


def test_the_overview_begins_with_the_outcomes(services: Services, client: TestClient) -> None:
    for number, way in enumerate(WAYS):
        ask(services, f"question {number}", **WAYS[way][1])
    ask(services, "a question that passes")
    old = ResearchSession(log_id="r_old", created_at=services.clock.now(), question="before outcomes")
    with services.engine.store.writing(OWN) as work:
        work.research.put(old, {})
    page = client.get("/evaluation?range=all").text
    figures = page[page.index("data-outcomes") :]
    found = re.findall(
        r'<dt>(?:<a[^>]*>)?([^<]+)(?:</a>)?</dt><dd class="big">([^<]+)</dd><dd class="under">([^<]+)</dd>', figures
    )[:6]
    assert [(title, count) for title, count, _ in found[:5]] == [
        ("Answered", "3"),
        ("Refused", "2"),
        ("Refused although a passage is there", "1"),
        ("Answered without evidence", "1"),
        ("Failed", "1"),
    ]
    assert found[0][2] == "38 % of 8"
    assert 'href="/evaluation/queries?outcome=refused&amp;range=all"' in figures
    assert found[5][0] == "Questions"
    assert "1 question of an earlier version of Assay has no recorded outcome" in page
    assert "over 7 of 9 questions" in page
    api = client.get("/api/evaluation/metrics").json()
    assert {row["outcome"]: row["sessions"] for row in api["outcomes"]}["refused"] == 2
    assert api["without_outcome"] == 1


def test_questions_are_listed_by_outcome(services: Services, client: TestClient) -> None:
    for way in ("failed", "refused"):
        ask(services, f"the {way} one", **WAYS[way][1])
    page = client.get("/evaluation/queries?outcome=refused").text
    assert "the refused one" in page
    assert "the failed one" not in page
    assert '<option value="refused" selected>' in page
    listed = client.get("/api/evaluation/sessions?outcome=failed").json()["sessions"]
    assert [(row["question"], row["outcome"]) for row in listed] == [("the failed one", "failed")]
    assert client.get("/evaluation/queries?outcome=excellent").status_code == 422
    assert client.get("/api/evaluation/sessions?outcome=excellent").status_code == 422


def test_a_page_shows_the_notice_the_sources_and_what_is_not_measured(services: Services, client: TestClient) -> None:
    def script(material: Material, number: int) -> list[RoleResult]:
        if material.checkpoint is Checkpoint.ANSWER:
            return alike(material.checkpoint, 0.3)
        given = alike(material.checkpoint, {"context_recall": 0.9, "context_precision": 0.9})
        if material.checkpoint is Checkpoint.PLAN:
            return alike(material.checkpoint, 0.9)
        reading = SourceReading(number=1, about=False, share=0.25, problems=("superseded",))
        reasons = {"source_quality": "no source has a date"}
        return [replace(role, sources=(reading,), not_measured=reasons) for role in given]

    answer = ask(services, "How long does the session cookie live?", script)
    for address in ("/answers/{}", "/evaluation/queries/{}"):
        page = client.get(address.format(answer.log_id)).text
        assert "scored 0.30, below 0.50, after 2 attempts" in page
        assert "source quality: not measured, no source has a date" in page
        assert "not about the question" in page
        assert "superseded" in page
    shown = client.get(f"/api/evaluation/sessions/{answer.log_id}").json()
    assert shown["retrieval_evaluation"]["sources"][0]["problems"] == ["superseded"]
    assert [notice["kind"] for notice in shown["notices"]] == ["answer_failed"]
    assert "source_quality not measured: no source has a date" in " ".join(on_terminal(answer).split())
    assert "scored 0.30, below 0.50, after 2 attempts" in " ".join(on_terminal(answer).split())
