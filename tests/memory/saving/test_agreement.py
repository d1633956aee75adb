"""What contradicts what: a pair for each way in which two texts can disagree, and for each in which they do not."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.memory.saving.agreement import compare_statements, most_in_order

WORDS = st.lists(st.sampled_from("abcde"), max_size=12)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("The limit is 100 requests.", "The limit is 500 requests.", "100 (request) / 500 (request)"),
        ("Keep logs for 30 days.", "Keep logs for 12 weeks.", "30 days / 12 weeks"),
        ("At most 500 MB.", "At most 2 GB.", "500 MB / 2 GB"),
        ("At least eight characters.", "At least twelve characters.", "eight (charact) / twelve (charact)"),
        ("It runs Python 3.1.", "It runs Python 3.10.", "3.1 (python) / 3.10 (python)"),
        ("Release v1.2.3 is out.", "Release v1.2.4 is out.", "v1.2.3 / v1.2.4"),
        ("It ends on 2026-12-31.", "It ends on 31 December 2027.", "2026-12-31 / 31 December 2027"),
        ("We meet on Tuesday.", "We meet on Thursday.", "Tuesday / Thursday"),
        ("It starts at 9 am.", "It starts at 9 pm.", "9 am / 9 pm"),
        ("It ships in Q2.", "It ships in Q3.", "Q2 / Q3"),
        ("The owner is Priya.", "The owner is Tomas.", "Priya / Tomas"),
        ("It reads DEPLOY_TOKEN.", "It reads RELEASE_KEY.", "DEPLOY_TOKEN / RELEASE_KEY"),
        ("Login is allowed.", "Login is not allowed.", "negation: 0 / 1"),
        ("It evicts entries.", "It doesn't evict entries.", "negation: 0 / 1"),
        ("The disk is encrypted.", "The disk is unencrypted.", "negation: 0 / 1"),
        ("The client is active.", "The client is inactive.", "activ / inact"),
        ("Scaling is enabled.", "Scaling is disabled.", "enabl / disabl"),
        ("Restart before the migration.", "Restart after the migration.", "befor / after"),
        ("At least two reviewers.", "At most two reviewers.", "atleast / atmost"),
        ("All laptops are encrypted.", "Some laptops are encrypted.", "all / some"),
        ("Admins have access.", "Only admins have access.", "onli in one of them"),
        ("Prefer tabs over spaces.", "Prefer spaces over tabs.", "order around over: tab / space"),
        ("Maria reports to Tom.", "Tom reports to Maria.", "order around report: maria / tom"),
        (
            "Money moves from savings to checking.",
            "Money moves from checking to savings.",
            "order around to: save / check",
        ),
        ("Anna mentors Ben in the team.", "Ben mentors Anna in the team.", "order around mentor: anna / ben"),
        (
            "Use the monthly rate of the bank rather than the rate on the card.",
            "Use the rate on the card rather than the monthly rate of the bank.",
            "order around rather: bank month / card",
        ),
        ("Do not cache prices; log totals.", "Cache prices; do not log totals.", "negation: 1 / 0"),
        ("We format code with black.", "We format code with ruff.", "black / ruff"),
        ("It is checked by the importer.", "It is no longer checked by the importer.", "negation: 0 / 1"),
    ],
)
def test_a_contradiction_is_found_and_named(old: str, new: str, reason: str) -> None:
    found = compare_statements(old, new)
    assert not found.agrees
    assert reason in found.contradictions


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Batches of 1,000 rows.", "Batches of 1000 rows."),
        ("It runs three replicas.", "It runs 3 replicas."),
        ("Time out after 30 s.", "Time out after 30 seconds."),
        ("Wait 90 minutes.", "Wait 1.5 hours."),
        ("It opens on 2026-07-04.", "It opens on 4 July 2026."),
        ("It opens on 4 July.", "It opens on July 4."),
        ("The colour is #0a7f5c.", "The color is #0A7F5C."),
        ("It cannot be empty.", "It can't be empty."),
        ("By default a page holds 50 items.", "A page holds 50 items by default."),
        ("We speak English, German and Polish.", "We speak German, Polish and English."),
        ("The column is unique and cannot be empty.", "The column can't be empty and is unique."),
        ("Keys are ULIDs.", "Keys are **ULIDs**."),
        ("Rotate keys every 90 days.", "Keys are rotated every 90 days."),
        ("First this. Then that happens.", "Then that happens. First this."),
        ("It was refreshed in 2024; due in 2034. Keep the card.", "It was refreshed in 2024; due in 2034."),
        ("The gateway calls the service.", "The service is called by the gateway."),
        ("The spare tyre lies under the mat in the boot.", "Under the mat in the boot lies the spare tyre."),
        ("The keeper of the key is Lena next door.", "Lena next door is the keeper of the key."),
        (
            "A 429 from the partner means the job pauses for a minute.",
            "The job pauses for a minute after a 429 from the partner.",
        ),
        ("No deploys before a holiday, except for fixes.", "Before a holiday no deploys; fixes are excepted."),
    ],
)
def test_another_wording_of_the_same_agrees_and_adds_nothing(old: str, new: str) -> None:
    found = compare_statements(old, new)
    assert (found.contradictions, found.additions) == ((), ())


@pytest.mark.parametrize(
    ("old", "new", "added"),
    [
        ("Jobs are retried five times.", "Jobs are retried five times, 30 seconds apart.", "adds 30 seconds"),
        ("The server is switched off.", "The server is switched off on 30 June 2026.", "adds 30 June 2026"),
        ("Reports read from the replica.", "Reports read from the replica in Zurich.", "adds Zurich"),
    ],
)
def test_what_only_the_new_text_says_is_an_addition_and_no_contradiction(old: str, new: str, added: str) -> None:
    found = compare_statements(old, new)
    assert found.agrees
    assert added in found.additions


def test_a_text_that_says_less_agrees_and_adds_nothing() -> None:
    found = compare_statements("Jobs are retried five times, 30 seconds apart.", "Jobs are retried five times.")
    assert (found.agrees, found.adds) == (True, False)


@given(text=st.text(max_size=200))
def test_every_text_agrees_with_itself(text: str) -> None:
    found = compare_statements(text, text)
    assert (found.contradictions, found.additions) == ((), ())


@given(old=st.text(max_size=120), new=st.text(max_size=120))
def test_no_text_is_too_odd_to_be_compared_and_the_answer_is_always_the_same(old: str, new: str) -> None:
    assert compare_statements(old, new) == compare_statements(old, new)


@given(first=st.integers(0, 10**6), second=st.integers(0, 10**6))
def test_two_numbers_of_one_thing_agree_exactly_when_they_are_equal(first: int, second: int) -> None:
    assert compare_statements(f"The limit is {first} requests.", f"The limit is {second} requests.").agrees is (
        first == second
    )


@given(one=st.lists(st.sampled_from("abc"), max_size=7), other=st.lists(st.sampled_from("abc"), max_size=7))
def test_most_in_order_is_the_longest_part_that_both_have_in_order(one: list[str], other: list[str]) -> None:
    parts = [{part for size in range(8) for part in combinations(words, size)} for words in (one, other)]
    assert most_in_order(one, other) == max(map(len, parts[0] & parts[1]))


@given(one=WORDS, other=WORDS)
def test_a_matcher_never_finds_more_than_most_in_order(one: list[str], other: list[str]) -> None:
    matched = sum(block.size for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks())
    assert matched <= most_in_order(one, other)


def test_a_text_that_only_denies_another_is_told_from_one_about_something_else() -> None:
    assert compare_statements("The portal accepts XML.", "The portal rejects XML.").only_denies
    assert compare_statements("Ada eats figs.", "Ada does not eat figs.").only_denies
    assert not compare_statements("The portal accepts XML.", "The portal accepts JSON.").only_denies
    assert not compare_statements("The portal accepts XML.", "The kiosk rejects XML.").only_denies
    assert not compare_statements("Ada eats figs.", "Ada eats figs.").only_denies
    kept = "Ada encourages Ben to keep pushing for his dreams"
    assert not compare_statements(f"{kept}.", f"{kept} and not give up.").only_denies
