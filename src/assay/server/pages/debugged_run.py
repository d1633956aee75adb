"""One query of a run taken apart for the debugger: what every channel listed, what was shown, where gold was lost.

All of it was recorded by the run; nothing is searched for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from starlette.responses import Response

from assay.access import acts
from assay.errors import BadValue
from assay.evaluation.labelling import KEYS
from assay.evaluation.readings import lower_is_better
from assay.evaluation.recommendations import advise
from assay.evaluation.reporting import Report
from assay.evaluation.reporting import wording as report_wording
from assay.evaluation.reporting.content import Query
from assay.evaluation.reporting.markdown import find_query
from assay.evaluation.results import RunResult
from assay.evaluation.waterfall import gold_of
from assay.memory.searching.highlighting import mark_matches
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import CaseResult, SeenStage
from assay.server.pages.debugger import ADDRESS, count_moves, describe_lists
from assay.server.pages.labelling import record_labels
from assay.server.pages.page import LastFew, Page, PageView, go_to
from assay.server.pages.ranked_lists import (
    Grading,
    ListEntry,
    RankedList,
    ShownPassage,
    compare_lists,
    list_passages,
    ranks_of,
)

if TYPE_CHECKING:
    from assay.evaluation.running.files import RunFolder

RUNS = "/evaluation/runs"
ROWS = 15
DROPPED_SHOWN = 10
"""Documents that are named of those that a stage dropped."""
SHOWN = "shown"
BASELINE = "baseline"
WRONG = "w"
"""The key for a label of the dataset that is wrong."""
LONGEST_DOCUMENT = 4_000
SAID = {
    **{f"graded-{key}": f"Your grade is kept: {key}, {meaning}." for key, meaning in KEYS.items()},
    "no-dataset": "The dataset of this run is not at hand, so nothing can be graded.",
}


class RunCases(NamedTuple):
    """A run with its cases, and the dataset it was measured on."""

    run: RunResult
    dataset: Dataset | None
    """None: it is not at hand any more, or it has changed since."""

    def find(self, case_id: str) -> CaseResult | None:
        """Return the first repeat of a case; None: the run has none."""
        return next((case for case in self.run.cases if case.case_id == case_id and case.repeat == 0), None)


def read_cases(view: PageView, run: RunFolder) -> RunCases:
    """Return a run with its cases, from the cache if its files have not changed."""
    kept: LastFew[RunCases] = view.request.app.state.debugged_runs
    key = (view.scope.tenant, *_stamp(run))
    return kept.of(key, partial(_read_cases, view, run))


def _read_cases(view: PageView, run: RunFolder) -> RunCases:
    return RunCases(*view.shelf.read_cases(run))


def _stamp(run: RunFolder) -> tuple[Path, int]:
    return run.path, run.result.stat().st_mtime_ns if run.finished else 0


def show_query(view: PageView, report: Report) -> Page | Response:
    """Show one query of a run: lists, gold, text, the baseline's list, and the way to the next lost query."""
    query = find_query(report, view.path["query_id"])
    if query.id != view.path["query_id"]:
        return go_to(address_of(view, report.run_id, query.id))
    shelf = view.shelf
    cases = read_cases(view, shelf.find_run(view.path["run_id"]))
    against = view.query_value("baseline")
    other = read_cases(view, shelf.find_run(against)) if against else None
    debugged = DebuggedCase(query=query, result=cases.find(query.id), dataset=cases.dataset)
    water = report.waterfall
    return Page(
        template="run_query.html",
        context={
            "report": report,
            "query": query,
            "against": against,
            "advice": {}
            if water is None
            else {item.item: advise(item, water) for item in query.expected if not item.found},
            "water": water,
            "w": report_wording,
            "cut": report.k,
            **_describe(view, debugged),
            "compared": None if other is None else _compare(debugged, other),
            "at_baseline": "" if other is None else f"{RUNS}/{quote(other.run.run_id)}/queries/{quote(query.id)}",
            **_find_ways(view, report, query),
            "again": _address_now(report, debugged),
            "command": f"assay report {report.run_id} --why {query.id}",
            "said": SAID.get(view.query_value("said"), ""),
        },
    )


def _address_now(report: Report, debugged: DebuggedCase) -> str:
    """Return the address that searches for a query in the memory now, with its gold; empty: its words are not known."""
    if not debugged.query.text:
        return ""
    case = {} if debugged.dataset is None else {"dataset": debugged.dataset.name, "case": debugged.query.id}
    return f"{ADDRESS}?{urlencode({'q': debugged.query.text, 'k': report.k or 10, **case})}"


