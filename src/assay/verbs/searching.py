"""Verbs that find: search, context for a task, and memories whose trigger phrases stand in a text."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.records import (
    Channel,
    Filters,
    FolderMode,
    Intent,
    Mode,
    PackedContext,
    SearchRequest,
    SearchResult,
    Tier,
)
from assay.records.searching import MATCH_TRIGGERS, add_channel
from assay.verbs import agent_text
from assay.verbs.fields import (
    LONGEST_QUERY,
    MOST_LABELS,
    MOST_RESULTS,
    Count,
    Labels,
    Moment,
    SessionId,
    Share,
    YesNo,
)
from assay.verbs.verb import Caller, Family, HttpRoute, McpTool, Request, Surface, Verb

MOST_TIERS = 10
MOST_CHANNELS = 20
LARGEST_BUDGET = 1_000_000
LARGEST_CONTEXT = 200_000

QueryText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_QUERY,
        description=f'Words or a question, up to {LONGEST_QUERY:,} characters; "quoted" words as a phrase.',
    ),
]
Folder = Annotated[
    str | None, Field(max_length=500, description="Only this folder and what is below it, such as decisions/auth.")
]

ContextType = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=500,
        description="The kind of work you do, such as implementation: memories saved for it are raised a little.",
    ),
]
TokensUsed = Annotated[
    int,
    Field(
        strict=True,
        ge=0,
        le=LARGEST_BUDGET,
        description="Tokens of the token_budget that your context already holds: you get what is left, and from 75 % "
        "on, a search in mode auto does less work.",
    ),
]


class MemorySearchRequest(Request):
    """What to look for."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "why do we poll the oven", "k": 5, "session_id": "s1"}]}
    )

    query: QueryText
    k: Count = None
    mode: Annotated[Mode, Field(description="How much work to do; auto decides by the query.")] = Mode.AUTO
    intent: Annotated[Intent | None, Field(description="What you are after; guessed if left out.")] = None
    folder: Folder = None
    folder_mode: Annotated[FolderMode, Field(description="Whether to choose folders by the query.")] = FolderMode.OFF
    tiers: Annotated[tuple[Tier, ...], Field(max_length=MOST_TIERS, description="Only memories of these tiers.")] = ()
    tags: Annotated[Labels, Field(description=f"Only memories with all of these tags, up to {MOST_LABELS}.")] = ()
    since: Annotated[Moment | None, Field(description="Valid from this moment or later, in ISO 8601.")] = None
    until: Annotated[Moment | None, Field(description="Valid from before this moment, in ISO 8601.")] = None
    as_of: Annotated[Moment | None, Field(description="What was current at this moment, in ISO 8601.")] = None
    include_superseded: Annotated[YesNo, Field(description="Also what has been replaced.")] = False
    channels: Annotated[
        tuple[Channel, ...] | None,
        Field(
            min_length=1,
            max_length=MOST_CHANNELS,
            description=f"Ask these channels only, up to {MOST_CHANNELS}: {', '.join(Channel)}, or one that a package "
            "adds. Left out: those of the mode.",
        ),
    ] = None
    context_type: ContextType = None
    token_budget: Annotated[
        int | None,
        Field(strict=True, ge=0, le=LARGEST_BUDGET, description="The most tokens of text in the hits."),
    ] = None
    tokens_used: TokensUsed = 0
    min_relevance: Annotated[
        Share | None,
        Field(
            description="Leave out results whose probability of being relevant is lower, 0 to 1; 0 leaves out none. "
            "Left out: as the settings say."
        ),
    ] = None
    previous_query: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=LONGEST_QUERY,
            description="The question before this one in the same conversation. It counts a little, so that a "
            'follow-up such as "and how much is it?" is understood. Left out: the query stands alone.',
        ),
    ] = None
    session_id: SessionId = None
    explain: Annotated[
        YesNo, Field(description="Also give every number behind each score, and every step of the search.")
    ] = False


class ContextRequest(Request):
    """What the context is for."""

    query: QueryText
    token_budget: Annotated[
        int,
        Field(
            strict=True,
            ge=50,
            le=LARGEST_CONTEXT,
            description=f"Tokens the context may have, 50 to {LARGEST_CONTEXT:,}; 2,000 if left out.",
        ),
    ] = 2_000
    k: Annotated[
        int,
        Field(
            strict=True,
            ge=1,
            le=MOST_RESULTS,
            description=f"The most results, 1 to {MOST_RESULTS}; 20 if left out.",
        ),
    ] = 20
    folder: Folder = None
    context_type: ContextType = None
    tokens_used: TokensUsed = 0
    session_id: SessionId = None


class TriggersRequest(Request):
    """What is being talked about."""

    text: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST_QUERY,
            description=f"What was said, up to {LONGEST_QUERY:,} characters; phrases are found in it word for word.",
        ),
    ]
    k: Count = None
    session_id: SessionId = None


