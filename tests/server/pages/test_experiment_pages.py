"""What the API and the page of a change say of its test: the split, the attempt, and nothing where there is nothing."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.evaluation.experiments.test_book import experiment
from tests.server.pages.test_pages import token_in
from tests.server.serving import OWN, bearer, reaching, services_at

from assay.access import Access
from assay.evaluation.experiments import Book, ExperimentOutcome
from assay.online.shadow import DROPPED
from assay.records import SearchRequest, ShadowRun
from assay.records.flags import Arm, VoteKind
from assay.server.services import Services
from assay.wiring import ladder_of

FLAG = "mmr"
PAGE = f"/evaluation/experiments/{FLAG}"


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with services_at(tmp_path) as services:
        yield services


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services, pages=True) as client:
        yield client


def test_a_split_with_one_dead_arm_is_not_called_better(services: Services, client: TestClient) -> None:
    services.engine.flags.turn(services.engine.store, OWN, FLAG, "50%")
    ladder_of(services.engine).trials.begin(OWN, FLAG, kind=VoteKind.SPLIT)
    for place in range(8):
        ladder_of(services.engine).trials.vote(OWN, FLAG, f"query {place}", 1.0, arm=Arm.TREATMENT)
    test = client.get(f"/api/tests/{FLAG}").json()["test"]
    assert test["decision"] is None
    assert test["treatment_better"] is None
    assert test["split"]["p"] == pytest.approx(0.0078125)
    assert test["withheld"].startswith("No decision: 0 votes of the control to 8 of the treatment")
    page = client.get(PAGE).text
    assert "0 : 8" in page
    assert "is not a fair split" in page
    assert "no votes yet" in page
    assert "+2.000" not in page


def test_a_paired_test_without_votes_and_shadow_says_where_votes_come_from(
    services: Services, client: TestClient
) -> None:
    services.engine.flags.turn(services.engine.store, OWN, FLAG, "off")
    ladder_of(services.engine).trials.begin(OWN, FLAG, kind=VoteKind.PAIRED)
    page = client.get(PAGE).text
    assert "No vote can come yet. The shadow of mmr is off" in page
    assert "no votes yet" in page
    assert "50 %" not in re.sub(r"<option.*?</option>", "", page)
    assert f"assay shadow replay {FLAG}" in page


def test_a_paused_test_is_resumed_over_http_and_on_the_page(services: Services, client: TestClient) -> None:
    services.engine.flags.turn(services.engine.store, OWN, FLAG, "off")
    ladder_of(services.engine).trials.begin(OWN, FLAG, kind=VoteKind.PAIRED)
    ladder_of(services.engine).trials.pause(OWN, FLAG, "for lunch")
    assert "Resume the test" in client.get(PAGE).text
    reply = client.post(f"/api/tests/{FLAG}/resume")
    told = reply.json()
    assert "The shadow of mmr is off" in told.pop("no_votes_because")
    assert told == {"feature_id": FLAG, "attempt": 1, "kind": "paired", "status": "running", "votes": 0}
    assert client.post(f"/api/tests/{FLAG}/resume").status_code in {409, 422}


def test_the_page_counts_the_tries_of_offline_experiments(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    book = Book(tmp_path / "experiments.json")
    for number in range(3):
        book.add(
            experiment(
                f"ex_{number}", verdict=ExperimentOutcome.ACCEPTED if number == 2 else ExperimentOutcome.INCONCLUSIVE
            )
        )
    assert "try 3 of 3, 1 accepted" in client.get("/evaluation/experiments").text


def test_dropped_and_failed_shadow_runs_are_shown_beside_the_others(services: Services, client: TestClient) -> None:
    drop = ShadowRun(
        query_id="eq_1",
        feature_id=FLAG,
        control_result_ids=(),
        treatment_result_ids=(),
        created_at=services.clock.now(),
        problem=DROPPED,
    )
    failed = replace(drop, problem="raised ValueError: no")
    with services.engine.store.writing(OWN) as work:
        work.shadow_runs.add_many([drop, drop, failed])
    shadow = client.get(f"/api/tests/{FLAG}").json()["shadow"]
    assert (shadow["runs"], shadow["problems"], shadow["dropped"]) == (1, 1, 2)
    assert "1 run beside the real one, 1 failed, 2 searches dropped because too many waited" in client.get(PAGE).text


def test_the_metrics_of_the_server_count_shadowed_searches(services: Services, client: TestClient) -> None:
    services.engine.searcher.search(OWN, SearchRequest(query="anything"))
    told = client.get("/metrics").text
    assert 'assay_shadow_searches{what="seen"}' in told
    assert 'assay_shadow_searches{what="dropped"} 0.0' in told


def send(client: TestClient, action: str, **fields: str) -> str:
    """Send a form of the page of the flag; return the page that follows."""
    form = {"csrf_token": token_in(client.get(PAGE).text), "why": f"because of {action}", **fields}
    answer = client.post(f"{PAGE}/{action}", data=form, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return client.get(answer.headers["location"]).text


def test_switching_needs_a_reason_and_a_larger_share_is_confirmed_while_conditions_are_not_met(
    services: Services, client: TestClient
) -> None:
    services.engine.flags.turn(services.engine.store, OWN, FLAG, "10%")
    form = {"csrf_token": token_in(client.get(PAGE).text), "value": "50%", "value_shown": "10%"}
    assert client.post(f"{PAGE}/turn", data=form).status_code == 422
    asked = client.post(f"{PAGE}/turn", data={**form, "why": "half of them"}, follow_redirects=False)
    assert asked.status_code == 200
    assert "4 conditions of graduation are not met" in asked.text
    assert services.engine.flag_states(OWN)[FLAG].percent == 10
    page = send(client, "turn", value="50%", value_shown="10%", confirmed="yes", why="half of them")
    assert "mmr is on for 50 %" in page
    page = send(client, "turn", value="off", value_shown="50%", why="too slow")
    assert "mmr is off" in page
    assert "<q>too slow</q>" in page
    assert "From 50 % to off" in page


def test_every_step_of_a_test_is_in_the_timeline_with_who_why_and_its_line_of_the_audit_log(
    services: Services, client: TestClient
) -> None:
    services.engine.flags.turn(services.engine.store, OWN, FLAG, "off")
    assert "it would get none" in client.get(PAGE).text
    begun = send(client, "begin", kind="paired", with_shadow="yes")
    assert services.engine.flag_states(OWN)[FLAG].shadow
    assert "Attempt 1 began" in begun
    ladder_of(services.engine).trials.vote(OWN, FLAG, "a query", 0.4, arm=Arm.BOTH)
    assert "It keeps its 1 votes" in send(client, "pause")
    page = send(client, "resume")
    assert "goes on with 1 votes" in page
    timeline = page.partition('id="timeline"')[2]
    for action in ("flag.turn", "test.begun", "test.paused"):
        found = re.search(rf'href="([^"]+)">{action}</a>', timeline)
        assert found is not None, action
        line = client.get(html.unescape(found[1])).text.partition("<tbody>")[2]
        assert action in line.partition("</tr>")[0]
    assert "because of pause" in timeline
    assert OWN.identity in timeline


def test_shadow_runs_can_be_turned_on_while_a_test_runs(services: Services, client: TestClient) -> None:
    services.engine.flags.turn(services.engine.store, OWN, FLAG, "off")
    ladder_of(services.engine).trials.begin(OWN, FLAG, kind=VoteKind.PAIRED)
    assert "Turn shadow runs on</button>" in client.get(PAGE).text
    send(client, "turn", value="off", value_shown="off", shadow="yes", shadow_shown="no")
    vote = ladder_of(services.engine).trials.vote(OWN, FLAG, "a query", 0.4, arm=Arm.BOTH)
    assert vote.counted, "switching the shadow on does not pause a test"


def test_a_reader_sees_the_steps_and_no_form(services: Services) -> None:
    services.engine.flags.turn(services.engine.store, OWN, FLAG, "off")
    ladder_of(services.engine).trials.begin(OWN, FLAG, kind=VoteKind.PAIRED, why="to see")
    headers = bearer(services, Access.READ)
    with reaching(services, local=False, pages=True) as client:
        page = client.get(PAGE, headers=headers).text
    assert "Attempt 1 began, with paired votes. to see" in page
    assert "Switching needs an admin." in page
    assert f'action="{PAGE}' not in page
    assert "/evaluation/audit?" not in page
