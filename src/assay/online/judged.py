"""Judged questions: which judgments a reader accepts, and what a ranking is worth by them.

- Grades by question, from the sources that a reader accepts.
- What one ranking is worth, and two rankings side by side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from assay.hashing import query_key
from assay.judging.admission import RELEVANT, keep_admitted
from assay.metrics.engine import ScoringRules, measure_mappings
from assay.metrics.spec import MetricSpec
from assay.records import Judgment, JudgmentSource, ShadowRun
from assay.records.evidence import ACCEPTED_SOURCES, JudgmentReader

if TYPE_CHECKING:
    from assay.storage import Work

# --- Grades by question, from the sources that a reader accepts ---

_TRUST = {source: place for place, source in enumerate(JudgmentSource)}
"""Lower is more trusted."""
Grades = Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """The grades that one reader counts."""

    by_question: Mapping[str, Grades]
    """The grade of each memory, by the key of the question's words."""
    by_search: Mapping[str, Grades] = field(default_factory=dict)
    """The same by the id of the search that was graded."""

    def grades(self, query: str) -> Grades:
        """Return the grades for a question; empty: none were given."""
        return self.by_question.get(query_key(query), {})

    def relevant_to_search(self, query_id: str) -> set[str]:
        """Return the memories that were called relevant for one search."""
        return {memory_id for memory_id, grade in self.by_search.get(query_id, {}).items() if grade >= RELEVANT}


def read_judged(work: Work, reader: JudgmentReader) -> Judged:
    """Read every judgment that a reader accepts; a model's only while it is admitted."""
    found = work.judgments.with_texts(ACCEPTED_SOURCES[reader] | {JudgmentSource.MANUAL})
    accepted = keep_admitted(found)
    questions: dict[str, list[Judgment]] = defaultdict(list)
    searches: dict[str, list[Judgment]] = defaultdict(list)
    for text, judgment in accepted:
        questions[query_key(text)].append(judgment)
        searches[judgment.query_id].append(judgment)
    return Judged(
        by_question={key: settle_grades(judgments) for key, judgments in questions.items()},
        by_search={query_id: settle_grades(judgments) for query_id, judgments in searches.items()},
    )


def settle_grades(judgments: Iterable[Judgment]) -> dict[str, int]:
    """Return one grade for each memory: of its most trusted source, the weighted median of the newest grades."""
    by_memory: dict[str, list[Judgment]] = defaultdict(list)
    for judgment in judgments:
        by_memory[judgment.memory_id].append(judgment)
    return {memory_id: _settle(given) for memory_id, given in by_memory.items()}


def _settle(given: Sequence[Judgment]) -> int:
    best = min(_TRUST[judgment.source] for judgment in given)
    newest: dict[str, Judgment] = {}
    for judgment in sorted(given, key=lambda graded: graded.created_at):
        if _TRUST[judgment.source] == best:
            newest[judgment.annotator] = judgment
    ordered = sorted(newest.values(), key=lambda graded: graded.relevance)
    half, seen = sum(judgment.confidence for judgment in ordered) / 2, 0.0
    for judgment in ordered:
        seen += judgment.confidence
        if seen >= half:
            return judgment.relevance
    return ordered[-1].relevance


# --- What one ranking is worth, and two rankings side by side ---

RECIPROCAL_RANK = MetricSpec.parse("mrr@5")
GAIN = MetricSpec.parse("ndcg@10")


class RankedOutcome(NamedTuple):
    """What one ranking came to."""

    reciprocal_rank: float
    ndcg: float


class SideOutcomes(NamedTuple):
    """What each side of a vote came to; None: that side was not asked."""

    control: RankedOutcome | None = None
    treatment: RankedOutcome | None = None


class Deltas(NamedTuple):
    """Treatment minus control, by judgments; None where they cannot tell."""

    mrr: float | None = None
    ndcg: float | None = None


class JudgedQuery(NamedTuple):
    """A question with its grades."""

    text: str
    grades: Grades


