"""`assay label`: one question and one candidate at a time, a key for each grade, every key kept at once.

`assay dataset review`: the review of proposed questions of an imported dataset, as the dashboard shows it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from assay import wiring
from assay.cli.keys import keys_of, read_line
from assay.cli.surface import Surface, command
from assay.clock import SystemClock
from assay.errors import InputError
from assay.evaluation.datasets import load_dataset
from assay.evaluation.labelling import (
    FILE_NAME,
    REWORD,
    LabelJournal,
    LabelSession,
    Task,
    labels_beside,
    read_tasks,
    tasks_of,
)
from assay.formats.grid import grid
from assay.records.datasets import AgreementReport, AppliedLabels, ProposedQuestions, ReviewDecision
from assay.records.evaluations import Agreement
from assay.verbs import datasets as dataset_verbs
from assay.verbs import files

WhatArgument = Annotated[
    str, typer.Argument(metavar="DATASET|FILE", help="A dataset's name or folder, or a to_label.jsonl.")
]
LabelsOption = Annotated[
    Path | None, typer.Option("--labels", metavar="FILE", help="Where labels are kept; default: beside the dataset.")
]
AnnotatorOption = Annotated[
    str | None, typer.Option("--annotator", "-a", metavar="NAME", help="Who labels; default: as the settings say.")
]
AgreementOption = Annotated[bool, typer.Option("--agreement", help="Say how far people agree, and where they do not.")]
ApplyOption = Annotated[
    Path | None, typer.Option("--apply", metavar="TO", help="Write the dataset with the labels in it.")
]
ReviewNameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of an imported dataset.")]
CaseArgument = Annotated[str | None, typer.Argument(metavar="CASE", help="The question; left out: list all of them.")]
DecideOption = Annotated[
    ReviewDecision | None, typer.Option("--decide", help="Keep it, drop it, or undo your last decision about it.")
]
WordingOption = Annotated[str | None, typer.Option("--wording", metavar="TEXT", help="Keep it in these words.")]
_HELP = (
    "0 not relevant   1 on the subject   2 a part of the answer   3 the answer   e reword   s skip   u undo   q quit"
)
_PROMPT = "The question in your words (nothing: as it was): "
_MOST_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "label")
    def label(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        what: WhatArgument,
        labels: LabelsOption = None,
        annotator: AnnotatorOption = None,
        agreement: AgreementOption = False,
        apply: ApplyOption = None,
    ) -> None:
        """Label question by question in the terminal; goes on where it was stopped."""
        if agreement:
            agreed = surface.call_unopened(files.AGREEMENT, dataset=what, labels=labels)
            surface.show(files.AGREEMENT, agreed, "\n".join(_agreement_lines(agreed)))
        elif apply is not None:
            applied = surface.call_unopened(files.APPLY, dataset=what, labels=labels, to=apply)
            surface.show(files.APPLY, applied, "\n".join(_apply_lines(applied)))
        else:
            journal = LabelJournal(labels or labels_beside(what), clock=SystemClock())
            who = annotator or surface.settings.principal
            session = LabelSession(_tasks(surface, what), journal, who)
            _label(surface, session)
            told = {"labels": str(journal.path), "annotator": who, "done": session.done, "of": session.total}
            surface.result(told, f"{session.done:,} of {session.total:,} pairs are labelled by {who}: {journal.path}")


def register_review(group: typer.Typer) -> None:
    """Add `assay dataset review`."""

    @command(group, "review")
    def review(
        surface: Surface,
        name: ReviewNameArgument,
        case: CaseArgument = None,
        decide: DecideOption = None,
        wording: WordingOption = None,
    ) -> None:
        """List the questions that were proposed for a dataset, or keep, reword or drop one of them."""
        if (case is None) != (decide is None) or (wording is not None and decide is None):
            raise InputError(
                "a question and a decision belong together",
                remedy="Give both: assay dataset review NAME CASE --decide keep; or neither, to list the questions.",
            )
        if case is None or decide is None:
            found = surface.call(dataset_verbs.PROPOSALS, name=name)
            surface.show(dataset_verbs.PROPOSALS, found, "\n".join(_proposal_lines(found)))
            return
        found = surface.call(dataset_verbs.REVIEW, name=name, case_id=case, decision=decide, wording=wording)
        question = next(question for question in found.questions if question.case_id == case)
        text = f"{question.state.value}: {question.question}\n{found.left:,} of {len(found.questions):,} are left."
        surface.show(dataset_verbs.REVIEW, found, text)


def _proposal_lines(found: ProposedQuestions) -> Iterator[str]:
    total = len(found.questions)
    yield f"{total:,} proposed questions: {found.kept:,} kept, {found.dropped:,} dropped, {found.left:,} left"
    rows = [(question.case_id, question.state.value, question.question) for question in found.questions]
    yield from grid(rows, indent="  ")


def _tasks(surface: Surface, what: str) -> list[Task]:
    path = Path(what)
    if path.name == FILE_NAME and path.is_file():
        return read_tasks(path)
    if (path / FILE_NAME).is_file():
        return read_tasks(path / FILE_NAME)
    return tasks_of(load_dataset(what, registry=wiring.registry_of(surface.settings)))


def _label(surface: Surface, session: LabelSession) -> None:
    """Until everything is labelled, the person has had enough, or no key comes any more."""
    silent = surface.common.json or surface.common.quiet
    with keys_of(sys.stdin) as keys:
        while (task := session.current) is not None:
            if not silent:
                surface.console.print(_format_task(task, session, width=surface.console.width))
            done = ""
            while not done:
                key = next(keys, None)
                if key is None:
                    return
                done = session.reword(read_line(sys.stdin, _PROMPT)) if key == REWORD else session.press(key)
            if not silent:
                surface.console.print(done)


def _format_task(task: Task, session: LabelSession, *, width: int) -> RenderableType:
    """The question and the candidate side by side."""
    lines = task.text.strip().splitlines()
    more = f"\n... {len(lines) - _MOST_SHOWN} more lines" if len(lines) > _MOST_SHOWN else ""
    table = Table.grid(expand=True)
    table.add_column(ratio=1)
    table.add_column(ratio=2)
    table.add_row(
        Panel(Text(task.query), title=Text(f"{session.done + 1} of {session.total}"), width=max(20, width // 3)),
        Panel(Text("\n".join(lines[:_MOST_SHOWN]) + more), title=Text(task.title or task.document_id)),
    )
    return Group(table, Text(_HELP, style="dim"))


def _agreement_lines(found: AgreementReport) -> Iterator[str]:
    for pair in found.pairwise:
        share = pair.same / pair.pairs
        told = f"{pair.same} of {pair.pairs} pairs alike ({share:.0%}), kappa {_interval(pair.kappa)}"
        yield f"{pair.first} and {pair.second}: {told}"
    yield f"alpha {_interval(found.alpha)} over {found.alpha.n} pairs"
    if found.disagreements:
        yield ""
        yield f"{len(found.disagreements)} pairs graded differently, the farthest apart first:"
        rows = [
            (
                disagreement.case_id,
                disagreement.document_id,
                ", ".join(f"{who} {grade}" for who, grade in disagreement.grades.items()),
            )
            for disagreement in found.disagreements[:_MOST_SHOWN]
        ]
        yield from grid(rows, indent="  ")
        if len(found.disagreements) > _MOST_SHOWN:
            yield f"  and {len(found.disagreements) - _MOST_SHOWN} more"


def _interval(one: Agreement) -> str:
    return "cannot be computed" if one.value is None else f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]"


def _apply_lines(found: AppliedLabels) -> Iterator[str]:
    yield f"{found.grades:,} labels over {found.cases:,} cases: {found.path}"
    if found.accepted or found.rejected:
        yield f"Of the generated cases {found.accepted:,} count from now on; {found.rejected:,} were wrong and went."
    if found.reworded:
        yield f"{found.reworded:,} questions are asked in other words."
    if found.strangers:
        yield f"{found.strangers:,} labels are about cases that are not in the dataset."
