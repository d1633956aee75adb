"""Learned triggers: terms learned from choices, applied to memories, and ended.

- Noise: the share of learned terms that raise results no user chose.
- From choices to terms in the shadow, into memories, and out again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from assay.memory.learning.policy import READ_WORDS, AskedQuestion, Facts, Policy, Principals
from assay.memory.learning.votes import NO_SESSION, rank_of
from assay.records import EventType, FeedbackEvent, MemoryRecord, MemoryStatus
from assay.records.learning import ChangeKind, LearnedTerm, Refusal, Safeguard, TermEvidence, TermNoise, TermState
from assay.storage import Work
from assay.storage.repositories.queries import UsedQuery
from assay.text.terms import words

# --- Noise: the share of learned terms that raise results no user chose ---
#
# A trial of a term is a search after it was learned that holds the term and returned the memory: there the term would
# have raised it. A term is noise when in some trial the memory was graded below 2 or found not useful, or when it was
# chosen in none of its trials, or in none of ten trials for one question. A term with fewer than ten trials says
# nothing, whatever came of them; without a term that has them the rate is not known.

GOOD_GRADE = 2
CHOICES = (EventType.READ_AFTER_SEARCH, EventType.REFERENCE, EventType.VALIDATE_USEFUL)
"""What counts as choosing a result."""
Pair = tuple[str, str]
"""A query and a memory."""


class SeenQueries(NamedTuple):
    """What is known of queries and memories, by pair."""

    chosen: Collection[Pair]
    unwanted: Collection[Pair]
    """Graded below 2, or found not useful."""


class TermTrials(NamedTuple):
    """What the trials of a term came to."""

    searches: int
    noisy: bool


TermKey = tuple[str, str]
"""A memory and a term of it."""


def judge_terms(work: Work, enough: int) -> dict[TermKey, TermTrials]:
    """Return what the trials of every shadow and applied term came to; a term without any is left out.

    `enough` is the number of trials from which one question alone tells.
    """
    terms = work.learned_terms.of(states=(TermState.SHADOW, TermState.APPLIED))
    if not terms:
        return {}
    oldest = min(term.learned_at for term in terms)
    trials = _trials(terms, work.usage.queries(since=oldest, newest_first=True))
    seen = _read_seen(work, {trial.query_id for found in trials.values() for trial in found})
    return {key: TermTrials(len(found), is_noise(found, seen, enough)) for key, found in trials.items()}


def measure_noise(work: Work, trials_needed: int) -> TermNoise:
    """Measure the noise of the shadow and applied terms that had as many trials as are needed."""
    standing = work.learned_terms.of(states=(TermState.SHADOW, TermState.APPLIED))
    tried = [trials for trials in judge_terms(work, trials_needed).values() if trials.searches >= trials_needed]
    noisy = sum(trials.noisy for trials in tried)
    return TermNoise(terms=len(standing), tried=len(tried), noisy=noisy, rate=noisy / len(tried) if tried else None)


class TermTrial(NamedTuple):
    """A search that tried a term."""

    query_id: str
    memory_id: str
    question: str

    @property
    def pair(self) -> Pair:
        """The query and the memory."""
        return self.query_id, self.memory_id


def is_noise(trials: Collection[TermTrial], seen: SeenQueries, enough: int) -> bool:
    """Whether a term with these trials is noise."""
    if any(trial.pair in seen.unwanted for trial in trials):
        return True
    asked = Counter(trial.question for trial in trials)
    chosen = Counter(trial.question for trial in trials if trial.pair in seen.chosen)
    return not chosen or any(count >= enough and not chosen[question] for question, count in asked.items())


def _trials(terms: Collection[LearnedTerm], queries: Collection[UsedQuery]) -> dict[TermKey, list[TermTrial]]:
    """For each memory and term that was tried, where."""
    learned: dict[str, dict[str, datetime]] = {}
    for learned_term in terms:
        learned.setdefault(learned_term.memory_id, {})[learned_term.term] = learned_term.learned_at
    found: dict[TermKey, list[TermTrial]] = {}
    for query in queries:
        held = [memory_id for memory_id in query.result_ids if memory_id in learned]
        said = frozenset(words(query.query)) if held else frozenset()
        for memory_id in held:
            for term in learned[memory_id].keys() & said:
                if query.created_at > learned[memory_id][term]:
                    trial = TermTrial(query.query_id, memory_id, same_question(query.query))
                    found.setdefault((memory_id, term), []).append(trial)
    return found


def _read_seen(work: Work, query_ids: Collection[str]) -> SeenQueries:
    if not query_ids:
        return SeenQueries((), ())
    below = {pair for pair, grade in work.usage.grades(query_ids).items() if grade < GOOD_GRADE}
    useless = work.usage.events_of(query_ids, [EventType.VALIDATE_NOT_USEFUL])
    return SeenQueries(work.usage.events_of(query_ids, CHOICES), below | useless)


# --- From choices to terms in the shadow, into memories, and out again ---
#
# `digest` reads the feedback that came since it last looked and learns from choices; `apply` brings into memories what
# the policy lets through; `expire` takes out what has come to its end. Every step asks `policy` and writes its line in
# the audit log; none of them decides by itself.

PAGE = 500
"""Events that are read in one transaction."""
SHOWN_WORDS = 10
"""Words that a line of the audit log shows at most."""
UNTRIED = TermTrials(0, noisy=False)
ENDED = (TermState.EXPIRED, TermState.WITHDRAWN)


class Digested(NamedTuple):
    """What a look at the feedback came to."""

    events: int
    learned: int
    more: bool
    """Whether there may be more to read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Choice:
    """A memory that was chosen, the query it was chosen for, and by whom."""

    memory: MemoryRecord
    since: datetime
    """When the memory was made, or came into this store: an import brings dates of its own."""
    query: UsedQuery | None
    session_id: str | None
    principal: str | None

    @property
    def rank(self) -> int | None:
        return None if self.query is None else rank_of(self.memory.id, self.query.result_ids)

    @property
    def facts(self) -> Facts:
        query = None if self.query is None else self.query.query
        return Facts(self.since, query, self.rank, self.session_id, self.principal)


