"""What a save writes, and what an update takes over from the memories it supersedes.

- Inheriting: fields that the writer did not give, and links.
- Writing: the memory with chunks, vectors and triggers, what it replaces, edges, the decision, the audit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter
from typing import Any

from assay.hashing import content_hash
from assay.memory.saving.decisions import Decision
from assay.memory.saving.drafts import MOST_TAGS, MOST_TRIGGERS, RESERVED, check_constitutional
from assay.memory.saving.fact_changes import ReplacedFact
from assay.memory.saving.neighbours import Neighbour
from assay.memory.saving.options import score_quality
from assay.memory.saving.preparing import Prepared, content_of
from assay.memory.saving.spam_filter import mark_quarantined, quarantine_reasons
from assay.records import (
    Draft,
    Edge,
    EdgeKind,
    IdFactory,
    Inherited,
    MemoryRecord,
    Nearest,
    OutdatedFact,
    SaveDecision,
    SaveOutcome,
    Scope,
    Step,
    Tier,
    values,
)
from assay.records.fields import make_checked
from assay.records.memory import INHERITED, LABEL_FIELDS, TEXT_FIELDS
from assay.storage import Saved, SaveRecord, Work
from assay.storage.repositories.facts import start_of_validity
from assay.text.facts import is_same_value, read_facts
from assay.text.terms import normalise_phrase

# --- Inheriting: fields that the writer did not give, and links ---
#
# Whoever writes "not after 12:00" in place of "not after 14:00" says nothing about folder, tags, triggers or tier, and
# means them to stay. Of several memories that are superseded together, lists are united, the tier is the most
# important, and everything else is that of the first one that has it.

_IMPORTANCE = tuple(Tier)
_MOST = {"triggers": MOST_TRIGGERS, "tags": MOST_TAGS}


@dataclass(frozen=True, kw_only=True, slots=True)
class Update:
    """A draft together with what it takes over."""

    prepared: Prepared
    inherited: tuple[Inherited, ...] = ()
    links: tuple[Edge, ...] = ()
    """Edges of what is superseded that the new memory is to have too; their ends still name the old one."""


def update_of(work: Work, prepared: Prepared, older: Sequence[MemoryRecord], compared: Collection[str] = ()) -> Update:
    """A prepared draft as an update of older memories; `compared` are the memories that were compared with it."""
    if not older:
        return Update(prepared=prepared)
    filled = inherit(prepared, older)
    links = tuple(_links(work, [memory.id for memory in older], compared))
    changed = [
        Inherited(name, _readable(getattr(filled.draft, name)))
        for name in INHERITED
        if getattr(filled.draft, name) != getattr(prepared.draft, name)
    ]
    if links:
        changed.append(Inherited("links", str(len(links))))
    return Update(prepared=filled, inherited=tuple(changed), links=links)


def inherit(prepared: Prepared, older: Sequence[MemoryRecord]) -> Prepared:
    """A prepared draft with every field that was not given as the older memories have it."""
    missing = [name for name in INHERITED if not prepared.draft.was_given(name)]
    taken = {name: value for name in missing if (value := _value(name, older))}
    draft: Draft = replace(prepared.draft, **taken)
    return replace(
        prepared,
        draft=draft,
        source_hash=draft.source_hash or content_of(draft),
        quality=None if prepared.quality is None else score_quality(draft),
    )


def move_link(edge: Edge, old_ids: Collection[str], new_id: str) -> Edge:
    """An edge of an older memory as one of the memory that supersedes it."""
    if edge.source_id in old_ids:
        return replace(edge, source_id=new_id)
    return replace(edge, target_id=new_id)


def _value(name: str, older: Sequence[MemoryRecord]) -> Any:
    if name in _MOST:
        every = dict.fromkeys(label for memory in older for label in getattr(memory, name))
        return tuple(every)[: _MOST[name]]
    if name == "tier":
        return min((memory.tier for memory in older), key=_IMPORTANCE.index)
    if name == "metadata":
        return _own_metadata(older)
    return next((value for memory in older if (value := getattr(memory, name))), None)


def _own_metadata(older: Sequence[MemoryRecord]) -> dict[str, Any]:
    """What the writers of the older memories gave, without what saving keeps there itself."""
    found: dict[str, Any] = {}
    for memory in older:
        found = {**{key: value for key, value in memory.metadata.items() if key != RESERVED}, **found}
    return found


def _links(work: Work, old_ids: Sequence[str], compared: Collection[str]) -> Iterator[Edge]:
    """The edges to take over: none about versions, and no contradiction that this very save has looked at anew."""
    for old_id in old_ids:
        edges = work.edges.of(old_id)
        for edge in edges:
            other = _other_end(edge, old_id)
            judged_anew = edge.kind is EdgeKind.CONTRADICTS and other in compared
            if edge.kind is EdgeKind.SUPERSEDES or other in old_ids or judged_anew:
                continue
            if not _is_linked_to_successor(work, edge, other, old_id, edges):
                yield edge


def _is_linked_to_successor(work: Work, edge: Edge, other: str, old_id: str, edges: Iterable[Edge]) -> bool:
    """Whether the other end was superseded, and its successor took the same link over: then that one is enough."""
    successors = {
        link.source_id for link in work.edges.of(other) if link.kind is EdgeKind.SUPERSEDES and link.target_id == other
    }
    outgoing = edge.source_id == old_id
    return any(
        link.kind is edge.kind and (link.source_id == old_id) is outgoing and _other_end(link, old_id) in successors
        for link in edges
    )


def _other_end(edge: Edge, memory_id: str) -> str:
    return edge.target_id if edge.source_id == memory_id else edge.source_id


def _readable(value: Any) -> str:
    return str(value) if isinstance(value, str) else ", ".join(map(str, value))


# --- Writing: the memory with chunks, vectors and triggers, what it replaces, edges, the decision, the audit ---
#
# Rows of one save always go in one transaction. Rows of a batch are gathered and written together, table by table; a
# save that must see an earlier one of its batch has that written first.

CARRIED = (*TEXT_FIELDS, *LABEL_FIELDS)
"""Fields of a draft that a merge keeps unchanged, so that it can be undone."""
_OF_DRAFT = (*CARRIED, "tier", "format", "written_with")
_read_draft = attrgetter(*_OF_DRAFT)
_NEW_MEMORY: Mapping[str, Any] = {
    "superseded_at": None,
    "learned_triggers": (),
    "confidence": 0.5,
    "validation_count": 0,
    "access_count": 0,
    "frequency": 1,
}
"""What a memory begins with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WritePlan:
    """A draft with everything that was decided about it."""

    prepared: Prepared
    decision: Decision
    near: tuple[Neighbour, ...] = ()
    predecessor: MemoryRecord | None = None
    """The version of the same source that this one takes the place of."""
    spared: MemoryRecord | None = None
    """A predecessor that may not be touched."""
    version: int = 1
    enforced: bool = False
    inherited: tuple[Inherited, ...] = ()
    """What the draft took over from what it replaces."""
    links: tuple[Edge, ...] = ()
    """Edges of what it replaces that it is to have too."""
    outdated: tuple[ReplacedFact, ...] = ()
    """Facts of memories that stay, which hold no longer."""

    @property
    def replaced(self) -> list[MemoryRecord]:
        """What stops holding when this is written; what is in quarantine replaces nothing."""
        if self.decision.quarantined:
            return []
        older = [] if self.predecessor is None else [self.predecessor]
        return older + [superseded.memory for superseded in self.decision.supersedes]


