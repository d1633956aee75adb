"""The chart kit of the report and the dashboard: one function for each kind of figure, from plain values.

Figures are values that `presentation/templates/charts.html` draws as SVG on the server. Every figure works without
script, has the table behind it, shows the line of no difference where there is one, and names the interval of a value
to a reader who points at it. A mark with an address is a link.

- `figures`: what a figure is made of, and scales.
- `labels`: how names, numbers and intervals are written.
- `rows`: one row for each name: values with intervals, differences, bars, steps that items pass.
- `planes`: two axes: histograms, values over time, parts of a whole over time, the evidence of a test.
- `graph`: a memory and its neighbours.
"""

from assay.presentation.charts.figures import Figure, Mark, Shape, Table
from assay.presentation.charts.graph import Node, Tie, neighbours
from assay.presentation.charts.labels import distinct_labels
from assay.presentation.charts.planes import (
    Line,
    Point,
    Series,
    Stack,
    evidence_path,
    histogram,
    latency_histogram,
    lines,
    stacked,
    trend,
)
from assay.presentation.charts.rows import (
    ChartChange,
    FunnelStep,
    Measure,
    Named,
    Span,
    bars,
    changes,
    funnel,
    interval_bars,
    interval_charts,
    steps,
    timeline,
)

__all__ = [
    "ChartChange",
    "Figure",
    "FunnelStep",
    "Line",
    "Mark",
    "Measure",
    "Named",
    "Node",
    "Point",
    "Series",
    "Shape",
    "Span",
    "Stack",
    "Table",
    "Tie",
    "bars",
    "changes",
    "distinct_labels",
    "evidence_path",
    "funnel",
    "histogram",
    "interval_bars",
    "interval_charts",
    "latency_histogram",
    "lines",
    "neighbours",
    "stacked",
    "steps",
    "timeline",
    "trend",
]
