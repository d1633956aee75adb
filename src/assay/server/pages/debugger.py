"""`/evaluation/debugger`: why a query got these results, channel by channel, with every sum.

- A search made now, with the mode, weights and flags of the controls, beside another configuration if one is named.
- A search as the log recorded it: its own candidates, not those of a new search.
- Grades given in place, and searches that become cases of a dataset.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from starlette.responses import Response

from assay.access import acts
from assay.errors import BadValue, RecordNotFound
from assay.evaluation.labelling import KEYS
from assay.evaluation.search_cases import add_search_case, find_grades, new_search_dataset
from assay.evaluation.waterfall import gold_of
from assay.flags import FlagStates
from assay.records import Channel, Intent, Judgment, Mode, Origin, Tier
from assay.records.datasets import Case, Dataset
from assay.server.pages.debugged_search import (
    DebuggedSearch,
    list_columns,
    list_silent,
    list_stages,
    show_passages,
    take_apart,
)
from assay.server.pages.page import Page, Pages, PageView, go_to
from assay.server.pages.ranked_lists import (
    COLUMN_WIDTH,
    Grading,
    ListMove,
    RankedList,
    ShownPassage,
    compare_lists,
    join_lists,
)
from assay.server.pages.search_form import (
    AS_SERVED,
    BEYOND_CUT,
    FUSIONS,
    SearchForm,
    find_other_side,
    list_flag_controls,
    read_form,
    write_command,
)
from assay.storage import Work
from assay.verbs import judgments as judgment_verbs

pages = Pages("debugger")
ADDRESS = "/evaluation/debugger"
DATASET = "searches"
"""The dataset that grows when a search becomes a case."""
RELEVANT = 2
"""From this grade on a result counts as gold, as in datasets that name no other level."""
RECENT = 8
_KEEPING = threading.Lock()
"""One request at a time adds to a dataset: it is read, grows and is written."""
SAID = {
    **{f"graded-{key}": f"Your grade is kept: {key}, {meaning}." for key, meaning in KEYS.items()},
    "case": f"This search is a case of {DATASET} now.",
    "known": f"This search is a case of {DATASET} already.",
}
"""Notices by the code that an address may carry: an address cannot make the page say anything else."""


@pages.get("/evaluation/queries/search", acts.MEMORY_SEARCH)
def open_old_address(view: PageView) -> Response:
    """Lead the address that explanations had before to the debugger."""
    return go_to(ADDRESS + (f"?{view.request.url.query}" if view.request.url.query else ""))


@pages.get(ADDRESS, acts.MEMORY_SEARCH)
def debug_search(view: PageView) -> Page:
    """Search now, as the controls say, and take the search apart."""
    form = read_form(view)
    states = view.engine.flag_states(view.scope)
    context = {**_describe_controls(view, form, states), "recorded": None, "said": ""}
    if not form.query:
        return Page(template="debugger.html", context={**context, "search": None, "recent": _list_recent(view)})
    case = _find_case(view, form)
    search = _search_now(view, form, form.spec, states)
    other = _search_now(view, form, find_other_side(view, form.against, states), states) if form.against else None
    with view.engine.store.reading(view.scope) as work:
        gradings = _read_gradings(work.judgments.of_words(form.query), view.scope.identity)
        gold = {} if case is None else _find_held_gold(work, *case)
        shown = _describe_search(view, work, search, {**gradings, **gold}, rows=form.rows)
        compared = None if other is None else _compare(work, other, search, shown["gradings"])
    return Page(
        template="debugger.html",
        context={
            **context,
            **shown,
            "held": sum(grading.is_gold for grading in gold.values()),
            "gold": 0 if case is None else len(gold_of(*case)),
            "cut": form.k,
            "compared": compared,
            "command": write_command(view, form),
            "stages": [] if search.result is None else list_stages(search.result),
        },
    )


@pages.get(ADDRESS + "/searches/{query_id}", acts.SEARCH_READ)
def show_recorded(view: PageView) -> Page:
    """Show a search as the log recorded it: nothing is searched for."""
    query_id = view.path["query_id"]
    view.engine.store.log.make_sure_of(query_id)
    with view.engine.store.reading(view.scope) as work:
        logged = work.queries.get(query_id)
        search = take_apart(logged.query, logged)
        gradings = _read_gradings(work.judgments.of(query_id), view.scope.identity)
        shown = _describe_search(view, work, search, gradings, rows=max(logged.result_count + BEYOND_CUT, 10))
    again = {
        "q": logged.query,
        "k": logged.result_count or view.settings.search_k,
        **({} if logged.previous_query is None else {"previous": logged.previous_query}),
    }
    return Page(
        template="debugger.html",
        context={
            **shown,
            "recorded": logged,
            "again": f"{ADDRESS}?{urlencode(again)}",
            "cut": logged.result_count or None,
            "compared": None,
            "command": "",
            "stages": [],
            "said": SAID.get(view.query_value("said"), ""),
        },
    )


@pages.post(ADDRESS + "/searches/{query_id}/grade", acts.JUDGMENT_WRITE)
def grade_result(view: PageView) -> Response:
    """Keep the caller's grade of a memory for a search."""
    key, query_id = view.form_value("key"), view.path["query_id"]
    if key not in KEYS:
        raise BadValue(f"there is no grade {key!r}", remedy="Press 0 to 3.")
    given = {"query_id": query_id, "memory_id": view.form_value("item"), "relevance": int(key)}
    view.call(judgment_verbs.ADD, judgments=[given])
    return go_to(f"{ADDRESS}/searches/{quote(query_id)}?said=graded-{key}")


