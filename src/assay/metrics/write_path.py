"""The write path: does a save do the right thing, do contradictions live on, is stale memory served, is text lost?

The confusion matrix is a property of a set of labelled saves; everything else looks at one case, and its mean over
the scored cases is the metric.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.metrics import outcomes
from assay.metrics.catalog import Better, Cutoff, FromCase, MetricEntry, Parameter, register
from assay.metrics.inputs import CaseView, first
from assay.records.datasets import Dataset
from assay.records.evaluations import Outcome, OutcomeKind, Rate
from assay.records.memory import EdgeKind
from assay.records.saving import ContradictingPair, SaveDecision, SaveTask, SaveTrial, Written


def save_accuracy(trial: SaveTrial) -> Outcome:
    """Whether one save did what it should."""
    if trial.decided is None:
        return outcomes.system_failed(trial.reason or "the save failed")
    return outcomes.yes_or_no(trial.decided is trial.expected)


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveConfusion:
    """How often each decision was taken where each was expected."""

    counts: Mapping[tuple[SaveDecision, SaveDecision], int]
    """By (expected, decided); a pair that never happened is absent."""
    failed: int
    """Saves that decided nothing."""

    def count(self, expected: SaveDecision, decided: SaveDecision) -> int:
        """One cell."""
        return self.counts.get((expected, decided), 0)

    @property
    def accuracy(self) -> Rate:
        """Right decisions among all."""
        return self._rate(sum(self.count(decision, decision) for decision in SaveDecision), sum(self.counts.values()))

    def precision(self, decision: SaveDecision) -> Rate:
        """Of the times it was taken: how often rightly."""
        return self._rate(
            self.count(decision, decision), sum(self.count(expected, decision) for expected in SaveDecision)
        )

    def recall(self, decision: SaveDecision) -> Rate:
        """Of the times it was expected: how often it was taken."""
        return self._rate(self.count(decision, decision), sum(self.count(decision, actual) for actual in SaveDecision))

    @property
    def false_rejections(self) -> Rate:
        """Of the saves that should have been kept in some form: how many were rejected."""
        kept = [decision for decision in SaveDecision if decision is not SaveDecision.REJECT]
        rejected = sum(self.count(decision, SaveDecision.REJECT) for decision in kept)
        return self._rate(rejected, sum(self.count(expected, other) for expected in kept for other in SaveDecision))

    def _rate(self, hits: int, of: int) -> Rate:
        return Rate(hits=hits, of=of, left_out={OutcomeKind.SYSTEM_FAILED: self.failed} if self.failed else {})


def save_confusion(trials: Iterable[SaveTrial]) -> SaveConfusion:
    """Count labelled saves by what they should have done and what they did."""
    counts: Counter[tuple[SaveDecision, SaveDecision]] = Counter()
    failed = 0
    for trial in trials:
        if trial.decided is None:
            failed += 1
        else:
            counts[trial.expected, trial.decided] += 1
    return SaveConfusion(counts=counts, failed=failed)


def contradiction_coexistence(pair: ContradictingPair, *, count_marked: bool = False) -> Outcome:
    """Whether both sides of a contradiction can be found without a mark that they disagree, or, optionally, at all."""
    return outcomes.yes_or_no(pair.first_live and pair.second_live and (count_marked or not pair.marked))


def stale_served_rate(
    hits: Sequence[str], stale: Collection[str], k: int | None = None, *, per_search: bool = False
) -> Outcome:
    """How many of the first k results a newer memory has superseded; per search, whether any has."""
    shown = first(hits, k)
    old = set(shown) & set(stale)
    if per_search and shown:
        return outcomes.yes_or_no(bool(old))
    return outcomes.share(len(old), len(shown), "nothing was shown")


def information_lost(facts: Collection[str], merged: str) -> Outcome:
    """The share of labelled facts (numbers, names, short phrases) of both originals that the merged text lacks."""
    lost = sum(not states_literally(merged, fact) for fact in facts)
    return outcomes.share(lost, len(facts), "no facts are labelled")


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def states_literally(text: str, fact: str) -> bool:
    """Match whole words and numbers only: "limit 10" is neither in "limit 100" nor in "limit 10.5"."""
    return re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(_flat(fact))}(?!\w)(?![.,]\d)", _flat(text)) is not None


def _of_saves(compute: Callable[[CaseView, SaveTask, Written], Outcome]) -> Callable[[CaseView], Outcome]:
    def compute_view(view: CaseView) -> Outcome:
        if view.case.save is None or view.given.saved is None:
            return outcomes.not_applicable("the case saves nothing")
        return compute(view, view.case.save, view.given.saved)

    return compute_view


def trial_of(task: SaveTask, written: Written) -> SaveTrial:
    """What was done against the best decision, or against itself where it loses nothing either."""
    right = written.decided in task.expected
    return SaveTrial(expected=written.decided if right else task.expected[0], decided=written.decided)


def _precision(view: CaseView, task: SaveTask, written: Written) -> Outcome:
    wanted = SaveDecision(view.parameter("decision"))
    if written.decided is not wanted:
        return outcomes.not_applicable(f"the save did not {wanted}")
    return outcomes.yes_or_no(trial_of(task, written).expected is wanted)


def _recall(view: CaseView, task: SaveTask, written: Written) -> Outcome:
    wanted = SaveDecision(view.parameter("decision"))
    if trial_of(task, written).expected is not wanted:
        return outcomes.not_applicable(f"the save should not {wanted}")
    return outcomes.yes_or_no(written.decided is wanted)


def _false_rejection(_: CaseView, task: SaveTask, written: Written) -> Outcome:
    if trial_of(task, written).expected is SaveDecision.REJECT:
        return outcomes.not_applicable("the save should be turned away")
    return outcomes.yes_or_no(written.decided is SaveDecision.REJECT)


def _coexistence(view: CaseView, task: SaveTask, written: Written) -> Outcome:
    if not task.contradicts:
        return outcomes.not_applicable("the two notes do not contradict each other")
    pair = ContradictingPair(first_live=written.old_live, second_live=written.new_live, marked=written.marked)
    return contradiction_coexistence(pair, count_marked=view.parameter("marked") == "count")


def stale_after_save(view: CaseView, task: SaveTask) -> Outcome:
    """Whether the older note is still returned although the newer one replaces it."""
    if not task.contradicts:
        return outcomes.not_applicable("the two notes do not contradict each other")
    per_search = view.parameter("per") == "search"
    return stale_served_rate(view.ids, [task.after], view.spec.cutoff, per_search=per_search)


def _measure_lost(_: CaseView, task: SaveTask, written: Written) -> Outcome:
    if written.decided is not SaveDecision.MERGE:
        return outcomes.not_applicable("nothing was merged")
    return information_lost(task.facts, written.kept)


def false_supersede(task: SaveTask, written: Written, *, count_facts: bool = False) -> Outcome:
    """Whether the older of two notes that are both true was superseded, or, optionally, a fact of it was ended.

    Both are true where the labels accept that both are stored, and not that one takes the other's place.
    """
    if task.contradicts or SaveDecision.STORE not in task.expected or SaveDecision.SUPERSEDE in task.expected:
        return outcomes.not_applicable("the labels do not say that both notes are true")
    superseded = written.decided is SaveDecision.SUPERSEDE or (
        written.decided is SaveDecision.STORE and not written.old_live
    )
    return outcomes.yes_or_no(superseded or (count_facts and written.ended > 0))


def _measure_false_supersede(view: CaseView, task: SaveTask, written: Written) -> Outcome:
    return false_supersede(task, written, count_facts=view.parameter("facts") == "count")


def find_superseded(dataset: Dataset) -> frozenset[str]:
    """Return the documents that another document of the dataset supersedes."""
    return frozenset(edge.target_id for edge in dataset.edges if edge.kind is EdgeKind.SUPERSEDES)


def _stale(view: CaseView) -> Outcome:
    if view.case.save is not None:
        return stale_after_save(view, view.case.save)
    per_search = view.parameter("per") == "search"
    return stale_served_rate(view.ids, find_superseded(view.dataset), view.spec.cutoff, per_search=per_search)


_DECISION = Parameter(
    name="decision",
    meaning="which decision",
    default="merge",
    choices=tuple(decision.value for decision in SaveDecision),
)
_SAVES = "the feedback and quality document, REQ-S4-004 and REQ-S4-005."

ENTRIES = (
    MetricEntry(
        name="save_accuracy",
        compute=FromCase(_of_saves(lambda _, task, written: save_accuracy(trial_of(task, written)))),
        family="write path",
        summary="How often does a save do the right one of store, merge, supersede and reject?",
        formula="sum of the diagonal of the confusion matrix / decided saves",
        citation=_SAVES,
        disagreement="The documents know merge, replace and store at the reconsolidation step and reject at the gate;"
        " here one save has one outcome of four. Failed saves are counted beside it.",
        example="Five labelled saves, four decided as labelled: 4/5 = 0.8",
    ),
    MetricEntry(
        name="save_precision",
        compute=FromCase(_of_saves(_precision)),
        family="write path",
        summary="When a save merges (or stores, ...), how often is that right?",
        formula="decided and expected / decided",
        parameters=(_DECISION,),
        citation=_SAVES,
        disagreement="A decision that was never taken has no precision: not applicable, where some libraries print 0.",
        example="Three merges, two of them expected: 2/3 = 0.67",
    ),
    MetricEntry(
        name="save_recall",
        compute=FromCase(_of_saves(_recall)),
        family="write path",
        summary="When a save should merge (or store, ...), how often does it?",
        formula="decided and expected / expected",
        parameters=(_DECISION,),
        citation=_SAVES,
        disagreement="A decision that was never expected has no recall: not applicable.",
        example="Four saves should merge, two do: 2/4 = 0.5",
    ),
    MetricEntry(
        name="false_rejection_rate",
        compute=FromCase(_of_saves(_false_rejection)),
        family="write path",
        summary="How many saves that should be kept does the gate turn away?",
        formula="rejected / saves expected to store, merge or supersede",
        better=Better.LOWER,
        citation="the feedback and quality document, risk MR12: the gate is tuned on it before it is enforced.",
        disagreement="Not 1 - precision of reject: the whole is what should be kept, not what was rejected.",
        example="Four saves should be kept, one is rejected: 1/4 = 0.25",
    ),
    MetricEntry(
        name="contradiction_coexistence",
        compute=FromCase(_of_saves(_coexistence)),
        family="write path",
        summary="How many contradictions can search return both sides of, without a word?",
        formula="pairs with both sides live and no contradicts edge / contradicting pairs",
        better=Better.LOWER,
        parameters=(
            Parameter(
                name="marked",
                meaning="whether a pair joined by a `contradicts` edge may coexist",
                default="allow",
                choices=("allow", "count"),
            ),
        ),
        citation=_SAVES,
        disagreement="The source supersedes every conflict; Assay keeps both where they are about different subjects,"
        " and marks them. `marked=count` gives the source's view.",
        example="Four pairs: two superseded, one live and marked, one live and not: 1/4 = 0.25",
    ),
    MetricEntry(
        name="stale_served_rate",
        compute=FromCase(_stale),
        family="write path",
        summary="How many of the memories served had already been superseded?",
        formula="superseded memories in the first k / memories in the first k",
        better=Better.LOWER,
        cutoff=Cutoff.OPTIONAL,
        parameters=(
            Parameter(
                name="per",
                meaning="of the results, or of the searches that served at least one",
                default="result",
                choices=("result", "search"),
            ),
        ),
        citation=_SAVES,
        disagreement="Superseded at the time of the query; a search `as_of` an earlier time serves nothing stale.",
        example="Five memories served, one of them superseded: 1/5 = 0.2",
    ),
    MetricEntry(
        name="information_lost",
        compute=FromCase(_of_saves(_measure_lost)),
        family="write path",
        summary="How much of what two memories said is gone after they were merged?",
        formula="labelled facts missing from the merged text / labelled facts",
        better=Better.LOWER,
        citation=_SAVES,
        disagreement="Facts are found as whole words, whatever their case; a paraphrase of a fact counts as lost, so"
        " label what must survive literally: numbers, names, dates.",
        example="Facts `port 8080`, `TLS 1.3`, `eu-west`; the merged text keeps the first two: 1/3 = 0.33",
    ),
    MetricEntry(
        name="false_supersede",
        compute=FromCase(_of_saves(_measure_false_supersede)),
        family="write path",
        summary="How many pairs of notes that are both true lose one of them?",
        formula="pairs that are both true of which the older note was superseded / pairs that are both true",
        better=Better.LOWER,
        parameters=(
            Parameter(
                name="facts",
                meaning="whether a pair counts as well of which the older note stays and one of its facts was ended",
                default="allow",
                choices=("allow", "count"),
            ),
        ),
        citation=_SAVES,
        disagreement="Not 1 - precision of supersede: the whole is the pairs that are both true, which are those whose"
        " labels accept store and not supersede.",
        example="Four pairs that are both true: three stored beside each other, one superseded: 1/4 = 0.25",
    ),
)
register(__name__, ENTRIES)
