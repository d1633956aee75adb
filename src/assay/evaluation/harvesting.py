"""Build a dataset from real use: logged queries, pooled results and grades inferred from use.

- Sampling the query log.
- Pooling: what several search modes find.
- Grades inferred from use, marked as weak.
- Choosing the queries to label by hand.
- The dataset and its labelling tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadValue, NothingMeasured
from assay.evaluation.labelling import Task
from assay.hashing import HASH_PREFIX, content_hash
from assay.judging.admission import admit_models
from assay.records import (
    Channel,
    Edge,
    EventType,
    FeedbackEvent,
    Intent,
    Judgment,
    JudgmentSource,
    LoggedQuery,
    MemoryRecord,
    Mode,
    Origin,
    Scope,
    SearchRequest,
)
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evidence import ACCEPTED_SOURCES, PLANNED_SEARCH, JudgmentReader
from assay.records.memory import RESERVED
from assay.text.terms import normalise_phrase, words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from assay.memory.engine import Engine
    from assay.storage import Work

# --- Sampling the query log ---
#
# Only what was asked in use counts: an evaluation that fed on its own questions would measure itself. A search that a
# planner made for a question counts as that question, never in the planner's words. Two questions with the same words
# are one. Shares are given by largest remainder; an intent with fewer questions than its share gives what it has, and
# the rest goes to the others.

NO_QUESTION = frozenset({"match_triggers", "memory_match_triggers", PLANNED_SEARCH})
"""Tools whose text is not a question of a user: drafts checked against triggers, and searches of a planner."""
ASKED = "assay ask"
"""The tool of a search made to answer a user's question."""
MOST_READ = 100_000
"""Lines of the log that are looked at, newest first."""


class By(StrEnum):
    """Which questions of an intent come first."""

    NEWEST = "newest"
    FREQUENT = "frequent"
    RANDOM = "random"


@dataclass(frozen=True, kw_only=True, slots=True)
class Harvested:
    """One question, with every time it was searched for."""

    query: str
    """The newest wording."""
    intent: Intent | None
    times: int
    last_asked: datetime
    query_ids: tuple[str, ...]
    """Times of its searches, newest first."""


def harvest(work: Work, *, limit: int = MOST_READ) -> list[Harvested]:
    """Every question of the log, the newest first."""
    questions = work.research.questions_searched_for()
    return distinct(_as_asked(query, questions) for query in work.queries.recent(limit=limit, origin=Origin.USE))


def _as_asked(logged: LoggedQuery, questions: Mapping[str, str]) -> LoggedQuery:
    """Return a search with the user's own question, where the search was made to answer one."""
    question = questions.get(logged.query_id)
    return logged if question is None else replace(logged, query=question, tool_name=ASKED)


def distinct(logged: Iterable[LoggedQuery]) -> list[Harvested]:
    """Questions with the same words as one; `logged` has the newest first."""
    asked: dict[str, list[LoggedQuery]] = {}
    for query in logged:
        words = normalise_phrase(query.query)
        if query.origin is Origin.USE and words and query.tool_name not in NO_QUESTION and query.result_ids:
            asked.setdefault(words, []).append(query)
    found = [_merge_repeats(times) for times in asked.values()]
    if not found:
        raise NothingMeasured(
            "the query log has no usable query: none that was asked in use, has words and found something",
            remedy="Search for some days first; evaluations, canaries and shadows do not count.",
        )
    return found


def _merge_repeats(times: Sequence[LoggedQuery]) -> Harvested:
    newest = times[0]
    return Harvested(
        query=newest.query.strip(),
        intent=next((intent for intent in Intent if intent.value == newest.intent), None),
        times=len(times),
        last_asked=newest.created_at,
        query_ids=tuple(time.query_id for time in times),
    )


def sample(found: Sequence[Harvested], size: int, by: By, rng: np.random.Generator) -> list[Harvested]:
    """So many questions, every intent with its share, in the order of the log."""
    groups: dict[str, list[Harvested]] = {}
    for question in found:
        groups.setdefault(question.intent or "", []).append(question)
    shares = largest_remainder({name: len(group) for name, group in groups.items()}, size)
    chosen = {id(question) for name, group in groups.items() for question in _first(group, by, rng)[: shares[name]]}
    return [question for question in found if id(question) in chosen]


