"""Simulated use: what learning from feedback does to results over many rounds.

- Users who read results from the top, click and vote.
- Exposure and quality compared with a memory that learns nothing.
- Rounds: one simulated day each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.errors import BadValue, NothingMeasured, NotReady
from assay.memory.learning import Learning, Vote
from assay.memory.learning.kill_switch import MARGIN, SURE, Numbers, has_grown, most_shown, numbers
from assay.metrics.engine import measure_mappings
from assay.metrics.spec import parse_specs
from assay.records import EvalResult, Origin, RunType, Scope, SearchRequest
from assay.records.learning import Observation, TermState, cycle_evidence, evidence_to_json
from assay.text.terms import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assay.memory.searching import Searcher
    from assay.records.datasets import Case, Dataset
    from assay.storage import Store

# --- Users who read results from the top, click and vote ---
#
# How far they look is the bias that makes feedback dangerous: what stands higher is read more, whatever it is worth.


@dataclass(frozen=True, kw_only=True, slots=True)
class Habits:
    """How users read and vote."""

    patience: float = 1.0
    """The result at rank r is looked at with probability 1 / r ** patience."""
    reads_good: float = 0.9
    """Of what is looked at, how often a relevant result is read."""
    reads_bad: float = 0.15
    """How often one that is not relevant is read all the same."""
    votes: float = 0.05
    """Share of read results that a user votes on. Few people ever do."""
    mistaken: float = 0.1
    """How often that is the opposite of the truth."""


class Deed(NamedTuple):
    """What a user did with a result."""

    memory_id: str
    useful: bool | None
    """The user's vote; None where there was none."""


def deeds(
    shown: Sequence[str], grades: Mapping[str, int], level: int, habits: Habits, rng: np.random.Generator
) -> list[Deed]:
    """What one user does with one list, from the top."""
    done: list[Deed] = []
    for rank, memory_id in enumerate(shown, start=1):
        # Every result draws the same number of lots, so that a change above does not change the luck below.
        looks, reads, votes, errs = rng.random(4)
        good = grades.get(memory_id, 0) >= level
        if looks < rank**-habits.patience and reads < (habits.reads_good if good else habits.reads_bad):
            said = good is not bool(errs < habits.mistaken)
            done.append(Deed(memory_id, said if votes < habits.votes else None))
    return done


# --- Exposure and quality compared with a memory that learns nothing ---
#
# Paired with the control, the luck of which questions came up cancels out; what is left is learning. A number has
# grown when the last rounds are above their control by more than the margin, and resampling leaves no doubt of a
# growth. It has held only when resampling leaves no doubt that it is within the margin; between the two, nobody knows.
# What is resampled are questions with all their searches, since a question that is asked again brings nothing new; and
# simulations, where there are several, since each has its own luck with votes and with what is popular.

RESAMPLES = 500
QUALITY_MARGIN = 0.01
"""A loss of nDCG@10 that matters."""
(NDCG,) = parse_specs("ndcg@10")


class Trend(StrEnum):
    """What is known of a number."""

    HELD = "held"
    GROWN = "grown"
    UNCLEAR = "unclear"


class SimulatedSearch(NamedTuple):
    """One simulated search and its control."""

    case_id: str
    shown: tuple[str, ...]
    control: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """What the numbers are measured against."""

    known: Collection[str]
    """Every memory that could be shown."""
    stale: Collection[str]
    favoured: Collection[str]
    """Those that were shown most to begin with."""
    grades: Mapping[str, Mapping[str, int]]
    """By case and memory."""

    def exposure(self, lists: Sequence[tuple[str, ...]]) -> Numbers:
        """How exposure is spread over some results."""
        return numbers(lists, known=self.known, favoured=self.favoured, stale=self.stale)

    def quality(self, searched: Sequence[SimulatedSearch]) -> NDArray[np.float64]:
        """nDCG@10 of each search minus that of its control; 0 where nothing could be found."""
        qrels = {str(place): self.grades[search.case_id] for place, search in enumerate(searched)}
        measured = [
            measure_mappings(qrels, {str(place): _score_ranks(ids) for place, ids in enumerate(lists)}, [NDCG])
            for lists in ([search.shown for search in searched], [search.control for search in searched])
        ]
        now, control = (found.scores[NDCG] for found in measured)
        return np.where(now.scored, now.values - control.values, 0.0)


