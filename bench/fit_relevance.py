"""Fits how likely a hit is relevant: `python -m bench.fit_relevance [--data DIR] [--cache DIR] [--write] [--json]`.

Every question of the bundled sets `hotel`, `vault` and `agent-memory` is searched by the real pipeline with the default
settings, once with vectors (profile `meaning`) and once without (profile `words`). Each of the first ten hits is an
example: relevant when its grade reaches the set's own level, and otherwise not. Questions without an answer count too:
all their hits are irrelevant. Logistic regression with a penalty, as in `bench.fit_judge`; each set weighs the same.

Printed for each set, with coefficients fitted on the other sets: the share of relevant hits, the mean probability, the
expected calibration error over ten groups of equal size, and the AUROC. With `--data`, public collections that are
never fitted on are printed with the shipped coefficients. `--write` replaces `relevance.json`; without it the program
says whether its coefficients are those in the repository, and exits 1 when they are not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.evaluation.datasets import load_dataset
from assay.evaluation.datasets.bundled import find_bundled
from assay.memory.engine import Engine
from assay.memory.saving import Refused
from assay.memory.searching import relevance
from assay.memory.searching.relevance import CLUES, MEANING, TRIGGER, WORDS, RelevanceProfile
from assay.records import Channel, Draft, Filters, Format, Scope, SearchRequest
from assay.settings import Settings
from assay.systems.assay_engine import take_in
from assay.testing import FixedClock
from assay.wiring import open_engine
from bench.collections import load
from bench.fit_judge import SAME, Example, fitted
from bench.judge import auroc
from bench.remembered import RememberedEmbedder

FITTED_ON = ("hotel", "vault", "agent-memory")
PUBLIC = ("clapnq", "noveleval", "hotpotqa100")
HITS = 10
"""Hits of each search: as many as a search returns that names no number."""
WEIGHT = 300.0
"""Of all examples of one set together, so that a set with more questions does not count more."""
GROUPS = 10
THRESHOLDS = (0.05, 0.07, 0.1, 0.15, 0.2, 0.3)
SCOPE = Scope()
PLACE = Path(relevance.__file__).parent / relevance.FILE
CHANNELS: Mapping[str, tuple[Channel, ...] | None] = {
    MEANING: None,
    WORDS: tuple(channel for channel in Channel if channel is not Channel.VECTOR),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledHit:
    """A hit of a search with its clues."""

    question: str
    clues: Mapping[str, float]
    relevant: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Reliability:
    """How well probabilities agree with what is relevant."""

    profile: str
    name: str
    hits: int
    relevant: float
    mean: float
    error: float
    """Expected calibration error."""
    auroc: float
    kept: dict[float, tuple[float, float]]
    """By threshold: the share of relevant hits that is kept, and of the others that is left out."""

    def __str__(self) -> str:
        """As a row of the table."""
        return (
            f"| {self.profile} | {self.name} | {self.hits:,} | {self.relevant:.3f} | {self.mean:.3f} |"
            f" {self.error:.3f} | {self.auroc:.3f} |"
        )


# --- Labelled hits ---


def search_bundled(name: str, embedder: Embedder, profile: str) -> list[LabelledHit]:
    """Search every question of a bundled set."""
    dataset = load_dataset(str(find_bundled(name)))
    with tempfile.TemporaryDirectory() as folder, _open(Path(folder), embedder) as engine:
        take_in(engine, SCOPE, dataset)
        dated = all(document.dated for document in dataset.documents)
        return [
            hit
            for case in dataset.cases
            if case.query.strip()
            for hit in _search(
                engine,
                f"{name}/{case.id}",
                SearchRequest(
                    query=case.query,
                    k=HITS,
                    channels=CHANNELS[profile],
                    filters=Filters(as_of=case.asked_at if dated else None),
                    explain=True,
                ),
                {document for document, grade in case.labels.items() if grade >= dataset.relevance_level},
            )
        ]


def search_public(data: Path, name: str, embedder: Embedder, profile: str) -> list[LabelledHit]:
    """Search every question of a public collection."""
    collection = load(data, name)
    with tempfile.TemporaryDirectory() as folder, _open(Path(folder), embedder) as engine:
        drafts = (
            Draft(
                title=document.title.strip() or document.id,
                body=document.text,
                format=Format.TEXT,
                source_id=document.id,
            )
            for document in collection.documents
            if document.text.strip()
        )
        for _, outcome in engine.saver.save_many(SCOPE, drafts, batch=200):
            if isinstance(outcome, Refused):
                raise outcome.error
        engine.indexes.compact(SCOPE)
        return [
            hit
            for question, text in collection.questions.items()
            for hit in _search(
                engine,
                f"{name}/{question}",
                SearchRequest(query=text, k=HITS, channels=CHANNELS[profile], explain=True),
                {document for document, grade in collection.judgments[question].items() if grade > 0},
            )
        ]


def _open(folder: Path, embedder: Embedder) -> Engine:
    return open_engine(Settings(db=str(folder / "assay.db")), embedder=embedder, clock=FixedClock())


def _search(engine: Engine, question: str, request: SearchRequest, relevant: set[str]) -> list[LabelledHit]:
    found = []
    with engine.store.reading(SCOPE) as work:
        for hit in engine.search(SCOPE, request).hits:
            assert hit.explanation is not None
            assert hit.explanation.relevance is not None, hit
            clues = {clue.name: clue.value for clue in hit.explanation.relevance.clues}
            source = work.memories.get(hit.memory_id).source_id
            found.append(LabelledHit(question=question, clues=clues, relevant=source in relevant))
    return found


# --- Fitting and measuring ---


def fit(sets: Iterable[Sequence[LabelledHit]], profile: str, sources: Sequence[str]) -> dict[str, Any]:
    """The coefficients of a profile, for clues as they are."""
    examples = [
        Example(dict(hit.clues), hit.relevant, WEIGHT / len(hits), hit.question) for hits in sets for hit in hits
    ]
    scaled = fitted(examples, CLUES[profile], sources)
    weights = [weight / spread for weight, spread in zip(scaled["weights"], scaled["spreads"], strict=True)]
    bias = scaled["bias"] - sum(weight * mean for weight, mean in zip(weights, scaled["means"], strict=True))
    return {
        "bias": round(bias, 6),
        "weights": {name: round(weight, 6) for name, weight in zip(scaled["names"], weights, strict=True)},
        "penalty": scaled["penalty"],
        "fitted_on": list(sources),
    }


def measure(hits: Sequence[LabelledHit], profile: str, name: str, coefficients: Mapping[str, Any]) -> Reliability:
    """Hold probabilities against labels."""
    model = RelevanceProfile(name=profile, bias=coefficients["bias"], weights=coefficients["weights"])
    chances = np.array([model.probability(hit.clues) for hit in hits])
    labels = np.array([hit.relevant for hit in hits])
    triggered = np.array([hit.clues[TRIGGER] > 0.0 for hit in hits])
    return Reliability(
        profile=profile,
        name=name,
        hits=len(hits),
        relevant=float(labels.mean()),
        mean=float(chances.mean()),
        error=calibration_error(chances, labels),
        auroc=auroc(chances, labels),
        kept={least: _cut(triggered | (chances >= least), labels) for least in THRESHOLDS},
    )


def _cut(kept: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> tuple[float, float]:
    return float(kept[labels].mean()), float((~kept)[~labels].mean())


def calibration_error(chances: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> float:
    """The mean distance of probability and share over groups of hits of equal size, ordered by probability."""
    groups = np.array_split(np.argsort(chances, kind="stable"), GROUPS)
    gaps = [len(group) * abs(float(chances[group].mean() - labels[group].mean())) for group in groups if len(group)]
    return sum(gaps) / len(chances)


def measure_left_out(sets: Mapping[str, Sequence[LabelledHit]], profile: str) -> list[Reliability]:
    """Each set with coefficients fitted on the others."""
    return [
        measure(
            sets[name],
            profile,
            f"{name}, left out",
            fit([hits for other, hits in sets.items() if other != name], profile, [o for o in sets if o != name]),
        )
        for name in sets
    ]


def run(data: Path | None, embedder: Embedder) -> tuple[dict[str, Any], list[Reliability]]:
    """Fit both profiles and measure them."""
    profiles: dict[str, Any] = {}
    told: list[Reliability] = []
    for profile in (MEANING, WORDS):
        sets = {name: search_bundled(name, embedder, profile) for name in FITTED_ON}
        profiles[profile] = fit(sets.values(), profile, FITTED_ON)
        told += measure_left_out(sets, profile)
        told += [measure(sets[name], profile, f"{name}, fitted on", profiles[profile]) for name in sets]
        for name in PUBLIC if data is not None else ():
            assert data is not None
            told.append(measure(search_public(data, name, embedder, profile), profile, name, profiles[profile]))
    return profiles, told


def find_gap(found: Mapping[str, Any], stored: Mapping[str, Any]) -> float:
    """The largest difference between two sets of coefficients; infinite when they weigh other clues."""
    gaps = [0.0]
    for name, profile in found.items():
        other = stored.get(name, {"bias": 0.0, "weights": {}})
        if profile["weights"].keys() != other["weights"].keys():
            return float("inf")
        gaps.append(abs(profile["bias"] - other["bias"]))
        gaps += [abs(weight - other["weights"][clue]) for clue, weight in profile["weights"].items()]
    return max(gaps)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, print, and write or compare."""
    parser = argparse.ArgumentParser(prog="python -m bench.fit_relevance", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the public collections")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    parser.add_argument("--write", action="store_true", help="replace the coefficients in the repository")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        embedder = RememberedEmbedder(load_bundled(), asked.cache or Path(folder))
        profiles, told = run(asked.data, embedder)
    rows = ["| profile | set | hits | relevant | mean probability | calibration error | AUROC |", "|" + " --- |" * 7]
    print("\n".join([*rows, *map(str, told)]))
    print("\nrelevant hits kept / other hits left out, by min_relevance (a triggered hit is always kept)")
    print(
        "| profile | set |"
        + "".join(f" {least:g} |" for least in THRESHOLDS)
        + "\n|"
        + " --- |" * (2 + len(THRESHOLDS))
    )
    for row in told:
        cut = "".join(f" {kept:.0%} / {left_out:.0%} |" for kept, left_out in row.kept.values())
        print(f"| {row.profile} | {row.name} |{cut}")
    for name, profile in profiles.items():
        print(
            f"{name}: bias {profile['bias']:.3f}, " + ", ".join(f"{n} {w:.3f}" for n, w in profile["weights"].items())
        )
    if asked.json:
        print(json.dumps([asdict(row) for row in told], indent=2))
    if asked.write:
        _write(profiles, embedder.model)
        return 0
    gap = find_gap(profiles, json.loads(PLACE.read_text(encoding="utf-8"))["profiles"])
    print(f"largest difference to the coefficients in the repository: {gap:.2g}")
    return int(gap > SAME)


def _write(profiles: Mapping[str, Any], model: str) -> None:
    PLACE.write_text(json.dumps({"embedder": model, "profiles": profiles}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
