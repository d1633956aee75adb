"""One search taken apart for the debugger: made now, or as the log recorded it.

- The lists: one for each channel, the fused one, and the results.
- The passages behind them, with the votes and sums that made each score.
- The stages, and how many results each of them moved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from assay.memory.searching.fusion import FusedPassage, replay
from assay.memory.searching.highlighting import mark_matches
from assay.presentation.explanations import explain_moves, explain_relevance, format_sum
from assay.records import (
    Channel,
    Chunk,
    Explanation,
    FusionMethod,
    Hit,
    LoggedQuery,
    MemoryRecord,
    MemoryStatus,
    SearchResult,
    Stage,
    Vote,
)
from assay.records.searching import in_channel_order
from assay.server.pages.ranked_lists import (
    ListEntry,
    RankedList,
    ShownPassage,
    VoteLine,
    list_passages,
    ranks_of,
)
from assay.storage import Work

FUSED = "fused"
RESULTS = "results"
LONGEST_PASSAGE = 4_000
"""Characters of one passage that the page shows."""
RRF_K = 60
"""The constant of RRF where the log does not name one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DebuggedSearch:
    """A search with all that is known of how its results came about."""

    query: str
    logged: LoggedQuery | None
    """What the log has of it; None: the log did not keep it."""
    result: SearchResult | None = None
    """The explained result; None: it was not made now, and the log does not keep explanations."""
    fused: tuple[FusedPassage[str], ...] = ()
    """The passages as they were fused, best first."""
    hits: Mapping[str, Hit] = field(default_factory=dict)
    """By memory."""

    @property
    def result_ids(self) -> tuple[str, ...]:
        """The memories that were given, best first."""
        if self.result is not None:
            return self.result.ids
        return () if self.logged is None else self.logged.result_ids


def take_apart(query: str, logged: LoggedQuery | None, result: SearchResult | None = None) -> DebuggedSearch:
    """Return a search with its fusion repeated from the recorded candidates."""
    return DebuggedSearch(
        query=query,
        logged=logged,
        result=result,
        fused=() if logged is None else tuple(_repeat_fusion(logged)),
        hits={} if result is None else {hit.memory_id: hit for hit in result.hits},
    )


def _repeat_fusion(logged: LoggedQuery) -> Sequence[FusedPassage[str]]:
    told = logged.fusion_weights
    if not told or not logged.candidates:
        return ()
    weights = {Channel(name): float(weight) for name, weight in told["weights"].items()}
    if any(Channel(candidates.channel) not in weights for candidates in logged.candidates):
        return ()
    return replay(logged.candidates, FusionMethod(told["method"]), weights, int(told.get("rrf_k", RRF_K)))


# --- The lists: one for each channel, the fused one, and the results ---


def list_columns(search: DebuggedSearch, rows: int) -> list[RankedList]:
    """Return a column for each channel that found something, the fused list, and the results."""
    best: dict[str, str] = {}
    for passage in search.fused:
        best.setdefault(_memory_of(passage.number), passage.number)
    by_fusion = {memory_id: rank for rank, memory_id in enumerate(best, start=1)}
    found = [] if search.logged is None else [_channel_column(search.logged, channel, rows) for channel in _ran(search)]
    columns = [column for column in found if column.total]
    if search.fused:
        entries = [
            ListEntry(rank, passage.number, _memory_of(passage.number), passage.fused)
            for rank, passage in enumerate(search.fused[:rows], start=1)
        ]
        columns.append(
            RankedList(
                FUSED, tuple(entries), len(search.fused), "sum", "The passages by the weighted sum of their votes."
            )
        )
    results = [
        ListEntry(
            rank,
            _best_passage(search, memory_id, best),
            memory_id,
            _score_of(search, memory_id),
            by_fusion.get(memory_id),
        )
        for rank, memory_id in enumerate(search.result_ids, start=1)
    ]
    explains = "After boosts and reranking." if search.result is not None else "The memories as they were given."
    columns.append(RankedList(RESULTS, tuple(results[:rows]), len(results), "given", explains, is_cut=True))
    return columns


def list_silent(search: DebuggedSearch) -> list[str]:
    """Return the channels that were asked and found nothing."""
    if search.logged is None:
        return []
    return [candidates.channel for candidates in search.logged.candidates if not candidates.ids]


def _ran(search: DebuggedSearch) -> list[Channel]:
    logged = search.logged
    return [] if logged is None else in_channel_order(Channel(candidates.channel) for candidates in logged.candidates)