class RoundNumbers(NamedTuple):
    """One round: each number, and how far it is from its control."""

    number: int
    gini: float
    gini_change: float
    entrenchment: float
    entrenchment_change: float
    stale_served: float
    stale_change: float
    ndcg_change: float
    terms: int
    """Learned terms in memories."""


class Drift(NamedTuple):
    """One number over the last rounds."""

    name: str
    control: float
    now: float
    low: float
    """What the change is at least, beyond reasonable doubt."""
    high: float
    """And at most."""
    margin: float

    @property
    def change(self) -> float:
        """How far it is from its control."""
        return self.now - self.control

    @property
    def verdict(self) -> Trend:
        """Whether it grew."""
        if has_grown(self.change, at_least=self.low, margin=self.margin):
            return Trend.GROWN
        return Trend.HELD if self.high <= self.margin else Trend.UNCLEAR


def of_round(number: int, searched: Sequence[SimulatedSearch], ground: Ground, *, terms: int) -> RoundNumbers:
    """The numbers of one round."""
    now, control = (ground.exposure(lists) for lists in _both(searched))
    return RoundNumbers(
        number=number,
        gini=now.gini,
        gini_change=now.gini - control.gini,
        entrenchment=now.entrenchment,
        entrenchment_change=now.entrenchment - control.entrenchment,
        stale_served=now.stale_served,
        stale_change=now.stale_served - control.stale_served,
        ndcg_change=float(ground.quality(searched).mean()),
        terms=terms,
    )


