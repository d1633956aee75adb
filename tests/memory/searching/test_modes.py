"""Modes: from the query, from the caller, from pressure; and what each mode does."""

from __future__ import annotations

import pytest

from assay.memory.searching.modes import (
    ModeChoice,
    PressureReading,
    SearchPlan,
    choose_mode,
    plan_mode,
    read_pressure,
)
from assay.memory.searching.options import SearchOptions
from assay.records import Channel, Mode, Pressure, SearchRequest


def chosen(query: str, level: Pressure = Pressure.NONE, mode: Mode = Mode.AUTO) -> ModeChoice:
    return choose_mode(SearchRequest(query=query, mode=mode), level)


@pytest.mark.parametrize(
    "query", ["checkpoint", "write_lock", "PROJ-123 status", "src/app.py", '"exact words"', "mig*"]
)
def test_a_short_query_that_looks_exact_is_quick(query: str) -> None:
    assert chosen(query) == ModeChoice(Mode.QUICK, overridden=False, reason="short and exact")


@pytest.mark.parametrize("query", ["how is the write lock taken", "office coffee machine", "what is a chunk"])
def test_an_ordinary_question_is_focused(query: str) -> None:
    assert chosen(query).mode is Mode.FOCUSED


@pytest.mark.parametrize(
    "query",
    [
        "why is it slow",
        "SQLite versus DuckDB",
        "compare the two chunkers",
        " ".join(["word"] * 26),
        "how do we take checkpoints, and when are they deleted, or kept?",
    ],
)
def test_long_many_part_and_comparing_questions_are_deep(query: str) -> None:
    assert chosen(query).mode is Mode.DEEP


@pytest.mark.parametrize("mode", [Mode.QUICK, Mode.FOCUSED, Mode.DEEP])
@pytest.mark.parametrize("level", Pressure)
def test_a_mode_the_caller_names_is_obeyed_under_any_pressure(mode: Mode, level: Pressure) -> None:
    assert chosen("why is it slow", level, mode) == ModeChoice(mode, overridden=True, reason="asked for")


@pytest.mark.parametrize(
    ("query", "level", "expected"),
    [
        ("why is it slow", Pressure.LOW, Mode.DEEP),
        ("why is it slow", Pressure.HIGH, Mode.FOCUSED),
        ("why is it slow", Pressure.CRITICAL, Mode.QUICK),
        ("what is a chunk", Pressure.HIGH, Mode.QUICK),
        ("checkpoint", Pressure.HIGH, Mode.QUICK),
    ],
)
def test_pressure_lowers_the_mode(query: str, level: Pressure, expected: Mode) -> None:
    assert chosen(query, level).mode is expected


def test_a_lowered_mode_says_so_and_why() -> None:
    assert chosen("why is it slow", Pressure.HIGH) == ModeChoice(
        Mode.FOCUSED, overridden=True, reason="deep (asks why or compares) lowered by high token pressure"
    )


@pytest.mark.parametrize(
    ("budget", "used", "expected"),
    [
        (None, 10_000, PressureReading(Pressure.NONE, None)),
        (1000, 0, PressureReading(Pressure.NONE, 0.0)),
        (1000, 499, PressureReading(Pressure.NONE, 0.499)),
        (1000, 500, PressureReading(Pressure.LOW, 0.5)),
        (1000, 750, PressureReading(Pressure.HIGH, 0.75)),
        (1000, 900, PressureReading(Pressure.CRITICAL, 0.9)),
        (1000, 5000, PressureReading(Pressure.CRITICAL, 1.0)),
        (0, 0, PressureReading(Pressure.CRITICAL, 1.0)),
    ],
)
def test_pressure_is_the_used_share_of_the_budget(budget: int | None, used: int, expected: PressureReading) -> None:
    assert read_pressure(budget, used) == expected


def test_what_each_mode_does() -> None:
    options = SearchOptions()
    few = (Channel.VECTOR, Channel.FTS5, Channel.TRIGGER)
    assert plan_mode(Mode.QUICK, options) == SearchPlan(
        few, True, options.pools[Mode.QUICK], rerank=False, expand=False, hops=False
    )
    assert plan_mode(Mode.FOCUSED, options) == SearchPlan(
        tuple(Channel), False, options.pools[Mode.FOCUSED], rerank=False, expand=False, hops=True
    )
    assert plan_mode(Mode.DEEP, options) == SearchPlan(
        tuple(Channel), False, options.pools[Mode.DEEP], rerank=True, expand=True, hops=True
    )
