"""What the facts of a draft do to memories that state something else, however unlike the texts are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.memory.saving.conftest import MakeSaver, draft

from assay.errors import InputError, NotAllowed
from assay.flags import Flags
from assay.memory.saving import Saver
from assay.memory.saving.fact_changes import SAME_FACT
from assay.records import Draft, EdgeKind, SaveDecision, SaveOutcome, Scope, Tier
from assay.records.memory import INGESTED_WITH
from assay.storage import Store
from assay.testing import FixedClock

FIGARO = Draft(title="A play", body="The author of The Marriage of Figaro is Pierre Beaumarchais.")
KYD = Draft(title="Reading club", body="The author of The Marriage of Figaro is Thomas Kyd.")
LONGER = Draft(
    title="Gateway",
    body="The limit of the gateway is 100 requests. Deployments need two approvals, and nobody deploys on Fridays.",
)
RAISED = Draft(title="Quota raised", body="The limit of the gateway is now 500 requests.")


def holds(store: Store, scope: Scope, *outcomes: SaveOutcome) -> list[bool]:
    """Whether the first fact of each memory holds."""
    with store.reading(scope) as work:
        return [work.facts.of_memories([str(outcome.memory_id)])[0].holds for outcome in outcomes]


def superseded(store: Store, scope: Scope, outcome: SaveOutcome) -> bool:
    with store.reading(scope) as work:
        return work.memories.get(str(outcome.memory_id)).superseded_at is not None


def edges(store: Store, scope: Scope, outcome: SaveOutcome) -> list[tuple[EdgeKind, str]]:
    with store.reading(scope) as work:
        return [(edge.kind, edge.target_id) for edge in work.edges.of(str(outcome.memory_id))]


def test_a_note_of_which_nothing_is_left_is_superseded_although_the_texts_are_unlike(
    saver: Saver, store: Store, scope: Scope
) -> None:
    old, new = saver.save(scope, FIGARO), saver.save(scope, KYD)
    assert (new.decision, new.superseded, new.outdated) == (SaveDecision.SUPERSEDE, (old.memory_id,), ())
    assert new.nearest[0].similarity < 0.9
    assert SAME_FACT in new.nearest[0].reasons
    assert holds(store, scope, old, new) == [False, True]


def test_one_fact_of_a_longer_note_ends_and_the_note_stays(
    saver: Saver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    old = saver.save(scope, LONGER)
    clock.advance(days=1)
    new = saver.save(scope, RAISED)
    assert (new.decision, new.superseded, new.contradicts) == (SaveDecision.STORE, (), ())
    [fact] = new.outdated
    assert (fact.memory_id, fact.by, fact.since) == (old.memory_id, new.memory_id, clock.now())
    assert (fact.statement, fact.value, fact.now) == (
        "The limit of the gateway is 100 requests.",
        "100 requests",
        "500 requests",
    )
    assert not superseded(store, scope, old)
    assert holds(store, scope, old, new) == [False, True]
    with store.reading(scope) as work:
        assert work.saves.get(new.save_id).detail["outdated"] == [[old.memory_id, "100 requests", "500 requests"]]


def test_the_day_that_the_draft_names_is_the_end_of_the_older_fact(
    saver: Saver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    old = saver.save(scope, LONGER)
    clock.advance(days=10)
    day = clock.now() - timedelta(days=3)
    new = saver.save(scope, draft("Quota", f"As of {day:%Y-%m-%d} the limit of the gateway is 500 requests."))
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    assert [fact.since for fact in new.outdated] == [midnight]
    with store.reading(scope) as work:
        assert [fact.valid_to for fact in work.facts.of_memories([str(old.memory_id)])] == [midnight]


def test_where_words_do_not_tell_both_stay_and_contradict(saver: Saver, store: Store, scope: Scope) -> None:
    old = saver.save(scope, draft("Hymn", "The anthem was written by Ada."))
    new = saver.save(scope, draft("Concert", "The anthem was written by Grace Hopper."))
    assert (new.contradicts, new.superseded, new.outdated) == ((old.memory_id,), (), ())
    assert edges(store, scope, new) == [(EdgeKind.CONTRADICTS, old.memory_id)]
    assert holds(store, scope, old, new) == [True, True]


def test_a_relation_with_several_values_changes_nothing(saver: Saver, store: Store, scope: Scope) -> None:
    old = saver.save(scope, draft("Languages", "Ada speaks French."))
    new = saver.save(scope, draft("Languages again", "Ada speaks Danish."))
    assert (new.decision, new.contradicts, new.outdated) == (SaveDecision.STORE, (), ())
    assert holds(store, scope, old, new) == [True, True]


@pytest.mark.parametrize("protected", [{}, {"automated": True, "tier": Tier.CONSTITUTIONAL}])
@pytest.mark.parametrize("body", [LONGER.body, "The limit of the gateway is 100 requests."])
def test_a_program_ends_no_fact_of_a_person_and_no_constitutional_one(
    saver: Saver, store: Store, scope: Scope, protected: dict[str, Any], body: str
) -> None:
    old = saver.save(scope, draft("Gateway", body, **protected), gated=False)
    new = saver.save(scope, Draft(title="Quota raised", body=RAISED.body, automated=True))
    assert (new.superseded, new.outdated, new.contradicts) == ((), (), (old.memory_id,))
    assert holds(store, scope, old, new) == [True, True]


def test_a_program_ends_what_a_program_wrote(saver: Saver, store: Store, scope: Scope) -> None:
    old = saver.save(scope, Draft(title=LONGER.title, body=LONGER.body, automated=True))
    new = saver.save(scope, Draft(title=RAISED.title, body=RAISED.body, automated=True))
    assert [fact.memory_id for fact in new.outdated] == [old.memory_id]
    assert holds(store, scope, old, new) == [False, True]


def test_facts_need_no_embedder(make_saver: MakeSaver, store: Store, scope: Scope) -> None:
    saver = make_saver(with_embedder=False)
    old, longer = saver.save(scope, FIGARO), saver.save(scope, LONGER)
    new, raised = saver.save(scope, KYD), saver.save(scope, RAISED)
    assert new.superseded == (old.memory_id,)
    assert [fact.memory_id for fact in raised.outdated] == [longer.memory_id]
    assert holds(store, scope, old, longer, new, raised) == [False, False, True, True]


def test_with_reconsolidation_off_nothing_ends(make_saver: MakeSaver, flags: Flags, store: Store, scope: Scope) -> None:
    saver = make_saver()
    flags.turn(store, scope, "reconsolidation", "off")
    old, longer = saver.save(scope, FIGARO), saver.save(scope, LONGER)
    new, raised = saver.save(scope, KYD), saver.save(scope, RAISED)
    assert (new.superseded, raised.outdated) == ((), ())
    saver.forget(scope, str(raised.memory_id))
    saver.restore(scope, str(raised.memory_id))
    assert holds(store, scope, old, longer, new, raised) == [True, True, True, True]


def test_a_backdated_note_ends_nothing_that_came_later_and_is_outdated_itself(
    saver: Saver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    there = saver.save(scope, LONGER)
    before = clock.now() - timedelta(days=30)
    older = saver.save(scope, draft("Quota", "The limit of the gateway is 20 requests.", valid_from=before))
    assert (older.outdated, older.superseded) == ((), ())
    assert holds(store, scope, there, older) == [True, False]


def test_documents_from_files_neither_end_facts_nor_lose_them(saver: Saver, store: Store, scope: Scope) -> None:
    old = saver.save(scope, LONGER)
    taken = saver.save(scope, Draft(title="docs/limits.md", body=RAISED.body, written_with=INGESTED_WITH))
    assert taken.outdated == ()
    assert holds(store, scope, old) == [True]
    with store.reading(scope) as work:
        assert work.facts.of_memories([str(taken.memory_id)]) == []


def test_a_new_version_of_a_source_outdates_facts_of_other_notes_too(
    saver: Saver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    first = saver.save(scope, Draft(title="Card", body="The limit of the gateway is 100 requests.", source_id="s"))
    clock.advance(days=1)
    longer = saver.save(scope, LONGER)
    clock.advance(days=1)
    second = saver.save(scope, Draft(title="Card", body=RAISED.body, source_id="s"))
    assert second.superseded == (first.memory_id,)
    assert [fact.memory_id for fact in second.outdated] == [longer.memory_id]
    assert holds(store, scope, longer, second) == [False, True]


def test_a_batch_is_decided_in_its_order(saver: Saver, store: Store, scope: Scope) -> None:
    bodies = [f"The limit of the gateway is {number} requests." for number in (100, 200, 300)]
    drafts = [LONGER, *(draft(f"Card {number}", body) for number, body in enumerate(bodies))]
    outcomes = [result for _, result in saver.save_many(scope, drafts, gated=True)]
    saved = [outcome for outcome in outcomes if isinstance(outcome, SaveOutcome)]
    assert [outcome.memory_id for outcome in saved] == list(dict.fromkeys(outcome.memory_id for outcome in saved))
    assert holds(store, scope, *saved) == [False, False, False, True]
    assert [fact.memory_id for fact in saved[1].outdated] == []
    assert [fact.memory_id for fact in saved[2].outdated] == [saved[0].memory_id]


def test_a_batch_that_is_not_compared_ends_nothing(saver: Saver, store: Store, scope: Scope) -> None:
    outcomes = [result for _, result in saver.save_many(scope, [LONGER, RAISED])]
    saved = [outcome for outcome in outcomes if isinstance(outcome, SaveOutcome)]
    assert holds(store, scope, *saved) == [True, True]


def test_a_fact_that_says_the_same_in_other_words_changes_nothing(saver: Saver, store: Store, scope: Scope) -> None:
    old = saver.save(scope, LONGER)
    new = saver.save(scope, draft("Again", "The gateway has a limit of 100 requests, as it always had."))
    assert new.outdated == ()
    assert holds(store, scope, old) == [True]


# --- Undoing ---


def test_restoring_a_superseded_note_lets_its_facts_hold_beside_the_new_ones(
    saver: Saver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    old, new = saver.save(scope, FIGARO), saver.save(scope, KYD)
    clock.advance(days=1)
    outcome = saver.restore(scope, str(old.memory_id))
    assert outcome.contradicts == (new.memory_id,)
    assert holds(store, scope, old, new) == [True, True]
    clock.advance(days=1)
    third = saver.save(scope, draft("Library", "The author of The Marriage of Figaro is Lope de Vega."))
    assert set(third.superseded) == {old.memory_id, new.memory_id}


def test_restoring_a_note_with_outdated_facts_lets_them_hold_and_only_once(
    saver: Saver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    old, new = saver.save(scope, LONGER), saver.save(scope, RAISED)
    clock.advance(days=1)
    outcome = saver.restore(scope, str(old.memory_id))
    assert (outcome.memory_id, outcome.contradicts) == (old.memory_id, (new.memory_id,))
    assert "1 fact holds again" in outcome.steps[0].detail
    assert holds(store, scope, old, new) == [True, True]
    with store.reading(scope) as work:
        assert work.audit.entries(target=str(old.memory_id))[0].detail["undone"] == "outdated"
    with pytest.raises(InputError, match="no fact of it is outdated"):
        saver.restore(scope, str(old.memory_id))
    with pytest.raises(NotAllowed):
        saver.restore(scope, str(old.memory_id), automated=True)


def test_forgetting_the_newer_note_lets_the_fact_hold_and_restoring_it_ends_the_fact_again(
    saver: Saver, store: Store, scope: Scope
) -> None:
    old, new = saver.save(scope, LONGER), saver.save(scope, RAISED)
    saver.forget(scope, str(new.memory_id))
    assert holds(store, scope, old) == [True]
    with store.reading(scope) as work:
        assert work.facts.of_memories([str(new.memory_id)]) == []
    saver.restore(scope, str(new.memory_id))
    assert holds(store, scope, old, new) == [False, True]


def test_what_was_confirmed_stays_so_when_its_note_is_forgotten_and_restored(
    saver: Saver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    old, new = saver.save(scope, LONGER), saver.save(scope, RAISED)
    clock.advance(days=1)
    saver.restore(scope, str(old.memory_id))
    saver.forget(scope, str(old.memory_id))
    saver.restore(scope, str(old.memory_id))
    assert holds(store, scope, old, new) == [True, True]


def test_removing_the_newer_note_lets_the_fact_hold(saver: Saver, store: Store, scope: Scope) -> None:
    old, new = saver.save(scope, LONGER), saver.save(scope, RAISED)
    with store.writing(scope) as work:
        work.memories.remove(str(new.memory_id))
    assert holds(store, scope, old) == [True]


def test_a_draft_that_merges_leaves_the_facts_of_the_memory_as_they_are(
    make_saver: MakeSaver, flags: Flags, store: Store, scope: Scope
) -> None:
    flags.turn(store, scope, "save_quality_gate", "off")
    saver = make_saver()
    old, new = saver.save(scope, LONGER), saver.save(scope, RAISED)
    again = saver.save(scope, Draft(title=RAISED.title, body=RAISED.body, triggers=("quota",)))
    assert (again.decision, again.memory_id, again.outdated) == (SaveDecision.MERGE, new.memory_id, ())
    assert holds(store, scope, old, new) == [False, True]
    saver.restore(scope, str(new.memory_id))
    assert holds(store, scope, old, new) == [False, True]


def test_of_two_views_the_one_that_is_said_again_is_the_newer_one(
    saver: Saver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    oslo = Draft(title="Ada", body="Ada worked in the city of Oslo.")
    first = saver.save(scope, oslo)
    clock.advance(days=1)
    second = saver.save(scope, Draft(title="Ada at work", body="Ada worked in the city of Bergen."))
    clock.advance(days=1)
    again = saver.save(scope, oslo)
    assert (again.decision, again.memory_id) == (SaveDecision.MERGE, first.memory_id)
    with store.reading(scope) as work:
        served = work.facts.served(work.facts.find_contested([str(first.memory_id), str(second.memory_id)]))
        newest = max(served, key=lambda fact: fact.newness)
    assert (newest.memory_id, newest.restated_at) == (first.memory_id, clock.now())
