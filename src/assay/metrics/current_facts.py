"""Whether results state what is true now: the current value first, and outdated values only with a mark and below it.

A case names the `current_value` and the `outdated_values` of what it asks. A result states a value when the value's
words stand in a row in its document's title or text; case, Markdown and line breaks do not matter. A result that
states the current value as well tells a history and is not outdated. A value is marked where the system says that what
states it holds no longer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.metrics import outcomes
from assay.metrics.catalog import Better, Cutoff, FromCase, MetricEntry, register
from assay.metrics.inputs import CaseView, first
from assay.metrics.write_path import states_literally

if TYPE_CHECKING:
    from assay.records.datasets import Document
    from assay.records.evaluations import Outcome

_MARKUP = re.compile(r"[*`]+")
NO_CURRENT_VALUE = "the case names no current value"
NO_OUTDATED_VALUE = "the case names no outdated value"
NO_TEXTS = "the dataset has no documents, so nothing is known of what results state"


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedResult:
    """What one result states, and which of its statements are marked as outdated."""

    text: str
    marked: tuple[str, ...] = ()
    """Statements of it that the system marks as outdated."""


def states_value(text: str, value: str) -> bool:
    """Whether the words of a value stand in a text in a row; `limit 10` is not in `limit 100`."""
    return states_literally(_MARKUP.sub("", text), value)


def current_fact(results: Sequence[StatedResult], current: str, k: int) -> Outcome:
    """Whether one of the first k results states the current value."""
    return outcomes.yes_or_no(any(states_value(result.text, current) for result in results[:k]))


def stale_served(results: Sequence[StatedResult], current: str, outdated: Collection[str], k: int) -> Outcome:
    """Whether one of the first k results states an outdated value unmarked, or above the current one."""
    if not outdated:
        return outcomes.not_applicable(NO_OUTDATED_VALUE)
    reached = False
    for result in results[:k]:
        if states_value(result.text, current):
            reached = True
        elif any(states_value(result.text, old) and not (reached and _is_marked(result, old)) for old in outdated):
            return outcomes.yes_or_no(True)
    return outcomes.yes_or_no(False)


def _is_marked(result: StatedResult, value: str) -> bool:
    return any(states_value(statement, value) for statement in result.marked)


def document_text(document: Document) -> str:
    """The text in which values are looked for."""
    return f"{document.title}\n{document.text}"


def _results(view: CaseView) -> list[StatedResult]:
    known = view.dataset.by_id
    return [
        StatedResult(
            text=document_text(known[document]) if document in known else "",
            marked=tuple(view.given.outdated.get(document, ())),
        )
        for document in first(view.ids, view.k)
    ]


def _current(view: CaseView) -> Outcome:
    if view.case.current_value is None:
        return outcomes.not_applicable(NO_CURRENT_VALUE)
    if not view.dataset.documents:
        return outcomes.skipped(NO_TEXTS)
    return current_fact(_results(view), view.case.current_value, view.k)


def _stale(view: CaseView) -> Outcome:
    if view.case.current_value is None:
        return outcomes.not_applicable(NO_CURRENT_VALUE)
    if not view.dataset.documents:
        return outcomes.skipped(NO_TEXTS)
    return stale_served(_results(view), view.case.current_value, view.case.outdated_values, view.k)


def find_stating(documents: Iterable[Document], value: str) -> list[str]:
    """Return the documents that state a value."""
    return [document.id for document in documents if states_value(document_text(document), value)]


_PAGE = (
    "FactConsolidation counts the newest of several contradicting facts as right, by exact match and without a judge."
)

ENTRIES = (
    MetricEntry(
        name="current_fact",
        compute=FromCase(_current),
        family="agent memory",
        summary="Is the value that holds now stated in the first k results?",
        formula="questions with a result in the first k that states the current value / questions with a current value",
        cutoff=Cutoff.REQUIRED,
        citation=_PAGE,
        disagreement="Published figures read an answer written by a model; here the results are read. At 1 the top"
        " result alone counts.",
        example="Four questions; the top result states the current value for three: 3/4 = 0.75",
    ),
    MetricEntry(
        name="stale_served",
        compute=FromCase(_stale),
        family="agent memory",
        summary="Is an outdated value stated in the first k results, unmarked or above the current one?",
        formula="questions with a result in the first k that states an outdated value and not the current one, and that"
        " is not marked as outdated or has no result with the current value above it / questions with outdated values",
        better=Better.LOWER,
        cutoff=Cutoff.REQUIRED,
        citation=_PAGE,
        disagreement="`stale_served_rate` counts superseded memories by their ids; this looks at what texts state, also"
        " in notes that stay because only one of their facts has changed.",
        example="Four questions with outdated values: one serves none, one serves a marked one below the current value,"
        " one a marked one above it, one an unmarked one: 2/4 = 0.5",
    ),
)
register(__name__, ENTRIES)