def _first(group: Sequence[Harvested], by: By, rng: np.random.Generator) -> list[Harvested]:
    if by is By.RANDOM:
        return [group[place] for place in rng.permutation(len(group))]
    if by is By.FREQUENT:
        return sorted(group, key=lambda item: -item.times)
    return sorted(group, key=lambda item: item.last_asked, reverse=True)


def largest_remainder(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """How many of `total` each group gives, in proportion to its size and never more than it has."""
    whole = sum(sizes.values())
    if total >= whole:
        return dict(sizes)
    exact = {name: total * size / whole for name, size in sizes.items()}
    shares = {name: int(share) for name, share in exact.items()}
    left = total - sum(shares.values())
    for name in sorted(exact, key=lambda name: (shares[name] - exact[name], name))[:left]:
        shares[name] += 1
    return shares


# --- Pooling: what several search modes find ---
#
# Searches are asked as an evaluation: nothing learns from them.

DEPTH = 20
WAYS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "as it is": {},
        "words": {"channels": (Channel.FTS5, Channel.BM25)},
        "meaning": {"channels": (Channel.VECTOR,)},
        "deep": {"mode": Mode.DEEP},
    }
)
"""How each of them searches."""


def pool(engine: Engine, scope: Scope, query: str, *, depth: int = DEPTH) -> dict[str, set[str]]:
    """Memories in the first places of any way, best first, each with the channels that found it."""
    found: dict[str, set[str]] = {}
    lists = [_search_pool(engine, scope, query, depth, way) for way in WAYS.values()]
    for rank in range(depth):
        for hits in lists:
            if rank < len(hits):
                memory, channels = hits[rank]
                found.setdefault(memory, set()).update(channels)
    return found


def _search_pool(
    engine: Engine, scope: Scope, query: str, depth: int, way: Mapping[str, Any]
) -> list[tuple[str, tuple[str, ...]]]:
    request = SearchRequest(query=query, k=depth, origin=Origin.EVALUATION, tool_name="assay dataset build", **way)
    result = engine.searcher.search(scope, request)
    return [(hit.memory_id, tuple(channel.value for channel in hit.channels)) for hit in result.hits]


# --- Grades inferred from use, marked as weak ---
#
# Validated useful 3, validated not useful 0 (the last word counts), selected 2: read or referred to after the search.
# What was shown and left alone has no grade, since nobody looked at it; `unjudged` gives it one all the same, for
# numbers that are to be compared with those of pooled grades. Grades that people or a judge gave stay what they are.

VALIDATED_CONFIDENCE = 0.9
"""A person stated it explicitly."""
SELECTED_CONFIDENCE = 0.5
"""It was opened; whether it helped is not known."""
UNJUDGED_CONFIDENCE = 0.1
"""Never viewed."""

_VALIDATED = {EventType.VALIDATE_USEFUL: 3, EventType.VALIDATE_NOT_USEFUL: 0}
_SELECTED = frozenset({EventType.READ_AFTER_SEARCH, EventType.REFERENCE})
SELECTED_GRADE = 2


def weak_grades(
    events: Sequence[FeedbackEvent],
    judgments: Iterable[Judgment],
    *,
    pool: Mapping[str, Collection[str]],
    unjudged: int | None = None,
) -> tuple[Grade, ...]:
    """The grades of one question's results. `pool` has the channels that found each result."""
    found = {
        (judgment.document_id, judgment.source, judgment.annotator): judgment
        for judgment in _of_judgments(judgments, pool)
    }
    for event in _of_events(events, pool):
        found.setdefault((event.document_id, event.source, event.annotator), event)
    known = {document for document, _, _ in found}
    rest = (
        []
        if unjudged is None
        else [_grade_unjudged(memory_id, pool, unjudged) for memory_id in pool if memory_id not in known]
    )
    return (*found.values(), *rest)


def _of_judgments(judgments: Iterable[Judgment], pool: Mapping[str, Collection[str]]) -> Iterable[Grade]:
    # A newer grade of the same judge, for the question asked again, comes later and stands.
    for judgment in sorted(judgments, key=lambda given: given.created_at):
        yield Grade(
            document_id=judgment.memory_id,
            grade=judgment.relevance,
            source=judgment.source,
            annotator=judgment.annotator,
            confidence=judgment.confidence,
            channels=_channels(judgment.memory_id, pool),
        )


