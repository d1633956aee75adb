"""Whatever is saved, changed, folded and deleted, in whatever order: every index answers as the tables say."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from tests.index import oracle
from tests.index.writing import MODEL, save, saved, vector_of
from tests.storage.homes import Home, PostgresServer

from assay.index import DatabaseIndexes, Indexes, IndexOptions
from assay.records import Filters, MemoryRecord, Scope, Tier
from assay.storage import Work
from assay.testing import FixedClock
from assay.testing.clock import START
from assay.text.terms import stems

TINY = IndexOptions(exact_below=6, whole_below=6, background=False, page=3)
"""Small enough for a few passages to need a base and a graph."""
TENANTS = ("acme", "globex")
FOLDERS = ("", "a", "a/b", "ab", "c")

tenants = st.sampled_from(TENANTS)
memory_ids = st.sampled_from([f"m_{number}" for number in range(8)])
word = st.sampled_from(["red", "green", "blue", "cookies", "cookie", "running", "runs", "x1", "über", "日本"])
text = st.lists(word, max_size=6).map(" ".join)
texts = st.lists(text, min_size=0, max_size=3)
moments = st.integers(0, 4).map(lambda day: START + timedelta(days=day))
filters = st.builds(
    Filters,
    folder=st.sampled_from([None, None, "a", "a/b", "nowhere"]),
    tiers=st.sampled_from([(), (), (Tier.NORMAL,), (Tier.CRITICAL, Tier.IMPORTANT)]),
    as_of=st.none() | moments,
    since=st.none() | moments,
    include_superseded=st.booleans(),
)
fields = st.fixed_dictionaries(
    {
        "folder": st.sampled_from(FOLDERS),
        "tier": st.sampled_from(Tier),
        "valid_from": moments,
        "triggers": st.lists(word, max_size=1).map(tuple),
    }
)


class IndexMachine(RuleBasedStateMachine):
    """Two indexes over two stores at one place, as two processes would have them."""

    def __init__(self, home: Home, folder: Path) -> None:
        super().__init__()
        self.home = home
        self.folder = folder
        self.stores = [home.open(), home.open()]
        self.indexes = [self._fresh(0), self._fresh(1)]
        self.made_of: dict[str, dict[int, list[str]]] = {}
        """The words of each base, by generation."""

    def _fresh(self, which: int) -> Any:
        return Indexes(self.stores[which], self.folder, clock=self.home.clock, options=TINY)

    @rule(tenant=tenants, memory_id=memory_ids, pieces=texts, given=fields, embedded=st.booleans())
    def put(self, tenant: str, memory_id: str, pieces: Sequence[str], given: dict[str, Any], embedded: bool) -> None:
        made = saved(memory_id, pieces, model=MODEL if embedded else None, **given)
        if self._find(tenant, memory_id) is None:
            save(self.stores[0], Scope(tenant=tenant), made)
            return
        with self.stores[1].writing(Scope(tenant=tenant)) as work:
            work.memories.update(made.memory, made.chunks, vectors=made.vectors, model=made.model)

    @rule(tenant=tenants, memory_id=memory_ids, given=fields, title=text, superseded=st.none() | moments)
    def change(self, tenant: str, memory_id: str, given: dict[str, Any], title: str, superseded: Any) -> None:
        known = self._find(tenant, memory_id)
        if known is not None:
            with self.stores[0].writing(Scope(tenant=tenant)) as work:
                work.memories.update(replace(known, title=title or "untitled", superseded_at=superseded, **given))

    @rule(tenant=tenants, memory_id=memory_ids)
    def remove(self, tenant: str, memory_id: str) -> None:
        if self._find(tenant, memory_id) is not None:
            with self.stores[1].writing(Scope(tenant=tenant)) as work:
                work.memories.remove(memory_id)

    @rule(tenant=tenants, which=st.sampled_from((0, 1)))
    def compact(self, tenant: str, which: int) -> None:
        folded = self.indexes[which].compact(Scope(tenant=tenant))
        assert folded.generation is not None
        with self.stores[which].reading(Scope(tenant=tenant)) as work:
            self.made_of[folded.generation] = oracle.bags(work)

    @rule(tenant=tenants, which=st.sampled_from((0, 1)))
    def grow(self, tenant: str, which: int) -> None:
        with self.stores[which].reading(Scope(tenant=tenant)) as work:
            self.indexes[which].view(work)
            bags = oracle.bags(work)
        self.indexes[which].compact(Scope(tenant=tenant), whole=False)
        state = self.indexes[which]._tenants[tenant].current()
        assert state is not None
        made = state.base.require_manifest()
        before = self.made_of[made.grown_from] if made.grown_from is not None else {}
        self.made_of[made.generation] = {
            number: before[number] if number in before else bags[number] for number in state.base.numbers.tolist()
        }

    @rule()
    def delete_folder(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @rule(tenant=tenants)
    def trim(self, tenant: str) -> None:
        with self.stores[0].writing(Scope(tenant=tenant)) as work:
            work.changes.trim(work.changes.position().seq)

    @rule(which=st.sampled_from((0, 1)))
    def restart(self, which: int) -> None:
        self.indexes[which].close()
        self.indexes[which] = self._fresh(which)

    @rule(which=st.sampled_from((0, 1)), tenant=tenants, wanted=filters, query=text, limit=st.integers(1, 12))
    def search(self, which: int, tenant: str, wanted: Filters, query: str, limit: int) -> None:
        self._check(which, tenant, wanted, query, limit)

    @invariant()
    def both_see_the_last_save(self) -> None:
        for which in (0, 1):
            for tenant in TENANTS:
                self._check(which, tenant, Filters(), "cookies red", 5)

    def _check(self, which: int, tenant: str, wanted: Filters, query: str, limit: int) -> None:
        terms = {stem: 1.0 + place for place, stem in enumerate(sorted(set(stems(query))))}
        self.indexes[which].prepare(Scope(tenant=tenant))
        with self.stores[which].reading(Scope(tenant=tenant)) as work:
            view = self.indexes[which].view(work)
            base, tail = self._parts(which, tenant, work)
            allowed = view.find_allowed(wanted)
            assert set(view.numbers(allowed).tolist()) == oracle.numbers_passing(work, wanted)
            expected = oracle.lexical(work, terms, limit, wanted, base=base, tail=tail)
            oracle.same(view.lexical(terms, limit=limit, allowed=allowed), expected, 3e-4)
            if (model := work.vectors.active()) is not None:
                asked = vector_of(query)
                found = view.nearest(asked, model=model, limit=limit, allowed=allowed)
                oracle.same(found, oracle.nearest(work, model, asked, limit, wanted), 3e-6)
            rows = work.passages.page(limit=1_000)
            assert view.memories_of([row.number for row in rows]).tolist() == [row.memory_number for row in rows]
            assert [tuple(one) for one in view.folders()] == [tuple(one) for one in work.passages.folders()]

    def _parts(self, which: int, tenant: str, work: Work) -> tuple[dict[int, list[str]] | None, set[int] | None]:
        """The words of the base in use, which the tables may no longer show, and which passages stand in the tail."""
        state = self.indexes[which]._tenants[tenant].current()
        assert state is not None
        tail = set(state.tail.numbers[state.tail.alive].tolist())
        if state.base.manifest is None:
            return {}, tail
        return self.made_of.setdefault(state.base.manifest.generation, oracle.bags(work)), tail

    def _find(self, tenant: str, memory_id: str) -> MemoryRecord | None:
        with self.stores[0].reading(Scope(tenant=tenant)) as work:
            return work.memories.find(memory_id)

    def teardown(self) -> None:
        for indexes in self.indexes:
            indexes.close()
        self.home.close()


class DatabaseMachine(IndexMachine):
    """The same with PostgreSQL as the index of both processes."""

    def _fresh(self, which: int) -> Any:
        return DatabaseIndexes(self.stores[which], clock=self.home.clock, options=TINY)

    @rule(tenant=tenants, which=st.sampled_from((0, 1)))
    def compact(self, tenant: str, which: int) -> None:
        assert self.indexes[which].compact(Scope(tenant=tenant)).done

    @rule(tenant=tenants, which=st.sampled_from((0, 1)))
    def grow(self, tenant: str, which: int) -> None:
        assert self.indexes[which].compact(Scope(tenant=tenant), whole=False).done

    @rule(tenant=tenants, which=st.sampled_from((0, 1)))
    def delete(self, tenant: str, which: int) -> None:
        self.indexes[which].delete(Scope(tenant=tenant))
        # The other process learns of it when its next search finds none.
        self.indexes[1 - which] = self._fresh(1 - which)

    def _parts(self, which: int, tenant: str, work: Work) -> tuple[dict[int, list[str]] | None, set[int] | None]:
        return None, None


def run(fresh: Callable[[], IndexMachine], examples: int) -> None:
    chosen = settings(
        max_examples=examples, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(fresh, settings=chosen)  # type: ignore[arg-type]


def test_indexes_over_sqlite_answer_as_the_tables_say(tmp_path: Path) -> None:
    places = count()

    def fresh() -> IndexMachine:
        place = tmp_path / str(next(places))
        place.mkdir()
        return IndexMachine(Home(str(place / "notes.db"), FixedClock()), place / "index")

    run(fresh, 10)


@pytest.mark.slow
def test_indexes_over_postgres_answer_as_the_tables_say(tmp_path: Path, postgres: PostgresServer) -> None:
    places = count()

    def fresh() -> IndexMachine:
        home = Home(postgres.address, FixedClock(), postgres_schema=f"i_{uuid4().hex[:12]}")
        return IndexMachine(home, tmp_path / str(next(places)))

    run(fresh, 3)


@pytest.mark.slow
def test_the_database_as_index_answers_as_the_tables_say(tmp_path: Path, postgres: PostgresServer) -> None:
    def fresh() -> IndexMachine:
        home = Home(postgres.address, FixedClock(), postgres_schema=f"d_{uuid4().hex[:12]}")
        return DatabaseMachine(home, tmp_path)

    run(fresh, 4)
