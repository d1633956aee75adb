"""How well the built-in judges agree with people: `python -m bench.judge --data DIR [--cache DIR] [--json]`.

Groundedness on claims (wice, scifact) and answers (mtrag_human; halueval, whose answers have no passage), beside two
simple baselines: the share of a text's words that its passages have, and the best cosine of a text with a sentence of
them. How often the judge is right at its threshold of 0.5 is told beside the larger class, also for coefficients that
were fitted on the other collection of claims alone; and how far an error put into a copied sentence lowers its
probability. Then whether a paragraph answers a question (squad2, clapnq). Only
held-out halves are measured. Exit code 1 when a baseline is as good as the judge on a collection.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.judging.builtin.judges import (
    CONTRADICTED,
    SUPPORTED,
    BuiltinGroundedness,
    Weights,
    answerable,
    probability_without_passages,
)
from assay.judging.builtin.support import Evidence, support
from assay.metrics.answers import risk_coverage
from assay.records.answers import AnsweredCase, GivenAnswer, RubricVerdict
from assay.statistics.calibration import calibration_error
from assay.text.claims import sentences
from assay.text.terms import stems
from assay.text.wording import FUNCTION_WORDS
from bench.edited import edit
from bench.fit_judge import claim_examples, fitted
from bench.labelled import Judged, load
from bench.remembered import RememberedEmbedder

GROUNDED = ("wice", "scifact", "mtrag_human", "halueval")
UNSOURCED = ("halueval",)
"""Nobody gave these answers passages; elsewhere an answer without one is an answer without support."""
CLAIMED = ("wice", "scifact")
"""Collections of single claims."""
ASKED = ("squad2", "clapnq")
RESAMPLES, SEED = 1_000, 20_261_115
CLEARLY = 0.1
"""An error should lower a probability by at least this much."""
ANSWER_FROM = 0.5
"""A question at least this likely to be answered is answered."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """One way of judging on one collection."""

    judge: str
    auroc: float
    correlation: float
    """Spearman's, with what people said."""
    calibration_error: float | None
    """None for a baseline: a share of words is no probability."""
    behind: tuple[float, float] | None = None
    """For a baseline: by how much of AUROC the judge is better, 95 % of resampled groups."""
    interval: tuple[float, float] | None = None
    """For the judge: its AUROC, 95 % of resampled groups."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Grounded:
    """What was measured on one collection of claims or answers."""

    collection: str
    items: int
    declined: int
    """Answers that decline to answer: there is nothing to judge, so no way of judging sees them."""
    judges: tuple[Agreement, ...]
    """The built-in judge first."""
    accuracy: float
    """Of the judge at its threshold."""
    larger_class: float
    """Accuracy of always giving the more frequent label."""

    @property
    def is_won(self) -> bool:
        """Whether the judge ranks better than each baseline."""
        return all(self.judges[0].auroc > one.auroc for one in self.judges[1:])


@dataclass(frozen=True, kw_only=True, slots=True)
class Transfer:
    """Coefficients fitted on one collection of claims and measured on another."""

    fitted_on: str
    collection: str
    auroc: float
    accuracy: float
    larger_class: float
    calibration_error: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Edited:
    """What the judge says of copied sentences with one kind of error."""

    kind: str
    answers: int
    copies: float
    """The mean probability of the sentences without the error."""
    probability: float
    """The mean probability with it."""
    lowered: float
    """The share whose probability is lower by at least `CLEARLY`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What was measured on one collection of questions."""

    collection: str
    items: int
    answerable_share: float
    auroc: float
    accuracy: float
    """Of answering or declining."""
    abstention_precision: float
    abstention_recall: float
    coverage: float
    risk: float
    """The share of wrong answers among those given."""
    risk_of_answering_all: float
    risk_coverage_area: float
    calibration_error: float


def auroc(scores: Floats, labels: Floats) -> float:
    """How often something true is put above something false; a tie is half."""
    ranks, true = _ranks(scores), labels == 1
    positives, negatives = int(true.sum()), int((~true).sum())
    return float((ranks[true].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def spearman(first: Floats, second: Floats) -> float:
    """The correlation of ranks, ties sharing theirs."""
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: Floats) -> Floats:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    shared: Floats = np.cumsum(counts) - (counts - 1) / 2
    return shared[places]


def overlap(item: Judged) -> float:
    """The share of a text's content words that its passages, or else its question, have."""
    wanted = set(stems(item.text)) - FUNCTION_WORDS
    there = set(stems(" ".join(item.passages or (item.question,))))
    return len(wanted & there) / len(wanted) if wanted else 0.0


def cosine(item: Judged, embedder: Embedder) -> float:
    """The best cosine of a text with a sentence of its passages, or else with its question."""
    around = [one for passage in item.passages for one in sentences(passage)] or [item.question]
    rows = embedder.embed([item.text, *around])
    return float(np.max(rows[1:] @ rows[0]))


