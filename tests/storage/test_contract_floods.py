"""Floods of notes that are all alike, as the log of saves counts them."""

from __future__ import annotations

from datetime import timedelta

from assay.records import SaveDecision, Scope
from assay.storage import SaveRecord, Store
from assay.testing import FixedClock, note


def keep_saves(store: Store, clock: FixedClock, count: int, *, actor: str, similarity: float = 0.9) -> None:
    with store.writing(Scope(principal=actor)) as work:
        work.saves.record_many(
            [
                SaveRecord(
                    save_id=f"sv_{actor}_{similarity}_{number}",
                    decision=SaveDecision.STORE,
                    at=clock.now() + timedelta(seconds=number),
                    memory_id=f"m_{number}",
                    similarity=similarity,
                    neighbour_id="m_theirs",
                    actor=actor,
                )
                for number in range(count)
            ]
        )


def test_counting_ends_at_enough_and_knows_similarity_writer_and_time(store: Store, clock: FixedClock) -> None:
    with store.writing(Scope(principal="owner")) as work:
        work.memories.add(note("m_theirs", written_by="owner"))
    keep_saves(store, clock, 30, actor="program")
    keep_saves(store, clock, 5, actor="program", similarity=0.5)
    keep_saves(store, clock, 3, actor="owner")
    since = clock.now()
    with store.reading(Scope(principal="program")) as work:

        def count(actor: str, *, enough: int = 1_000, similarity: float = 0.8, of_others: bool = False) -> int:
            return work.saves.count_alike(actor, similarity=similarity, since=since, enough=enough, of_others=of_others)

        assert count("program") == 30
        assert count("program", enough=10) == 10
        assert count("program", similarity=0.4) == 35
        assert count("program", of_others=True) == 30
        assert count("owner") == 3
        assert count("owner", of_others=True) == 0
        assert work.saves.count_alike("program", similarity=0.8, since=since + timedelta(seconds=25), enough=1_000) == 5
