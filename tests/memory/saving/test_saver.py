"""Saving end to end on both back ends: what is stored, what is turned away, what takes whose place."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.memory.saving.conftest import MakeSaver, draft
from tests.storage.homes import BOUND_S

from assay.embedding.protocol import Progress, Vectors
from assay.errors import BadValue, EndpointUnavailable, ModelError, StoreFull
from assay.flags import Flags
from assay.hashing import content_hash
from assay.index import Indexes, View
from assay.memory.saving import Refused, Saver
from assay.records import Draft, EdgeKind, MemoryRecord, SaveDecision, SaveOutcome, Scope, Tier
from assay.storage import Store, Work
from assay.testing import FixedClock, HashedEmbedder

LIMIT_100 = draft(triggers=("rate limit",))
LIMIT_500 = draft(body="The API allows 500 requests per minute.", triggers=("rate limit",))
LONG = "When the queue grows, look at the dashboard, find the noisy tenant, throttle it, and tell the account team."


def step(outcome: SaveOutcome, name: str) -> str:
    return next(one.decision for one in outcome.steps if one.name == name)


def stored(store: Store, scope: Scope) -> list[MemoryRecord]:
    with store.reading(scope) as work:
        return work.memories.page()


def edges(store: Store, scope: Scope, memory_id: str | None) -> set[tuple[str, EdgeKind, str]]:
    assert memory_id is not None
    with store.reading(scope) as work:
        return {(edge.source_id, edge.kind, edge.target_id) for edge in work.edges.of(memory_id)}


def test_a_draft_is_stored_with_chunks_vectors_triggers_and_its_decision(
    saver: Saver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    outcome = saver.save(scope, draft(triggers=("Rate limit!",), tags=("api",), written_with="editor"))

    assert outcome.memory_id is not None
    with store.reading(scope) as work:
        memory = work.memories.get(outcome.memory_id)
        assert [chunk.position for chunk in work.memories.chunks_of(memory.id)] == [0]
        assert work.vectors.count(HashedEmbedder().model) == 1
        assert work.vectors.active() == HashedEmbedder().model
        assert [match.memory_id for match in work.triggers.matching(["rate limit"])] == [memory.id]
        [save] = work.saves.of(memory.id)
    assert (memory.written_by, memory.written_with, memory.tags) == ("ada", "editor", ("api",))
    assert memory.created_at == memory.valid_from == clock.now()
    assert (outcome.decision, outcome.version, outcome.chunks) == (SaveDecision.STORE, 1, 1)
    assert (save.save_id, save.decision, save.quality) == (outcome.save_id, SaveDecision.STORE, outcome.quality.score)  # type: ignore[union-attr]


def test_every_step_says_what_it_decided(saver: Saver, scope: Scope) -> None:
    outcome = saver.save(scope, draft())
    assert [(one.name, one.decision) for one in outcome.steps] == [
        ("structure", "pass"),
        ("secrets", "pass"),
        ("trust", "pass"),
        ("quality", "pass"),
        ("near_duplicate", "pass"),
        ("reconsolidation", "store"),
        ("write", "store"),
    ]


def test_a_changed_number_supersedes_the_old_memory_and_keeps_it(saver: Saver, store: Store, scope: Scope) -> None:
    old = saver.save(scope, LIMIT_100)
    new = saver.save(scope, LIMIT_500)

    assert new.decision is SaveDecision.SUPERSEDE
    assert new.superseded == (old.memory_id,)
    assert {memory.id: memory.superseded_at is not None for memory in stored(store, scope)} == {
        old.memory_id: True,
        new.memory_id: False,
    }
    assert edges(store, scope, new.memory_id) == {(new.memory_id, EdgeKind.SUPERSEDES, old.memory_id)}
    with store.reading(scope) as work:
        assert [entry.action for entry in work.audit.entries(target=str(old.memory_id))] == ["memory.supersede"]


@pytest.mark.usefixtures("enforced")
def test_a_superseded_memory_is_no_neighbour_so_that_a_limit_can_go_back(saver: Saver, scope: Scope) -> None:
    saver.save(scope, LIMIT_100)
    saver.save(scope, LIMIT_500)
    back = saver.save(scope, LIMIT_100)

    assert back.decision is SaveDecision.SUPERSEDE
    assert len(back.nearest) == 1


@pytest.mark.usefixtures("enforced")
def test_a_restatement_is_rejected_and_the_duplicate_named(saver: Saver, store: Store, scope: Scope) -> None:
    first = saver.save(scope, draft())
    second = saver.save(scope, draft(body="the API allows 100 requests per minute"))

    assert (second.decision, second.memory_id) == (SaveDecision.REJECT, first.memory_id)
    assert step(second, "near_duplicate") == "reject"
    assert len(stored(store, scope)) == 1
    with store.reading(scope) as work:
        [save] = [one for one in work.saves.recent() if one.decision is SaveDecision.REJECT]
    assert save.enforced


def test_while_the_gate_warns_an_exact_copy_is_merged_and_counted(saver: Saver, store: Store, scope: Scope) -> None:
    first = saver.save(scope, draft(triggers=("rate limit",)))
    second = saver.save(scope, draft(triggers=("throttling",)))

    assert (second.decision, second.memory_id) == (SaveDecision.MERGE, first.memory_id)
    assert second.would_reject == "near_duplicate"
    assert [step(second, name) for name in ("near_duplicate", "reconsolidation")] == ["would_reject", "merge"]
    [kept] = stored(store, scope)
    assert (kept.frequency, kept.triggers) == (2, ("rate limit", "throttling"))
    with store.reading(scope) as work:
        assert work.saves.counts().would_reject == {"near_duplicate": 1}


def test_while_the_gate_warns_an_exact_copy_is_stored_when_reconsolidation_is_off(
    saver: Saver, flags: Flags, store: Store, scope: Scope
) -> None:
    flags.turn(store, scope, "reconsolidation", "off")
    saver.save(scope, draft())
    second = saver.save(scope, draft())

    assert (second.decision, second.would_reject) == (SaveDecision.STORE, "near_duplicate")
    assert len(stored(store, scope)) == 2


POOR = draft(title="note", body="ok thanks")
ALSO_POOR = draft(title="hey", body="hmm lol")


def test_the_gate_warns_for_fourteen_days_and_then_until_it_is_reviewed(
    saver: Saver, flags: Flags, store: Store, scope: Scope, clock: FixedClock
) -> None:
    assert saver.save(scope, POOR).would_reject == "quality"
    clock.advance(days=13, hours=23)
    flags.review(store, scope, "save_quality_gate")
    assert saver.save(scope, ALSO_POOR).decision is SaveDecision.STORE
    clock.advance(hours=1)

    rejected = saver.save(scope, POOR)

    assert (rejected.decision, rejected.memory_id, rejected.would_reject) == (SaveDecision.REJECT, None, None)


def test_the_gate_goes_on_warning_when_nobody_reviews_it(saver: Saver, scope: Scope, clock: FixedClock) -> None:
    saver.save(scope, POOR)
    clock.advance(days=100)
    assert saver.save(scope, ALSO_POOR).decision is SaveDecision.STORE


@pytest.mark.usefixtures("enforced")
def test_a_draft_of_poor_quality_leaves_no_memory_but_its_decision(saver: Saver, store: Store, scope: Scope) -> None:
    outcome = saver.save(scope, POOR)

    assert outcome.decision is SaveDecision.REJECT
    assert stored(store, scope) == []
    with store.reading(scope) as work:
        [save] = work.saves.recent()
    assert (save.memory_id, save.decision) == (None, SaveDecision.REJECT)


@pytest.mark.usefixtures("enforced")
@pytest.mark.parametrize(
    ("title", "body"), [("lol", "lol"), ("asdf", "qwer zxcv"), ("x1", "1234567890"), ("Reminder", "remember this")]
)
def test_the_enforced_gate_refuses_junk(saver: Saver, store: Store, scope: Scope, title: str, body: str) -> None:
    outcome = saver.save(scope, draft(title, body, triggers=("a b", "c d"), tags=("x", "y")))

    assert (outcome.decision, outcome.memory_id) == (SaveDecision.REJECT, None)
    assert stored(store, scope) == []


def test_without_the_gate_nothing_is_compared(saver: Saver, store: Store, scope: Scope) -> None:
    saver.save(scope, LIMIT_100, gated=False)
    second = saver.save(scope, LIMIT_500, gated=False)

    assert second.decision is SaveDecision.STORE
    assert (second.quality, second.nearest) == (None, ())
    assert [step(second, name) for name in ("quality", "near_duplicate", "reconsolidation")] == ["off", "off", "off"]


def test_switched_off_reconsolidation_changes_no_memory(saver: Saver, flags: Flags, store: Store, scope: Scope) -> None:
    flags.turn(store, scope, "reconsolidation", "off")
    saver.save(scope, LIMIT_100)
    second = saver.save(scope, LIMIT_500)

    assert (second.decision, step(second, "reconsolidation")) == (SaveDecision.STORE, "off")
    assert all(memory.superseded_at is None for memory in stored(store, scope))


def merging(make_saver: MakeSaver, flags: Flags, store: Store, scope: Scope) -> Saver:
    """With nothing that watches for duplicates, whatever agrees is merged."""
    flags.turn(store, scope, "save_quality_gate", "off")
    return make_saver()


def test_a_merge_counts_unites_triggers_and_keeps_both_provenances(
    make_saver: MakeSaver, flags: Flags, store: Store, scope: Scope
) -> None:
    saver = merging(make_saver, flags, store, scope)
    first = saver.save(scope, draft(triggers=("rate limit",)))
    second = saver.save(
        Scope(tenant=scope.tenant, principal="bo"), draft(triggers=("Rate Limit", "quota"), written_with="agent")
    )

    assert (second.decision, second.memory_id) == (SaveDecision.MERGE, first.memory_id)
    [memory] = stored(store, scope)
    assert (memory.frequency, memory.triggers, memory.written_by) == (2, ("rate limit", "quota"), "ada")
    [entry] = memory.metadata["assay"]["merged"]
    assert (entry["written_by"], entry["written_with"], entry["title"]) == ("bo", "agent", "API rate limit")
    with store.reading(scope) as work:
        save = work.saves.get(second.save_id)
        assert [match.phrase for match in work.triggers.matching(["quota"])] == ["quota"]
    assert save.detail["incoming"]["body"] == draft().body


def test_a_source_that_was_merged_is_unchanged_when_it_comes_again(
    make_saver: MakeSaver, flags: Flags, store: Store, scope: Scope
) -> None:
    saver = merging(make_saver, flags, store, scope)
    first = saver.save(scope, draft())
    saver.save(scope, draft(source_id="limits.md"))
    again = saver.save(scope, draft(source_id="limits.md"))

    assert (again.unchanged, again.memory_id) == (True, first.memory_id)
    assert [memory.frequency for memory in stored(store, scope)] == [2]


def test_opposite_notes_under_different_labels_both_stay_and_are_marked(
    saver: Saver, store: Store, scope: Scope
) -> None:
    text = "the gateway drops idle connections after {} seconds when no client has sent anything"
    first = saver.save(scope, draft("March", text.format(60)))
    second = saver.save(scope, draft("Manual", text.format(350)))

    assert (second.decision, second.contradicts) == (SaveDecision.STORE, (first.memory_id,))
    assert edges(store, scope, second.memory_id) == {(second.memory_id, EdgeKind.CONTRADICTS, first.memory_id)}


def test_several_conflicting_memories_are_superseded_together(saver: Saver, store: Store, scope: Scope) -> None:
    older = [saver.save(scope, one, gated=False).memory_id for one in (LIMIT_100, LIMIT_100)]
    new = saver.save(scope, LIMIT_500)
    assert set(new.superseded) == set(older)


@pytest.mark.parametrize("tier", [Tier.CONSTITUTIONAL, Tier.NORMAL])
def test_a_program_never_supersedes_a_constitutional_or_hand_written_memory(
    saver: Saver, store: Store, scope: Scope, tier: Tier
) -> None:
    by_a_program = tier is Tier.CONSTITUTIONAL
    first = saver.save(scope, draft(triggers=("rate limit",), tier=tier, automated=by_a_program))
    second = saver.save(scope, draft(body=LIMIT_500.body, triggers=("rate limit",), automated=True))

    assert (second.decision, second.superseded) == (SaveDecision.STORE, ())
    assert second.contradicts == (first.memory_id,)


def test_a_program_supersedes_what_a_program_wrote_and_a_person_supersedes_anything(saver: Saver, scope: Scope) -> None:
    first = saver.save(scope, draft(triggers=("rate limit",), automated=True))
    second = saver.save(scope, draft(body=LIMIT_500.body, triggers=("rate limit",), automated=True))
    third = saver.save(scope, LIMIT_100)

    assert second.superseded == (first.memory_id,)
    assert third.superseded == (second.memory_id,)


def test_a_program_never_merges_into_a_hand_written_memory(
    make_saver: MakeSaver, flags: Flags, store: Store, scope: Scope
) -> None:
    saver = merging(make_saver, flags, store, scope)
    first = saver.save(scope, draft())
    second = saver.save(scope, draft(automated=True))

    assert (second.decision, second.contradicts) == (SaveDecision.STORE, ())
    assert edges(store, scope, second.memory_id) == {(second.memory_id, EdgeKind.SUPPORTS, first.memory_id)}
    assert stored(store, scope)[0].frequency == 1


def test_the_same_source_with_the_same_content_is_left_alone(saver: Saver, store: Store, scope: Scope) -> None:
    first = saver.save(scope, draft(source_id="wiki/limits"))
    with store.reading(scope) as work:
        before = work.changes.position()
    second = saver.save(scope, draft(source_id="wiki/limits"))

    assert (second.unchanged, second.memory_id, step(second, "write")) == (True, first.memory_id, "unchanged")
    with store.reading(scope) as work:
        assert work.changes.position() == before
        assert len(work.saves.recent()) == 1


def test_a_source_with_other_content_is_a_new_version_and_no_duplicate(
    saver: Saver, store: Store, scope: Scope
) -> None:
    first = saver.save(scope, draft(source_id="wiki/limits"))
    second = saver.save(scope, draft(source_id="wiki/limits", tags=("edited",)))

    assert (second.version, second.superseded, second.unchanged) == (2, (first.memory_id,), False)
    assert edges(store, scope, second.memory_id) == {(second.memory_id, EdgeKind.SUPERSEDES, first.memory_id)}
    with store.reading(scope) as work:
        assert [(one.version, one.superseded_at is None) for one in work.memories.by_source("wiki/limits")] == [
            (1, False),
            (2, True),
        ]


def test_the_hash_that_a_source_gives_decides_whether_it_changed(saver: Saver, scope: Scope) -> None:
    saver.save(scope, draft(source_id="s", source_hash="h1"))
    assert saver.save(scope, draft(source_id="s", source_hash="h1", body="Other text under it.")).unchanged
    assert saver.save(scope, draft(source_id="s", source_hash="h2")).version == 2


def test_a_program_does_not_replace_a_version_that_a_person_wrote(saver: Saver, store: Store, scope: Scope) -> None:
    first = saver.save(scope, draft(source_id="s"))
    second = saver.save(scope, draft(source_id="s", body="Another text.", automated=True))
    again = saver.save(scope, draft(source_id="s", body="Another text.", automated=True))

    assert (second.superseded, second.contradicts) == ((), (first.memory_id,))
    assert again.unchanged


def test_without_an_embedder_a_memory_is_stored_without_vectors_and_says_so(
    store: Store, scope: Scope, make_saver: MakeSaver
) -> None:
    outcome = make_saver(with_embedder=False).save(scope, draft())

    assert outcome.chunks == 1
    assert [step(outcome, name) for name in ("near_duplicate", "reconsolidation")] == ["off", "off"]
    assert "no embedder" in outcome.steps[-1].detail
    with store.reading(scope) as work:
        assert work.vectors.models() == {}
        assert work.vectors.active() is None


class Unreachable(HashedEmbedder):
    """An embedder whose server does not answer."""

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        raise EndpointUnavailable("nobody answers at 127.0.0.1", remedy="Start it.")


def test_an_embedder_that_fails_loses_no_memory(make_saver: MakeSaver, store: Store, scope: Scope) -> None:
    outcome = make_saver(Unreachable()).save(scope, draft())

    assert outcome.decision is SaveDecision.STORE
    assert "nobody answers" in outcome.steps[-1].detail
    assert len(stored(store, scope)) == 1


def test_vectors_of_two_models_are_never_compared(make_saver: MakeSaver, store: Store, scope: Scope) -> None:
    # No sentence of these states a fact: facts are compared without vectors.
    make_saver(HashedEmbedder(model="one")).save(scope, draft(body="Callers get one hundred tries."))
    outcome = make_saver(HashedEmbedder(model="two")).save(scope, draft(body="Callers get two hundred tries."))

    assert (outcome.decision, outcome.nearest) == (SaveDecision.STORE, ())
    assert [step(outcome, name) for name in ("near_duplicate", "reconsolidation")] == ["off", "off"]
    with store.reading(scope) as work:
        assert (work.vectors.active(), work.vectors.models()) == ("one", {"one": 1, "two": 1})


class Counting(HashedEmbedder):
    """Counts the texts it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self.texts += texts
        return super().embed(texts, progress=progress)


