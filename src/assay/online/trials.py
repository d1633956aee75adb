"""Sequential tests of features, kept in the store: started, evaluated after every vote, and ended.

A vote is one distinct query's difference, treatment minus control, from -1 to 1; a repeated query has
voted, and is counted as a repeat. The vote and the state after it are written in one unit of work that reads the state
first, so a restart changes nothing and two processes lose nothing. Three things pause a test, each with its sentence:
the flag is not what it was when the test began, one side of a split gets too few queries to be chance, or a person does
so. A paused test takes no votes until it is resumed; an ended one takes none any more, and the next attempt is a test
of its own, at a smaller alpha (`alpha_of_attempt`). A split decides only when its sample ratio allows it.

How votes of a split are made from one side only: with a fair coin between the sides, treatment counts its outcome y and
control counts -y. The mean is half the gain, for any outcomes, so such a test bets on half the effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from assay.clock import Clock
from assay.errors import InputError, RecordNotFound
from assay.flags import Flags, FlagState
from assay.hashing import content_hash, query_key
from assay.online.judged import SideOutcomes
from assay.online.vote_sources import explain_no_votes
from assay.records import AbTest, AbTestStatus, Scope
from assay.records.evaluations import Interval
from assay.records.flags import (
    AbVote,
    Arm,
    CastVote,
    LadderStep,
    SampleSplit,
    Sides,
    Step,
    StepOutcome,
    TrialStanding,
    VoteKind,
)
from assay.statistics.independent_samples import mean_difference
from assay.statistics.intervals import bootstrap_mean
from assay.statistics.online_tests import SampleRatio, Successes, beta_binomial, chance_of_higher_mean, sample_ratio
from assay.statistics.sequential import EProcess, EProcessRule, alpha_of_attempt
from assay.storage import Store, Work

FAIR = 50
"""The rollout, in percent, at which both sides are as likely."""
LEAST_FOR_INTERVAL = 2
NEWEST_VOTES = 10
"""Votes that the page of a test shows."""
CHANCE_LABELS: Mapping[VoteKind, str] = {
    VoteKind.PAIRED: "P(treatment wins more often)",
    VoteKind.INTERLEAVED: "P(treatment wins more often)",
    VoteKind.SPLIT: "P(treatment's mean outcome is higher)",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class VoteResult:
    """What became of a vote."""

    counted: bool
    reason: str
    """Empty when it counted; otherwise why not."""
    test: AbTest

    @property
    def decision(self) -> str | None:
        """How the test ended; None while it runs."""
        return decision_of(self.test)


class Trials:
    """Keeps the sequential tests of a store."""

    def __init__(self, *, store: Store, flags: Flags, clock: Clock) -> None:
        self._store = store
        self._flags = flags
        self._clock = clock

    def begin(
        self, scope: Scope, feature_id: str, *, kind: VoteKind, rule: EProcessRule | None = None, why: str = ""
    ) -> AbTest:
        """Begin a test of a flag, or a new attempt after one that ended or was paused; `why` is kept."""
        self._flags.refuse_unavailable(feature_id)
        rule = rule or EProcessRule()
        now = self._clock.now()
        with self._store.writing(scope) as work:
            before = find_test(work, feature_id)
            if before is not None and before.status is AbTestStatus.RUNNING:
                raise InputError(
                    f"attempt {before.attempt} at {feature_id} is still running",
                    remedy=f"Pause it first: `assay ladder pause {feature_id}`.",
                )
            attempt = 1 if before is None else before.attempt + 1
            process = EProcess(rule=_rule_of_attempt(rule, kind, attempt))
            state = self._flags.states(work)[feature_id]
            _check_testable(state, kind)
            test = AbTest(
                feature_id=feature_id,
                attempt=attempt,
                upper_bound=process.rule.log_bound,
                lower_bound=-process.rule.log_futility_bound,
                min_samples=state.flag.minimum_samples,
                graduation_threshold=state.flag.graduation_threshold,
                state_json={
                    "kind": str(kind),
                    "alpha": rule.alpha,
                    "process": process.as_json(),
                    "flag": _describe_switch(state),
                    "sums": "outcomes",
                },
                started_at=now,
                updated_at=now,
            )
            work.ab_tests.put(test)
            step = Step.INTERLEAVING if kind is VoteKind.INTERLEAVED else Step.AB_TEST
            sentence = add_reason(f"Attempt {test.attempt} began, with {kind} votes.", why)
            self._tell(work, test, step, StepOutcome.BEGUN, sentence)
            self._flags.written += 1
            return test

    def vote(
        self, scope: Scope, feature_id: str, query: str, difference: float, *, arm: Arm, query_id: str | None = None
    ) -> VoteResult:
        """Count one query's difference. A split's difference is the outcome, signed by the side that answered."""
        with self._store.writing(scope) as work:
            return self.vote_in(work, feature_id, query, difference, arm=arm, query_id=query_id)

    def vote_in(
        self,
        work: Work,
        feature_id: str,
        query: str,
        difference: float,
        *,
        arm: Arm,
        query_id: str | None = None,
        outcomes: SideOutcomes | None = None,
    ) -> VoteResult:
        """Do the same within a unit of work of the caller's; `outcomes` is what each side came to."""
        test = work.ab_tests.latest(feature_id, to_change=True)
        if test.status is not AbTestStatus.RUNNING or decision_of(test) is not None:
            return VoteResult(counted=False, reason=f"attempt {test.attempt} is {_describe_end(test)}", test=test)
        now_switched = _describe_switch(self._flags.states(work)[feature_id])
        if _is_changed(test.state_json["flag"], now_switched):
            why = f"The flag was {_words(test.state_json['flag'])} when it began and is {_words(now_switched)} now."
            return VoteResult(counted=False, reason=why, test=self._pause(work, test, why))
        vote = AbVote(
            feature_id=feature_id,
            attempt=test.attempt,
            query_key=query_key(query),
            kind=VoteKind(test.state_json["kind"]),
            arm=arm,
            difference=difference,
            created_at=self._clock.now(),
            query_id=query_id,
        )
        if not work.votes.cast(vote):
            return VoteResult(counted=False, reason="this query has voted", test=self._count_repeat(work, test, vote))
        return VoteResult(counted=True, reason="", test=self._count_vote(work, test, vote, outcomes or SideOutcomes()))

    def pause(self, scope: Scope, feature_id: str, why: str) -> AbTest:
        """Stop taking votes."""
        with self._store.writing(scope) as work:
            test = work.ab_tests.latest(feature_id, to_change=True)
            if test.status is not AbTestStatus.RUNNING:
                raise InputError(
                    f"attempt {test.attempt} at {feature_id} is {test.status}", remedy="Begin a new attempt."
                )
            return self._pause(work, test, why)

    def resume(self, scope: Scope, feature_id: str, *, why: str = "") -> AbTest:
        """Go on with a paused test and its votes; what was searched in the meantime does not vote."""
        with self._store.writing(scope) as work:
            test = work.ab_tests.latest(feature_id, to_change=True)
            if test.status is not AbTestStatus.PAUSED:
                raise InputError(
                    f"attempt {test.attempt} at {feature_id} is {test.status}, not paused",
                    remedy="Begin a new attempt.",
                )
            self._check_resumable(work, test)
            now = max(self._clock.now(), test.updated_at)
            state = {**test.state_json, "resumed_at": now.isoformat()}
            running = replace(test, status=AbTestStatus.RUNNING, state_json=state, updated_at=now)
            work.ab_tests.put(running)
            self._flags.written += 1
            sentence = add_reason(f"Attempt {test.attempt} goes on, with its {test.sample_count} votes.", why)
            self._tell(work, running, Step.AB_TEST, StepOutcome.BEGUN, sentence, action="resumed")
            return running

    def _check_resumable(self, work: Work, test: AbTest) -> None:
        switched = _describe_switch(self._flags.states(work)[test.feature_id])
        if _is_changed(test.state_json["flag"], switched):
            raise InputError(
                f"{test.feature_id} was {_words(test.state_json['flag'])} when the test began and is"
                f" {_words(switched)} now",
                remedy="Switch it back first, or begin a new attempt.",
            )
        ratio = ratio_of(work, test)
        if ratio is not None and ratio.alarming:
            raise InputError(
                f"the split of attempt {test.attempt} is not fair: {ratio.sentence}",
                remedy="Find out why one side gets fewer queries, then begin a new attempt.",
            )

    def close(self, work: Work, test: AbTest, status: AbTestStatus) -> AbTest:
        """End a test for good, as graduated or rejected."""
        now = max(self._clock.now(), test.updated_at)
        graduated = now if status is AbTestStatus.GRADUATED else None
        ended = replace(test, status=status, updated_at=now, graduated_at=graduated)
        work.ab_tests.put(ended)
        return ended

    def standing(self, scope: Scope, feature_id: str, *, rng: np.random.Generator) -> TrialStanding:
        """Everything about the newest attempt."""
        with self._store.reading(scope) as work:
            test = work.ab_tests.latest(feature_id)
            votes = work.votes.of(feature_id, test.attempt)
            because = explain_no_votes(work, test, self._flags.states(work).get(feature_id), self._clock.now())
        return _trial_standing(test, votes, rng, because)

    def _count_vote(self, work: Work, test: AbTest, vote: AbVote, outcomes: SideOutcomes) -> AbTest:
        ratio = ratio_of(work, test)
        # The ratio comes first: evidence from a split that is not fair decides nothing.
        may_decide = ratio is None or ratio.may_decide
        process = EProcess.from_json(test.state_json["process"]).update([vote.difference], may_decide=may_decide)
        # A clock that goes backwards does not take a test with it.
        now = max(vote.created_at, test.updated_at)
        after = replace(
            _add_outcomes(test, outcomes),
            log_likelihood_ratio=process.log_e_better,
            sample_count=test.sample_count + 1,
            state_json={**test.state_json, "process": process.as_json()},
            updated_at=now,
        )
        if process.decision in ("worse", "futile"):
            after = replace(after, status=AbTestStatus.REJECTED)
        work.ab_tests.put(after)
        if process.decision is not None:
            self._record_decision(work, after, process)
        elif ratio is not None and ratio.alarming:
            return self._pause(work, after, f"{ratio.sentence} is not a fair split.".capitalize())
        return after

    def _count_repeat(self, work: Work, test: AbTest, vote: AbVote) -> AbTest:
        """Count a search whose query has voted, once. Ids of searches grow with time, so the newest one is kept."""
        counted_until = str(test.state_json.get("repeated_until", ""))
        first = work.votes.search_of(vote.feature_id, vote.attempt, vote.query_key)
        if vote.query_id is not None and (vote.query_id == first or vote.query_id <= counted_until):
            return test
        repeats = int(test.state_json.get("repeats", 0)) + 1
        state = {**test.state_json, "repeats": repeats, "repeated_until": vote.query_id or counted_until}
        after = replace(test, state_json=state)
        work.ab_tests.put(after)
        return after

    def _record_decision(self, work: Work, test: AbTest, process: EProcess) -> None:
        outcomes = {"better": StepOutcome.PASSED, "worse": StepOutcome.FAILED, "futile": StepOutcome.INCONCLUSIVE}
        sentences = {
            "better": "The treatment is better",
            "worse": "The treatment is worse",
            "futile": "A gain that matters was ruled out",
        }
        decision = str(process.decision)
        sentence = f"{sentences[decision]}, after {test.sample_count} queries."
        self._tell(work, test, Step.AB_TEST, outcomes[decision], sentence)

    def _pause(self, work: Work, test: AbTest, why: str) -> AbTest:
        self._flags.written += 1
        paused = replace(test, status=AbTestStatus.PAUSED, updated_at=max(self._clock.now(), test.updated_at))
        work.ab_tests.put(paused)
        self._tell(work, paused, Step.AB_TEST, StepOutcome.PAUSED, why)
        return paused

    def _tell(
        self, work: Work, test: AbTest, step: Step, outcome: StepOutcome, sentence: str, *, action: str = ""
    ) -> None:
        """Add a step to the ladder and a line to the audit log, which is named after the outcome or `action`."""
        detail = {"votes": test.sample_count, "ln_k": test.log_likelihood_ratio, "upper": test.upper_bound}
        work.ladder_steps.add(
            LadderStep(
                feature_id=test.feature_id,
                attempt=test.attempt,
                step=step,
                outcome=outcome,
                sentence=sentence,
                detail=detail,
                created_at=self._clock.now(),
            )
        )
        work.audit.append(f"test.{action or outcome}", test.feature_id, {"attempt": test.attempt, "sentence": sentence})


