"""How pages write things."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from assay.presentation import wording

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def test_what_is_missing_is_a_dash_and_never_a_zero() -> None:
    missing = (wording.number(None), wording.with_sign(None), wording.percent(None), wording.milliseconds(None))
    assert set(missing) == {wording.NOTHING}
    assert wording.ago(None, NOW) == wording.moment(None) == wording.NOTHING


def test_times_are_written_in_the_unit_that_says_enough() -> None:
    assert [wording.milliseconds(one) for one in (0.4, 12.3, 9_999, 12_345)] == [
        "0.4 ms",
        "12 ms",
        "9,999 ms",
        "12.3 s",
    ]
    ages = [timedelta(seconds=5), timedelta(minutes=1), timedelta(hours=3), timedelta(days=2)]
    assert [wording.ago(NOW - one, NOW) for one in ages] == ["just now", "1 minute ago", "3 hours ago", "2 days ago"]


def test_words_have_the_tone_of_their_meaning() -> None:
    assert [wording.tone(word) for word in ("PASS", "rolled_back", "paused", "running", "hotel")] == [
        "is-pass",
        "is-fail",
        "is-warn",
        "is-info",
        "",
    ]


def test_counts_and_lines_read_as_english() -> None:
    assert [wording.count_of(count, "query") for count in (0, 1, 1_000)] == ["0 queries", "1 query", "1,000 queries"]
    assert wording.one_line("a\n b\tc " * 100, 20) == "a b c a b c a b c a…"