def builtin(name: str, item: Judged, judge: BuiltinGroundedness) -> float | None:
    """The judge's probability; None when an answer declines."""
    if name in UNSOURCED:
        return probability_without_passages(item.question, item.text)
    return judge.judge(item.question, item.text, item.passages).probability


def grounded(folder: Path, name: str, embedder: Embedder) -> Grounded:
    """Measure one collection of claims or answers."""
    judge = BuiltinGroundedness(embedder)
    every = [one for one in load(folder, name) if one.is_held_out(name)]
    scored = [(one, found) for one in every if (found := builtin(name, one, judge)) is not None]
    items = [one for one, _ in scored]
    ways = {
        "built-in": np.array([found for _, found in scored]),
        "token overlap": np.array([overlap(one) for one in items]),
        "embedding cosine": np.array([cosine(one, embedder) for one in items]),
    }
    labels, grades = np.array([float(one.label) for one in items]), np.array([one.grade for one in items])
    groups = np.unique([one.group for one in items], return_inverse=True)[1]
    judges = tuple(
        Agreement(
            judge=way,
            auroc=auroc(values, labels),
            correlation=spearman(values, grades),
            calibration_error=calibration_error(values, labels).ece if way == "built-in" else None,
            behind=None if way == "built-in" else _difference(ways["built-in"], values, labels, groups),
            interval=_interval(values, labels, groups) if way == "built-in" else None,
        )
        for way, values in ways.items()
    )
    return Grounded(
        collection=name,
        items=len(items),
        declined=len(every) - len(items),
        judges=judges,
        accuracy=_accuracy(ways["built-in"], labels),
        larger_class=_larger_class(labels),
    )


def _accuracy(chances: Floats, labels: Floats) -> float:
    return float(((chances >= SUPPORTED) == (labels == 1)).mean())


def _larger_class(labels: Floats) -> float:
    return float(max(labels.mean(), 1 - labels.mean()))


def _difference(first: Floats, second: Floats, labels: Floats, groups: NDArray[np.intp]) -> tuple[float, float]:
    """Paired bootstrap over groups: texts on one page are not independent."""
    samples = list(_resample(labels, groups))
    return _middle([auroc(first[rows], labels[rows]) - auroc(second[rows], labels[rows]) for rows in samples])


def _interval(values: Floats, labels: Floats, groups: NDArray[np.intp]) -> tuple[float, float]:
    return _middle([auroc(values[rows], labels[rows]) for rows in _resample(labels, groups)])