def _channel_column(logged: LoggedQuery, channel: Channel, rows: int) -> RankedList:
    offered = next(candidates for candidates in logged.candidates if candidates.channel == channel.value)
    entries = [
        ListEntry(rank, passage, _memory_of(passage), score)
        for rank, (passage, score) in enumerate(zip(offered.ids[:rows], offered.scores[:rows], strict=True), start=1)
    ]
    weight = ((logged.fusion_weights or {}).get("weights") or {}).get(channel.value)
    about = "" if weight is None else f"\N{MULTIPLICATION SIGN} {weight:g}"
    explains = f"What the channel {channel.value} offered; its scaled scores are multiplied by its weight."
    return RankedList(channel.value, tuple(entries), len(offered.ids), about, explains)


def _best_passage(search: DebuggedSearch, memory_id: str, best: Mapping[str, str]) -> str:
    hit = search.hits.get(memory_id)
    if hit is not None:
        return f"{memory_id}#{hit.best_position}"
    return best.get(memory_id, f"{memory_id}#0")


def _score_of(search: DebuggedSearch, memory_id: str) -> float | None:
    hit = search.hits.get(memory_id)
    return None if hit is None else hit.score


def _memory_of(passage_id: str) -> str:
    return passage_id.rpartition("#")[0]


# --- The passages behind them, with the votes and sums that made each score ---


class _Shown(NamedTuple):
    """What passages are shown with."""

    search: DebuggedSearch
    columns: Sequence[RankedList]
    memories: Mapping[str, MemoryRecord]
    chunks: Mapping[str, Chunk]
    fused: Mapping[str, FusedPassage[str]]


def show_passages(work: Work, search: DebuggedSearch, columns: Sequence[RankedList]) -> list[ShownPassage]:
    """Return every passage of the columns with its text, the results first."""
    entries = list_passages(columns)
    memories = work.memories.by_ids({entry.item for entry in entries})
    chunks = {
        chunk.id: chunk
        for memory_id, memory in memories.items()
        if memory.status is not MemoryStatus.FORGOTTEN
        for chunk in work.memories.chunks_of(memory_id)
    }
    shown = _Shown(search, columns, memories, chunks, {passage.number: passage for passage in search.fused})
    return [_show(shown, entry, number) for number, entry in enumerate(entries, start=1)]


def _show(shown: _Shown, entry: ListEntry, number: int) -> ShownPassage:
    memory, chunk = shown.memories.get(entry.item), shown.chunks.get(entry.passage)
    fused = shown.fused.get(entry.passage)
    ranks = ranks_of(entry.passage, shown.columns)
    hit = shown.search.hits.get(entry.item) if RESULTS in ranks else None
    passage = ShownPassage(
        number=number,
        passage=entry.passage,
        item=entry.item,
        title=entry.item if memory is None else _title_of(memory),
        address="" if memory is None else f"/memory/{entry.item}",
        where=_where(memory, chunk),
        pieces=() if chunk is None else mark_matches(shown.search.query, chunk.text[:LONGEST_PASSAGE]),
        missing="" if chunk is not None else _explain_missing(memory),
        ranks=ranks,
        votes=_list_votes(entry.passage, fused, None if hit is None else hit.explanation),
        fused=None if fused is None else fused.fused,
    )
    return passage if hit is None or hit.explanation is None else _explain_hit(passage, hit, hit.explanation)


def _explain_hit(passage: ShownPassage, hit: Hit, why: Explanation) -> ShownPassage:
    return replace(
        passage,
        sum_line=format_sum(why),
        boosts=tuple(f"x {boost.factor:.3f}  {boost.name}: {boost.reason}" for boost in why.boosts),
        moves=tuple(explain_moves(why)),
        relevance="" if why.relevance is None else explain_relevance(why.relevance),
        warnings=tuple(_list_warnings(hit)),
    )


def _title_of(memory: MemoryRecord) -> str:
    return "a forgotten memory" if memory.status is MemoryStatus.FORGOTTEN else memory.title


def _where(memory: MemoryRecord | None, chunk: Chunk | None) -> str:
    if memory is None or chunk is None:
        return ""
    parts = (memory.rel_path or memory.folder, chunk.heading_path, f"passage {chunk.position}")
    return " > ".join(part for part in parts if part)


def _explain_missing(memory: MemoryRecord | None) -> str:
    if memory is None:
        return "This memory was erased since."
    if memory.status is MemoryStatus.FORGOTTEN:
        return "This memory was forgotten since; its text is not shown."
    return "This passage is not there any more: the memory was changed since."


