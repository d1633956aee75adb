"""Facts of memories: written and removed with them, ended by later ones, and settled alike on both back ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.storage import samples

from assay.records import Scope, Tier
from assay.records.memory import INGESTED_WITH, QUARANTINED_MARK, RESERVED, MemoryRecord
from assay.storage import Store, StoredFact, Work
from assay.storage.repositories import facts as repository
from assay.testing import note
from assay.testing.clock import START

PROGRAM = {RESERVED: {"automated": True}}
OWNER = "bill owner"


def put(work: Work, memory_id: str, body: str, *, day: int = 0, **given: Any) -> MemoryRecord:
    """Add a memory that was written so many days after the first."""
    at = START + timedelta(days=day)
    memory = note(memory_id, **({"body": body, "created_at": at, "updated_at": at, "valid_from": at} | given))
    work.memories.add(memory, [samples.chunk(memory_id, text=body)])
    return memory


def put_owners(work: Work, *names: str) -> None:
    for day, name in enumerate(names):
        put(work, f"m_{day}", f"The owner of billing is {name}.", day=day)


def ends(work: Work, topic: str = OWNER) -> dict[str, str | None]:
    """Which memory ended the fact of each memory on a topic."""
    return {fact.memory_id: fact.ended_by for fact in work.facts.on_topics([topic])}


def test_facts_come_back_with_every_column_and_where_they_stand(store: Store, scope: Scope) -> None:
    body = "A word before. As of 2026-01-02 use ruff instead of flake8 for linting."
    with store.writing(scope) as work:
        put(work, "m_1", body, valid_from=datetime(2026, 2, 1, tzinfo=UTC))
    with store.reading(scope) as work:
        [fact] = work.facts.of_memories(["m_1"])
        assert work.facts.about(["linting"], most=5) == [fact]
        assert work.facts.count() == 1
    assert fact[:11] == ("m_1", 0, "linting", "uses", "lint use", "ruff", "ruff", "unknown", False, "flake8", True)
    assert body[fact.start : fact.stop] == "As of 2026-01-02 use ruff instead of flake8 for linting."
    assert fact.valid_from == datetime(2026, 1, 2, tzinfo=UTC)
    assert (fact.valid_to, fact.ended_by, fact.confirmed_at) == (None, None, None)
    assert (fact.by_program, fact.protected, fact.superseded_at, fact.ever_held) == (False, True, None, True)


def test_a_later_value_ends_an_earlier_one_and_settling_again_changes_nothing(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put_owners(work, "Ada", "Bob", "Cid")
        ended = work.facts.settle([OWNER])
        assert [(fact.memory_id, fact.valid_to, fact.ended_by) for fact in ended] == [
            ("m_0", START + timedelta(days=1), "m_1"),
            ("m_1", START + timedelta(days=2), "m_2"),
        ]
        assert work.facts.settle([OWNER]) == []
    with store.reading(scope) as work:
        newest, middle, oldest = work.facts.on_topics([OWNER])
        assert [fact.holds for fact in (newest, middle, oldest)] == [True, False, False]
        assert [fact.held_at(START + timedelta(days=1)) for fact in (newest, middle, oldest)] == [False, True, False]
        assert [fact.shown for fact in work.facts.about(["billing"], most=5)] == ["Cid"]


def test_facts_of_another_tenant_are_neither_seen_nor_ended(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put_owners(work, "Ada")
    with store.writing(Scope(tenant="another")) as work:
        put(work, "m_9", "The owner of billing is Bob.", day=9)
        assert work.facts.settle([OWNER]) == []
        assert work.facts.count() == 1
    with store.reading(scope) as work:
        assert ends(work) == {"m_0": None}


def test_without_leave_to_end_facts_only_begin_to_hold_again(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put_owners(work, "Ada", "Bob")
        assert work.facts.settle([OWNER], may_end=False) == []
        assert ends(work) == {"m_0": None, "m_1": None}
        work.facts.settle([OWNER])
        work.memories.remove("m_1")
        assert ends(work) == {"m_0": None}


def test_a_fact_that_a_removed_memory_ended_is_ended_by_the_next_one_from_its_day(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put_owners(work, "Ada", "Bob", "Cid")
        work.facts.settle([OWNER])
        work.memories.remove("m_1")
        assert ends(work) == {"m_0": "m_2", "m_2": None}
        assert work.facts.of_memories(["m_0"])[0].valid_to == START + timedelta(days=2)
        assert work.facts.count() == 2


def test_confirmed_facts_hold_against_what_was_written_before_and_give_way_to_what_comes_later(
    store: Store, scope: Scope
) -> None:
    with store.writing(scope) as work:
        put_owners(work, "Ada", "Bob")
        work.facts.settle([OWNER])
        assert [fact.memory_id for fact in work.facts.confirm("m_0", START + timedelta(days=3))] == ["m_0"]
        assert work.facts.settle([OWNER]) == []
        assert ends(work) == {"m_0": None, "m_1": None}
        assert work.facts.confirm("m_0", START + timedelta(days=4)) == []
        put(work, "m_2", "The owner of billing is Cid.", day=5)
        work.facts.settle([OWNER])
        assert ends(work) == {"m_0": "m_2", "m_1": "m_2", "m_2": None}


def test_read_again_keeps_what_was_confirmed_and_drops_what_the_text_states_no_more(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put_owners(work, "Ada", "Bob")
        work.facts.settle([OWNER])
        work.facts.confirm("m_0", START + timedelta(days=3))
        work.facts.read_again(work.memories.get("m_0"))
        work.facts.settle([OWNER])
        assert ends(work) == {"m_0": None, "m_1": None}
        memory = note("m_0", body="Nothing is stated here.")
        work.memories.update(memory, [samples.chunk("m_0", text=memory.body)])
        assert ends(work) == {"m_1": None}


def quarantined(superseded_at: datetime) -> dict[str, Any]:
    return {"superseded_at": superseded_at, "metadata": {RESERVED: {QUARANTINED_MARK: ["orders"]}}}


def test_memories_in_quarantine_and_forgotten_ones_end_nothing(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put_owners(work, "Ada")
        at = START + timedelta(days=1)
        # Without passages, as quarantine writes it, a memory states nothing; with them it never held.
        work.memories.add(note("m_1", body="The owner of billing is Bob.", valid_from=at, **quarantined(at)))
        put(work, "m_2", "The owner of billing is Cid.", day=1, **quarantined(at))
        assert work.facts.settle([OWNER]) == []
        assert ends(work) == {"m_0": None, "m_2": None}
        assert [fact.ever_held for fact in work.facts.of_memories(["m_2"])] == [False]
        work.memories.update(note("m_2", body="The owner of billing is Cid.", superseded_at=START), ())
        assert ends(work) == {"m_0": None}


def test_a_superseded_memory_still_ended_what_was_there_before_it(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put_owners(work, "Ada")
        put(work, "m_1", "The owner of billing is Bob.", day=1, superseded_at=START + timedelta(days=2))
        work.facts.settle([OWNER])
        assert ends(work) == {"m_0": "m_1", "m_1": None}
        assert work.facts.about(["billing"], most=5) == []


@pytest.mark.parametrize(
    "protected", [{}, {"metadata": PROGRAM, "tier": Tier.CONSTITUTIONAL}, {"written_with": INGESTED_WITH}]
)
def test_a_program_ends_no_fact_of_a_person_and_no_constitutional_one(
    store: Store, scope: Scope, protected: dict[str, Any]
) -> None:
    with store.writing(scope) as work:
        put(work, "m_0", "The owner of billing is Ada.", **protected)
        put(work, "m_1", "The owner of billing is Bob.", day=1, metadata=PROGRAM)
        put(work, "m_2", "The owner of billing is Cid.", day=2, metadata=PROGRAM)
        work.facts.settle([OWNER])
        ended = ends(work)
        assert ended.pop("m_0", None) is None
        assert ended == {"m_1": "m_2", "m_2": None}
        put(work, "m_3", "The owner of billing is Dee.", day=3)
        work.facts.settle([OWNER])
        assert set(ends(work).values()) <= {"m_2", "m_3", None}
        assert work.facts.about(["billing"], most=5)[0].memory_id == "m_3"


def test_documents_taken_in_from_files_have_no_facts(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put(work, "m_0", "The owner of billing is Ada.", written_with=INGESTED_WITH)
        assert work.facts.count() == 0


def test_the_order_is_that_of_the_memories_and_not_of_the_rows(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put(work, "m_1", "The owner of billing is Bob.", day=5)
        put(work, "m_0", "The owner of billing is Ada.", day=2)
        work.facts.settle([OWNER])
        assert ends(work) == {"m_0": "m_1", "m_1": None}


def test_a_day_before_the_earlier_note_was_written_says_that_its_value_never_held(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put(work, "m_0", "The owner of billing is Ada.")
        day = (START - timedelta(days=9)).date()
        put(work, "m_1", f"As of {day} the owner of billing is Bob.", day=1)
        work.facts.settle([OWNER])
        new, old = work.facts.on_topics([OWNER])
    assert (old.ended_by, old.valid_to, new.valid_to) == ("m_1", old.valid_from, None)
    assert not old.held_at(START)
    assert new.held_at(START)


def test_two_statements_of_one_memory_do_not_end_each_other(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put(work, "m_0", "The owner of billing is Ada. The owner of billing is Bob.")
        assert work.facts.settle([OWNER]) == []


def test_a_flood_on_one_topic_hides_neither_what_holds_there_nor_other_topics(store: Store, scope: Scope) -> None:
    most = repository.MOST_ON_A_TOPIC
    names = [f"{first}{second}" for first in "abcdefghijklmnopqrstuvwx" for second in "abcdefghijklmnopqrstuvwx"]
    flood = "\n".join(f"The owner of billing is {name}." for name in names[:200])
    with store.writing(scope) as work:
        put(work, "m_first", "The owner of billing is Ada. The API limit is 100.")
        for day in range(1, most // 200 + 3):
            put(work, f"m_flood_{day}", flood.replace("is ", f"is v{day}"), day=day, metadata=PROGRAM)
            work.facts.settle([OWNER])
        put(work, "m_last", "The owner of billing is Bob. The API limit is 500.", day=99)
        assert [fact.memory_id for fact in work.facts.settle(["api limit", OWNER]) if fact.protected] == [
            "m_first",
            "m_first",
        ]
        found = work.facts.on_topics([OWNER, "api limit"])
    assert len([fact for fact in found if fact.topic == OWNER]) == most


def shown(facts: list[StoredFact]) -> list[str]:
    return [fact.shown for fact in facts]


def test_facts_about_subjects_are_current_newest_first_and_bounded(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put_owners(work, "Ada", "Bob")
        put(work, "m_2", "The owner of search is Cid. The budget of billing is 5 euros.", day=2)
        work.facts.settle([OWNER])
        assert shown(work.facts.about(["billing", "search"], most=9)) == ["5 euros", "Cid", "Bob"]
        assert shown(work.facts.about(["billing", "search"], most=1)) == ["5 euros"]
        assert work.facts.about([], most=9) == work.facts.on_topics([]) == work.facts.of_memories([]) == []


def test_facts_lead_on_where_another_fact_is_about_what_they_name(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        put(work, "m_1", "The owner of billing is Ada Swan.")
        put(work, "m_2", "The owner of search is Bob Crane.")
        put(work, "m_3", "The city of Ada Swan is Bergen.")
    with store.reading(scope) as work:
        assert work.facts.may_lead_on(["billing"], most=5)
        assert work.facts.may_lead_on(["nothing", "billing"], most=5)
        assert not work.facts.may_lead_on(["search"], most=5)
        assert not work.facts.may_lead_on(["nothing"], most=5)
        assert not work.facts.may_lead_on([], most=5)
        # With more facts than are looked at, it is not known.
        assert work.facts.may_lead_on(["search"], most=0)
    with store.reading(Scope(tenant="other")) as work:
        assert not work.facts.may_lead_on(["billing"], most=5)
