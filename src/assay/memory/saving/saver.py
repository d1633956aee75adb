"""Saving: a draft is checked, cleaned, scored, cut and embedded, and only then takes the write lock.

- Updates: a new version of a memory that keeps every field that was not given.
- The saver.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from assay.clock import Clock
from assay.embedding.protocol import Embedder, embeds_elsewhere
from assay.errors import InputError, NotReady, StoreFault
from assay.flags import Flags
from assay.index import SearchIndexes
from assay.memory import rights
from assay.memory.saving.decisions import RECONSOLIDATION, UNGATED, GatePolicy, decide, limit_verdict, policy_for
from assay.memory.saving.drafts import RESERVED
from assay.memory.saving.fact_changes import NOTHING, FactChanges, add_neighbours, compare_facts
from assay.memory.saving.garbage import collector_pause
from assay.memory.saving.lookahead import Earlier, prepare_ahead, prepare_in_turn
from assay.memory.saving.neighbours import (
    CopyWatch,
    Judge,
    Neighbour,
    Nominated,
    Verdict,
    find_changed_since,
    is_protected,
    nominate,
)
from assay.memory.saving.options import SaveOptions
from assay.memory.saving.preparing import CutDraft, Pace, Prepared, Preparer, Unwritten, cut_batches
from assay.memory.saving.restoring import Restorer, forget
from assay.memory.saving.spam_filter import find_quarantined, quarantine_reasons
from assay.memory.saving.writing import Update, WritePlan, Writing, first_steps, inherit, update_of, was_merged_before
from assay.records import (
    Draft,
    ForgottenMemory,
    MemoryRecord,
    MemoryStatus,
    SaveDecision,
    SaveOutcome,
    Scope,
    Step,
    Tier,
)
from assay.records.memory import CHANGEABLE, INHERITED, WRITTEN_FIELDS
from assay.storage import Standing, Store, Work
from assay.text.chunking import Chunker

# --- Updates: a new version of a memory that keeps every field that was not given ---
#
# The old version stays, superseded, and `assay restore` brings it back. The new one goes through the ordinary save, so
# secrets are masked and a program's text that looks like no note is quarantined and replaces nothing.

KEPT = (*(known.name for known in WRITTEN_FIELDS), "source_hash")
"""Fields that a new version has from the old one unless they are given."""


def draft_of_update(
    memory: MemoryRecord, scope: Scope, changes: Mapping[str, Any], *, automated: bool, tool: str
) -> Draft | None:
    """The new version of a memory; None when the changes change nothing."""
    if unknown := sorted(set(changes) - set(CHANGEABLE)):
        raise InputError(f"{unknown[0]!r} cannot be updated", remedy=f"Give one of {', '.join(CHANGEABLE)}.")
    check_current(memory)
    rights.check_change(memory, scope, "update", automated=automated)
    old = {name: getattr(memory, name) for name in KEPT}
    old["metadata"] = {key: value for key, value in memory.metadata.items() if key != RESERVED}
    if all(old[name] == value for name, value in changes.items()):
        return None
    values = {**old, **changes, "supersedes": memory.id, "written_with": tool, "automated": automated}
    return Draft(**values, given=frozenset(INHERITED))


def check_current(memory: MemoryRecord) -> MemoryRecord:
    """The memory, if it holds now; what does not hold has no next version."""
    if memory.status is not MemoryStatus.CURRENT:
        raise NotReady(
            f"the memory {memory.id!r} is {memory.status} and cannot be updated",
            remedy="Update the current version, or restore this one first.",
        )
    return memory


def already(memory: MemoryRecord) -> SaveOutcome:
    """The outcome of an update that gives what is there."""
    return SaveOutcome(
        save_id="",
        decision=SaveDecision.STORE,
        memory_id=memory.id,
        unchanged=True,
        version=memory.version,
        steps=(Step("write", "unchanged", "every given field is as it was"),),
    )


# --- The saver ---
#
# Under the lock one transaction looks at what changed since the neighbours were nominated, decides, and writes all
# rows of the save, or none. Two writers with the same thought are put one after the other, and the second sees the
# first.

ATTEMPTS = 5
"""How often a save begins anew when a restore of the whole store overtakes it."""


class Refused(NamedTuple):
    """A draft that could not be kept."""

    title: str
    source_id: str | None
    error: InputError

    @property
    def reason(self) -> str:
        """What was wrong with it."""
        return self.error.message


Result = SaveOutcome | Refused


class CheckedBatch(NamedTuple):
    """Drafts that go into one transaction, checked and cut; keys are places among the drafts."""

    drafts: Sequence[Draft]
    results: dict[int, Result]
    """Of drafts that were refused, or are there already."""
    cut: dict[int, CutDraft]


class PreparedBatch(NamedTuple):
    """Drafts that go into one transaction, checked and embedded; keys are places among the drafts."""

    drafts: Sequence[Draft]
    results: dict[int, Result]
    """Of drafts that were refused, or are there already."""
    prepared: dict[int, Prepared]


EarlierBatch = Earlier[CheckedBatch, PreparedBatch]


def _prepared(batch: EarlierBatch) -> Iterable[Prepared]:
    return batch.ready().prepared.values()


OnDone = Callable[[Draft, Result], None]
SaveObserver = Callable[[Scope, Draft, SaveOutcome, float], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ready:
    """A prepared draft with its place in the batch and the memories that may be near it."""

    place: int
    prepared: Prepared
    judge: Judge | None = None
    nominated: Nominated | None = None
    not_compared: str = ""


class _OvertakenError(Exception):
    """The past was rewritten while a save was under way."""


class Saver:
    """Keeps memories. One saver serves any number of scopes and threads."""

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None,
        indexes: SearchIndexes,
        flags: Flags,
        chunker: Chunker,
        clock: Clock,
        options: SaveOptions | None = None,
        observers: Sequence[SaveObserver] = (),
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._store = store
        self._observers = tuple(observers)
        self._stopwatch = stopwatch
        self._embedder = embedder
        self._indexes = indexes
        self._flags = flags
        self._clock = clock
        self._options = options or SaveOptions()
        self._preparer = Preparer(store=store, embedder=embedder, chunker=chunker)

    def save(self, scope: Scope, draft: Draft, *, gated: bool = True) -> SaveOutcome:
        """Keep one draft, or say why not. A draft that cannot be kept at all is refused with `InputError`."""
        began = self._stopwatch()
        policy = self._policy(scope, draft.source_id or draft.title) if gated else UNGATED
        checked = self._check_batch(scope, policy, [draft])
        [result] = self._save_batch(scope, self._embed_batch(scope, checked, ()), policy)
        if isinstance(result, Refused):
            raise result.error
        for observe in self._observers:
            # What is saved is saved: whoever watches cannot make it fail.
            with suppress(Exception):
                observe(scope, draft, result, (self._stopwatch() - began) * 1000.0)
        return result

    def watch(self, observer: SaveObserver) -> None:
        """Call an observer after every single save from now on, with its duration in milliseconds."""
        self._observers = (*self._observers, observer)

    def save_many(
        self,
        scope: Scope,
        drafts: Iterable[Draft],
        *,
        gated: bool = False,
        batch: int | None = None,
        on_done: OnDone | None = None,
    ) -> Generator[tuple[Draft, Result]]:
        """Save many drafts in order, one transaction for each batch; drafts are taken from the iterable when needed.

        A batch is what can be saved in about two seconds, or `batch` drafts where that is given, so that little is lost
        when a run is stopped. Yielded results are durable. A run that was stopped can be run again: what is there
        with the same source and content is unchanged. One draft that cannot be kept is `Refused` and does not stop the
        others.
        """
        policy = self._policy(scope, scope.principal) if gated else UNGATED
        pace = Pace(self._options.batch_seconds)
        began = self._stopwatch()
        with closing(self._prepare_batches(scope, self._cut(drafts, batch, pace), policy)) as batches:
            for prepared in batches:
                with collector_pause.hold():
                    results = self._save_batch(scope, prepared, policy)
                ended = self._stopwatch()
                pace.learn(sum(len(draft.body) for draft in prepared.drafts), ended - began)
                began = ended
                for draft, result in zip(prepared.drafts, results, strict=True):
                    if on_done is not None:
                        on_done(draft, result)
                    yield draft, result

    def restore(self, scope: Scope, memory_id: str, *, automated: bool = False) -> SaveOutcome:
        """Undo the forgetting, the quarantine, the supersede or the last merge of one memory, and nothing later."""
        restorer = Restorer(
            store=self._store,
            preparer=self._preparer,
            clock=self._clock,
            model=self._model,
            may_end_facts=self.may_end_facts(scope),
        )
        return restorer.restore(scope, memory_id, automated=automated)

    def forget(self, scope: Scope, memory_id: str, *, automated: bool = False, reason: str = "") -> ForgottenMemory:
        """Hide a memory from every search until it is restored; `assay.memory.forgetting` erases one for good."""
        return forget(self._store, scope, memory_id, clock=self._clock, automated=automated, reason=reason)

    def update(
        self, scope: Scope, memory_id: str, changes: Mapping[str, Any], *, automated: bool = False, tool: str = ""
    ) -> SaveOutcome:
        """Save a new version of a memory that takes its place; fields that `changes` does not name stay."""
        with self._store.reading(scope) as work:
            memory = work.memories.get(memory_id)
        draft = draft_of_update(memory, scope, changes, automated=automated, tool=tool)
        return already(memory) if draft is None else self.save(scope, draft)

    def _cut(self, drafts: Iterable[Draft], batch: int | None, pace: Pace) -> Iterator[list[Draft]]:
        if batch is None:
            yield from cut_batches(drafts, self._options.batch, pace)
            return
        waiting = iter(drafts)
        while taken := list(islice(waiting, batch)):
            yield taken

    def _prepare_batches(
        self, scope: Scope, batches: Iterable[list[Draft]], policy: GatePolicy
    ) -> Generator[PreparedBatch]:
        ahead = self._embedder is not None and embeds_elsewhere(self._embedder)
        prepare = prepare_ahead if ahead else prepare_in_turn
        return prepare(batches, partial(self._begin_batch, scope, policy), partial(self._finish_batch, scope))

    def _policy(self, scope: Scope, identity: str) -> GatePolicy:
        return policy_for(
            self._flags,
            self._store,
            scope,
            identity=identity,
            now=self._clock.now(),
            warn_only=self._options.warn_only,
        )

    @property
    def preparer(self) -> Preparer:
        """Checks, masks, cuts and embeds drafts."""
        return self._preparer

    @property
    def model(self) -> str | None:
        """Whose vectors it makes; None without an embedder."""
        return self._model()

    def may_end_facts(self, scope: Scope) -> bool:
        """Whether later facts end earlier ones: reconsolidation is on, and was activated (with a checkpoint) before."""
        with self._store.reading(scope) as work:
            state = self._flags.states(work)[RECONSOLIDATION]
        return state.enabled(scope.principal) and state.activated_at is not None

    def _model(self) -> str | None:
        return None if self._embedder is None else self._embedder.model

    def _begin_batch(self, scope: Scope, policy: GatePolicy, drafts: Sequence[Draft]) -> CheckedBatch:
        with collector_pause.hold():
            return self._check_batch(scope, policy, drafts)

    def _finish_batch(self, scope: Scope, checked: CheckedBatch, before: Sequence[EarlierBatch]) -> PreparedBatch:
        with collector_pause.hold():
            return self._embed_batch(scope, checked, before)

    def _check_batch(self, scope: Scope, policy: GatePolicy, drafts: Sequence[Draft]) -> CheckedBatch:
        """Check drafts and cut them into chunks."""
        results: dict[int, Result] = {}
        checked: dict[int, Prepared] = {}
        for place, draft in enumerate(drafts):
            try:
                checked[place] = self._preparer.check(draft, scored=policy.gate)
            except InputError as problem:
                results[place] = Refused(draft.title, draft.source_id, problem)
        results |= self._already_there(scope, checked)
        cut = {place: self._preparer.cut(draft) for place, draft in checked.items() if place not in results}
        return CheckedBatch(drafts, results, cut)

    def _embed_batch(self, scope: Scope, checked: CheckedBatch, before: Sequence[EarlierBatch]) -> PreparedBatch:
        """Embed drafts; batches `before` may not be written yet: their vectors are used again."""
        unwritten = [Unwritten(list(one.begun.cut.values()), partial(_prepared, one)) for one in before]
        prepared = self._preparer.embed(scope, list(checked.cut.values()), unwritten=unwritten)
        return PreparedBatch(checked.drafts, checked.results, dict(zip(checked.cut, prepared, strict=True)))

    def _save_batch(self, scope: Scope, batch: PreparedBatch, policy: GatePolicy) -> list[Result]:
        written = self._commit(scope, batch.prepared, policy) if batch.prepared else {}
        results = batch.results | written
        return [results[place] for place in sorted(results)]

    def _already_there(self, scope: Scope, checked: dict[int, Prepared]) -> dict[int, Result]:
        """What need not be embedded, because the same source with the same content is there."""
        sourced = {place: draft for place, draft in checked.items() if draft.draft.source_id is not None}
        if not sourced:
            return {}
        with self._store.reading(scope) as work:
            new = _NewSources(work, sourced.values())
            return {
                place: _outcome_without_change(draft, there)
                for place, draft in sourced.items()
                if (there := _same(work, draft, new.find_current(draft))) is not None
            }

    def _commit(self, scope: Scope, prepared: dict[int, Prepared], policy: GatePolicy) -> dict[int, Result]:
        for _ in range(ATTEMPTS):
            ready = self._nominate_all(scope, prepared, policy)
            try:
                return self._write(scope, ready, policy)
            except _OvertakenError:
                continue
        raise StoreFault("the store was restored again and again during a save", remedy="Save again later.")

    def _nominate_all(self, scope: Scope, prepared: dict[int, Prepared], policy: GatePolicy) -> list[_Ready]:
        if not policy.compares:
            return [_Ready(place=place, prepared=draft) for place, draft in prepared.items()]
        self._indexes.prepare(scope)
        with self._store.reading(scope) as work:
            standing = work.changes.standing()
            return [self._nominate(work, standing, place, draft) for place, draft in prepared.items()]

    def _nominate(self, work: Work, standing: Standing, place: int, prepared: Prepared) -> _Ready:
        if prepared.mean is None or self._embedder is None:
            why = prepared.no_vectors or "there is no text to embed"
            return _Ready(place=place, prepared=prepared, not_compared=why)
        model = self._embedder.model
        if standing.model not in (None, model):
            # Vectors of two models are never compared.
            why = f"the vectors here are of {standing.model}, not of {model}"
            return _Ready(place=place, prepared=prepared, not_compared=why)
        return _Ready(
            place=place,
            prepared=prepared,
            judge=Judge(prepared, model, self._embedder.profile, self._options),
            nominated=nominate(work, self._indexes, prepared, standing, self._options),
        )

    def _write(self, scope: Scope, ready: Sequence[_Ready], policy: GatePolicy) -> dict[int, Result]:
        results: dict[int, Result] = {}
        embedded = any(unit.prepared.vectors is not None for unit in ready)
        with self._store.writing(scope) as work:
            writing = Writing(
                work,
                scope,
                now=self._clock.now(),
                ids=self._store.ids,
                model=self._model() if embedded else None,
                chunker=self._preparer.chunker.version,
                may_end_facts=policy.reconsolidate,
            )
            new = _NewSources(work, [unit.prepared for unit in ready])
            for unit in ready:
                results[unit.place] = self._write_one(work, writing, new, unit, policy)
            writing.flush()
        return results

    def _write_one(self, work: Work, writing: Writing, new: _NewSources, ready: _Ready, policy: GatePolicy) -> Result:
        prepared = ready.prepared
        writing.see_before(prepared, compared=policy.compares)
        there = new.find_current(prepared)
        if (same := _same(work, prepared, there)) is not None:
            return _outcome_without_change(prepared, same)
        plan = self._plan(work, ready, policy, there, new.next_version(prepared, there))
        new.take(prepared)
        into = plan.decision.merge_into
        if into is not None and was_merged_before(into.memory, prepared):
            return _outcome_without_change(prepared, into.memory)
        if plan.prepared.draft.tier is Tier.CONSTITUTIONAL:
            # Also one that inherited its tier has to see those of its batch.
            writing.flush()
        try:
            writing.check(plan)
        except InputError as problem:
            return Refused(prepared.draft.title, prepared.draft.source_id, problem)
        return writing.write(plan)

    def _plan(
        self, work: Work, ready: _Ready, policy: GatePolicy, there: MemoryRecord | None, version: int
    ) -> WritePlan:
        near = self._near(work, ready) if there is None or ready.prepared.draft.automated else []
        if there is not None:
            # A new version replaces its predecessor alone; a person's note that it contradicts is named all the same.
            near = [neighbour for neighbour in near if neighbour.protected and neighbour.memory.id != there.id]
        changes = self._compare_facts(work, ready, policy, there)
        near = add_neighbours(near, [found for found in changes.neighbours if there is None or found.protected])
        prepared = self._watch_writer(work, ready, near, policy)
        why = "a new version of its source" if there is not None else ready.not_compared
        spared = there is not None and is_protected(there, prepared.draft)
        predecessor = None if spared else there
        older = [predecessor] if predecessor is not None else _list_superseded(near, policy)
        update = update_of(work, prepared, older, compared={neighbour.memory.id for neighbour in near})
        decision = decide(update.prepared, near, policy, self._options, not_compared=why)
        if decision.decision is SaveDecision.REJECT or decision.quarantined:
            # It takes nothing's place, so it takes nothing over.
            update = Update(prepared=prepared)
        return WritePlan(
            prepared=update.prepared,
            decision=decision,
            near=tuple(near),
            predecessor=predecessor,
            spared=there if spared else None,
            version=version,
            enforced=policy.enforced,
            inherited=update.inherited,
            links=update.links,
            outdated=changes.outdated if policy.reconsolidate else (),
        )

    def _compare_facts(self, work: Work, ready: _Ready, policy: GatePolicy, there: MemoryRecord | None) -> FactChanges:
        """Return what the draft's facts change, where the flags let it change anything."""
        if not (policy.reconsolidate or policy.held_off):
            return NOTHING
        judge = ready.judge
        measure = (lambda _: 0.0) if judge is None else (lambda memory: judge.measure(work, memory))
        return compare_facts(work, ready.prepared, measure, () if there is None else (there.id,))

    def _watch_writer(self, work: Work, ready: _Ready, near: Sequence[Neighbour], policy: GatePolicy) -> Prepared:
        """Add a doubt to the draft if it copies another writer's memory, or if its writer often saves near copies."""
        prepared = ready.prepared
        if self._embedder is None or ready.nominated is None or not (policy.gate and prepared.draft.automated):
            return prepared
        watch = CopyWatch(work=work, profile=self._embedder.profile, options=self._options, now=self._clock.now())
        doubt = watch.doubt(prepared.draft, near, ready.nominated.replaced, enforced=policy.enforced)
        return prepared if doubt is None else replace(prepared, doubts=(*prepared.doubts, doubt))

    def _near(self, work: Work, ready: _Ready) -> list[Neighbour]:
        """The nearest memories as they are now, with those that changed since they were nominated."""
        if ready.judge is None or ready.nominated is None:
            return []
        changed = find_changed_since(work, ready.nominated.position)
        if changed is None:
            raise _OvertakenError
        near = ready.judge.nearest(work, {*ready.nominated.numbers, *changed})
        return near + ready.judge.of_passages(work, ready.nominated.passages, near)


