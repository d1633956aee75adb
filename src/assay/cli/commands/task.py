"""`assay task preflight|postflight`: what an agent knows before a task and after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from assay.cli.commands.session import memory_row
from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.records import TaskEnded
from assay.verbs import sessions as session_verbs

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="A name for the task, such as fix-login.")]
KnowledgeOption = Annotated[float, typer.Option("--knowledge", help="How much of what it needs is known, 0 to 1.")]
UncertaintyOption = Annotated[float, typer.Option("--uncertainty", help="How unsure that knowledge is, 0 to 1.")]
ContextOption = Annotated[float, typer.Option("--context", help="How much of the surroundings is in view, 0 to 1.")]
SessionOption = Annotated[str | None, typer.Option("--session", help="The session whose searches belong to it.")]
FolderOption = Annotated[str, typer.Option("--folder", help="Where it belongs, such as specs/login.")]
GoalOption = Annotated[str, typer.Option("--goal", help="What is to be done.")]
ResultOption = Annotated[str, typer.Option("--result", help="How it ended.")]
UsefulOption = Annotated[list[str], typer.Option("--useful", metavar="ID", help="A memory that helped; may repeat.")]
NotUsefulOption = Annotated[
    list[str], typer.Option("--not-useful", metavar="ID", help="A memory that did not; may repeat.")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Say what is known before a task and after it.", no_args_is_help=True)
    app.add_typer(group, name="task")

    @command(group, "preflight")
    def preflight(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        task: TaskArgument,
        knowledge: KnowledgeOption,
        uncertainty: UncertaintyOption,
        in_view: ContextOption,
        session: SessionOption = None,
        folder: FolderOption = "",
        goal: GoalOption = "",
    ) -> None:
        """Begin a task; may be said again until it has ended."""
        begun = surface.call(
            session_verbs.PREFLIGHT,
            create=True,
            task_id=task,
            knowledge=knowledge,
            uncertainty=uncertainty,
            context=in_view,
            session_id=session,
            folder=folder,
            goal=goal,
        )
        told = f"began {begun.task_id}. At its end: assay task postflight {begun.task_id} ..."
        surface.show(session_verbs.PREFLIGHT, begun, told)

    @command(group, "postflight")
    def postflight(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        task: TaskArgument,
        knowledge: KnowledgeOption,
        uncertainty: UncertaintyOption,
        in_view: ContextOption,
        session: SessionOption = None,
        result: ResultOption = "",
        useful: UsefulOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        not_useful: NotUsefulOption = [],  # noqa: B006 - the same
    ) -> None:
        """End a task: what it changed, and which memories still wait for a verdict."""
        ended = surface.call(
            session_verbs.POSTFLIGHT,
            task_id=task,
            knowledge=knowledge,
            uncertainty=uncertainty,
            context=in_view,
            session_id=session,
            result=result,
            useful=useful,
            not_useful=not_useful,
        )
        surface.show(session_verbs.POSTFLIGHT, ended, "\n".join(_lines(ended)))


def _lines(ended: TaskEnded) -> Iterator[str]:
    outcome = ended.outcome
    yield f"ended {ended.task.task_id} after {outcome.duration_minutes:.1f} minutes"
    facts = [
        ("knowledge", f"{outcome.knowledge_delta:+.2f}"),
        ("uncertainty", f"{-outcome.uncertainty_reduction:+.2f}"),
        ("context", f"{outcome.context_gain:+.2f}"),
        ("learning index", f"{outcome.learning_index:+.2f}"),
    ]
    yield from grid(facts, indent="  ")
    if ended.validated:
        yield f"{ended.validated} verdicts kept"
    if ended.to_validate:
        yield from ("read in this session and not judged yet:",)
        yield from grid([memory_row(one)[:2] for one in ended.to_validate], indent="  ")
        yield f"Judge them in one go: assay task postflight {ended.task.task_id} ... --useful ID --not-useful ID"
