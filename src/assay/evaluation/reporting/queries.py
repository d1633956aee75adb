"""The part of the page that shows query by query what was expected and what came, folded, with a filter."""

from __future__ import annotations

from collections.abc import Sequence

from assay.evaluation.reporting import wording
from assay.evaluation.reporting.content import Given, Query
from assay.evaluation.reporting.elements import Child, Html, element
from assay.evaluation.waterfall import Fate

MOST = 1000
"""Queries in one page: more would make it slow to open. The run's own files have them all."""
_FIRST = 50
"""Queries that are seen before anybody asks for more; the page's script has the same number."""
_SHOWN_VALUES = 2


def query_list(queries: Sequence[Query]) -> Html:
    """Every query, folded; beyond the first ones hidden until the filter or a click asks for them."""
    shown = [_folded(one, hidden=place >= _FIRST) for place, one in enumerate(queries[:MOST])]
    left = len(queries) - MOST
    more = element("p", f"{left:,} more queries are in the run's own files.", class_="quiet") if left > 0 else None
    return element("div", _filter(len(queries)), *shown, more)


def _filter(count: int) -> Html:
    kinds = (
        ("", "all queries"),
        ("missed", "missed something"),
        ("failed", "failed"),
        ("lost", "lost to the baseline"),
    )
    options = (element("option", words, value=value) for value, words in kinds)
    return element(
        "div",
        element("input", type="search", placeholder="Filter by words or id", aria_label="Filter", data_part="words"),
        element("select", *options, aria_label="Which queries", data_part="kind"),
        element("button", f"Show all {count:,}", type="button", data_part="all"),
        element("span", class_="quiet small", data_part="told", role="status"),
        class_="filter",
        hidden=True,
    )


def _folded(one: Query, *, hidden: bool) -> Html:
    return element(
        "details",
        element("summary", element("span", _name(one)), element("span", *_figures(one), class_="figures")),
        element("div", _inside(one), class_="inside"),
        data_text=f"{one.id} {one.text} {one.category}".lower(),
        data_kinds=" ".join(_kinds(one)),
        hidden=hidden,
    )


def _kinds(one: Query) -> list[str]:
    lost = any(before is not None and (one.values.get(name) or 0.0) < before for name, before in one.before.items())
    return [
        name
        for name, holds in (("missed", one.missed), ("failed", one.status not in ("ok", "skipped")), ("lost", lost))
        if holds
    ]


def _name(one: Query) -> list[Child]:
    return [element("span", one.id, class_="mono quiet"), " ", one.text]


def _figures(one: Query) -> list[Html]:
    values = list(one.values.items())[:_SHOWN_VALUES]
    numbers = [element("span", f"{name} {wording.number(value)}") for name, value in values]
    if one.status not in ("ok", "skipped"):
        return [element("span", one.status, class_="chip is-fail"), *numbers]
    if one.missed:
        return [element("span", f"{one.missed} of {len(one.expected)} missed", class_="chip is-degraded"), *numbers]
    return numbers


def _inside(one: Query) -> list[Child]:
    both = element(
        "div",
        element("div", element("h3", "Expected"), _expected(one)),
        element("div", element("h3", "Retrieved"), _given(one.given)),
        class_="pair",
    )
    notes = [element("p", text, class_="small quiet") for text in one.notes]
    error = element("p", one.error, class_="down") if one.error else None
    return [error, both, element("p", _all_values(one), class_="small quiet"), *notes]


def _expected(one: Query) -> Html:
    if not one.expected:
        return element("p", "Nothing is expected of this query, or it is not known.", class_="quiet")
    return element("ul", *(_gold(fate, one.titles.get(fate.item, "")) for fate in one.expected))


def _gold(fate: Fate, title: str) -> Html:
    grade = "" if fate.grade is None else f", grade {fate.grade}"
    ending = element("span", f"{wording.fate(fate)}{grade}", class_="small " + ("up" if fate.found else "down"))
    return element("li", _titled(fate.item, title), " ", ending, class_="hit" if fate.found else None)


def _given(given: Sequence[Given]) -> Html:
    if not given:
        return element("p", "Nothing.", class_="quiet")
    return element("ol", *(_result(one) for one in given))


def _result(one: Given) -> Html:
    grade = "not judged" if one.grade is None else f"grade {one.grade}"
    kind = "small " + ("up" if one.relevant else "quiet")
    named = _titled(one.id, one.title)
    return element("li", named, " ", element("span", grade, class_=kind), class_="hit" if one.relevant else None)


def _titled(name: str, title: str) -> list[Child]:
    shown = element("span", title or name, class_="name")
    return [shown, " ", element("code", name, class_="quiet")] if title else [shown]


def _all_values(one: Query) -> str:
    before = one.before
    values = (
        f"{name} {wording.number(value)}"
        + (f" (baseline {wording.number(before[name])})" if before.get(name) is not None else "")
        for name, value in one.values.items()
    )
    time = [f"{wording.number(one.milliseconds, 'ms')}"] if one.milliseconds is not None else []
    kind = [one.category] if one.category else []
    return " · ".join([*kind, *values, *time])
