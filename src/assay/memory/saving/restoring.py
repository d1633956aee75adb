"""Undoing one supersede, one merge, one quarantine or one forgetting, and nothing that came after it.

A superseded memory holds again. What superseded it stays too, so the `supersedes` edge becomes a `contradicts` edge:
two notes that speak against each other must not stand side by side unmarked. Taking a merge apart gives the memory back
its count and its triggers, and keeps the text that was merged as a memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from assay.clock import Clock
from assay.errors import InputError, NotAllowed
from assay.memory import rights
from assay.memory.saving import forgotten, quarantine, structure
from assay.memory.saving.decisions import Decision
from assay.memory.saving.preparing import Prepared, Preparer
from assay.memory.saving.structure import RESERVED
from assay.memory.saving.writing import Plan, Writing, tokens_of
from assay.records import (
    Draft,
    Edge,
    EdgeKind,
    MemoryRecord,
    MemoryStatus,
    SaveDecision,
    SaveOutcome,
    Scope,
    Step,
    Tier,
)
from assay.storage import SaveRecord, Store, Work


class Restorer:
    """Takes back what a save did to one memory."""

    def __init__(self, *, store: Store, preparer: Preparer, clock: Clock, model: Callable[[], str | None]) -> None:
        self._store = store
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
        if quarantine.reasons(memory):
            return self._release(scope, memory)
        if memory.superseded_at is not None:
            return self._revive(scope, memory_id)
        if merged is None:
            raise InputError(
                f"the memory {memory_id!r} is neither superseded nor merged with another",
                remedy="Name the memory that was superseded, or the one that took the other in.",
            )
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

    def _reveal(self, scope: Scope, hidden: MemoryRecord) -> SaveOutcome:
        """Cut, embed and index what was forgotten, and put its edges back."""
        text = Draft(title=hidden.title, body=hidden.body, format=hidden.format)
        [prepared] = self._preparer.embedded(scope, [self._preparer.checked(text, scored=False)])
        model = self._model() if prepared.vectors is not None else None
        with self._store.writing(scope) as work:
            memory = work.memories.get(hidden.id)
            if memory.status is not MemoryStatus.FORGOTTEN:
                raise InputError(f"the memory {memory.id!r} was restored already", remedy="Look at it again.")
            shown, pieces = forgotten.reveal(memory, self._clock.now()), prepared.chunks(memory.id)
            if shown.superseded_at is None:
                _check_room(work, memory, prepared.tokens)
            if model is not None and work.vectors.active() is None:
                work.vectors.activate(model)
            work.memories.update(shown, pieces, vectors=prepared.chunk_vectors(), model=model)
            edges = forgotten.restore_edges(work, memory)
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
        [prepared] = self._preparer.embedded(scope, [self._preparer.checked(text, scored=False)])
        model = self._model() if prepared.vectors is not None else None
        with self._store.writing(scope) as work:
            memory = work.memories.get(doubted.id)
            if not quarantine.reasons(memory):
                raise InputError(f"the memory {memory.id!r} was released already", remedy="Look at it again.")
            _check_room(work, memory, prepared.tokens)
            held, pieces = quarantine.released(memory, self._clock.now()), prepared.chunks(memory.id)
            if model is not None and work.vectors.active() is None:
                work.vectors.activate(model)
            work.memories.update(held, pieces, vectors=prepared.chunk_vectors(), model=model)
            outcome = SaveOutcome(
                save_id=self._store.ids.new("sv"),
                decision=SaveDecision.STORE,
                memory_id=memory.id,
                version=memory.version,
                chunks=len(pieces),
                steps=(Step("restore", "release", "out of quarantine; searches find it"),),
            )
            self._note(work, outcome, {"undone": "quarantine", "for": list(quarantine.reasons(memory))})
        return outcome

    def _take_apart(self, scope: Scope, memory_id: str, merged: SaveRecord) -> SaveOutcome:
        checked = self._preparer.checked(_draft(merged.detail["incoming"]), scored=False)
        [prepared] = self._preparer.embedded(scope, [checked])
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
        plan = Plan(prepared=prepared, decision=Decision(decision=SaveDecision.STORE, steps=()))
        writing.check(plan)
        outcome = writing.write(plan)
        writing.flush()
        return outcome

    def _note(self, work: Work, outcome: SaveOutcome, detail: dict[str, Any]) -> None:
        work.audit.append("memory.restore", str(outcome.memory_id), {"save_id": outcome.save_id, **detail})


def _check_program(memory: MemoryRecord, scope: Scope) -> None:
    """Refuse a program whatever it did not do itself: a person's decision to forget is not a program's to undo."""
    rights.check_change(memory, scope, "restore", automated=True)
    if memory.status is not MemoryStatus.FORGOTTEN or not forgotten.read_mark(memory)["automated"]:
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
        others = [tokens_of(work, one.id) for one in work.memories.constitutional()]
        structure.check_constitutional(tokens, others)


def _last_merge(work: Work, memory: MemoryRecord) -> SaveRecord | None:
    entries = memory.metadata.get(RESERVED, {}).get("merged", [])
    return work.saves.get(entries[-1]["save_id"]) if entries else None


def _entry(memory: MemoryRecord, save_id: str) -> dict[str, Any] | None:
    entries = memory.metadata.get(RESERVED, {}).get("merged", [])
    return next((entry for entry in entries if entry["save_id"] == save_id), None)


def _without(memory: MemoryRecord, entry: dict[str, Any], clock: Clock) -> MemoryRecord:
    """A memory as it would be without one merge, whatever else happened to it since."""
    own = dict(memory.metadata[RESERVED])
    own["merged"] = [one for one in own["merged"] if one["save_id"] != entry["save_id"]]
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