def _list_votes(passage_id: str, fused: FusedPassage[str] | None, why: Explanation | None) -> tuple[VoteLine, ...]:
    """Return the votes of a result's every passage, or of one passage that is no result."""
    if why is not None:
        return tuple(
            _vote_line(str(passage.position), vote, first=place == 0)
            for passage in why.passages
            for place, vote in enumerate(passage.votes)
        )
    if fused is None:
        return ()
    position = passage_id.rpartition("#")[2]
    return tuple(_vote_line(position, vote, first=place == 0) for place, vote in enumerate(fused.votes))


def _vote_line(position: str, vote: Vote, *, first: bool) -> VoteLine:
    return VoteLine(
        position=position if first else "",
        channel=vote.channel.value,
        rank=vote.rank,
        score=vote.score,
        scaled=vote.scaled,
        weight=vote.weight,
        adds=vote.contribution,
    )


def _list_warnings(hit: Hit) -> Sequence[str]:
    return [
        *(fact.describe() for fact in hit.outdated),
        *(f"contradicts {other.memory_id}, by {other.author.name} ({other.author.kind})" for other in hit.contradicts),
        *(
            f"contradicted by {other.memory_id}, by {other.author.name} ({other.author.kind})"
            for other in hit.contradicted_by
        ),
    ]


# --- The stages, and how many results each of them moved ---


class StageLine(NamedTuple):
    """One stage of a search."""

    name: str
    inputs: int
    outputs: int
    duration_ms: float
    says: str
    """What it did, in a few words; empty: nothing worth telling."""


def list_stages(result: SearchResult) -> list[StageLine]:
    """Return the stages in their order, each with what it took out or moved."""
    return [
        StageLine(stage.name, stage.inputs, stage.outputs, stage.duration_ms, _describe_stage(stage, result))
        for stage in result.stages
    ]


def _describe_stage(stage: Stage, result: SearchResult) -> str:
    describe = _DESCRIBED.get(stage.name)
    return "" if describe is None else describe(stage, result)


def _describe_filter(stage: Stage, result: SearchResult) -> str:  # noqa: ARG001 - one shape for all
    gone = stage.inputs - stage.outputs
    return f"{gone:,} did not pass the filters" if gone else "all passed"


def _describe_boost(stage: Stage, result: SearchResult) -> str:  # noqa: ARG001 - one shape for all
    whys = [hit.explanation for hit in result.hits if hit.explanation is not None]
    plain = sorted(range(len(whys)), key=lambda place: -_score_without_boosts(whys[place]))
    boosted = sorted(range(len(whys)), key=lambda place: -whys[place].recompute())
    return _count_moved(sum(one != other for one, other in zip(plain, boosted, strict=True)))


def _score_without_boosts(why: Explanation) -> float:
    base, *rest = (passage.fused for passage in why.passages)
    if not why.aggregated or not rest:
        return base
    more = math.fsum(max(score - why.floor, 0.0) for score in rest)
    return base + why.coefficient * more / math.sqrt(len(why.passages))


def _describe_rerank(stage: Stage, result: SearchResult) -> str:  # noqa: ARG001 - one shape for all
    former = [hit.explanation.reranked_from for hit in result.hits if hit.explanation is not None]
    reranked = [place for place in former if place is not None]
    return _count_moved(sum(one != other for one, other in zip(sorted(reranked), reranked, strict=True)))


def _describe_trust(stage: Stage, result: SearchResult) -> str:  # noqa: ARG001 - one shape for all
    return _count_moved(int(stage.detail.get("moved", 0)))


def _describe_end(stage: Stage, result: SearchResult) -> str:  # noqa: ARG001 - one shape for all
    names = {
        "below_relevance": "below the relevance asked for",
        "below_cut": "below the relevance cut",
        "held_back": "given earlier in the session",
        "beyond_budget": "beyond the token budget",
    }
    return "; ".join(f"{stage.detail[name]:,} {said}" for name, said in names.items() if stage.detail.get(name))


def _count_moved(count: int) -> str:
    if not count:
        return "moved no result"
    return f"moved {count} {'result' if count == 1 else 'results'}"


_DESCRIBED: Mapping[str, Callable[[Stage, SearchResult], str]] = {
    "filter": _describe_filter,
    "boost": _describe_boost,
    "rerank": _describe_rerank,
    "trust": _describe_trust,
    "final-rank": _describe_end,
}