class Writing:
    """The writes of one unit of work."""

    def __init__(
        self,
        work: Work,
        scope: Scope,
        *,
        now: datetime,
        ids: IdFactory,
        model: str | None,
        chunker: str,
        may_end_facts: bool = False,
    ) -> None:
        self._work = work
        self._scope = scope
        self._now = values.moment(now, "now")
        self._ids = ids
        self._model = model
        self._chunker = chunker
        self._may_end_facts = may_end_facts
        self._new: list[Saved] = []
        self._replaced: list[MemoryRecord] = []
        self._edges: list[Edge] = []
        self._saves: list[SaveRecord] = []
        self._sources: set[str] = set()

    def see_before(self, prepared: Prepared, *, compared: bool) -> None:
        """Write what is gathered when this draft has to see it."""
        constitutional = prepared.draft.tier is Tier.CONSTITUTIONAL
        if compared or constitutional or prepared.draft.source_id in self._sources:
            self.flush()

    def check(self, plan: WritePlan) -> None:
        """Refuse a constitutional memory beyond what search results can carry."""
        if plan.prepared.draft.tier is not Tier.CONSTITUTIONAL or plan.decision.merge_into is not None:
            return
        gone = {replaced.id for replaced in plan.replaced}
        others = [memory.id for memory in self._work.memories.constitutional() if memory.id not in gone]
        check_constitutional(plan.prepared.tokens, [tokens_of(self._work, other) for other in others])

    def write(self, plan: WritePlan) -> SaveOutcome:
        """Gather what a plan writes, and say what became of the draft."""
        save_id = self._ids.new("sv")
        if plan.decision.decision is SaveDecision.REJECT:
            duplicate = plan.decision.duplicate
            if duplicate is not None and not duplicate.protected:
                self._restate(duplicate.memory, plan.prepared.draft)
            return self._record_outcome(plan, save_id, duplicate.memory.id if duplicate else None)
        if plan.decision.merge_into is not None:
            return self._merge(plan, save_id, plan.decision.merge_into)
        memory = self._memory(plan)
        if plan.decision.quarantined:
            return self._set_apart(plan, save_id, memory)
        draft = plan.prepared.draft
        self._new.append(
            Saved(
                memory=memory,
                chunks=plan.prepared.chunks(memory.id),
                vectors=plan.prepared.chunk_vectors(),
                model=self._model if plan.prepared.vectors is not None else None,
                chunker=self._chunker,
                skipped=plan.prepared.skipped,
                doc_type=str(draft.format),
            )
        )
        if draft.source_id is not None:
            self._sources.add(draft.source_id)
        self._join(plan, memory, save_id)
        return self._record_outcome(plan, save_id, memory.id)

    def _set_apart(self, plan: WritePlan, save_id: str, memory: MemoryRecord) -> SaveOutcome:
        """Keep the row alone, without passages: what is in quarantine is in no index, and moves no word's frequency."""
        held = mark_quarantined(memory, plan.prepared.doubts)
        self._new.append(Saved(memory=held))
        self._work.audit.append("memory.quarantine", held.id, {"save_id": save_id, "for": quarantine_reasons(held)})
        return self._record_outcome(plan, save_id, held.id)

    def flush(self) -> None:
        """Write everything gathered so far."""
        if any(chunk.model for chunk in self._new) and self._model and self._work.vectors.active() is None:
            self._work.vectors.activate(self._model)
        self._work.memories.add_many(self._new)
        for memory in self._replaced:
            self._work.memories.update(memory)
        for edge in self._edges:
            self._work.edges.put(edge)
        self._work.saves.record_many(self._saves)
        settle_facts(
            self._work,
            [*(saved.memory.id for saved in self._new), *(memory.id for memory in self._replaced)],
            may_end=self._may_end_facts,
        )
        for gathered in (self._new, self._replaced, self._edges, self._saves):
            gathered.clear()
        self._sources.clear()

    def _memory(self, plan: WritePlan) -> MemoryRecord:
        draft = plan.prepared.draft
        own = {RESERVED: {"automated": True}} if draft.automated else {}
        # What a draft holds was checked when the draft was made, by the same rules.
        return make_checked(
            MemoryRecord,
            **_NEW_MEMORY,
            **dict(zip(_OF_DRAFT, _read_draft(draft), strict=True)),
            id=self._ids.new("m"),
            metadata={**draft.metadata, **own},
            source_hash=plan.prepared.source_hash,
            version=plan.version,
            written_by=self._scope.principal,
            created_at=self._now,
            updated_at=self._now,
            valid_from=draft.valid_from or self._now,
        )

    def _join(self, plan: WritePlan, memory: MemoryRecord, save_id: str) -> None:
        """Replace what the memory supersedes, and draw its edges."""
        for old in plan.replaced:
            self._replaced.append(replace(old, superseded_at=self._now, updated_at=self._now))
            self._work.audit.append("memory.supersede", old.id, {"by": memory.id, "save_id": save_id})
        decision = plan.decision
        if plan.predecessor is not None:
            self._edge(memory.id, plan.predecessor.id, EdgeKind.SUPERSEDES, f"version {plan.version}")
        if plan.spared is not None:
            self._edge(memory.id, plan.spared.id, EdgeKind.CONTRADICTS, "a program may not replace it")
        gone = {replaced.id for replaced in plan.replaced}
        for link in plan.links:
            self._edges.append(move_link(link, gone, memory.id))
        for kind, near in (
            (EdgeKind.SUPERSEDES, decision.supersedes),
            (EdgeKind.CONTRADICTS, decision.contradicts),
            (EdgeKind.SUPPORTS, decision.supports),
        ):
            for neighbour in near:
                self._edge(
                    memory.id, neighbour.memory.id, kind, "; ".join(neighbour.pair.reasons), neighbour.pair.similarity
                )

    def _edge(self, source: str, target: str, kind: EdgeKind, evidence: str, strength: float = 1.0) -> None:
        self._edges.append(
            Edge(
                source_id=source,
                target_id=target,
                kind=kind,
                created_at=self._now,
                strength=max(0.0, strength),
                evidence=evidence,
            )
        )

    def _restate(self, memory: MemoryRecord, draft: Draft) -> None:
        """Record that a note says again what the memory states: of two views, it is the newer one from now on."""
        said = {fact.topic: fact.value for fact in read_facts(draft.body, title=draft.title)}
        facts = self._work.facts.of_memories([memory.id]) if said else []
        topics = [fact.topic for fact in facts if is_same_value(said.get(fact.topic, ""), fact.value)]
        if topics:
            self._work.facts.restate(memory.id, topics, self._now)

    def _merge(self, plan: WritePlan, save_id: str, into: Neighbour) -> SaveOutcome:
        draft, memory = plan.prepared.draft, into.memory
        added = new_triggers(memory.triggers, draft.triggers)
        entry = {
            "save_id": save_id,
            "title": draft.title,
            "body_hash": content_hash(draft.body),
            "source_id": draft.source_id,
            "source_hash": plan.prepared.source_hash,
            "written_by": self._scope.principal,
            "written_with": draft.written_with,
            "at": self._now.isoformat(),
            "triggers": added,
        }
        own = dict(memory.metadata.get(RESERVED, {}))
        own["merged"] = [*own.get("merged", []), entry]
        self._replaced.append(
            replace(
                memory,
                frequency=memory.frequency + 1,
                triggers=(*memory.triggers, *added),
                metadata={**memory.metadata, RESERVED: own},
                updated_at=self._now,
            )
        )
        self._work.audit.append("memory.merge", memory.id, {"save_id": save_id, "triggers": added})
        self._restate(memory, draft)
        return self._record_outcome(plan, save_id, memory.id, {"incoming": incoming(plan.prepared)})

    def _record_outcome(
        self, plan: WritePlan, save_id: str, memory_id: str | None, more: Mapping[str, Any] | None = None
    ) -> SaveOutcome:
        outcome = outcome_of(plan, save_id, memory_id, self._now)
        nearest = outcome.nearest[0] if outcome.nearest else None
        # Everything in it was checked as a part of the draft or was made here.
        self._saves.append(
            make_checked(
                SaveRecord,
                save_id=save_id,
                decision=outcome.decision,
                at=self._now,
                memory_id=memory_id,
                would_reject=outcome.would_reject,
                quality=None if outcome.quality is None else outcome.quality.score,
                similarity=None if nearest is None else nearest.similarity,
                neighbour_id=None if nearest is None else nearest.memory_id,
                source_id=plan.prepared.draft.source_id,
                enforced=plan.enforced,
                detail={**_detail(outcome, plan.prepared.draft.title), **(more or {})},
                actor=self._scope.principal,
            )
        )
        return outcome


