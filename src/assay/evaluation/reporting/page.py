"""The report as one HTML file: everything it needs is inside, and the page itself forbids fetching anything.

`elements` makes HTML, `tables` and `queries` the larger parts, `charts` what plotly draws; `page.css` has spacing, type
and colour, each defined once, `page.js` paints the charts and filters queries. plotly's script is taken from the
installed package; without it the page has tables alone and says so.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from importlib.resources import files

from assay.evaluation.reporting import charts, wording
from assay.evaluation.reporting.content import Report, Ruling, Status
from assay.evaluation.reporting.elements import Child, Html, data_script, element
from assay.evaluation.reporting.queries import query_list
from assay.evaluation.reporting.tables import (
    breakdown_table,
    chip,
    configuration_table,
    latency_table,
    measured_table,
    mover_table,
    summary_table,
    table,
    tone,
)
from assay.evaluation.waterfall import LOSSES, Stage, Waterfall
from assay.extras import install_command, missing_modules
from assay.metrics.operations import TOTAL

# A style can run nothing; a script runs only if it is one of those that the page was written with.
_POLICY = "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:"


NO_CHARTS = f"The page has tables and no charts: plotly is not installed. Charts: {install_command('report')}"
"""What the page and the command say where there is no plotly."""


def plotly_script() -> str | None:
    """The charts' script, from the installed package; None where plotly is not installed."""
    if missing_modules("report"):
        return None
    return files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")


