"""Runs that a browser starts: the same result as `assay run`, one at a time, stopped and gone on with."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.pages.test_pages import token_in
from tests.server.serving import BOUND_S, OWN, reaching, services_at
from typer.testing import CliRunner

from assay.cli.main import app
from assay.evaluation.results import load_run
from assay.evaluation.running.files import RunFolder
from assay.evaluation.running.live import LiveFolder, LivePhase, LiveRun
from assay.server.services import Services
from assay.verbs.runs import ONE_RUN

START = "/evaluation/runs/start"
CASES = 12


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    with services_at(tmp_path) as services:
        yield services


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services, pages=True) as client:
        yield client


def start(client: TestClient, **fields: str) -> str:
    """Start a run from its form; return its id."""
    form = {"dataset": "hotel", "cases": str(CASES), "csrf_token": token_in(client.get(START).text), **fields}
    answer = client.post(START, data=form, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].split("/")[-2]


def post(client: TestClient, run_id: str, what: str) -> None:
    token = token_in(client.get(f"/evaluation/runs/{run_id}/live").text)
    answer = client.post(f"/evaluation/runs/{run_id}/{what}", data={"csrf_token": token}, follow_redirects=False)
    assert answer.status_code == 303, answer.text


def state_of(services: Services, run_id: str) -> LiveRun:
    return services.shelf(OWN).read_live(run_id)


def wait_for(services: Services, run_id: str, *phases: LivePhase) -> LiveRun:
    """Return the state of a run as soon as it is in one of these phases."""
    for _ in range(int(BOUND_S / 0.05)):
        found = state_of(services, run_id)
        if found.phase in phases:
            return found
        threading.Event().wait(0.05)
    raise AssertionError(f"the run is still {found.phase}: {found.problem}")


def actions_on(services: Services, run_id: str) -> list[str]:
    with services.engine.store.reading(OWN) as work:
        return [entry.action for entry in reversed(work.audit.entries(target=run_id))]


def test_a_run_of_the_browser_has_the_result_of_the_command_line(
    services: Services, client: TestClient, tmp_path: Path
) -> None:
    run_id = start(client, k="10", name="from the browser")
    live = wait_for(services, run_id, LivePhase.FINISHED, LivePhase.FAILED)
    assert (live.phase, len(live.cases), live.total) == (LivePhase.FINISHED, CASES, CASES)
    runs = tmp_path / "by-command"
    argv = ["run", "hotel", "--max-cases", str(CASES), "-k", "10", "--runs", str(runs), "--db", str(tmp_path / "x.db")]
    done = CliRunner().invoke(app, argv)
    assert done.exit_code == 0, done.output
    ours, theirs = load_run(services.shelf(OWN).find_run(run_id).path), load_run(next(runs.iterdir()))
    assert ours.result_hash == theirs.result_hash
    values = {str(spec): found.value for spec, found in ours.aggregates.items()}
    assert values == {str(spec): found.value for spec, found in theirs.aggregates.items()}
    assert ours.manifest.case_ids == theirs.manifest.case_ids
    assert live.looks[-1].mean == pytest.approx(values[live.metric])
    low, high = live.looks[-1].low, live.looks[-1].high
    assert low is not None
    assert high is not None
    assert low < live.looks[-1].mean < high
    assert actions_on(services, run_id) == ["run.start", "run.finish"]
    assert client.get(f"/evaluation/runs/{run_id}").status_code == 200


def test_a_second_run_of_a_tenant_is_refused_and_the_form_leads_to_the_first(
    services: Services, client: TestClient
) -> None:
    token = token_in(client.get(START).text)
    with ONE_RUN:
        first = start(client)
        assert state_of(services, first).phase is LivePhase.WAITING
        assert client.get(START, follow_redirects=False).headers["location"] == f"/evaluation/runs/{first}/live"
        second = client.post(START, data={"dataset": "hotel", "csrf_token": token})
        assert second.status_code >= 400
        assert "a run is going on already" in second.text.lower()
        post(client, first, "stop")
        wait_for(services, first, LivePhase.STOPPED)
    assert actions_on(services, first) == ["run.start", "run.stop"]


def test_a_run_that_was_interrupted_goes_on_and_ends_like_one_that_was_not(
    services: Services, client: TestClient
) -> None:
    cut = start(client)
    wait_for(services, cut, LivePhase.FINISHED)
    reference = load_run(services.shelf(OWN).find_run(cut).path)
    # As after a server that was killed: some cases are written down, and nobody holds the lock.
    folder = RunFolder(services.shelf(OWN).find_run(cut).path)
    folder.write_cases(folder.read_cases()[:5])
    folder.result.unlink()
    live = LiveFolder(folder.path)
    state = live.read()
    live.write(LiveRun(**{**{name: getattr(state, name) for name in state.__slots__}, "phase": LivePhase.RUNNING}))
    assert "The server ended in the middle" in client.get(f"/evaluation/runs/{cut}/live").text
    assert client.get(f"/evaluation/runs/{cut}", follow_redirects=False).headers["location"].endswith("/live")
    post(client, cut, "resume")
    after = wait_for(services, cut, LivePhase.FINISHED, LivePhase.FAILED)
    assert (after.phase, after.asked_before) == (LivePhase.FINISHED, 5)
    assert load_run(folder.path).result_hash == reference.result_hash
    assert actions_on(services, cut) == ["run.start", "run.finish", "run.resume", "run.finish"]


WRONG = (
    ({"dataset": "../etc"}, "dataset"),
    ({"dataset": "no-such-set"}, "no-such-set"),
    ({"change": "no_such_flag=on"}, "no_such_flag"),
    ({"change": "no-such-variant"}, "no-such-variant"),
    ({"cases": "0x1"}, "cases"),
    ({"k": "999999"}, "k"),
    ({"mode": "sideways"}, "mode"),
)


def test_a_form_that_names_what_is_not_there_starts_nothing(client: TestClient, services: Services) -> None:
    token = token_in(client.get(START).text)
    for fields, says in WRONG:
        answer = client.post(START, data={"dataset": "hotel", "csrf_token": token, **fields}, follow_redirects=False)
        assert answer.status_code in {404, 422}, fields
        assert says in answer.text.casefold()
    assert services.shelf(OWN).runs() == []


@pytest.mark.slow
def test_a_flag_can_be_changed_for_one_run_alone(services: Services, client: TestClient) -> None:
    run_id = start(client, change="mmr=off", cases="3")
    wait_for(services, run_id, LivePhase.FINISHED)
    assert services.shelf(OWN).find_run(run_id).read_manifest().system == "assay:flags.mmr=off"
    assert services.engine.flag_states(OWN)["mmr"].on