def settle_facts(work: Work, memory_ids: Sequence[str], *, may_end: bool) -> None:
    """Decide anew which facts hold on every topic that these memories touch."""
    if memory_ids:
        work.facts.settle(work.facts.topics_touched_by(memory_ids), may_end=may_end)


def outcome_of(plan: WritePlan, save_id: str, memory_id: str | None, now: datetime) -> SaveOutcome:
    """Build the outcome of a save for its caller."""
    prepared, decision = plan.prepared, plan.decision
    stored = decision.decision in (SaveDecision.STORE, SaveDecision.SUPERSEDE)
    against = [contradicted.memory.id for contradicted in decision.contradicts]
    passages = len(prepared.pieces) if stored and not decision.quarantined else 0
    return SaveOutcome(
        save_id=save_id,
        decision=SaveDecision.SUPERSEDE if stored and plan.replaced else decision.decision,
        memory_id=memory_id,
        reason=_reason(decision, memory_id),
        version=plan.version if stored else 1,
        superseded=tuple(replaced.id for replaced in plan.replaced),
        inherited=plan.inherited,
        contradicts=(*against, *([] if plan.spared is None or decision.quarantined else [plan.spared.id])),
        outdated=_outdated(plan, memory_id, now) if stored and not decision.quarantined else (),
        masks=prepared.masks,
        quality=prepared.quality,
        nearest=tuple(neighbour.to_nearest() for neighbour in plan.near),
        would_reject=decision.would_reject,
        steps=(*first_steps(prepared), *decision.steps, _last_step(plan, memory_id)),
        chunks=passages,
        skipped=prepared.skipped,
        quarantined=decision.quarantined,
        held_off=decision.held_off,
    )


