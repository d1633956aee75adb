"""Channels: what each one adds to the list that is shown, what fusion and expansion change, and how alike results are.

`lists` maps each channel that ran to its ids, best first; a channel that ran and found nothing has an empty list, one
that did not run has none. Each function looks at one query; `contributions` pools the counts over many. What a channel
is worth together with the others (its Shapley value) is shown by `assay tune fusion`, which can replay fusion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.metrics import outcomes
from assay.metrics.catalog import Better, Cutoff, FromCase, MetricEntry, Parameter, register
from assay.metrics.inputs import CaseView, check_cutoff, first
from assay.records.evaluations import Cause, Outcome, Rate
from assay.records.evidence import LoggedQuery

Lists = Mapping[str, Sequence[str]]
UNTOLD = "the system does not tell of its channels"
NO_SUCH_CHANNEL = "the system has no channel of that name"
UNEXPANDED = "the query was not expanded, or the system does not tell"
_NOTHING_SHOWN = "nothing was shown"


class FusedQuery(NamedTuple):
    """One query's channel lists and the list that was made of them."""

    lists: Lists
    final: Sequence[str]


def read_fused_query(logged: LoggedQuery) -> FusedQuery:
    """A query as the log keeps it."""
    return FusedQuery({candidate.channel: candidate.ids for candidate in logged.candidates}, logged.result_ids)


def channel_contribution(query: FusedQuery, channel: str, k: int) -> Outcome:
    """The share of the first k results that a channel found, alone or with others."""
    return _share_of_shown(query, channel, k, _find_shown)


def exclusive_contribution(query: FusedQuery, channel: str, k: int) -> Outcome:
    """The share of the first k results that no other channel found."""
    return _share_of_shown(query, channel, k, _found_alone)


def _find_shown(lists: Lists, channel: str, shown: list[str]) -> set[str]:
    return set(shown) & set(lists[channel])


def _found_alone(lists: Lists, channel: str, shown: list[str]) -> set[str]:
    others = (set(ids) for name, ids in lists.items() if name != channel)
    return _find_shown(lists, channel, shown).difference(*others)


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
            found[channel] += len(_find_shown(query.lists, channel, results))
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
        document: (place, {held[document] for held in ranks.values() if document in held})
        for document, place in _places(first(query.final, k)).items()
    }
    fused = [(place, places) for place, places in before.values() if places]
    moved = sum(place not in places for place, places in fused)
    return outcomes.share(moved, len(fused), "no result shown came from a channel")


def _places(ids: Sequence[str]) -> dict[str, int]:
    return {document: place for place, document in enumerate(first(ids), start=1)}


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


def _with_channels(compute: Callable[[FusedQuery, CaseView], Outcome]) -> Callable[[CaseView], Outcome]:
    """Compute only where the system reports what its channels found."""

    def compute_view(view: CaseView) -> Outcome:
        if view.seen.channels is None:
            return outcomes.not_applicable(UNTOLD, Cause.UNTOLD)
        named = [view.parameter(parameter.name) for parameter in view.spec.entry.parameters]
        if view.seen.names_all_channels and any(channel not in view.seen.channels for channel in named):
            return outcomes.not_applicable(NO_SUCH_CHANNEL, Cause.UNTOLD)
        return compute(FusedQuery(view.seen.channels, view.ids), view)

    return compute_view


def _expansion(view: CaseView) -> Outcome:
    only = view.seen.only_expanded
    if only is None:
        return outcomes.not_applicable(UNEXPANDED, Cause.UNTOLD)
    return expansion_impact(view.ids, [document for document in view.ids if document not in only], view.k)


def _folders(view: CaseView) -> Outcome:
    known = view.dataset.by_id
    return ils([known[document].folder for document in view.ids if document in known], view.spec.cutoff)


_CHANNEL = Parameter(name="channel", meaning="which channel: vector, fts5, bm25, graph, trigger", default="vector")
_SECTION = "the memory evaluation framework, section 3.2."

ENTRIES = (
    MetricEntry(
        name="channel_contribution",
        compute=FromCase(
            _with_channels(lambda query, view: channel_contribution(query, view.parameter("channel"), view.k))
        ),
        family="channels",
        summary="How many of the results shown did a channel find?",
        formula="results in the first k that the channel found / results in the first k",
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
        compute=FromCase(
            _with_channels(lambda query, view: exclusive_contribution(query, view.parameter("channel"), view.k))
        ),
        family="channels",
        summary="How many of the results shown would be missing without a channel?",
        formula="results in the first k that only this channel found / results in the first k",
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
        compute=FromCase(_with_channels(lambda query, view: fusion_reorder_rate(query, view.spec.cutoff))),
        family="channels",
        summary="How many results did fusion put where no channel had them?",
        formula="results whose final place is their place in no channel / results that came from a channel",
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
        compute=FromCase(_expansion),
        family="channels",
        summary="How many of the results shown exist only because the query was expanded?",
        formula="results in the first k that the plain query does not find / results in the first k",
        better=Better.NEITHER,
        cutoff=Cutoff.REQUIRED,
        citation=_SECTION,
        disagreement="Compared with everything the plain query found, not with its first k: a result that only moved up"
        " is not new.",
        example="Five results shown, two of them not found without expansion: 2/5 = 0.4",
    ),
    MetricEntry(
        name="ils",
        compute=FromCase(_folders),
        family="channels",
        summary="How much do the results crowd into the same folders? (intra-list similarity)",
        formula="1 - distinct folders / results",
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
register(__name__, ENTRIES)