def test_a_text_that_was_embedded_before_is_not_embedded_again(make_saver: MakeSaver, scope: Scope) -> None:
    embedder = Counting()
    saver = make_saver(embedder)
    saver.save(scope, draft(), gated=False)
    saver.save(scope, draft(tags=("again",)), gated=False)
    assert len(embedder.texts) == 1


def test_what_cannot_be_kept_is_refused_and_nothing_is_written(saver: Saver, store: Store, scope: Scope) -> None:
    with pytest.raises(BadValue, match="does not stay inside"):
        saver.save(scope, draft(rel_path="../../etc/passwd"))
    assert stored(store, scope) == []


def test_constitutional_memories_are_bounded_in_number(saver: Saver, store: Store, scope: Scope) -> None:
    for number in range(10):
        body = f"Rule {number}: " + " ".join(f"{word}{number}" for word in ("alpha", "beta", "gamma", "delta"))
        saver.save(scope, draft(f"Rule {number}", body, tier=Tier.CONSTITUTIONAL), gated=False)
    with pytest.raises(BadValue, match="there are 10 constitutional memories"):
        saver.save(scope, draft("Rule 11", "One too many of them.", tier=Tier.CONSTITUTIONAL))
    assert len(stored(store, scope)) == 10


def test_constitutional_memories_are_bounded_in_tokens_and_a_new_version_frees_its_own(
    saver: Saver, scope: Scope
) -> None:
    text = " ".join(f"word{number}" for number in range(1_500))
    first = draft("Rules", text, tier=Tier.CONSTITUTIONAL, source_id="rules")
    saver.save(scope, first)
    with pytest.raises(BadValue, match="3,000 tokens together"):
        saver.save(scope, draft("More rules", text, tier=Tier.CONSTITUTIONAL), gated=False)

    changed = draft("Rules", text + " more", tier=Tier.CONSTITUTIONAL, source_id="rules")

    assert saver.save(scope, changed).version == 2


