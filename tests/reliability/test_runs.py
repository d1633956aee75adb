"""The program that kills runs must see a run that went wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from reliability.outcome import broken
from reliability.runs import REPEATS, RunsOutcome, _Seen

GOOD = RunsOutcome(
    kills=3, cases=40, calls=42, in_flight=2, asked_again=(), repeated=(), missing=(), same_hash=True, seconds=1.0
)


@pytest.mark.parametrize(
    "wrong",
    [{"kills": 0}, {"asked_again": ("q1",)}, {"repeated": ("q1",)}, {"missing": ("q1",)}, {"same_hash": False}],
)
def test_each_promise_can_be_broken(wrong: dict[str, object]) -> None:
    assert broken(GOOD) == []
    assert len(broken(replace(GOOD, **wrong))) == 1  # type: ignore[arg-type]


def test_a_case_asked_after_its_last_line_is_seen(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("q1\nq2\n", encoding="utf-8")
    seen = _Seen()
    seen.before = Counter({"q1": REPEATS, "q2": REPEATS - 1})
    seen.look(tmp_path / "lines")
    assert seen.asked_again == ["q1 1 times after 2 lines"]
    assert seen.calls == 2
