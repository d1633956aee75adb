"""Forgetting that can be undone, and undoing a supersede, merge, quarantine or forgetting.

- Forgetting: the memory is hidden from every search until it is restored or erased.
- Restoring: undo one change and nothing that came after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from assay.clock import Clock
from assay.errors import InputError, NotAllowed, NotReady
from assay.memory import rights
from assay.memory.saving.decisions import Decision
from assay.memory.saving.drafts import RESERVED, check_constitutional
from assay.memory.saving.preparing import Prepared, Preparer
from assay.memory.saving.spam_filter import quarantine_reasons, release
from assay.memory.saving.writing import WritePlan, Writing, settle_facts, tokens_of
from assay.records import (
    Draft,
    Edge,
    EdgeKind,
    ForgottenMemory,
    MemoryRecord,
    MemoryStatus,
    SaveDecision,
    SaveOutcome,
    Scope,
    Step,
    Tier,
    fields,
)
from assay.records.memory import FORGOTTEN_MARK as MARK
from assay.storage import SaveRecord, Store, Work

# --- Forgetting: the memory is hidden from every search until it is restored or erased ---
#
# A forgotten memory keeps its row and loses its passages, vectors and edges, so it is in no index and no graph, and
# counts for no word's frequency. Like a quarantined one it is superseded from the moment it became valid, so that no
# question about any time finds it. What it takes to bring it back (the edges, and whether it held) stands in its
# metadata. `assay forget` erases it for good.


def forget(
    store: Store, scope: Scope, memory_id: str, *, clock: Clock, automated: bool, reason: str = ""
) -> ForgottenMemory:
    """Hide a memory from every search, reversibly. Audited. Forgetting it again changes nothing."""
    with store.writing(scope) as work:
        memory = work.memories.get(memory_id)
        rights.check_change(memory, scope, "forget", automated=automated)
        if memory.status is MemoryStatus.FORGOTTEN:
            return describe_forgotten(memory, unchanged=True)
        if memory.status is MemoryStatus.QUARANTINED:
            raise NotReady(
                f"the memory {memory_id!r} is in quarantine, where no search finds it",
                remedy=f"Leave it there, or erase it for good with `assay forget {memory_id}`.",
            )
        edges = work.edges.of(memory_id)
        for edge in edges:
            work.edges.remove(edge.source_id, edge.target_id, edge.kind)
        confirmed_at = work.facts.confirmed_at(memory_id)
        hidden = _hide(memory, edges, scope, at=clock.now(), automated=automated, confirmed_at=confirmed_at)
        topics = work.facts.topics_touched_by([memory_id])
        work.memories.update(hidden, ())
        work.facts.settle(topics, may_end=False)
        work.audit.append("memory.hide", memory_id, {"automated": automated, "reason": reason, "edges": len(edges)})
    return describe_forgotten(hidden)


def describe_forgotten(memory: MemoryRecord, *, unchanged: bool = False) -> ForgottenMemory:
    """When and by whom a memory was forgotten."""
    mark = read_forgotten_mark(memory)
    return ForgottenMemory(
        memory_id=memory.id,
        title=memory.title,
        forgotten_at=datetime.fromisoformat(mark["at"]),
        forgotten_by=mark["by"],
        unchanged=unchanged,
    )


def read_forgotten_mark(memory: MemoryRecord) -> Mapping[str, Any]:
    """What is kept of a forgotten memory to bring it back; empty when it is not forgotten."""
    mark: Mapping[str, Any] = memory.metadata.get(RESERVED, {}).get(MARK, {})
    return mark


def reveal(memory: MemoryRecord, now: datetime) -> MemoryRecord:
    """The memory as it was before it was forgotten: holding, or superseded."""
    until = read_forgotten_mark(memory)["superseded_at"]
    held_until = None if until is None else datetime.fromisoformat(until)
    return replace(_with_mark(memory, None), superseded_at=held_until, updated_at=now)


def restore_edges(work: Work, memory: MemoryRecord) -> int:
    """Put the edges of a restored memory back; returns how many.

    An edge to a memory that was erased since is gone. An edge to one that is forgotten itself waits there.
    """
    restored = 0
    for edge in load_edges(memory):
        other = work.memories.find(edge.target_id if edge.source_id == memory.id else edge.source_id)
        if other is None:
            continue
        if other.status is MemoryStatus.FORGOTTEN:
            work.memories.update(_with_edges(other, [*load_edges(other), edge]))
            continue
        work.edges.put(edge)
        restored += 1
    return restored


def load_edges(memory: MemoryRecord) -> list[Edge]:
    """The edges a forgotten memory had."""
    return [
        Edge(
            source_id=kept["source_id"],
            target_id=kept["target_id"],
            kind=EdgeKind(kept["kind"]),
            strength=kept["strength"],
            evidence=kept["evidence"],
            created_at=datetime.fromisoformat(kept["created_at"]),
        )
        for kept in read_forgotten_mark(memory).get("edges", [])
    ]


def drop_edges(memory: MemoryRecord, dropped: Iterable[Edge]) -> MemoryRecord:
    """A forgotten memory without some of the edges it would get back."""
    gone = set(dropped)
    return _with_edges(memory, [edge for edge in load_edges(memory) if edge not in gone])


def _hide(
    memory: MemoryRecord,
    edges: Iterable[Edge],
    scope: Scope,
    *,
    at: datetime,
    automated: bool,
    confirmed_at: datetime | None,
) -> MemoryRecord:
    mark = {
        "at": at.isoformat(),
        "by": scope.principal,
        "automated": automated,
        "superseded_at": None if memory.superseded_at is None else memory.superseded_at.isoformat(),
        "edges": [fields.plain(edge) for edge in edges],
    }
    if confirmed_at is not None:
        mark["facts_confirmed_at"] = confirmed_at.isoformat()
    return replace(_with_mark(memory, mark), superseded_at=memory.valid_from, updated_at=at)


def _with_edges(memory: MemoryRecord, edges: Iterable[Edge]) -> MemoryRecord:
    return _with_mark(memory, {**read_forgotten_mark(memory), "edges": [fields.plain(edge) for edge in edges]})


def _with_mark(memory: MemoryRecord, mark: Mapping[str, Any] | None) -> MemoryRecord:
    own = {name: value for name, value in memory.metadata.get(RESERVED, {}).items() if name != MARK}
    if mark is not None:
        own[MARK] = dict(mark)
    rest = {name: value for name, value in memory.metadata.items() if name != RESERVED}
    return replace(memory, metadata={**rest, **({RESERVED: own} if own else {})})


# --- Restoring: undo one change and nothing that came after it ---
#
# A superseded memory holds again. What superseded it stays too, so the `supersedes` edge becomes a `contradicts` edge:
# two notes that speak against each other must not stand side by side unmarked. Taking a merge apart gives the memory
# back its count and its triggers, and keeps the text that was merged as a memory of its own.


class Restorer:
    """Takes back what a save did to one memory."""

    def __init__(
        self,
        *,
        store: Store,
        preparer: Preparer,
        clock: Clock,
        model: Callable[[], str | None],
        may_end_facts: bool = False,
    ) -> None:
        self._store = store
        self._may_end_facts = may_end_facts
        self._preparer = preparer
        self._clock = clock
        self._model = model

    def restore(self, scope: Scope, memory_id: str, *, automated: bool = False) -> SaveOutcome:
        """Bring a forgotten memory back, release one from quarantine, undo its supersede, or the last merge into it.

        A program (`automated`) may only bring back what a program of the same principal forgot.
        """
        with self._store.reading(scope) as work:
            memory = work.memories.get(memory_id)
            merged = _last_merge(work, memory) if memory.superseded_at is None else None
        if automated:
            _check_program(memory, scope)
        if memory.status is MemoryStatus.FORGOTTEN:
            return self._reveal(scope, memory)
        if quarantine_reasons(memory):
            return self._release(scope, memory)
        if memory.superseded_at is not None:
            return self._revive(scope, memory_id)
        if merged is None:
            return self._confirm_facts(scope, memory)
        return self._take_apart(scope, memory_id, merged)

    def _revive(self, scope: Scope, memory_id: str) -> SaveOutcome:
        with self._store.writing(scope) as work:
            memory = work.memories.get(memory_id)
            _check_room(work, memory, tokens_of(work, memory.id))
            work.memories.update(replace(memory, superseded_at=None, updated_at=self._clock.now()))
            by = [edge for edge in work.edges.of(memory_id) if _took_over(edge, memory_id)]
            for edge in by:
                work.edges.remove(edge.source_id, memory_id, EdgeKind.SUPERSEDES)
                work.edges.put(replace(edge, kind=EdgeKind.CONTRADICTS, created_at=self._clock.now()))
            work.facts.confirm(memory_id, self._clock.now())
            outcome = SaveOutcome(
                save_id=self._store.ids.new("sv"),
                decision=SaveDecision.STORE,
                memory_id=memory_id,
                version=memory.version,
                contradicts=tuple(edge.source_id for edge in by),
                steps=(Step("restore", "supersede", "holds again; what superseded it stays"),),
            )
            self._note(work, outcome, {"undone": "supersede"})
        return outcome

    def _confirm_facts(self, scope: Scope, memory: MemoryRecord) -> SaveOutcome:
        """Let the facts of a memory hold again that a later memory had outdated."""
        with self._store.writing(scope) as work:
            ended = work.facts.confirm(memory.id, self._clock.now())
            if not ended:
                raise InputError(
                    f"the memory {memory.id!r} is neither superseded nor merged with another, and no fact of it is "
                    "outdated",
                    remedy="Name the memory that was superseded or outdated, or the one that took the other in.",
                )
            count = "1 fact holds" if len(ended) == 1 else f"{len(ended)} facts hold"
            outcome = SaveOutcome(
                save_id=self._store.ids.new("sv"),
                decision=SaveDecision.STORE,
                memory_id=memory.id,
                version=memory.version,
                contradicts=tuple(sorted({fact.ended_by for fact in ended if fact.ended_by is not None})),
                steps=(Step("restore", "facts", f"{count} again; what outdated it stays"),),
            )
            self._note(work, outcome, {"undone": "outdated", "facts": len(ended)})
        return outcome

    def _reveal(self, scope: Scope, hidden: MemoryRecord) -> SaveOutcome:
        """Cut, embed and index what was forgotten, and put its edges back."""
        text = Draft(title=hidden.title, body=hidden.body, format=hidden.format)
        [prepared] = self._preparer.prepare(scope, [self._preparer.check(text, scored=False)])
        model = self._model() if prepared.vectors is not None else None
        with self._store.writing(scope) as work:
            memory = work.memories.get(hidden.id)
            if memory.status is not MemoryStatus.FORGOTTEN:
                raise InputError(f"the memory {memory.id!r} was restored already", remedy="Look at it again.")
            shown, pieces = reveal(memory, self._clock.now()), prepared.chunks(memory.id)
            if shown.superseded_at is None:
                _check_room(work, memory, prepared.tokens)
            if model is not None and work.vectors.active() is None:
                work.vectors.activate(model)
            work.memories.update(shown, pieces, vectors=prepared.chunk_vectors(), model=model)
            if (confirmed_at := read_forgotten_mark(memory).get("facts_confirmed_at")) is not None:
                work.facts.set_confirmed(memory.id, datetime.fromisoformat(confirmed_at))
            settle_facts(work, [memory.id], may_end=self._may_end_facts)
            edges = restore_edges(work, memory)
            found = "searches find it" if shown.superseded_at is None else "it is superseded, as it was before"
            outcome = SaveOutcome(
                save_id=self._store.ids.new("sv"),
                decision=SaveDecision.STORE,
                memory_id=memory.id,
                version=memory.version,
                chunks=len(pieces),
                steps=(Step("restore", "reveal", f"no longer forgotten; {found}"),),
            )
            self._note(work, outcome, {"undone": "forget", "edges": edges})
        return outcome

    def _release(self, scope: Scope, doubted: MemoryRecord) -> SaveOutcome:
        """Cut, embed and index what was in quarantine: from now on it is found."""
        text = Draft(title=doubted.title, body=doubted.body, format=doubted.format)
        [prepared] = self._preparer.prepare(scope, [self._preparer.check(text, scored=False)])
        model = self._model() if prepared.vectors is not None else None
        with self._store.writing(scope) as work:
            memory = work.memories.get(doubted.id)
            if not quarantine_reasons(memory):
                raise InputError(f"the memory {memory.id!r} was released already", remedy="Look at it again.")
            _check_room(work, memory, prepared.tokens)
            held, pieces = release(memory, self._clock.now()), prepared.chunks(memory.id)
            if model is not None and work.vectors.active() is None:
                work.vectors.activate(model)
            work.memories.update(held, pieces, vectors=prepared.chunk_vectors(), model=model)
            settle_facts(work, [memory.id], may_end=self._may_end_facts)
            outcome = SaveOutcome(
                save_id=self._store.ids.new("sv"),
                decision=SaveDecision.STORE,
                memory_id=memory.id,
                version=memory.version,
                chunks=len(pieces),
                steps=(Step("restore", "release", "out of quarantine; searches find it"),),
            )
            self._note(work, outcome, {"undone": "quarantine", "for": list(quarantine_reasons(memory))})
        return outcome

    def _take_apart(self, scope: Scope, memory_id: str, merged: SaveRecord) -> SaveOutcome:
        checked = self._preparer.check(_draft(merged.detail["incoming"]), scored=False)
        [prepared] = self._preparer.prepare(scope, [checked])
        with self._store.writing(scope) as work:
            memory = work.memories.get(memory_id)
            entry = _entry(memory, merged.save_id)
            if entry is None:
                raise InputError(f"the merge into {memory_id!r} was undone already", remedy="Look at it again.")
            work.memories.update(_without(memory, entry, self._clock))
            outcome = self._keep(work, scope, prepared)
            self._note(work, replace(outcome, memory_id=memory_id), {"undone": "merge", "kept_as": outcome.memory_id})
        return replace(outcome, steps=(Step("restore", "merge", f"taken out of {memory_id}"),))

    def _keep(self, work: Work, scope: Scope, prepared: Prepared) -> SaveOutcome:
        writing = Writing(
            work,
            scope,
            now=self._clock.now(),
            ids=self._store.ids,
            model=self._model() if prepared.vectors is not None else None,
            chunker=self._preparer.chunker.version,
        )
        plan = WritePlan(prepared=prepared, decision=Decision(decision=SaveDecision.STORE, steps=()))
        writing.check(plan)
        outcome = writing.write(plan)
        writing.flush()
        return outcome

    def _note(self, work: Work, outcome: SaveOutcome, detail: dict[str, Any]) -> None:
        work.audit.append("memory.restore", str(outcome.memory_id), {"save_id": outcome.save_id, **detail})


def _check_program(memory: MemoryRecord, scope: Scope) -> None:
    """Refuse to let a program undo what it did not do itself, such as a person's decision to forget."""
    rights.check_change(memory, scope, "restore", automated=True)
    if memory.status is not MemoryStatus.FORGOTTEN or not read_forgotten_mark(memory)["automated"]:
        state = "forgotten by a person" if memory.status is MemoryStatus.FORGOTTEN else str(memory.status)
        raise NotAllowed(
            f"the memory {memory.id!r} is {state}; a program may only restore what a program forgot",
            remedy=f"Ask a person to run `assay restore {memory.id}`, "
            "or use the token of a person (`assay token create --person`).",
        )