def test_many_drafts_are_saved_in_order_and_one_bad_one_stops_none(saver: Saver, store: Store, scope: Scope) -> None:
    drafts = [draft(f"Note {number}", f"Body of note {number}.", source_id=f"s{number}") for number in range(7)]
    drafts[3] = draft("Bad", "{", format="JSON")  # a draft takes the value of an enumeration as well
    told: list[str] = []

    results = list(saver.save_many(scope, drafts, batch=3, on_done=lambda one, _: told.append(one.title)))

    assert [one.title for one, _ in results] == told == [one.title for one in drafts]
    assert [type(result) for _, result in results] == [SaveOutcome] * 3 + [Refused] + [SaveOutcome] * 3
    refused = results[3][1]
    assert isinstance(refused, Refused)
    assert "not JSON" in refused.reason
    ids = [result.memory_id for _, result in results if isinstance(result, SaveOutcome)]
    assert ids == sorted(memory.id for memory in stored(store, scope))


class Elsewhere(Counting):
    """Embeds as workers do: the next batch is prepared while one is written."""

    embeds_elsewhere = True


def test_drafts_prepared_ahead_are_saved_as_others_are(make_saver: MakeSaver, store: Store, scope: Scope) -> None:
    bodies = ["A lamp by the ferry.", "A keeper at dusk.", "A lamp by the ferry.", "The first harbour wind."]
    drafts = [draft("Note", body, source_id=f"s{number}") for number, body in enumerate(bodies * 2)]
    drafts[3] = draft("Bad", "{", format="JSON")
    here, elsewhere = Counting(), Elsewhere()
    other = Scope(tenant="other", principal="ada")

    plain = list(make_saver(here).save_many(other, drafts, batch=1))
    ahead = list(make_saver(elsewhere).save_many(scope, drafts, batch=1))

    assert [one for one, _ in ahead] == drafts
    assert [type(result) for _, result in ahead] == [type(result) for _, result in plain]
    # A text of a batch before, which may not be written yet, is not embedded again either.
    assert sorted(elsewhere.texts) == sorted(here.texts)
    assert len(stored(store, scope)) == len(stored(store, other)) == 7


