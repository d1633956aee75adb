"""Facts of an older store are read by `index compact` and `index reembed`, once for each version of the rules."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete
from tests.memory.engines import engine_at
from tests.storage.homes import Home, raw

from assay.memory.engine import Engine
from assay.memory.fact_reading import BATCH, FactsRead, facts_are_current, read_facts_again
from assay.records import Draft, SaveOutcome, Scope
from assay.storage.tables import memory_facts
from assay.testing import FixedClock

BODIES = ("The owner of billing is Ada. Invoices go out weekly.", "The owner of billing is Bob.")


def fill_as_before(engine: Engine, scope: Scope) -> list[str]:
    """Save two notes, one later than the other, and drop their facts: as a version without facts left them."""
    ids = []
    for day, body in enumerate(BODIES):
        draft = Draft(title=f"Note {day}", body=body, valid_from=engine.clock.now() + timedelta(days=day))
        [(_, outcome)] = engine.saver.save_many(scope, [draft])
        assert isinstance(outcome, SaveOutcome)
        ids.append(str(outcome.memory_id))
    with raw(engine.store, scope.tenant) as connection:
        connection.execute(delete(memory_facts))
    return ids


def holds(engine: Engine, scope: Scope, ids: list[str]) -> list[bool]:
    with engine.store.reading(scope) as work:
        return [fact.holds for fact in work.facts.of_memories(ids)]


def turn_on(engine: Engine, scope: Scope) -> None:
    engine.flags.turn(engine.store, scope, "reconsolidation", "on", checkpoint=lambda name: None)


def test_compacting_reads_the_facts_of_an_older_store_once(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        turn_on(engine, scope)
        ids = fill_as_before(engine, scope)
        assert holds(engine, scope, ids) == []
        assert engine.compact(scope)[1] == FactsRead(memories=2, facts=2, ended=1)
        assert holds(engine, scope, ids) == [False, True]
        assert engine.compact(scope)[1] is None
        with engine.store.reading(Scope(tenant="another")) as work:
            assert not facts_are_current(work, Scope(tenant="another"))


def test_embedding_again_reads_them_too(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        turn_on(engine, scope)
        ids = fill_as_before(engine, scope)
        engine.reembed(scope)
        assert holds(engine, scope, ids) == [False, True]


def test_where_reconsolidation_is_off_facts_are_read_and_none_ends(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        engine.flags.turn(engine.store, scope, "reconsolidation", "off")
        ids = fill_as_before(engine, scope)
        assert engine.read_facts_again(scope) == FactsRead(memories=2, facts=2, ended=0)
        assert holds(engine, scope, ids) == [True, True]


def test_other_rules_are_applied_to_every_memory_and_what_was_confirmed_stays(
    home: Home, scope: Scope, clock: FixedClock
) -> None:
    with engine_at(home) as engine:
        turn_on(engine, scope)
        first = engine.saver.save(scope, Draft(title="First", body=BODIES[0]))
        second = engine.saver.save(scope, Draft(title="Second", body=BODIES[1]))
        ids = [str(first.memory_id), str(second.memory_id)]
        clock.advance(days=1)
        engine.saver.restore(scope, ids[0])
        engine.saver.forget(scope, ids[1])
        engine.read_facts_again(scope)
        again = read_facts_again(engine.store, scope, may_end=True, version="another")
        assert again == FactsRead(memories=2, facts=1, ended=0)
        engine.saver.restore(scope, ids[1])
        assert holds(engine, scope, ids) == [True, True]


def test_a_run_that_was_stopped_begins_anew_and_batches_are_bounded(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        drafts = [Draft(title=f"Q{number}", body=f"The limit of queue {number} is 5.") for number in range(BATCH + 1)]
        assert len(list(engine.saver.save_many(scope, drafts))) == BATCH + 1
        stops = iter([False, True])
        assert read_facts_again(engine.store, scope, may_end=True, stopped=lambda: next(stops)) is None
        with engine.store.reading(scope) as work:
            assert not facts_are_current(work, scope)
        done = read_facts_again(engine.store, scope, may_end=True)
        assert done == FactsRead(memories=BATCH + 1, facts=BATCH + 1, ended=0)