def ranked_outcome(ids: Sequence[str], used: Collection[str]) -> RankedOutcome:
    """Return what a list that was shown came to, by what was used of it."""
    if not set(used) & set(ids):
        return RankedOutcome(0.0, 0.0)
    # The first that was used counts wherever it stood: nobody had to look at the first five only.
    first = 1 + min(place for place, memory_id in enumerate(ids) if memory_id in used)
    return RankedOutcome(1.0 / first, _measure(ids, dict.fromkeys(used, RELEVANT)).ndcg)


def outcomes_of(run: ShadowRun, grades: Grades) -> SideOutcomes:
    """Return what both lists of a shadow run came to."""
    return SideOutcomes(_measure(run.control_result_ids, grades), _measure(run.treatment_result_ids, grades))


def deltas(control: Sequence[str], treatment: Sequence[str], grades: Grades | None) -> Deltas:
    """How much better the treatment ranks, where the judgments can tell.

    Results without a grade count as not relevant. Where grades for them could turn a loss into a gain, or a gain into
    a loss, there is no difference to report.
    """
    if not grades or max(grades.values()) < RELEVANT or _may_turn(control, treatment, grades):
        return Deltas()
    before, after = (_measure(ids, grades) for ids in (control, treatment))
    return Deltas(after.reciprocal_rank - before.reciprocal_rank, after.ndcg - before.ndcg)


def _may_turn(control: Sequence[str], treatment: Sequence[str], grades: Grades) -> bool:
    """Whether ungraded results could make the treatment better and also make it worse."""
    places = [{memory_id: place for place, memory_id in enumerate(ids)} for ids in (control, treatment)]
    last = len(control) + len(treatment)
    ungraded = (places[0].keys() | places[1].keys()) - grades.keys()
    ahead = {memory_id: places[0].get(memory_id, last) - places[1].get(memory_id, last) for memory_id in ungraded}
    gains = []
    for sign in (1, -1):
        assumed = {memory_id: RELEVANT for memory_id, lead in ahead.items() if sign * lead > 0}
        sides = [_measure(ids, {**grades, **assumed}).reciprocal_rank for ids in (control, treatment)]
        gains.append(sides[1] - sides[0])
    return min(gains) < 0.0 < max(gains)


def _measure(ids: Sequence[str], grades: Grades) -> RankedOutcome:
    weights = {memory_id: 1.0 / rank for rank, memory_id in enumerate(ids, start=1)}
    scores = measure_mappings(
        {"query": dict(grades)}, {"query": weights}, [RECIPROCAL_RANK, GAIN], ScoringRules(level=RELEVANT)
    ).scores
    return RankedOutcome(float(scores[RECIPROCAL_RANK].values[0]), float(scores[GAIN].values[0]))


def with_deltas(work: Work, runs: Sequence[ShadowRun]) -> list[ShadowRun]:
    """Return shadow runs with the differences that today's judgments say."""
    return [run for run, _ in _judge(work, runs)]


def judge_runs(work: Work, runs: Sequence[ShadowRun]) -> Iterator[tuple[ShadowRun, JudgedQuery]]:
    """Give shadow runs the differences that today's judgments say, keep those that changed, and yield the judged."""
    for before, (run, query) in zip(runs, _judge(work, runs), strict=True):
        if run != before:
            work.shadow_runs.update_deltas(run)
        if query.grades:
            yield run, query


def _judge(work: Work, runs: Sequence[ShadowRun]) -> list[tuple[ShadowRun, JudgedQuery]]:
    judged = read_judged(work, JudgmentReader.SHADOW)
    # A query that has left the log keeps the difference it was given while it was there.
    texts = work.queries.texts_of([run.query_id for run in runs])
    found = []
    for run in runs:
        if run.problem is not None or run.query_id not in texts:
            found.append((run, JudgedQuery("", {})))
            continue
        grades = judged.grades(texts[run.query_id])
        gained = deltas(run.control_result_ids, run.treatment_result_ids, grades)
        fresh = replace(run, mrr_delta=gained.mrr, ndcg_delta=gained.ndcg)
        found.append((fresh, JudgedQuery(texts[run.query_id], grades)))
    return found