class FailsOnce(Elsewhere):
    """Cannot embed what it is asked first."""

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        if not self.texts:
            self.texts += texts
            raise ModelError("the workers are gone", remedy="Start them.")
        return super().embed(texts, progress=progress)


def test_a_text_that_could_not_be_embedded_in_the_batch_before_is_embedded_again(
    make_saver: MakeSaver, store: Store, scope: Scope
) -> None:
    drafts = [draft("Note", "A lamp by the ferry.", source_id=f"s{number}") for number in range(2)]
    embedder = FailsOnce()
    results = [result for _, result in make_saver(embedder).save_many(scope, drafts, batch=1)]
    assert len(embedder.texts) == 2
    assert [type(result) for result in results] == [SaveOutcome] * 2
    with store.reading(scope) as work:
        assert len(work.vectors.by_hashes(embedder.model, [content_hash(text) for text in embedder.texts])) == 1


def test_a_run_that_was_stopped_goes_on_where_it_was(make_saver: MakeSaver, store: Store, scope: Scope) -> None:
    drafts = [draft(f"Note {number}", f"Body of note {number}.", source_id=f"s{number}") for number in range(8)]
    run = make_saver().save_many(scope, drafts, batch=3)
    next(run)
    run.close()
    assert len(stored(store, scope)) == 3

    embedder = Counting()
    results = [result for _, result in make_saver(embedder).save_many(scope, drafts, batch=3)]

    assert [one.unchanged for one in results if isinstance(one, SaveOutcome)] == [True] * 3 + [False] * 5
    assert len(embedder.texts) == 5
    assert len(stored(store, scope)) == 8