def find_test(work: Work, feature_id: str) -> AbTest | None:
    """The newest attempt at a feature; None when there was none."""
    try:
        return work.ab_tests.latest(feature_id)
    except RecordNotFound:
        return None


def decision_of(test: AbTest) -> str | None:
    """`better`, `worse` or `futile`; None while the test runs."""
    return test.decision


def _check_testable(state: FlagState, kind: VoteKind) -> None:
    """Refuse a test whose two sides could not be told apart, or not be served."""
    name = state.flag.name
    if kind is VoteKind.SPLIT and state.percent != FAIR:
        raise InputError(
            f"{name} is on for {state.percent} % of sessions, and a split test needs half of them",
            remedy=f"Switch it: `assay flag set {name} {FAIR}%`.",
        )
    if kind is VoteKind.PAIRED and state.on:
        raise InputError(
            f"{name} is on for {state.percent} % of sessions, and a paired test compares it with searches without it",
            remedy=f"Switch it off: `assay flag set {name} off --shadow`. To test leaving it out, define a variant:"
            f" `assay variant add without-{name.replace('_', '-')} assay:flags.{name}=off`.",
        )
    if kind is VoteKind.INTERLEAVED and state.flag.is_outside:
        raise InputError(
            f"{name} is another system ({state.flag.spec}), whose results cannot be served",
            remedy=f"Compare it with past searches: `assay shadow replay {name}`, and begin a paired test.",
        )


