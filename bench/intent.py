"""Whether the built-in plan evaluation catches plans that miss the question: `python -m bench.intent [--json]`.

`data/plans.jsonl` holds labelled plans: aligned ones, and ones misaligned in a named way. The rules were made on the
development half; the held-out half is measured. A plan is caught when the pipeline would iterate. Then every question
is planned by the rule planner and evaluated until it passes, and the time of the built-in evaluation at all three
checkpoints is taken. Exit code 1 when a requirement is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.judging.builtin.evaluators import builtin_panel
from assay.judging.builtin.support import Evidence
from assay.judging.protocol import Evaluator
from assay.records.research import (
    OWNERS,
    Checkpoint,
    Dimension,
    IterationMode,
    Material,
    Passage,
    Plan,
    PlanFeedback,
    PlannedQuery,
    Role,
    RoleScores,
)
from assay.research.planner import RulePlanner
from assay.research.synthesiser import ExtractiveSynthesiser

PLANS = Path(__file__).parent / "data" / "plans.jsonl"
WEIGHTS = {
    Dimension.INTENT_ALIGNMENT: 0.5,
    Dimension.QUERY_COVERAGE: 0.35,
    Dimension.SCOPE_APPROPRIATENESS: 0.15,
}
PASS = 0.7
LEAST = {Dimension.INTENT_ALIGNMENT: 0.7, Dimension.QUERY_COVERAGE: 0.6}
BORDERLINE, LEAST_SCOPE = 0.05, 0.5
MOST_ATTEMPTS = 3
CAUGHT, FALSE_ALARMS, ITERATIONS, P95_MS = 0.80, 0.10, 2.0, 150.0
PASSAGES, SENTENCES = 8, 6


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledPlan:
    """One line of the file."""

    id: str
    split: str
    label: str
    """`aligned`, or how it is not."""
    question: str
    intent: str
    queries: tuple[str, ...]

    @property
    def plan(self) -> Plan:
        """As the evaluators are shown it."""
        queries = tuple(PlannedQuery(text=text) for text in self.queries)
        return Plan(question=self.question, queries=queries, intent=self.intent, planner="labelled")


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What was measured."""

    plans: int
    misaligned: int
    caught: float
    aligned: int
    false_alarms: float
    caught_by_label: Mapping[str, str]
    questions: int
    iterations: float
    """Attempts of the rule planner, on average, until a plan passes or the third one."""
    passing: float
    p50_ms: float
    """Of the built-in evaluation of plan, passages and answer together."""
    p95_ms: float
    cpu_p95_ms: float
    """The same in CPU time over all threads, which other work on the machine hardly moves. No requirement."""

    @property
    def are_met(self) -> bool:
        """Whether every requirement is."""
        return (
            self.caught > CAUGHT
            and self.false_alarms < FALSE_ALARMS
            and self.iterations < ITERATIONS
            and self.p95_ms < P95_MS
        )


def load_plans(split: str | None = None) -> list[LabelledPlan]:
    """The labelled plans, or those of one split."""
    lines = [json.loads(line) for line in PLANS.read_text(encoding="utf-8").splitlines()]
    return [
        LabelledPlan(**line | {"queries": tuple(line["queries"])}) for line in lines if split in {None, line["split"]}
    ]


def needs_another_attempt(found: Mapping[Role, RoleScores]) -> bool:
    """The pipeline's rule: a dimension below its own threshold, or all together below the common one."""
    own = {dimension: found[OWNERS[dimension]] for dimension in WEIGHTS}
    shares = {dimension: WEIGHTS[dimension] * one.confidence for dimension, one in own.items()}
    total = sum(shares[dimension] * one.scores[dimension] for dimension, one in own.items()) / sum(shares.values())
    below = any(own[dimension].scores[dimension] < least for dimension, least in LEAST.items())
    scope = own[Dimension.SCOPE_APPROPRIATENESS].scores[Dimension.SCOPE_APPROPRIATENESS]
    return below or total < PASS or (scope < LEAST_SCOPE and abs(total - PASS) <= BORDERLINE)


Panel = Mapping[Checkpoint, Sequence[Evaluator]]


def evaluated(material: Material, panel: Panel) -> dict[Role, RoleScores]:
    """What every role of the checkpoint says."""
    return {one.role: one.evaluate(material) for one in panel[material.checkpoint]}