class Triggers:
    """Learns, applies and ends terms, inside the caller's unit of work."""

    def __init__(self, policy: Policy, principals: Principals) -> None:
        self._policy = policy
        self._principals = principals

    def digest(self, work: Work, since: datetime, now: datetime) -> Digested:
        """Learn from one page of feedback; what was recorded before learning was switched on is passed over."""
        page = work.usage.events_after(work.learned_terms.progress().last_event, limit=PAGE)
        chosen = [
            recorded.event
            for recorded in page
            if recorded.event.event_type in CHOICES and recorded.event.created_at >= since
        ]
        learned = sum(self._learn(work, event, now) for event in chosen)
        if page:
            work.learned_terms.put_progress(last_event=page[-1].id)
        return Digested(len(page), learned, len(page) == PAGE)

    def _learn(self, work: Work, event: FeedbackEvent, now: datetime) -> int:
        memory = None if event.memory_id is None else work.memories.find(event.memory_id)
        if memory is None or memory.status is MemoryStatus.FORGOTTEN:
            return 0
        arrived = work.changes.find_arrival(memory.id, since=now - self._policy.limits.age)
        choice = _choice(work, memory, event, arrived or memory.created_at)
        refused = self._policy.refusal(choice.facts, now)
        if refused is not None:
            _tell(work, memory.id, refused, query_id=event.query_id)
            return 0
        return len(self._new_terms(work, choice, now))

    def _new_terms(self, work: Work, choice: _Choice, now: datetime) -> Sequence[str]:
        """The terms for which this choice completes the evidence, within the rate."""
        memory, query = choice.memory, choice.query
        if query is None:
            return ()
        offered = self._policy.split_offered_words(query.query, words_of(memory))
        if offered.denied:
            said = " ".join(offered.denied[:SHOWN_WORDS])
            _tell(work, memory.id, Refusal(Safeguard.DENYLIST, said), query_id=query.query_id)
        known = {term.term: term for term in work.learned_terms.of(memory_id=memory.id)}
        # What was learned already is not learned again: a choice for it is a trial, and noise is told by trials.
        fresh = [word for word in offered.terms if _may_begin(known.get(word))]
        work.learned_terms.add_evidence([_evidence(choice, query, term, now) for term in fresh])
        ready = self._ready(work, memory.id, fresh)
        room = self._policy.room((term.learned_at for term in known.values()), now)
        if ready[room:]:
            said = f"{' '.join(ready[room:][:SHOWN_WORDS])} would be one too many within the window"
            _tell(work, memory.id, Refusal(Safeguard.RATE, said), query_id=query.query_id)
        for term in ready[:room]:
            self._write_down(work, choice, term, now)
        return ready[:room]

    def _ready(self, work: Work, memory_id: str, terms: Iterable[str]) -> list[str]:
        """The terms with enough evidence."""
        every = work.learned_terms.evidence(memory_id=memory_id)
        shared = self._principals.several(work, {proof.principal for proof in every})
        ready = []
        for term in terms:
            own = [proof for proof in every if proof.term == term]
            if self._is_enough(own, shared=shared) and self._is_chosen_often(work, memory_id, term, own, shared=shared):
                ready.append(term)
        return ready

    def _is_enough(self, evidence: Sequence[TermEvidence], *, shared: bool) -> bool:
        sessions, principals = zip(*((proof.session_id, proof.principal) for proof in evidence), strict=True)
        return self._policy.enough(sessions, principals, shared=shared)

    def _is_chosen_often(
        self, work: Work, memory_id: str, term: str, evidence: Sequence[TermEvidence], *, shared: bool
    ) -> bool:
        """Whether the memory was chosen in enough of the searches since the first evidence that are still logged."""
        first = work.usage.queries(ids=[proof.query_id for proof in evidence])
        if not first:
            return False
        searches = work.usage.queries(since=min(query.created_at for query in first), newest_first=True)
        returned = {
            query.query_id: same_question(query.query)
            for query in searches
            if memory_id in query.result_ids and term in words(query.query)[:READ_WORDS]
        }
        # Evidence whose search is logged no longer cannot be held against anything, and counts no more.
        known = [proof for proof in evidence if proof.query_id in returned]
        chosen = Counter(returned[proof.query_id] for proof in known)
        asked = [AskedQuestion(count, chosen[text]) for text, count in Counter(returned.values()).items()]
        return bool(known) and self._is_enough(known, shared=shared) and self._policy.chosen_often(asked)

    def _write_down(self, work: Work, choice: _Choice, term: str, now: datetime) -> None:
        memory_id = choice.memory.id
        made = LearnedTerm(
            memory_id=memory_id, term=term, state=TermState.SHADOW, learned_at=now, writer=choice.principal or ""
        )
        work.learned_terms.put(made)
        rests_on = [proof for proof in work.learned_terms.evidence(memory_id=memory_id) if proof.term == term]
        detail = {
            "term": term,
            "evidence": [
                {
                    "query_id": proof.query_id,
                    "session": proof.session_id,
                    "principal": proof.principal,
                    "rank": proof.rank,
                }
                for proof in rests_on
            ],
        }
        work.audit.append(f"learning.{Safeguard.AUDIT}", memory_id, detail)
        work.audit.append(f"learning.{Safeguard.SHADOW}", memory_id, {"term": term, "said": "learned, not applied"})

    def apply(self, work: Work, now: datetime) -> int:
        """Bring proven terms out of the shadow, as many as the rate allows each memory; how many."""
        tried = judge_terms(work, self._policy.limits.trials)
        waiting = [
            term
            for term in work.learned_terms.of(states=(TermState.SHADOW,))
            if self._is_proven(term, tried.get((term.memory_id, term.term), UNTRIED), now)
        ]
        done = 0
        for memory_id in dict.fromkeys(term.memory_id for term in waiting):
            applied = [
                sibling.applied_at for sibling in work.learned_terms.of(memory_id=memory_id) if sibling.applied_at
            ]
            room = self._policy.room(applied, now)
            for term in [candidate for candidate in waiting if candidate.memory_id == memory_id][:room]:
                self._bring_in(work, term, now)
                done += 1
        return done

    def _is_proven(self, term: LearnedTerm, trials: TermTrials, now: datetime) -> bool:
        return self._policy.is_proven(term.learned_at, trials.searches, noisy=trials.noisy, now=now)

    def retreat(self, work: Work, because: str) -> int:
        """Put applied terms back into the shadow: they do not apply while a rule is against it; how many."""
        applied = work.learned_terms.of(states=(TermState.APPLIED,))
        for term in applied:
            take_out(work, term)
            work.learned_terms.put(replace(term, state=TermState.SHADOW))
            said = {"term": term.term, "said": f"back in the shadow: {because}"}
            work.audit.append(f"learning.{Safeguard.SHADOW}", term.memory_id, said)
        return len(applied)

    def _bring_in(self, work: Work, term: LearnedTerm, now: datetime) -> None:
        held = list(work.learning.state(term.memory_id)["learned_triggers"])
        after = {"learned_triggers": [*held, term.term]}
        work.learning.change(term.memory_id, ChangeKind.APPLY, after, {"term": term.term}, writer=term.writer)
        work.learned_terms.put(replace(term, state=TermState.APPLIED, applied_at=now))
        said = {"term": term.term, "said": "in learned_triggers, in no full-text index"}
        work.audit.append(f"learning.{Safeguard.FULL_TEXT}", term.memory_id, said)
        work.audit.append(f"learning.{Safeguard.GATE}", term.memory_id, {"term": term.term, "said": "applied"})

    def expire(self, work: Work, now: datetime) -> int:
        """End what has come to its end; how many."""
        over = [
            term
            for term in work.learned_terms.of(states=(TermState.SHADOW, TermState.APPLIED))
            if self._policy.is_expired(term.learned_at, now)
        ]
        for term in over:
            if term.state is TermState.APPLIED:
                take_out(work, term)
            end(work, term, TermState.EXPIRED, now)
            work.audit.append(f"learning.{Safeguard.TTL}", term.memory_id, {"term": term.term, "said": "ended"})
        return len(over)