def _add_outcomes(test: AbTest, outcomes: SideOutcomes) -> AbTest:
    """Return a test with one more vote's outcomes in its sums."""
    control, treatment = outcomes
    return replace(
        test,
        control_mrr_sum=test.control_mrr_sum + (control.reciprocal_rank if control else 0.0),
        treatment_mrr_sum=test.treatment_mrr_sum + (treatment.reciprocal_rank if treatment else 0.0),
        control_ndcg_sum=test.control_ndcg_sum + (control.ndcg if control else 0.0),
        treatment_ndcg_sum=test.treatment_ndcg_sum + (treatment.ndcg if treatment else 0.0),
    )


def ratio_of(work: Work, test: AbTest) -> SampleRatio | None:
    """Return how a split test divides its votes; None for tests that ask both sides."""
    if VoteKind(test.state_json["kind"]) is not VoteKind.SPLIT:
        return None
    return _ratio(work.votes.arms(test.feature_id, test.attempt))


def _ratio(arms: Mapping[str, int]) -> SampleRatio:
    return sample_ratio(control=arms.get(Arm.CONTROL, 0), treatment=arms.get(Arm.TREATMENT, 0))


def counts_from(test: AbTest) -> datetime:
    """Return the moment since which searches may vote: when the test began, or was resumed last."""
    resumed = test.state_json.get("resumed_at")
    return test.started_at if resumed is None else datetime.fromisoformat(resumed)