def grade_document(view: PageView) -> Response:
    """Keep the caller's grade of a document for a case; `w` says that the label of the dataset is wrong."""
    key, document, case_id = view.form_value("key"), view.form_value("document"), view.path["query_id"]
    cases = read_cases(view, view.shelf.find_run(view.path["run_id"]))
    run_id, dataset = cases.run.run_id, cases.dataset
    case = None if dataset is None else next((one for one in dataset.cases if one.id == case_id), None)
    if dataset is None or case is None:
        return go_to(address_of(view, run_id, case_id, said="no-dataset"))
    if key == WRONG:
        known = case.labels.get(document)
        if known is None:
            raise BadValue(f"{document!r} has no label that could be wrong", remedy="Give a grade from 0 to 3.")
        key = "0" if known >= dataset.relevance_level else str(min(dataset.relevance_level, len(KEYS) - 1))
    if key not in KEYS:
        raise BadValue(f"there is no key {key!r}", remedy="Press 0 to 3, or w.")
    if document not in dataset.by_id:
        raise BadValue(f"{dataset.name} has no document {document!r}", remedy="Load the page again.")
    view.shelf.grade(dataset.name, case_id, document, int(key))
    record_labels(view, dataset.name, [(case_id, document, key)])
    return go_to(address_of(view, run_id, case_id, said=f"graded-{key}"))


def address_of(view: PageView, run_id: str, query_id: str, *, said: str = "") -> str:
    """Return the address of a query of a run, with the baseline that is looked at."""
    more = {"baseline": view.query_value("baseline"), "said": said}
    kept = {name: value for name, value in more.items() if value}
    query = f"?{urlencode(kept)}" if kept else ""
    return f"{RUNS}/{quote(run_id)}/queries/{quote(query_id)}{query}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DebuggedCase:
    """One query of a run, with the documents that it is about."""

    query: Query
    result: CaseResult | None
    dataset: Dataset | None

    @property
    def case(self) -> Case | None:
        """The case of the dataset; None: not at hand."""
        cases = () if self.dataset is None else self.dataset.cases
        return next((case for case in cases if case.id == self.query.id), None)


def _describe(view: PageView, debugged: DebuggedCase) -> dict[str, Any]:
    columns = list_columns(debugged)
    dataset = debugged.dataset
    mine = {} if dataset is None else view.shelf.my_grades(dataset.name, debugged.query.id)
    query = urlencode({"baseline": view.query_value("baseline")}) if view.query_value("baseline") else ""
    return {
        **describe_lists(columns, _show_documents(debugged, columns), _find_gradings(debugged, mine)),
        "grade_at": view.request.url.path + (f"?{query}" if query else ""),
        "may_grade": debugged.case is not None and view.grant.allows(acts.LABEL_WRITE.policy),
        "dataset_name": "" if dataset is None else dataset.name,
        "my_grades": len(mine),
        "silent": _list_silent_channels(debugged),
        "reported_stages": _list_stages(debugged),
        "dropped_shown": DROPPED_SHOWN,
    }


def _list_silent_channels(debugged: DebuggedCase) -> list[str]:
    """Return the channels that were asked and found nothing."""
    retrieved = None if debugged.result is None else debugged.result.retrieved
    seen = None if retrieved is None else retrieved.seen
    return [] if seen is None else [name for name, documents in (seen.channels or {}).items() if not documents]


def _list_stages(debugged: DebuggedCase) -> tuple[SeenStage, ...]:
    """Return the stages after the channels, where the system reports them."""
    retrieved = None if debugged.result is None else debugged.result.retrieved
    return () if retrieved is None or retrieved.seen is None else retrieved.seen.stages or ()


def list_columns(debugged: DebuggedCase) -> list[RankedList]:
    """Return a column for each channel that the system reports, the fused list, and what was shown."""
    retrieved = None if debugged.result is None else debugged.result.retrieved
    if retrieved is None:
        return []
    seen = retrieved.seen
    channels = {} if seen is None or seen.channels is None else seen.channels
    scores = {} if seen is None or seen.channel_scores is None else seen.channel_scores
    columns = [
        _column(name, documents, scores.get(name), f"What the channel {name} offered.")
        for name, documents in channels.items()
        if documents
    ]
    if seen is not None and seen.fused:
        columns.append(_column("fused", seen.fused, None, "The documents after fusion, before reranking."))
    shown = _column(SHOWN, retrieved.ids, retrieved.scores, "What the system returned.")
    places = {document: rank for rank, document in enumerate((seen.fused if seen is not None else None) or (), start=1)}
    entries = tuple(entry._replace(fused_rank=places.get(entry.item)) for entry in shown.entries)
    return [*columns, shown._replace(is_cut=True, entries=entries)]