def is_caught(one: LabelledPlan, panel: Panel) -> bool:
    """Whether a labelled plan would be sent back."""
    material = Material(checkpoint=Checkpoint.PLAN, question=one.question, plan=one.plan)
    return needs_another_attempt(evaluated(material, panel))


def attempts(question: str, panel: Panel) -> tuple[int, bool]:
    """How often the rule planner has to plan, and whether its last plan passes."""
    planner, feedback = RulePlanner(), None
    for attempt in range(1, MOST_ATTEMPTS + 1):
        plan = planner.plan(question, feedback=feedback)
        found = evaluated(Material(checkpoint=Checkpoint.PLAN, question=question, plan=plan), panel)
        if not needs_another_attempt(found):
            return attempt, True
        mode = IterationMode.TARGETED_FIX if attempt == 1 else IterationMode.FULL_REGENERATION
        issues = tuple(issue for one in found.values() for issue in one.issues)
        feedback = PlanFeedback(previous=plan, mode=mode, issues=issues)
    return MOST_ATTEMPTS, False


class Taken(NamedTuple):
    """Milliseconds by the clock on the wall, and of CPU time."""

    wall: float
    cpu: float


def taken(question: str, passages: Sequence[Passage], embedder: Embedder) -> Taken:
    """What evaluating plan, passages and answer costs; making them is not counted."""
    panel = builtin_panel(embedder)
    plan = RulePlanner().plan(question)
    synthesis = ExtractiveSynthesiser(embedder).synthesise(question, passages)
    begun = (time.perf_counter(), time.process_time())
    for checkpoint in Checkpoint:
        material = Material(
            checkpoint=checkpoint, question=question, plan=plan, passages=tuple(passages), synthesis=synthesis
        )
        evaluated(material, panel)
    return Taken(1000 * (time.perf_counter() - begun[0]), 1000 * (time.process_time() - begun[1]))


def made_passages(plans: Sequence[LabelledPlan], about: LabelledPlan) -> list[Passage]:
    """Passages as long as real ones: sentences on the question first, then on others."""
    near = [
        f"{text} is described here, with {word} and more that people ask about."
        for text in about.queries
        for word in about.intent.split()
    ]
    far = [
        f"Another note speaks of {text} and of what was said about it in 20{number:02d}."
        for number, one in enumerate(plans)
        for text in one.queries[:1]
    ]
    texts = [*near, *far][: PASSAGES * SENTENCES]
    return [
        Passage(number=place + 1, text=" ".join(texts[place * SENTENCES : (place + 1) * SENTENCES]))
        for place in range(len(texts) // SENTENCES)
    ]


def measure(split: str, embedder: Embedder) -> Figures:
    """Everything on one split."""
    plans, panel = load_plans(split), builtin_panel(embedder)
    caught = {one.id: is_caught(one, panel) for one in plans}
    wrong = [one for one in plans if one.label != "aligned"]
    right = [one for one in plans if one.label == "aligned"]
    planned = [attempts(one.question, panel) for one in right]
    times = [taken(one.question, made_passages(plans, one), embedder) for one in right]
    return Figures(
        plans=len(plans),
        misaligned=len(wrong),
        caught=_share(caught[one.id] for one in wrong),
        aligned=len(right),
        false_alarms=_share(caught[one.id] for one in right),
        caught_by_label=_by_label(wrong, caught),
        questions=len(right),
        iterations=float(np.mean([number for number, _ in planned])),
        passing=_share(passed for _, passed in planned),
        p50_ms=float(np.percentile([one.wall for one in times], 50)),
        p95_ms=float(np.percentile([one.wall for one in times], 95)),
        cpu_p95_ms=float(np.percentile([one.cpu for one in times], 95)),
    )


def _share(values: Iterable[bool]) -> float:
    return float(np.mean(list(values)))


def _by_label(wrong: Sequence[LabelledPlan], caught: Mapping[str, bool]) -> dict[str, str]:
    found: dict[str, list[bool]] = defaultdict(list)
    for one in wrong:
        found[one.label].append(caught[one.id])
    return {label: f"{sum(values)}/{len(values)}" for label, values in sorted(found.items())}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.intent", description=__doc__)
    parser.add_argument("--split", choices=("held_out", "development"), default="held_out")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    asked = parser.parse_args(arguments)
    figures = measure(asked.split, load_bundled())
    if asked.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        for name, value in asdict(figures).items():
            print(f"{name}: {value:.3f}" if isinstance(value, float) else f"{name}: {value}")
    return int(not figures.are_met)


if __name__ == "__main__":
    sys.exit(main())
