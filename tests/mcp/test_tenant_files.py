"""Runs and datasets over MCP: each tenant measures and compares its own, and finds nothing of another's."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.cli.telling import Run, runner
from tests.mcp.serving import SCOPE, asking, engine_at, refused, told

from assay.access import Access, Grant
from assay.evaluation.datasets import export_dataset
from assay.records import Scope
from assay.records.datasets import Case, Dataset, Document
from assay.records.datasets import Grade as Judged
from mcp import Client

ALPHA, BETA = (Grant(Scope(tenant=name, principal=name), Access.WRITE) for name in ("alpha", "beta"))
SETTINGS_OWN = Grant(SCOPE, Access.ADMIN)
NEVER = "run_01JABCDEFGHJKMNPQRSTVWXYZ0"
Talk = Callable[[Client], Awaitable[None]]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line over the same store, with a dataset of alpha's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    monkeypatch.setenv("ASSAY_DB", str(tmp_path / "notes.db"))
    monkeypatch.setenv("ASSAY_RUNS_FOLDER", str(tmp_path / "runs"))
    with engine_at(tmp_path):
        pass  # the store is there from now on
    dataset = Dataset(
        name="alphasecret",
        documents=(Document(id="d1", title="Bands", text="Band 1 pays 10000."),),
        cases=(Case(id="q1", query="what band 1 pays", grades=(Judged(document_id="d1", grade=3),)),),
    )
    export_dataset(dataset, tmp_path / "secret.json")
    call = runner(capsys)
    assert call("dataset", "import", "secret.json", "--tenant", "alpha").code == 0
    return call


@pytest.mark.usefixtures("shell")
def test_a_dataset_of_another_tenant_cannot_be_run(tmp_path: Path) -> None:
    async def as_stranger(client: Client) -> None:
        said = []
        for name in ("alphasecret", "neverwas"):
            problem = await refused(client, "eval_run", dataset=name, max_cases=1)
            said.append(json.dumps(problem).replace(name, "NAME"))
        assert said[0] == said[1]
        assert "record_not_found" in said[0]

    async def as_alpha(client: Client) -> None:
        assert (await told(client, "eval_run", dataset="alphasecret"))["dataset"] == "alphasecret"

    asking(tmp_path, as_alpha, grant=ALPHA)
    for stranger in (BETA, SETTINGS_OWN):
        asking(tmp_path, as_stranger, grant=stranger)


@pytest.mark.usefixtures("shell")
def test_runs_of_another_tenant_cannot_be_compared(tmp_path: Path) -> None:
    made: list[str] = []

    async def as_alpha(client: Client) -> None:
        done = [await told(client, "eval_run", dataset="alphasecret", name="ALPHARUN") for _ in range(2)]
        made.extend(run["run_id"] for run in done)
        found = await told(client, "eval_compare", control=made[0], treatment="latest")
        assert (found["control"]["name"], found["treatment"]["name"]) == ("ALPHARUN", "ALPHARUN")

    async def as_stranger(client: Client) -> None:
        said = []
        for run_id in (*made, "ALPHARUN", NEVER):
            problem = await refused(client, "eval_compare", control=run_id, treatment=run_id)
            said.append(json.dumps(problem).replace(run_id, "RUN"))
        assert set(said) == {said[-1]}
        assert (await refused(client, "eval_compare", control="latest", treatment="latest"))["code"] == "run_not_found"

    asking(tmp_path, as_alpha, grant=ALPHA)
    for stranger in (BETA, SETTINGS_OWN):
        asking(tmp_path, as_stranger, grant=stranger)
    assert {path.name for path in (tmp_path / "tenants" / "alpha" / "runs").iterdir()} == set(made)


def test_a_folder_beside_the_server_is_no_run(tmp_path: Path, shell: Run) -> None:
    """A run was once found by any folder's name in the working folder of the server."""
    assert shell("run", "alphasecret", "--runs", str(tmp_path)).code == 0
    [folder] = [path.parent.name for path in tmp_path.glob("run_*/manifest.json")]

    async def talk(client: Client) -> None:
        problem = await refused(client, "eval_compare", control=folder, treatment=folder)
        assert problem["code"] == "run_not_found"

    asking(tmp_path, talk, grant=SETTINGS_OWN)