class Slow(HashedEmbedder):
    """Takes a second of a clock of its own for each text, and can be interrupted."""

    def __init__(self, *, stop_at: float = float("inf")) -> None:
        super().__init__()
        self.seconds = 0.0
        self._stop_at = stop_at

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self.seconds += len(texts)
        if self.seconds > self._stop_at:
            raise KeyboardInterrupt
        return super().embed(texts, progress=progress)


def long_drafts(count: int) -> list[Draft]:
    """Drafts of which each takes a second or more to embed."""
    bodies = [" ".join(f"Sentence {place} of note {number}." for place in range(100)) for number in range(count)]
    return [draft(f"Note {number}", body, source_id=f"s{number}") for number, body in enumerate(bodies)]


def test_what_takes_long_is_committed_every_few_seconds(make_saver: MakeSaver, store: Store, scope: Scope) -> None:
    embedder = Slow()
    saver = make_saver(embedder, stopwatch=lambda: embedder.seconds)
    committed: list[float] = []
    for _ in saver.save_many(scope, long_drafts(30)):
        if not committed or committed[-1] != embedder.seconds:
            committed.append(embedder.seconds)
    assert len(stored(store, scope)) == 30
    assert len(committed) > 5
    # After the first batch, of which nobody knew how long it takes, no transaction holds more than a few seconds.
    longest = max(after - before for before, after in pairwise(committed))
    one_document = embedder.seconds / 30
    assert longest <= max(2.0, one_document) + one_document


