"""Runs, datasets and labels over pages and API: each tenant finds its own, and nothing of another's."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient
from tests.cli.telling import runner
from tests.server.serving import bearer, reaching, services_at

from assay.evaluation.datasets import export_dataset
from assay.records import Scope
from assay.records.access import Access
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.server.services import Services

SECRET = "the salary band 1 pays 10000 a year"
QUESTION = "what does ALPHAQUESTION pay"
RUN = "ALPHACANARYprivate"
ALPHA, BETA = (Scope(tenant=tenant, principal="founder") for tenant in ("alpha", "beta"))


class House(NamedTuple):
    """A server for the tenant `default`, on which alpha has a dataset and a run, with a token for everybody."""

    client: TestClient
    services: Services
    alpha: dict[str, str]
    beta: dict[str, str]
    host: dict[str, str]
    """The token of the settings' own tenant."""
    run_id: str

    def get(self, path: str, headers: dict[str, str]) -> tuple[int, str]:
        reply = self.client.get(path, headers=headers)
        # Words of the question are marked in texts.
        return reply.status_code, re.sub("</?mark>", "", reply.text)

    def press(self, path: str, key: str, headers: dict[str, str], **form: str) -> int:
        return self.client.post(path, data={"key": key, **form}, headers=headers).status_code


def secret_dataset() -> Dataset:
    return Dataset(
        name="alphasecret",
        version="1.0.0",
        description="Salaries of alpha",
        documents=(Document(id="d1", title="Bands", text=SECRET), Document(id="d2", title="Lunch", text="At noon.")),
        cases=(Case(id="q1", query=QUESTION, grades=(Grade(document_id="d1", grade=3),)),),
    )


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[House]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    monkeypatch.setenv("ASSAY_DB", str(tmp_path / "notes.db"))
    monkeypatch.setenv("ASSAY_RUNS_FOLDER", str(tmp_path / "kept" / "runs"))
    export_dataset(secret_dataset(), tmp_path / "secret.json")
    runs = tmp_path / "kept" / "runs"
    with services_at(tmp_path, runs_folder=runs) as services, reaching(services, local=False, pages=True) as client:
        told = runner(capsys)("dataset", "import", "secret.json", "--tenant", "alpha")
        assert told.code == 0, told.err
        alpha, beta, host = (bearer(services, Access.WRITE, Scope(tenant=one)) for one in ("alpha", "beta", "default"))
        body = {"dataset": "alphasecret", "name": RUN, "metrics": ["ndcg@10"]}
        made = client.post("/api/runs", json=body, headers=alpha)
        assert made.status_code == 200, made.text
        yield House(client, services, alpha, beta, host, made.json()["run_id"])


def test_the_list_of_runs_shows_the_runs_of_the_tenant_alone(house: House) -> None:
    assert RUN in house.get("/evaluation/runs", house.alpha)[1]
    for stranger in (house.beta, house.host):
        status, page = house.get("/evaluation/runs", stranger)
        assert (status, RUN in page, "alphasecret" in page) == (200, False, False)


def test_a_run_of_another_tenant_is_not_found_on_any_page(house: House) -> None:
    paths = [
        f"/evaluation/runs/{house.run_id}",
        f"/evaluation/runs/{RUN}",
        f"/evaluation/runs/{house.run_id}/queries/q1",
        f"/evaluation/runs/compare?control={house.run_id}&treatment={house.run_id}",
        f"/api/runs/{house.run_id}",
        f"/api/runs/compare?control={house.run_id}&treatment={house.run_id}",
    ]
    for path in paths:
        if RUN not in path:
            assert house.get(path, house.alpha)[0] == 200, path
        for stranger in (house.beta, house.host):
            status, page = house.get(path, stranger)
            assert status == 404, path
            assert QUESTION not in page
            assert SECRET not in page


def test_a_foreign_run_and_one_that_never_was_get_the_same_answer(house: House) -> None:
    never = "run_01JABCDEFGHJKMNPQRSTVWXYZ0"
    for path in ("/evaluation/runs/{}", "/api/runs/{}", "/api/runs/compare?control={0}&treatment={0}"):
        said = []
        for run_id in (house.run_id, never):
            status, text = house.get(path.format(run_id), house.beta)
            said.append((status, re.sub(r'"request_id": "\w+"', "", text.replace(run_id, "RUN"))))
        assert said[0] == said[1], path


