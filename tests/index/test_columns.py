"""Which memories pass a filter, and what becomes of a table when memories change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.index.columns import (
    NEVER,
    REMOVED,
    Fact,
    Folders,
    Names,
    find,
    make_table,
    mark_removed,
    merge_tables,
    moment,
    passes,
    read_confidences,
    read_ids,
)
from assay.records import Filters, Tier
from assay.storage.repositories.passages import MemoryColumns

DAY = datetime(2026, 1, 5, tzinfo=UTC)


def facts(number: int, **given: Any) -> MemoryColumns:
    filled = {
        "folder": "", "tier": "normal", "created_at": DAY, "valid_from": DAY, "superseded_at": None,
        "id": f"m_{number}", "updated_at": DAY, "confidence": 0.5, "context_type": "", "entity_type": "",
        "stored_learned_triggers": "[]", **given,
    }  # fmt: skip
    return MemoryColumns(number=number, **filled)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), [1, 2, 3, 4, 5]),
        (Filters(folder="a"), [1, 2]),
        (Filters(folder="a/b/"), [2]),
        (Filters(folder="nowhere"), []),
        (Filters(tiers=(Tier.CRITICAL,)), [3]),
        (Filters(since=DAY + timedelta(days=1)), [4, 5]),
        (Filters(until=DAY + timedelta(days=1)), [1, 2, 3]),
        (Filters(as_of=DAY), [1, 2, 3]),
        (Filters(as_of=DAY + timedelta(days=1)), [1, 2, 3, 4, 6]),
        (Filters(as_of=DAY + timedelta(days=2)), [1, 2, 3, 4, 5]),
        (Filters(include_superseded=True), [1, 2, 3, 4, 5, 6]),
        (Filters(include_superseded=True, as_of=DAY), [1, 2, 3]),
    ],
)
def test_a_filter_passes(filters: Filters, expected: list[int]) -> None:
    folders = Folders()
    later = DAY + timedelta(days=1)
    rows = make_table(
        [
            facts(2, folder="a/b"),
            facts(1, folder="a"),
            facts(3, folder="ab", tier="critical"),
            facts(4, valid_from=later),
            facts(5, valid_from=later + timedelta(days=1)),
            facts(6, valid_from=later, superseded_at=later + timedelta(days=1)),
        ],
        folders,
        Names(),
    )
    assert rows[Fact.NUMBER][passes(rows, filters, folders)].tolist() == expected


def test_a_removed_memory_passes_nothing() -> None:
    gone = mark_removed(np.array([3, 1]))
    assert gone[Fact.NUMBER].tolist() == [1, 3]
    assert not passes(gone, Filters(include_superseded=True), Folders([""])).any()


def test_times_are_kept_to_the_microsecond() -> None:
    for at in (datetime(1, 1, 1, tzinfo=UTC), DAY + timedelta(microseconds=1), datetime.max.replace(tzinfo=UTC)):
        assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment(at)) == at
    assert moment(datetime.max.replace(tzinfo=UTC)) < NEVER


@given(st.dictionaries(st.integers(1, 30), st.integers(0, 5)), st.dictionaries(st.integers(1, 30), st.integers(0, 5)))
def test_merging_tables_is_merging_dicts(known: dict[int, int], fresh: dict[int, int]) -> None:
    def rows(of: dict[int, int]) -> Any:
        made = np.zeros((len(Fact), len(of)), np.int64)
        made[Fact.NUMBER], made[Fact.TIER] = sorted(of), [of[number] for number in sorted(of)]
        return made

    both = merge_tables(rows(known), rows(fresh))
    expected = known | fresh
    assert dict(zip(both[Fact.NUMBER].tolist(), both[Fact.TIER].tolist(), strict=True)) == expected
    assert both[Fact.NUMBER].tolist() == sorted(expected)


@given(st.sets(st.integers(0, 20)), st.lists(st.integers(0, 20)))
def test_finding_says_where_and_whether(numbers: set[int], wanted: list[int]) -> None:
    ordered = np.array(sorted(numbers), np.int64)
    places, there = find(ordered, np.array(wanted, np.int64))
    assert there.tolist() == [one in numbers for one in wanted]
    assert ordered[places[there]].tolist() == [one for one in wanted if one in numbers]


def test_an_unknown_tier_counts_as_removed() -> None:
    assert make_table([facts(1, tier="mythical")], Folders(), Names())[Fact.TIER].tolist() == [REMOVED]


@given(st.lists(st.tuples(st.from_regex(r"[a-z0-9][a-z0-9_.:#-]{0,40}", fullmatch=True), st.floats(0.0, 1.0))))
def test_ids_and_confidences_are_kept_exactly_or_not_at_all(kept: list[tuple[str, float]]) -> None:
    rows = [facts(number, id=name, confidence=trust) for number, (name, trust) in enumerate(kept)]
    table = make_table(rows, Folders(), Names())
    assert read_ids(table) == [name if len(name) <= 32 else "" for name, _ in kept]
    assert read_confidences(table) == [trust for _, trust in kept]


@given(
    st.one_of(
        st.sets(st.integers(0, 60), max_size=20).map(sorted),
        st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda run: list(range(run[0], run[0] + run[1]))),
    ),
    st.lists(st.integers(-5, 90), max_size=20),
)
def test_numbers_are_found_with_and_without_gaps(known: list[int], wanted: list[int]) -> None:
    places, there = find(np.array(known, np.int64), np.array(wanted, np.int64))
    assert there.tolist() == [number in known for number in wanted]
    assert [known[place] for place, found in zip(places, there, strict=True) if found] == [
        number for number in wanted if number in known
    ]
