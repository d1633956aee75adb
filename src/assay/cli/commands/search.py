"""`assay search`: ask the memory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from assay import wiring
from assay.cli.hits import shown
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.records import Channel, Filters, FolderMode, Intent, Mode, SearchRequest, SearchResult, Tier
from assay.records.checked import one_of

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
SessionOption = Annotated[str | None, typer.Option(metavar="ID", help="What it was given is not given again.")]
ChannelOption = Annotated[
    list[str],
    typer.Option(
        "--channel",
        metavar="NAME",
        help="Ask these channels only; may repeat: vector, fts5, bm25, graph, trigger, or one of a package.",
    ),
]
BudgetOption = Annotated[int | None, typer.Option(metavar="TOKENS", help="At most so much text.")]
ExplainOption = Annotated[bool, typer.Option("--explain", "-x", help="Show how every score was made.")]


def _read_channels(names: list[str]) -> tuple[Channel, ...] | None:
    """Read names of channels; one that a package adds is loaded with the registry."""
    if not names:
        return None
    from assay.memory.searching.channels import registering as _  # noqa: F401, PLC0415 - lets packages be found

    return tuple(one_of(Channel)(name, "--channel") for name in names)


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
        session: SessionOption = None,
        channel: ChannelOption = [],  # noqa: B006 - the same
        budget: BudgetOption = None,
        explain: ExplainOption = False,
    ) -> None:
        """Find memories: a ranked list, what every result was found by, and how its score was made."""
        filters = Filters(
            folder=folder,
            tiers=tuple(tier),
            tags=tuple(tag),
            since=moment(since, "--since"),
            until=moment(until, "--until"),
            as_of=moment(as_of, "--as-of"),
            include_superseded=include_superseded,
        )
        request = SearchRequest(
            query=query,
            k=surface.settings.search_k if k is None else k,
            mode=mode,
            intent=intent,
            filters=filters,
            folder_mode=folder_mode,
            channels=_read_channels(channel),
            session_id=session,
            token_budget=budget,
            explain=explain,
            tool_name="assay search",
        )
        with wiring.open_engine(surface.settings, create=False, run_once=True) as engine:
            found = engine.searcher.search(surface.scope, request)
        surface.result(as_json(found), shown(found, request))


def as_json(found: SearchResult) -> dict[str, Any]:
    """The whole result."""
    written: dict[str, Any] = plain(found)
    return written


def moment(text: str | None, option: str) -> datetime | None:
    """A moment as people write it: a day or a time in ISO 8601; without a zone it is UTC."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as problem:
        raise InputError(
            f"{option} {text!r} is no time", remedy="Write it as 2026-05-31 or 2026-05-31T14:00+02:00."
        ) from problem
    return found if found.tzinfo else found.replace(tzinfo=UTC)
