"""How results read as text for an agent; the MCP server frames it as stored text, which is data."""

from __future__ import annotations

from collections.abc import Sequence

from assay.records import HeldBack, Hit, PackedContext, SearchResult, ShownMemory, Tier


def read_search(found: SearchResult) -> str:
    """Return a search result: standing rules, what the session has already, then the hits."""
    parts = [f"[always] {law.title} (id {law.memory_id})\n{law.body}" for law in found.pinned]
    parts += _reminders(found.held_back)
    parts += [_entry(hit) for hit in found.hits]
    if not found.hits:
        parts.append(_nothing(found))
    parts += [f"Degraded: {reason}" for reason in found.degraded]
    return "\n\n".join([*parts, *_describe_left_out(found), f"query_id {found.query_id}"])


def read_context(context: PackedContext) -> str:
    """Return a context: standing rules, what the session has already, what is relevant, and how much it is."""
    parts = [f"## {law.title} (id {law.memory_id})\n{law.body}" for law in context.pinned]
    parts += _reminders(context.held_back)
    parts += [f"## {hit.title} (id {hit.memory_id}; {_provenance(hit)})\n{hit.text}" for hit in context.hits]
    if not context.hits and not context.held_back:
        parts.append("Nothing in the memory is close to this question.")
    parts += [f"Degraded: {reason}" for reason in context.degraded]
    left_out = f"; {context.below_cut} hardly related left out" if context.below_cut else ""
    used = f"{context.tokens} of {context.token_budget} tokens"
    return "\n\n".join([*parts, f"{used}{left_out}; query_id {context.query_id}"])


def read_memory(shown: ShownMemory) -> str:
    """Return a memory's title and text, and where the text goes on."""
    more = "" if shown.next_offset is None else f"\n\n(the text goes on at offset {shown.next_offset})"
    outdated = "".join(
        f'\n\nOutdated since {fact.valid_to:%Y-%m-%d}: "{fact.statement}" Now: "{fact.now}" ({fact.ended_by})'
        for fact in shown.facts
        if fact.valid_to is not None
    )
    return f"# {shown.memory.title} (id {shown.memory.id})\n\n{shown.memory.body}{more}{outdated}"


def _entry(hit: Hit) -> str:
    gone = f", superseded {hit.superseded_at:%Y-%m-%d}" if hit.superseded_at else ""
    place = f", {hit.rel_path or hit.folder}" if hit.rel_path or hit.folder else ""
    likely = "" if hit.relevance is None else f", relevance {hit.relevance:.2f}"
    about = f"id {hit.memory_id}, score {hit.score:.3f}{likely}{place}{gone}, {_provenance(hit)}"
    head = f"[{hit.rank}] {hit.title} ({about})"
    return f"{head}\n{hit.text}"


def _provenance(hit: Hit) -> str:
    """Return whether a memory is deprecated, who wrote it, and what says otherwise."""
    parts = ["deprecated"] if hit.tier is Tier.DEPRECATED else []
    parts += [f"written by {hit.author.kind} {hit.author.name}"]
    parts += [fact.describe() for fact in hit.outdated]
    parts += [f"contradicts {other.memory_id} by a {other.author.kind}" for other in hit.contradicts]
    parts += [f"contradicted by {other.memory_id} by a {other.author.kind}" for other in hit.contradicted_by]
    return "; ".join(parts)


def _reminders(held_back: Sequence[HeldBack]) -> list[str]:
    """Return a line for each result whose text is not repeated, and how to read it again."""
    lines = [
        f"[given earlier in this session] {held.title} (id {held.memory_id}, score {held.score:.3f})"
        for held in held_back
    ]
    return ["\n".join([*lines, "memory_load reads such a memory again."])] if lines else []


def _describe_left_out(found: SearchResult) -> list[str]:
    """Return a line on the results that were left out, and how to get them."""
    parts = []
    if found.below_relevance:
        parts.append(f"{found.below_relevance} below min_relevance {found.min_relevance:g}")
    if found.beyond_budget:
        parts.append(f"{found.beyond_budget} beyond the token budget")
    return [f"Left out: {', '.join(parts)}."] if parts else []


def _nothing(found: SearchResult) -> str:
    if found.held_back:
        return "Nothing else found."
    if found.below_relevance:
        return "Nothing in the memory is likely to be relevant. Search again with min_relevance 0 to see what is near."
    return "Nothing found. Try other words, fewer filters or mode deep; memory_health tells whether all works."
