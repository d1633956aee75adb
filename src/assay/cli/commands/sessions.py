"""Commands for sessions of an agent and their searches: session, attribution and task.

- `assay session list|show`: what happened in a session, and its numbers.
- `assay attribution`: what each channel gave to the searches of use.
- `assay task preflight|postflight`: what an agent reports to know before and after a task.
- `assay task outcomes`: the searches of tasks by how the tasks ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.records import (
    Pressure,
    RecentSessions,
    SessionMemory,
    SessionSummary,
    SessionTotals,
    SummarisedQuery,
    TaskEnded,
    TaskOutcome,
    TaskOutcomes,
    TaskRecord,
)
from assay.records.attribution import Attribution
from assay.records.sessions import MEASURE_TITLES, GroupComparison, GroupDifference
from assay.verbs import sessions as session_verbs

# --- `assay session list|show`: what happened in a session, and its numbers ---

SessionArgument = Annotated[str, typer.Argument(metavar="ID", help="The session, as searches named it.")]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", help="Sessions on a page, 1 to 200.")]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", metavar="TEXT", help="Continue behind a page: what it ends with.")
]
PRESSED = (Pressure.LOW.value, Pressure.HIGH.value, Pressure.CRITICAL.value)
VERDICTS = {True: "useful", False: "not useful", None: ""}


def register_session(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Look at sessions: searches, reads, verdicts, tasks.", no_args_is_help=True)
    app.add_typer(group, name="session")

    @command(group, "list")
    def list_recent(surface: Surface, limit: LimitOption = 20, cursor: CursorOption = None) -> None:
        """List the sessions with the newest searches first."""
        page = surface.call(session_verbs.LIST_SESSIONS, limit=limit, cursor=cursor)
        surface.show(session_verbs.LIST_SESSIONS, page, "\n".join(_page_lines(page)))

    @command(group, "show")
    def show(surface: Surface, session_id: SessionArgument) -> None:
        """Show a session's searches with what was read and judged after each, its tasks and its numbers."""
        found = surface.call(session_verbs.SHOW_SESSION, session_id=session_id)
        surface.show(session_verbs.SHOW_SESSION, found, "\n".join(_format_session(found)))


def _page_lines(page: RecentSessions) -> Iterator[str]:
    if not page.sessions:
        yield 'No sessions yet. Give a search one: assay search "..." --session NAME'
        return
    rows = [
        (
            session.session_id,
            f"{session.searches:,}",
            f"{session.re_searches:,}",
            f"{session.last_at:%Y-%m-%d %H:%M}",
        )
        for session in page.sessions
    ]
    yield from grid([("session", "searches", "asked again", "last"), *rows])
    if page.next_cursor is not None:
        yield f"More: add --cursor {page.next_cursor}"


def _format_session(found: SessionSummary) -> Iterator[str]:
    yield f"{found.session_id}, since {found.began_at:%Y-%m-%d %H:%M}"
    yield from ("", *grid(list(_totals(found.totals)), indent="  "))
    if found.queries:
        yield from ("", "searches", *grid([_query(query) for query in found.queries], indent="  "))
    if found.memories:
        yield from ("", "memories", *grid([memory_row(memory) for memory in found.memories], indent="  "))
    if found.tasks:
        yield from ("", "tasks", *grid([_task(task) for task in found.tasks], indent="  "))


def _totals(totals: SessionTotals) -> Iterator[tuple[str, str]]:
    yield "searches", f"{totals.total_searches:,}"
    yield "memories given", f"{totals.memories_given:,}, of which {totals.total_memories_accessed:,} were read"
    again = "no searches" if totals.re_search_rate is None else f"{totals.re_search_rate:.0%} of the searches"
    yield "asked again", again
    yield "searches per need", _describe_friction(totals)
    yield "held back", f"{totals.held_back:,} results it had already: {totals.tokens_saved:,} tokens saved"
    yield "MRR", "no search was judged" if totals.avg_mrr is None else f"{totals.avg_mrr:.3f} over the judged searches"
    yield "minutes", f"{totals.session_duration_minutes:.1f}"


