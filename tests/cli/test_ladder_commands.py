"""`assay shadow` and `assay ladder` as somebody types them: one record of a change, and what is still missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.telling import Run
from tests.systems.sample import dataset

from assay import wiring
from assay.evaluation.datasets import export_dataset
from assay.online.shadow import DROPPED
from assay.records import ShadowRun
from assay.records.flags import Arm
from assay.settings import load_settings

FLAG = "docscore_aggregation"


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")


@pytest.mark.usefixtures("quiet")
def test_a_change_goes_up_and_one_page_tells_of_it(run: Run, tmp_path: Path) -> None:
    place = export_dataset(dataset(), tmp_path / "house.json")
    assert "Nothing has graduated" in run("ladder", "watch").out
    assert run("ladder", "offline", FLAG, str(place), "--json").json["outcome"] == "inconclusive"
    begun = run("ladder", "begin", FLAG).out
    assert begun.startswith(f"Attempt 1 at {FLAG} began.")
    assert f"No vote can come yet. The shadow of {FLAG} is off" in begun
    collected = run("ladder", "collect", FLAG, "--json").json
    assert f"The shadow of {FLAG} is off" in collected.pop("no_votes_because")
    assert collected == {"votes": 0, "step": None}

    page = run("ladder", "show", FLAG, "--json").json

    assert [step["step"] for step in page["steps"]] == ["offline", "ab_test"]
    assert page["may_graduate"] is False
    assert {one["name"]: one["holds"] for one in page["conditions"]}["test"] is None
    assert page["test"]["treatment_better"] is None
    assert "P(treatment wins more often) no votes yet" in run("ladder", "show", FLAG).out
    assert "Graduation" in run("ladder", "show", FLAG).out
    assert run("ladder", "list", "--json").json["changes"][0]["feature_id"] == FLAG
    assert run("ladder", "pause", FLAG).out == f"Attempt 1 at {FLAG} is paused.\n"
    assert run("ladder", "resume", FLAG).out == f"Attempt 1 at {FLAG} goes on, with its 0 votes.\n"


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
    status = run("shadow", "status", "--json").json["changes"][FLAG]
    assert status["runs"] == 1
    assert status["agreement"]["set_overlap"] == 1.0
    assert status["agreement"]["top_changed"] == 0
    shown = run("ladder", "show", FLAG).out
    assert "lists: overlap 1.00, RBO 1.00, tau -, 0.00 pairs in another order; another first result in 0" in shown


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("ladder", "show", "nope"), "there is no flag 'nope'"),
        (
            ("ladder", "begin", FLAG, "--kind", "sideways"),
            "kind: input should be 'paired', 'interleaved' or 'split', not 'sideways'",
        ),
        (("ladder", "collect", FLAG), "no test of 'docscore_aggregation' was ever begun"),
        (("ladder", "rollback", FLAG), "has not graduated"),
    ],
)
def test_a_wrong_use_says_what_was_wrong(run: Run, arguments: tuple[str, ...], why: str) -> None:
    told = run(*arguments)
    assert told.code == 3
    assert why in told.err


@pytest.mark.usefixtures("quiet")
def test_a_split_shows_its_ratio_and_why_it_may_not_decide(run: Run) -> None:
    run("flag", "set", FLAG, "50%")
    run("ladder", "begin", FLAG, "--kind", "split")
    cast([(Arm.CONTROL, -1.0)] * 6 + [(Arm.TREATMENT, 0.0)] + [(Arm.CONTROL, -1.0)] * 2, repeated=2)
    shown = run("ladder", "show", FLAG).out
    assert "split: 6 votes of the control to 1 of the treatment (p = 0.12)" in shown
    assert "No decision before each side has 10 votes" in shown
    assert "P(treatment's mean outcome is higher)" in shown
    assert "2 repeated searches have no vote" in shown
    assert "attempt 1, alpha 0.05" in shown
    told = run("ladder", "show", FLAG, "--json").json["test"]
    assert (told["decision"], told["repeats"], told["alpha"]) == (None, 2, 0.05)
    assert told["withheld"].startswith("No decision before each side")
    assert told["treatment_better"] < 0.5
    assert told["treatment_better_means"] == "P(treatment's mean outcome is higher)"


@pytest.mark.usefixtures("quiet")
def test_a_change_that_fails_offline_exits_with_one(run: Run, tmp_path: Path) -> None:
    place = export_dataset(dataset(), tmp_path / "house.json")
    (tmp_path / "assay.toml").write_text('[floors]\n"precision@5" = 1.0\n')
    told = run("ladder", "offline", FLAG, str(place))
    assert told.out.startswith("failed ")
    assert told.err.count(f"Running assay:flags.{FLAG}=") == 2
    assert "does not pass the gate" in told.out
    assert told.code == 1


def cast(votes: list[tuple[Arm, float]], *, repeated: int) -> None:
    """Cast votes in the store of the working folder; the last ones repeat queries that have voted."""
    settings = load_settings().settings
    with wiring.open_engine(settings) as engine:
        trials = wiring.ladder_of(engine).trials
        for place, (arm, difference) in enumerate(votes):
            query = f"query {place % (len(votes) - repeated)}"
            trials.vote(wiring.scope_of(settings), FLAG, query, difference, arm=arm, query_id=f"eq_{place}")


@pytest.mark.usefixtures("quiet")
def test_dropped_searches_stand_beside_the_shadow_runs(run: Run) -> None:
    settings = load_settings().settings
    with wiring.open_engine(settings) as engine, engine.store.writing(wiring.scope_of(settings)) as work:
        drop = ShadowRun(
            query_id="eq_1",
            feature_id=FLAG,
            control_result_ids=(),
            treatment_result_ids=(),
            created_at=engine.clock.now(),
            problem=DROPPED,
        )
        work.shadow_runs.add_many([drop] * 3)
    assert run("shadow", "status", "--json").json["changes"][FLAG]["dropped"] == 3
    head, row = run("shadow", "status").out.splitlines()[:2]
    assert head.split()[7] == "dropped"
    assert row.split()[1:8] == ["0", "0", "0", "0", "0", "0", "3"]
    assert "Shadow: 0 runs; 0 failed, 3 searches dropped." in run("ladder", "show", FLAG).out