def lacks_correction(test: AbTest) -> bool:
    """Return whether a test decided "better" with less evidence than its attempt requires.

    Tests of old stores began at the full alpha for every attempt; their decisions do not count.
    """
    rule = test.state_json["process"]["rule"]
    alpha = float(test.state_json.get("alpha", rule["alpha"]))
    needed = EProcessRule(alpha=alpha_of_attempt(alpha, test.attempt)).log_bound
    return test.log_likelihood_ratio < needed


def state_hash(test: AbTest) -> str:
    """What two processes, or one before and after a restart, can compare."""
    return content_hash(dict(test.state_json))


def _describe_switch(state: FlagState) -> dict[str, Any]:
    return {"percent": state.percent, "shadow": state.shadow}


def _is_changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a flag is no longer what its test began with. Shadow runs that were switched on since only add votes."""
    return bool(before["percent"] != now["percent"] or (before["shadow"] and not now["shadow"]))


def add_reason(sentence: str, why: str) -> str:
    """Return a sentence about a step with the reason that a person gave for it."""
    return f"{sentence} {why}" if why else sentence


def _words(switched: Mapping[str, Any]) -> str:
    return f"on for {switched['percent']} %" + (", shadowed" if switched["shadow"] else "")


def _describe_end(test: AbTest) -> str:
    return str(test.status) if test.status is not AbTestStatus.RUNNING else f"decided ({decision_of(test)})"


def _rule_of_attempt(rule: EProcessRule, kind: VoteKind, attempt: int) -> EProcessRule:
    """Return the rule of an attempt: its share of alpha, and half the effect where votes are halves of gains."""
    effect = rule.effect / 2 if kind is VoteKind.SPLIT else rule.effect
    return replace(rule, alpha=alpha_of_attempt(rule.alpha, attempt), effect=effect)


class _Gain(NamedTuple):
    mean: float | None
    interval: Interval | None


def _trial_standing(test: AbTest, votes: Sequence[AbVote], rng: np.random.Generator, because: str) -> TrialStanding:
    kind = VoteKind(test.state_json["kind"])
    split = kind is VoteKind.SPLIT
    arms = dict(Counter(str(vote.arm) for vote in votes))
    gain = _gain_of_split(votes, rng) if split else _gain_of_pairs(votes, rng)
    ratio = _ratio(arms) if split else None
    return TrialStanding(
        feature_id=test.feature_id,
        attempt=test.attempt,
        kind=kind,
        status=test.status,
        decision=decision_of(test),
        votes=test.sample_count,
        min_samples=test.min_samples,
        repeats=int(test.state_json.get("repeats", 0)),
        arms=arms,
        mean=gain.mean,
        interval=gain.interval,
        log_evidence=test.log_likelihood_ratio,
        log_bound=test.upper_bound,
        alpha=float(test.state_json["process"]["rule"]["alpha"]),
        treatment_better=_chance_of_split(votes) if split else _chance_of_wins(votes),
        treatment_better_means=CHANCE_LABELS[kind],
        split=None if ratio is None else _describe_split(ratio),
        withheld="" if ratio is None else ratio.withheld,
        no_votes_because=because,
        outcomes=_mean_outcomes(test, arms),
        path=_path(test, votes),
        log_futility=test.lower_bound,
        graduation_threshold=test.graduation_threshold,
        started_at=test.started_at,
        updated_at=test.updated_at,
        graduated_at=test.graduated_at,
        newest_votes=tuple(
            CastVote(query_id=vote.query_id, arm=vote.arm, difference=vote.difference, at=vote.created_at)
            for vote in reversed(votes[-NEWEST_VOTES:])
        ),
    )


def _mean_outcomes(test: AbTest, arms: Mapping[str, int]) -> dict[str, Sides]:
    """Return what each side's results came to on average; empty for tests of versions that did not keep it."""
    both = arms.get(Arm.BOTH, 0)
    control, treatment = arms.get(Arm.CONTROL, 0) + both, arms.get(Arm.TREATMENT, 0) + both
    if test.state_json.get("sums") != "outcomes" or not control or not treatment:
        return {}
    sums = {
        "mrr": (test.control_mrr_sum, test.treatment_mrr_sum),
        "ndcg@10": (test.control_ndcg_sum, test.treatment_ndcg_sum),
    }
    return {
        name: Sides(control=left / control, treatment=right / treatment, n=sum(arms.values()))
        for name, (left, right) in sums.items()
    }


