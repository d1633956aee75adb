"""Commands for searching and for feedback on results: search, validate, rate, observe.

- `assay search`: ask the memory.
- `assay validate`: say that a memory was useful, or was not.
- `assay rate`: say that an answer was useful, or was not.
- `assay observe`: record what an agent read or wrote, as evidence of which results were useful.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from assay.cli.commands.memories import IdArgument
from assay.cli.hits import format_results
from assay.cli.surface import Surface, command
from assay.records import FolderMode, Intent, Mode, Tier
from assay.records.learning import Observed, Validated
from assay.verbs import research as research_verbs
from assay.verbs import searching, usage

# --- `assay search`: ask the memory ---

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help='Words, a question; "quoted" words as a phrase.')]
CountOption = Annotated[int | None, typer.Option("-k", metavar="N", help="How many results.")]
ModeOption = Annotated[Mode, typer.Option(help="How much work to do.")]
IntentOption = Annotated[Intent | None, typer.Option(help="What you are after; otherwise it is guessed.")]
FolderOption = Annotated[str | None, typer.Option(help="This folder and everything below it only.")]
FolderModeOption = Annotated[FolderMode, typer.Option("--folder-mode", help="Whether to choose folders by the query.")]
TierOption = Annotated[list[Tier], typer.Option("--tier", help="These tiers only; may repeat.")]
TagOption = Annotated[list[str], typer.Option("--tag", help="With all of these tags; may repeat.")]
SinceOption = Annotated[str | None, typer.Option(metavar="TIME", help="Valid from this moment or later.")]
UntilOption = Annotated[str | None, typer.Option(metavar="TIME", help="Valid from before this moment.")]
AsOfOption = Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="What was current at this moment.")]
SupersededOption = Annotated[bool, typer.Option("--include-superseded", help="Also what has been replaced.")]
PreviousOption = Annotated[
    str | None,
    typer.Option("--previous-query", metavar="TEXT", help="The question before this one in the same conversation."),
]
SearchSessionOption = Annotated[str | None, typer.Option(metavar="ID", help="What it was given is not given again.")]
ChannelOption = Annotated[
    list[str],
    typer.Option(
        "--channel",
        metavar="NAME",
        help="Ask these channels only; may repeat: vector, fts5, bm25, graph, trigger, or one of a package.",
    ),
]
SearchContextOption = Annotated[
    str | None,
    typer.Option("--context-type", metavar="TYPE", help="The kind of work you do; its memories are raised a little."),
]
BudgetOption = Annotated[int | None, typer.Option(metavar="TOKENS", help="The most tokens of text.")]
UsedOption = Annotated[
    int,
    typer.Option(
        "--tokens-used", metavar="TOKENS", help="Of the budget, already used: from 75 % on, auto searches with less."
    ),
]
RelevanceOption = Annotated[
    float | None,
    typer.Option(
        "--min-relevance", metavar="SHARE", help="Leave out results with a lower probability of being relevant, 0 to 1."
    ),
]
ExplainOption = Annotated[bool, typer.Option("--explain", "-x", help="Show how every score was made.")]


def register_search(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "search")
    def search(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        query: QueryArgument,
        k: CountOption = None,
        mode: ModeOption = Mode.AUTO,
        intent: IntentOption = None,
        folder: FolderOption = None,
        folder_mode: FolderModeOption = FolderMode.OFF,
        tier: TierOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        tag: TagOption = [],  # noqa: B006 - the same
        since: SinceOption = None,
        until: UntilOption = None,
        as_of: AsOfOption = None,
        include_superseded: SupersededOption = False,
        previous_query: PreviousOption = None,
        session: SearchSessionOption = None,
        channel: ChannelOption = [],  # noqa: B006 - the same
        context_type: SearchContextOption = None,
        budget: BudgetOption = None,
        tokens_used: UsedOption = 0,
        min_relevance: RelevanceOption = None,
        explain: ExplainOption = False,
    ) -> None:
        """Find memories: a ranked list, what every result was found by, and how its score was made."""
        if channel:
            # Lets channels of packages be found by their names, before the request is read.
            from assay.memory.searching import channels as _  # noqa: F401, PLC0415
        given: dict[str, Any] = {
            "query": query,
            "k": k,
            "mode": mode,
            "intent": intent,
            "folder": folder,
            "folder_mode": folder_mode,
            "tiers": tier,
            "tags": tag,
            "since": since,
            "until": until,
            "as_of": as_of,
            "include_superseded": include_superseded,
            "previous_query": previous_query,
            "session_id": session,
            "channels": channel or None,
            "context_type": context_type,
            "token_budget": budget,
            "tokens_used": tokens_used,
            "min_relevance": min_relevance,
            "explain": explain,
        }
        found = surface.call(searching.SEARCH, run_once=True, **given)
        surface.show(searching.SEARCH, found, format_results(found, searching.SEARCH.make(given)))


# --- `assay validate`: say that a memory was useful, or was not ---

UsefulOption = Annotated[bool, typer.Option("--useful/--not-useful", help="What it was worth.")]
ValidateSessionOption = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="The session; its newest query that returned it is meant.")
]
QueryOption = Annotated[str | None, typer.Option("--query", metavar="ID", help="The query that returned it.")]
ValidateKeyOption = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help="Sent twice under one key, it counts once.")
]
NoteOption = Annotated[str, typer.Option("--note", metavar="TEXT", help="Why, in a sentence.")]


def register_validate(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "validate")
    def validate(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        memory_id: IdArgument,
        useful: UsefulOption = True,
        session: ValidateSessionOption = None,
        query: QueryOption = None,
        key: ValidateKeyOption = None,
        note: NoteOption = "",
    ) -> None:
        """Say that a memory was useful (+0.10 confidence) or was not (-0.05); often enough, it rises a tier."""
        done = surface.call(
            usage.VALIDATE,
            run_once=True,
            memory_id=memory_id,
            was_useful=useful,
            session_id=session,
            query_id=query,
            event_key=key,
            note=note,
        )
        surface.show(usage.VALIDATE, done, describe_validation(done))


def describe_validation(done: Validated) -> str:
    """Describe what a validation changed."""
    if not done.counted:
        return f"{done.memory_id}: nothing changed, {done.reason}; confidence {done.confidence:.2f}"
    moved = f"{done.confidence_before:.2f} -> {done.confidence:.2f}"
    after = "1 validation" if done.validation_count == 1 else f"{done.validation_count} validations"
    lines = [f"{done.memory_id}: confidence {moved} after {after}"]
    if done.promoted:
        lines.append(f"  promoted: {done.tier_before.value} -> {done.tier.value}")
    if done.query_id is not None:
        place = "" if done.rank is None else f", at rank {done.rank}"
        lines.append(f"  for the query {done.query_id}{place}")
    return "\n".join(lines)


# --- `assay rate`: say that an answer was useful, or was not ---

AnswerArgument = Annotated[str, typer.Argument(metavar="ID", help="The log id of an answer, as `assay ask` tells it.")]


def register_rate(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "rate")
    def rate(surface: Surface, log_id: AnswerArgument, useful: UsefulOption = True) -> None:
        """Say that an answer was useful or was not: it counts for the memories that it cites."""
        rating = surface.call(research_verbs.RATE, run_once=True, log_id=log_id, was_useful=useful)
        surface.show(research_verbs.RATE, rating, "\n".join(map(describe_validation, rating.memories)))


# --- `assay observe`: record what an agent read or wrote, as evidence of which results were useful ---

ObserveSessionOption = Annotated[str, typer.Option("--session", metavar="ID", help="The session that was observed.")]
MemoryOption = Annotated[str | None, typer.Option("--memory", metavar="ID", help="A memory that was read.")]
PathOption = Annotated[str | None, typer.Option("--path", metavar="PATH", help="The path of a file that was read.")]
WroteOption = Annotated[
    str | None, typer.Option("--wrote", metavar="TEXT", help="A text that was written; - reads standard input.")
]
ObserveKeyOption = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help="Sent twice under one key, it counts once.")
]


def register_observe(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "observe")
    def observe(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        session: ObserveSessionOption,
        memory: MemoryOption = None,
        path: PathOption = None,
        wrote: WroteOption = None,
        key: ObserveKeyOption = None,
    ) -> None:
        """Record what an agent read or wrote in a session, as feedback on its searches."""
        text = sys.stdin.read() if wrote == "-" else wrote
        given = {"session_id": session, "memory_id": memory, "path": path, "wrote": text, "event_key": key}
        event = {name: value for name, value in given.items() if value is not None}
        done = surface.call(usage.RECORD, run_once=True, events=[event])
        surface.show(usage.RECORD, done, _describe_events(done.recorded[0], session))


def _describe_events(done: Observed, session: str) -> str:
    if not done.events:
        return f"nothing recorded: no search of the session {session} returned it"
    lines = [f"{done.new} new, {done.repeated} recorded before"]
    for event in done.events:
        place = "" if event.rank_in_results is None else f" at rank {event.rank_in_results}"
        lines.append(f"  {event.event_type.value:<18} {event.memory_id or ''}{place} of {event.query_id}")
    return "\n".join(lines)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    register_search(app)
    register_validate(app)
    register_rate(app)
    register_observe(app)
