"""PostgreSQL as the index: the contract of the indexes in files, and what is its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.index import oracle
from tests.index.conftest import Opening
from tests.index.test_indexes import (
    COOKIES,
    lexical,
    same_as_the_tables,
    test_a_changed_title_is_found_by_its_new_words_only,
    test_a_save_is_seen_by_the_next_search_of_another_process,
    test_a_vector_of_another_model_is_refused,
    test_an_empty_tenant_has_nothing_to_find,
    test_learned_triggers_are_not_words_of_a_passage,
    test_memories_that_sql_found_narrow_a_search,
    test_no_filter_is_told_apart_from_a_filter_that_nothing_passes,
    test_passages_found_elsewhere_are_scored_by_their_words_as_the_best_are,
    test_recall_against_exact_search_is_measured,
    test_superseded_memories_are_left_out_unless_asked_for,
    test_tenants_never_mix,
    test_the_spread_of_cosines_is_that_of_every_passage_that_may_be_found,
    test_ties_go_by_number_across_base_and_tail,
    test_what_a_narrower_filter_leaves_out_can_be_searched_alone,
)
from tests.index.writing import MODEL, save, saved, vector_of
from tests.storage.homes import TEMPLATE_SCHEMA, Home, PostgresServer, copied_database, raw

from assay.doctor import examine
from assay.errors import NotReady, SettingError
from assay.index import DatabaseIndexes, IndexOptions
from assay.records import Filters, Scope, Tier
from assay.settings import Settings
from assay.storage import Store, open_store
from assay.testing import FixedClock
from assay.wiring import open_engine

__all__ = [
    "test_a_changed_title_is_found_by_its_new_words_only",
    "test_a_save_is_seen_by_the_next_search_of_another_process",
    "test_a_vector_of_another_model_is_refused",
    "test_an_empty_tenant_has_nothing_to_find",
    "test_learned_triggers_are_not_words_of_a_passage",
    "test_memories_that_sql_found_narrow_a_search",
    "test_no_filter_is_told_apart_from_a_filter_that_nothing_passes",
    "test_passages_found_elsewhere_are_scored_by_their_words_as_the_best_are",
    "test_recall_against_exact_search_is_measured",
    "test_superseded_memories_are_left_out_unless_asked_for",
    "test_tenants_never_mix",
    "test_the_spread_of_cosines_is_that_of_every_passage_that_may_be_found",
    "test_ties_go_by_number_across_base_and_tail",
    "test_what_a_narrower_filter_leaves_out_can_be_searched_alone",
]
"""The contract of every index, run here over the database."""

TENANTS = ("acme", "globex")


@pytest.fixture
def home(postgres: PostgresServer, postgres_template: str, tmp_path: Path, clock: FixedClock) -> Iterator[Home]:
    """A new store on PostgreSQL."""
    with copied_database(postgres, postgres_template) as address:
        home = Home(
            address,
            clock,
            postgres_schema=TEMPLATE_SCHEMA,
            postgres_programs=postgres.programs,
            checkpoint_folder=tmp_path / "checkpoints",
        )
        yield home
        home.close()


@pytest.fixture
def open_indexes(store: Store, clock: FixedClock) -> Iterator[Opening]:
    """Opens the database as the index; its tenants are put into it at once, as a search does before its snapshot."""
    opened: list[DatabaseIndexes] = []

    def opening(over: Store = store, **options: object) -> DatabaseIndexes:
        chosen = IndexOptions(**{"background": False, **options})  # type: ignore[arg-type]
        opened.append(DatabaseIndexes(over, clock=clock, options=chosen))
        for tenant in TENANTS:
            opened[-1].prepare(Scope(tenant=tenant))
        return opened[-1]

    yield opening  # type: ignore[misc]
    for indexes in opened:
        indexes.close()


def test_a_file_cannot_be_the_index(tmp_path: Path, clock: FixedClock) -> None:
    with open_store(tmp_path / "notes.db", clock=clock) as store, pytest.raises(SettingError, match="SQLite") as told:
        DatabaseIndexes(store, clock=clock)
    assert "index.kind to local" in told.value.remedy
    settings = Settings(db=str(tmp_path / "notes.db"), index_kind="database", embedder="none")
    with pytest.raises(SettingError, match="SQLite"):
        open_engine(settings)
    [finding] = [finding for finding in examine(settings) if finding.subject == "Index"]
    assert (finding.state, "PostgreSQL" in finding.remedy) == ("problem", True)


@pytest.mark.slow
def test_doctor_says_whether_the_index_is_complete(home: Home, store: Store, scope: Scope, clock: FixedClock) -> None:
    save(store, scope, *COOKIES[:2])
    settings = Settings(
        db=home.address, postgres_schema=TEMPLATE_SCHEMA, tenant=scope.tenant, index_kind="database", embedder="none"
    )

    def look() -> tuple[str, str]:
        [finding] = [finding for finding in examine(settings) if finding.subject == "Index"]
        return finding.state, finding.seen

    state, seen = look()
    assert (state, "0 of 2 chunks" in seen) == ("note", True)
    DatabaseIndexes(store, clock=clock).prepare(scope)
    state, seen = look()
    assert (state, "2 of 2 chunks" in seen) == ("ok", True)


def test_what_was_saved_before_is_put_into_the_index_in_batches(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    save(store, scope, *COOKIES)
    with store.reading(scope) as work:
        assert work.stems.totals() is None
    indexes = open_indexes(page=5)
    same_as_the_tables(indexes, store, scope)
    save(store, scope, saved("m_new", ["cookies later"]))
    same_as_the_tables(indexes, store, scope)
    status = indexes.status(scope)
    assert (status.kind, status.passages, status.memories, status.vectors) == ("database", 13, 13, 13)
    assert (status.folder, status.bytes_on_disk, status.last_problem) == (None, 0, None)


def test_a_filling_that_was_cut_short_goes_on_where_it_ended(
    store: Store, scope: Scope, open_indexes: Opening, clock: FixedClock
) -> None:
    save(store, scope, *COOKIES)
    with store.writing(scope) as work:
        work.stems.begin(1)
        work.stems.write_passages(work.stems.read_missing(after=0, limit=4))
    save(store, scope, saved("m_new", ["cookies later"]))
    unfinished = DatabaseIndexes(store, clock=clock)
    with store.reading(scope) as work, pytest.raises(NotReady, match="holds 5 of 13 passages"):
        unfinished.view(work)
    assert "5 of 13" in (unfinished.status(scope).last_problem or "")
    unfinished.close()
    same_as_the_tables(open_indexes(), store, scope)


def test_removed_memories_leave_no_stem_behind(store: Store, scope: Scope, open_indexes: Opening) -> None:
    indexes = open_indexes()
    save(store, scope, saved("m_1", ["unheard cookies"]), saved("m_2", ["plain cookies"]))
    with store.writing(scope) as work:
        work.memories.remove("m_1")
    with store.reading(scope) as work:
        assert work.stems.frequencies(["unheard", "cooki", "plain"]) == {"cooki": 1, "plain": 1}
        totals = work.stems.totals()
        assert totals is not None
        assert totals.passages == 1
    same_as_the_tables(indexes, store, scope)
    with store.writing(scope) as work:
        work.erasure.strike_tenant("ep_new")
    with raw(store) as connection:
        for table in ("passage_stems", "passage_stem_counts", "passage_stem_totals"):
            held = f"SELECT count(*) FROM {table} WHERE tenant = 'acme'"
            assert connection.exec_driver_sql(held).scalar_one() == 0


@pytest.mark.slow
def test_a_restored_store_is_answered_from_what_was_restored(store: Store, scope: Scope, open_indexes: Opening) -> None:
    indexes = open_indexes()
    save(store, scope, *COOKIES[:6])
    checkpoint = store.checkpoints.create("before")
    save(store, scope, *COOKIES[6:])
    store.checkpoints.restore(checkpoint.id, scope)
    assert len(lexical(indexes, store, scope, "cooki")) == 6
    same_as_the_tables(indexes, store, scope)


@pytest.mark.slow
def test_a_deleted_index_is_made_again_by_the_next_search(store: Store, scope: Scope, open_indexes: Opening) -> None:
    indexes = open_indexes()
    save(store, scope, *COOKIES)
    assert indexes.delete(scope) == "the words of 12 passages in the database"
    assert indexes.delete(scope) is None
    indexes.prepare(scope)
    same_as_the_tables(indexes, store, scope)


def test_frequencies_beyond_the_labels_score_exactly(store: Store, scope: Scope, open_indexes: Opening) -> None:
    texts = [" ".join(["cookie"] * times + ["sign"] * (times % 3)) for times in range(1, 9)]
    save(store, scope, *[saved(f"m_{place}", [text]) for place, text in enumerate(texts)])
    same_as_the_tables(open_indexes(), store, scope)


def test_frequent_stems_are_not_ranked_where_rare_ones_decide(
    store: Store, scope: Scope, open_indexes: Opening
) -> None:
    save(store, scope, *[saved(f"c_{place}", ["cookies everywhere"]) for place in range(20)])
    save(store, scope, saved("m_rare", ["a rare cookie"]), saved("m_other", ["a rare sign"]))
    indexes = open_indexes(database_postings=4)
    with store.reading(scope) as work:
        view = indexes.view(work)
        found = view.lexical({"cooki": 1.0, "rare": 1.0}, limit=2)
        expected = oracle.lexical(work, {"cooki": 1.0, "rare": 1.0}, 2, Filters())
        oracle.same(found, expected, 3e-4)
        # More are asked for than hold the rare stem: those with the frequent one come too.
        assert len(view.lexical({"cooki": 1.0, "rare": 1.0}, limit=10)) == 10
        # And where every stem is frequent, passages that hold two of them come first.
        assert len(view.lexical({"cooki": 1.0, "everywher": 1.0}, limit=10)) == 10


def test_a_large_store_ranks_more_passages() -> None:
    options = IndexOptions()
    assert [options.database_postings_for(passages) for passages in (100, 100_000, 10**6)] == [4_000, 4_000, 15_625]


def test_a_filter_holds_in_the_graph_and_beyond_it(store: Store, scope: Scope, open_indexes: Opening) -> None:
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(["red", "green", "blue", "tab"], 5)) + f" {place}" for place in range(150)]
    tiers = [Tier.CRITICAL if place % 50 == 0 else Tier.NORMAL for place in range(150)]
    save(
        store,
        scope,
        *[saved(f"m_{place}", [text], tier=tiers[place], folder=f"f{place % 3}") for place, text in enumerate(texts)],
    )
    indexes = open_indexes(exact_below=20)
    assert indexes.compact(scope).done
    assert indexes.status(scope).vector_kind == "hnsw"
    with store.reading(scope) as work:
        view = indexes.view(work)
        for filters in (Filters(folder="f1"), Filters(tiers=(Tier.CRITICAL,)), Filters(folder="f0")):
            allowed = view.find_allowed(filters)
            assert allowed is not None
            found = view.nearest(vector_of("red"), model=MODEL, limit=10, allowed=allowed)
            oracle.same(found, oracle.nearest(work, MODEL, vector_of("red"), 10, filters), 3e-6)
            assert allowed.count == len(oracle.numbers_passing(work, filters))
        joined = view.join_allowed([view.find_allowed(Filters(folder=folder)) for folder in ("f0", "f1")])
        assert joined is not None
        assert joined.count == 100
    assert indexes.recall(scope, sample=10, rng=rng, depth=10).share == 1.0


@pytest.mark.slow
def test_samples_of_a_large_tenant_take_even_distances(store: Store, scope: Scope, open_indexes: Opening) -> None:
    save(store, scope, saved("m_long", [f"passage {place}" for place in range(40)]))
    open_indexes()
    with store.reading(scope) as work:
        every = work.filtered.numbers(None)
        assert work.filtered.sample_evenly(None, 10) == every[::4]
        assert work.filtered.sample_spread(None, 10) == every[::4]
        assert work.filtered.sample_spread(None, 100) == every
    with store.reading(Scope(tenant="nobody")) as work:
        assert work.filtered.sample_spread(None, 10) == []
