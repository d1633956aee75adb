"""`assay search`: ask the memory.

A search is one short process, so this module imports no verb and no record that a search does not need.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from assay.cli.hits import format_results
from assay.cli.surface import Surface, command
from assay.records import FolderMode, Intent, Mode, Tier
from assay.verbs import searching

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


def register(app: typer.Typer) -> None:
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
