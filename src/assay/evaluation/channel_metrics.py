"""Channel metrics over the cases of a run, for systems that tell what each of their channels found."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.evaluation.asked import Asked
from assay.metrics import channels, outcomes
from assay.metrics.channels import FusedQuery
from assay.records.datasets import Dataset
from assay.records.outcome import Outcome
from assay.records.searching import Channel

UNTOLD = "the system does not tell of its channels"
UNEXPANDED = "the query was not expanded, or the system does not tell"
ALWAYS = "fusion_reorder_rate@5,expansion_impact@5"
SHARES = ("channel_contribution", "exclusive_contribution")
"""What a channel gives to the results: found by it, and found by it alone."""


def default_metrics(dataset: Dataset) -> str:
    """What channels, fusion and expansion do; how results spread over folders, where there are several."""
    each = [f"{name}(channel={one})@5" for name in SHARES for one in Channel]
    spread = ["ils@5"] if len({one.folder for one in dataset.documents}) > 1 else []
    return ",".join([*each, ALWAYS, *spread])


def _fused(compute: Callable[[FusedQuery, Asked], Outcome]) -> Callable[[Asked], Outcome]:
    def found(asked: Asked) -> Outcome:
        if asked.seen.channels is None:
            return outcomes.not_applicable(UNTOLD)
        return compute(FusedQuery(asked.seen.channels, asked.given.ids), asked)

    return found


def _expansion(asked: Asked) -> Outcome:
    only = asked.seen.only_expanded
    if only is None:
        return outcomes.not_applicable(UNEXPANDED)
    return channels.expansion_impact(asked.given.ids, [one for one in asked.given.ids if one not in only], asked.k)


def _spread(asked: Asked) -> Outcome:
    known = asked.dataset.by_id
    return channels.ils([known[one].folder for one in asked.given.ids if one in known], asked.spec.cutoff)


METRICS: Mapping[str, Callable[[Asked], Outcome]] = {
    "channel_contribution": _fused(lambda q, a: channels.channel_contribution(q, a.spec.parameter("channel"), a.k)),
    "exclusive_contribution": _fused(lambda q, a: channels.exclusive_contribution(q, a.spec.parameter("channel"), a.k)),
    "fusion_reorder_rate": _fused(lambda q, a: channels.fusion_reorder_rate(q, a.spec.cutoff)),
    "expansion_impact": _expansion,
    "ils": _spread,
}
"""By name; each looks at one case."""
