"""`/find`: pages, memories, questions, runs and flags by a few words; the command palette reads the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote, urlencode

from assay.access import acts
from assay.flags import FLAGS
from assay.records.research_log import ResearchFilter
from assay.server.pages import lists
from assay.server.pages.lists import ListColumn
from assay.server.pages.page import Page, Pages, PageView, list_menu
from assay.server.pages.runs import list_entries

pages = Pages("find")
OF_EACH = 6
"""Results of each kind."""
LONGEST_WORDS = 200


class FindResult(NamedTuple):
    """Something that can be opened."""

    kind: str
    title: str
    address: str
    detail: str = ""


COLUMNS = (
    ListColumn[FindResult](name="kind", value=lambda found: found.kind, sorts=False),
    ListColumn[FindResult](name="title", value=lambda found: found.title, sorts=False),
    ListColumn[FindResult](name="detail", value=lambda found: found.detail, sorts=False),
    ListColumn[FindResult](name="address", value=lambda found: found.address, sorts=False, shown=False),
)


@pages.get("/find", acts.MEMORY_SEARCH)
def find(view: PageView) -> Page:
    """Find what some words name; a search in the texts of memories is offered as the last result."""
    words = view.query_value("q")[:LONGEST_WORDS]
    found = list(_find_all(view, words))
    listed = lists.list_rows(view, found, COLUMNS, name="found", what="result")
    return Page(template="find.html", context={"words": words}, listed=listed)


def _find_all(view: PageView, words: str) -> Iterator[FindResult]:
    yield from _find_pages(view, words)
    if not words:
        return
    with view.engine.store.reading(view.scope) as work:
        memories = work.memory_lists.titled(words, limit=OF_EACH)
        questions = work.research.page(ResearchFilter(text=words), limit=OF_EACH).sessions
    yield from (
        FindResult("memory", memory.title, f"/memory/{quote(memory.memory_id)}", memory.folder) for memory in memories
    )
    yield from (
        FindResult("question", session.question, f"/evaluation/queries/{quote(session.log_id)}")
        for session in questions
    )
    yield from _find_runs(view, words)
    yield from (
        FindResult("flag", name.replace("_", " "), f"/evaluation/experiments/{quote(name)}")
        for name in FLAGS
        if _contains(name.replace("_", " "), words) or _contains(name, words)
    )
    yield FindResult("search", f"Search memories for “{words}”", f"/memory?{urlencode({'q': words})}")


def _find_pages(view: PageView, words: str) -> Iterator[FindResult]:
    for entry in list_menu(view.request):
        if _contains(entry.title, words):
            yield FindResult("page", entry.title, entry.address, entry.group)


def _find_runs(view: PageView, words: str) -> Iterator[FindResult]:
    found = (entry for entry in list_entries(view) if _contains(entry.name, words) or entry.run_id == words)
    for entry in islice(found, OF_EACH):
        yield FindResult("run", entry.name, f"/evaluation/runs/{quote(entry.run_id)}", entry.dataset)


def _contains(text: str, words: str) -> bool:
    return words.casefold() in text.casefold()