def _resample(labels: Floats, groups: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Rows of groups drawn with replacement; draws that hold one label only are left out."""
    rng = np.random.default_rng(SEED)
    members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    for _ in range(RESAMPLES):
        rows = np.concatenate([members[one] for one in rng.integers(len(members), size=len(members))])
        if 0 < labels[rows].sum() < len(rows):
            yield rows


def _middle(figures: Sequence[float]) -> tuple[float, float]:
    low, high = np.percentile(figures, [2.5, 97.5])
    return float(low), float(high)


def transfer(folder: Path, source: str, name: str, embedder: Embedder) -> Transfer:
    """Fit on the training half of one collection of claims and measure on the held-out half of another."""
    examples = claim_examples(folder, source, embedder)
    profile = fitted(examples, examples[0].features, [source])
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in profile.items()}
    weights = Weights(**fields)
    items = [one for one in load(folder, name) if one.is_held_out(name)]
    chances = np.array([_claim_chance(one, weights, embedder) for one in items])
    labels = np.array([float(one.label) for one in items])
    return Transfer(
        fitted_on=source,
        collection=name,
        auroc=auroc(chances, labels),
        accuracy=_accuracy(chances, labels),
        larger_class=_larger_class(labels),
        calibration_error=calibration_error(chances, labels).ece,
    )


def _claim_chance(item: Judged, weights: Weights, embedder: Embedder) -> float:
    looked = support(item.text, Evidence(item.passages, embedder))
    chance = weights.probability(looked.features)
    return min(chance, CONTRADICTED) if looked.consistency.contradicts else chance


def edited(folder: Path, names: Sequence[str], embedder: Embedder) -> list[Edited]:
    """Measure copies with errors, made from the passages of these collections' held-out halves."""
    judge = BuiltinGroundedness(embedder)
    found: dict[str, list[tuple[float, float]]] = {}
    for item in (one for name in names for one in load(folder, name) if one.is_held_out(name)):
        for one in edit(item):
            pair = [judge.judge("", text, item.passages).probability for text in (one.copy, one.text)]
            if pair[0] is not None and pair[1] is not None:
                found.setdefault(one.kind, []).append((pair[0], pair[1]))
    tables = {kind: np.array(pairs) for kind, pairs in found.items()}
    return [
        Edited(
            kind=kind,
            answers=len(pairs),
            copies=float(pairs[:, 0].mean()),
            probability=float(pairs[:, 1].mean()),
            lowered=float((pairs[:, 0] - pairs[:, 1] >= CLEARLY).mean()),
        )
        for kind, pairs in tables.items()
    ]


def asked(folder: Path, name: str, embedder: Embedder) -> Asked:
    """Measure one collection of questions."""
    items = [one for one in load(folder, name) if one.is_held_out(name)]
    chances = np.array([answerable(one.question, Evidence(one.passages, embedder)).probability for one in items])
    labels = np.array([float(one.label) for one in items])
    answers = chances >= ANSWER_FROM
    declined, wrong = ~answers, answers & (labels == 0)
    area = risk_coverage([_answered(one, chance) for one, chance in zip(items, chances, strict=True)]).area.value
    return Asked(
        collection=name,
        items=len(items),
        answerable_share=float(labels.mean()),
        auroc=auroc(chances, labels),
        accuracy=float((answers == (labels == 1)).mean()),
        abstention_precision=float((labels[declined] == 0).mean()),
        abstention_recall=float(declined[labels == 0].mean()),
        coverage=float(answers.mean()),
        risk=float(wrong.sum() / answers.sum()),
        risk_of_answering_all=float((labels == 0).mean()),
        risk_coverage_area=float(area or 0.0),
        calibration_error=calibration_error(chances, labels).ece,
    )


def _answered(item: Judged, chance: float) -> AnsweredCase:
    """The question as if it had been answered, and rightly wherever there is an answer."""
    answer = GivenAnswer(text="an answer", abstained=False, confidence=float(chance))
    return AnsweredCase(answerable=item.label, answer=answer, correctness=RubricVerdict(score=5.0))


def shown(judged: Sequence[Grounded], more: Sequence[str], questions: Sequence[Asked]) -> str:
    """All tables in Markdown."""
    columns = ["collection", "held out", "judge", "AUROC", "judge better by", "Spearman", "calibration error"]
    lines = [f"| {' | '.join(columns)} |", "| " + " | ".join(["---"] * len(columns)) + " |"]
    lines += [_line(one, way) for one in judged for way in one.judges]
    lines += ["", *more]
    columns = ["collection", "held out", "AUROC", "accuracy", "abstention precision", "abstention recall", "coverage"]
    columns += ["risk", "risk of answering all", "area", "calibration error"]
    lines += ["", f"| {' | '.join(columns)} |", "| " + " | ".join(["---"] * len(columns)) + " |"]
    for asked_of in questions:
        name, items, _, *figures = asdict(asked_of).values()
        lines.append(f"| {name} | {items} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |")
    return "\n".join(lines)


def _threshold_lines(judged: Sequence[Grounded], moved: Sequence[Transfer]) -> list[str]:
    columns = ["collection", "fitted on", "AUROC", "accuracy at 0.5", "larger class", "calibration error"]
    lines = [f"| {' | '.join(columns)} |", "| " + " | ".join(["---"] * len(columns)) + " |"]
    rows = [
        (one.collection, "as shipped", one.judges[0].auroc, one.accuracy, one.larger_class, own)
        for one in judged
        if (own := one.judges[0].calibration_error) is not None
    ]
    rows += [
        (one.collection, one.fitted_on, one.auroc, one.accuracy, one.larger_class, one.calibration_error)
        for one in moved
    ]
    return lines + [
        f"| {name} | {source} | " + " | ".join(f"{x:.3f}" for x in figures) + " |" for name, source, *figures in rows
    ]


def _edited_lines(errors: Sequence[Edited]) -> list[str]:
    columns = ["error", "answers", "probability of the copy", "with the error", f"lowered by {CLEARLY} or more"]
    lines = [f"| {' | '.join(columns)} |", "| " + " | ".join(["---"] * len(columns)) + " |"]
    return lines + [
        f"| {one.kind} | {one.answers} | {one.copies:.3f} | {one.probability:.3f} | {one.lowered:.3f} |"
        for one in errors
    ]


def _line(one: Grounded, way: Agreement) -> str:
    error = "" if way.calibration_error is None else f"{way.calibration_error:.3f}"
    behind = "" if way.behind is None else f"{way.behind[0]:+.3f} to {way.behind[1]:+.3f}"
    area = f"{way.auroc:.3f}" + ("" if way.interval is None else f" [{way.interval[0]:.3f}, {way.interval[1]:.3f}]")
    cells = [one.collection, str(one.items), way.judge, area, behind, f"{way.correlation:.3f}", error]
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.judge", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with the collections")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        embedder = RememberedEmbedder(load_bundled(), options.cache or Path(folder))
        judged = [grounded(options.data, name, embedder) for name in GROUNDED]
        moved = [
            transfer(options.data, source, name, embedder) for source in CLAIMED for name in CLAIMED if source != name
        ]
        errors = edited(options.data, CLAIMED, embedder)
        questions = [asked(options.data, name, embedder) for name in ASKED]
    if options.json:
        print(
            json.dumps(
                [*map(asdict, judged), *map(asdict, moved), *map(asdict, errors), *map(asdict, questions)], indent=2
            )
        )
    else:
        print(shown(judged, [*_threshold_lines(judged, moved), "", *_edited_lines(errors)], questions))
    return int(not all(one.is_won for one in judged))


if __name__ == "__main__":
    sys.exit(main())
