"""Filters of an address."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.records import Tier
from assay.server.pages import filters

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def test_a_range_by_name_ends_now() -> None:
    found = filters.time_range({"range": "7d"}, NOW)
    assert (found.since, found.until, found.said) == (NOW - timedelta(days=7), None, "last 7 days")
    assert filters.time_range({}, NOW).name == filters.DEFAULT_RANGE
    assert filters.time_range({"range": "all"}, NOW).since is None


def test_days_are_both_included() -> None:
    found = filters.time_range({"from": "2026-11-01", "to": "2026-11-01"}, NOW)
    assert found.since == datetime(2026, 11, 1, tzinfo=UTC)
    assert found.until == datetime(2026, 11, 2, tzinfo=UTC)
    assert found.said == "2026-11-01 to 2026-11-01"


def test_days_the_wrong_way_round_are_refused_by_name() -> None:
    with pytest.raises(BadValue, match="2026-11-02 to 2026-11-01 ends before it begins"):
        filters.time_range({"from": "2026-11-02", "to": "2026-11-01"}, NOW)


@given(st.text(max_size=40))
def test_whatever_stands_in_an_address_is_read_or_refused(text: str) -> None:
    given = {"least": text, "after": text, "tier": text, "passed": text, "from": text, "range": text}
    readers = (
        lambda: filters.share(given, "least"),
        lambda: filters.whole(given, "after", most=100),
        lambda: filters.one_of(given, "tier", Tier),
        lambda: filters.yes(given, "passed"),
        lambda: filters.time_range(given, NOW),
    )
    for read in readers:
        found = None
        with contextlib.suppress(BadValue):
            found = read()
        assert not isinstance(found, float) or 0.0 <= found <= 1.0
