"""The whole analysis on demand: aggregates, patterns and suggestions over the sessions of a filter.

`analyze` is what the command line and the server call; `compare_prompts` the same for two versions of a prompt. Both
read only. Patterns are looked for in the newest `MOST_SESSIONS` sessions, so that time and memory stay bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from assay.analysis.aggregates import aggregate
from assay.analysis.patterns import find_patterns, word_suggestion
from assay.analysis.prompt_comparison import compare_versions
from assay.analysis.prompts import PromptBook
from assay.errors import BadValue, NothingMeasured
from assay.models.chat import ChatModel
from assay.records import Scope
from assay.records.analysis import Aggregates, Analysis, Pattern, PatternOptions, Patterns, PromptComparison
from assay.records.research_log import ResearchFilter, ResearchSession
from assay.storage import Store
from assay.storage.repositories.research import LARGEST_PAGE
from assay.storage.work import Work

MOST_SESSIONS = 50_000
MOST_WORDED = 10
"""How many suggestions a model words: those of the costliest patterns."""


def analyze(
    store: Store,
    scope: Scope,
    wanted: ResearchFilter | None = None,
    *,
    options: PatternOptions | None = None,
    model: ChatModel | None = None,
) -> Analysis:
    """Aggregate the sessions of a filter and look for patterns in them; a model, if given, words the suggestions."""
    with store.reading(scope) as work:
        aggregates = sum_up(work, wanted)
        if not aggregates.sessions:
            raise NothingMeasured("no session fits", remedy='Ask something first (assay ask "..."), or filter less.')
        patterns = look_for_patterns(work, wanted, options)
    if model is not None:
        patterns = replace(patterns, found=_word_patterns(patterns.found, PromptBook(store), scope, model))
    return Analysis(aggregates=aggregates, patterns=patterns)


def sum_up(work: Work, wanted: ResearchFilter | None) -> Aggregates:
    """Return what the sessions of a filter add up to."""
    return aggregate(work.research.totals(wanted), work.research.count_repeats(wanted))


def look_for_patterns(work: Work, wanted: ResearchFilter | None, options: PatternOptions | None = None) -> Patterns:
    """Return what low scores of the newest sessions of a filter have in common."""
    # One more than is looked at tells whether there are more.
    sessions = list(newest(work, wanted, MOST_SESSIONS + 1))
    found = find_patterns(sessions[:MOST_SESSIONS], options)
    return replace(found, cut=len(sessions) > MOST_SESSIONS)


def compare_prompts(
    store: Store, scope: Scope, prompt_id: str, first: int, second: int, *, rng: np.random.Generator
) -> PromptComparison:
    """What sessions came to under two versions of a prompt."""
    if first == second:
        raise BadValue(f"both versions are {first}", remedy="Give two versions of the prompt.")
    book = PromptBook(store)
    one, two = (book.wording(scope, prompt_id, version).key for version in (first, second))
    with store.reading(scope) as work:
        sessions = [list(newest(work, ResearchFilter(prompt_version=key), MOST_SESSIONS)) for key in (one, two)]
    for key, found in zip((one, two), sessions, strict=True):
        if not found:
            raise NothingMeasured(
                f"no session used {key}", remedy=f"Use it for a while: assay prompts use {key.replace('@', ' ')}"
            )
    return compare_versions((one, sessions[0]), (two, sessions[1]), rng=rng)


def newest(work: Work, wanted: ResearchFilter | None, most: int) -> Iterator[ResearchSession]:
    """The newest sessions of a filter, page after page."""
    after, left = None, most
    while left > 0:
        page = work.research.page(wanted, after=after, limit=min(left, LARGEST_PAGE))
        yield from page.sessions
        after, left = page.after, left - len(page.sessions)
        if after is None:
            return


def _word_patterns(found: tuple[Pattern, ...], book: PromptBook, scope: Scope, model: ChatModel) -> tuple[Pattern, ...]:
    prompts = book.in_use(scope)
    asked = (
        replace(pattern, suggestion=word_suggestion(pattern, prompts[pattern.suggestion.prompt_id].text, model))
        for pattern in found[:MOST_WORDED]
    )
    return (*asked, *found[MOST_WORDED:])