def test_an_interruption_loses_only_the_batch_at_hand(make_saver: MakeSaver, store: Store, scope: Scope) -> None:
    whole = Slow()
    list(make_saver(whole).save_many(Scope(tenant="other", principal="ada"), long_drafts(30)))
    embedder = Slow(stop_at=whole.seconds / 2)
    saver = make_saver(embedder, stopwatch=lambda: embedder.seconds)
    with pytest.raises(KeyboardInterrupt):
        list(saver.save_many(scope, long_drafts(30)))
    assert 12 <= len(stored(store, scope)) < 30


def test_a_batch_that_fails_leaves_nothing_half_there(make_saver: MakeSaver, store: Store, scope: Scope) -> None:
    def drafts() -> list[Draft]:
        return [draft(f"Note {number}", f"Body of note {number}.", source_id=f"s{number}") for number in range(4)]

    class Failing(HashedEmbedder):
        def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
            raise StoreFull("no space is left", remedy="Free some.")

    with pytest.raises(StoreFull):
        list(make_saver(Failing()).save_many(scope, drafts()))
    with store.reading(scope) as work:
        assert (work.memories.count(), work.memories.count_chunks(), work.saves.recent()) == (0, 0, [])


def test_the_same_source_twice_in_one_batch_becomes_two_versions(saver: Saver, scope: Scope) -> None:
    drafts = [draft("A", text, source_id="a") for text in ("First text.", "Second text.", "Second text.")]
    results = [result for _, result in saver.save_many(scope, drafts)]
    assert [(one.version, one.unchanged) for one in results if isinstance(one, SaveOutcome)] == [
        (1, False),
        (2, False),
        (2, True),
    ]


