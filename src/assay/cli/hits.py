"""Search results to read: a list of hits with the matched words marked, and how each score was made.

Marks and colours are styles of the text, which a console shows on a terminal only: in a pipe the same lines are plain.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from assay.formats.grid import grid
from assay.presentation.explanations import explain_moves, explain_relevance, format_sum
from assay.records import (
    AuthorKind,
    CosineSpread,
    Explanation,
    Hit,
    HitPassage,
    PassageScore,
    Pressure,
    SearchResult,
    Telemetry,
    Tier,
)

if TYPE_CHECKING:
    from assay.verbs.searching import MemorySearchRequest

SNIPPET = 240
"""Characters shown of a passage."""
_INDENT = " " * 4
_WORD = re.compile(r"\w+")


def format_results(found: SearchResult, request: MemorySearchRequest) -> Text:
    """Format a search result for people."""
    parts = [
        _format_pinned(found),
        _format_held_back(found),
        *(_hit(hit, request) for hit in found),
        _about(found, request),
    ]
    return Text("\n").join(part for part in parts if part.plain)


def _format_pinned(found: SearchResult) -> Text:
    lines = [
        Text.assemble(("always  ", "bold yellow"), memory.title, ("  " + memory.memory_id, "dim"))
        for memory in found.pinned
    ]
    return Text("\n").join(lines)


def _format_held_back(found: SearchResult) -> Text:
    lines = [
        Text.assemble(
            ("given earlier in this session  ", "bold"), (f"{memory.score:.3f}  ", "cyan"), memory.title
        ).append("  " + memory.memory_id, style="dim")
        for memory in found.held_back
    ]
    return Text("\n").join(lines)


def _hit(hit: Hit, request: MemorySearchRequest) -> Text:
    head = Text.assemble((f"{hit.rank:>2}  ", "bold"), (f"{hit.score:.3f}  ", "cyan"), (hit.title, "bold"))
    if hit.relevance is not None:
        head.append(f"  relevance {hit.relevance:.2f}", style="cyan")
    best = best_passage(hit)
    where = " > ".join(part for part in (hit.rel_path or hit.folder, best.heading_path) if part)
    if where:
        head.append(f"  {where}", style="dim")
    if hit.superseded_at is not None:
        head.append(f"  superseded {hit.superseded_at:%Y-%m-%d}", style="red")
    if hit.tier is Tier.DEPRECATED:
        head.append("  deprecated", style="red")
    about = "  ".join(part for part in (hit.memory_id, ", ".join(hit.channels), _wrote(hit)) if part)
    lines = [head, _snippet(best.text, request.query), Text(f"{_INDENT}{about}", style="dim")]
    lines += [*_outdated(hit), *_other_views(hit)]
    if hit.explanation is not None:
        lines += [Text(line) for line in explain_lines(hit.explanation)]
    return Text("\n").join(lines)


def _wrote(hit: Hit) -> str:
    return f"by {hit.author.name} ({hit.author.kind})"


def _outdated(hit: Hit) -> Iterator[Text]:
    """Return a line for each fact that holds no longer."""
    for fact in hit.outdated:
        yield Text(f"{_INDENT}{fact.describe()}", style="red")


def _other_views(hit: Hit) -> Iterator[Text]:
    """Return the lines about contradictions; a person's note against a program's is highlighted."""
    for word, others in (("contradicts", hit.contradicts), ("contradicted by", hit.contradicted_by)):
        for other in others:
            against = hit.author.kind is AuthorKind.PROGRAM and other.author.kind is AuthorKind.PERSON
            line = f"{_INDENT}{word} {other.memory_id}, by {other.author.name} ({other.author.kind})"
            yield Text(line, style="red" if against else "yellow")


def best_passage(hit: Hit) -> HitPassage:
    """The passage that did most for the hit; the first one when nothing was explained."""
    if hit.explanation is None:
        return hit.passages[0]
    place = hit.explanation.passages[0].position
    return next((passage for passage in hit.passages if passage.position == place), hit.passages[0])


def _snippet(text: str, query: str) -> Text:
    """The part of a passage that holds most of the query's words, on one line."""
    flat = " ".join(text.split())
    wanted = {word for word in _WORD.findall(query.casefold()) if len(word) > 2}
    places = [found.span() for found in _WORD.finditer(flat) if found.group().casefold() in wanted]
    begin = _window(places, len(flat))
    end = min(len(flat), begin + SNIPPET)
    shown = Text(f"{_INDENT}{'…' if begin else ''}{flat[begin:end]}{'…' if end < len(flat) else ''}")
    shift = len(_INDENT) + (1 if begin else 0) - begin
    for start, stop in places:
        if begin <= start and stop <= end:
            shown.stylize("bold green", start + shift, stop + shift)
    return shown


