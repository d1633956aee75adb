"""`/memory/ID`: one memory with its timeline, versions and neighbours, and the forms that change it.

A form that hides or erases a memory has a page of its own, which says first what it would change.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.responses import Response

from assay.access import acts
from assay.errors import BadValue, NotAllowed
from assay.memory.rights import check_change, check_readable
from assay.memory.showing import show
from assay.presentation import charts
from assay.presentation.wording import plain, tone
from assay.records import Forget, MemoryRecord, MemoryStatus, SaveDecision, SaveOutcome, ShownMemory, Tier
from assay.records.evidence import AuditEntry
from assay.records.learning import LearnedTerm
from assay.server.pages import filters
from assay.server.pages.page import Page, Pages, PageView, vote_word
from assay.storage import Work
from assay.verbs import memory as memory_verbs
from assay.verbs import reading as reading_verbs

pages = Pages("memory")
NEAR = 24
"""Neighbours in the graph of a memory."""
AUDITED = 100
"""Audit entries that the timeline shows."""
LONGEST_COMPARED = 200_000
"""Characters of a text that is compared with another version."""
MOST_LINES = 2_000
"""Lines of a text that is compared with another version: the time can grow with the square of their number."""
LONGEST_LINE = 160
"""Characters of a line; a longer one is compared sentence by sentence."""


class TimelineStep(NamedTuple):
    """Something that happened to a memory."""

    at: datetime
    what: str
    who: str = ""
    detail: str = ""
    address: str = ""
    """Of the other memory that took part, if one did."""
    link: str = ""
    """The text of that link."""
    tone: str = ""


class DiffLine(NamedTuple):
    """One line of two versions."""

    text: str
    kind: str
    """`added`, `taken` or empty."""


@pages.get("/memory/{memory_id}", acts.MEMORY_READ)
def show_memory(view: PageView) -> Page:
    """Show one memory: its text, what happened to it, its other versions and its neighbours."""
    with view.engine.store.reading(view.scope) as work:
        shown = _show(view, work)
        memory = shown.memory
        terms = work.learned_terms.of(memory_id=memory.id)
        against = _choose_version(view, work, shown)
        context = {
            "shown": shown,
            "graph": _graph(work, memory) if shown.edges else None,
            "terms": terms,
            "evidence": work.learned_terms.evidence(memory_id=memory.id),
            "tally": work.learning.tally(memory.id),
            "steps": make_timeline(shown, work.audit.entries(target=memory.id, limit=AUDITED), terms),
            "against": against,
            "diff": None if against is None else compare_texts(*_older_first(against, memory)),
            "whole": filters.yes(view.query, "whole") or False,
            "said": view.notice,
            "tiers": _tiers(view),
            "why_not": why_unchangeable(view, memory),
        }
    return Page(template="memory_one.html", context=context)


def why_unchangeable(view: PageView, memory: MemoryRecord) -> str:
    """Return why the caller may not change a memory that their access would let them change; empty if they may."""
    try:
        check_change(memory, view.scope, "change", automated=view.caller.is_program)
    except NotAllowed as problem:
        return problem.message
    return ""


def _show(view: PageView, work: Work) -> ShownMemory:
    """Return a memory with all that belongs to it; a forgotten one to admins alone, as on every other surface."""
    shown = show(work, view.path["memory_id"])
    if not view.grant.allows(acts.AUDIT_READ.policy):
        check_readable(shown.memory)
    return shown


def _tiers(view: PageView) -> list[Tier]:
    """Return the tiers that the caller may give: a constitutional memory needs a person with admin access."""
    governs = view.grant.person and view.grant.allows(acts.PROMPT_CHANGE.policy)
    return [tier for tier in Tier if tier is not Tier.CONSTITUTIONAL or governs]


# --- Timeline, versions and neighbours ---


def make_timeline(
    shown: ShownMemory, audit: Iterable[AuditEntry], terms: Iterable[LearnedTerm] = ()
) -> list[TimelineStep]:
    """Return everything that is known to have happened to a memory, newest first."""
    memory = shown.memory
    steps = [TimelineStep(memory.created_at, "created", memory.written_by, f"version {memory.version}", tone="is-info")]
    if memory.superseded_at is not None and memory.status is MemoryStatus.SUPERSEDED:
        steps.append(TimelineStep(memory.superseded_at, "superseded", tone="is-warn"))
    steps += [
        TimelineStep(
            save.at, _DECISIONS[save.decision], save.actor,
            "" if save.quality is None else f"quality {save.quality:.2f}",
            f"/memory/{quote(save.neighbour_id)}" if save.neighbour_id else "",
            "" if save.similarity is None else f"nearest {save.similarity:.2f}", tone(save.decision.value),
        )
        for save in shown.saves
    ]  # fmt: skip
    steps += [
        TimelineStep(entry.at, plain(entry.action).replace(".", " "), entry.actor, _reason(entry)) for entry in audit
    ]
    steps += [
        TimelineStep(
            edge.edge.created_at,
            plain(edge.edge.kind.value)
            if edge.edge.source_id == memory.id
            else f"{plain(edge.edge.kind.value)} (from it)",
            "",
            edge.edge.evidence,
            f"/memory/{quote(edge.other_id)}",
            edge.other_title or edge.other_id,
        )
        for edge in shown.edges
    ]
    steps += [step for term in terms for step in _term_steps(term)]
    return sorted(steps, key=lambda step: step.at, reverse=True)


_DECISIONS = {
    SaveDecision.STORE: "saved",
    SaveDecision.MERGE: "another text was merged into it",
    SaveDecision.SUPERSEDE: "saved in place of another",
    SaveDecision.REJECT: "a save was rejected for it",
}


def _reason(entry: AuditEntry) -> str:
    reason = entry.detail.get("reason")
    return reason if isinstance(reason, str) else ""


def _term_steps(term: LearnedTerm) -> Iterator[TimelineStep]:
    yield TimelineStep(term.learned_at, f"learned {term.term}", term.writer)
    if term.applied_at is not None:
        yield TimelineStep(term.applied_at, f"began to use {term.term}", tone="is-pass")
    if term.ended_at is not None:
        yield TimelineStep(term.ended_at, f"{term.term} {term.state.value}", tone="is-warn")


def _choose_version(view: PageView, work: Work, shown: ShownMemory) -> MemoryRecord | None:
    """Return the memory to compare with: the one the address names, else the version before this one."""
    named = view.query_value("against")
    if named:
        other = work.memories.get(named)
        if not view.grant.allows(acts.AUDIT_READ.policy):
            check_readable(other)
        return other
    ids = [line.memory_id for line in shown.versions if line.status is not MemoryStatus.FORGOTTEN]
    place = ids.index(shown.memory.id) if shown.memory.id in ids else 0
    return work.memories.get(ids[place - 1]) if place > 0 else None


def _older_first(one: MemoryRecord, other: MemoryRecord) -> tuple[str, str]:
    first, second = sorted((one, other), key=lambda memory: (memory.created_at, memory.version, memory.id))
    return first.body, second.body


def compare_texts(old: str, new: str) -> list[DiffLine] | None:
    """Return the lines of both texts in order, marked; None if they are too long to compare."""
    if max(len(old), len(new)) > LONGEST_COMPARED:
        return None
    first, second = _lines(old), _lines(new)
    if max(len(first), len(second)) > MOST_LINES:
        return None
    return list(_compare(first, second))


def _compare(first: Sequence[str], second: Sequence[str]) -> Iterator[DiffLine]:
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, first, second).get_opcodes():
        if tag == "equal":
            yield from (DiffLine(line, "") for line in first[i1:i2])
        else:
            yield from (DiffLine(line, "taken") for line in first[i1:i2])
            yield from (DiffLine(line, "added") for line in second[j1:j2])


def _lines(text: str) -> list[str]:
    """Split a text into lines, and long lines into sentences."""
    found: list[str] = []
    for line in text.splitlines():
        if len(line) <= LONGEST_LINE:
            found.append(line)
        else:
            parts = line.split(". ")
            found += [f"{part}." for part in parts[:-1]] + parts[-1:]
    return found


def _graph(work: Work, memory: MemoryRecord) -> charts.Figure:
    near = work.edges.around([memory.id], hops=2, limit=NEAR)
    hops = {memory.id: 0, **{neighbour.memory_id: neighbour.hops for neighbour in near}}
    known = work.memories.by_ids(hops)
    order = list(hops)
    nodes = [
        charts.Node(known[node_id].title if node_id in known else node_id, hops[node_id], f"/memory/{quote(node_id)}")
        for node_id in order
    ]
    ties = {
        (edge.source_id, edge.target_id, edge.kind.value)
        for node_id in order
        for edge in work.edges.of(node_id)
        if edge.source_id in hops and edge.target_id in hops
    }
    places = {node_id: place for place, node_id in enumerate(order)}
    drawn = [charts.Tie(places[source], places[target], kind) for source, target, kind in sorted(ties)]
    return charts.neighbours(nodes, drawn)


# --- Forms that change a memory ---


@pages.post("/memory/{memory_id}/validate", acts.MEMORY_VALIDATE)
def validate(view: PageView) -> Response:
    """Vote on a memory as useful or useless."""
    memory_id = view.path["memory_id"]
    useful = view.form_value("was_useful") == "yes"
    vote = view.engine.validate(view.scope, memory_id, useful, note="from the dashboard")
    return view.go_to(f"/memory/{memory_id}", vote_word([vote], useful=useful))


@pages.get("/memory/{memory_id}/edit", acts.MEMORY_CHANGE)
def show_edit(view: PageView) -> Page:
    """Show the form that changes a memory."""
    with view.engine.store.reading(view.scope) as work:
        shown = _show(view, work)
    return Page(template="memory_edit.html", context={"memory": shown.memory, "tiers": _tiers(view)})


@pages.post("/memory/{memory_id}/edit", acts.MEMORY_CHANGE)
def edit(view: PageView) -> Response:
    """Save a new version of a memory; a form that changes nothing saves none."""
    with view.engine.store.reading(view.scope) as work:
        before = _show(view, work).memory
    given: dict[str, Any] = {
        "title": view.form_value("title").strip(),
        "body": view.form_value("body").replace("\r\n", "\n"),
        "folder": view.form.get("folder", "").strip(),
        "tags": split_labels(view.form.get("tags", "")),
        "triggers": split_labels(view.form.get("triggers", "")),
    }
    changes = {name: value for name, value in given.items() if value != getattr(before, name)}
    if not changes:
        return view.go_to(f"/memory/{before.id}", "Nothing was changed.")
    outcome = view.call(memory_verbs.UPDATE, memory_id=before.id, **changes)
    return view.go_to(f"/memory/{outcome.memory_id or before.id}", describe_outcome(outcome))


@pages.post("/memory/{memory_id}/tier", acts.MEMORY_RETIER)
def set_tier(view: PageView) -> Response:
    """Give a memory another tier."""
    memory_id = view.path["memory_id"]
    tier = filters.one_of(view.form, "tier", Tier)
    if tier is None:
        raise BadValue("tier is empty", remedy="Go back and choose one.")
    view.call(memory_verbs.TIER, memory_id=memory_id, tier=tier, reason=view.form.get("reason", "").strip())
    return view.go_to(f"/memory/{memory_id}", f"Its tier is {tier.value} now.")


@pages.post("/memory/{memory_id}/restore", acts.MEMORY_BRING_BACK)
def restore(view: PageView) -> Response:
    """Bring a forgotten or superseded memory back, or release one from quarantine."""
    memory_id = view.path["memory_id"]
    outcome = view.call(memory_verbs.RESTORE, memory_id=memory_id)
    said = "It was brought back: searches find it again."
    if outcome.contradicts:
        said += " What had taken its place stays too; the two are marked as contradicting each other."
    return view.go_to("/memory/inbox" if view.form.get("next") == "inbox" else f"/memory/{memory_id}", said)


@pages.get("/memory/{memory_id}/forget", acts.MEMORY_FORGET)
def preview_forgetting(view: PageView) -> Page:
    """Say what forgetting a memory changes, and what erasing it would, before anything is done."""
    memory_id = view.path["memory_id"]
    with view.engine.store.reading(view.scope) as work:
        shown = _show(view, work)
        terms = work.learned_terms.of(memory_id=memory_id)
    may_erase = view.grant.allows(acts.MEMORY_ERASE.policy)
    erases = may_erase and bool(filters.yes(view.query, "erase"))
    plan = view.engine.forgetting.plan(view.scope, Forget(memory_ids=(memory_id,))) if erases else None
    paths = view.grant.allows(acts.SETTINGS_READ_ALL.policy)
    context = {
        "shown": shown, "terms": terms, "may_erase": may_erase, "plan": plan, "shows_paths": paths,
        "why_not": why_unchangeable(view, shown.memory),
    }  # fmt: skip
    return Page(template="memory_forget.html", context=context)


@pages.post("/memory/{memory_id}/forget", acts.MEMORY_FORGET)
def forget(view: PageView) -> Response:
    """Hide a memory from every search; it can be brought back."""
    memory_id = view.path["memory_id"]
    view.call(memory_verbs.FORGET, memory_id=memory_id, reason=view.form.get("reason", "").strip())
    address = f"/memory/{memory_id}" if view.grant.allows(acts.AUDIT_READ.policy) else "/memory"
    return view.go_to(address, "It was forgotten: no search finds it. It can be brought back.")


@pages.post("/memory/{memory_id}/erase", acts.MEMORY_ERASE)
def erase(view: PageView) -> Response:
    """Erase a memory for good."""
    if view.form.get("sure") != "yes":
        raise BadValue("erasing was not confirmed", remedy="Go back and tick the box: it cannot be undone.")
    done = view.call(reading_verbs.ERASE, memory_id=view.path["memory_id"])
    left = f" {done.left} files still contain it." if done.left else " No file of the store contains it any more."
    return view.go_to("/memory", f"It was erased.{left}")


def split_labels(text: str) -> tuple[str, ...]:
    """Return the tags or triggers of a field: one a line, or with commas between them."""
    parts = (part.strip() for line in text.splitlines() for part in line.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def describe_outcome(outcome: SaveOutcome) -> str:
    """Say what became of an edited memory."""
    if outcome.decision is SaveDecision.REJECT:
        return f"It was not saved: {outcome.reason}."
    if outcome.quarantined:
        return f"It is in quarantine: {outcome.reason}."
    if outcome.unchanged:
        return "Nothing was changed."
    if outcome.decision is SaveDecision.MERGE:
        return "It was merged into this memory, which says the same."
    return "It was saved." if outcome.version == 1 else f"Version {outcome.version} took its place."
