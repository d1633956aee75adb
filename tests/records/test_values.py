"""The edge: each rule keeps what it may, and refuses the rest with the name of the field and a remedy."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.records import values

Rule = Callable[[Any, str], Any]
keepable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(values.INT64_MIN, values.INT64_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | keepable,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keepable, inner, max_size=4),
    max_leaves=12,
)


class Grade(IntEnum):
    TOP = 3


class Nowhere(tzinfo):
    """A zone that does not know its offset."""

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        return None

    def dst(self, when: datetime | None) -> timedelta | None:
        return None

    def tzname(self, when: datetime | None) -> str | None:
        return None


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"in": value}
    return value


def endless() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


REFUSED: dict[Rule, list[Any]] = {
    values.text: [None, 7, b"bytes", "a\x00b", "\x00", "\ud800", "ok \udfff", "x" * (values.MAX_TEXT + 1)],
    values.label: ["", "   ", "\t\n\u3000", "x" * (values.MAX_LABEL + 1), None, "a\x00", "\ud834"],
    values.optional_label: ["x" * (values.MAX_LABEL + 1), None, 1],
    values.short_label: ["", " ", "x" * (values.MAX_SHORT_LABEL + 1), None],
    values.optional_short_label: ["x" * (values.MAX_SHORT_LABEL + 1), None],
    values.identifier: [
        "",
        " ",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        "a b",
        "a\n",
        "-a",
        "_a",
        "\u00e9",
        "a%",
        "a" * 129,
        None,
        7,
    ],
    values.whole: [2**63, -(2**63) - 1, 1.0, "1", None, True],
    values.count: [-1, 2**63, 1.5, True, None, "0"],
    values.flag: [0, 1, "true", None],
    values.finite: [math.nan, math.inf, -math.inf, "1.0", None, True, 10**400, 1j],
    values.share: [-0.0001, 1.0001, math.nan, 2, "0.5"],
    values.moment: ["2026-01-05", datetime(2026, 1, 5), None, 0, datetime(2026, 1, 5, tzinfo=Nowhere())],  # noqa: DTZ001 - naive on purpose
    values.labels: ["text", 7, None, [""], [1], ["a\x00"]],
    values.identifiers: ["text", 7, None, ["a b"], ["ok", ""], [1]],
    values.finites: [7, None, "1", ["1"], [math.nan], [True], [0.5, math.inf]],
    values.json_object: [
        [],
        None,
        "{}",
        {1: "key"},
        {"x": math.nan},
        {"x": [math.inf]},
        {"x": 2**63},
        {"x": b"bytes"},
        {"x": {"y": object()}},
        {"x": "\ud800"},
        {"\ud800": 1},
        {"a\x00": 1},
        {"x": {1, 2}},
        nested(values.MAX_NESTING + 2),
        endless(),
    ],
}


@pytest.mark.parametrize(("rule", "value"), [(rule, value) for rule, some in REFUSED.items() for value in some])
def test_what_no_store_can_keep_is_refused_by_field(rule: Rule, value: Any) -> None:
    with pytest.raises(BadValue, match=r"^my_field") as refused:
        rule(value, "my_field")
    assert refused.value.remedy
    assert len(refused.value.message) < 400
    refused.value.message.encode()


def test_every_rule_has_refusals() -> None:
    rules = {
        rule
        for name, rule in vars(values).items()
        if callable(rule) and not name.startswith("_") and getattr(rule, "__module__", "") == values.__name__
    }
    assert rules == set(REFUSED)


KEPT: list[tuple[Rule, Any, Any]] = [
    (values.text, "", ""),
    (values.text, "x" * values.MAX_TEXT, "x" * values.MAX_TEXT),
    (values.label, " a ", " a "),
    (values.label, "x" * values.MAX_LABEL, "x" * values.MAX_LABEL),
    (values.short_label, "\U0001f680" * values.MAX_SHORT_LABEL, "\U0001f680" * values.MAX_SHORT_LABEL),
    (values.optional_short_label, "", ""),
    (values.optional_label, "", ""),
    (values.identifier, "a", "a"),
    (values.identifier, "9", "9"),
    (values.identifier, "m_1.x:y#z-0", "m_1.x:y#z-0"),
    (values.identifier, "a" * 128, "a" * 128),
    (values.whole, -(2**63), -(2**63)),
    (values.whole, 2**63 - 1, 2**63 - 1),
    (values.count, 0, 0),
    (values.count, Grade.TOP, 3),
    (values.flag, True, True),
    (values.finite, 1, 1.0),
    (values.finite, 5e-324, 5e-324),
    (values.finite, -1.7976931348623157e308, -1.7976931348623157e308),
    (values.share, 0, 0.0),
    (values.share, 1.0, 1.0),
    (values.labels, ["b", "a", "a"], ("b", "a", "a")),
    (values.labels, (x for x in "ab"), ("a", "b")),
    (values.labels, [], ()),
    (values.identifiers, ["m_1", "m_1#0"], ("m_1", "m_1#0")),
    (values.finites, [1, 0.5], (1.0, 0.5)),
    (values.finites, (), ()),
    (values.json_object, {}, {}),
    (values.json_object, MappingProxyType({"a": (1, None)}), {"a": [1, None]}),
    (values.json_object, nested(values.MAX_NESTING), nested(values.MAX_NESTING)),
]


@pytest.mark.parametrize(("rule", "given_value", "kept"), KEPT)
def test_what_may_be_kept_is_kept_as_it_is_written(rule: Rule, given_value: Any, kept: Any) -> None:
    found = rule(given_value, "my_field")
    assert found == kept
    assert type(found) in (type(kept), Grade)


def test_the_message_shows_the_value_but_never_all_of_a_long_one() -> None:
    with pytest.raises(BadValue) as refused:
        values.count("seven", "age")
    assert refused.value.message == "age 'seven' is not a whole number"
    with pytest.raises(BadValue) as refused:
        values.label("y" * 100_000, "title")
    assert refused.value.message.startswith("title 'yyy")
    assert "100,000 characters, over 4,000" in refused.value.message


def test_a_message_names_the_path_inside_an_object() -> None:
    with pytest.raises(BadValue, match=r"^metadata\.a\.b nan is not finite"):
        values.json_object({"a": {"b": math.nan}}, "metadata")


@given(keepable)
def test_every_other_text_is_kept_byte_for_byte(value: str) -> None:
    assert values.text(value, "text") == value
    assert value.encode().decode() == value


@given(st.text())
def test_a_text_is_either_kept_or_refused_and_nothing_else(value: str) -> None:
    sound = "\x00" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)
    try:
        assert values.text(value, "text") == value
    except BadValue:
        assert not sound
    else:
        assert sound


@given(st.dictionaries(keepable, json_values, max_size=4))
def test_a_json_object_outlives_the_way_through_text(value: dict[str, Any]) -> None:
    kept = values.json_object(value, "metadata")
    assert kept == value
    assert json.loads(json.dumps(kept)) == value


@given(st.floats())
def test_a_number_is_kept_exactly_when_it_is_finite(value: float) -> None:
    try:
        assert values.finite(value, "number") == value
    except BadValue:
        assert not math.isfinite(value)
    else:
        assert math.isfinite(value)


@given(st.integers())
def test_an_integer_is_kept_exactly_when_it_has_64_bits(value: int) -> None:
    try:
        assert values.whole(value, "number") == value
    except BadValue:
        assert not -(2**63) <= value < 2**63
    else:
        assert -(2**63) <= value < 2**63


@given(st.datetimes(timezones=st.timezones()))
def test_a_moment_is_kept_in_utc_and_is_the_same_moment(value: datetime) -> None:
    try:
        kept = values.moment(value, "at")
    except BadValue:
        assert value.year in (1, 9999)
        return
    # Hours that a change of summer time skips or repeats are equal to nothing in another zone.
    assert kept.timestamp() == value.timestamp()
    assert kept.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "edge",
    [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))),
    ],
)
def test_a_moment_that_utc_cannot_write_is_refused(edge: datetime) -> None:
    with pytest.raises(BadValue, match=r"^at"):
        values.moment(edge, "at")


def test_a_later_change_of_the_callers_mapping_changes_nothing() -> None:
    mine: dict[str, Any] = {"a": [1]}
    kept = values.json_object(mine, "metadata")
    mine["a"].append(2)
    mine["b"] = 3
    assert kept == {"a": [1]}


def test_a_moment_in_utc_stays_as_it_is() -> None:
    now = datetime(2026, 1, 5, 9, 0, 0, 1, tzinfo=UTC)
    assert values.moment(now, "at") == now