@pages.post(ADDRESS + "/searches/{query_id}/case", acts.CASE_ADD)
def make_case(view: PageView) -> Response:
    """Make a search a case of a dataset, with its results to label and the grades it has."""
    query_id, shelf = view.path["query_id"], view.shelf
    view.engine.store.log.make_sure_of(query_id)
    with _KEEPING:
        dataset = _load_cases(view)
        if any(case.id == query_id for case in dataset.cases):
            return go_to(f"{ADDRESS}/searches/{quote(query_id)}?said=known")
        with view.engine.store.reading(view.scope) as work:
            logged = work.queries.get(query_id)
            made = add_search_case(work, dataset, logged)
        shelf.keep_dataset(made, origin="searches", replacing=True)
    return go_to(f"{ADDRESS}/searches/{quote(query_id)}?said=case")


def _load_cases(view: PageView) -> Dataset:
    try:
        return view.shelf.load_dataset(DATASET)
    except RecordNotFound:
        return new_search_dataset(DATASET, view.clock.now())


def _search_now(view: PageView, form: SearchForm, spec: str, states: FlagStates) -> DebuggedSearch:
    """Search with what is served, and over it what a spec changes; read what every channel offered from the log."""
    served = tuple(
        state.flag.spec
        for state in states.variants
        if not state.flag.is_outside and state.enabled(view.scope.principal)
    )
    specs = (*served, spec) if spec else served
    request = form.make_request(view.settings.search_min_relevance or None)
    searcher = view.engine.variant(specs) if specs else view.engine.searcher
    result = searcher.search(view.scope, request)
    view.engine.store.log.make_sure_of(result.query_id)
    with view.engine.store.reading(view.scope) as work:
        try:
            return take_apart(form.query, work.queries.get(result.query_id), result)
        except RecordNotFound:
            # The log was full and dropped it: the page says so, and shows what the result itself tells.
            return take_apart(form.query, None, result)


def _describe_controls(view: PageView, form: SearchForm, states: FlagStates) -> dict[str, Any]:
    return {
        "form": form,
        "modes": [mode.value for mode in Mode],
        "intents": [intent.value for intent in Intent],
        "fusions": FUSIONS,
        "channels": [channel.value for channel in Channel],
        "tiers": [tier.value for tier in Tier],
        "folders": view.engine.folders(view.scope),
        "flags": list_flag_controls(form, states, view.scope.principal),
        "sides": [AS_SERVED, *(state.flag.name for state in states.variants if not state.flag.is_outside)],
        "pin": view.with_query(against=form.spec or AS_SERVED),
        "unpin": view.with_query(against=None),
    }


