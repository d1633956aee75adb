"""The figures of the judge benchmark by hand, and that nothing is fitted on what is measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.edited import edit
from bench.fit_judge import VECTORS, Example, fitted, furthest
from bench.judge import auroc, overlap, spearman
from bench.labelled import Judged, load

from assay.judging.builtin.judges import Profile, Weights, weights_of
from assay.judging.builtin.support import Evidence, support


def test_auroc_counts_a_tie_as_half() -> None:
    # Of the four pairs, 0.9 beats both, 0.5 beats 0.1 and ties with 0.5.
    assert auroc(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1.0, 1.0, 0.0, 0.0])) == pytest.approx(3.5 / 4)


def test_spearman_is_1_for_the_same_order_and_minus_1_for_the_reverse() -> None:
    values = np.array([1.0, 2.0, 5.0])
    assert spearman(values, values**3) == pytest.approx(1)
    assert spearman(values, -values) == pytest.approx(-1)


def test_overlap_is_the_share_of_content_words() -> None:
    item = Judged(group="g", text="The cat eats fish", passages=("A cat sleeps.",), label=True, grade=1.0)
    assert overlap(item) == pytest.approx(1 / 3)


def test_items_of_one_group_are_all_held_out_or_all_not() -> None:
    made = [Judged(group=f"page {n % 40}", text=str(n), passages=(), label=True, grade=1.0) for n in range(200)]
    sides = {one.group: one.is_held_out("wice") for one in made}
    assert all(one.is_held_out("wice") == sides[one.group] for one in made)
    assert 5 < sum(sides.values()) < 35
    assert all(one.is_held_out("mtrag_human") for one in made)


def test_a_collection_is_read_with_its_labels(tmp_path: Path) -> None:
    folder = tmp_path / "wice"
    folder.mkdir()
    line = {"claim": "It rains.", "label": "partially_supported", "evidence_sentences": ["It rains a little."]}
    (folder / "items.jsonl").write_text(json.dumps(line), encoding="utf-8")
    [found] = load(tmp_path, "wice")
    assert (found.text, found.label, found.grade) == ("It rains.", False, 0.5)


def test_fitting_finds_the_feature_that_tells() -> None:
    examples = [
        Example({"tells": float(n % 2), "noise": float(n % 3)}, n % 2 == 1, 1.0, f"group {n}") for n in range(200)
    ]
    profile = fitted(examples, ["tells", "noise"], ["made"])
    weights = dict(zip(profile["names"], profile["weights"], strict=True))
    assert weights["tells"] > 1 > abs(weights["noise"])
    fields: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in profile.items()}
    made = Weights(**fields)
    assert made.probability({"tells": 1.0, "noise": 0.0}) > 0.5 > made.probability({"tells": 0.0, "noise": 0.0})


def test_an_edit_changes_one_thing_of_a_sentence_that_a_passage_has() -> None:
    sentence = "The bridge was opened by Harriet in 1931 after long delays."
    item = Judged(group="g", text="any", passages=(f"Short one. {sentence}",), label=True, grade=1.0)
    made = {one.kind: one.text for one in edit(item)}
    assert all(one.copy == sentence for one in edit(item))
    assert made["a changed number"] == sentence.replace("1931", "1938")
    assert made["a negation"] == sentence.replace("was", "was not")
    assert made["another name"] == sentence.replace("Harriet", "Fenwick")
    assert len(made) == 5
    assert edit(Judged(group="g", text="any", passages=("Short one.",), label=True, grade=1.0)) == []


def test_coefficients_over_other_features_are_never_the_same() -> None:
    one = {"claim": {"names": ["a"], "weights": [1.0]}}
    assert furthest(one, {"claim": {"names": ["a"], "weights": [1.5]}}) == 0.5
    assert furthest(one, {"claim": {"names": ["b"], "weights": [1.0]}}) == float("inf")


def test_the_coefficients_weigh_the_features_that_are_made() -> None:
    features = support("It rains.", Evidence(["It rains a little."])).features
    assert set(weights_of(Profile.CLAIM_WORDS).names) == set(features)
    assert set(weights_of(Profile.CLAIM).names) == set(features) | VECTORS