def _outdated(plan: WritePlan, memory_id: str | None, now: datetime) -> tuple[OutdatedFact, ...]:
    written_at = plan.prepared.draft.valid_from or now
    return tuple(
        OutdatedFact(**(fact._asdict() | {"since": start_of_validity(fact.since, written_at)}), by=memory_id)
        for fact in plan.outdated
        if memory_id is not None
    )


def first_steps(prepared: Prepared) -> tuple[Step, Step]:
    """Return the results of the steps before the decision."""
    kinds = ", ".join(sorted({mask.kind for mask in prepared.masks}))
    masked = Step("secrets", "masked", kinds) if prepared.masks else Step("secrets", "pass")
    return Step("structure", "pass"), masked


def _last_step(plan: WritePlan, memory_id: str | None) -> Step:
    decision = plan.decision.decision
    if decision is SaveDecision.REJECT:
        return Step("write", "reject", memory_id or "")
    if plan.decision.quarantined:
        return Step("write", "store", "in quarantine: no search finds it until a person releases it")
    vectors = "" if plan.prepared.vectors is not None else f"without vectors: {plan.prepared.no_vectors}"
    return Step("write", "merge" if decision is SaveDecision.MERGE else "store", vectors)


def _detail(outcome: SaveOutcome, title: str) -> dict[str, Any]:
    return {
        "title": title,
        "steps": [[step.name, step.decision, step.detail] for step in outcome.steps],
        "masks": [[mask.kind, mask.where, mask.length] for mask in outcome.masks],
        "nearest": [_nearest(neighbour) for neighbour in outcome.nearest],
        "superseded": list(outcome.superseded),
        "inherited": [[kept.field, kept.value] for kept in outcome.inherited],
        "contradicts": list(outcome.contradicts),
        "outdated": [[fact.memory_id, fact.value, fact.now] for fact in outcome.outdated],
    }


