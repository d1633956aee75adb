"""The Overview: every mark leads to the questions it counts, and nothing that is not known is shown as a number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.serving import OWN, reaching, services_at

from assay.records.research_log import QuestionOutcome, ResearchFilter, ResearchSession, ResearchStatus, ResearchTotals
from assay.server.services import Services
from assay.storage.repositories.research import ResearchRows
from assay.testing import FixedClock

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MARK = re.compile(r'<a class="mark" href="([^"]+)" aria-label="([^"]+)"')


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Eight weeks of questions: some refused, one dimension always the same, the first weeks slower."""
    folder: Path = tmp_path_factory.mktemp("overview")
    with services_at(folder, clock=FixedClock(NOW), model_budget_tokens=1_000) as services:
        with services.engine.store.writing(OWN) as work:
            for place in range(112):
                refused = place % 4 == 0
                work.research.put(
                    ResearchSession(
                        log_id=f"r_{place:03}",
                        created_at=NOW - timedelta(hours=12 * place),
                        question=f"question {place}",
                        status=ResearchStatus.ABSTAINED if refused else ResearchStatus.ANSWERED,
                        outcome=QuestionOutcome.REFUSED if refused else QuestionOutcome.ANSWERED,
                        overall_score=0.1 if refused else 0.9,
                        passed=not refused,
                        scores={"source_quality": 1.0, "relevance": 0.2 + 0.001 * place},
                        failed_dimensions=("relevance",) if refused else (),
                        failure_type="weak_retrieval" if refused else "",
                        latency_ms=100.0 + place,
                        tokens=10 if place % 2 else None,
                    ),
                    {},
                )
        yield services


@pytest.fixture(scope="module")
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services, pages=True) as client:
        yield client


def count_listed(client: TestClient, address: str) -> int:
    """How many questions an address lists, over all its pages."""
    found, path = 0, address
    while path:
        page = client.get(path).text
        found += len(re.findall(r'class="cover"', page))
        following = re.search(r'rel="next" href="([^"]+)"', page)
        path = unescape(following[1]) if following else ""
    return found


@pytest.mark.parametrize("chosen", ["range=30d", "range=7d", "from=2026-10-01&to=2026-10-20", "range=all"])
def test_every_part_of_the_band_leads_to_the_questions_it_counts(client: TestClient, chosen: str) -> None:
    page = client.get(f"/evaluation?{chosen}").text
    band = page.partition("What became of questions")[2].partition("</figure>")[0]
    marks = [(unescape(address), unescape(label)) for address, label in MARK.findall(band)]
    assert len(marks) > 3
    for address, label in marks[:6]:
        counted = int(label.partition(": ")[2].partition(" of")[0])
        assert count_listed(client, address) == counted, (address, label)


def test_counts_beside_links_are_those_of_the_list(client: TestClient) -> None:
    page = client.get("/evaluation?range=30d").text
    refused = re.search(r'<dt><a href="([^"]+)">Refused</a></dt><dd class="big">(\d+)', page)
    assert refused is not None
    assert count_listed(client, unescape(refused[1])) == int(refused[2])
    failure = re.search(r'<td class="num">(\d+)</td><td><a href="([^"]+failure=[^"]+)"', page)
    assert failure is not None
    assert count_listed(client, unescape(failure[2])) == int(failure[1])
    histogram = page.partition("<h2>Scores</h2>")[2].partition("</figure>")[0]
    for address, label in MARK.findall(histogram):
        assert count_listed(client, unescape(address)) == int(label.rpartition(": ")[2])


def test_the_time_before_stands_beside_and_no_mean_is_the_headline(client: TestClient) -> None:
    page = client.get("/evaluation?range=7d").text
    assert "; before " in page
    assert "<dt>Mean score</dt>" not in page
    assert "; before " not in client.get("/evaluation?range=all").text


def test_a_dimension_that_never_varies_says_nothing(client: TestClient) -> None:
    page = client.get("/evaluation?range=all").text
    assert re.findall(r'data-constant="(\w+)">([^<]+)', page) == [("source_quality", "not informative: always 1.00")]
    assert page.count("not measured</span>") > 3


def test_tokens_and_the_budget_are_shown_as_far_as_they_are_known(client: TestClient) -> None:
    page = client.get("/evaluation?range=all").text
    assert "over 56 of 112 questions" in page
    assert "0 of 1,000 tokens" in page
    assert "half are faster; 95 % are faster than 206 ms" in page


def test_shares_are_shown_when_they_are_asked_for(client: TestClient) -> None:
    page = client.get("/evaluation?range=30d&as=share").text
    assert "As counts" in page
    assert ">100%</text>" in page


def test_sums_are_made_once_until_there_is_another_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ResearchFilter] = []
    totals = ResearchRows.totals

    def count(rows: ResearchRows, wanted: ResearchFilter) -> ResearchTotals:
        made.append(wanted)
        return totals(rows, wanted)

    monkeypatch.setattr(ResearchRows, "totals", count)
    address = "/evaluation?range=all&passed=no"
    with services_at(tmp_path, clock=FixedClock(NOW)) as services, reaching(services, pages=True) as client:
        for place in range(2):
            session = ResearchSession(log_id=f"r_{place}", created_at=NOW, question=f"question {place}", passed=False)
            with services.engine.store.writing(OWN) as work:
                work.research.put(session, {})
            for _ in range(2):
                assert f"of {place + 1}" in client.get(address).text
        assert len(made) == 2
        client.get(address.replace("no", "yes"))
        assert len(made) == 3