class Trial(NamedTuple):
    """What is judged of one simulation."""

    searched: Sequence[SimulatedSearch]
    ground: Ground

    def levels(self) -> tuple[list[float], list[float]]:
        """Every number and its control."""
        now, control = (self.ground.exposure(lists) for lists in _both(self.searched))
        # Quality is told as a number that should not grow: what was lost of it.
        return [*now, -float(self.ground.quality(self.searched).mean())], [*control, 0.0]

    def changes(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """How far every number is from its control, in one row for each time the questions are drawn again."""
        lost = -self.ground.quality(self.searched)
        return np.asarray([self._change(lost, places) for places in _draws(self.searched, rng)])

    def _change(self, lost: NDArray[np.float64], places: Sequence[int]) -> list[float]:
        now, control = (self.ground.exposure(lists) for lists in _both([self.searched[place] for place in places]))
        return [*(value - other for value, other in zip(now, control, strict=True)), float(lost[places].mean())]


def drifts(trials: Sequence[Trial], rng: np.random.Generator) -> list[Drift]:
    """Every number, over all simulations in the mean, with how sure its change is."""
    levels = np.asarray([trial.levels() for trial in trials]).mean(axis=0)
    lows, highs = _interval(levels[0] - levels[1], _resample_trials(trials, rng))
    names = (*Numbers._fields, "ndcg@10 lost")
    margins = (*(MARGIN for _ in Numbers._fields), QUALITY_MARGIN)
    now, control = levels.tolist()
    return [Drift(*parts) for parts in zip(names, control, now, lows, highs, margins, strict=True)]


def _interval(change: NDArray[np.float64], drawn: NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """What each change is at least and at most: as drawn, or as far around the change itself, whichever is wider.

    Of questions that are drawn again some are the same, so that attention is less even and its growth looks smaller.
    """
    low, high = np.quantile(drawn, (1.0 - SURE, SURE), axis=0)
    off = change - drawn.mean(axis=0)
    return np.minimum(low, low + off).tolist(), np.maximum(high, high + off).tolist()


def _resample_trials(trials: Sequence[Trial], rng: np.random.Generator) -> NDArray[np.float64]:
    """The mean change when both the simulations and the questions of each are drawn again: a row for each time."""
    changes = np.stack([trial.changes(rng) for trial in trials])
    drawn = rng.integers(len(trials), size=(RESAMPLES, len(trials)))
    own = rng.integers(RESAMPLES, size=drawn.shape) if len(trials) > 1 else np.arange(RESAMPLES)[:, None]
    return np.asarray(changes[drawn, own].mean(axis=1), dtype=np.float64)


def _draws(searched: Sequence[SimulatedSearch], rng: np.random.Generator) -> Iterator[list[int]]:
    """The places of the searches of as many questions as there are, drawn again and again."""
    asked: dict[str, list[int]] = {}
    for place, search in enumerate(searched):
        asked.setdefault(search.case_id, []).append(place)
    places = list(asked.values())
    for _ in range(RESAMPLES):
        yield [place for drawn in rng.integers(len(places), size=len(places)) for place in places[drawn]]


def _both(searched: Sequence[SimulatedSearch]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    return [search.shown for search in searched], [search.control for search in searched]


def _score_ranks(ids: Sequence[str]) -> dict[str, float]:
    return {identifier: 1.0 / rank for rank, identifier in enumerate(ids, start=1)}


# --- Rounds: one simulated day each ---
#
# Questions come from a dataset, some of them far more often than others; what users find good comes from its grades.
# Everything is drawn from one seed. The person who has to approve learned triggers does so as soon as nothing else is
# missing: the simulation asks what the policy does, not whether anybody would have stopped it.

OnRound = Callable[[RoundNumbers], None]
LAST = 5
"""The last of so many parts of the rounds is what is judged."""
POPULARITY = 0.7
"""The question at place r of the ranking by popularity comes up in proportion to 1 / r ** this."""


class SimulatedClock:
    """A clock that moves only when it is set."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def now(self) -> datetime:
        """The simulated moment."""
        return self._now

    def monotonic(self) -> float:
        """Seconds of simulated time."""
        return self._now.timestamp()

    def begin(self, at: datetime) -> None:
        """Set the moment."""
        self._now = at

    def pass_by(self, time: timedelta) -> None:
        """Let time pass."""
        self._now += time


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulationOptions:
    """How much is simulated."""

    rounds: int = 50
    searches: int = 40
    """In each round."""
    users: int = 5
    k: int = 10
    seed: int = 1
    habits: Habits = field(default_factory=Habits)

    def __post_init__(self) -> None:
        for name, least in (("rounds", LAST), ("searches", 1), ("users", 1), ("k", 1)):
            if getattr(self, name) < least:
                raise BadValue(f"{name} {getattr(self, name)} is below {least}", remedy=f"Give {least} or more.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Simulated:
    """What came of one simulation."""

    seed: int
    rounds: tuple[RoundNumbers, ...]
    reads: int
    votes: int
    """Votes that users cast."""
    counted: int
    """Votes that moved a memory."""
    learned: int
    """Terms that were ever learned."""
    noise: float | None
    """Of the terms that were tried, the share that users' choices call noise, after the last round; None: none was."""
    applied: int
    """Terms that ever moved results."""
    misleading: int
    """Of these, how many raised a memory that the dataset's grades call wrong for some question that holds the word."""
    applied_from: int | None
    """The round in which learned terms first moved results; None when they never did."""
    stopped: str
    """Why the kill switch stopped learning; empty if it did not."""

    @property
    def moved(self) -> bool:
        """Whether anything happened that can move a result: a vote that counted, or a learned term that applied."""
        return self.counted > 0 or self.applied_from is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulationJudgment:
    """What came of all of them together."""

    simulations: tuple[Simulated, ...]
    drifts: tuple[Drift, ...]
    """Over the last fifth of the rounds of each."""
    searches: int
    """Searches of those rounds."""
    changed: int
    """Of these, how many gave another list than the memory that learned nothing."""

    @property
    def verdict(self) -> Trend:
        """The worst of all numbers."""
        found = {self.verdict_of(drift) for drift in self.drifts}
        return next(verdict for verdict in (Trend.GROWN, Trend.UNCLEAR, Trend.HELD) if verdict in found)

    def verdict_of(self, drift: Drift) -> Trend:
        """Return what is known of one number; nothing, where nothing was learned that could have moved it."""
        return drift.verdict if any(simulated.moved for simulated in self.simulations) else Trend.UNCLEAR

    def those(self, verdict: Trend) -> list[str]:
        """Metric names this statement applies to."""
        return [drift.name for drift in self.drifts if self.verdict_of(drift) is verdict]


@dataclass(kw_only=True, slots=True)
class SimulatedMemory:
    """A memory in use, and the time there."""

    store: Store
    searcher: Searcher
    learning: Learning
    clock: SimulatedClock
    tenant: str
    document_of: Mapping[str, str]
    """The document behind each memory."""
    unsafe: bool = False
    """No safeguard holds, that of full text included: what is learned becomes a trigger like those people wrote."""

    def scope(self, user: int = 0) -> Scope:
        """A user's view."""
        return Scope(tenant=self.tenant, principal=f"user-{user}")


@dataclass(slots=True)
class _Tally:
    reads: int = 0
    votes: int = 0
    counted: int = 0
    applied: set[tuple[str, str]] = field(default_factory=set)
    """Memory and term of what was ever applied."""
    applied_from: int | None = None
    stopped: str = ""


def simulate(
    place: SimulatedMemory, dataset: Dataset, options: SimulationOptions, *, on_round: OnRound | None = None
) -> tuple[Simulated, Trial]:
    """Let users search a memory for many rounds while it learns: what came of it, and what is judged of it."""
    return _Simulation(place, dataset, options).run(on_round)


def judge(done: Sequence[tuple[Simulated, Trial]]) -> SimulationJudgment:
    """Judge one or more simulations together."""
    rng = np.random.default_rng([simulated.seed for simulated, _ in done])
    return SimulationJudgment(
        simulations=tuple(simulated for simulated, _ in done),
        drifts=tuple(drifts([trial for _, trial in done], rng)),
        searches=sum(len(trial.searched) for _, trial in done),
        changed=sum(search.shown != search.control for _, trial in done for search in trial.searched),
    )


class _Simulation:
    def __init__(self, place: SimulatedMemory, dataset: Dataset, options: SimulationOptions) -> None:
        self._place = place
        self._options = options
        self._level = dataset.relevance_level
        self._rng = np.random.default_rng(options.seed)
        self._cases = _cases(dataset, self._rng)
        self._tally = _Tally()
        self._control: Mapping[str, tuple[str, ...]] = {}

    def run(self, on_round: OnRound | None) -> tuple[Simulated, Trial]:
        control = {case.id: self._search_ids(case, self._place.scope(), None) for case in self._cases}
        self._control = control
        ground = self._ground(control)
        told: list[RoundNumbers] = []
        searched: list[list[SimulatedSearch]] = []
        for number in range(1, self._options.rounds + 1):
            self._place.clock.pass_by(timedelta(days=1))
            searched.append(
                [self._use(case, f"round-{number}-{turn}", control) for turn, case in self._questions_of_round()]
            )
            told.append(of_round(number, searched[-1], ground, terms=self._learn(number, searched[-1])))
            if on_round is not None:
                on_round(told[-1])
        last = [search for some in searched[-(self._options.rounds // LAST) :] for search in some]
        simulated = Simulated(
            seed=self._options.seed,
            rounds=tuple(told),
            reads=self._tally.reads,
            votes=self._tally.votes,
            counted=self._tally.counted,
            learned=len(self._place.learning.terms(self._place.scope())),
            noise=self._place.learning.standing(self._place.scope()).noise.rate,
            applied=len(self._tally.applied),
            misleading=sum(self._is_misleading(*key, ground) for key in self._tally.applied),
            applied_from=self._tally.applied_from,
            stopped=self._tally.stopped,
        )
        return simulated, Trial(last, ground)

    def _questions_of_round(self) -> Iterator[tuple[int, Case]]:
        """The questions of one round."""
        weights = np.arange(1, len(self._cases) + 1, dtype=np.float64) ** -POPULARITY
        drawn = self._rng.choice(len(self._cases), size=self._options.searches, p=weights / weights.sum())
        return enumerate(self._cases[number] for number in drawn.tolist())

    def _search_ids(self, case: Case, scope: Scope, session: str | None) -> tuple[str, ...]:
        """What a search gives; outside a session it is an evaluation, and leaves no trace."""
        origin = Origin.EVALUATION if session is None else Origin.USE
        request = SearchRequest(
            query=case.query, k=self._options.k, origin=origin, session_id=session, tool_name="simulate"
        )
        return self._place.searcher.search(scope, request).ids

    def _ground(self, control: Mapping[str, tuple[str, ...]]) -> Ground:
        place = self._place
        memory_of = {document: memory for memory, document in place.document_of.items()}
        with place.store.reading(place.scope()) as work:
            stale = work.usage.stale()
        return Ground(
            known=frozenset(place.document_of),
            stale=stale,
            favoured=most_shown(list(control.values())),
            grades={
                case.id: {
                    memory_of[document]: grade for document, grade in case.labels.items() if document in memory_of
                }
                for case in self._cases
            },
        )

    def _is_misleading(self, memory_id: str, term: str, ground: Ground) -> bool:
        """Whether grades call a memory wrong for some question that holds a term and returns the memory."""
        return any(
            ground.grades[case.id].get(memory_id, 0) < self._level
            for case in self._cases
            if term in words(case.query) and memory_id in self._control[case.id]
        )

    def _use(self, case: Case, session: str, control: Mapping[str, tuple[str, ...]]) -> SimulatedSearch:
        """One search of one user, and what the user does with it."""
        place = self._place
        scope = place.scope(int(self._rng.integers(self._options.users)))
        shown = self._search_ids(case, scope, session)
        grades = {
            identifier: case.labels.get(place.document_of[identifier], 0)
            for identifier in shown
            if identifier in place.document_of
        }
        for deed in deeds(shown, grades, self._level, self._options.habits, self._rng):
            place.learning.observe(scope, Observation(session_id=session, memory_id=deed.memory_id))
            self._tally.reads += 1
            if deed.useful is not None:
                vote = Vote(memory_id=deed.memory_id, useful=deed.useful, session_id=session)
                self._tally.counted += place.learning.validate(scope, vote).counted
                self._tally.votes += 1
        return SimulatedSearch(case.id, shown, control[case.id])

    def _store_round(self, number: int, searched: Sequence[SimulatedSearch]) -> None:
        """Each round is measured, and counts as a run: learning waits for evaluation cycles."""
        query_of = {case.id: case.query for case in self._cases}
        asked = (query_of[search.case_id] for search in searched)
        evidence = cycle_evidence(asked, stored_at=self._place.clock.now(), system="assay")
        round_run = EvalResult(
            run_id=f"round-{number}",
            run_type=RunType.FULL,
            query_count=self._options.searches,
            created_at=self._place.clock.now(),
            metrics_json=evidence_to_json(evidence),
        )
        with self._place.store.writing(self._place.scope()) as work:
            work.results.add(round_run)

    def _learn(self, number: int, searched: Sequence[SimulatedSearch]) -> int:
        """What the memory learns from the day; how many terms are in use then."""
        learning, scope = self._place.learning, self._place.scope()
        self._place.store.log.flush()
        self._store_round(number, searched)
        done = learning.catch_up(scope)
        if self._place.unsafe:
            _into_full_text(self._place)
        self._tally.stopped = self._tally.stopped or done.stopped
        stands = learning.standing(scope)
        if stands.closed and not self._tally.stopped:
            with suppress(NotReady):
                stands = learning.approve(scope)
        applied = [term for term in learning.terms(scope) if term.state is TermState.APPLIED]
        self._tally.applied |= {(term.memory_id, term.term) for term in applied}
        terms = stands.terms["applied"]
        if terms and self._tally.applied_from is None:
            self._tally.applied_from = number
        return terms


def _cases(dataset: Dataset, rng: np.random.Generator) -> list[Case]:
    """The questions with something to find, the most popular first."""
    usable = [case for case in dataset.cases if any(grade >= dataset.relevance_level for grade in case.labels.values())]
    if not usable or not dataset.documents:
        raise NothingMeasured(
            f"{dataset.name} has no question with a relevant document to find",
            remedy="Use a dataset with documents and graded cases, such as agent-memory.",
        )
    return [usable[place] for place in rng.permutation(len(usable))]


def _into_full_text(place: SimulatedMemory) -> None:
    """What the fourth safeguard forbids: learned words among the triggers that full text holds."""
    with place.store.writing(place.scope()) as work:
        for memory_id in {term.memory_id for term in work.learned_terms.of(states=(TermState.APPLIED,))}:
            memory = work.memories.get(memory_id)
            triggers = tuple(dict.fromkeys((*memory.triggers, *memory.learned_triggers)))
            if triggers != memory.triggers:
                work.memories.update(replace(memory, triggers=triggers))
