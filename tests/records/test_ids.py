"""Ids sort by the time they were made and never repeat, whatever the clock does."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from assay.records import IdFactory, values
from assay.testing import FixedClock

ULID = re.compile(r"m_[0-7][0-9A-HJKMNP-TV-Z]{25}")


def silent(size: int) -> bytes:
    return b"\x00" * size


def loud(size: int) -> bytes:
    return b"\xff" * size


def test_an_id_is_its_prefix_and_a_ulid_and_may_be_kept() -> None:
    made = IdFactory(FixedClock()).new("m")
    assert ULID.fullmatch(made)
    assert values.identifier(made, "id") == made


def test_the_time_part_is_the_published_encoding() -> None:
    """The example of the ULID specification: 1469918176385 ms is 01ARYZ6S41."""
    clock = FixedClock(datetime(2016, 7, 30, 22, 36, 16, 385000, tzinfo=UTC))
    assert IdFactory(clock, silent).new("m") == "m_01ARYZ6S41" + "0" * 16


def test_later_ids_sort_later() -> None:
    clock = FixedClock()
    ids = IdFactory(clock)
    made = []
    for _ in range(50):
        made.append(ids.new("m"))
        clock.advance(seconds=0.001)
    assert made == sorted(made)


def test_ids_of_the_same_millisecond_grow() -> None:
    ids = IdFactory(FixedClock(), silent)
    made = [ids.new("m") for _ in range(100)]
    assert made == sorted(set(made))


def test_ids_grow_on_when_the_clock_goes_back() -> None:
    clock = FixedClock()
    ids = IdFactory(clock)
    before = ids.new("m")
    clock.jump(datetime(2001, 1, 1, tzinfo=UTC))
    during = [ids.new("m") for _ in range(20)]
    clock.advance(days=365 * 100)
    after = ids.new("m")
    assert [before, *during, after] == sorted([before, *during, after])


def test_chance_at_its_largest_overflows_into_the_next_millisecond_and_grows_on() -> None:
    ids = IdFactory(FixedClock(), loud)
    first, second = ids.new("m"), ids.new("m")
    assert first < second
    assert ULID.fullmatch(second)


def test_threads_never_get_the_same_id() -> None:
    ids = IdFactory(FixedClock())
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda _: ids.new("m"), range(2_000)))
    assert len(set(made)) == 2_000


@given(st.lists(st.datetimes(datetime(1971, 1, 1), datetime(2500, 1, 1)), min_size=2, max_size=30))  # noqa: DTZ001 - made aware below
def test_whatever_the_clock_does_ids_grow(jumps: list[datetime]) -> None:
    clock = FixedClock()
    ids = IdFactory(clock, os.urandom)
    made = []
    for jump in jumps:
        clock.jump(jump.replace(tzinfo=UTC))
        made.append(ids.new("m"))
    assert made == sorted(set(made))
