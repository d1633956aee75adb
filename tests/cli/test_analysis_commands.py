"""`assay analyze` and `assay prompts` as somebody types them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.analysis.made import scored, session
from tests.cli.telling import Run

from assay import wiring
from assay.records.research_log import ResearchSession
from assay.settings import load_settings


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store in which questions for the newest went wrong."""
    place = tmp_path / "notes.db"
    monkeypatch.setenv("ASSAY_DB", str(place))
    settings = load_settings(options={"db": str(place)}).settings
    with wiring.open_store(settings) as store, store.writing(wiring.scope_of(settings)) as work:
        for one in scored(240, seed=1, lowered=lambda number: number % 8 == 0):
            score = one.scores["intent_alignment"]
            work.research.put(
                replace(one, overall_score=score, passed=score >= 0.7, prompt_versions=("planner@0",)), {}
            )


@pytest.mark.usefixtures("asked")
def test_analyze_tells_numbers_and_the_pattern_with_what_to_try(run: Run) -> None:
    told = run("analyze")
    assert told.code == 0
    assert "240 sessions" in told.out
    assert "HIGH  30 questions with intent: asks for the newest" in told.out
    assert "try: assay prompts set planner --add 'When the question asks for the newest" in told.out

    found = run("analyze", "--json").json
    assert found["aggregates"]["sessions"] == 240
    assert found["aggregates"]["trend"]["weeks"][0]["begins"] == "2026-03-02"
    pattern = found["patterns"]["found"][0]
    assert (pattern["dimension"], pattern["impact"], len(pattern["affected"])) == ("intent_alignment", "high", 30)


@pytest.mark.usefixtures("asked")
def test_analyze_takes_filters_and_says_when_nothing_fits(run: Run) -> None:
    assert run("analyze", "--until", "2026-03-04", "--json").json["aggregates"]["sessions"] == 39
    assert run("analyze", "--most-score", "0.5", "--json").json["aggregates"]["passed"] == 0
    told = run("analyze", "--failure", "scope_mismatch")
    assert (told.code, "no session fits" in told.err) == (2, True)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("analyze", "--since", "nonsense"), "give a time in ISO 8601, not 'nonsense'"),
        (("analyze", "--since", "2026-03-04", "--until", "2026-03-03"), "since is not before until"),
        (("analyze", "--fdr", "1"), "fdr: input should be less than or equal to 0.5, not 1.0"),
        (("analyze", "--support", "0"), "least_support"),
        (("analyze", "--model"), "no model is configured"),
        (("prompts", "show", "nope"), "there is no prompt 'nope'"),
        (("prompts", "use", "planner", "3"), "has no version 3"),
        (("prompts", "rollback", "planner"), "nothing before version 0"),
        (("prompts", "set", "planner"), "either --file or --add"),
        (("prompts", "set", "planner", "--file", "missing.toml"), "cannot read missing.toml"),
        (("prompts", "compare", "planner", "0"), "both versions are 0"),
        (("prompts", "split", "planner", "3"), "has no version 3"),
        (("prompts", "split", "planner", "1", "--end"), "either a version or --end"),
        (("prompts", "split", "planner", "--end"), "are not split"),
    ],
)
def test_a_wrong_use_says_what_was_wrong(run: Run, arguments: tuple[str, ...], why: str) -> None:
    told = run(*arguments)
    assert told.code == 3
    assert why in told.err


@pytest.mark.usefixtures("asked")
def test_a_prompt_is_changed_looked_at_and_taken_back(run: Run, tmp_path: Path) -> None:
    assert run("prompts", "set", "planner", "--add", "Mind the year.", "--note", "years").out == (
        "Version 1 of planner is in use.\n"
    )
    assert "+Mind the year.\n" in run("prompts", "diff", "planner", "0").out
    assert run("prompts", "diff", "planner", "1").out == "Both say the same.\n"
    assert "Mind the year." in run("prompts", "show", "planner").out
    assert "Mind the year." not in run("prompts", "show", "planner", "--version", "0").out
    assert [one["version"] for one in run("prompts", "list", "--json").json["prompts"]][:2] == [1, 0]
    assert run("prompts", "compare", "planner", "0").code == 2

    (tmp_path / "new.toml").write_text('system = "You plan."\ntask = "Plan."\n')
    assert run("prompts", "set", "planner", "--file", "new.toml", "--draft").out.endswith("is kept, not in use.\n")
    assert run("prompts", "use", "planner", "2", "--json").json["text"] == 'system = "You plan."\ntask = "Plan."\n'
    assert run("prompts", "rollback", "planner").out == "Version 1 of planner is in use.\n"
    assert [one["active"] for one in run("prompts", "show", "planner", "--versions", "--json").json["versions"]] == [
        False,
        True,
        False,
    ]


@pytest.mark.usefixtures("asked")
def test_questions_are_split_looked_at_and_given_back(run: Run) -> None:
    told = run("prompts", "split", "planner")
    assert told.code == 2
    assert "were never split" in told.err
    run("prompts", "set", "planner", "--add", "Mind the year.", "--draft")
    begun = run("prompts", "split", "planner", "1").out
    assert "and goes on" in begun
    assert "planner@1" in begun
    assert "both sides need scored questions" in begun
    assert run("prompts", "split", "planner", "--json").json["split"]["ended_at"] is None
    assert "and ended" in run("prompts", "split", "planner", "--end").out


def fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sessions: Sequence[ResearchSession]) -> None:
    place = tmp_path / "repeated.db"
    monkeypatch.setenv("ASSAY_DB", str(place))
    settings = load_settings(options={"db": str(place)}).settings
    with wiring.open_store(settings) as store, store.writing(wiring.scope_of(settings)) as work:
        for one in sessions:
            work.research.put(one, {})


def test_analyze_tells_how_many_questions_were_asked(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    often = [session(number, "Who seals the vault?", passed=True, overall_score=0.9) for number in range(60)]
    fill(tmp_path, monkeypatch, [*often, session(60, passed=False), session(61, passed=True)])
    told = run("analyze")
    assert "62 sessions, 3 distinct questions; intervals are those of 1.1 independent sessions" in told.out
    assert "98% [21%, 100%]" in told.out
    aggregates = run("analyze", "--json").json["aggregates"]
    assert aggregates["asked_again"]["questions"] == 3
    assert aggregates["pass_rate"]["low"] < 0.5


def test_versions_that_were_asked_different_questions_get_no_verdict(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = [
        session(number, overall_score=0.5 + 0.4 * (number >= 40), prompt_versions=(f"planner@{int(number >= 40)}",))
        for number in range(80)
    ]
    fill(tmp_path, monkeypatch, sessions)
    assert run("prompts", "set", "planner", "--add", "Be exact.").code == 0
    told = run("prompts", "compare", "planner", "0")
    assert told.code == 0
    assert "There is no verdict: 0 questions were asked under both versions, 10 are needed." in told.out
    assert "better" not in told.out
    assert "withheld" in told.out
    found = run("prompts", "compare", "planner", "0", "--json").json
    assert {row["verdict"] for row in found["metrics"]} <= {"withheld", "too_few"}
    assert found["caution"].startswith("There is no verdict")