def _describe_split(ratio: SampleRatio) -> SampleSplit:
    return SampleSplit(control=ratio.control, treatment=ratio.treatment, p=ratio.p, sentence=ratio.sentence)


def _gain_of_pairs(votes: Sequence[AbVote], rng: np.random.Generator) -> _Gain:
    differences = np.asarray([vote.difference for vote in votes])
    if not differences.size:
        return _Gain(None, None)
    interval = bootstrap_mean(differences, rng=rng, bounds=(-1.0, 1.0)) if len(votes) >= LEAST_FOR_INTERVAL else None
    return _Gain(float(differences.mean()), interval)


def _gain_of_split(votes: Sequence[AbVote], rng: np.random.Generator) -> _Gain:
    """Return the difference of the arms' mean outcomes: unlike the mean of signed votes, it does not count the arms."""
    control, treatment = _outcomes(votes)
    if not control or not treatment:
        return _Gain(None, None)
    seen = mean_difference(control, treatment, rng=rng)
    if seen.low is None or seen.high is None:
        return _Gain(seen.delta, None)
    low, high = max(-1.0, seen.low), min(1.0, seen.high)
    return _Gain(seen.delta, Interval(estimate=seen.delta, low=low, high=high, level=0.95, n=len(votes), method="t"))


def _outcomes(votes: Sequence[AbVote]) -> tuple[list[float], list[float]]:
    """Return what each side of a split came to; the votes of the control are stored negative."""
    control = [-vote.difference for vote in votes if vote.arm is Arm.CONTROL]
    treatment = [vote.difference for vote in votes if vote.arm is Arm.TREATMENT]
    return control, treatment


def _chance_of_split(votes: Sequence[AbVote]) -> float | None:
    """Return how likely the treatment's mean outcome is the higher one; None while a side has no votes."""
    control, treatment = _outcomes(votes)
    return chance_of_higher_mean(control, treatment) if control and treatment else None


def _chance_of_wins(votes: Sequence[AbVote]) -> float | None:
    """Return how likely the treatment wins more than half of the decided pairs; None while all are ties."""
    wins = sum(vote.difference > 0 for vote in votes)
    decided = wins + sum(vote.difference < 0 for vote in votes)
    if not decided:
        return None
    return beta_binomial(Successes(decided - wins, decided), Successes(wins, decided)).treatment_better


def _path(test: AbTest, votes: Sequence[AbVote]) -> tuple[tuple[int, float, float], ...]:
    process = EProcess(rule=EProcess.from_json(test.state_json["process"]).rule)
    path = []
    for count, vote in enumerate(votes, start=1):
        # Whether it may decide depends on the ratio at the time; the evidence does not.
        process = process.update([vote.difference], may_decide=False)
        path.append((count, process.log_e_better, process.log_e_worse))
    return tuple(path)
