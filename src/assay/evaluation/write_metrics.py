"""Write-path metrics over the cases of a run that save: decisions, contradictions, stale notes, lost facts.

A decision that loses nothing counts as right, also where another is better: a case lists them, the best first.
Precision and recall of a decision are means over the saves that took it, or that should have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.evaluation.asked import Asked
from assay.metrics import outcomes, write_path
from assay.records.outcome import Outcome
from assay.records.writes import ContradictingPair, SaveDecision, SaveTask, SaveTrial, Written

DEFAULTS = ",".join(
    [
        "save_accuracy",
        *(f"{name}(decision={one})" for name in ("save_precision", "save_recall") for one in SaveDecision),
        "false_rejection_rate",
        "contradiction_coexistence",
        "contradiction_coexistence(marked=count)",
        "stale_served_rate(per=search)@5",
        "information_lost",
    ]
)


def _of_saves(compute: Callable[[Asked, SaveTask, Written], Outcome]) -> Callable[[Asked], Outcome]:
    def found(asked: Asked) -> Outcome:
        if asked.case.save is None or asked.given.saved is None:
            return outcomes.not_applicable("the case saves nothing")
        return compute(asked, asked.case.save, asked.given.saved)

    return found


def trial_of(task: SaveTask, written: Written) -> SaveTrial:
    """What was done against the best decision, or against itself where it loses nothing either."""
    right = written.decided in task.expected
    return SaveTrial(expected=written.decided if right else task.expected[0], decided=written.decided)


def _precision(asked: Asked, task: SaveTask, written: Written) -> Outcome:
    wanted = SaveDecision(asked.spec.parameter("decision"))
    if written.decided is not wanted:
        return outcomes.not_applicable(f"the save did not {wanted}")
    return outcomes.yes_or_no(trial_of(task, written).expected is wanted)


def _recall(asked: Asked, task: SaveTask, written: Written) -> Outcome:
    wanted = SaveDecision(asked.spec.parameter("decision"))
    if trial_of(task, written).expected is not wanted:
        return outcomes.not_applicable(f"the save should not {wanted}")
    return outcomes.yes_or_no(written.decided is wanted)


def _false_rejection(_: Asked, task: SaveTask, written: Written) -> Outcome:
    if trial_of(task, written).expected is SaveDecision.REJECT:
        return outcomes.not_applicable("the save should be turned away")
    return outcomes.yes_or_no(written.decided is SaveDecision.REJECT)


def _coexistence(asked: Asked, task: SaveTask, written: Written) -> Outcome:
    if not task.contradicts:
        return outcomes.not_applicable("the two notes do not contradict each other")
    pair = ContradictingPair(first_live=written.old_live, second_live=written.new_live, marked=written.marked)
    return write_path.contradiction_coexistence(pair, count_marked=asked.spec.parameter("marked") == "count")


def stale_after_save(asked: Asked, task: SaveTask) -> Outcome:
    """Whether the older note is still served where the newer one says that it no longer holds."""
    if not task.contradicts:
        return outcomes.not_applicable("the two notes do not contradict each other")
    per_search = asked.spec.parameter("per") == "search"
    return write_path.stale_served_rate(asked.given.ids, [task.after], asked.spec.cutoff, per_search=per_search)


def _lost(_: Asked, task: SaveTask, written: Written) -> Outcome:
    if written.decided is not SaveDecision.MERGE:
        return outcomes.not_applicable("nothing was merged")
    return write_path.information_lost(task.facts, written.kept)


METRICS: Mapping[str, Callable[[Asked], Outcome]] = {
    "save_accuracy": _of_saves(lambda _, task, written: write_path.save_accuracy(trial_of(task, written))),
    "save_precision": _of_saves(_precision),
    "save_recall": _of_saves(_recall),
    "false_rejection_rate": _of_saves(_false_rejection),
    "contradiction_coexistence": _of_saves(_coexistence),
    "information_lost": _of_saves(_lost),
}
"""By name; each looks at one case."""
