"""Channels: what each one adds to the list that is shown, what fusion and expansion change, and how alike results are.

`lists` maps each channel that ran to its ids, best first; a channel that ran and found nothing has an empty list, one
that did not run has none. Each function looks at one query. `contributions` pools the counts over many; Shapley
values add up over queries, so their mean over queries is the Shapley value of the mean.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from assay.errors import BadValue
from assay.metrics import outcomes
from assay.metrics.entry import Better, Cutoff, MetricEntry, Parameter
from assay.metrics.first_results import check_cutoff, first
from assay.records.evidence import LoggedQuery
from assay.records.outcome import Outcome
from assay.records.rate import Rate

Lists = Mapping[str, Sequence[str]]
Fusion = Callable[[Lists], Sequence[str]]
Value = Callable[[frozenset[str]], float]

MOST_CHANNELS = 12
"""For Shapley values: every subset is valued once, and 12 channels have 4,096."""
_NOTHING_SHOWN = "nothing was shown"


class FusedQuery(NamedTuple):
    """One query's channel lists and the list that was made of them."""

    lists: Lists
    final: Sequence[str]


def fused_query(logged: LoggedQuery) -> FusedQuery:
    """A query as the log keeps it."""
    return FusedQuery({one.channel: one.ids for one in logged.candidates}, logged.result_ids)


def channel_contribution(query: FusedQuery, channel: str, k: int) -> Outcome:
    """The share of the first k results that a channel found, alone or with others."""
    return _share_of_shown(query, channel, k, _found)


def exclusive_contribution(query: FusedQuery, channel: str, k: int) -> Outcome:
    """The share of the first k results that no other channel found."""
    return _share_of_shown(query, channel, k, _found_alone)


def _found(lists: Lists, channel: str, shown: list[str]) -> set[str]:
    return set(shown) & set(lists[channel])


def _found_alone(lists: Lists, channel: str, shown: list[str]) -> set[str]:
    others = (set(ids) for name, ids in lists.items() if name != channel)
    return _found(lists, channel, shown).difference(*others)


def _share_of_shown(
    query: FusedQuery, channel: str, k: int, find: Callable[[Lists, str, list[str]], set[str]]
) -> Outcome:
    if channel not in query.lists:
        return outcomes.not_applicable(f"channel {channel!r} did not run")
    shown = first(query.final, k)
    return outcomes.share(len(find(query.lists, channel, shown)), len(shown), _NOTHING_SHOWN)


@dataclass(frozen=True, kw_only=True, slots=True)
class Contribution:
    """What one channel gave to all the results shown while it ran."""

    found: Rate
    alone: Rate
    queries: int
    """In how many it ran."""


def contributions(queries: Iterable[FusedQuery], k: int) -> dict[str, Contribution]:
    """Pooled over queries: every result shown counts alike, so long lists weigh more than short ones."""
    found, alone, shown, ran = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for query in queries:
        results = first(query.final, k)
        for channel in query.lists:
            ran[channel] += 1
            shown[channel] += len(results)
            found[channel] += len(_found(query.lists, channel, results))
            alone[channel] += len(_found_alone(query.lists, channel, results))
    return {
        channel: Contribution(
            found=Rate(hits=found[channel], of=shown[channel]),
            alone=Rate(hits=alone[channel], of=shown[channel]),
            queries=ran[channel],
        )
        for channel in sorted(ran)
    }


def fusion_reorder_rate(query: FusedQuery, k: int | None = None) -> Outcome:
    """The share of results standing at a place where no channel had put them."""
    ranks = {channel: _places(ids) for channel, ids in query.lists.items()}
    before = {
        one: (place, {held[one] for held in ranks.values() if one in held})
        for one, place in _places(first(query.final, k)).items()
    }
    fused = [(place, places) for place, places in before.values() if places]
    moved = sum(place not in places for place, places in fused)
    return outcomes.share(moved, len(fused), "no result shown came from a channel")


def _places(ids: Sequence[str]) -> dict[str, int]:
    return {one: place for place, one in enumerate(first(ids), start=1)}


def expansion_impact(expanded: Sequence[str] | None, plain: Sequence[str], k: int) -> Outcome:
    """The share of the first k results that the unexpanded query does not find at all. None: it was not expanded."""
    if expanded is None:
        return outcomes.not_applicable("the query was not expanded")
    shown = first(expanded, k)
    return outcomes.share(len(set(shown) - set(plain)), len(shown), _NOTHING_SHOWN)


def ils(folders: Sequence[str], k: int | None = None) -> Outcome:
    """How much the first k results crowd into the same folders; one folder for each result, best first."""
    check_cutoff(k)
    shown = folders[:k]
    return outcomes.share(len(shown) - len(set(shown)), len(shown), _NOTHING_SHOWN)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShapleyValues:
    """What each channel is worth. The shares add up to what all channels are worth together over none."""

    shares: Mapping[str, float]
    together: float
    nothing: float


def shapley_values(channels: Iterable[str], value: Value) -> ShapleyValues:
    """The mean of what a channel adds, over all orders in which channels could join: exact, each subset valued once."""
    players = sorted(set(channels))
    if len(players) > MOST_CHANNELS:
        raise BadValue(
            f"{len(players)} channels have 2**{len(players)} subsets",
            remedy=f"Join channels into at most {MOST_CHANNELS} groups.",
        )
    worth = {
        subset: _finite(value(subset), subset)
        for size in range(len(players) + 1)
        for subset in map(frozenset, combinations(players, size))
    }
    return ShapleyValues(
        shares={player: _mean_gain(player, len(players), worth) for player in players},
        together=worth[frozenset(players)],
        nothing=worth[frozenset()],
    )