def test_a_run_of_somebody_else_is_no_baseline(house: House) -> None:
    made = house.client.post("/api/runs", json={"dataset": "hotel", "max_cases": 2}, headers=house.beta).json()
    assert house.get(f"/evaluation/runs/{made['run_id']}", house.beta)[0] == 200
    status, page = house.get(f"/evaluation/runs/{made['run_id']}?baseline={house.run_id}", house.beta)
    assert (status, RUN in page) == (404, False)


def test_a_dataset_of_another_tenant_is_neither_listed_nor_shown_nor_run(house: House) -> None:
    def names(headers: dict[str, str]) -> list[str]:
        return [one["name"] for one in house.client.get("/api/datasets", headers=headers).json()["datasets"]]

    assert "alphasecret" in names(house.alpha)
    assert house.get("/api/datasets/alphasecret", house.alpha)[0] == 200
    for stranger in (house.beta, house.host):
        assert "alphasecret" not in names(stranger)
        assert "hotel" in names(stranger)
        for answer in (
            house.client.get("/api/datasets/alphasecret", headers=stranger),
            house.client.post("/api/runs", json={"dataset": "alphasecret"}, headers=stranger),
        ):
            assert answer.status_code == 404
            assert "Salaries" not in answer.text
            assert "alphasecret" not in answer.json()["error"]["remedy"]


def test_the_pairs_of_another_tenant_cannot_be_labelled_or_read(house: House) -> None:
    assert SECRET in house.get("/evaluation/label/alphasecret", house.alpha)[1]
    for stranger in (house.beta, house.host):
        assert "alphasecret" not in house.get("/evaluation/label", stranger)[1]
        status, page = house.get("/evaluation/label/alphasecret", stranger)
        assert (status, SECRET in page, QUESTION in page) == (404, False, False)
        assert house.press("/evaluation/label/alphasecret", "3", stranger, case="q1", document="d1") == 404


def labelled(house: House, headers: dict[str, str], dataset: str = "hotel") -> str:
    """What the page of datasets says of those who labelled one of them."""
    page = house.get("/evaluation/label", headers)[1]
    found = re.search(rf'/evaluation/label/{dataset}">.*?data-name="labelled">(.*?)</td>', page)
    assert found is not None
    return re.sub(r"<[^>]+>", "", found[1])


def first_pair(house: House, headers: dict[str, str], dataset: str = "hotel") -> dict[str, str]:
    page = house.get(f"/evaluation/label/{dataset}", headers)[1]
    found = re.search(r'name="case" value="([^"]+)"><input type="hidden" name="document" value="([^"]+)"', page)
    assert found is not None
    return {"case": found[1], "document": found[2]}


def test_nobody_sees_or_takes_back_the_labels_of_another_tenant(house: House) -> None:
    path = "/evaluation/label/hotel"
    # All tokens here are called "test", as those without a name are all called "unnamed".
    assert house.press(path, "3", house.alpha, **first_pair(house, house.alpha)) == 303
    assert labelled(house, house.alpha) == "token:test 1"
    for stranger in (house.beta, house.host):
        assert labelled(house, stranger) == "none yet"
        assert house.press(path, "u", stranger) == 303
    assert labelled(house, house.alpha) == "token:test 1"


def test_two_tokens_of_one_name_are_two_annotators(house: House) -> None:
    path = "/evaluation/label/hotel"
    second = bearer(house.services, Access.WRITE, ALPHA)
    pair = first_pair(house, house.alpha)
    assert house.press(path, "3", house.alpha, **pair) == 303
    assert house.press(path, "u", second) == 303
    assert labelled(house, house.alpha) == "token:test 1"
    assert first_pair(house, second) == pair
    assert house.press(path, "0", second, **pair) == 303
    assert labelled(house, house.alpha) == "token:test 1, token:test 1"


