"""When a model's grades of memories count beside people's.

Both grade the same pairs of question and memory; grades from 2 on are relevant. Below 50 pairs nothing can be said, and
below 80 % agreement the model's grades are kept but count for nothing. Kappa is given beside it: where nearly
everything is relevant, two coins agree as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from assay.hashing import query_key
from assay.records import Judgment, JudgmentSource
from assay.records.judging import ModelAdmission
from assay.statistics.agreement import cohen_kappa
from assay.statistics.intervals import wilson

RELEVANT = 2
"""From this grade on, a memory is one that should be found."""
LEAST_PAIRS = 50
LEAST_AGREEMENT = 0.80
SEED = 0
"""Of the resamples behind kappa: the same grades give the same number each time."""
Pair = tuple[str, str]


def admit_models(judged: Iterable[tuple[str, Judgment]]) -> dict[str, ModelAdmission]:
    """Hold each model's grades against people's, over the pairs that both graded; by the model's name."""
    people: dict[Pair, list[bool]] = defaultdict(list)
    models: dict[str, dict[Pair, bool]] = defaultdict(dict)
    for text, judgment in judged:
        pair, relevant = (query_key(text), judgment.memory_id), judgment.relevance >= RELEVANT
        if judgment.source is JudgmentSource.MANUAL:
            people[pair].append(relevant)
        elif judgment.source is JudgmentSource.LLM_JUDGE:
            models[judgment.annotator][pair] = relevant
    # Where people disagree, more than half of them must call a memory relevant.
    majority = {pair: 2 * sum(given) > len(given) for pair, given in people.items()}
    return {annotator: _admit(annotator, majority, grades) for annotator, grades in sorted(models.items())}


def _admit(annotator: str, people: Mapping[Pair, bool], model: Mapping[Pair, bool]) -> ModelAdmission:
    shared = sorted(people.keys() & model.keys())
    if not shared:
        return ModelAdmission(annotator=annotator, sentence="Not admitted: people graded none of its pairs.")
    ours, theirs = [people[pair] for pair in shared], [model[pair] for pair in shared]
    same = sum(mine == other for mine, other in zip(ours, theirs, strict=True))
    interval = wilson(same, len(shared))
    admitted = len(shared) >= LEAST_PAIRS and same >= LEAST_AGREEMENT * len(shared)
    needed = f"{LEAST_PAIRS} pairs" if len(shared) < LEAST_PAIRS else f"{LEAST_AGREEMENT:.0%}"
    seen = f"{same / len(shared):.0%} agreement [{interval.low:.0%}, {interval.high:.0%}] over {len(shared)} pairs"
    return ModelAdmission(
        annotator=annotator,
        pairs=len(shared),
        agreement=same / len(shared),
        low=interval.low,
        high=interval.high,
        kappa=cohen_kappa([*map(int, ours)], [*map(int, theirs)], rng=np.random.default_rng(SEED)).value,
        admitted=admitted,
        sentence=f"Admitted: {seen}." if admitted else f"Not admitted: {seen}; {needed} are needed.",
    )


def keep_admitted(judged: Sequence[tuple[str, Judgment]]) -> list[tuple[str, Judgment]]:
    """Return the judgments without those of models that are not admitted."""
    admitted = {name for name, admission in admit_models(judged).items() if admission.admitted}
    return [
        (text, judgment)
        for text, judgment in judged
        if judgment.source is not JudgmentSource.LLM_JUDGE or judgment.annotator in admitted
    ]
