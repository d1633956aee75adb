"""What holds for the entries of every family: they are complete, and the last number of each example is computed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.metrics.catalog import MetricEntry
from assay.records.evaluations import Outcome, OutcomeKind

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")


def value(outcome: Outcome) -> float:
    """The value of a case that has one."""
    assert outcome.value is not None, outcome
    return outcome.value


def mean(outcomes: Sequence[Outcome]) -> float:
    """Over the scored cases only."""
    scored = [one.value for one in outcomes if one.value is not None]
    return sum(scored) / len(scored)


def missing(outcome: Outcome) -> OutcomeKind:
    """Why a case has no value; it must say so in words."""
    assert outcome.value is None, outcome
    assert outcome.reason, outcome
    return outcome.kind


def check_entries(entries: Sequence[MetricEntry], family: str, computed: Mapping[str, float]) -> None:
    """Every entry has its case, is complete, and its example ends in the number that the code gives."""
    assert [entry.name for entry in entries] == list(computed), "every entry has its worked example, in order"
    for entry in entries:
        assert entry.family == family
        assert entry.summary
        assert entry.formula
        assert entry.citation
        assert entry.disagreement
        assert all(one.default in one.choices for one in entry.parameters if one.choices)
        _check_example(entry, computed[entry.name])


def _check_example(entry: MetricEntry, computed: float) -> None:
    printed = NUMBER.findall(entry.example)[-1]
    decimals = len(printed.partition(".")[2])
    assert round(computed, decimals) == float(printed), f"{entry.name}: {entry.example!r} but {computed}"
    assert entry.lowest is None or entry.lowest <= computed
    assert entry.highest is None or computed <= entry.highest