def test_labels_of_the_own_tenant_stay_where_the_command_line_finds_them(house: House, tmp_path: Path) -> None:
    house.press("/evaluation/label/hotel", "2", house.host, **first_pair(house, house.host))
    [line] = (tmp_path / "kept" / "labels" / "hotel.labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["annotator"].startswith("token:test#t_")
    house.press("/evaluation/label/hotel", "1", house.alpha, **first_pair(house, house.alpha))
    assert (tmp_path / "kept" / "tenants" / "alpha" / "labels" / "hotel.labels.jsonl").is_file()


def test_files_of_a_tenant_are_readable_by_their_owner_alone(house: House, tmp_path: Path) -> None:
    house.press("/evaluation/label/hotel", "1", house.alpha, **first_pair(house, house.alpha))
    root = tmp_path / "kept" / "tenants"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (root, *root.rglob("*")) if path.is_dir()}
    assert modes == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*") if path.is_file()} == {0o600}


def test_a_run_in_the_shared_folder_is_of_the_tenant_whose_row_it_has(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line writes runs of whatever tenant into the folder of runs, as version 0.1 did for everybody."""
    told = runner(capsys)("run", "alphasecret", "--tenant", "beta", "--name", "BETARUN", "--json")
    assert told.code == 0, told.err
    run_id = told.json["runs"][0]["manifest"]["run_id"]
    assert (Path("kept/runs") / run_id).is_dir()
    for headers, seen in ((house.beta, 200), (house.host, 404), (house.alpha, 404)):
        assert house.get(f"/evaluation/runs/{run_id}", headers)[0] == seen
        assert ("BETARUN" in house.get("/evaluation/runs", headers)[1]) is (seen == 200)


def graded(house: House, headers: dict[str, str], relevance: int, **more: str) -> Any:
    """Grade a memory of alpha for a search, both made once."""
    with house.services.engine.store.writing(ALPHA) as work:
        known = work.memories.count()
    if not known:
        house.client.post(
            "/api/memory",
            json={"title": "Ovens", "body": "We poll the ovens every five seconds."},
            headers=bearer(house.services, Access.ADMIN, ALPHA),
        )
        house.client.post("/api/memory/search", json={"query": "ovens"}, headers=house.alpha)
    memory = house.client.get("/api/memory", headers=house.alpha).json()["memories"][0]["memory_id"]
    query = house.client.get("/api/searches", headers=house.alpha).json()["searches"][-1]["query_id"]
    body = {"judgments": [{"query_id": query, "memory_id": memory, "relevance": relevance}], **more}
    return house.client.post("/api/judgments", json=body, headers=headers)


def grades(house: House) -> dict[str, int]:
    found = house.client.get("/api/judgments", headers=house.alpha).json()["judgments"]
    return {one["annotator"]: one["relevance"] for one in found}


def test_a_write_token_grades_under_its_own_name_alone(house: House) -> None:
    first = graded(house, house.alpha, 3).json()["annotator"]
    second = bearer(house.services, Access.WRITE, ALPHA)
    for name in (first, "ada", "local", "token:somebody"):
        refused = graded(house, second, 0, annotator=name)
        assert refused.status_code == 403, name
        assert "Leave annotator out" in refused.json()["error"]["remedy"]
    assert grades(house) == {first: 3}
    own = graded(house, second, 0).json()["annotator"]
    assert own != first
    assert grades(house) == {first: 3, own: 0}
    assert graded(house, second, 1, annotator=own).status_code == 200
    assert graded(house, second, 1, annotator="token:test").json()["annotator"] == own


def test_a_grade_that_changes_leaves_the_old_one_in_the_audit_log(house: House) -> None:
    who = graded(house, house.alpha, 3).json()["annotator"]
    graded(house, house.alpha, 1)
    admin = bearer(house.services, Access.ADMIN, ALPHA)
    entries = house.client.get("/api/audit", headers=admin).json()["entries"]
    newest = next(one for one in entries if one["action"] == "judgments.put")
    assert newest["target"] == who
    assert [(one["before"], one["after"]) for one in newest["detail"]["changed"]] == [(3, 1)]


def test_an_admin_may_import_grades_of_others_and_both_names_are_on_record(house: House) -> None:
    admin = bearer(house.services, Access.ADMIN, ALPHA)
    graded(house, house.alpha, 2)
    assert graded(house, admin, 3, annotator="ada").json()["annotator"] == "ada"
    entries = house.client.get("/api/audit", headers=admin).json()["entries"]
    newest = next(one for one in entries if one["action"] == "judgments.put")
    assert newest["target"] == "ada"
    assert newest["detail"]["given_by"].startswith("token:test#t_")