def _column(name: str, documents: Sequence[str], scores: Sequence[float] | None, explains: str) -> RankedList:
    entries = [
        ListEntry(rank, document, document, None if scores is None else scores[rank - 1])
        for rank, document in enumerate(documents[:ROWS], start=1)
    ]
    return RankedList(name, tuple(entries), len(documents), "", explains)


def _find_gradings(debugged: DebuggedCase, mine: Mapping[str, int]) -> dict[str, Grading]:
    """Return the gold documents, the judged ones, and the viewer's own grades."""
    case, dataset = debugged.case, debugged.dataset
    if case is None or dataset is None:
        return {}
    gold = {item.document_id: item.grade for item in gold_of(dataset, case) if item.document_id is not None}
    known = {**case.labels, **gold}
    return {
        document: Grading(known.get(document), document in gold, mine.get(document)) for document in {**known, **mine}
    }


def _show_documents(debugged: DebuggedCase, columns: Sequence[RankedList]) -> list[ShownPassage]:
    """Return the documents of the columns with their texts, and gold that no list shows."""
    case, dataset = debugged.case, debugged.dataset
    entries = list_passages(columns)
    there = {entry.item for entry in entries}
    if case is not None and dataset is not None:
        gold = dict.fromkeys(item.document_id for item in gold_of(dataset, case) if item.document_id is not None)
        entries += [ListEntry(0, document, document) for document in gold if document not in there]
    return [_show(debugged, entry, number, columns) for number, entry in enumerate(entries, start=1)]


def _show(debugged: DebuggedCase, entry: ListEntry, number: int, columns: Sequence[RankedList]) -> ShownPassage:
    document = None if debugged.dataset is None else debugged.dataset.by_id.get(entry.item)
    fate = next((fate for fate in debugged.query.expected if fate.item == entry.item), None)
    return ShownPassage(
        number=number,
        passage=entry.passage,
        item=entry.item,
        title=entry.item if document is None else document.title or entry.item,
        address="",
        where="" if document is None else document.rel_path or document.folder,
        pieces=() if document is None else mark_matches(debugged.query.text, document.text[:LONGEST_DOCUMENT]),
        missing="" if document is not None else "The dataset of this run is not at hand, so its text is not known.",
        ranks=ranks_of(entry.passage, columns),
        moves=() if fate is None else (f"as gold: {report_wording.fate(fate)}",),
    )


def _compare(debugged: DebuggedCase, other: RunCases) -> dict[str, Any] | None:
    """Return the difference to the baseline's list; None: the baseline did not answer this query."""
    before = other.find(debugged.query.id)
    if before is None or before.retrieved is None:
        return None
    after = () if debugged.result is None or debugged.result.retrieved is None else debugged.result.retrieved.ids
    moves = compare_lists(before.retrieved.ids, after)
    known = {} if debugged.dataset is None else debugged.dataset.by_id
    titles = {move.item: known[move.item].title for move in moves if move.item in known}
    return {"moves": moves, "counts": count_moves(moves), "titles": titles}


def _find_ways(view: PageView, report: Report, query: Query) -> dict[str, Any]:
    """Return the addresses of the lost queries before and after this one, and how many there are."""
    places = {other.id: place for place, other in enumerate(report.queries)}
    lost = [other.id for other in report.queries if is_lost(other, report)]
    before = [other for other in lost if places[other] < places[query.id]]
    after = [other for other in lost if places[other] > places[query.id]]
    return {
        "lost": len(lost),
        "lost_place": lost.index(query.id) + 1 if query.id in lost else None,
        "next_lost": address_of(view, report.run_id, after[0]) if after else "",
        "last_lost": address_of(view, report.run_id, before[-1]) if before else "",
    }


def is_lost(query: Query, report: Report) -> bool:
    """Whether a query failed, missed gold, or lost to the baseline by the metric that movers are chosen by."""
    value, before = query.values.get(report.moved_by), query.before.get(report.moved_by)
    if query.missed > 0 or query.status != "ok":
        return True
    if value is None or before is None or value == before:
        return False
    return (value > before) == lower_is_better(report.moved_by)
