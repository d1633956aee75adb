"""A store against a plain dict: Hypothesis does things to both and they must never disagree.

`run` is the whole of it; the suite runs a few hundred steps on each back end, `reliability/` as many as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.storage import samples
from tests.storage.homes import Home

from assay.errors import RecordExists, RecordNotFound
from assay.records import Chunk, Edge, EdgeKind, LogPosition, MemoryRecord, Operation, RowKind, Scope, Tier
from assay.storage import Saved, Store, Work
from assay.testing import note

STEPS_AN_EXAMPLE = 40
TENANTS = ("acme", "Acme")

memory_ids = st.sampled_from(["A", "B.1", "a", "a-1", "a_1", "b", "b#2", "z:9"])
tenants = st.sampled_from(TENANTS)
numbers_of_chunks = st.integers(0, 4)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)


class Undone(Exception):
    """Raised inside a unit of work that must leave no trace."""


@dataclass
class Follower:
    """Keeps the ids that a derived index would hold, from the change log alone."""

    known: LogPosition | None = None
    alive: set[tuple[RowKind, str]] = field(default_factory=set)

    def catch_up(self, work: Work, *, limit: int) -> None:
        while True:
            followed = work.changes.follow(self.known, limit=limit)
            self.known = followed.position
            if followed.must_rebuild:
                self.alive = rows_of(work)
            elif not followed.changes:
                return
            for change in followed.changes:
                row = (change.kind, change.row_id)
                if change.operation is Operation.DELETE:
                    self.alive.discard(row)
                else:
                    self.alive.add(row)


@dataclass
class Model:
    """What one tenant should hold."""

    memories: dict[str, MemoryRecord] = field(default_factory=dict)
    chunks: dict[str, list[Chunk]] = field(default_factory=dict)
    edges: dict[tuple[str, str, EdgeKind], Edge] = field(default_factory=dict)

    def copy(self) -> Model:
        return Model(dict(self.memories), dict(self.chunks), dict(self.edges))

    def keep(self, memory: MemoryRecord, pieces: Sequence[Chunk]) -> None:
        self.memories[memory.id] = memory
        self.chunks[memory.id] = list(pieces)

    def remove(self, memory_id: str) -> None:
        del self.memories[memory_id], self.chunks[memory_id]
        self.edges = {key: edge for key, edge in self.edges.items() if memory_id not in key[:2]}

    def edges_of(self, memory_id: str) -> list[Edge]:
        return [edge for key, edge in sorted(self.edges.items()) if memory_id in key[:2]]


def rows_of(work: Work) -> set[tuple[RowKind, str]]:
    rows: set[tuple[RowKind, str]] = set()
    for memory in work.memories.page():
        rows.add((RowKind.MEMORY, memory.id))
        rows |= {(RowKind.CHUNK, piece.id) for piece in work.memories.chunks_of(memory.id)}
    return rows


class StoreMachine(RuleBasedStateMachine):
    """The rules. Every one is done to the store and to the model; the invariants compare them."""

    def __init__(self, home: Home, count: Callable[[], None]) -> None:
        super().__init__()
        self.home = home
        self.count = count
        self.store: Store = home.open()
        self.models = {tenant: Model() for tenant in TENANTS}
        self.followers = {tenant: Follower() for tenant in TENANTS}
        self.checkpoints: dict[str, dict[str, Model]] = {}

    @rule(tenant=tenants, memory_id=memory_ids, number=numbers_of_chunks, body=words)
    def add(self, tenant: str, memory_id: str, number: int, body: str) -> None:
        self.add_many(tenant, [memory_id], number, body)

    @rule(tenant=tenants, some=st.lists(memory_ids, max_size=4), number=numbers_of_chunks, body=words)
    def add_many(self, tenant: str, some: list[str], number: int, body: str) -> None:
        model = self.models[tenant]
        batch = [Saved(note(one, body=body), samples.chunks(one, number)) for one in some]
        refused = len(set(some)) < len(some) or any(one in model.memories for one in some)
        try:
            with self.store.writing(Scope(tenant=tenant)) as work:
                work.memories.add_many(batch)
        except RecordExists:
            assert refused
        else:
            assert not refused
            for one in batch:
                model.keep(one.memory, one.chunks)

    @rule(tenant=tenants, memory_id=memory_ids, body=words, tier=st.sampled_from(Tier))
    def update(self, tenant: str, memory_id: str, body: str, tier: Tier) -> None:
        model = self.models[tenant]
        fresh = note(memory_id, body=body, tier=tier)
        if self._done(tenant, memory_id, lambda work: work.memories.update(fresh)):
            model.memories[memory_id] = fresh

    @rule(tenant=tenants, memory_id=memory_ids, body=words, number=numbers_of_chunks)
    def update_with_chunks(self, tenant: str, memory_id: str, body: str, number: int) -> None:
        pieces = [replace(piece, text=body) for piece in samples.chunks(memory_id, number)]
        fresh = note(memory_id, body=body)
        if self._done(tenant, memory_id, lambda work: work.memories.update(fresh, pieces)):
            self.models[tenant].keep(fresh, pieces)

    @rule(tenant=tenants, memory_id=memory_ids)
    def remove(self, tenant: str, memory_id: str) -> None:
        if self._done(tenant, memory_id, lambda work: work.memories.remove(memory_id)):
            self.models[tenant].remove(memory_id)

    @rule(tenant=tenants, begin=memory_ids, end=memory_ids, kind=st.sampled_from(EdgeKind), evidence=words)
    def put_edge(self, tenant: str, begin: str, end: str, kind: EdgeKind, evidence: str) -> None:
        edge = samples.edge(begin, end, kind=kind, evidence=evidence)
        there = {begin, end} <= self.models[tenant].memories.keys()
        try:
            with self.store.writing(Scope(tenant=tenant)) as work:
                work.edges.put(edge)
        except RecordNotFound:
            assert not there
        else:
            assert there
            self.models[tenant].edges[begin, end, kind] = edge

    @precondition(lambda self: any(model.edges for model in self.models.values()))
    @rule(data=st.data())
    def remove_edge(self, data: Any) -> None:
        tenant = data.draw(st.sampled_from([name for name, model in self.models.items() if model.edges]))
        source, target, kind = data.draw(st.sampled_from(sorted(self.models[tenant].edges)))
        with self.store.writing(Scope(tenant=tenant)) as work:
            work.edges.remove(source, target, kind)
        del self.models[tenant].edges[source, target, kind]

    @rule(tenant=tenants, memory_id=memory_ids, number=numbers_of_chunks)
    def fail_in_mid_transaction(self, tenant: str, memory_id: str, number: int) -> None:
        try:
            with self.store.writing(Scope(tenant=tenant)) as work:
                if work.memories.find(memory_id) is None:
                    work.memories.add(note(memory_id), samples.chunks(memory_id, number))
                else:
                    work.memories.remove(memory_id)
                work.changes.trim(work.changes.position().seq)
                raise Undone  # noqa: TRY301 - the failure is the point
        except Undone:
            return

    @rule()
    def reopen(self) -> None:
        self.home.close()
        self.store = self.home.open(create=False)

    @rule(tenant=tenants, back=st.integers(0, 5))
    def trim(self, tenant: str, back: int) -> None:
        with self.store.writing(Scope(tenant=tenant)) as work:
            work.changes.trim(work.changes.position().seq - back)

    @rule(tenant=tenants, limit=st.integers(1, 10))
    def follow(self, tenant: str, limit: int) -> None:
        with self.store.reading(Scope(tenant=tenant)) as work:
            self.followers[tenant].catch_up(work, limit=limit)
            assert self.followers[tenant].alive == rows_of(work)

    @precondition(lambda self: self.home.backend == "sqlite" and len(self.checkpoints) < 3)
    @rule()
    def checkpoint(self) -> None:
        made = self.store.checkpoints.create("by the machine")
        self.checkpoints[made.id] = self._copied()

    @precondition(lambda self: self.checkpoints)
    @rule(data=st.data())
    def restore(self, data: Any) -> None:
        wanted = data.draw(st.sampled_from(sorted(self.checkpoints)))
        aside = self.store.checkpoints.restore(wanted, Scope()).kept_aside
        self.checkpoints[aside] = self._copied()
        self.models = {tenant: model.copy() for tenant, model in self.checkpoints[wanted].items()}

    @invariant()
    def the_store_and_the_model_agree(self) -> None:
        self.count()
        for tenant, model in self.models.items():
            with self.store.reading(Scope(tenant=tenant)) as work:
                assert work.memories.page() == [model.memories[one] for one in sorted(model.memories)]
                assert work.memories.count() == len(model.memories)
                assert work.memories.count_chunks() == sum(map(len, model.chunks.values()))
                assert work.edges.count() == len(model.edges)
                for one, pieces in model.chunks.items():
                    assert work.memories.chunks_of(one) == pieces
                    assert work.edges.of(one) == model.edges_of(one)

    @invariant()
    def the_tables_agree_with_each_other(self) -> None:
        assert self.store.problems() == []

    def teardown(self) -> None:
        for tenant in TENANTS:
            self.follow(tenant, 1_000)
        self.home.close()

    def _done(self, tenant: str, memory_id: str, change: Callable[[Work], None]) -> bool:
        """Whether a change of one memory was made; refused exactly when it is not there."""
        there = memory_id in self.models[tenant].memories
        try:
            with self.store.writing(Scope(tenant=tenant)) as work:
                change(work)
        except RecordNotFound:
            assert not there
        else:
            assert there
        return there

    def _copied(self) -> dict[str, Model]:
        return {tenant: model.copy() for tenant, model in self.models.items()}


def run(address_factory: Callable[[], Home], steps: int, seed_number: int) -> int:
    """Do about so many steps, each example at a fresh place; raise at the first disagreement. How many were done."""
    done = 0

    def count() -> None:
        nonlocal done
        done += 1

    def machine() -> StoreMachine:
        return StoreMachine(address_factory(), count)

    chosen = settings(
        max_examples=max(1, steps // STEPS_AN_EXAMPLE),
        stateful_step_count=STEPS_AN_EXAMPLE,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(seed_number)(machine), settings=chosen)  # type: ignore[arg-type]
    return done
