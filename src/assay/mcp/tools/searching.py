"""Tools that find: `memory_search`, `memory_context`, `memory_match_triggers`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field
from pydantic_core import to_jsonable_python

from assay.access import acts
from assay.mcp.framing import NOTICE, About
from assay.mcp.tool import Arguments, Calling, Moment, Result, SessionId, Tool
from assay.records import (
    Author,
    AuthorKind,
    Channel,
    Contradiction,
    Filters,
    FolderMode,
    HeldBack,
    Hit,
    Intent,
    Mode,
    Pinned,
    SearchRequest,
    SearchResult,
    Tier,
)

LONGEST_QUERY = 20_000
MOST_RESULTS = 50

Query = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_QUERY,
        description=f'Words or a question, up to {LONGEST_QUERY:,} characters; "quoted" words as a phrase.',
    ),
]
Count = Annotated[
    int | None,
    Field(
        ge=1, le=MOST_RESULTS, description=f"How many results, 1 to {MOST_RESULTS}; as the server is set if left out."
    ),
]
Folder = Annotated[
    str | None, Field(max_length=500, description="Only this folder and what is below it, such as decisions/auth.")
]


class SearchArguments(Arguments):
    """What to look for."""

    query: Query
    k: Count = None
    mode: Annotated[Mode, Field(description="How much work to do; auto decides by the query.")] = Mode.AUTO
    intent: Annotated[Intent | None, Field(description="What you are after; guessed if left out.")] = None
    folder: Folder = None
    tiers: Annotated[tuple[Tier, ...], Field(max_length=10, description="Only memories of these tiers.")] = ()
    tags: Annotated[
        tuple[Annotated[str, Field(max_length=500)], ...],
        Field(max_length=50, description="Only memories with all of these tags, up to 50."),
    ] = ()
    since: Annotated[Moment | None, Field(description="Valid from this moment or later, in ISO 8601.")] = None
    until: Annotated[Moment | None, Field(description="Valid from before this moment, in ISO 8601.")] = None
    as_of: Annotated[Moment | None, Field(description="What was current at this moment, in ISO 8601.")] = None
    include_superseded: Annotated[bool, Field(description="Also what has been replaced.")] = False
    token_budget: Annotated[
        int | None, Field(ge=0, le=1_000_000, description="At most so many tokens of text in the hits.")
    ] = None
    session_id: SessionId = None
    explain: Annotated[bool, Field(description="Also give every number behind each score.")] = False


class WrittenBy(Result):
    """Who wrote a memory."""

    name: str
    kind: AuthorKind


class OtherView(Result):
    """Another memory that says otherwise."""

    memory_id: str
    author: WrittenBy


class FoundMemory(Result):
    """One memory that was found."""

    memory_id: str
    rank: int
    score: float
    title: str
    text: str
    """The passages that matched, in document order."""
    heading: str
    tier: Tier
    folder: str
    path: str
    tags: list[str]
    found_by: list[Channel]
    tokens: int
    updated_at: datetime
    superseded_at: datetime | None
    author: WrittenBy
    """Trust what a person wrote before what a program wrote."""
    contradicts: list[OtherView]
    """Current memories that it was saved against."""
    contradicted_by: list[OtherView]
    """Current memories that were saved against it."""
    explanation: dict[str, Any] | None


class PinnedMemory(Result):
    """A constitutional memory: it comes with every answer."""

    memory_id: str
    title: str
    text: str
    tokens: int


class HeldBackMemory(Result):
    """A result named without its text: this session was given the text a few searches ago."""

    memory_id: str
    """Give it to memory_load to read the text again."""
    title: str
    score: float
    tokens: int


class Found(Result):
    """The answer of a search."""

    about: About
    query_id: str
    """Names this search; give it to memory_validate."""
    hits: list[FoundMemory]
    pinned: list[PinnedMemory]
    mode: Mode
    intent: Intent
    degraded: list[str]
    """What could not be asked, and why."""
    held_back: list[HeldBackMemory]
    """Memories that matched and whose text this session was given a few searches ago, best first."""
    tokens_saved: int


def _search(calling: Calling, given: SearchArguments) -> Found:
    request = SearchRequest(
        query=given.query,
        k=given.k or min(calling.settings.search_k, MOST_RESULTS),
        mode=given.mode,
        intent=given.intent,
        filters=Filters(
            folder=given.folder or None,
            tiers=given.tiers,
            tags=given.tags,
            since=given.since,
            until=given.until,
            as_of=given.as_of,
            include_superseded=given.include_superseded,
        ),
        session_id=given.session_id,
        token_budget=given.token_budget,
        explain=given.explain,
        tool_name="memory_search",
    )
    return _found(_searched(calling, request))


def _searched(calling: Calling, request: SearchRequest) -> SearchResult:
    result = calling.engine.searcher.search(calling.scope, request)
    calling.engine.keep_up(calling.scope)
    return result


def _found(result: SearchResult) -> Found:
    return Found(
        about=NOTICE,
        query_id=result.query_id,
        hits=[_hit(one) for one in result.hits],
        pinned=[_pinned(one) for one in result.pinned],
        mode=result.mode,
        intent=result.intent,
        degraded=list(result.degraded),
        held_back=[_held_back(one) for one in result.held_back],
        tokens_saved=result.tokens_saved,
    )


def _hit(hit: Hit) -> FoundMemory:
    return FoundMemory(
        memory_id=hit.memory_id,
        rank=hit.rank,
        score=hit.score,
        title=hit.title,
        text=hit.text,
        heading=hit.passages[0].heading_path if hit.passages else "",
        tier=hit.tier,
        folder=hit.folder,
        path=hit.rel_path,
        tags=list(hit.tags),
        found_by=list(hit.channels),
        tokens=hit.tokens,
        updated_at=hit.updated_at,
        superseded_at=hit.superseded_at,
        author=_author(hit.author),
        contradicts=[_other_view(one) for one in hit.contradicts],
        contradicted_by=[_other_view(one) for one in hit.contradicted_by],
        explanation=None if hit.explanation is None else to_jsonable_python(hit.explanation),
    )


def _author(author: Author) -> WrittenBy:
    return WrittenBy(name=author.name, kind=author.kind)


def _other_view(other: Contradiction) -> OtherView:
    return OtherView(memory_id=other.memory_id, author=_author(other.author))


def _held_back(one: HeldBack) -> HeldBackMemory:
    return HeldBackMemory(memory_id=one.memory_id, title=one.title, score=one.score, tokens=one.tokens)


def _pinned(one: Pinned) -> PinnedMemory:
    return PinnedMemory(memory_id=one.memory_id, title=one.title, text=one.body, tokens=one.tokens)


def _as_read(found: Found) -> str:
    parts = [f"[always] {one.title} (id {one.memory_id})\n{one.text}" for one in found.pinned]
    parts += _reminders(found.held_back)
    parts += [_entry(one) for one in found.hits]
    if not found.hits:
        parts.append(_nothing(found))
    parts += [f"Degraded: {one}" for one in found.degraded]
    return "\n\n".join([*parts, f"query_id {found.query_id}"])


def _entry(one: FoundMemory) -> str:
    gone = f", superseded {one.superseded_at:%Y-%m-%d}" if one.superseded_at else ""
    place = f", {one.path or one.folder}" if one.path or one.folder else ""
    head = f"[{one.rank}] {one.title} (id {one.memory_id}, score {one.score:.3f}{place}{gone}, {_provenance(one)})"
    return f"{head}\n{one.text}"


def _provenance(one: FoundMemory) -> str:
    """Who wrote a memory, and what says otherwise."""
    parts = [f"written by {one.author.kind} {one.author.name}"]
    parts += [f"contradicts {other.memory_id} by a {other.author.kind}" for other in one.contradicts]
    parts += [f"contradicted by {other.memory_id} by a {other.author.kind}" for other in one.contradicted_by]
    return "; ".join(parts)


def _reminders(held_back: list[HeldBackMemory]) -> list[str]:
    """One line for each result whose text is not repeated, and how to read it again."""
    lines = [
        f"[given earlier in this session] {one.title} (id {one.memory_id}, score {one.score:.3f})" for one in held_back
    ]
    return ["\n".join([*lines, "memory_load reads such a memory again."])] if lines else []


def _nothing(found: Found) -> str:
    if found.held_back:
        return "Nothing else found."
    return "Nothing found. Try other words, fewer filters or mode deep; memory_health tells whether all works."


class ContextArguments(Arguments):
    """What the context is for."""

    query: Query
    budget: Annotated[
        int, Field(ge=50, le=200_000, description="Tokens the context may have, 50 to 200,000; 2,000 if left out.")
    ] = 2_000
    k: Annotated[
        int, Field(ge=1, le=MOST_RESULTS, description=f"At most so many results, 1 to {MOST_RESULTS}; 20 if left out.")
    ] = 20
    folder: Folder = None
    session_id: SessionId = None


class Context(Result):
    """Constitutional memories first, then what is relevant of a search, within the budget."""

    about: About
    query_id: str
    pinned: list[PinnedMemory]
    hits: list[FoundMemory]
    held_back: list[HeldBackMemory]
    """What is relevant too and whose text this session was given a few searches ago."""
    below_cut: int
    """Results left out because they are hardly related to the question."""
    tokens: int
    budget: int
    over_budget: int
    """Not 0 only when what must be given is more than the budget."""
    degraded: list[str]


def _context(calling: Calling, given: ContextArguments) -> Context:
    request = SearchRequest(
        query=given.query,
        k=given.k,
        filters=Filters(folder=given.folder or None),
        session_id=given.session_id,
        token_budget=given.budget,
        tool_name="memory_context",
    )
    packed = calling.engine.context(calling.scope, request)
    calling.engine.keep_up(calling.scope)
    found = _found(packed.found)
    return Context(
        about=NOTICE,
        query_id=found.query_id,
        pinned=found.pinned,
        hits=found.hits,
        held_back=found.held_back,
        below_cut=packed.found.below_cut,
        tokens=packed.tokens,
        budget=packed.budget,
        over_budget=packed.over,
        degraded=found.degraded,
    )


def _context_as_read(context: Context) -> str:
    parts = [f"## {one.title} (id {one.memory_id})\n{one.text}" for one in context.pinned]
    parts += _reminders(context.held_back)
    parts += [f"## {one.title} (id {one.memory_id}; {_provenance(one)})\n{one.text}" for one in context.hits]
    if not context.hits and not context.held_back:
        parts.append("Nothing in the memory is close to this question.")
    parts += [f"Degraded: {reason}" for reason in context.degraded]
    left_out = f"; {context.below_cut} hardly related left out" if context.below_cut else ""
    return "\n\n".join([*parts, f"{context.tokens} of {context.budget} tokens{left_out}; query_id {context.query_id}"])


class TriggerArguments(Arguments):
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


def _match(calling: Calling, given: TriggerArguments) -> Found:
    request = SearchRequest(
        query=given.text,
        k=given.k or min(calling.settings.search_k, MOST_RESULTS),
        mode=Mode.QUICK,
        folder_mode=FolderMode.OFF,
        channels=(Channel.TRIGGER,),
        session_id=given.session_id,
        tool_name="memory_match_triggers",
    )
    return _found(_searched(calling, request))


TOOLS: tuple[Tool[Any, Any], ...] = (
    Tool(
        name="memory_search",
        title="Search the memory",
        description="Find what the memory knows: a ranked list of memories with the passages that match.",
        act=acts.MEMORY_SEARCH,
        arguments=SearchArguments,
        result=Found,
        call=_search,
        readable=_as_read,
    ),
    Tool(
        name="memory_context",
        title="Context for a task",
        description="Everything to know for a task, packed into a token budget: standing rules first, then what is "
        "relevant of a search.",
        act=acts.MEMORY_SEARCH,
        arguments=ContextArguments,
        result=Context,
        call=_context,
        readable=_context_as_read,
    ),
    Tool(
        name="memory_match_triggers",
        title="Match trigger phrases",
        description="Memories one of whose trigger phrases stands in a text word for word. Cheap: ask with what the "
        "user just said.",
        act=acts.MEMORY_SEARCH,
        arguments=TriggerArguments,
        result=Found,
        call=_match,
        readable=_as_read,
    ),
)