def html_page(report: Report, plotly: str | None) -> str:
    """The whole file; without plotly's script it has every table, no charts, and a line that says so."""
    scripts = [script for script in (plotly, _own("page.js")) if script is not None]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        element("title", f"{report.status.value}: {report.title}"),
        element("style", Html(_own("page.css"))),
    )
    parts = [part for part in _parts(report) if part is not None]
    body = element(
        "body",
        element(
            "main",
            _banner(report),
            _quiet(NO_CHARTS) if plotly is None else None,
            _menu(parts),
            *(_section(*part) for part in parts),
        ),
        *(element("script", Html(script)) for script in scripts),
        class_="no-charts" if plotly is None else None,
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _policy(scripts: Sequence[str]) -> str:
    """Let the page run these scripts and no other, by the hashes of their texts."""
    # A browser reads every line ending as a line feed, and hashes what it read.
    texts = [script.replace("\r\n", "\n").replace("\r", "\n") for script in scripts]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    return _POLICY.format(scripts=" ".join(f"'sha256-{digest}'" for digest in hashes))


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


Part = tuple[str, list[Child]]
"""A heading and what stands under it."""


def _parts(report: Report) -> Iterator[Part | None]:
    yield _summary(report)
    yield _configuration(report)
    yield _lost(report)
    yield _advice(report)
    yield _breakdowns(report)
    yield _latency(report)
    yield _movers(report)
    yield _failures(report)
    yield "Queries", [_quiet("The worst first."), query_list(report.queries)]
    yield _measured(report)


def _section(heading: str, content: list[Child]) -> Html:
    return element("section", element("h2", heading), *content, id=_anchor(heading))


def _menu(parts: list[Part]) -> Html:
    return element("nav", *(element("a", heading, href=f"#{_anchor(heading)}") for heading, _ in parts))


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def _banner(report: Report) -> Html:
    against = f", compared with {report.baseline}" if report.baseline else ""
    cases = wording.counted(report.counts.items()) or "no cases"
    return element(
        "header",
        element("h1", report.title),
        element("div", "NO VERDICT" if report.status is Status.NOT_GATED else report.status.value, class_="word"),
        element("p", report.verdict, class_="sentence"),
        _quiet(f"{report.run} on {report.dataset}, {report.date}{against}. Cases: {cases}."),
        _rules(report.rulings),
        class_=f"banner {tone(report.status)}",
    )


def _rules(rulings: tuple[Ruling, ...]) -> Html | None:
    """What did not hold in the open; what did, folded."""
    if not rulings:
        return None
    bad = [one for one in rulings if one.status in (Status.FAIL, Status.INCONCLUSIVE)]
    good = [one for one in rulings if one not in bad]
    folded = element(
        "details",
        element("summary", element("span", f"{wording.count_of(len(good), 'rule')} without objection")),
        element("div", _rule_list(good), class_="inside"),
    )
    return Html((_rule_list(bad) if bad else "") + (folded if good else ""))


def _rule_list(rulings: list[Ruling]) -> Html:
    return element(
        "ul", *(element("li", chip(one.status), element("span", one.sentence)) for one in rulings), class_="rules"
    )


def _quiet(text: str) -> Html:
    return element("p", text, class_="quiet small")


def _chart(figure: charts.Figure, said: str) -> Html:
    return element("div", element("div", role="img", aria_label=said), data_script(figure), class_="chart")


def _summary(report: Report) -> Part:
    shares = [(line.metric, line) for line in report.lines if not line.unit and not line.lower_is_better]
    drawn = [_chart(figure, "Each metric with its interval") for figure in charts.interval_charts(shares)]
    beside = [element("div", *drawn)] if drawn else []
    return "Summary", [element("div", summary_table(report), *beside, class_="pair"), *_caveats(report)]


def _caveats(report: Report) -> list[Html]:
    """What a reader must know beside the numbers."""
    if not report.caveats:
        return []
    listed = [element("li", caveat.sentence) for caveat in report.caveats]
    return [element("p", "Read beside these numbers:", class_="quiet"), element("ul", *listed, class_="small")]


def _configuration(report: Report) -> Part | None:
    if not report.configuration:
        return None
    differing = sum(1 for one in report.configuration if one.differs)
    differs = "differs" if differing == 1 else "differ"
    said = f"{wording.count_of(differing, 'setting')} {differs} from {report.baseline}." if report.baseline else ""
    heading = "What changed" if report.baseline else "Configuration"
    return heading, [_quiet(said) if said else None, configuration_table(report.configuration, report.baseline)]


def _lost(report: Report) -> Part:
    heading, water = "Where evidence was lost", report.waterfall
    if water is None:
        return heading, [_quiet(report.no_waterfall)]
    said = f"{len(water.missed):,} of {len(water.fates):,} gold items were not among the first {water.k} results."
    drawn = _chart(charts.funnel(water), "How many gold items passed each step")
    return heading, [element("p", said), element("div", drawn, _stages(water), class_="pair")]


def _stages(water: Waterfall) -> Html:
    lost = water.lost
    told = [*LOSSES.values(), Stage.NOT_KNOWN, Stage.SYSTEM_FAILED]
    rows = ([stage.value, f"{lost[stage]:,}"] for stage in told if stage in lost)
    untried = (
        _quiet(f"{water.untried:,} gold items belong to queries that were never asked.") if water.untried else None
    )
    return element("div", table(["lost where", "gold items"], rows, numbers=frozenset({1})), untried)


def _advice(report: Report) -> Part:
    if not report.recommendations:
        return "Recommendations", [_quiet("None: nothing that was measured speaks for a change.")]
    items = (
        element("li", element("strong", one.advice), " ", element("span", one.evidence, class_="quiet"))
        for one in report.recommendations
    )
    return "Recommendations", [element("ol", *items, class_="advice")]


def _breakdowns(report: Report) -> Part | None:
    if not report.breakdowns:
        return None
    content: list[Child] = []
    for one in report.breakdowns:
        lead = [(part.name, part.lines[0]) for part in one.parts if part.lines]
        drawn = [_chart(charts.interval_bars(lead), f"{lead[0][1].metric} by {one.label}")] if lead else []
        said = element("p", f"The chart shows {lead[0][1].metric}.", class_="quiet small of-chart") if lead else None
        beside = element("div", *drawn, said)
        content += [element("h3", f"By {one.label}"), element("div", breakdown_table(one), beside, class_="pair lean")]
        if one.left_out:
            content.append(_quiet(f"{one.left_out:,} more values of {one.label} are in the run's own files."))
    return "Breakdowns", content


def _latency(report: Report) -> Part | None:
    total = report.latency.get(TOTAL)
    if total is None or not report.times:
        return None
    left = wording.counted((kind.value.replace("_", " "), count) for kind, count in total.left_out.items())
    note = _quiet(f"Without a time: {left}.") if left else None
    drawn = _chart(charts.latency_histogram(report.times, total), "How long queries took")
    beside = element("div", latency_table(report.latency.items()), note)
    return "Latency", [element("div", drawn, beside, class_="pair")]


def _movers(report: Report) -> Part | None:
    if not report.baseline:
        return None
    if not report.movers:
        return "Movers", [_quiet(wording.no_movers(report))]
    return "Movers", [_quiet(f"Queries whose {report.moved_by} changed most."), mover_table(report.movers)]


def _failures(report: Report) -> Part:
    heading = f"Failures ({len(report.failures)})"
    if not report.failures:
        return heading, [_quiet(wording.NO_FAILURES)]
    rows: Iterator[list[Child]] = (
        [element("span", one.id, class_="mono"), one.text, one.status, one.error] for one in report.failures
    )
    return heading, [table(["id", "query", "ended", "what went wrong"], rows)]


def _measured(report: Report) -> Part:
    return "How it was measured", [measured_table(report)]
