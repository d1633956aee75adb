"""Boosts: small facts about a memory become factors on its score, after aggregation and within stated bounds.

Each function turns one fact into a `Boost`, or into None where the fact says nothing. `combined` multiplies them and
clamps the product to [1 / bound, bound].

How far all boosts together can move a result: factors lie in [1 / b, b], so a result can pass another only if the
other's base score is at most b squared times its own. `rank_bounds` counts those: the ranks that each result can reach,
whatever the boosts say. Two results of which one scores more than b squared times the other never change places.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from assay.errors import BadValue
from assay.records import Boost

LEAST_CONFIDENCE_FACTOR, NEUTRAL_CONFIDENCE, MOST_CONFIDENCE_FACTOR = 0.3, 0.5, 1.2


class RankBounds(NamedTuple):
    """The best and the worst rank that boosts can give a result; ranks from 1."""

    best: int
    worst: int


def session(attention: float, strength: float) -> Boost | None:
    """The session's attention is on this memory: 1 just now, falling towards 0."""
    if not attention:
        return None
    return _raised("session", _share("attention", attention), strength, f"attention {attention:.2f} in this session")


def causal(strength_of_path: float, hops: int, strength: float) -> Boost | None:
    """It is joined to one of the best results by a path of this strength."""
    reason = f"{hops} {'hop' if hops == 1 else 'hops'} from a result, path strength {strength_of_path:.2f}"
    return _raised("causal", _share("path strength", strength_of_path), strength, reason)


def coactivation(share: float, strength: float) -> Boost | None:
    """This share of past results that held the best ones held it too."""
    if not share:
        return None
    return _raised("coactivation", _share("share", share), strength, f"found together in {share:.0%} of past results")


def learned_triggers(matched: Sequence[str], belief: float, weight: float, strength: float) -> Boost | None:
    """The query holds triggers that were learned from use; belief is 1 when fresh and decays with their age."""
    if not matched:
        return None
    reason = f"learned {', '.join(repr(term) for term in matched)}"
    return _raised("learned_triggers", weight * _share("belief", belief), strength, reason)


def confidence(value: float, *, raised: float, negative_feedback: bool = True) -> Boost | None:
    """What validation says: 0 gives 0.3, 0.5 gives 1, 1 gives 1.2, straight lines between them.

    Above 0.5 it counts as far as votes on questions like this one raised it. Without negative feedback nothing is
    lowered.
    """
    here = min(_share("confidence", value), max(NEUTRAL_CONFIDENCE + raised, NEUTRAL_CONFIDENCE))
    factor = confidence_factor(here)
    if factor == 1.0 or (factor < 1.0 and not negative_feedback):
        return None
    reason = f"confidence {value:.2f}" + (f", {here:.2f} for questions like this one" if here < value else "")
    return Boost(name="confidence", factor=factor, reason=reason)


def confidence_factor(value: float) -> float:
    """The piecewise linear multiplier of a confidence from 0 to 1."""
    if value <= NEUTRAL_CONFIDENCE:
        return LEAST_CONFIDENCE_FACTOR + (1.0 - LEAST_CONFIDENCE_FACTOR) * value / NEUTRAL_CONFIDENCE
    return 1.0 + (MOST_CONFIDENCE_FACTOR - 1.0) * (value - NEUTRAL_CONFIDENCE) / (1.0 - NEUTRAL_CONFIDENCE)


def context_type(asked: str | None, found: str, strength: float) -> Boost | None:
    """It is of the type that the caller works on."""
    return _raised("context_type", 1.0, strength, f"of type {found!r}") if asked == found else None


def recency(age_days: float, half_life_days: float, strength: float) -> Boost | None:
    """It was updated this long ago; the boost halves with every half-life. What comes from the future is new."""
    freshness = 0.5 ** (max(age_days, 0.0) / half_life_days)
    return _raised("recency", freshness, strength, f"updated {max(age_days, 0.0):.1f} days ago")


def combined(boosts: Iterable[Boost], bound: float) -> float:
    """The factor of all boosts together, from 1 / bound to bound."""
    return min(max(math.prod(boost.factor for boost in boosts), 1.0 / bound), bound)


def reordered(scores: Sequence[float], factors: Sequence[float]) -> list[int]:
    """The places of the scores after boosting, best first; equals keep their order."""
    boosted = [score * factor for score, factor in zip(scores, factors, strict=True)]
    return sorted(range(len(boosted)), key=boosted.__getitem__, reverse=True)


def rank_bounds(scores: Sequence[float], bound: float) -> list[RankBounds]:
    """For base scores, best first, the ranks that each can have after boosts within the bound."""
    reach = bound * bound
    rising = scores[::-1]
    if any(left > right for left, right in pairwise(rising)):
        raise BadValue("the scores do not fall", remedy="Give base scores, best first.")
    return [
        RankBounds(
            best=len(scores) - bisect_right(rising, score * reach) + 1,
            worst=len(scores) - bisect_left(rising, score / reach),
        )
        for score in scores
    ]


def _raised(name: str, amount: float, strength: float, reason: str) -> Boost | None:
    """A factor from 1 to 1 + strength."""
    factor = 1.0 + strength * amount
    return Boost(name=name, factor=factor, reason=reason) if factor > 1.0 else None


def _share(name: str, value: float) -> float:
    if not 0.0 <= value <= 1.0:
        raise BadValue(f"{name} {value} is outside 0 to 1", remedy="Give a number from 0 to 1.")
    return value