def test_siblings_of_one_gated_batch_see_each_other(saver: Saver, scope: Scope) -> None:
    [(_, first), (_, second)] = saver.save_many(scope, [LIMIT_100, LIMIT_500], gated=True)
    assert isinstance(first, SaveOutcome)
    assert isinstance(second, SaveOutcome)
    assert second.superseded == (first.memory_id,)


def test_bulk_ingest_never_merges_siblings(saver: Saver, store: Store, scope: Scope) -> None:
    list(saver.save_many(scope, [draft(LONG[:20], LONG, source_id=str(number)) for number in range(3)]))
    assert all(memory.superseded_at is None and memory.frequency == 1 for memory in stored(store, scope))


class Overtaken(Indexes):
    """Indexes between whose view and the write another writer saves."""

    def __init__(self, *given: Any, other: Saver, scope: Scope, saves: Draft = LIMIT_100, **options: Any) -> None:
        super().__init__(*given, **options)
        self.other, self.scope, self.saves = other, scope, saves
        self.between: list[SaveOutcome] = []

    def view(self, work: Work, *, progress: Any = None) -> View:
        seen = super().view(work, progress=progress)
        self.between.append(self.other.save(self.scope, self.saves))
        return seen


def test_what_another_writer_saved_in_between_is_seen_under_the_lock(
    make_saver: MakeSaver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    other = make_saver()
    other.save(scope, draft("Bins", "Paper goes out on Tuesday."))
    indexes = Overtaken(store, None, clock=clock, other=other, scope=scope)

    outcome = make_saver(indexes=indexes).save(scope, LIMIT_500)

    assert outcome.superseded == (indexes.between[0].memory_id,)


def test_a_neighbour_that_was_replaced_in_between_is_judged_anew(
    make_saver: MakeSaver, store: Store, scope: Scope, clock: FixedClock
) -> None:
    other = make_saver()
    first = other.save(scope, LIMIT_100)
    indexes = Overtaken(store, None, clock=clock, other=other, scope=scope, saves=LIMIT_500)

    outcome = make_saver(indexes=indexes).save(scope, replace(LIMIT_500, body=LIMIT_500.body.replace("500", "900")))

    (second,) = indexes.between
    assert second.superseded == (first.memory_id,)
    assert outcome.superseded == (second.memory_id,)


@pytest.mark.usefixtures("enforced")
def test_two_writers_with_the_same_thought_store_it_once(make_saver: MakeSaver, store: Store, scope: Scope) -> None:
    gate = threading.Barrier(2)
    outcomes: list[SaveOutcome] = []

    def write() -> None:
        saver = make_saver()
        gate.wait(timeout=BOUND_S)
        outcomes.append(saver.save(scope, draft()))

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=BOUND_S)

    assert sorted(one.decision for one in outcomes) == [SaveDecision.REJECT, SaveDecision.STORE]
    assert len(stored(store, scope)) == 1


