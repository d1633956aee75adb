"""Which metrics there are, and what is known of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from assay.access import acts
from assay.metrics.catalog import METRICS, MetricFacts, entries, find
from assay.verbs.verb import Caller, Family, HttpRoute, Request, Verb


class ListMetricsRequest(Request):
    """Nothing to say."""


class ShowMetricRequest(Request):
    """Which metric."""

    name: Annotated[
        str, Field(min_length=1, max_length=500, description="A metric's name; cutoff and parameters may be given too.")
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricList:
    """Every metric that can be computed here."""

    metrics: tuple[MetricFacts, ...]
    problems: tuple[str, ...]
    """Packages whose metrics could not be loaded, and why."""


def list_all(_: Caller, request: ListMetricsRequest) -> MetricList:  # noqa: ARG001 - it says nothing
    """List the metrics of Assay and of installed packages."""
    return MetricList(metrics=entries(), problems=tuple(METRICS.problems()))


def show(_: Caller, request: ShowMetricRequest) -> MetricFacts:
    """Return one metric; raises `UnknownMetric` with close names."""
    return find(request.name.split("@")[0].split("(")[0].strip())


LIST = Verb(
    name="metric.list",
    summary="List every metric: the question it answers, its range, and which way is better.",
    act=acts.METRIC_READ,
    request=ListMetricsRequest,
    result=MetricList,
    call=list_all,
    http=HttpRoute("GET", "/api/metrics"),
    command="metrics",
    client="metrics",
)
SHOW = Verb(
    name="metric.show",
    summary="Show one metric with its formula, source, parameters and a worked example.",
    act=acts.METRIC_READ,
    request=ShowMetricRequest,
    result=MetricFacts,
    call=show,
    http=HttpRoute("GET", "/api/metrics/{name}"),
    command="metrics NAME",
    client="show_metric",
)

FAMILY = Family(name="metrics", verbs=(LIST, SHOW))