def _describe_friction(totals: SessionTotals) -> str:
    if totals.searches_per_need is None:
        return "no searches"
    needs = "1 need" if totals.needs == 1 else f"{totals.needs:,} needs"
    meaning = "the first search was always enough" if totals.searches_per_need == 1 else "1.0 would be no friction"
    return f"{totals.searches_per_need:.1f} over {needs}: {meaning}"


def _query(one: SummarisedQuery) -> tuple[str, str, str]:
    marks = [f"{len(one.result_ids)} results"]
    marks += [f"{len(one.selected_ids)} read"] if one.selected_ids else []
    marks += [f"{memory_id} {VERDICTS[useful]}" for memory_id, useful in one.validated]
    marks += ["asked again"] if one.searched_again else []
    marks += [f"{one.pressure_level} token pressure"] if one.pressure_level in PRESSED else []
    query = one.query if len(one.query) <= 60 else one.query[:57] + "..."
    return f"{one.asked_at:%H:%M}", " ".join(query.split()), ", ".join(marks)


def memory_row(one: SessionMemory) -> tuple[str, str, str, str]:
    """A memory as a session met it."""
    title = "(no longer there)" if one.title is None else one.title
    return one.memory_id, title[:50], "read" if one.read else f"shown {one.shown}x", VERDICTS[one.useful]


def _task(task: TaskRecord) -> tuple[str, str, str]:
    change = task.change
    if change is None:
        return task.task_id, "not ended", task.goal[:60]
    ended = "ended" if task.outcome is None else task.outcome.value
    return task.task_id, f"{ended}, learning {change.learning_index:+.2f}", task.goal[:60]


# --- `assay attribution`: what each channel gave to the searches of use ---

SinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="From this time (UTC) on; default: 30 days before."),
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Before this time (UTC); default: now.")
]


def register_attribution(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "attribution")
    def attribution(surface: Surface, since: SinceOption = None, until: UntilOption = None) -> None:
        """Show what each channel gave to the searches of use: results it found, alone, and of those that were used."""
        found = surface.call(session_verbs.ATTRIBUTION, since=since, until=until)
        surface.show(session_verbs.ATTRIBUTION, found, "\n".join(_format_attribution(found)))


def _format_attribution(found: Attribution) -> Iterator[str]:
    from assay.online.attribution import rows_of  # noqa: PLC0415 - the extra "memory"

    period = f"from {found.since:%Y-%m-%d %H:%M} until {found.until:%Y-%m-%d %H:%M}"
    if not found.searches:
        yield f"No search of use is logged {period}."
        return
    yield f"{found.searches:,} searches of use {period}: {found.results:,} results shown, {found.used:,} of them used"
    if found.mean_used_rank is not None:
        yield f"Used results stood at rank {found.mean_used_rank:.1f} on average"
    yield from grid(rows_of(found))
    yield "A result that two channels found counts for both. Used: read, quoted or called useful."


# --- `assay task preflight|postflight`: what an agent reports to know before and after a task ---

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="A name for the task, such as fix-login.")]
KnowledgeOption = Annotated[float, typer.Option("--knowledge", help="How much of what it needs is known, 0 to 1.")]
UncertaintyOption = Annotated[float, typer.Option("--uncertainty", help="How unsure that knowledge is, 0 to 1.")]
ContextOption = Annotated[float, typer.Option("--context", help="How much of the surroundings is in view, 0 to 1.")]
SessionOption = Annotated[str | None, typer.Option("--session", help="The session whose searches belong to it.")]
FolderOption = Annotated[str, typer.Option("--folder", help="Where it belongs, such as specs/login.")]
GoalOption = Annotated[str, typer.Option("--goal", help="What is to be done.")]
ResultOption = Annotated[str, typer.Option("--result", help="How it ended, in words.")]
OutcomeOption = Annotated[TaskOutcome | None, typer.Option("--outcome", help="How it ended.")]
UsefulOption = Annotated[list[str], typer.Option("--useful", metavar="ID", help="A memory that helped; may repeat.")]
NotUsefulOption = Annotated[
    list[str], typer.Option("--not-useful", metavar="ID", help="A memory that did not; may repeat.")
]