def take_out(work: Work, term: LearnedTerm) -> None:
    """Remove an ended term from its memory."""
    held = work.learning.state(term.memory_id)["learned_triggers"]
    after = {"learned_triggers": [word for word in held if word != term.term]}
    work.learning.change(term.memory_id, ChangeKind.EXPIRE, after, {"term": term.term}, writer=term.writer)


def end(work: Work, term: LearnedTerm, state: TermState, now: datetime) -> None:
    """Say that a term is over. What it rested on goes with it: it can only come back on new evidence."""
    work.learned_terms.put(replace(term, state=state, ended_at=now))
    work.learned_terms.remove_evidence(term.memory_id, [term.term])


def words_of(memory: MemoryRecord) -> frozenset[str]:
    """The words that a memory's author wrote."""
    return frozenset(words("\n".join((memory.title, *memory.triggers, memory.body))))


def _choice(work: Work, memory: MemoryRecord, event: FeedbackEvent, since: datetime) -> _Choice:
    found = work.usage.queries(ids=[event.query_id]) if event.query_id is not None else []
    # Whoever names a query of another session does not know how the memory was found there.
    own = [query for query in found if query.session_id == event.session_id]
    said = event.metadata.get("principal")
    return _Choice(
        memory=memory,
        since=max(since, memory.created_at),
        query=own[0] if own else None,
        session_id=None if event.session_id == NO_SESSION else event.session_id,
        principal=said if isinstance(said, str) and said else None,
    )


def same_question(text: str) -> str:
    """Return a question as it is compared with others: without case and spacing."""
    return " ".join(text.casefold().split())


def _evidence(choice: _Choice, query: UsedQuery, term: str, now: datetime) -> TermEvidence:
    return TermEvidence(
        memory_id=choice.memory.id,
        term=term,
        session_id=choice.session_id or NO_SESSION,
        principal=choice.principal or "unknown",
        query_id=query.query_id,
        rank=choice.rank or 0,
        at=now,
    )


def _may_begin(known: LearnedTerm | None) -> bool:
    return known is None or known.state in ENDED


def _tell(work: Work, memory_id: str, refused: Refusal, *, query_id: str | None) -> None:
    work.audit.append(f"learning.{refused.safeguard}", memory_id, {"said": refused.said, "query_id": query_id})
