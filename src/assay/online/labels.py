"""Relevance labels from use: what was called useful or read after a search, and what the click model makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from assay.evaluation.harvesting import weak_grades
from assay.hashing import query_key
from assay.online.interleaving import find_used
from assay.records import Judgment, JudgmentSource, LoggedQuery, Origin, Scope
from assay.statistics.online_tests import Showing, attractions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from assay.judging.relevance import RelevanceGrader
    from assay.storage import Store, Work


# --- Labels from clicks, corrected for position ---
#
# A memory read, reused or called useful after a search counts as clicked; the arithmetic is in
# `statistics/online_tests.py`. What is used clearly more often than its places explain is grade 2, what was shown for
# long and used clearly less often is grade 0, and what cannot be told has no judgment at all. Confidence is the chance
# behind it.

ANNOTATOR = "clicks_over_expected"
FROM_USE = "use"
"""The annotator of what events say by themselves."""
SHOWN = 5
"""Results of a search that a model grades."""
SURE = 0.9
"""The chance above which a memory counts as used more often than its places explain, or less."""
USED, UNUSED = 2, 0
MOST = 10_000


def showings(store: Store, scope: Scope, *, limit: int = MOST) -> list[tuple[LoggedQuery, list[Showing]]]:
    """The newest searches of use, oldest first, with what was shown where and what of it was used."""
    store.log.flush()
    with store.reading(scope) as work:
        queries = work.queries.recent(limit=limit, origin=Origin.USE)[::-1]
        taken = {query.query_id: find_used(work.feedback.of_query(query.query_id)) for query in queries}
    return [(query, _list_showings(query, taken[query.query_id])) for query in queries]


def click_judgments(found: Sequence[tuple[LoggedQuery, list[Showing]]], *, at: datetime) -> list[Judgment]:
    """Return judgments for the newest query of each wording, where there is enough use."""
    newest = {showing.query: query.query_id for query, shown in found for showing in shown}
    every: Iterable[Showing] = (showing for _, shown in found for showing in shown)
    made = []
    for (key, memory_id), seen in attractions(every).items():
        above = seen.above_average
        if above >= SURE or above <= 1.0 - SURE:
            made.append(
                Judgment(
                    query_id=newest[key],
                    memory_id=memory_id,
                    relevance=USED if above >= SURE else UNUSED,
                    source=JudgmentSource.CLICK_MODEL,
                    annotator=ANNOTATOR,
                    confidence=above if above >= SURE else 1.0 - above,
                    created_at=at,
                )
            )
    return made


def _list_showings(query: LoggedQuery, taken: set[str]) -> list[Showing]:
    key = query_key(query.query)
    return [
        Showing(key, memory_id, place, memory_id in taken) for place, memory_id in enumerate(query.result_ids, start=1)
    ]


# --- Everything that use says, kept as judgments ---


class CollectedUse(NamedTuple):
    """How many judgments of each source use gave."""

    validated: int
    implicit: int
    click_model: int


def collect_from_use(store: Store, scope: Scope, *, at: datetime, limit: int = MOST) -> CollectedUse:
    """Keep what use says of results as judgments, in place of what it said before; people's grades stay as they are.

    A memory that somebody called useful, or not, is `validated`; one that was read or referred to is `implicit`; what
    was used clearly more or less than its places explain is `click_model`.
    """
    found = showings(store, scope, limit=limit)
    clicks = click_judgments(found, at=at)
    with store.writing(scope) as work:
        used = [judgment for query, _ in found for judgment in _judge_use(work, query.query_id, at)]
        known = set(work.memories.numbers_of([judgment.memory_id for judgment in (*used, *clicks)]))
        kept = [judgment for judgment in (*used, *clicks) if judgment.memory_id in known]
        work.judgments.replace_of((JudgmentSource.VALIDATED, JudgmentSource.IMPLICIT, JudgmentSource.CLICK_MODEL), kept)
        counts = {source: sum(judgment.source is source for judgment in kept) for source in JudgmentSource}
        work.audit.append("judgments.collect", "use", {str(source): count for source, count in counts.items() if count})
    return CollectedUse(
        validated=counts[JudgmentSource.VALIDATED],
        implicit=counts[JudgmentSource.IMPLICIT],
        click_model=counts[JudgmentSource.CLICK_MODEL],
    )


def _judge_use(work: Work, query_id: str, at: datetime) -> Iterator[Judgment]:
    for grade in weak_grades(work.feedback.of_query(query_id), (), pool={}):
        yield Judgment(
            query_id=query_id,
            memory_id=grade.document_id,
            relevance=grade.grade,
            source=grade.source,
            annotator=FROM_USE,
            confidence=grade.confidence,
            created_at=at,
        )


# --- A model's grades of what was found ---


class GradedByModel(NamedTuple):
    """What a model's grading came to."""

    graded: int
    failed: int
    problems: tuple[str, ...]
    """Different reasons why a pair has no grade, a few of them."""


OpenGrader = Callable[[], "RelevanceGrader"]


def grade_by_model(
    store: Store, scope: Scope, open_grader: OpenGrader, annotator: str, *, most: int, at: datetime
) -> GradedByModel:
    """Let a model grade pairs of question and memory, those first that people graded: they decide its admission.

    Pairs that it graded before are left out.
    """
    store.log.flush()
    with store.reading(scope) as work:
        pairs = _pairs_to_grade(work, annotator, most)
        notes = {pair: work.memories.get(pair.memory_id) for pair in pairs}
    if not notes:
        # Nothing to ask: whether a model is set up does not matter.
        return GradedByModel(0, 0, ())
    grader = open_grader()
    made, problems = [], []
    for pair, note in notes.items():
        given = grader.grade(pair.text, note.title, note.body)
        if given.grade is None:
            problems.append(given.problem)
            continue
        made.append(
            Judgment(
                query_id=pair.query_id,
                memory_id=pair.memory_id,
                relevance=given.grade,
                source=JudgmentSource.LLM_JUDGE,
                annotator=annotator,
                created_at=at,
            )
        )
    with store.writing(scope) as work:
        work.judgments.put_many(made)
        work.audit.append("judgments.put", annotator, {"kept": len(made), "given_by": annotator, "changed": []})
    return GradedByModel(len(made), len(problems), tuple(dict.fromkeys(problems))[:5])


class _PairToGrade(NamedTuple):
    query_id: str
    memory_id: str
    text: str


def _pairs_to_grade(work: Work, annotator: str, most: int) -> list[_PairToGrade]:
    judged = work.judgments.with_texts((JudgmentSource.MANUAL, JudgmentSource.LLM_JUDGE))
    done = {
        (query_key(text), judgment.memory_id)
        for text, judgment in judged
        if judgment.source is JudgmentSource.LLM_JUDGE and judgment.annotator == annotator
    }
    wanted: dict[tuple[str, str], _PairToGrade] = {}
    for text, judgment in judged:
        if judgment.source is JudgmentSource.MANUAL:
            pair = _PairToGrade(judgment.query_id, judgment.memory_id, text)
            wanted.setdefault((query_key(text), judgment.memory_id), pair)
    for query in work.queries.recent(limit=MOST, origin=Origin.USE):
        for memory_id in query.result_ids[:SHOWN]:
            wanted.setdefault((query_key(query.query), memory_id), _PairToGrade(query.query_id, memory_id, query.query))
    left = [pair for key, pair in wanted.items() if key not in done]
    known = work.memories.numbers_of([pair.memory_id for pair in left])
    return [pair for pair in left if pair.memory_id in known][:most]
