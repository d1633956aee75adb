"""Metrics that look at one case at a time, by the name a user types: anchors and answers here, others beside.

`memory_metrics` has those of an agent's memory, `channel_metrics` those of channels, `write_metrics` those of saves.
What only a judge can say is `not_applicable` as long as no judge is asked, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.errors import UnknownMetric
from assay.evaluation import channel_metrics, cold_start, memory_metrics, write_metrics
from assay.evaluation.asked import Asked
from assay.metrics import anchors, answers, outcomes, ranking
from assay.metrics.answers import NO_JUDGE_ASKED
from assay.metrics.spec import MetricSpec
from assay.records.anchors import FolderMode, GoldAnchors, RetrievedChunk
from assay.records.answers import AnsweredCase, GivenAnswer
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import CaseResult
from assay.records.outcome import Outcome

NEEDS_ANSWER = ("answer_rate", "abstention_accuracy", "hallucination_rate", "correctness", "groundedness")
"""Reported whenever a system answers; the last two are for a judge."""
NEEDS_CITATIONS = ("attribution_hit_rate", "cite_newer", "cite_both", "acknowledge_both")
"""Reported whenever a system answers questions whose evidence has a place; the last one is for a judge."""
_JUDGED = frozenset({"correctness", "groundedness", "accuracy_given_answered", "citation_coverage", "acknowledge_both"})


def measurable(specs: Sequence[MetricSpec]) -> None:
    """Refuse metrics that a run cannot compute, naming them."""
    foreign = [str(spec) for spec in specs if not _is_known(spec)]
    if foreign:
        known = (*ranking.KERNELS, *_RETRIEVAL, cold_start.NAME, *_ANSWERED, *sorted(_JUDGED))
        raise UnknownMetric(f"a run does not measure {', '.join(foreign)}", remedy=f"It measures: {', '.join(known)}.")


def _is_known(spec: MetricSpec) -> bool:
    own = spec.name in _RETRIEVAL or spec.name in _ANSWERED or spec.name in _JUDGED or spec.name == cold_start.NAME
    return own or spec.name in ranking.KERNELS or spec.entry.family == "operations"


def case_outcome(spec: MetricSpec, case: Case, result: CaseResult, dataset: Dataset) -> Outcome:
    """One case that came back, under one metric of these families."""
    if result.retrieved is None:
        return outcomes.system_failed(result.error)
    if spec.name in _JUDGED:
        return outcomes.not_applicable(NO_JUDGE_ASKED)
    asked = Asked(spec, case, result.retrieved, dataset)
    if spec.name in _RETRIEVAL:
        return _RETRIEVAL[spec.name](asked)
    if result.retrieved.answer is None:
        return outcomes.not_applicable("the system gives no answers")
    return _ANSWERED[spec.name](asked, result.retrieved.answer)


Chunks = Sequence[RetrievedChunk]


def _on_anchors(compute: Callable[[GoldAnchors, Chunks, MetricSpec], Outcome]) -> Callable[[Asked], Outcome]:
    def found(asked: Asked) -> Outcome:
        if asked.case.anchors is None:
            return outcomes.not_applicable("the case has no anchors")
        return compute(asked.case.anchors, asked.given.passages, asked.spec)

    return found


def _snippets(spec: MetricSpec) -> bool:
    return spec.parameter("snippets") == "require"


def _scope_miss(asked: Asked) -> Outcome:
    gold, seen = asked.case.anchors, asked.given.seen
    if gold is None or not gold.answerable or not gold.supports:
        return outcomes.not_applicable("the case has no place to find")
    if asked.case.folder_mode is FolderMode.OFF:
        return outcomes.not_applicable("no folders were chosen: folder mode is off")
    left_out = None if seen is None else seen.excluded if seen.shut_out is None else seen.shut_out
    if left_out is None:
        return outcomes.skipped("the system did not say what it left out")
    shut_out = {asked.dataset.by_id[one].rel_path for one in left_out if one in asked.dataset.by_id}
    return outcomes.yes_or_no(all(one.rel_path in shut_out for one in gold.supports))


def _cited(compute: Callable[[GoldAnchors, GivenAnswer], Outcome]) -> Callable[[Asked, GivenAnswer], Outcome]:
    def found(asked: Asked, answer: GivenAnswer) -> Outcome:
        gold = asked.case.anchors
        return outcomes.not_applicable("the case has no anchors") if gold is None else compute(gold, answer)

    return found


def _attribution(asked: Asked, answer: GivenAnswer) -> Outcome:
    snippets = _snippets(asked.spec)
    return _cited(lambda gold, given: anchors.attribution_hit_rate(gold, given, snippets=snippets))(asked, answer)


def _abstaining(compute: Callable[[AnsweredCase], Outcome]) -> Callable[[Asked, GivenAnswer], Outcome]:
    return lambda asked, answer: compute(AnsweredCase(answerable=asked.case.answerable, answer=answer))


_RETRIEVAL: Mapping[str, Callable[[Asked], Outcome]] = {
    "recall_any": _on_anchors(lambda g, c, s: anchors.recall_any(g, c, s.cutoff or 0, snippets=_snippets(s))),
    "recall_all": _on_anchors(lambda g, c, s: anchors.recall_all(g, c, s.cutoff or 0, snippets=_snippets(s))),
    "anchor_precision": _on_anchors(
        lambda g, c, s: anchors.anchor_precision(g, c, s.cutoff or 0, snippets=_snippets(s))
    ),
    "anchor_mrr": _on_anchors(lambda g, c, s: anchors.anchor_mrr(g, c, s.cutoff, snippets=_snippets(s))),
    "scope_miss_rate": _scope_miss,
    **memory_metrics.METRICS,
    **channel_metrics.METRICS,
    **write_metrics.METRICS,
}
_ANSWERED: Mapping[str, Callable[[Asked, GivenAnswer], Outcome]] = {
    "attribution_hit_rate": _attribution,
    "cite_newer": _cited(anchors.cite_newer),
    "cite_both": _cited(anchors.cite_both),
    "abstention_accuracy": _abstaining(answers.abstention_accuracy),
    "hallucination_rate": _abstaining(answers.hallucination_rate),
    "abstention_precision": _abstaining(answers.abstention_precision),
    "abstention_recall": _abstaining(answers.abstention_recall),
    "answer_rate": _abstaining(answers.answer_rate),
}