def _nearest(one: Nearest) -> dict[str, Any]:
    return {
        "memory_id": one.memory_id,
        "similarity": one.similarity,
        "agrees": one.agrees,
        "same_subject": one.same_subject,
        "reasons": list(one.reasons),
    }


def incoming(prepared: Prepared) -> dict[str, Any]:
    """Return a merged draft unchanged."""
    draft = prepared.draft
    plain = {name: getattr(draft, name) for name in CARRIED}
    lists = {name: list(plain[name]) for name in ("triggers", "tags")}
    return {
        **plain,
        **lists,
        "tier": str(draft.tier),
        "format": str(draft.format),
        "metadata": dict(draft.metadata),
        "written_with": draft.written_with,
        "automated": draft.automated,
        "source_hash": prepared.source_hash,
    }


def was_merged_before(memory: MemoryRecord, prepared: Prepared) -> bool:
    """Whether a memory already holds this very source: taking documents in again must not count them again."""
    source = (prepared.draft.source_id, prepared.source_hash)
    merged = memory.metadata.get(RESERVED, {}).get("merged", [])
    return source[0] is not None and source in [
        (origin.get("source_id"), origin.get("source_hash")) for origin in merged
    ]


def new_triggers(there: Iterable[str], given: Iterable[str]) -> list[str]:
    """The triggers that a memory lacks, each once, as far as there is room."""
    there = list(there)
    known = {normalise_phrase(trigger) for trigger in there}
    fresh: dict[str, str] = {}
    for trigger in given:
        phrase = normalise_phrase(trigger)
        if phrase not in known:
            fresh.setdefault(phrase, trigger)
    return list(fresh.values())[: max(0, MOST_TRIGGERS - len(there))]


def tokens_of(work: Work, memory_id: str) -> int:
    """The tokens of a stored memory."""
    return sum(chunk.token_count for chunk in work.memories.chunks_of(memory_id))


def _reason(decision: Decision, memory_id: str | None) -> str:
    """Say why a draft was rejected or is quarantined; nothing of one that is neither."""
    if decision.decision is SaveDecision.REJECT and memory_id is not None:
        return f"a duplicate of {memory_id}"
    deciding = "reject" if decision.decision is SaveDecision.REJECT else "quarantine"
    said = "; ".join(step.detail for step in decision.steps if step.decision == deciding)
    return said or ("the quality is too low" if decision.decision is SaveDecision.REJECT else "")
