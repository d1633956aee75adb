"""Changing the model: search never mixes two, work is kept, and the switch comes at the end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from tests.memory.engines import engine_at, settings_of
from tests.storage.homes import BOUND_S, Home

from assay.embedding.protocol import Progress, Vectors
from assay.errors import EndpointUnavailable, InputError, StoreBusy
from assay.memory.reembedding import BATCH, BackgroundReembedding, ModelState, lease_of, reembed
from assay.records import Channel, Draft, Scope, SearchRequest
from assay.storage import HeldLease
from assay.testing import HashedEmbedder
from assay.wiring import open_engine

BY_VECTOR = SearchRequest(query="What number7 says about tea", channels=(Channel.VECTOR,))


def fill(home: Home, scope: Scope, count: int) -> None:
    with engine_at(home) as engine:
        drafts = [Draft(title=f"Note {one}", body=f"What number{one} says about tea.") for one in range(count)]
        assert len(list(engine.saver.save_many(scope, drafts))) == count


def test_every_chunk_gets_a_vector_of_the_new_model_and_the_old_ones_go(home: Home, scope: Scope) -> None:
    fill(home, scope, BATCH + 10)
    with engine_at(home, model="newer") as engine:
        before = engine.searcher.search(scope, BY_VECTOR)
        assert before.hits == ()
        assert before.degraded

        seen: list[ModelState] = []
        state = engine.reembed(scope, progress=seen.append)

        assert (state.active, state.done, state.chunks, state.needed) == ("newer", BATCH + 10, BATCH + 10, False)
        assert [one.done for one in seen] == [BATCH, BATCH + 10]
        assert engine.vector_models(scope).stored == {"newer": BATCH + 10}
        after = engine.searcher.search(scope, BY_VECTOR)
        assert after.hits[0].title == "Note 7"
        assert after.degraded == ()
        assert engine.store.problems() == []


def test_a_run_that_was_stopped_goes_on_where_it_was(home: Home, scope: Scope) -> None:
    fill(home, scope, BATCH + 10)
    embedder = HashedEmbedder(model="newer")
    with engine_at(home, model="newer") as engine:
        asked = iter([False, True])
        state = reembed(engine.store, scope, embedder, stopped=lambda: next(asked))
        assert (state.active, state.done) == ("hashed-words", BATCH)

        seen: list[ModelState] = []
        reembed(engine.store, scope, embedder, progress=seen.append)
        assert [one.done for one in seen] == [BATCH + 10]


def test_what_is_saved_or_removed_meanwhile_is_neither_lost_nor_in_the_way(home: Home, scope: Scope) -> None:
    fill(home, scope, 3)
    with engine_at(home, model="newer") as engine:

        class Busy(HashedEmbedder):
            """While it embeds, somebody else removes one memory and adds another."""

            def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
                if len(texts) == 3:
                    with engine.store.writing(scope) as work:
                        work.memories.remove(work.memories.page(limit=1)[0].id)
                    engine.saver.save(scope, Draft(title="Late", body="Something that came late."), gated=False)
                return super().embed(texts, progress=progress)

        state = reembed(engine.store, scope, Busy(model="newer"))
        assert (state.done, state.chunks, state.needed) == (3, 3, False)
        assert engine.store.problems() == []


def test_nothing_to_do_is_soon_done(home: Home, scope: Scope) -> None:
    fill(home, scope, 2)
    with engine_at(home) as engine:
        assert not engine.reembed(scope).needed


def test_without_an_embedder_there_is_nothing_to_embed_with(home: Home, scope: Scope) -> None:
    with open_engine(settings_of(home, embedder="none"), clock=home.clock) as engine, pytest.raises(InputError):
        engine.reembed(scope)


def test_a_process_that_lives_on_does_it_in_the_background_once(home: Home, scope: Scope) -> None:
    fill(home, scope, 5)
    with engine_at(home, model="newer") as engine:
        assert not engine.keep_up(scope)  # nobody has needed the embedder yet
        engine.searcher.search(scope, BY_VECTOR)
        assert engine.keep_up(scope)
        assert engine.reembedding is not None
        assert engine.reembedding.wait(BOUND_S)
        assert not engine.keep_up(scope)
        assert engine.searcher.search(scope, BY_VECTOR).hits
        state = engine.model_state(scope)
        assert state is not None
        assert not state.needed


def test_a_failure_in_the_background_is_kept_not_raised(home: Home, scope: Scope) -> None:
    fill(home, scope, 2)

    class Broken(HashedEmbedder):
        def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
            raise EndpointUnavailable("nobody is there", remedy="Try later.")

    with engine_at(home) as engine:
        work = BackgroundReembedding(engine.store, Broken(model="newer"))
        assert work.start(scope)
        assert work.wait(BOUND_S)
        assert work.problem is not None
        assert "nobody is there" in work.problem
        work.close()
        assert not work.start(scope)


def test_another_process_that_re_embeds_is_waited_for_and_replaced_when_it_dies(home: Home, scope: Scope) -> None:
    fill(home, scope, 5)
    with engine_at(home, model="newer") as engine:
        with engine.store.coordinating(scope) as work:
            other = work.leases.take(lease_of(scope), "another machine", timedelta(minutes=1))
        assert other is not None
        background = BackgroundReembedding(engine.store, HashedEmbedder(model="newer"), look_again_s=0.01)
        assert background.start(scope)
        assert not background.wait(0.05)
        assert engine.vector_models(scope).active == "hashed-words"
        # What a killed process leaves is a lease that expires.
        with engine.store.coordinating(scope) as work:
            work.leases.renew(other, timedelta(0))
        assert background.wait(BOUND_S)
        assert (background.problem, engine.vector_models(scope).active) == (None, "newer")
        with engine.store.reading(scope) as work:
            assert len(work.audit.entries(target="newer")) == 1


def test_a_process_that_was_replaced_writes_no_vector(home: Home, scope: Scope) -> None:
    fill(home, scope, 5)
    with engine_at(home, model="newer") as engine:
        with engine.store.coordinating(scope) as work:
            paused = work.leases.take(lease_of(scope), "paused", timedelta(0))
            assert paused is not None
            work.leases.take(lease_of(scope), "heir", timedelta(minutes=1))
        held = HeldLease(paused, home.clock, 15.0)
        with pytest.raises(StoreBusy, match="was taken over by heir"):
            reembed(engine.store, scope, HashedEmbedder(model="newer"), lease=held)
        assert engine.vector_models(scope).stored == {"hashed-words": 5}
