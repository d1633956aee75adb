"""The page of one question: its timeline, the words that support each sentence, and a retry beside the original."""

from __future__ import annotations

import re

from starlette.testclient import TestClient
from tests.server.pages.filled import QUESTION
from tests.server.serving import OWN

from assay.presentation.charts import Span, timeline
from assay.server.pages.question import link_sentences
from assay.server.services import Services
from assay.wiring.research import open_research


def find_question(services: Services, question: str) -> str:
    with services.engine.store.reading(OWN) as work:
        return next(one.log_id for one in work.research.each() if one.question == question)


def test_the_timeline_has_every_step_and_ends_when_the_question_did(client: TestClient, filled: Services) -> None:
    log_id = find_question(filled, QUESTION)
    page = client.get(f"/evaluation/queries/{log_id}").text
    shown = page.partition("data-timeline")[2].partition("</section>")[0]
    for name in ("plan 1", "check plan 1", "search 1", "check sources", "answer 1", "check answer 1"):
        assert f">{name}</span>" in shown, name
    assert "kept" in shown
    ends = [float(value.replace(",", "")) for value in re.findall(r'<td class="num">([\d,]+) ms</td>', shown)]
    with filled.engine.store.reading(OWN) as work:
        took = work.research.get(log_id).session.latency_ms
    assert max(ends) <= took + 1


def test_each_sentence_leads_to_the_words_that_support_it(client: TestClient, filled: Services) -> None:
    page = client.get(f"/evaluation/queries/{find_question(filled, QUESTION)}").text
    assert 'href="#support-1-1"' in page
    marked = re.search(r'<mark id="support-1-1"[^>]*>([^<]+)</mark>', page)
    assert marked is not None
    assert "18 euros a night" in marked[1]


def test_words_that_support_two_sentences_are_reached_from_both() -> None:
    text = "A place costs 18 euros. Dogs stay outside."
    answer = {"statements": [{"text": text[:23], "citations": [1]}, {"text": text, "citations": [1, 2]}]}
    found = link_sentences(answer, [{"number": 1, "text": text}])
    assert found["linked"] == {(1, 1), (2, 1)}
    first, rest = found["segments"][1]
    assert (first.text, first.marks, first.begins) == (text[:23], (1, 2), (1, 2))
    assert (rest.marks, rest.begins) == ((2,), ())
    assert link_sentences(None, ()) == {"segments": {}, "linked": set()}


def test_a_retry_stands_beside_the_original_on_both_pages(client: TestClient, filled: Services) -> None:
    pipeline = open_research(filled.settings, filled.engine, OWN)
    first = pipeline.ask(OWN, "How much is a dog in a courtyard room?")
    assert "data-beside" not in client.get(f"/evaluation/queries/{first.log_id}").text
    second = pipeline.retry_search(OWN, first.log_id)
    for own, other in ((first, second), (second, first)):
        page = client.get(f"/evaluation/queries/{own.log_id}").text
        beside = page.partition("data-beside")[2].partition("</section>")[0]
        assert f"/evaluation/queries/{other.log_id}" in beside
        assert beside.index("First search") < beside.index("Wider search")


def test_a_span_names_its_tokens_cost_and_that_it_was_cached() -> None:
    spans = [
        Span("check", 0.0, 40.0, tokens=1_200, cost="$0.0012"),
        Span("check: critic", 0.0, 0.0, cached=True, depth=1),
    ]
    figure = timeline(spans)
    assert figure.table.rows[0][3:6] == ("1,200", "$0.0012", "no")
    assert figure.table.rows[1][3:6] == ("not counted", "not known", "yes")
    assert figure.panels[1].marks[0].x2 > 0
    assert "1,200 tokens; $0.0012" in figure.panels[0].marks[0].title
