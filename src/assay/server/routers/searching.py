"""Searching the memory: a ranked list, or a context packed into a token budget."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from assay.access import acts
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
from assay.records.plain import plain
from assay.server.fields import LONGEST_QUERY, MOST_LABELS, Count, Label, Moment, SessionId, YesNo
from assay.server.routing import Asked, Body, Resource, Result

RESOURCE = Resource("/api/memory", "memory")

QueryText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_QUERY,
        description=f'Words or a question, up to {LONGEST_QUERY:,} characters; "quoted" words as a phrase.',
    ),
]
Folder = Annotated[str | None, Field(max_length=500, description="Only this folder and what is below it.")]
Tags = Annotated[tuple[Label, ...], Field(max_length=MOST_LABELS)]


class SearchBody(Body):
    """What to look for."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "why do we poll the oven", "k": 5, "session_id": "s1"}]}
    )

    query: QueryText
    k: Count = None
    mode: Annotated[Mode, Field(description="How much work to do; auto decides by the query.")] = Mode.AUTO
    intent: Annotated[Intent | None, Field(description="What you are after; guessed if left out.")] = None
    folder: Folder = None
    folder_mode: FolderMode = FolderMode.OFF
    tiers: Annotated[tuple[Tier, ...], Field(max_length=10)] = ()
    tags: Tags = ()
    since: Moment | None = None
    until: Moment | None = None
    as_of: Moment | None = None
    include_superseded: YesNo = False
    channels: Annotated[tuple[Channel, ...] | None, Field(min_length=1, max_length=5)] = None
    token_budget: Annotated[int | None, Field(strict=True, ge=0, le=1_000_000)] = None
    session_id: SessionId = None
    explain: Annotated[YesNo, Field(description="Also give every number behind each score.")] = False

    def request(self, k: int, tool_name: str) -> SearchRequest:
        """The same question to the engine."""
        return SearchRequest(
            query=self.query,
            k=self.k or k,
            mode=self.mode,
            intent=self.intent,
            filters=Filters(
                folder=self.folder or None,
                tiers=self.tiers,
                tags=self.tags,
                since=self.since,
                until=self.until,
                as_of=self.as_of,
                include_superseded=self.include_superseded,
            ),
            folder_mode=self.folder_mode,
            channels=self.channels,
            session_id=self.session_id,
            token_budget=self.token_budget,
            explain=self.explain,
            tool_name=tool_name,
        )


class FoundPassage(Result):
    """One passage that matched."""

    position: int
    text: str
    heading_path: str
    tokens: int


class WrittenBy(Result):
    """Who wrote a memory."""

    name: str
    kind: AuthorKind = Field(description="person: by hand, or a document taken in by a person; program: all else.")


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
    passages: list[FoundPassage]
    tier: Tier
    folder: str
    rel_path: str
    tags: list[str]
    channels: list[Channel]
    updated_at: datetime
    superseded_at: datetime | None
    author: WrittenBy
    contradicts: list[OtherView] = Field(description="Current memories that it was saved against.")
    contradicted_by: list[OtherView] = Field(description="Current memories that were saved against it.")
    explanation: dict[str, Any] | None


class PinnedMemory(Result):
    """A constitutional memory: it comes with every answer."""

    memory_id: str
    title: str
    body: str
    tokens: int


class HeldBackMemory(Result):
    """A result named without its text: the session was given the text a few searches ago."""

    memory_id: str
    title: str
    score: float
    tokens: int
    given_by: str | None = Field(description="The search that gave its text.")


class SearchFound(Result):
    """The answer of a search."""

    query_id: str = Field(description="Names this search; give it back with a verdict.")
    trace_id: str
    hits: list[FoundMemory]
    pinned: list[PinnedMemory]
    mode: Mode
    intent: Intent
    fusion: str
    weights: dict[str, float]
    degraded: list[str] = Field(description="What could not be asked, and why.")
    chosen_folders: list[str] | None
    excluded_folders: list[str]
    cold_start: bool
    held_back: list[HeldBackMemory] = Field(
        description="What matched and whose text this session was given a few searches ago, best first."
    )
    tokens_saved: int
    latency_ms: float
    stages: list[dict[str, Any]] | None = Field(description="With explain: every step, and how long it took.")


