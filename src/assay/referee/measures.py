"""The measures of the retrieval layer, question by question, made of `assay.metrics`.

    recall_all@k    1 if every item of the evidence is among the first k
    recall_any@k    1 if any is
    ndcg@k, mrr@k   as `assay metrics` has them
    ...@Ntok        the same over the longest beginning of the ranking that has at most N tokens

A token is a word or a punctuation mark: a rule that anybody can recompute without a model's tokenizer, which gives
about 1.3 times as many.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.errors import InputError
from assay.metrics.engine import measure_mappings
from assay.metrics.spec import MetricSpec

CUTOFFS = (1, 5, 10, 20)
BUDGET = 2000
"""Tokens of the token budget."""
FAMILIES = ("recall_all", "recall_any", "ndcg", "mrr")
SET_MEASURES = ("recall_all", "recall_any")
"""Measures of which results are there, whatever their order."""
_TOKEN = re.compile(r"\w+|[^\w\s]")

Values = dict[str, dict[str, float]]
"""Values by measure and question."""


def count_tokens(text: str) -> int:
    """Return the number of words and punctuation marks."""
    return sum(1 for _ in _TOKEN.finditer(text))


def measure_names(cutoffs: Sequence[int], budget: int) -> list[str]:
    """Return the names of all measures, in the order of tables."""
    at_ranks = [f"{family}@{cutoff}" for family in FAMILIES for cutoff in cutoffs]
    return [*at_ranks, *(f"{family}@{budget}tok" for family in SET_MEASURES)]


def check_cutoffs(cutoffs: Sequence[int]) -> tuple[int, ...]:
    """Return cutoffs in order, each once; others than positive numbers are refused."""
    wrong = next((cutoff for cutoff in cutoffs if cutoff < 1), None)
    if wrong is not None:
        raise InputError(f"the cutoff {wrong} is below 1", remedy="Give numbers of results such as --k 5 --k 10.")
    return tuple(sorted(set(cutoffs)))


def measure(
    rankings: Mapping[str, Sequence[tuple[str, int]]],
    evidence: Mapping[str, Sequence[str]],
    *,
    cutoffs: Sequence[int],
    budget: int,
) -> Values:
    """Measure rankings of (item, tokens) against evidence; only questions that have both are measured."""
    asked = [question for question, gold in evidence.items() if gold and question in rankings]
    qrels = {question: dict.fromkeys(evidence[question], 1) for question in asked}
    run = {question: _scores([item for item, _ in rankings[question]]) for question in asked}
    within = {question: _scores(cut_to_budget(rankings[question], budget)) for question in asked}
    values: Values = {}
    for cutoff in cutoffs:
        values[f"recall_all@{cutoff}"] = _all_found(_measured(qrels, run, f"recall@{cutoff}"))
        values[f"recall_any@{cutoff}"] = _measured(qrels, run, f"success@{cutoff}")
        values[f"ndcg@{cutoff}"] = _measured(qrels, run, f"ndcg@{cutoff}")
        values[f"mrr@{cutoff}"] = _measured(qrels, run, f"mrr@{cutoff}")
    recall = _measured(qrels, within, "recall")
    values[f"recall_all@{budget}tok"] = _all_found(recall)
    values[f"recall_any@{budget}tok"] = {question: float(value > 0) for question, value in recall.items()}
    return {name: values[name] for name in measure_names(cutoffs, budget)}


def cut_to_budget(ranking: Sequence[tuple[str, int]], budget: int) -> list[str]:
    """Return the longest beginning of a ranking that has at most so many tokens."""
    kept, spent = [], 0
    for item, tokens in ranking:
        spent += tokens
        if spent > budget:
            break
        kept.append(item)
    return kept


def _measured(
    qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]], name: str
) -> dict[str, float]:
    spec = MetricSpec.parse(name)
    found = measure_mappings(qrels, run, [spec])
    return dict(zip(found.topics, found.scores[spec].values.tolist(), strict=True))


def _scores(items: Sequence[str]) -> dict[str, float]:
    """Return falling scores; of an item that is listed twice the first place counts."""
    return {item: -float(place) for place, item in reversed(list(enumerate(items)))}


def _all_found(recall: Mapping[str, float]) -> dict[str, float]:
    return {question: float(value >= 1.0) for question, value in recall.items()}
