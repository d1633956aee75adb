"""What an update takes over from the memory it supersedes."""

from __future__ import annotations

import pytest
from tests.memory.saving.conftest import draft

from assay.errors import BadValue
from assay.memory.saving import Saver
from assay.records import Draft, Edge, EdgeKind, Format, Inherited, MemoryRecord, SaveOutcome, Scope, Tier, make_draft
from assay.storage import Store
from assay.testing import FixedClock

TITLE = "Never deploy on Friday"
OLD = "Nothing is deployed on a Friday after 14:00."
NEW = "Nothing is deployed on a Friday after 12:00."


def read(store: Store, scope: Scope, outcome: SaveOutcome) -> MemoryRecord:
    with store.reading(scope) as work:
        return work.memories.get(str(outcome.memory_id))


def first(**more: object) -> Draft:
    return draft(
        TITLE,
        OLD,
        tier=Tier.CRITICAL,
        folder="rules",
        tags=("release", "ops"),
        triggers=("friday deploy",),
        context_type="operations",
        metadata={"owner": "ada"},
        **more,
    )


def test_an_update_keeps_every_field_that_was_not_given_and_says_which(
    saver: Saver, store: Store, scope: Scope
) -> None:
    old = saver.save(scope, first())
    new = saver.save(scope, make_draft(title=TITLE, body=NEW))

    assert new.superseded == (old.memory_id,)
    kept = read(store, scope, new)
    assert (kept.tier, kept.folder, kept.tags) == (Tier.CRITICAL, "rules", ("release", "ops"))
    assert (kept.triggers, kept.context_type) == (("friday deploy",), "operations")
    assert kept.metadata["owner"] == "ada"
    assert {one.field: one.value for one in new.inherited} == {
        "triggers": "friday deploy",
        "tier": "critical",
        "folder": "rules",
        "tags": "release, ops",
        "context_type": "operations",
        "metadata": "owner",
    }


def test_what_is_given_counts_and_an_empty_value_is_a_value(saver: Saver, store: Store, scope: Scope) -> None:
    saver.save(scope, first())
    new = saver.save(
        scope, make_draft(title=TITLE, body=NEW, tags=(), triggers=(), folder="", tier=Tier.NORMAL, metadata={})
    )
    assert new.superseded
    kept = read(store, scope, new)
    assert (kept.tags, kept.triggers, kept.folder, kept.tier) == ((), (), "", Tier.NORMAL)
    assert "owner" not in kept.metadata
    assert [one.field for one in new.inherited] == ["context_type"]


def test_a_new_memory_inherits_nothing(saver: Saver, store: Store, scope: Scope) -> None:
    saver.save(scope, first())
    new = saver.save(scope, make_draft(title="Bins", body="Paper goes out on Tuesday."))
    assert (new.superseded, new.inherited) == ((), ())
    assert read(store, scope, new).tier is Tier.NORMAL


def test_a_rule_stays_constitutional_when_a_person_updates_it(saver: Saver, store: Store, scope: Scope) -> None:
    saver.save(scope, draft(TITLE, OLD, tier=Tier.CONSTITUTIONAL, triggers=("friday deploy",)))
    new = saver.save(scope, make_draft(title=TITLE, body=NEW))
    with store.reading(scope) as work:
        assert [rule.id for rule in work.memories.constitutional()] == [new.memory_id]
    assert read(store, scope, new).triggers == ("friday deploy",)


@pytest.mark.parametrize("source", [None, "rules"])
def test_a_program_neither_replaces_a_constitutional_rule_nor_inherits_from_it(
    saver: Saver, store: Store, scope: Scope, source: str | None
) -> None:
    rule = saver.save(scope, draft(TITLE, OLD, tier=Tier.CONSTITUTIONAL, source_id=source))
    new = saver.save(scope, make_draft(title=TITLE, body=NEW, source_id=source, automated=True))
    assert (new.superseded, new.inherited, new.contradicts) == ((), (), (rule.memory_id,))
    assert read(store, scope, new).tier is Tier.NORMAL
    assert read(store, scope, rule).superseded_at is None


def test_a_rule_of_ten_words_more_than_there_is_room_for_is_refused(saver: Saver, scope: Scope) -> None:
    saver.save(scope, draft(TITLE, OLD, tier=Tier.CONSTITUTIONAL, source_id="rules"))
    with pytest.raises(BadValue, match="constitutional memories would have"):
        saver.save(scope, make_draft(title=TITLE, body="Nothing is deployed. " * 1_000, source_id="rules"))


