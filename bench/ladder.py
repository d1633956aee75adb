"""Does the ladder let the right changes through? Simulated traffic, judged by the product's own code.

What two configurations find is measured once, by running `agent-memory` on the engine: one by its lexical channel
alone, one as it is. Traffic is drawn from those queries. Steps, votes, conditions and guardrails are the store's and
the ladder's own:

    better        the engine as it is against the lexical channel alone: graduates
    worse         the two exchanged: rejected
    slower        the better one, at half again the time: blocked by its latency
    later broken  graduated, then slow traffic: rolled back

Then numbers, from the same e-process without a store between votes (the store's part is tested to be the same, vote by
vote). Readers go down a list, stop after each result with a chance, and use a relevant one more often than another:

    the same      one configuration against itself: never graduates in 1,000 repetitions, and better or worse is
                  declared in at most 5 %
    queries       how many distinct queries a split and an interleaved test need until 80 % of the tests say better
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import evaluate
from assay.api import Dataset
from assay.evaluation.results import RunResult
from assay.flags import find_flag
from assay.memory.engine import Engine
from assay.online.graduation import Gains, GraduationEvidence, all_hold, conditions
from assay.online.ladder import Ladder, metric_of_gain, offline_evidence
from assay.records import LoggedQuery, Scope
from assay.records.flags import Arm, Sides, StepOutcome, VoteKind
from assay.settings import Settings
from assay.statistics.intervals import mean_interval
from assay.statistics.online_tests import credit, team_draft
from assay.statistics.sequential import EProcess, EProcessRule
from assay.testing import FixedClock
from assay.wiring import ladder_of, open_engine

FLAG = "docscore_aggregation"
SCOPE = Scope(tenant="bench", principal="bench")
REPETITIONS = 1_000
GOES_ON = 0.8
USES_RELEVANT = 0.7
USES_OTHER = 0.05
SHOWN = 5
POWER = 0.8
FEWER = 3.0

Values = NDArray[np.float64]


class Query(NamedTuple):
    """One query with what both sides found."""

    control: tuple[str, ...]
    treatment: tuple[str, ...]
    relevant: frozenset[str]


def queries_of(dataset: str, control: RunResult, treatment: RunResult) -> list[Query]:
    """The queries that both sides answered and that have something to find."""
    found = []
    for case in Dataset.load(dataset).cases:
        ours, theirs = (run.results_of(case.id)[0].retrieved for run in (control, treatment))
        relevant = frozenset(one for one, grade in case.labels.items() if grade >= 2)
        if relevant and ours is not None and theirs is not None:
            found.append(Query(ours.ids[:SHOWN], theirs.ids[:SHOWN], relevant))
    return found


def used(shown: Sequence[str], relevant: frozenset[str], rng: np.random.Generator) -> list[str]:
    """What a reader uses of a list."""
    taken = []
    for one in shown:
        if rng.random() < (USES_RELEVANT if one in relevant else USES_OTHER):
            taken.append(one)
        if rng.random() > GOES_ON:
            break
    return taken


def split_vote(query: Query, rng: np.random.Generator) -> float:
    """One side answers, by a fair coin; the reciprocal rank of the first result used, signed by the side."""
    ours = rng.random() < 0.5
    found = outcome(query.treatment if ours else query.control, query.relevant, rng)
    return found if ours else -found


def interleaved_vote(query: Query, rng: np.random.Generator) -> float:
    """Both sides in one list; who drafted more of what was used."""
    merged = team_draft(query.control, query.treatment, length=SHOWN, rng=rng)
    return float(credit(merged, used([one.item for one in merged], query.relevant, rng)).vote)


def ended(votes: Values, rule: EProcessRule) -> EProcess:
    """The test after these votes."""
    return EProcess(rule=rule).update(votes)


def needed(queries: Sequence[Query], *, interleaved: bool, tests: int, most: int) -> int | None:
    """Distinct queries until `POWER` of the tests say better; None when they do not within `most`."""
    rng = np.random.default_rng(11)
    rule = EProcessRule() if interleaved else EProcessRule(effect=EProcessRule().effect / 2)
    vote = interleaved_vote if interleaved else split_vote
    counts = []
    for _ in range(tests):
        votes = np.asarray([vote(queries[at], rng) for at in rng.integers(0, len(queries), most)])
        end = ended(votes, rule)
        counts.append(end.votes if end.decision == "better" else np.inf)
    at = float(np.sort(counts)[int(np.ceil(POWER * tests)) - 1])
    return int(at) if np.isfinite(at) else None


def outcome(shown: Sequence[str], relevant: frozenset[str], rng: np.random.Generator) -> float:
    """The reciprocal rank of the first result a reader uses, 0 when none is."""
    taken = used(shown, relevant, rng)
    return 1.0 / (shown.index(taken[0]) + 1) if taken else 0.0


def same(queries: Sequence[Query], repetitions: int) -> tuple[int, int]:
    """One configuration against itself: how many tests declared a side, and how many graduated.

    The gain is what two readers of the same list happen to differ by, so that chance could let it through.
    """
    rng = np.random.default_rng(12)
    declared = graduated = 0
    alike = [query._replace(treatment=query.control) for query in queries]
    for _ in range(repetitions):
        end = ended(np.asarray([interleaved_vote(query, rng) for query in alike]), EProcessRule())
        declared += end.decision in ("better", "worse")
        gained = [outcome(one.treatment, one.relevant, rng) - outcome(one.control, one.relevant, rng) for one in alike]
        graduated += all_hold(conditions(find_flag(FLAG), _evidence(gained, end)))
    return declared, graduated


def _evidence(gained: Sequence[float], end: EProcess) -> GraduationEvidence:
    limits = mean_interval(gained, bounds=(-1.0, 1.0))
    equal = Sides(control=1.0, treatment=1.0, n=len(gained))
    return GraduationEvidence(
        gains=Gains(queries=len(gained), mean=limits.estimate, low=-1.0 if limits.low is None else limits.low),
        decision=end.decision,
        votes=end.votes,
        constitutional=equal,
        latency_p95_ms=equal,
    )


def climbed(
    ladder: Ladder, clock: FixedClock, control: RunResult, treatment: RunResult, *, slower: float = 1.0
) -> tuple[str, int]:
    """Offline, a paired test over the traffic, the decision: what came of it, and after how many votes.

    Times are set, not measured: what is asked is whether a slower change is blocked, not how slow this machine is.
    """
    rng = np.random.default_rng(1)
    evidence = offline_evidence(control, treatment, gate_passed=True, rng=rng, own_share=1.0)
    times = Sides(control=10.0, treatment=10.0 * slower, n=len(control.cases))
    ladder.offline(SCOPE, FLAG, replace(evidence, latency_p95_ms=times))
    ladder.trials.begin(SCOPE, FLAG, kind=VoteKind.PAIRED)
    votes = paired_votes(ladder, control, treatment)
    step = ladder.decide(SCOPE, FLAG)
    if step is None:
        return "blocked", votes
    if step.outcome is StepOutcome.RECOMMENDED:
        clock.advance(hours=1)
        step = ladder.graduate(SCOPE, FLAG)
    return str(step.outcome), votes


def paired_votes(ladder: Ladder, control: RunResult, treatment: RunResult) -> int:
    """Vote with what both sides scored, query by query, until the test decides; how many votes that took."""
    metric = metric_of_gain(control)
    before, after = control.per_case(metric), treatment.per_case(metric)
    count = 0
    for case, outcome in before.items():
        other = after[case].value
        if outcome.value is None or other is None:
            continue
        voted = ladder.trials.vote(SCOPE, FLAG, case, other - outcome.value, arm=Arm.BOTH)
        count = voted.test.sample_count
        if voted.decision is not None:
            break
    return count


def broken_later(ladder: Ladder, engine: Engine, clock: FixedClock) -> str:
    """Ordinary traffic before graduation, slow traffic after it: what the guardrails do."""
    rng = np.random.default_rng(13)
    now = clock.now()
    for at, latency in ((now - timedelta(hours=2), 10.0), (now + timedelta(minutes=1), 16.0)):
        lines = [_line(engine, at, float(latency * rng.uniform(0.8, 1.2))) for _ in range(200)]
        with engine.store.writing(SCOPE) as work:
            work.queries.add_many(lines)
    clock.advance(hours=1)
    ladder.watch(SCOPE, rng=rng)
    with engine.store.reading(SCOPE) as work:
        return str(work.ladder_steps.of(FLAG)[-1].outcome)


def _line(engine: Engine, at: datetime, latency: float) -> LoggedQuery:
    query_id = engine.store.ids.new("eq")
    return LoggedQuery(query_id=query_id, query=query_id, tool_name="search", created_at=at, total_latency_ms=latency)


def decisions(control: RunResult, treatment: RunResult) -> dict[str, tuple[str, str]]:
    """What became of each change, beside what should."""
    found = {}
    for name, expected, sides, slower in (
        ("better", "graduated", (control, treatment), 1.0),
        ("worse", "rejected", (treatment, control), 1.0),
        ("slower", "blocked", (control, treatment), 1.5),
    ):
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            clock = FixedClock()
            settings = Settings(db=str(Path(folder) / "assay.db"), embedder="none", tenant=SCOPE.tenant)
            with open_engine(settings, clock=clock) as engine:
                ladder = ladder_of(engine)
                outcome, votes = climbed(ladder, clock, *sides, slower=slower)
                found[name] = (f"{outcome} after {votes} votes", expected)
                if name == "better":
                    found["later broken"] = (broken_later(ladder, engine, clock), "rolled_back")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what became of each change; 1 when one of them ends otherwise than it should."""
    parser = argparse.ArgumentParser(prog="python -m bench.ladder", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--tests", type=int, default=200, help="tests for each number of queries")
    given = parser.parse_args(arguments)
    control, treatment = (evaluate("agent-memory", system) for system in ("assay:channels=bm25", "assay"))
    queries = queries_of("agent-memory", control, treatment)
    missed = []
    for name, (outcome, expected) in decisions(control, treatment).items():
        print(f"{name:<14}{outcome}")
        missed += [name] if not outcome.startswith(expected) else []
    declared, graduated = same(queries, given.repetitions)
    print(f"the same      declared in {declared} of {given.repetitions}, graduated in {graduated}")
    missed += ["the same"] if graduated or declared > 0.05 * given.repetitions else []
    split = needed(queries, interleaved=False, tests=given.tests, most=20_000)
    interleaved = needed(queries, interleaved=True, tests=given.tests, most=5_000)
    ratio = None if split is None or interleaved is None else split / interleaved
    fewer = "-" if ratio is None else f"{ratio:.1f}"
    print(f"queries       split {split}, interleaved {interleaved} for {POWER:.0%} power: {fewer}x fewer")
    missed += ["queries"] if ratio is None or ratio < FEWER else []
    print(f"MISSED: {', '.join(missed)}" if missed else "Every change ended as it should.")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
