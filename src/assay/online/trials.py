"""Sequential tests of features, kept in the store: begun, voted on, looked at after every vote, and ended.

A vote is one distinct query's difference, treatment minus control, from -1 to 1; a query that asks the same again has
voted. The vote and the state after it are written in one unit of work that reads the state first, so a restart changes
nothing and two processes lose nothing. Three things pause a test, each with its sentence: the flag is not what it was
when the test began, one side of a split gets too few queries to be chance (sample ratio), or a person says so. A paused
or ended test takes no votes; the next attempt is a test of its own.

How votes of a split are made from one side only: with a fair coin between the sides, treatment counts its outcome y and
control counts -y. The mean is half the gain, whatever the outcomes are, so such a test bets on half the effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.clock import Clock
from assay.errors import InputError, RecordNotFound
from assay.flags import Flags, FlagState, known
from assay.hashing import HASH_PREFIX, content_hash
from assay.records import AbTest, AbTestStatus, Scope
from assay.records.online import AbVote, Arm, LadderStep, Step, StepOutcome, VoteKind
from assay.statistics.bayes import BayesResult, Successes, beta_binomial
from assay.statistics.bootstrap import bootstrap_mean
from assay.statistics.interleaving import sign_test_of
from assay.statistics.intervals import Interval
from assay.statistics.sequential import EProcess, EProcessRule
from assay.storage import Store, Work

RATIO_ALARM = 0.001
"""A split less likely than this is no fair coin."""
RATIO_LEAST = 20
"""Votes before the split is looked at."""
FAIR = 50
"""The rollout, in percent, at which both sides are as likely."""
LEAST_FOR_INTERVAL = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Voted:
    """What became of a vote."""

    counted: bool
    reason: str
    """Empty when it counted; otherwise why not."""
    test: AbTest

    @property
    def decision(self) -> str | None:
        """How the test ended; None while it runs."""
        return decision_of(self.test)


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """A test with everything that can be said of it."""

    test: AbTest
    kind: VoteKind
    arms: Mapping[str, int]
    mean: float | None
    interval: Interval | None
    bayes: BayesResult
    path: tuple[tuple[int, float, float], ...]
    """After each vote: how many, ln K for better, ln K for worse."""
    ratio_p: float | None
    """The chance of so uneven a split; None where there is none."""

    @property
    def decision(self) -> str | None:
        """How it ended; None while it runs."""
        return decision_of(self.test)


class Trials:
    """Keeps the sequential tests of a store."""

    def __init__(self, *, store: Store, flags: Flags, clock: Clock) -> None:
        self._store = store
        self._flags = flags
        self._clock = clock

    def begin(self, scope: Scope, feature_id: str, *, kind: VoteKind, rule: EProcessRule | None = None) -> AbTest:
        """Begin a test of a flag, or a new attempt after one that ended or was paused."""
        flag = known(feature_id)
        rule = rule or EProcessRule()
        process = EProcess(rule=replace(rule, effect=rule.effect / 2) if kind is VoteKind.SPLIT else rule)
        now = self._clock.now()
        with self._store.writing(scope) as work:
            before = find_test(work, feature_id)
            if before is not None and before.status is AbTestStatus.RUNNING:
                raise InputError(
                    f"attempt {before.attempt} at {feature_id} is still running",
                    remedy=f"Pause it first: `assay ladder pause {feature_id}`.",
                )
            state = self._flags.states(work)[feature_id]
            if kind is VoteKind.SPLIT and state.percent != FAIR:
                raise InputError(
                    f"{feature_id} is on for {state.percent} % of sessions, and a split test needs half of them",
                    remedy=f"Switch it: `assay flag set {feature_id} {FAIR}%`.",
                )
            test = AbTest(
                feature_id=feature_id,
                attempt=1 if before is None else before.attempt + 1,
                upper_bound=process.rule.log_bound,
                lower_bound=-process.rule.log_futility_bound,
                min_samples=flag.minimum_samples,
                graduation_threshold=flag.graduation_threshold,
                state_json={
                    "kind": str(kind),
                    "process": process.as_json(),
                    "flag": _switched(state),
                },
                started_at=now,
                updated_at=now,
            )
            work.ab_tests.put(test)
            step = Step.INTERLEAVING if kind is VoteKind.INTERLEAVED else Step.AB_TEST
            self._tell(work, test, step, StepOutcome.BEGUN, f"Attempt {test.attempt} began, with {kind} votes.")
            return test

    def vote(
        self, scope: Scope, feature_id: str, query: str, difference: float, *, arm: Arm, query_id: str | None = None
    ) -> Voted:
        """Count one query's difference. A split's difference is the outcome, signed by the side that answered."""
        with self._store.writing(scope) as work:
            return self.vote_in(work, feature_id, query, difference, arm=arm, query_id=query_id)

    def vote_in(
        self, work: Work, feature_id: str, query: str, difference: float, *, arm: Arm, query_id: str | None = None
    ) -> Voted:
        """The same within a unit of work of the caller's."""
        test = work.ab_tests.latest(feature_id, to_change=True)
        if test.status is not AbTestStatus.RUNNING or decision_of(test) is not None:
            return Voted(counted=False, reason=f"attempt {test.attempt} is {_ended(test)}", test=test)
        now_switched = _switched(self._flags.states(work)[feature_id])
        if now_switched != test.state_json["flag"]:
            why = f"The flag was {_words(test.state_json['flag'])} when it began and is {_words(now_switched)} now."
            return Voted(counted=False, reason=why, test=self._pause(work, test, why))
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
            return Voted(counted=False, reason="this query has voted", test=test)
        return Voted(counted=True, reason="", test=self._counted(work, test, vote))

    def pause(self, scope: Scope, feature_id: str, why: str) -> AbTest:
        """Stop taking votes."""
        with self._store.writing(scope) as work:
            test = work.ab_tests.latest(feature_id, to_change=True)
            if test.status is not AbTestStatus.RUNNING:
                raise InputError(
                    f"attempt {test.attempt} at {feature_id} is {test.status}", remedy="Begin a new attempt."
                )
            return self._pause(work, test, why)

    def close(self, work: Work, test: AbTest, status: AbTestStatus) -> AbTest:
        """End a test for good, as graduated or rejected."""
        now = max(self._clock.now(), test.updated_at)
        graduated = now if status is AbTestStatus.GRADUATED else None
        ended = replace(test, status=status, updated_at=now, graduated_at=graduated)
        work.ab_tests.put(ended)
        return ended

    def standing(self, scope: Scope, feature_id: str, *, rng: np.random.Generator) -> Standing:
        """Everything about the newest attempt."""
        with self._store.reading(scope) as work:
            test = work.ab_tests.latest(feature_id)
            votes = work.votes.of(feature_id, test.attempt)
        return _standing(test, votes, rng)

    def _counted(self, work: Work, test: AbTest, vote: AbVote) -> AbTest:
        process = EProcess.from_json(test.state_json["process"]).update([vote.difference])
        # A clock that goes backwards does not take a test with it.
        now = max(vote.created_at, test.updated_at)
        after = replace(
            test,
            log_likelihood_ratio=process.log_e_better,
            sample_count=test.sample_count + 1,
            treatment_mrr_sum=test.treatment_mrr_sum + max(vote.difference, 0.0),
            control_mrr_sum=test.control_mrr_sum + max(-vote.difference, 0.0),
            state_json={**test.state_json, "process": process.as_json()},
            updated_at=now,
        )
        if process.decision in ("worse", "futile"):
            after = replace(after, status=AbTestStatus.REJECTED)
        work.ab_tests.put(after)
        if process.decision is not None:
            self._decided(work, after, process)
        elif vote.kind is VoteKind.SPLIT and (why := _uneven(work.votes.arms(test.feature_id, test.attempt))):
            return self._pause(work, after, why)
        return after

    def _decided(self, work: Work, test: AbTest, process: EProcess) -> None:
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
        paused = replace(test, status=AbTestStatus.PAUSED, updated_at=max(self._clock.now(), test.updated_at))
        work.ab_tests.put(paused)
        self._tell(work, paused, Step.AB_TEST, StepOutcome.PAUSED, why)
        return paused

    def _tell(self, work: Work, test: AbTest, step: Step, outcome: StepOutcome, sentence: str) -> None:
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
        work.audit.append(f"test.{outcome}", test.feature_id, {"attempt": test.attempt, "sentence": sentence})


