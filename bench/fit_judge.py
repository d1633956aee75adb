"""Fits the coefficients of the built-in judges: `python -m bench.fit_judge --data DIR [--cache DIR] [--write]`.

Logistic regression with a penalty on the weights, by Newton's method. Fitted on the halves of wice, scifact, halueval,
squad2 and clapnq that `bench.labelled` names for it, and on nothing else; each collection counts the same. The penalty
is the one with the smallest loss over five folds of that half. Without `--write` it says whether the coefficients in
the repository are those it finds, and exits 1 when they are not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.hashing import bucket
from assay.judging.builtin import judges
from assay.judging.builtin.judges import Profile, answer_features_of, features_without_passages
from assay.judging.builtin.support import Evidence, support
from bench.labelled import Judged, load
from bench.remembered import RememberedEmbedder

PENALTIES = (3.0, 10.0, 30.0, 100.0)
FOLDS = 5
WEIGHT = 300.0
"""Of all items of one collection together."""
SAME = 1e-3
"""Coefficients nearer than this are the same: another build of a linear algebra library rounds otherwise."""
VECTORS = frozenset({"meaning"})
PLACE = Path(judges.__file__).parent / judges.FILE

Floats = NDArray[np.float64]


class Example(NamedTuple):
    """One item to fit on."""

    features: dict[str, float]
    label: bool
    weight: float
    group: str


def claim_examples(folder: Path, name: str, embedder: Embedder) -> list[Example]:
    """Claims and whether they are supported."""
    items = _training(folder, name)
    return [
        Example(support(one.text, Evidence(one.passages, embedder)).features, one.label, WEIGHT / len(items), one.group)
        for one in items
    ]


def question_examples(folder: Path, name: str, embedder: Embedder) -> list[Example]:
    """Questions and whether their paragraph answers them."""
    items = _training(folder, name)
    return [
        Example(
            answer_features_of(one.question, one.passages, Evidence(one.passages, embedder)),
            one.label,
            WEIGHT / len(items),
            one.group,
        )
        for one in items
    ]


def answer_examples(folder: Path, name: str) -> list[Example]:
    """Answers without a passage and whether they invent nothing."""
    items = _training(folder, name)
    return [
        Example(features_without_passages(one.question, one.text), one.label, WEIGHT / len(items), one.group)
        for one in items
    ]


def _training(folder: Path, name: str) -> list[Judged]:
    return [one for one in load(folder, name) if not one.is_held_out(name)]


def fitted(examples: Sequence[Example], names: Iterable[str], sources: Sequence[str]) -> dict[str, Any]:
    """One profile, as it is written."""
    chosen = list(names)
    values = np.array([[one.features[name] for name in chosen] for one in examples])
    means, spreads = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-6)
    labels = np.array([float(one.label) for one in examples])
    scaled, weights = (values - means) / spreads, np.array([one.weight for one in examples])
    folds = np.array([bucket(one.group, "fold") % FOLDS for one in examples])
    penalty = min(PENALTIES, key=lambda one: _held_out_loss(scaled, labels, weights, folds, one))
    found = _newton(scaled, labels, weights, penalty)
    return {
        "names": chosen,
        "means": _rounded(means),
        "spreads": _rounded(spreads),
        "weights": _rounded(found[1:]),
        "bias": round(float(found[0]), 6),
        "penalty": penalty,
        "fitted_on": list(sources),
    }


def _held_out_loss(values: Floats, labels: Floats, weights: Floats, folds: Floats, penalty: float) -> float:
    """The mean loss on each fold of what was fitted on the others."""
    total = 0.0
    for fold in range(FOLDS):
        rest, own = folds != fold, folds == fold
        found = _newton(values[rest], labels[rest], weights[rest], penalty)
        chances = 1 / (1 + np.exp(-(values[own] @ found[1:] + found[0])))
        losses = -np.log(np.where(labels[own] == 1, chances, 1 - chances))
        total += float((weights[own] * losses).sum())
    return total / float(weights.sum())


def _newton(values: Floats, labels: Floats, weights: Floats, strength: float) -> Floats:
    rows = np.column_stack([np.ones(len(values)), values])
    penalty = np.diag([0.0, *[strength] * values.shape[1]])
    found = np.zeros(rows.shape[1])
    for _ in range(30):
        chances = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weights * (chances - labels)) + penalty @ found
        curve = (rows * (weights * chances * (1 - chances))[:, None]).T @ rows + penalty
        found = found - np.linalg.solve(curve, slope)
    return found


def _rounded(values: Floats) -> list[float]:
    return [round(float(value), 6) for value in values]


def fit_all(folder: Path, embedder: Embedder) -> dict[str, Any]:
    """Every profile."""
    claimed = [one for name in ("wice", "scifact") for one in claim_examples(folder, name, embedder)]
    asked = [one for name in ("squad2", "clapnq") for one in question_examples(folder, name, embedder)]
    free = answer_examples(folder, "halueval")
    claim_names, asked_names = list(claimed[0].features), list(asked[0].features)
    claim_sources, asked_sources = ["wice", "scifact"], ["squad2", "clapnq"]
    return {
        Profile.CLAIM.value: fitted(claimed, claim_names, claim_sources),
        Profile.CLAIM_WORDS.value: fitted(claimed, _without_vectors(claim_names), claim_sources),
        Profile.UNSOURCED.value: fitted(free, free[0].features, ["halueval"]),
        Profile.ANSWERABLE.value: fitted(asked, asked_names, asked_sources),
        Profile.ANSWERABLE_WORDS.value: fitted(asked, _without_vectors(asked_names), asked_sources),
    }


def _without_vectors(names: Sequence[str]) -> list[str]:
    return [name for name in names if name not in VECTORS]


def furthest(found: dict[str, Any], stored: dict[str, Any]) -> float:
    """The largest difference between two sets of coefficients; infinite when they weigh other things."""
    if {name: one["names"] for name, one in found.items()} != {name: one["names"] for name, one in stored.items()}:
        return float("inf")
    gaps = [float(np.max(np.abs(np.subtract(found[name]["weights"], stored[name]["weights"])))) for name in found]
    return max(gaps)


def keep_coefficients(profiles: dict[str, Any], model: str, place: Path, *, write: bool) -> int:
    """Write coefficients to a file, or say how far they are from those in it; 1 when they differ."""
    if write:
        stored = {"embedder": model, "profiles": profiles}
        place.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {len(profiles)} profiles")
        return 0
    gap = furthest(profiles, json.loads(place.read_text(encoding="utf-8"))["profiles"])
    print(f"largest difference to the coefficients in the repository: {gap:.2g}")
    return int(gap > SAME)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, and write or compare."""
    parser = argparse.ArgumentParser(prog="python -m bench.fit_judge", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the collections")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    parser.add_argument("--write", action="store_true", help="replace the coefficients in the repository")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        embedder = RememberedEmbedder(load_bundled(), asked.cache or Path(folder))
        profiles = fit_all(asked.data, embedder)
    return keep_coefficients(profiles, embedder.model, PLACE, write=asked.write)


if __name__ == "__main__":
    sys.exit(main())
