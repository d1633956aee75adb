"""The quality score, computed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.saving.conftest import draft

from assay.memory.saving.options import QUALITY_WEIGHTS, REJECT_BELOW, score_quality
from assay.records import Quality


def parts(quality: Quality) -> dict[str, float]:
    return {part.name: part.value for part in quality.parts}


def test_the_weights_make_a_whole() -> None:
    assert sum(QUALITY_WEIGHTS.values()) == pytest.approx(1)


def test_a_good_short_note_by_hand() -> None:
    found = score_quality(
        draft("Primary region", "The primary region is Frankfurt.", triggers=("region",), tags=("ops",))
    )

    # Five words of which three say something: primary, region, Frankfurt; 3 / (0.5 * 5) is more than 1.
    assert parts(found) == pytest.approx(
        {"title": 1, "triggers": 0.5, "length": 5 / 12, "structure": 0.5, "metadata": 0.5, "signal": 1}
    )
    assert found.score == pytest.approx(0.15 + 0.05 + 0.2 * 5 / 12 + 0.05 + 0.05 + 0.35)


def test_a_note_that_says_nothing_by_hand() -> None:
    found = score_quality(draft("note", "ok thanks"))

    assert parts(found) == pytest.approx(
        {"title": 0, "triggers": 0, "length": 0, "structure": 0.5, "metadata": 0, "signal": 0}
    )
    assert found.score == pytest.approx(0.05)
    assert found.score < REJECT_BELOW


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("lunch", "pizza on Fridays"),
        ("Learning rate", "lr = 3e-4"),
        ("Decision", "We chose RabbitMQ because routing is what we need."),
        ("wifi channel", "channel 11"),
        ("Wifi", "Wifi password is on the router"),
        ("Deploys", "Tuesdays only"),
        ("VAT", "VAT is 21 %"),
        ("Party", "The party is in May."),
        ("Room", "123"),
        ("DNS", "1.1.1.1"),
        ("MAX_RETRIES", "MAX_RETRIES=5"),
        ("x1", "x1 carbon, BIOS 1.42"),
        ("Wert", "Der Wert ist zu hoch"),
        ("密码", "在抽屉里"),
        ("Does the VPN need MFA?", "Yes."),
        ("Go or Rust?", "Rust"),
        ("Reminder", "Pay rent"),
    ],
)
def test_a_short_fact_is_worth_keeping(title: str, body: str) -> None:
    assert score_quality(draft(title, body)).score >= REJECT_BELOW


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("test", "test test test test test test test test test"),
        ("Meeting", "The team talked about various things and will do something about some stuff later."),
        ("...", "?!"),
        ("todo", "todo"),
        ("hello", "hello hello, okay okay, thanks"),
        ("lol", "lol"),
        ("asdf", "qwer zxcv"),
        ("x1", "1234567890"),
        ("abc", "aaaa bbbb cccc dddd"),
        ("y", "fine"),
        ("maybe", "May be. It may."),
        ("Reminder", "remember this"),
        ("sdfkjh", "lkjsdf sdfjkh"),
        ("one", "two three four"),
        ("test1", "test2 test3"),
        ("哈哈", "哈哈哈哈哈"),
        ("ready?", "ok"),
    ],
)
def test_noise_is_not(title: str, body: str) -> None:
    assert score_quality(draft(title, body)).score < REJECT_BELOW


def test_no_label_or_length_makes_a_note_of_a_text_that_tells_nothing() -> None:
    junk = draft("The lol thing", "- lol\n" * 40, triggers=("one", "two"), tags=("a",), folder="b")
    found = score_quality(junk)

    assert {name: value for name, value in parts(found).items() if value} == {
        "triggers": 1,
        "structure": 1,
        "metadata": 1,
    }
    assert found.score < REJECT_BELOW


def test_a_long_text_needs_some_structure() -> None:
    text = " ".join(f"word{number}" for number in range(101))
    assert parts(score_quality(draft(body=text)))["structure"] == 0
    assert parts(score_quality(draft(body=f"# Heading\n\n{text}")))["structure"] == 1


@given(title=st.text(min_size=1).filter(str.strip), body=st.text(min_size=1).filter(str.strip))
def test_every_score_lies_between_nothing_and_one(title: str, body: str) -> None:
    title, body = (text.encode("utf-8", "ignore").decode().replace("\x00", "x") or "x" for text in (title, body))
    if not title.strip() or not body.strip():
        return
    found = score_quality(draft(title, body))
    assert 0 <= found.score <= 1
    assert found.score == pytest.approx(sum(part.value * part.weight for part in found.parts))
