"""The ten safeguards, each at its boundary, as pure rules."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.memory.learning.policy import (
    DENYLIST,
    AskedQuestion,
    Facts,
    Limits,
    Opening,
    Policy,
    belief,
    beliefs,
    count_votes,
    learnable,
)
from assay.records.learning import Safeguard
from assay.testing.clock import START

POLICY = Policy()
OLD = START - timedelta(days=10)
SECOND = timedelta(seconds=1)


def facts(**changed: object) -> Facts:
    good = Facts(memory_created_at=OLD, query="quagga", rank=4, session_id="s_1", principal="ada")
    return good._replace(**changed)  # type: ignore[arg-type] # as the test says


def refused(changed: Facts, now: datetime = START) -> Safeguard | None:
    found = POLICY.refusal(changed, now)
    return None if found is None else found.safeguard


def opening(**changed: object) -> Opening:
    good = Opening(activated_at=START, cycles=2, noise=0.0, approved_at=START + timedelta(days=7), killed_at=None)
    return good._replace(**changed)  # type: ignore[arg-type] # as the test says


def closed(changed: Opening, now: datetime = START + timedelta(days=30)) -> list[Safeguard]:
    return [one.safeguard for one in POLICY.find_refusals(changed, now)]


def test_a_good_choice_is_learned_from() -> None:
    assert refused(facts()) is None


# 1
def test_the_denylist_has_more_than_a_hundred_words() -> None:
    assert len(DENYLIST) > 100


def test_stop_words_numbers_and_scraps_are_not_learned() -> None:
    found = POLICY.split_offered_words("what is the zebra 42 ab quagga", written=())
    assert found.terms == ("zebra", "quagga")
    assert found.denied == ("what", "is", "the", "42", "ab")


@pytest.mark.parametrize(("word", "may"), [("ab", False), ("abc", True), ("a" * 40, True), ("a" * 41, False)])
def test_a_term_has_from_3_to_40_letters(word: str, may: bool) -> None:
    assert learnable(word) is may


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "zeb\u200bra \u202eevil",
        "[link](javascript:x) **bold**",
        "\U000e0041\U000e0042 zebra",
    ],
)
def test_of_hostile_text_only_plain_words_are_offered(hostile: str) -> None:
    for term in POLICY.split_offered_words(hostile, written=()).terms:
        assert term.isalnum()
        assert len(term) <= 40


def test_of_ten_kilobytes_only_the_beginning_is_read() -> None:
    long = " ".join(f"word{number}x" for number in range(1_500))
    assert len(long) > 10_000
    assert len(POLICY.split_offered_words(long, written=()).terms) == 64


# 2
def test_three_terms_in_eight_hours_and_no_more() -> None:
    now = START
    assert POLICY.room([], now) == 3
    assert POLICY.room([now, now, now], now) == 0
    just_inside = now - timedelta(hours=8) + SECOND
    assert POLICY.room([just_inside] * 3, now) == 0
    assert POLICY.room([now - timedelta(hours=8)] * 3, now) == 3


def test_a_clock_that_went_backwards_gives_no_room() -> None:
    assert POLICY.room([START + timedelta(days=1)] * 3, START) == 0


# 3
def test_a_term_ends_after_thirty_days() -> None:
    end = START + timedelta(days=30)
    assert not POLICY.is_expired(START, end - SECOND)
    assert POLICY.is_expired(START, end)


def test_belief_falls_in_a_straight_line() -> None:
    assert belief(START, START) == 1.0
    assert belief(START, START + timedelta(days=15)) == pytest.approx(0.5)
    assert belief(START, START + timedelta(days=30)) == 0.0
    assert belief(START + timedelta(days=1), START) == 1.0


def test_what_has_ended_is_not_believed_at_all() -> None:
    learned = [("m_1", "new", START), ("m_1", "old", START - timedelta(days=30))]
    assert beliefs(learned, START) == {"m_1": {"new": 1.0}}


# 4
def test_what_the_author_wrote_is_not_learned_again() -> None:
    assert POLICY.split_offered_words("zebra quagga", written={"zebra"}).terms == ("quagga",)


# 5
@pytest.mark.parametrize(("rank", "rule"), [(1, "top_three"), (3, "top_three"), (4, None)])
def test_nothing_is_learned_from_the_first_three(rank: int, rule: str | None) -> None:
    assert refused(facts(rank=rank)) == rule


def test_nothing_is_learned_from_a_query_nobody_knows() -> None:
    assert refused(facts(query=None, rank=None)) == Safeguard.TOP_THREE


# 7
@pytest.mark.parametrize("missing", ["session_id", "principal"])
def test_nothing_is_learned_without_provenance(missing: str) -> None:
    assert refused(facts(**{missing: None})) == Safeguard.AUDIT


# 8
def test_the_shadow_lasts_a_week() -> None:
    end = START + timedelta(days=7)
    assert closed(opening(), end - SECOND) == [Safeguard.SHADOW]
    assert closed(opening(), end) == []


@pytest.mark.parametrize(("noise", "rules"), [(0.049, []), (0.05, ["shadow"]), (None, ["shadow"])])
def test_noise_has_to_be_known_and_below_five_percent(noise: float | None, rules: list[str]) -> None:
    assert closed(opening(noise=noise)) == rules


def test_a_shadow_below_a_week_is_refused() -> None:
    assert Limits(shadow=timedelta(days=7)).shadow == timedelta(days=7)
    with pytest.raises(BadValue, match="below 7"):
        Limits(shadow=timedelta(days=7) - SECOND)


# 9
def test_a_memory_learns_from_72_hours_on() -> None:
    assert refused(facts(memory_created_at=START - timedelta(hours=72) + SECOND)) == Safeguard.AGE
    assert refused(facts(memory_created_at=START - timedelta(hours=72))) is None


def test_a_memory_from_the_future_is_too_young() -> None:
    assert refused(facts(memory_created_at=START + timedelta(days=90))) == Safeguard.AGE


# 10
@pytest.mark.parametrize(("cycles", "rules"), [(0, ["gate"]), (1, ["gate"]), (2, [])])
def test_two_cycles_have_to_be_complete(cycles: int, rules: list[str]) -> None:
    assert closed(opening(cycles=cycles)) == rules


def test_a_person_has_to_approve_what_could_be_seen() -> None:
    end = START + timedelta(days=7)
    assert closed(opening(approved_at=None)) == [Safeguard.GATE]
    assert closed(opening(approved_at=end - SECOND)) == [Safeguard.GATE]
    assert closed(opening(approved_at=end)) == []


def test_after_a_stop_an_older_approval_counts_no_more() -> None:
    at = START + timedelta(days=8)
    assert closed(opening(approved_at=at, killed_at=at)) == [Safeguard.GATE]
    assert closed(opening(approved_at=at, killed_at=at - SECOND)) == []


def test_evidence_needs_six_sessions_and_among_several_two_principals() -> None:
    six = [f"s_{number}" for number in range(6)]
    assert not POLICY.enough(six[:5], ["ada"] * 5, shared=False)
    assert not POLICY.enough([*six[:5], "s_0"], ["ada", "bob"] * 3, shared=False)
    assert POLICY.enough(six, ["ada"] * 6, shared=False)
    assert not POLICY.enough(six, ["ada"] * 6, shared=True)
    assert POLICY.enough(six, ["ada", *["bob"] * 5], shared=True)


@pytest.mark.parametrize(
    ("asked", "often"),
    [
        ([(6, 6)], True),
        ([(40, 6)], True),
        ([(41, 6)], False),
        ([(6, 6), (2, 0)], True),
        ([(6, 6), (3, 0)], False),
        ([(6, 5), (9, 1)], True),
    ],
)
def test_a_memory_is_chosen_in_15_of_100_searches_and_for_no_question_in_vain(
    asked: list[tuple[int, int]], often: bool
) -> None:
    assert POLICY.chosen_often([AskedQuestion(*counts) for counts in asked]) is often


@pytest.mark.parametrize(
    ("days", "trials", "noisy", "proven"),
    [(7, 10, False, True), (6.9, 10, False, False), (7, 9, False, False), (7, 10, True, False)],
)
def test_a_term_leaves_the_shadow_after_its_own_week_and_trials(
    days: float, trials: int, noisy: bool, proven: bool
) -> None:
    assert POLICY.is_proven(START, trials, noisy=noisy, now=START + timedelta(days=days)) is proven


def test_every_safeguard_can_be_switched_off_for_an_experiment() -> None:
    bare = Policy(off=frozenset(Safeguard))
    young = facts(memory_created_at=START, rank=1, session_id=None, principal=None)
    assert bare.refusal(young, START) is None
    assert bare.find_refusals(opening(activated_at=None, cycles=0, noise=None, approved_at=None), START) == []
    assert bare.room([START] * 10, START) > 3
    assert not bare.is_expired(START, START + timedelta(days=365))
    assert "the" in bare.split_offered_words("the zebra", written={"zebra"}).terms
    assert bare.enough(["s_1"], ["ada"], shared=True)


@pytest.mark.parametrize(
    ("tally", "shared", "counts"),
    [
        ({}, True, 0),
        ({"ada": 1_000}, False, 1_000),
        ({"ada": 1}, True, 1),
        ({"ada": 1_000}, True, 1),
        ({"ada": 1_000, "bob": 1}, True, 3),
        ({"ada": 3, "bob": 2}, True, 5),
    ],
)
def test_votes_by_hand(tally: dict[str, int], shared: bool, counts: int) -> None:
    assert count_votes(tally, shared=shared) == counts


TALLIES = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 1_000))


@given(TALLIES, st.sampled_from("abcde"))
def test_one_more_vote_never_counts_less_and_one_voice_never_more_than_the_others_and_one(
    tally: dict[str, int], voter: str
) -> None:
    more = {**tally, voter: tally.get(voter, 0) + 1}
    assert count_votes(more, shared=True) >= count_votes(tally, shared=True)
    others = sum(tally.values()) - tally.get(voter, 0)
    assert count_votes(more, shared=True) <= 2 * others + 1
