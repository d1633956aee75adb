"""The labelled short notes and word orders: enough of each, and how often the rules are wrong on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.saves import (
    PAIRS,
    SHORT_NOTES,
    Judged,
    compare_ordered_pairs,
    judge_cases,
    main,
    measure,
    save_outside_cases,
)

from assay.embedding.bundled import load_bundled
from assay.memory.saving.options import REJECT_BELOW, score_quality
from assay.records import Draft

ROWS = [json.loads(line) for line in SHORT_NOTES.read_text(encoding="utf-8").splitlines()]


def refused(label: str, which: str) -> list[bool]:
    return [
        score_quality(Draft(title=row["title"], body=row["body"])).score < REJECT_BELOW
        for row in ROWS
        if (row["label"], row["set"]) == (label, which)
    ]


def test_there_are_enough_short_notes_and_none_twice() -> None:
    assert len({(row["title"], row["body"]) for row in ROWS}) == len(ROWS)
    for which, junk, real in (("development", 30, 50), ("held out", 30, 50)):
        assert len(refused("junk", which)) >= junk
        assert len(refused("real", which)) >= real


@pytest.mark.parametrize("which", ["development", "held out", "fresh"])
def test_no_real_note_is_refused_and_hardly_any_junk_accepted(which: str) -> None:
    junk = refused("junk", which)
    assert not any(refused("real", which))
    assert sum(junk) >= 0.9 * len(junk)


@pytest.mark.parametrize("which", ["development", "held out"])
def test_paraphrases_in_another_order_agree_and_reversals_contradict(which: str) -> None:
    pairs = [pair for pair in compare_ordered_pairs() if pair.set == which]
    paraphrases = [pair for pair in pairs if pair.kind == "paraphrase"]
    reversals = [pair for pair in pairs if pair.kind == "reversal"]
    assert len(paraphrases) == len(reversals) == 15
    assert not [pair for pair in paraphrases if pair.wrong]
    assert sum(pair.wrong for pair in reversals) <= 2


def test_scenarios_of_another_author_are_counted_by_what_they_expect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = {"title": "Rate limit", "body": "The API allows 100 requests a minute.", "triggers": ["rate limit"]}
    row = {"id": "c1", "kind": "restatement", "old": note, "new": note, "expected": "duplicate"}
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")

    assert main(["--cases", str(file), "--json"]) == 0
    [case] = json.loads(capsys.readouterr().out)
    assert (case["expected"], case["decided"]) == ("duplicate", "reject")


def test_figures_count_the_scenarios_they_are_about() -> None:
    figures = measure(
        [
            Judged("supersede", "supersede"),
            Judged("supersede", "contradicts"),
            Judged("both", "supersede"),
            Judged("both", "contradicts"),
            Judged("duplicate", "merge"),
        ]
    )
    assert str(figures["updates superseded"]).startswith("1 of 2 (")
    assert figures["updates superseded or marked"] == (2, 2)
    assert figures["both true, one superseded"] == (1, 2)
    assert figures["duplicates recognised"] == (1, 1)
    assert str(figures["elaborations lost"]) == "none"


@pytest.mark.parametrize("part", ["first", "second"])
@pytest.mark.slow
def test_of_reworded_pairs_nothing_is_lost_and_most_updates_supersede(part: str) -> None:
    figures = measure(judge_cases(save_outside_cases(PAIRS, load_bundled(), part=part)))
    for name in ("updates lost", "both true, one superseded", "both true, one lost", "elaborations lost"):
        assert figures[name].hits == 0, name
    assert figures["updates superseded"].hits >= 0.75 * figures["updates superseded"].of