def _window(places: list[tuple[int, int]], length: int) -> int:
    """Where the window with most matches begins, a little before its first one."""
    if length <= SNIPPET or not places:
        return 0
    starts = [start for start, _ in places]
    # Places come in order, so how many follow within a window is found by halving.
    best = max(starts, key=lambda begin: (_count_within(starts, begin), -begin))
    return max(0, min(best - 30, length - SNIPPET))


def _count_within(starts: list[int], begin: int) -> int:
    return bisect_left(starts, begin + SNIPPET - 30) - bisect_left(starts, begin)


def explain_lines(why: Explanation) -> Iterator[str]:
    """Return how a score was computed, in enough detail to repeat it by hand."""
    rows: list[tuple[str, ...]] = [("passage", "channel", "rank", "score", "scaled", "weight", "adds")]
    for passage in why.passages:
        rows += _votes(passage)
    yield from grid(rows, indent=_INDENT, gap="  ")
    for boost in why.boosts:
        yield f"{_INDENT}x {boost.factor:.3f}  {boost.name}: {boost.reason}"
    yield f"{_INDENT}{format_sum(why)}"
    if why.relevance is not None:
        yield f"{_INDENT}{explain_relevance(why.relevance)}"
    for sentence in explain_moves(why):
        yield f"{_INDENT}{sentence}"


def _votes(one: PassageScore) -> Iterator[tuple[str, ...]]:
    for place, vote in enumerate(one.votes):
        yield (
            f"{one.position}" if place == 0 else "",
            vote.channel.value,
            f"{vote.rank}",
            f"{vote.score:.4g}",
            f"{vote.scaled:.4f}",
            f"{vote.weight:.3f}",
            f"{vote.contribution:.4f}",
        )


def _about(found: SearchResult, request: MemorySearchRequest) -> Text:
    """One line on how the search went, and what a reader should know of it."""
    lines = [Text(f"degraded: {reason}", style="yellow") for reason in found.degraded]
    if not found.hits:
        lines.append(Text(_nothing(found, request)))
    if found.held_back:
        saved = f"{len(found.held_back)} not repeated, {found.tokens_saved:,} tokens saved; read again: assay show ID"
        lines.append(Text(saved, style="dim"))
    if found.cosines is not None:
        lines.append(Text(_cosines(found.cosines), style="dim"))
    if found.below_relevance:
        left_out = f"{found.below_relevance} left out: relevance below {found.min_relevance:g}; all: --min-relevance 0"
        lines.append(Text(left_out, style="dim"))
    if found.beyond_budget:
        lines.append(Text(f"{found.beyond_budget} left out: beyond the token budget", style="dim"))
    if found.below_threshold:
        lines.append(Text(f"{found.below_threshold} left out: scored below rerank.threshold", style="dim"))
    lines.append(Text(_timing(found), style="dim"))
    return Text("\n").join(lines)


def _cosines(store: CosineSpread) -> str:
    """What the scores of the vector channel are to be held against."""
    passages = "1 passage" if store.passages == 1 else f"{store.passages:,} passages"
    return (
        f"cosines of the query with {passages}: {store.mean:.3f} on average, standard deviation {store.deviation:.3f}"
    )


def _timing(found: SearchResult) -> str:
    count, took = len(found.hits), found.telemetry
    return (
        f"{count} {'result' if count == 1 else 'results'} in {took.total_latency_ms:.0f} ms"
        f" ({took.embedding_latency_ms:.0f} ms of it for the query's vector);"
        f" mode {found.mode.value}, intent {found.intent.value}; {_describe_pressure(took)}{found.query_id}"
    )


def _describe_pressure(took: Telemetry) -> str:
    """Return how full the caller's context was; nothing where no budget was given."""
    if took.token_usage_ratio is None:
        return ""
    level = "no" if took.pressure_level is Pressure.NONE else took.pressure_level.value
    return f"{level} token pressure ({took.token_usage_ratio:.0%} of the budget used); "


def _nothing(found: SearchResult, request: MemorySearchRequest) -> str:
    """What to try when nothing came back."""
    if found.held_back:
        return "Nothing else: everything that matches was given earlier in this session."
    if found.below_relevance:
        return "Nothing is likely to be relevant. Search with --min-relevance 0 to see what is near."
    if found.below_threshold:
        return "Nothing reached rerank.threshold. Lower it, or search with --mode quick, which does not rerank."
    if request.folder or request.tiers or request.tags or request.since or request.until or request.as_of:
        return "Nothing found. Try without the filters, or add --include-superseded."
    if request.channels is not None:
        return "Nothing found. Try without --channel."
    return "Nothing found. Try other words or --mode deep; `assay health` says whether every channel works."