def test_tenants_are_never_neighbours(saver: Saver, flags: Flags, store: Store, scope: Scope) -> None:
    other = Scope(tenant="other")
    flags.turn(store, other, "reconsolidation", "on", checkpoint=lambda name: None)
    saver.save(scope, LIMIT_100)
    outcome = saver.save(other, LIMIT_500)

    assert (outcome.decision, outcome.nearest) == (SaveDecision.STORE, ())
    assert stored(store, scope)[0].superseded_at is None


def test_a_first_save_takes_the_checkpoint_that_reconsolidation_needs(
    make_saver: MakeSaver, store: Store, flags: Flags
) -> None:
    fresh = Scope(tenant="fresh")
    make_saver().save(fresh, draft())

    assert [one.name for one in store.checkpoints.list()] == ["before reconsolidation"]
    with store.reading(fresh) as work:
        assert flags.states(work)["reconsolidation"].activated_at is not None


def test_saving_never_writes_learned_triggers(make_saver: MakeSaver, flags: Flags, store: Store, scope: Scope) -> None:
    saver = merging(make_saver, flags, store, scope)
    first = saver.save(scope, draft(triggers=("rate limit",)))
    saver.save(scope, draft(triggers=("quota",)))
    saver.save(scope, LIMIT_500)
    assert first.memory_id is not None
    saver.restore(scope, first.memory_id)

    assert len(stored(store, scope)) > 1
    assert all(memory.learned_triggers == () for memory in stored(store, scope))


def test_learned_triggers_of_a_memory_outlive_a_merge(
    make_saver: MakeSaver, flags: Flags, store: Store, scope: Scope
) -> None:
    saver = merging(make_saver, flags, store, scope)
    first = saver.save(scope, draft())
    with store.writing(scope) as work:
        work.memories.update(replace(work.memories.get(str(first.memory_id)), learned_triggers=("throttle",)))

    saver.save(scope, draft())

    assert stored(store, scope)[0].learned_triggers == ("throttle",)