def _mean_gain(player: str, count: int, worth: Mapping[frozenset[str], float]) -> float:
    """Subsets of one size are equally likely to stand before a player, and each size is equally likely."""
    return math.fsum(
        (worth[before | {player}] - worth[before]) / (count * math.comb(count - 1, len(before)))
        for before in worth
        if player not in before
    )


def _finite(number: float, subset: frozenset[str]) -> float:
    if not math.isfinite(number):
        raise BadValue(f"the value of channels {sorted(subset)} is {number}", remedy="Value every subset by a number.")
    return number


def fused_value(lists: Lists, fuse: Fusion, score: Callable[[Sequence[str]], float]) -> Value:
    """The value of a subset: the score of what fusion makes of its logged lists. No channels show nothing."""

    def value(subset: frozenset[str]) -> float:
        kept = {channel: ids for channel, ids in lists.items() if channel in subset}
        return score(fuse(kept) if kept else ())

    return value


def mean_shapley(values: Sequence[ShapleyValues]) -> ShapleyValues | None:
    """Over queries. A channel that did not run for a query is worth nothing there. None without any query."""
    if not values:
        return None
    channels = sorted({channel for one in values for channel in one.shares})
    return ShapleyValues(
        shares={name: math.fsum(one.shares.get(name, 0.0) for one in values) / len(values) for name in channels},
        together=math.fsum(one.together for one in values) / len(values),
        nothing=math.fsum(one.nothing for one in values) / len(values),
    )


_CHANNEL = Parameter(name="channel", meaning="which channel: vector, fts5, bm25, graph, trigger", default="vector")
_SECTION = "the memory evaluation framework, section 3.2."

ENTRIES = (
    MetricEntry(
        name="channel_contribution",
        family="channels",
        summary="How many of the results shown did a channel find?",
        formula="results in the first k that the channel found / results in the first k",
        lowest=0,
        highest=1,
        better=Better.NEITHER,
        cutoff=Cutoff.REQUIRED,
        parameters=(_CHANNEL,),
        citation=_SECTION,
        disagreement="A result found by two channels counts for both, so the shares add up to more than 1; some split"
        " the credit.",
        example="Four results shown, the channel found three of them: 3/4 = 0.75",
    ),
    MetricEntry(
        name="exclusive_contribution",
        family="channels",
        summary="How many of the results shown would be missing without a channel?",
        formula="results in the first k that only this channel found / results in the first k",
        lowest=0,
        highest=1,
        better=Better.NEITHER,
        cutoff=Cutoff.REQUIRED,
        parameters=(_CHANNEL,),
        citation=f"{_SECTION[:-1]}; the feedback and quality document, REQ-S4-003.",
        disagreement="Divided by what was shown; some divide by what the channel found, which a channel with one lucky"
        " result wins.",
        example="Four results shown, one of them found by this channel alone: 1/4 = 0.25",
    ),
    MetricEntry(
        name="fusion_reorder_rate",
        family="channels",
        summary="How many results did fusion put where no channel had them?",
        formula="results whose final place is their place in no channel / results that came from a channel",
        lowest=0,
        highest=1,
        better=Better.NEITHER,
        cutoff=Cutoff.OPTIONAL,
        citation=_SECTION,
        disagreement="The document compares channel ranks with the final rank and leaves open which channel; a result"
        " counts as moved only when it moved against all that found it.",
        example="Vector a, b, c and fts5 b, d; shown a, b, d, c: vector had a and b at these places, no channel had d"
        " third or c fourth: 2/4 = 0.5",
    ),
    MetricEntry(
        name="expansion_impact",
        family="channels",
        summary="How many of the results shown exist only because the query was expanded?",
        formula="results in the first k that the plain query does not find / results in the first k",
        lowest=0,
        highest=1,
        better=Better.NEITHER,
        cutoff=Cutoff.REQUIRED,
        citation=_SECTION,
        disagreement="Compared with everything the plain query found, not with its first k: a result that only moved up"
        " is not new.",
        example="Five results shown, two of them not found without expansion: 2/5 = 0.4",
    ),
    MetricEntry(
        name="channel_shapley",
        family="channels",
        summary="What is a channel worth, counting what the others could do without it?",
        formula="mean over all orders of joining of v(before + channel) - v(before); v = the metric of the fused lists",
        lowest=-1,
        highest=1,
        better=Better.HIGHER,
        cutoff=Cutoff.REQUIRED,
        parameters=(
            _CHANNEL,
            Parameter(
                name="of",
                meaning="the metric that values a subset of channels",
                default="mrr",
                choices=("mrr", "ndcg", "recall", "precision", "ap", "success"),
            ),
        ),
        citation="L. S. Shapley, A value for n-person games, Contributions to the Theory of Games II, 1953.",
        disagreement="Leave-one-out, v(all) - v(all without it), gives channels that can replace each other nothing.",
        example="v(none) = 0, v(vector) = 0.6, v(fts5) = 0.4, v(both) = 0.8: fts5 gets 0.3 and vector gets 0.5",
    ),
    MetricEntry(
        name="ils",
        family="channels",
        summary="How much do the results crowd into the same folders? (intra-list similarity)",
        formula="1 - distinct folders / results",
        lowest=0,
        highest=1,
        better=Better.NEITHER,
        cutoff=Cutoff.OPTIONAL,
        citation=f"{_SECTION[:-1]}; after C.-N. Ziegler et al., Improving recommendation lists through topic"
        " diversification, WWW 2005.",
        disagreement="The document files it under diversity, but it grows with similarity. Ziegler's is the mean"
        " similarity over pairs. n results of one folder give 1 - 1/n, never 1. Neither way is better: a question about"
        " one folder is answered from one folder.",
        example="Five results from three folders: 1 - 3/5 = 0.4",
    ),
)