def _describe_search(
    view: PageView, work: Work, search: DebuggedSearch, gradings: Mapping[str, Grading], *, rows: int
) -> dict[str, Any]:
    """Return what the page shows of a search, made now or recorded."""
    columns = list_columns(search, rows)
    passages = show_passages(work, search, columns)
    return {
        "search": search,
        "silent": list_silent(search),
        **describe_lists(columns, passages, gradings),
        "grade_at": "" if search.logged is None else f"{ADDRESS}/searches/{quote(search.logged.query_id)}/grade",
        "case_at": "" if search.logged is None else f"{ADDRESS}/searches/{quote(search.logged.query_id)}/case",
        "may_grade": search.logged is not None and view.grant.allows(acts.JUDGMENT_WRITE.policy),
        "may_keep": search.logged is not None and view.grant.allows(acts.CASE_ADD.policy),
        "case_dataset": DATASET,
    }


def describe_lists(
    columns: Sequence[RankedList], passages: Sequence[ShownPassage], gradings: Mapping[str, Grading]
) -> dict[str, Any]:
    """Return what `ranked_lists.html` draws: columns, lines, passages, grades."""
    return {
        "columns": columns,
        "lines": join_lists(columns),
        "height": max((len(column.entries) for column in columns), default=0),
        "width": COLUMN_WIDTH * len(columns),
        "passages": passages,
        "numbers": {passage.passage: passage.number for passage in passages},
        "titles": {passage.item: passage.title for passage in passages},
        "gradings": gradings,
        "keys": KEYS,
    }


def _read_gradings(grades: Sequence[Judgment], identity: str) -> dict[str, Grading]:
    """Return what is known of each memory: the most trusted grade, and the viewer's own."""
    mine = {grade.memory_id: grade.relevance for grade in grades if grade.annotator == identity}
    return {
        memory_id: Grading(grade, grade >= RELEVANT, mine.get(memory_id))
        for memory_id, grade in find_grades(grades).items()
    }


def _find_case(view: PageView, form: SearchForm) -> tuple[Dataset, Case] | None:
    """Return the case whose gold is marked; None: none is named. Raises `RecordNotFound` for one that is not there."""
    if not form.case_id:
        return None
    dataset = view.shelf.load_dataset(form.dataset)
    case = next((case for case in dataset.cases if case.id == form.case_id), None)
    if case is None:
        raise RecordNotFound(f"{form.dataset} has no case {form.case_id!r}", remedy="Take the case out of the address.")
    return dataset, case


def _find_held_gold(work: Work, dataset: Dataset, case: Case) -> dict[str, Grading]:
    """Return the grades of a case's documents by the memories that hold them: the same id or source, the same words."""
    gold = {item.document_id: item.grade for item in gold_of(dataset, case) if item.document_id is not None}
    known: dict[str, int | None] = {**case.labels, **gold}
    found = {}
    for memory in work.memories.current_texts(sorted(known)):
        for name in (memory.id, memory.source_id):
            document = dataset.by_id.get(name or "")
            if document is not None and document.text.split() == memory.body.split():
                found[memory.id] = Grading(known[document.id], document.id in gold)
    return found


def _compare(
    work: Work, other: DebuggedSearch, search: DebuggedSearch, gradings: Mapping[str, Grading]
) -> dict[str, Any]:
    """Return the difference of two searches: from the other side to this one."""
    moves = compare_lists(other.result_ids, search.result_ids)
    memories = work.memories.by_ids({move.item for move in moves})
    return {
        "moves": moves,
        "counts": count_moves(moves),
        "titles": {memory_id: memory.title for memory_id, memory in memories.items()},
        "gradings": gradings,
    }


def count_moves(moves: Sequence[ListMove]) -> dict[str, int]:
    """Return how many entered, left, moved and stayed."""
    return {kind: sum(move.kind == kind for move in moves) for kind in ("entered", "left", "moved", "stayed")}


def _list_recent(view: PageView) -> list[Any]:
    """Return the newest searches of use, to open as they were recorded."""
    with view.engine.store.reading(view.scope) as work:
        return work.queries.recent(limit=RECENT, origin=Origin.USE)