@RESOURCE.post("/search", acts.MEMORY_SEARCH)
def search_memory(asked: Asked, body: SearchBody) -> SearchFound:
    """Find what the memory knows: a ranked list of memories with the passages that match."""
    request = body.request(asked.services.settings.search_k, "http search")
    result = asked.engine.searcher.search(asked.scope, request)
    asked.engine.keep_up(asked.scope)
    return found(result, explain=body.explain)


def found(result: SearchResult, *, explain: bool = False) -> SearchFound:
    """A result as the API gives it."""
    return SearchFound(
        query_id=result.query_id,
        trace_id=result.trace_id,
        hits=[_hit(one) for one in result.hits],
        pinned=[_pinned(one) for one in result.pinned],
        mode=result.mode,
        intent=result.intent,
        fusion=result.fusion.value,
        weights=dict(result.weights),
        degraded=list(result.degraded),
        chosen_folders=None if result.chosen_folders is None else list(result.chosen_folders),
        excluded_folders=list(result.excluded_folders),
        cold_start=result.cold_start,
        held_back=[_held_back(one) for one in result.held_back],
        tokens_saved=result.tokens_saved,
        latency_ms=result.telemetry.total_latency_ms,
        stages=plain(result.stages) if explain else None,
    )


def _hit(hit: Hit) -> FoundMemory:
    return FoundMemory(
        memory_id=hit.memory_id,
        rank=hit.rank,
        score=hit.score,
        title=hit.title,
        passages=[
            FoundPassage(position=one.position, text=one.text, heading_path=one.heading_path, tokens=one.tokens)
            for one in hit.passages
        ],
        tier=hit.tier,
        folder=hit.folder,
        rel_path=hit.rel_path,
        tags=list(hit.tags),
        channels=list(hit.channels),
        updated_at=hit.updated_at,
        superseded_at=hit.superseded_at,
        author=_author(hit.author),
        contradicts=[_other_view(one) for one in hit.contradicts],
        contradicted_by=[_other_view(one) for one in hit.contradicted_by],
        explanation=None if hit.explanation is None else plain(hit.explanation),
    )


def _author(author: Author) -> WrittenBy:
    return WrittenBy(name=author.name, kind=author.kind)


def _other_view(other: Contradiction) -> OtherView:
    return OtherView(memory_id=other.memory_id, author=_author(other.author))


def _held_back(one: HeldBack) -> HeldBackMemory:
    return HeldBackMemory(
        memory_id=one.memory_id, title=one.title, score=one.score, tokens=one.tokens, given_by=one.given_by
    )


def _pinned(one: Pinned) -> PinnedMemory:
    return PinnedMemory(memory_id=one.memory_id, title=one.title, body=one.body, tokens=one.tokens)


class ContextBody(Body):
    """What the context is for."""

    query: QueryText
    budget: Annotated[int, Field(strict=True, ge=50, le=200_000, description="Tokens the context may have.")] = 2_000
    k: Count = 20
    folder: Folder = None
    session_id: SessionId = None


class ContextFound(Result):
    """Constitutional memories first, then what is relevant of a search, within the budget."""

    query_id: str
    pinned: list[PinnedMemory]
    hits: list[FoundMemory]
    held_back: list[HeldBackMemory] = Field(
        description="What is relevant too and whose text this session was given a few searches ago."
    )
    below_cut: int = Field(description="Results left out because they are hardly related to the question.")
    tokens: int
    budget: int
    over_budget: int = Field(description="Not 0 only when what must be given is more than the budget.")
    degraded: list[str]


@RESOURCE.post("/context", acts.MEMORY_SEARCH)
def pack_context(asked: Asked, body: ContextBody) -> ContextFound:
    """Everything to know for a task, packed into a token budget."""
    request = SearchRequest(
        query=body.query,
        k=body.k or 20,
        filters=Filters(folder=body.folder or None),
        session_id=body.session_id,
        token_budget=body.budget,
        tool_name="http context",
    )
    packed = asked.engine.context(asked.scope, request)
    asked.engine.keep_up(asked.scope)
    return ContextFound(
        query_id=packed.found.query_id,
        pinned=[_pinned(one) for one in packed.found.pinned],
        hits=[_hit(one) for one in packed.found.hits],
        held_back=[_held_back(one) for one in packed.found.held_back],
        below_cut=packed.found.below_cut,
        tokens=packed.tokens,
        budget=packed.budget,
        over_budget=packed.over,
        degraded=list(packed.found.degraded),
    )