def find_test(work: Work, feature_id: str) -> AbTest | None:
    """The newest attempt at a feature; None when there was none."""
    try:
        return work.ab_tests.latest(feature_id)
    except RecordNotFound:
        return None


def decision_of(test: AbTest) -> str | None:
    """`better`, `worse` or `futile`; None while the test runs."""
    found: str | None = test.state_json["process"]["decision"]
    return found


def state_hash(test: AbTest) -> str:
    """What two processes, or one before and after a restart, can compare."""
    return content_hash(dict(test.state_json))


def query_key(query: str) -> str:
    """The same for the same words in whatever case and spacing."""
    return content_hash(" ".join(query.casefold().split())).removeprefix(HASH_PREFIX)[:32]


def _switched(state: FlagState) -> dict[str, Any]:
    return {"percent": state.percent, "shadow": state.shadow}


def _words(switched: Mapping[str, Any]) -> str:
    return f"on for {switched['percent']} %" + (", shadowed" if switched["shadow"] else "")


def _ended(test: AbTest) -> str:
    return str(test.status) if test.status is not AbTestStatus.RUNNING else f"decided ({decision_of(test)})"


def _uneven(arms: Mapping[str, int]) -> str:
    """Why the split cannot be chance; empty when it can."""
    control, treatment = arms.get(Arm.CONTROL, 0), arms.get(Arm.TREATMENT, 0)
    if control + treatment < RATIO_LEAST:
        return ""
    p = sign_test_of(wins=treatment, losses=control).p
    if p >= RATIO_ALARM:
        return ""
    return f"{control} queries went to the control and {treatment} to the treatment: no fair split (p = {p:.1g})."