def _of_events(events: Sequence[FeedbackEvent], pool: Mapping[str, Collection[str]]) -> Iterable[Grade]:
    ordered = sorted((event for event in events if event.memory_id), key=lambda item: item.created_at)
    validated = {event.memory_id: _VALIDATED[event.event_type] for event in ordered if event.event_type in _VALIDATED}
    selected = {event.memory_id for event in ordered if event.event_type in _SELECTED}
    for memory, grade in validated.items():
        yield _grade(memory, grade, JudgmentSource.VALIDATED, VALIDATED_CONFIDENCE, pool)
    for memory in sorted(selected - validated.keys(), key=str):
        yield _grade(memory, SELECTED_GRADE, JudgmentSource.IMPLICIT, SELECTED_CONFIDENCE, pool)


def _grade_unjudged(memory: str, pool: Mapping[str, Collection[str]], grade: int) -> Grade:
    return _grade(memory, grade, JudgmentSource.BOOTSTRAPPED, UNJUDGED_CONFIDENCE, pool)


def _grade(
    memory: str | None, grade: int, source: JudgmentSource, confidence: float, pool: Mapping[str, Collection[str]]
) -> Grade:
    return Grade(
        document_id=str(memory),
        grade=grade,
        source=source,
        confidence=confidence,
        channels=_channels(str(memory), pool),
    )


