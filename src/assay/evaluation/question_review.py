"""Review of proposed questions: keep, reword or drop each before it counts.

A decision is a label, so that `assay label --apply` and every page that shows labels know it: kept is the grade of an
answer, dropped is the grade 0. What anybody decided counts for everybody; the last decision about a question stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import BadValue, RecordNotFound
from assay.evaluation.datasets.checks import is_unlabelled
from assay.evaluation.labelling import Label, LabelJournal, Pressed, Task, rewordings, standing, tasks_of
from assay.records.datasets import Case, Dataset, ProposedQuestions, ReviewDecision, ReviewedQuestion, ReviewState
from assay.records.scope import name_of

UNREAD = "nobody"
"""Under whose name proposals are kept that nobody has read."""
KEPT_GRADE, DROPPED_GRADE = 3, 0


def list_proposals(dataset: Dataset, labels: Sequence[Label], annotator: str) -> ProposedQuestions:
    """Every proposed question of a dataset, in order, with what was decided; none where nothing was proposed."""
    worded, decided = rewordings(labels), _decisions(labels)
    questions = tuple(
        _describe(case, worded.get(case.id), decided.get(case.id), dataset.relevance_level)
        for case in dataset.cases
        if is_unlabelled(case)
    )
    mine = [case for case, label in decided.items() if label.annotator == annotator]
    states = [question.state for question in questions]
    return ProposedQuestions(
        dataset=dataset.name,
        questions=questions,
        kept=states.count(ReviewState.KEPT) + states.count(ReviewState.UNREAD),
        dropped=states.count(ReviewState.DROPPED),
        left=states.count(ReviewState.OPEN),
        last=mine[-1] if mine else "",
    )


def _decisions(labels: Sequence[Label]) -> dict[str, Label]:
    """The label that stands for each case, in the order they were given: a person's before one that nobody read."""
    order = {id(label): place for place, label in enumerate(labels)}
    given = [label for own in standing(labels).values() for label in own.values() if label.grade is not None]
    given.sort(key=lambda label: (label.annotator != UNREAD, order[id(label)]))
    found: dict[str, Label] = {}
    for label in given:
        found.pop(label.case_id, None)
        found[label.case_id] = label
    return found


def _describe(case: Case, wording: str | None, label: Label | None, level: int) -> ReviewedQuestion:
    support = case.anchors.supports[0] if case.anchors and case.anchors.supports else None
    return ReviewedQuestion(
        case_id=case.id,
        question=wording or case.query,
        proposed=case.query,
        answer=case.reference_answer or "",
        rel_path="" if support is None else support.rel_path,
        heading_path="" if support is None else support.heading_path,
        quotes=() if support is None else support.snippets,
        state=_state(label, level),
        reviewed_by="" if label is None or label.annotator == UNREAD else name_of(label.annotator),
    )


def _state(label: Label | None, level: int) -> ReviewState:
    if label is None or label.grade is None:
        return ReviewState.OPEN
    if label.grade < level:
        return ReviewState.DROPPED
    return ReviewState.UNREAD if label.annotator == UNREAD else ReviewState.KEPT


def review_question(
    dataset: Dataset,
    journal: LabelJournal,
    annotator: str,
    case_id: str,
    decision: ReviewDecision,
    *,
    wording: str | None = None,
) -> None:
    """Write a decision down; with `wording`, a question is kept in these words."""
    case = next((case for case in dataset.cases if case.id == case_id and is_unlabelled(case)), None)
    if case is None:
        raise RecordNotFound(
            f"{dataset.name} has no proposed question {case_id!r}", remedy="Name one as the list of proposals has it."
        )
    if wording is not None and decision is not ReviewDecision.KEEP:
        raise BadValue(f"a wording was given to {decision}", remedy="Only a question that is kept has a wording.")
    tasks = [task for task in tasks_of(dataset) if task.case_id == case_id]
    if decision is ReviewDecision.UNDO:
        _undo(journal, annotator, tasks)
        return
    if wording is not None:
        _reword(journal, annotator, case, tasks[0], wording)
    grade = KEPT_GRADE if decision is ReviewDecision.KEEP else DROPPED_GRADE
    for task in tasks:
        journal.add(task.key, annotator, Pressed.GRADE, grade)


def _reword(journal: LabelJournal, annotator: str, case: Case, task: Task, wording: str) -> None:
    wording = " ".join(wording.split())
    if not wording:
        raise BadValue("the wording is empty", remedy="Write the question, or drop it.")
    now = rewordings(journal.labels()).get(case.id, case.query)
    if wording != now:
        journal.add(task.key, annotator, Pressed.REWORD, wording="" if wording == case.query else wording)


def _undo(journal: LabelJournal, annotator: str, tasks: Sequence[Task]) -> None:
    """Take back this person's decision; an earlier one of theirs, and the wording, stay."""
    mine = standing(journal.labels()).get(annotator, {})
    given = [task for task in tasks if task.key in mine]
    if not given:
        raise BadValue(
            f"you decided nothing about {tasks[0].case_id!r} that could be undone",
            remedy="Only one's own decisions can be undone.",
        )
    for task in given:
        journal.add(task.key, annotator, Pressed.UNDO)