def register_task(app: typer.Typer) -> None:
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
        """Begin a task; may be repeated until the task has ended."""
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
        outcome: OutcomeOption = None,
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
            outcome=outcome,
            useful=useful,
            not_useful=not_useful,
        )
        surface.show(session_verbs.POSTFLIGHT, ended, "\n".join(_format_task(ended)))

    @command(group, "outcomes")
    def outcomes(surface: Surface) -> None:
        """Compare the searches of tasks that were done with those of tasks that failed, with intervals."""
        found = surface.call(session_verbs.OUTCOMES)
        surface.show(session_verbs.OUTCOMES, found, "\n".join(_format_outcomes(found)))


def _format_task(ended: TaskEnded) -> Iterator[str]:
    change = ended.change
    said = "" if ended.task.outcome is None else f", {ended.task.outcome.value}"
    yield f"ended {ended.task.task_id} after {change.duration_minutes:.1f} minutes{said}"
    facts = [
        ("knowledge", f"{change.knowledge_delta:+.2f}"),
        ("uncertainty", f"{-change.uncertainty_reduction:+.2f}"),
        ("context", f"{change.context_gain:+.2f}"),
        ("learning index", f"{change.learning_index:+.2f}"),
    ]
    yield from grid(facts, indent="  ")
    if ended.validated:
        yield f"{ended.validated} verdicts kept"
    if ended.to_validate:
        yield from ("read in this session and not judged yet:",)
        yield from grid([memory_row(memory)[:2] for memory in ended.to_validate], indent="  ")
        yield f"Judge them in one go: assay task postflight {ended.task.task_id} ... --useful ID --not-useful ID"


# --- `assay task outcomes`: the searches of tasks by how the tasks ended ---


def _format_outcomes(found: TaskOutcomes) -> Iterator[str]:
    if not found.ended:
        yield "No task has ended yet. Say how one ended: assay task postflight TASK ... --outcome done"
        return
    yield f"{found.ended:,} ended tasks, of which {found.without_searches:,} have no searches"
    if found.without_outcome:
        yield f"{found.without_outcome:,} do not say how they ended: assay task postflight TASK ... --outcome done"
    for comparison in found.comparisons:
        yield from ("", f"by {comparison.by}", *grid(_comparison_rows(comparison), indent="  "), comparison.conclusion)
    yield from ("", found.caution)


def _comparison_rows(comparison: GroupComparison) -> list[tuple[str, ...]]:
    groups = comparison.groups
    differences = {difference.measure: difference for difference in comparison.differences}
    measures = [{entry.measure: entry for entry in group.measures} for group in groups]
    rows = [
        ("", *(group.name for group in groups), f"{groups[0].name} - {groups[1].name}"),
        ("tasks", *(f"{group.tasks:,}" for group in groups), ""),
        ("with searches", *(f"{group.searched:,}" for group in groups), ""),
        ("searches", *(f"{group.searches:,}" for group in groups), ""),
    ]
    for measure, title in MEASURE_TITLES.items():
        means = (f"{own[measure].mean:.3f}" if measure in own else "-" for own in measures)
        rows.append((title, *means, _format_difference(differences.get(measure))))
    return rows


def _format_difference(difference: GroupDifference | None) -> str:
    if difference is None:
        return "-"
    if difference.low is None or difference.high is None:
        return f"{difference.difference:+.3f}, no interval"
    return f"{difference.difference:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    register_session(app)
    register_attribution(app)
    register_task(app)