def _standing(test: AbTest, votes: Sequence[AbVote], rng: np.random.Generator) -> Standing:
    kind = VoteKind(test.state_json["kind"])
    # What a split votes is half the gain; shown is the gain.
    scale = 2.0 if kind is VoteKind.SPLIT else 1.0
    differences = np.asarray([vote.difference for vote in votes]) * scale
    arms: dict[str, int] = {}
    for vote in votes:
        arms[str(vote.arm)] = arms.get(str(vote.arm), 0) + 1
    wins, losses = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    bounds = (-scale, scale)
    return Standing(
        test=test,
        kind=kind,
        arms=arms,
        mean=float(differences.mean()) if differences.size else None,
        interval=bootstrap_mean(differences, rng=rng, bounds=bounds) if len(votes) >= LEAST_FOR_INTERVAL else None,
        bayes=beta_binomial(Successes(losses, wins + losses), Successes(wins, wins + losses)),
        path=_path(test, votes),
        ratio_p=_ratio_p(kind, arms),
    )


def _ratio_p(kind: VoteKind, arms: Mapping[str, int]) -> float | None:
    if kind is not VoteKind.SPLIT:
        return None
    return sign_test_of(wins=arms.get(Arm.TREATMENT, 0), losses=arms.get(Arm.CONTROL, 0)).p


def _path(test: AbTest, votes: Sequence[AbVote]) -> tuple[tuple[int, float, float], ...]:
    process = EProcess(rule=EProcess.from_json(test.state_json["process"]).rule)
    path = []
    for count, vote in enumerate(votes, start=1):
        process = process.update([vote.difference])
        path.append((count, process.log_e_better, process.log_e_worse))
    return tuple(path)