def _list_superseded(near: Sequence[Neighbour], policy: GatePolicy) -> list[MemoryRecord]:
    """What a draft would supersede, most similar first."""
    if not policy.reconsolidate:
        return []
    return [neighbour.memory for neighbour in near if limit_verdict(neighbour) is Verdict.SUPERSEDE]


class _NewSources:
    """Which sources of a batch the store has nothing of: one question instead of two for each draft."""

    def __init__(self, work: Work, batch: Iterable[Prepared]) -> None:
        self._work = work
        sources = {one.draft.source_id for one in batch if one.draft.source_id is not None}
        # One source is asked about as quickly by itself.
        self._new = sources - work.memories.sources_among(sources) if len(sources) > 1 else set()

    def take(self, prepared: Prepared) -> None:
        """Something of this source is being written: from now on the store is asked."""
        self._new.discard(prepared.draft.source_id)

    def find_current(self, prepared: Prepared) -> MemoryRecord | None:
        """Return what a draft is a new version of."""
        if prepared.draft.supersedes is not None:
            return check_current(self._work.memories.get(prepared.draft.supersedes))
        source = prepared.draft.source_id
        return None if source is None or source in self._new else self._work.memories.current_of_source(source)

    def next_version(self, prepared: Prepared, there: MemoryRecord | None) -> int:
        """Return the version that a draft would be."""
        if there is not None:
            return there.version + 1
        source = prepared.draft.source_id
        if source is None or source in self._new:
            return 1
        return self._work.memories.last_version_of(source) + 1


def _same(work: Work, prepared: Prepared, there: MemoryRecord | None) -> MemoryRecord | None:
    """What is there of the same source with the same content, in quarantine too."""
    if prepared.draft.supersedes is not None:
        # An update keeps the source's hash, so that taking the same file in again does not undo it.
        return None
    if there is not None and there.source_hash == inherit(prepared, [there]).source_hash:
        return there
    doubted = prepared.doubts and prepared.draft.automated
    return find_quarantined(work, prepared.draft.source_id, prepared.source_hash) if doubted else None


def _outcome_without_change(prepared: Prepared, there: MemoryRecord) -> SaveOutcome:
    return SaveOutcome(
        save_id="",
        decision=SaveDecision.STORE,
        memory_id=there.id,
        unchanged=True,
        version=there.version,
        masks=prepared.masks,
        steps=(*first_steps(prepared), Step("write", "unchanged", "the same source with the same content is there")),
        quarantined=bool(quarantine_reasons(there)),
    )
