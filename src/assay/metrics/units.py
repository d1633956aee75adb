"""What a ranking lists: the same results read by chunk, by document or by class of interchangeable documents.

Renaming every id to its unit and counting each unit once, at its first place, is all it takes; grades of a unit are the
best of its members'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

Number = TypeVar("Number", int, float)


def ranking_by_unit(ranking: Sequence[str], unit_of: Mapping[str, str]) -> list[str]:
    """Units in the order of their first member; an id without a unit is its own."""
    return list(dict.fromkeys(unit_of.get(one, one) for one in ranking))


def scores_by_unit(scores: Mapping[str, float], unit_of: Mapping[str, str]) -> dict[str, float]:
    """The best score of each unit's members."""
    return _best(scores, unit_of)


def grades_by_unit(grades: Mapping[str, int], unit_of: Mapping[str, str]) -> dict[str, int]:
    """The best grade of each unit's members: a hit on any of them counts once."""
    return _best(grades, unit_of)


def scores_of_ranking(ranking: Sequence[str]) -> dict[str, float]:
    """A list of ids, best first, as scores; an id listed twice keeps its first place."""
    distinct = list(dict.fromkeys(ranking))
    return {one: float(len(distinct) - place) for place, one in enumerate(distinct)}


def _best(values: Mapping[str, Number], unit_of: Mapping[str, str]) -> dict[str, Number]:
    best: dict[str, Number] = {}
    for one, value in values.items():
        unit = unit_of.get(one, one)
        best[unit] = max(value, best.get(unit, value))
    return best
