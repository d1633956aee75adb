"""Taking back what was learned: of one memory, from a moment on, or by one writer.

A memory goes back to what it was before the first change that is taken back; later changes that stay are made again on
top of it. So a rollback of everything leaves the row as it was, byte for byte. Ballots go with their votes, evidence
with its terms. What ended by age stays ended: that was no learning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from assay.errors import InputError
from assay.memory.learning.policy import Policy, Principals
from assay.memory.learning.triggers import end
from assay.memory.learning.votes import step_confidence
from assay.records import values
from assay.records.learning import ChangeKind, LearnedTerm, LearningChange, RolledBack, Safeguard, TermState
from assay.storage import Work

LEARNED = (ChangeKind.VOTE, ChangeKind.PROMOTE, ChangeKind.APPLY)
"""What can be taken back."""
STANDING = (TermState.SHADOW, TermState.APPLIED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Which:
    """What to take back. Every given condition must hold."""

    memory_id: str | None = None
    since: datetime | None = None
    writer: str | None = None

    def __post_init__(self) -> None:
        if self.memory_id is None and self.since is None and self.writer is None:
            raise InputError("nothing says what to take back", remedy="Name a memory, a moment or a writer.")
        if self.memory_id is not None:
            values.identifier(self.memory_id, "memory_id")
        if self.since is not None:
            values.moment(self.since, "since")

    def as_json(self) -> dict[str, str]:
        """For the audit log."""
        said = {"memory": self.memory_id, "since": self.since and self.since.isoformat(), "writer": self.writer}
        return {name: value for name, value in said.items() if value}


def roll_back(work: Work, policy: Policy, principals: Principals, which: Which, now: datetime) -> RolledBack:
    """Take back what is meant."""
    if which.memory_id is not None:
        work.learning.state(which.memory_id)
    terms = _terms(work, policy, principals, which)
    gone = {(term.memory_id, term.term) for term in terms}
    chosen = [change for change in _standing(work, which) if change.kind in LEARNED and _is_meant(change, which, gone)]
    for memory_id, own in groupby(sorted(chosen, key=lambda one: (one.memory_id, one.id)), lambda one: one.memory_id):
        _undo(work, memory_id, list(own))
    for term in terms:
        end(work, term, TermState.WITHDRAWN, now)
    touched = tuple(sorted({change.memory_id for change in chosen} | {term.memory_id for term in terms}))
    for memory_id in touched:
        work.audit.append(f"learning.{Safeguard.ROLLBACK}", memory_id, which.as_json())
    kinds = [change.kind for change in chosen]
    return RolledBack(
        memories=touched,
        votes=kinds.count(ChangeKind.VOTE),
        promotions=kinds.count(ChangeKind.PROMOTE),
        terms=len(terms),
    )


def _standing(work: Work, which: Which) -> list[LearningChange]:
    """Changes that may be meant. A term can fall with one writer's evidence though another's choice completed it."""
    return work.learning.changes(memory_id=which.memory_id)


def _is_meant(change: LearningChange, which: Which, terms: set[tuple[str, str]]) -> bool:
    if change.kind is ChangeKind.APPLY:
        return (change.memory_id, str(change.detail.get("term"))) in terms
    by = which.writer is None or change.writer == which.writer
    return by and (which.since is None or change.at >= which.since)


def _terms(work: Work, policy: Policy, principals: Principals, which: Which) -> list[LearnedTerm]:
    found = work.learned_terms.of(memory_id=which.memory_id, states=STANDING)
    if which.since is not None:
        found = [term for term in found if term.learned_at >= which.since]
    if which.writer is None:
        return found
    return [term for term in found if not _stands_without(work, policy, principals, term, which.writer)]


def _stands_without(work: Work, policy: Policy, principals: Principals, term: LearnedTerm, writer: str) -> bool:
    """Whether a term has enough evidence without one writer's; that writer's is removed."""
    own = [evidence for evidence in work.learned_terms.evidence(memory_id=term.memory_id) if evidence.term == term.term]
    others = [evidence for evidence in own if evidence.principal != writer]
    if len(others) == len(own):
        return True
    work.learned_terms.remove_evidence(term.memory_id, [term.term], principal=writer)
    shared = principals.several(work, {evidence.principal for evidence in own})
    return policy.enough(
        [evidence.session_id for evidence in others], [evidence.principal for evidence in others], shared=shared
    )


def _undo(work: Work, memory_id: str, chosen: Sequence[LearningChange]) -> None:
    every = work.learning.changes(memory_id=memory_id)
    ids = {change.id for change in chosen}
    later = [change for change in every if change.id >= chosen[0].id]
    state: dict[str, Any] = {}
    for change in later:
        state = {**change.before, **state}
    for change in later:
        if change.id not in ids:
            state |= _make_again(work, state, change)
    if work.memories.get(memory_id).tier_was_set:
        # It is no longer the tier that learning gave it.
        state.pop("tier", None)
    work.learning.adjust(memory_id, state)
    work.learning.mark_undone(ids)
    ballots = [str(change.detail["ballot"]) for change in chosen if change.kind is ChangeKind.VOTE]
    if ballots:
        work.learning.remove_votes(memory_id, ballots)


def _make_again(work: Work, state: Mapping[str, Any], change: LearningChange) -> dict[str, Any]:
    """A change that stays, on top of what is left; what it found there and what it made of it are written anew."""
    after = again(state, change)
    work.learning.rebase(change.id, {name: state[name] for name in after}, after)
    return after


def again(state: Mapping[str, Any], change: LearningChange) -> dict[str, Any]:
    """What a change makes of another state than the one it was made on."""
    if change.kind is ChangeKind.VOTE:
        steps = int(change.detail["steps"])
        confidence = step_confidence(state["confidence"], bool(change.detail["useful"]), steps)
        return {"confidence": confidence, "validation_count": state["validation_count"] + steps}
    if change.kind is ChangeKind.PROMOTE:
        # A step up that began where the memory no longer stands is no step.
        return {"tier": change.after["tier"]} if state["tier"] == change.before.get("tier") else {}
    held, term = list(state["learned_triggers"]), str(change.detail["term"])
    rest = [word for word in held if word != term]
    return {"learned_triggers": [*rest, term] if change.kind is ChangeKind.APPLY else rest}
