"""What counts as the same subject, and what keeps two notes apart although they share a label."""

from __future__ import annotations

import pytest

from assay.memory.saving import agreement
from assay.memory.saving.subjects import Labelled, Subject, compare_subjects, restates


def about(old: Labelled, new: Labelled) -> Subject:
    return compare_subjects(old, new, agreement.compare_statements(old.body, new.body))


LIMIT = Labelled(title="Rate limit", body="The API allows 100 requests.", triggers=("api limit",))


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (Labelled(title="rate LIMIT!", body="The API allows 500 requests."), "the same title"),
        (
            Labelled(title="Quota", body="The API allows 500 requests.", triggers=("API-limit",)),
            "the trigger 'api limit'",
        ),
    ],
)
def test_a_shared_title_or_trigger_makes_one_subject(other: Labelled, reason: str) -> None:
    found = about(LIMIT, other)
    assert (found.same, found.distinct) == (True, False)
    assert reason in found.reasons


def test_a_shared_heading_makes_one_subject() -> None:
    old = Labelled(title="Guide", body="Wait 30 seconds.", headings=("Webhook retries",))
    new = Labelled(title="Handbook", body="Wait 60 seconds.", headings=("Webhook retries",))
    assert about(old, new).same


def test_the_same_source_is_the_same_subject_whatever_it_says() -> None:
    old = Labelled(title="A", body="One thing.", source_id="s")
    assert about(old, Labelled(title="B", body="Quite another matter.", source_id="s")).same
    assert not about(old, Labelled(title="B", body="Quite another matter.", source_id="t")).same


@pytest.mark.parametrize("label", ["Notes", "meeting notes", "Summary", "TODO"])
def test_a_label_that_says_nothing_is_no_subject(label: str) -> None:
    old = Labelled(title=label, body="The limit is 100.", triggers=(label,), headings=(label,))
    new = Labelled(title=label, body="The limit is 500.", triggers=(label,), headings=(label,))
    assert not about(old, new).same


def test_nothing_shared_is_no_subject_but_not_another_one_either() -> None:
    found = about(LIMIT, Labelled(title="Throughput", body="The API allows 500 requests."))
    assert (found.same, found.distinct) == (False, False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            Labelled(title="Staging port", body="The staging database listens on 5433.", triggers=("port",)),
            Labelled(title="Production port", body="The production database listens on 5432.", triggers=("port",)),
        ),
        (
            Labelled(title="Limit for guests", body="Guests may send 20 requests.", triggers=("limit",)),
            Labelled(title="Limit for partners", body="Partners may send 600 requests.", triggers=("limit",)),
        ),
        (
            Labelled(title="Release 4.1", body="Release 4.1 was published in May.", triggers=("release",)),
            Labelled(title="Release 4.2", body="Release 4.2 was published in June.", triggers=("release",)),
        ),
        (
            Labelled(title="Billing", body="The billing service is written in Kotlin.", triggers=("billing",)),
            Labelled(title="Billing", body="The billing service sends its invoices by e-mail.", triggers=("billing",)),
        ),
    ],
)
def test_notes_on_different_things_are_kept_apart_although_a_label_is_shared(old: Labelled, new: Labelled) -> None:
    for first, second in ((old, new), (new, old)):
        found = about(first, second)
        assert (found.same, found.distinct) == (False, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Rate limit is 100", "Rate limit is 500"),
        ("Formatting with Black", "Formatting with Ruff"),
    ],
)
def test_a_value_in_the_title_is_no_other_subject(old: str, new: str) -> None:
    first = Labelled(title=old, body=f"We decided: {old}.", triggers=("rule",))
    second = Labelled(title=new, body=f"We decided: {new}.", triggers=("rule",))
    assert about(first, second).same


@pytest.mark.parametrize(
    "new",
    [
        "Guests reset their door code by telephone with an identity card.",
        "How do guests reset their door code? Guests reset their door code at the reception without an identity card.",
        "door code reset guests reset their door code at the station with an identity card door code reset",
    ],
)
def test_a_sentence_with_something_else_said_of_its_subject_restates_it(new: str) -> None:
    old = "Breakfast is at seven. Guests reset their door code at the reception with an identity card."
    assert restates(old, new)


@pytest.mark.parametrize(
    "new",
    [
        "Guests reset their door code at the reception with an identity card.",
        "Cleaners reset their alarm code at the reception with an identity card.",
        "Guests pay at the reception.",
        "",
    ],
)
def test_what_repeats_or_speaks_of_something_else_restates_nothing(new: str) -> None:
    assert not restates("Guests reset their door code at the reception with an identity card.", new)


def test_a_long_text_is_compared_in_bounded_time() -> None:
    body = " ".join(f"The lamp number {number} of the hall is green on day {number}." for number in range(5_000))
    assert not restates("Guests reset their door code at the reception with an identity card.", body)
