"""`assay shadow` and `assay ladder` as somebody types them: one record of a change, and what is still missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.systems.sample import dataset

from assay.evaluation.datasets import export_dataset

FLAG = "docscore_aggregation"


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")


@pytest.mark.usefixtures("quiet")
def test_a_change_goes_up_and_one_page_tells_of_it(run: Run, tmp_path: Path) -> None:
    place = export_dataset(dataset(), tmp_path / "house.json")
    assert "Nothing has graduated" in run("ladder", "watch").out
    assert run("ladder", "offline", FLAG, str(place), "--json").json["outcome"] == "inconclusive"
    assert run("ladder", "begin", FLAG).out.startswith(f"Attempt 1 at {FLAG} began.")
    assert run("ladder", "collect", FLAG, "--json").json == {"votes": 0, "step": None}

    page = run("ladder", "show", FLAG, "--json").json

    assert [step["step"] for step in page["steps"]] == ["offline", "ab_test"]
    assert page["may_graduate"] is False
    assert {one["name"]: one["holds"] for one in page["conditions"]}["test"] is None
    assert "Graduation" in run("ladder", "show", FLAG).out
    assert run("ladder", "list", "--json").json[0]["feature_id"] == FLAG
    assert run("ladder", "pause", FLAG).out == f"Attempt 1 at {FLAG} is paused.\n"


@pytest.mark.usefixtures("quiet")
def test_what_has_not_earned_it_is_told_what_is_missing(run: Run) -> None:
    told = run("ladder", "graduate", FLAG)
    assert told.code == 3
    assert "Not measured on an evaluation corpus" in told.err


@pytest.mark.usefixtures("quiet")
def test_searches_are_replayed_on_both_sides(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text("The tea is kept in the left cupboard of the small kitchen.\n")
    assert run("shadow", "replay", FLAG).code == 2
    run("ingest", "tea.md")
    run("search", "tea cupboard")
    told = run("shadow", "replay", FLAG, "--json").json
    assert (told["runs"], told["classes"]) == (1, {"identical": 1})
    assert run("shadow", "status", "--json").json[FLAG]["runs"] == 1


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("ladder", "show", "nope"), "there is no flag 'nope'"),
        (("ladder", "begin", FLAG, "--kind", "sideways"), "--kind 'sideways' is not known"),
        (("ladder", "collect", FLAG), "no test of 'docscore_aggregation' was ever begun"),
        (("ladder", "rollback", FLAG), "has not graduated"),
    ],
)
def test_a_wrong_use_says_what_was_wrong(run: Run, arguments: tuple[str, ...], why: str) -> None:
    told = run(*arguments)
    assert told.code == 3
    assert why in told.err