def search(caller: Caller, request: MemorySearchRequest) -> SearchResult:
    """Search the memory; the steps of the search are given only when asked to explain."""
    filters = Filters(
        folder=request.folder or None,
        tiers=request.tiers,
        tags=request.tags,
        since=request.since,
        until=request.until,
        as_of=request.as_of,
        include_superseded=request.include_superseded,
    )
    found = _find(
        caller,
        SearchRequest(
            query=request.query,
            k=request.k or caller.settings.search_k,
            mode=request.mode,
            intent=request.intent,
            filters=filters,
            folder_mode=request.folder_mode,
            channels=request.channels,
            previous_query=request.previous_query,
            session_id=request.session_id,
            token_budget=request.token_budget,
            tokens_used=request.tokens_used,
            min_relevance=_choose_min_relevance(caller, request),
            context_type=request.context_type,
            explain=request.explain,
            tool_name=_tool_name(caller, "search"),
        ),
    )
    return found if request.explain else replace(found, stages=())


def pack_context(caller: Caller, request: ContextRequest) -> PackedContext:
    """Pack what is to be known for a task into a token budget."""
    packed = caller.engine.context(
        caller.scope,
        SearchRequest(
            query=request.query,
            k=request.k,
            filters=Filters(folder=request.folder or None),
            session_id=request.session_id,
            token_budget=request.token_budget,
            tokens_used=request.tokens_used,
            context_type=request.context_type,
            tool_name=_tool_name(caller, "context"),
        ),
    )
    _keep_up(caller)
    return packed


def match_triggers(caller: Caller, request: TriggersRequest) -> SearchResult:
    """Find memories one of whose trigger phrases stands in a text."""
    found = _find(
        caller,
        SearchRequest(
            query=request.text,
            k=request.k or caller.settings.search_k,
            mode=Mode.QUICK,
            folder_mode=FolderMode.OFF,
            channels=(Channel.TRIGGER,),
            session_id=request.session_id,
            tool_name=MATCH_TRIGGERS,
        ),
    )
    return replace(found, stages=())


def _choose_min_relevance(caller: Caller, request: MemorySearchRequest) -> float | None:
    """Return what the caller named, else what the settings say for its surface; None: nothing is left out."""
    settings = caller.settings
    default = settings.mcp_min_relevance if caller.surface is Surface.MCP else settings.search_min_relevance
    return (default if request.min_relevance is None else request.min_relevance) or None


def _find(caller: Caller, request: SearchRequest) -> SearchResult:
    found = caller.engine.search(caller.scope, request)
    _keep_up(caller)
    return found


def _keep_up(caller: Caller) -> None:
    """Re-embed in the background where the process lives on; a command ends, and would only be held up."""
    if caller.surface is not Surface.COMMAND_LINE:
        caller.engine.keep_up(caller.scope)


def _tool_name(caller: Caller, what: str) -> str:
    """Return what the search log says was used; over HTTP, `via` does not tell a search from a context."""
    return f"{caller.via} {what}" if caller.surface is Surface.HTTP else caller.via


def know_channels(told: Any) -> None:
    """Make the channels known that a result tells of: the server may have packages that this program has not."""
    for hit in told["hits"]:
        for name in hit["channels"]:
            add_channel(name)
        for passage in (hit["explanation"] or {"passages": ()})["passages"]:
            for vote in passage["votes"]:
                add_channel(vote["channel"])


NOT_FOR_AGENTS = frozenset({
    "trace_id", "fusion", "weights", "stages", "telemetry", "excluded_folders", "chosen_folders", "cold_start",
    "below_cut", "below_threshold", "cosines",
})  # fmt: skip
"""How a search went inside: of no use to an agent, and every word of an answer fills its context."""

SEARCH = Verb(
    name="memory.search",
    summary="Find what the memory knows: a ranked list of memories with the passages that match.",
    act=acts.MEMORY_SEARCH,
    request=MemorySearchRequest,
    result=SearchResult,
    before_reading=know_channels,
    call=search,
    http=HttpRoute("POST", "/api/memory/search"),
    tool=McpTool(
        name="memory_search",
        title="Search the memory",
        description="Find what the memory knows: a ranked list of memories with the passages that match.",
        masked=NOT_FOR_AGENTS,
        read_as=agent_text.read_search,
    ),
    command="search",
    client="search",
    python="Memory.search",
)
CONTEXT = Verb(
    name="memory.context",
    summary="Pack everything to know for a task into a token budget: standing rules first, then what is relevant.",
    act=acts.MEMORY_SEARCH,
    request=ContextRequest,
    result=PackedContext,
    before_reading=know_channels,
    call=pack_context,
    http=HttpRoute("POST", "/api/memory/context"),
    tool=McpTool(
        name="memory_context",
        title="Context for a task",
        description="Everything to know for a task, packed into a token budget: standing rules first, then what is "
        "relevant of a search.",
        read_as=agent_text.read_context,
    ),
    client="context",
    python="Memory.context",
)
TRIGGERS = Verb(
    name="memory.match_triggers",
    summary="Find memories one of whose trigger phrases stands in a text word for word.",
    act=acts.MEMORY_SEARCH,
    request=TriggersRequest,
    result=SearchResult,
    before_reading=know_channels,
    call=match_triggers,
    http=HttpRoute("POST", "/api/memory/match-triggers"),
    tool=McpTool(
        name=MATCH_TRIGGERS,
        title="Match trigger phrases",
        description="Memories one of whose trigger phrases stands in a text word for word. Cheap: ask with what the "
        "user just said.",
        masked=NOT_FOR_AGENTS,
        read_as=agent_text.read_search,
    ),
    client="match_triggers",
    python="Memory.match_triggers",
)

FAMILY = Family(name="searching", verbs=(SEARCH, CONTEXT, TRIGGERS))