def test_a_new_version_of_a_source_inherits_and_the_same_content_is_unchanged(
    saver: Saver, store: Store, scope: Scope
) -> None:
    old = saver.save(scope, first(source_id="s"))
    same = saver.save(scope, make_draft(title=TITLE, body=OLD, source_id="s"))
    assert (same.unchanged, same.memory_id) == (True, old.memory_id)
    new = saver.save(scope, make_draft(title=TITLE, body=NEW, source_id="s"))
    assert (new.superseded, new.version) == ((old.memory_id,), 2)
    assert read(store, scope, new).folder == "rules"
    assert saver.save(scope, make_draft(title=TITLE, body=NEW, source_id="s")).unchanged


def test_links_come_along_but_not_those_about_versions(
    saver: Saver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    incident = str(saver.save(scope, draft("Outage", "The shop was down for an hour in May.")).memory_id)
    old = str(saver.save(scope, first()).memory_id)
    with store.writing(scope) as work:
        work.edges.put(Edge(source_id=incident, target_id=old, kind=EdgeKind.CAUSED, created_at=clock.now()))
    second = saver.save(scope, make_draft(title=TITLE, body=NEW))
    third = saver.save(scope, make_draft(title=TITLE, body="Nothing is deployed on a Friday after 10:00."))
    for outcome in (second, third):
        assert Inherited("links", "1") in outcome.inherited
    with store.reading(scope) as work:
        edges = {(one.source_id, one.kind, one.target_id) for one in work.edges.of(str(third.memory_id))}
    assert edges == {
        (incident, EdgeKind.CAUSED, third.memory_id),
        (third.memory_id, EdgeKind.SUPERSEDES, second.memory_id),
    }


def test_a_link_to_what_was_itself_superseded_comes_along_once(
    saver: Saver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    cause = str(saver.save(scope, draft("Outage", "The shop was down for 1 hour.", source_id="o")).memory_id)
    old = str(saver.save(scope, first()).memory_id)
    with store.writing(scope) as work:
        work.edges.put(Edge(source_id=cause, target_id=old, kind=EdgeKind.CAUSED, created_at=clock.now()))
    newer = str(saver.save(scope, draft("Outage", "The shop was down for 2 hours.", source_id="o")).memory_id)
    new = saver.save(scope, make_draft(title=TITLE, body=NEW))
    with store.reading(scope) as work:
        causes = [one.source_id for one in work.edges.of(str(new.memory_id)) if one.kind is EdgeKind.CAUSED]
    assert causes == [newer]


def test_an_update_that_is_restored_leaves_both_as_they_were(saver: Saver, store: Store, scope: Scope) -> None:
    old = saver.save(scope, first())
    new = saver.save(scope, make_draft(title=TITLE, body=NEW))
    saver.restore(scope, str(old.memory_id))
    assert read(store, scope, old).superseded_at is None
    assert read(store, scope, old).folder == read(store, scope, new).folder == "rules"
    both = saver.save(scope, make_draft(title=TITLE, body="Nothing is deployed on a Friday after 10:00.", tags=["new"]))
    assert set(both.superseded) == {old.memory_id, new.memory_id}
    assert read(store, scope, both).triggers == ("friday deploy",)
    assert read(store, scope, both).tags == ("new",)


def test_the_quality_of_an_update_counts_what_it_inherits(saver: Saver, scope: Scope) -> None:
    old = saver.save(scope, first())
    new = saver.save(scope, make_draft(title=TITLE, body=NEW))
    assert old.quality is not None
    assert new.quality is not None
    assert new.quality.score == pytest.approx(old.quality.score)


def test_an_update_by_id_can_empty_a_field(saver: Saver, store: Store, scope: Scope) -> None:
    old = saver.save(scope, first())
    new = saver.update(scope, str(old.memory_id), {"tags": ()})
    assert read(store, scope, new).tags == ()
    assert read(store, scope, new).folder == "rules"


def test_a_draft_says_what_was_given() -> None:
    plain = Draft(title="t", body="b", folder="x")
    assert [plain.was_given(name) for name in ("folder", "tags")] == [True, False]
    made = make_draft(title="t", body="b", tags=[], format=Format.TEXT)
    assert [made.was_given(name) for name in ("folder", "tags")] == [False, True]
    with pytest.raises(BadValue, match="given names title"):
        Draft(title="t", body="b", given=frozenset({"title"}))
