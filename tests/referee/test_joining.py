"""One table of several capsules, and both columns of a key that was corrected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.referee.small import Told, perfect, reversed_items, run, small_set

from assay.errors import NotComparable
from assay.referee.contenders.contract import Declaration
from assay.referee.joining import join_records
from assay.referee.judges import RULE_JUDGES
from assay.referee.readers import ExtractReader
from assay.referee.scoring import compute_results
from assay.referee.sets.overlays import Correction, KeyOverlay
from assay.referee.tables import render_text


def test_systems_and_sets_of_two_capsules_stand_in_one_table(tmp_path: Path) -> None:
    one = run(tmp_path / "one", {"a": lambda: Told(perfect)})
    two = run(tmp_path / "two", {"b": lambda: Told(reversed_items)})
    other = run(tmp_path / "three", {"a": lambda: Told(perfect)}, small_set(name="other"))
    joined = compute_results(join_records([one, two]))
    together = compute_results(run(tmp_path / "both", {"a": lambda: Told(perfect), "b": lambda: Told(reversed_items)}))
    assert joined == together
    assert list(compute_results(join_records([one, other]))["sets"]) == ["small", "other"]


def test_capsules_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    one = run(tmp_path / "one", {"a": lambda: Told(perfect)})
    others = {
        "the option seed": replace(one, options=replace(one.options, seed=9)),
        "the set small": run(tmp_path / "texts", {"b": lambda: Told(perfect)}, small_set(users=7)),
        "the system a": run(tmp_path / "setup", {"a": lambda: Told(perfect, declaration=Declaration(rewrites=True))}),
        "the version of x": replace(one, versions={"x": "2"}),
        "retrieval and answers": run(
            tmp_path / "answers",
            {"b": lambda: Told(perfect)},
            changes={"layer": "answers", "reader": "extract", "judge": "overlap"},
            reader=ExtractReader(),
            judge=RULE_JUDGES["overlap"],
        ),
    }
    for what, other in others.items():
        with pytest.raises(NotComparable, match=what):
            join_records([replace(one, versions={"x": "1"}), other])


OVERLAY = KeyOverlay(
    set="small",
    version="1",
    source="a test",
    corrections=(
        Correction(question="u0-q0", wrong="wrong evidence", evidence=("i5",)),
        Correction(question="u1-q1", wrong="wrong answer", answer="apple"),
    ),
)


def test_rankings_are_scored_with_both_keys_and_the_ceiling_shows_what_the_key_costs(tmp_path: Path) -> None:
    records = run(tmp_path, {"a": lambda: Told(perfect)}, overlays={"small": OVERLAY})
    found = compute_results(records)["sets"]["small"]
    rows = {row["system"]: row for row in found["rows"]}
    assert rows["a"]["values"]["recall_all@1"]["mean"] == 1.0
    assert rows["a"]["corrected"]["recall_all@1"]["mean"] == pytest.approx(31 / 32)
    assert rows["ceiling of the key"]["values"]["recall_all@1"]["mean"] == pytest.approx(31 / 32)
    assert rows["ceiling of the key"]["corrected"]["recall_all@1"]["mean"] == 1.0
    text = render_text(records, compute_results(records), [])
    assert "recall_all@5, corrected key" in text
    assert "Key overlay 1 (a test): 2 of 40 questions, 1 with a wrong answer, 1 with other evidence." in text


def test_answers_are_judged_with_both_keys(tmp_path: Path) -> None:
    records = run(
        tmp_path,
        {"a": lambda: Told(perfect)},
        changes={"layer": "answers", "reader": "extract", "judge": "overlap"},
        overlays={"small": OVERLAY},
        reader=ExtractReader(),
        judge=RULE_JUDGES["overlap"],
    )
    rows = {row["system"]: row for row in compute_results(records)["sets"]["small"]["rows"]}
    assert rows["a"]["values"]["accuracy"]["mean"] == 1.0
    assert rows["a"]["corrected"]["accuracy"]["mean"] == pytest.approx(31 / 32)
    assert rows["ceiling of the key"]["values"]["accuracy"]["mean"] == pytest.approx(31 / 32)
