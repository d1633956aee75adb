"""Saves against their labels, contradictions, stale results and merged text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.examples import check_entries, mean, missing, value

from assay.errors import BadValue
from assay.metrics import write_path
from assay.records.evaluations import Outcome, OutcomeKind, Rate
from assay.records.saving import ContradictingPair, SaveDecision, SaveTask, SaveTrial, Written

STORE, MERGE, SUPERSEDE, REJECT = SaveDecision


def trial(expected: SaveDecision, decided: SaveDecision | None) -> SaveTrial:
    return SaveTrial(expected=expected, decided=decided)


def trials(*pairs: tuple[SaveDecision, SaveDecision | None]) -> list[SaveTrial]:
    return [trial(expected, decided) for expected, decided in pairs]


BOTH_TRUE = SaveTask(title="t", body="new", after="there", expected=(STORE,))
BESIDE = Written(decided=STORE, old_live=True, new_live=True)
REPLACED = Written(decided=SUPERSEDE, old_live=False, new_live=True)
MERGED = "The service listens on Port 8080 and speaks TLS 1.3 only."


def test_every_entry_has_its_worked_example() -> None:
    four_of_five = trials((STORE, STORE), (MERGE, MERGE), (SUPERSEDE, SUPERSEDE), (REJECT, REJECT), (STORE, MERGE))
    three_merges = write_path.save_confusion(trials((MERGE, MERGE), (MERGE, MERGE), (STORE, MERGE)))
    four_expected = write_path.save_confusion(
        trials((MERGE, MERGE), (MERGE, MERGE), (MERGE, STORE), (MERGE, SUPERSEDE), (STORE, STORE))
    )
    kept = write_path.save_confusion(
        trials((STORE, STORE), (MERGE, MERGE), (SUPERSEDE, SUPERSEDE), (STORE, REJECT), (REJECT, REJECT))
    )
    pairs = [
        ContradictingPair(first_live=False, second_live=True),
        ContradictingPair(first_live=True, second_live=False),
        ContradictingPair(first_live=True, second_live=True, marked=True),
        ContradictingPair(first_live=True, second_live=True),
    ]
    check_entries(
        write_path.ENTRIES,
        "write path",
        {
            "save_accuracy": mean([write_path.save_accuracy(one) for one in four_of_five]),
            "save_precision": value(three_merges.precision(MERGE).outcome("never merged")),
            "save_recall": value(four_expected.recall(MERGE).outcome("never expected")),
            "false_rejection_rate": value(kept.false_rejections.outcome("nothing to keep")),
            "contradiction_coexistence": mean([write_path.contradiction_coexistence(pair) for pair in pairs]),
            "stale_served_rate": value(write_path.stale_served_rate(list("abcde"), {"c", "z"})),
            "information_lost": value(write_path.information_lost(["port 8080", "TLS 1.3", "eu-west"], MERGED)),
            "false_supersede": mean(
                [write_path.false_supersede(BOTH_TRUE, one) for one in (BESIDE, BESIDE, BESIDE, REPLACED)]
            ),
        },
    )
    assert mean([write_path.contradiction_coexistence(pair, count_marked=True) for pair in pairs]) == 0.5


def test_the_matrix_counts_every_pair_and_keeps_failures_apart() -> None:
    found = write_path.save_confusion(trials((STORE, STORE), (STORE, MERGE), (STORE, MERGE), (MERGE, None)))
    assert found.counts == {(STORE, STORE): 1, (STORE, MERGE): 2}
    assert found.accuracy == Rate(hits=1, of=3, left_out={OutcomeKind.SYSTEM_FAILED: 1})
    assert found.precision(MERGE) == Rate(hits=0, of=2, left_out={OutcomeKind.SYSTEM_FAILED: 1})
    assert found.recall(STORE) == Rate(hits=1, of=3, left_out={OutcomeKind.SYSTEM_FAILED: 1})


def test_a_decision_never_taken_or_expected_has_no_precision_or_recall() -> None:
    found = write_path.save_confusion(trials((STORE, STORE)))
    assert found.precision(REJECT).value is None
    assert missing(found.recall(REJECT).outcome("never expected")) is OutcomeKind.NOT_APPLICABLE
    assert found.accuracy.value == 1
    empty = write_path.save_confusion([])
    assert empty.accuracy.value is None
    assert empty.false_rejections.value is None


def test_a_failed_save_decided_nothing() -> None:
    assert missing(write_path.save_accuracy(trial(STORE, None))) is OutcomeKind.SYSTEM_FAILED
    told = write_path.save_accuracy(SaveTrial(expected=STORE, decided=None, reason="the store is full"))
    assert told.reason == "the store is full"


def test_a_rate_has_no_more_hits_than_cases() -> None:
    with pytest.raises(BadValue):
        Rate(hits=2, of=1)


def test_a_contradiction_with_neither_side_live_does_not_coexist() -> None:
    gone = ContradictingPair(first_live=False, second_live=False)
    assert write_path.contradiction_coexistence(gone) == Outcome.scored(0)


def test_a_marked_contradiction_may_coexist_unless_it_is_counted() -> None:
    marked = ContradictingPair(first_live=True, second_live=True, marked=True)
    assert write_path.contradiction_coexistence(marked) == Outcome.scored(0)
    assert write_path.contradiction_coexistence(marked, count_marked=True) == Outcome.scored(1)


def test_stale_results_are_counted_within_the_cutoff_and_once() -> None:
    assert write_path.stale_served_rate(["a", "old", "old"], {"old"}) == Outcome.scored(0.5)
    assert write_path.stale_served_rate(["a", "old"], {"old"}, 1) == Outcome.scored(0)
    assert write_path.stale_served_rate(["a", "old"], {"old"}, per_search=True) == Outcome.scored(1)
    assert write_path.stale_served_rate(["a"], {"old"}, per_search=True) == Outcome.scored(0)


@pytest.mark.parametrize("per_search", [True, False])
def test_a_search_that_served_nothing_served_nothing_stale_nor_fresh(per_search: bool) -> None:
    assert missing(write_path.stale_served_rate([], {"old"}, per_search=per_search)) is OutcomeKind.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("fact", "text", "lost"),
    [
        ("limit 10", "The limit 100 holds.", 1),
        ("limit 10", "A limit 10.", 0),
        ("limit 10", "The limit 10.5 holds.", 1),
        ("3", "TLS 1.3", 1),
        ("1.3", "TLS 1.3.", 0),
        ("Ada Lovelace", "by ada\n lovelace", 0),
        ("C++", "in C++ only", 0),
        ("art", "the party", 1),
    ],
)
def test_a_fact_is_kept_when_its_words_and_numbers_are(fact: str, text: str, lost: float) -> None:
    assert write_path.information_lost([fact], text) == Outcome.scored(lost)


def test_without_labelled_facts_nothing_can_be_lost() -> None:
    assert missing(write_path.information_lost([], MERGED)) is OutcomeKind.NOT_APPLICABLE


DECISIONS = st.sampled_from(SaveDecision)


@given(st.lists(st.tuples(DECISIONS, st.none() | DECISIONS)))
def test_the_matrix_accounts_for_every_trial(pairs: list[tuple[SaveDecision, SaveDecision | None]]) -> None:
    found = write_path.save_confusion(trials(*pairs))
    assert sum(found.counts.values()) + found.failed == len(pairs)
    assert found.accuracy.hits == sum(found.recall(one).hits for one in SaveDecision)
    assert found.accuracy.of == sum(found.precision(one).of for one in SaveDecision)
    assert found.accuracy == Rate.over(write_path.save_accuracy(one) for one in trials(*pairs))


@given(st.sets(st.sampled_from(["alpha", "beta", "gamma 7"]), min_size=1), st.lists(st.sampled_from(["alpha", "beta"])))
def test_longer_merged_text_never_loses_more(facts: set[str], words: list[str]) -> None:
    shorter = value(write_path.information_lost(facts, " ".join(words)))
    longer = value(write_path.information_lost(facts, " ".join([*words, "gamma 7"])))
    assert 0 <= longer <= shorter <= 1


def test_a_pair_that_is_both_true_is_one_that_may_be_stored_and_not_superseded() -> None:
    for task in (
        SaveTask(title="t", body="new", after="there", expected=(SUPERSEDE,), contradicts=True),
        SaveTask(title="t", body="new", after="there", expected=(MERGE, REJECT)),
        SaveTask(title="t", body="new", after="there", expected=(SUPERSEDE, STORE)),
    ):
        assert missing(write_path.false_supersede(task, REPLACED)) is OutcomeKind.NOT_APPLICABLE


def test_an_ended_fact_of_a_note_that_stays_counts_only_if_asked() -> None:
    ended = Written(decided=STORE, old_live=True, new_live=True, ended=1)
    assert write_path.false_supersede(BOTH_TRUE, ended) == Outcome.scored(0)
    assert write_path.false_supersede(BOTH_TRUE, ended, count_facts=True) == Outcome.scored(1)
    hidden = Written(decided=STORE, old_live=False, new_live=True)
    assert write_path.false_supersede(BOTH_TRUE, hidden) == Outcome.scored(1)
