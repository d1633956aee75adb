"""`assay label`: one question and one candidate at a time, a key for each grade, every key kept at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from assay import wiring
from assay.cli.keys import keys_of
from assay.cli.surface import Surface, command
from assay.clock import SystemClock
from assay.errors import InputError
from assay.evaluation.datasets import export_dataset, load_dataset
from assay.evaluation.labelling import (
    FILE_NAME,
    AgreementReport,
    Applied,
    LabelJournal,
    LabelSession,
    Task,
    agreement,
    apply_labels,
    read_tasks,
    standing,
    tasks_of,
)
from assay.formats.grid import grid

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
LABELS = "labels.jsonl"
_HELP = "0 not relevant   1 on the subject   2 a part of the answer   3 the answer   s skip   u undo   q quit"
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
        journal = LabelJournal(labels or _beside(what), clock=SystemClock())
        if agreement:
            _agree(surface, journal)
        elif apply is not None:
            _apply(surface, what, journal, apply)
        else:
            who = annotator or surface.settings.principal
            session = LabelSession(_tasks(surface, what), journal, who)
            _label(surface, session)
            told = {"labels": str(journal.path), "annotator": who, "done": session.done, "of": session.total}
            surface.result(told, f"{session.done:,} of {session.total:,} pairs are labelled by {who}: {journal.path}")


def _beside(what: str) -> Path:
    path = Path(what)
    if path.is_dir():
        return path / LABELS
    return path.with_name(LABELS) if path.is_file() else Path(f"{what.replace('@', '-')}.{LABELS}")


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
                surface.console.print(_shown(task, session, width=surface.console.width))
            done = ""
            while not done:
                key = next(keys, None)
                if key is None:
                    return
                done = session.press(key)
            if not silent:
                surface.console.print(done)


def _shown(task: Task, session: LabelSession, *, width: int) -> RenderableType:
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


def _agree(surface: Surface, journal: LabelJournal) -> None:
    found = agreement(standing(_labels(journal)), rng=np.random.default_rng(0))
    surface.result(_agreement_json(found), "\n".join(_agreement_lines(found)))


def _labels(journal: LabelJournal) -> list[Any]:
    found = journal.labels()
    if not found:
        raise InputError(f"{journal.path} has no labels yet", remedy="Label first: `assay label DATASET`.")
    return found


def _agreement_json(found: AgreementReport) -> dict[str, Any]:
    return {
        "annotators": dict(found.annotators),
        "alpha": _value(found.alpha),
        "pairwise": [{**one._asdict(), "kappa": _value(one.kappa)} for one in found.pairwise],
        "disagreements": [
            {"case": one.case_id, "document": one.document_id, "grades": dict(one.grades)}
            for one in found.disagreements
        ],
    }


def _value(one: Any) -> dict[str, Any]:
    return {"value": one.value, "interval": [one.low, one.high], "n": one.n, "method": one.method}


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
            (one.case_id, one.document_id, ", ".join(f"{who} {grade}" for who, grade in one.grades.items()))
            for one in found.disagreements[:_MOST_SHOWN]
        ]
        yield from grid(rows, indent="  ")
        if len(found.disagreements) > _MOST_SHOWN:
            yield f"  and {len(found.disagreements) - _MOST_SHOWN} more"


def _interval(one: Any) -> str:
    return "cannot be computed" if one.value is None else f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]"


def _apply(surface: Surface, what: str, journal: LabelJournal, to: Path) -> None:
    path = Path(what)
    dataset = load_dataset(
        path.parent if path.is_file() and path.suffix == ".jsonl" else what,
        registry=wiring.registry_of(surface.settings),
    )
    found = apply_labels(dataset, standing(_labels(journal)))
    kind = "anchored" if all(one.anchors for one in found.dataset.cases) else "golden"
    export_dataset(found.dataset, to, kind=kind)
    surface.result(_applied_json(found, to), "\n".join(_applied_lines(found, to)))


def _applied_json(found: Applied, to: Path) -> dict[str, Any]:
    return {
        "path": str(to),
        "cases": len(found.dataset.cases),
        "grades": found.grades,
        "accepted": found.accepted,
        "rejected": found.rejected,
        "strangers": found.strangers,
    }


def _applied_lines(found: Applied, to: Path) -> Iterator[str]:
    yield f"{found.grades:,} labels over {len(found.dataset.cases):,} cases: {to}"
    if found.accepted or found.rejected:
        yield f"Of the generated cases {found.accepted:,} count from now on; {found.rejected:,} were wrong and went."
    if found.strangers:
        yield f"{found.strangers:,} labels are about cases that are not in the dataset."