def _channels(memory: str, pool: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    return tuple(sorted(pool.get(memory, ())))


# --- Choosing the queries to label by hand ---
#
# Farthest-point traversal: the first is the one nearest to the middle; each next one is the one whose nearest
# neighbour among the picked is farthest away. Every intent has its share, so that no common intent takes all the
# places.

Matrix = NDArray[np.floating]


def most_diverse(vectors: Matrix, intents: Sequence[str], count: int) -> list[int]:
    """The places of so many questions, in the order they were picked. One unit vector a row."""
    left = largest_remainder({name: intents.count(name) for name in sorted(set(intents))}, count)
    far = 1.0 - vectors @ _middle(vectors)
    picked: list[int] = []
    nearest = np.full(len(vectors), np.inf)
    while len(picked) < min(count, len(vectors)):
        open_ = np.array([left[name] > 0 and place not in picked for place, name in enumerate(intents)])
        # Before the first pick, the most typical; later, the farthest from all picks.
        worth = -far if not picked else nearest
        place = int(np.argmax(np.where(open_, worth, -np.inf)))
        picked.append(place)
        left[intents[place]] -= 1
        nearest = np.minimum(nearest, 1.0 - vectors @ vectors[place])
    return picked


def word_vectors(queries: Sequence[str]) -> Matrix:
    """Questions by their words alone, for where there is no embedder."""
    told = [set(words(query)) for query in queries]
    vocabulary = {word: place for place, word in enumerate(sorted(set().union(*told)))}
    rows = np.zeros((len(queries), max(1, len(vocabulary))))
    for row, found in zip(rows, told, strict=True):
        row[[vocabulary[word] for word in found]] = 1.0
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Matrix = np.divide(rows, lengths, out=rows, where=lengths > 0)
    return unit


def _middle(vectors: Matrix) -> Matrix:
    mean: Matrix = vectors.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return mean / length if length > 0 else mean


# --- The dataset and its labelling tasks ---
#
# The documents are all current memories of the scope, not the pooled ones alone: with nothing else to be found, every
# number would be too good. Their ids stay, so that judgments can be traced to the store.

HARVESTED = "harvested"
"""The tag of every case made here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildOptions:
    """How to build."""

    name: str = "use"
    version: str = "1.0.0"
    size: int = 200
    by: By = By.NEWEST
    to_label: int = 50
    unjudged: int | None = None
    """The grade of what was found and never judged; None: it has none."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.size < 1 or self.to_label < 0:
            raise BadValue(f"{self.size} cases, {self.to_label} to label", remedy="Ask for one case or more.")
        if self.unjudged is not None and not 0 <= self.unjudged <= 3:
            raise BadValue(f"unjudged {self.unjudged} is not a grade", remedy="Give a grade from 0 to 3.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """What came of it."""

    dataset: Dataset
    tasks: tuple[Task, ...]
    """What to label by hand: every candidate of the most diverse questions."""
    harvested: int
    """Distinct questions of the log."""
    notes: tuple[str, ...]

    @property
    def graded(self) -> int:
        """Cases with a grade at least."""
        return sum(1 for case in self.dataset.cases if case.grades)


def build(engine: Engine, scope: Scope, options: BuildOptions) -> Built:
    """Make a dataset from the queries logged in a scope."""
    rng = np.random.default_rng(options.seed)
    engine.store.log.flush()
    with engine.store.reading(scope) as work:
        found = harvest(work)
        documents = {document.id: document for document in _current(work)}
        edges = tuple(_edges(work, documents))
    chosen = sample(found, options.size, options.by, rng)
    pools = [
        {memory_id: by for memory_id, by in pool(engine, scope, question.query).items() if memory_id in documents}
        for question in chosen
    ]
    with engine.store.writing(scope) as work:
        admitted = _find_admitted(work)
        cases = [
            _case(work, question, of, documents, options=options, admitted=admitted)
            for question, of in zip(chosen, pools, strict=True)
        ]
        asked = [query_id for question in chosen for query_id in question.query_ids]
        # Searches that a dataset was made of stay when old ones leave the log.
        work.queries.mark_corpus(asked, category=options.name)
    picked, note = _to_label(engine, cases, options.to_label)
    tasks = [
        Task(
            case_id=cases[place].id,
            query=cases[place].query,
            document_id=pool,
            title=documents[pool].title,
            text=documents[pool].text,
        )
        for place in picked
        for pool in pools[place]
    ]
    dataset = Dataset(
        name=options.name,
        version=options.version,
        description="Questions that were asked in use, with what use says of their answers.",
        created_at=_day(engine.clock.now()),
        documents=tuple(documents.values()),
        cases=tuple(cases),
        edges=edges,
    )
    return Built(dataset=dataset, tasks=tuple(tasks), harvested=len(found), notes=tuple(filter(None, [note])))


def _current(work: Work) -> Iterator[Document]:
    after = ""
    while page := work.memories.page(after=after):
        after = page[-1].id
        yield from (_document(memory) for memory in page if memory.superseded_at is None)


def _document(memory_record: MemoryRecord) -> Document:
    return Document(
        id=memory_record.id,
        text=memory_record.body,
        title=memory_record.title,
        entity_type=memory_record.entity_type,
        format=memory_record.format,
        rel_path=memory_record.rel_path,
        folder=memory_record.folder,
        tags=memory_record.tags,
        # The store's own marks, such as that a program wrote it, are refused where the dataset is taken in for a run.
        metadata={name: value for name, value in memory_record.metadata.items() if name != RESERVED},
        tier=memory_record.tier,
        triggers=memory_record.triggers,
        dated=memory_record.valid_from,
    )


def _edges(work: Work, documents: dict[str, Document]) -> Iterator[Edge]:
    if not work.edges.count():
        return
    for ident in documents:
        for edge in work.edges.of(ident):
            if edge.source_id == ident and edge.target_id in documents:
                yield edge


def _case(
    work: Work,
    harvested: Harvested,
    of: dict[str, set[str]],
    documents: dict[str, Document],
    *,
    options: BuildOptions,
    admitted: frozenset[str],
) -> Case:
    events = [event for ident in harvested.query_ids for event in work.feedback.of_query(ident)]
    judgments = [
        judgment
        for ident in harvested.query_ids
        for judgment in work.judgments.of(ident)
        if judgment.source in ACCEPTED_SOURCES[JudgmentReader.HARVEST]
        and (judgment.source is not JudgmentSource.LLM_JUDGE or judgment.annotator in admitted)
    ]
    grades = weak_grades(events, judgments, pool=of, unjudged=options.unjudged)
    return Case(
        id=f"u-{content_hash(harvested.query).removeprefix(HASH_PREFIX)[:12]}",
        query=harvested.query,
        grades=tuple(grade for grade in grades if grade.document_id in documents),
        intent=harvested.intent,
        tags=(HARVESTED,),
        harvested_at=harvested.last_asked,
    )


def _find_admitted(work: Work) -> frozenset[str]:
    """Return the models whose grades agree with people's."""
    judged = work.judgments.with_texts((JudgmentSource.MANUAL, JudgmentSource.LLM_JUDGE))
    return frozenset(name for name, admission in admit_models(judged).items() if admission.admitted)


def _to_label(engine: Engine, cases: Sequence[Case], count: int) -> tuple[list[int], str]:
    if not count:
        return [], ""
    vectors, note = _vectors(engine, [case.query for case in cases])
    return most_diverse(vectors, [case.intent or "" for case in cases], count), note


def _vectors(engine: Engine, queries: list[str]) -> tuple[Matrix, str]:
    if engine.embedder is None:
        return word_vectors(queries), "Without an embedder, questions to label were told apart by their words."
    return engine.embedder.embed(queries), ""


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
