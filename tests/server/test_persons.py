"""Who counts as a person over HTTP: whoever shows a token made for one. Everybody else is a program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.telling import Run, runner
from tests.server.serving import OWN, bearer, reaching, served, services_at

import assay
from assay.records import Draft, SaveDecision
from assay.records.access import Access
from assay.server.services import Services

TITLE = "Logging of card numbers"
TRUE = "Card numbers of guests must never be written to the logs of the payment service."
FALSE = "Card numbers of guests must always be written to the logs of the payment service."


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_DB", str(tmp_path / "notes.db"))
    with services_at(tmp_path) as found:
        yield found


def keep_by_hand(services: Services) -> str:
    return str(services.engine.saver.save(OWN, Draft(title=TITLE, body=TRUE)).memory_id)


def is_current(services: Services, memory_id: str) -> bool:
    return services.engine.show(OWN, memory_id).memory.superseded_at is None


def test_a_client_without_a_token_on_this_machine_replaces_nothing_a_person_wrote(services: Services) -> None:
    true = keep_by_hand(services)
    with served(services) as address, assay.Client(address) as client:
        saved = client.save(TITLE, FALSE)
    assert (saved.decision, saved.contradicts) == (SaveDecision.STORE, (true,))
    assert is_current(services, true)


@pytest.mark.parametrize("access", [Access.WRITE, Access.ADMIN])
def test_a_token_is_a_programs_however_far_it_reaches(services: Services, access: Access) -> None:
    true = keep_by_hand(services)
    with reaching(services, local=False) as http:
        saved = http.post("/api/memory", json={"title": TITLE, "body": FALSE}, headers=bearer(services, access)).json()
    assert (saved["decision"], saved["contradicts"]) == ("store", [true])
    assert is_current(services, true)


def test_a_token_made_for_a_person_supersedes_and_restores(services: Services) -> None:
    true = keep_by_hand(services)
    headers = bearer(services, Access.WRITE, person=True)
    with reaching(services, local=False) as http:
        saved = http.post("/api/memory", json={"title": TITLE, "body": FALSE}, headers=headers).json()
        assert (saved["decision"], saved["superseded"]) == ("supersede", [true])
        assert http.post(f"/api/memory/{true}/restore", json={}, headers=headers).status_code == 200
    assert is_current(services, true)


def test_a_person_who_says_that_a_program_wrote_it_is_believed(services: Services) -> None:
    keep_by_hand(services)
    headers = bearer(services, Access.ADMIN, person=True)
    with reaching(services, local=False) as http:
        body = {"title": TITLE, "body": FALSE, "automated": True}
        assert http.post("/api/memory", json=body, headers=headers).json()["decision"] == "store"


@pytest.mark.parametrize("verb", ["update", "forget"])
def test_no_program_on_this_machine_changes_what_a_person_wrote(services: Services, verb: str) -> None:
    true = keep_by_hand(services)
    with reaching(services) as http:
        answer = http.post(f"/api/memory/{true}/{verb}", json={"title": "Mine"} if verb == "update" else {})
    assert answer.status_code == 403
    assert "assay token create --person" in answer.json()["error"]["remedy"]


def test_only_a_person_with_admin_access_makes_a_memory_constitutional(services: Services) -> None:
    law = {"title": "Law", "body": "Never send a password to anybody, whoever asks for it.", "tier": "constitutional"}
    with reaching(services) as here:
        assert here.post("/api/memory", json=law).json()["error"]["code"] == "access_too_low"
    with reaching(services, local=False) as http:
        for access, person, status in (
            (Access.ADMIN, False, 403),
            (Access.WRITE, True, 403),
            (Access.ADMIN, True, 200),
        ):
            headers = bearer(services, access, person=person)
            assert http.post("/api/memory", json=law, headers=headers).status_code == status


def test_a_program_cannot_make_a_token_for_a_person(services: Services) -> None:
    wanted = {"name": "me", "access": "write", "person": True}
    with reaching(services) as here:
        assert here.post("/api/tokens", json=wanted).json()["error"]["code"] == "person_needed"
        assert here.post("/api/tokens", json={**wanted, "person": False}).json()["person"] is False
    with reaching(services, local=False) as http:
        program, person = bearer(services), bearer(services, person=True)
        assert http.post("/api/tokens", json=wanted, headers=program).status_code == 403
        made = http.post("/api/tokens", json=wanted, headers=person).json()
        assert made["person"] is True
        listed = http.get("/api/tokens", headers=person).json()["tokens"]
    assert [one["person"] for one in listed if one["token_id"] == made["token_id"]] == [True]


def test_the_command_line_makes_tokens_for_persons_and_for_programs(
    services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Run = runner(capsys)
    assert "for a program" in run("token", "create", "--scope", "write").out
    made = run("token", "create", "--scope", "write", "--person", "--json").json
    grant = services.stored_tokens.grant(made["token"])
    assert made["person"] is True
    assert grant is not None
    assert grant.person
    assert [one["person"] for one in run("token", "list", "--json").json["tokens"]] == [False, True]
    assert "a person" in run("token", "list").out