def _took_over(edge: Edge, memory_id: str) -> bool:
    return edge.kind is EdgeKind.SUPERSEDES and edge.target_id == memory_id


def _check_room(work: Work, memory: MemoryRecord, tokens: int) -> None:
    if memory.tier is Tier.CONSTITUTIONAL:
        others = [tokens_of(work, memory.id) for memory in work.memories.constitutional()]
        check_constitutional(tokens, others)


def _last_merge(work: Work, memory: MemoryRecord) -> SaveRecord | None:
    entries = memory.metadata.get(RESERVED, {}).get("merged", [])
    return work.saves.get(entries[-1]["save_id"]) if entries else None


def _entry(memory: MemoryRecord, save_id: str) -> dict[str, Any] | None:
    entries = memory.metadata.get(RESERVED, {}).get("merged", [])
    return next((entry for entry in entries if entry["save_id"] == save_id), None)


def _without(memory: MemoryRecord, entry: dict[str, Any], clock: Clock) -> MemoryRecord:
    """Return the memory as it would be without one merge, with all later changes."""
    own = dict(memory.metadata[RESERVED])
    own["merged"] = [merge for merge in own["merged"] if merge["save_id"] != entry["save_id"]]
    if not own["merged"]:
        del own["merged"]
    metadata = {**memory.metadata, RESERVED: own} if own else _apart(memory.metadata)
    return replace(
        memory,
        frequency=max(1, memory.frequency - 1),
        triggers=tuple(trigger for trigger in memory.triggers if trigger not in entry["triggers"]),
        metadata=metadata,
        updated_at=clock.now(),
    )


def _apart(metadata: Any) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key != RESERVED}


def _draft(kept: dict[str, Any]) -> Draft:
    return Draft(**kept)
