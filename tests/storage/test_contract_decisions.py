"""Rows around the engine: decisions of saves, flags, indexed documents, trigger phrases, what a session was given."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.storage import samples

from assay.errors import RecordExists, RecordNotFound
from assay.records import Origin, SaveDecision, Scope
from assay.storage import FlagRow, IndexedRow, Store, TriggerMatch
from assay.testing import FixedClock, note

OTHER = Scope(tenant="other")


def test_a_save_comes_back_as_it_was_recorded(store: Store, scope: Scope) -> None:
    full = samples.save_record(
        decision=SaveDecision.MERGE, memory_id="m_1", would_reject="quality 0.3", quality=0.3, similarity=-1 / 3,
        neighbour_id="m_2", source_id="s", enforced=False, detail=samples.NESTED, actor="bob",
    )  # fmt: skip
    with store.writing(scope) as work:
        work.saves.record(full)
        assert work.saves.get("sv_1") == full
        assert work.saves.of("m_1") == [full]
        assert work.saves.of("m_2") == []
        with pytest.raises(RecordNotFound, match="sv_2") as refused:
            work.saves.get("sv_2")
        assert refused.value.remedy
    with pytest.raises(RecordExists), store.writing(scope) as work:
        work.saves.record(full)


def test_who_saves_is_who_asks_unless_said_otherwise(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.saves.record(samples.save_record())
        assert work.saves.get("sv_1").actor == scope.principal


def test_saves_are_counted_by_decision_and_by_what_the_gate_would_have_said(store: Store, scope: Scope) -> None:
    later = samples.AT + timedelta(days=1)
    with store.writing(scope) as work:
        work.saves.record_many(
            [
                samples.save_record("sv_1"),
                samples.save_record("sv_2", would_reject="quality", enforced=False),
                samples.save_record("sv_3", would_reject="quality", enforced=False, at=later),
                samples.save_record("sv_4", decision=SaveDecision.REJECT, at=later),
            ]
        )
        every = work.saves.counts()
        assert every.by_decision == {SaveDecision.STORE: 3, SaveDecision.REJECT: 1}
        assert every.would_reject == {"quality": 2}
        assert work.saves.counts(later).by_decision == {SaveDecision.STORE: 1, SaveDecision.REJECT: 1}
        assert [one.save_id for one in work.saves.recent(2)] == ["sv_4", "sv_3"]
        work.saves.record_many([])
    with store.reading(OTHER) as work:
        assert work.saves.recent() == []
        assert work.saves.counts() == ({}, {})


def test_a_flag_is_kept_whole_and_says_who_switched_it(store: Store, scope: Scope, clock: FixedClock) -> None:
    with store.writing(scope) as work:
        assert work.flags.get("mmr") is None
        work.flags.put("mmr", enabled=True, rollout_percent=10, activated_at=samples.AT)
        assert work.flags.get("mmr") == FlagRow("mmr", True, 10, None, samples.AT, None, clock.now(), "ada")
        clock.advance(days=1)
        work.flags.put("mmr", shadow=True, reviewed_at=samples.AT)
        work.flags.put("a")
        assert work.flags.all() == [
            FlagRow("a", None, None, None, None, None, clock.now(), "ada"),
            FlagRow("mmr", None, None, True, None, samples.AT, clock.now(), "ada"),
        ]
    with store.reading(OTHER) as work:
        assert work.flags.all() == []


def test_a_document_says_how_it_was_split_and_what_has_a_vector(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add_many([samples.embedded("m_2", "one", "two"), samples.embedded("m_1", "three")])
        work.memories.add(note("m_3"), samples.chunks("m_3", 1))
        assert work.indexed.documents("model-1") == [
            IndexedRow("m_1", "chunker-1", "", {"context": 1}, (12,)),
            IndexedRow("m_2", "chunker-1", "", {"context": 1}, (12, 12)),
        ]
        assert [one.chunk_tokens for one in work.indexed.documents("model-2")] == [(), ()]
        again = samples.embedded("m_1")._replace(chunker="chunker-2", skipped={}, doc_type="note")
        work.indexed.put_many([again])
        work.memories.remove("m_2")
        assert work.indexed.documents("model-1") == [IndexedRow("m_1", "chunker-2", "note", {}, (12,))]


def test_a_trigger_is_found_by_its_normalised_phrase(store: Store, scope: Scope) -> None:
    long = " ".join(["word"] * 9)
    with store.writing(scope) as work:
        work.memories.add(note("m_1", triggers=("Roll-back!", "roll  BACK", "...", long)))
        work.memories.add(note("m_2", triggers=("roll back",), superseded_at=samples.AT))
        assert work.triggers.matching(["roll back", "unheard", long]) == [
            TriggerMatch("roll back", 1, "m_1"),
            TriggerMatch("roll back", 2, "m_2"),
        ]
        assert work.triggers.matching([]) == []


def test_triggers_follow_the_memory(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1", triggers=("old", "kept")))
        work.memories.update(note("m_1", triggers=("kept", "new"), learned_triggers=("learned",)))
        found = work.triggers.matching(["old", "kept", "new", "learned"])
        assert [one.phrase for one in found] == ["kept", "new"]
        work.memories.remove("m_1")
        assert work.triggers.matching(["kept", "new"]) == []
    assert store.problems() == []


def test_the_longest_trigger_of_the_widest_letters_is_kept(store: Store, scope: Scope) -> None:
    widest = " ".join(chr(0x20000 + number) * 64 for number in range(8))
    with store.writing(scope) as work:
        work.memories.add(note("m" * 128, triggers=(widest,)))
        assert len(work.triggers.matching([widest])) == 1


def test_a_session_reads_what_it_was_given_in_order(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.queries.add_many(
            [samples.query(f"q_{number}", session_id="s_1", result_ids=(f"m_{number}",)) for number in range(4)]
            + [
                samples.query("q_canary", session_id="s_1", origin=Origin.CANARY),
                samples.query("q_other", session_id="s_2"),
            ]
        )
        found = work.queries.of_session("s_1")
        assert [(one.query_id, one.result_ids) for one in found] == [(f"q_{n}", (f"m_{n}",)) for n in range(4)]
        assert found[0].created_at == samples.AT
        assert [one.query_id for one in work.queries.of_session("s_1", after_id=found[1].id)] == ["q_2", "q_3"]
        assert [one.query_id for one in work.queries.of_session("s_1", limit=2)] == ["q_2", "q_3"]
        assert len(work.queries.of_session("s_1", origin=Origin.CANARY)) == 1
    with store.reading(OTHER) as work:
        assert work.queries.of_session("s_1") == []
