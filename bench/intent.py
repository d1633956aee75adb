"""Whether the built-in plan evaluation catches plans that miss the question: `python -m bench.intent [--json]`.

`--plans FILE` measures plans of another author instead; `--planted` plants two defects in plans of the rule planner.

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
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.evaluation.datasets import load_dataset
from assay.judging.builtin.evaluators import BuiltinCheck, builtin_checks
from assay.records.research import (
    Checkpoint,
    Dimension,
    IterationMode,
    Material,
    Passage,
    Plan,
    PlanFeedback,
    PlannedQuery,
    RoleScores,
)
from assay.research.planner import RulePlanner
from assay.research.synthesiser import ExtractiveSynthesiser
from assay.text.questions import read_question

PLANS = Path(__file__).parent / "data" / "plans.jsonl"
TWO_WORDINGS = Path(__file__).parent / "data" / "plans_two_wordings.jsonl"
"""Each question with a right and a wrong plan in its own words, and a right and a wrong one in other words."""
ALIGNED = "aligned"
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
    wording: str = ""
    """`same` or `other` words than the question's, where a file says so."""
    severity: str = ""

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
    return [plan for plan in _read_plans(PLANS) if split in {None, plan.split}]


def load_two_wordings() -> list[LabelledPlan]:
    """The plans in two wordings; all of them serve to fit."""
    return _read_plans(TWO_WORDINGS)


def _read_plans(file: Path) -> list[LabelledPlan]:
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [LabelledPlan(**line | {"queries": tuple(line["queries"])}) for line in lines]


def load_foreign(file: Path) -> list[LabelledPlan]:
    """Plans of another author: lines with `id`, `question`, `queries`, `label` and, if misaligned, `defect`."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        LabelledPlan(
            id=line["id"],
            split="foreign",
            label=ALIGNED if line["label"] == ALIGNED else line.get("defect") or line["label"],
            question=line["question"],
            intent="",
            queries=tuple(line["queries"]),
            severity=line.get("severity") or "",
        )
        for line in lines
    ]


def total_score(found: RoleScores) -> float:
    """All dimensions together."""
    return sum(weight * found.scores[dimension] for dimension, weight in WEIGHTS.items()) / sum(WEIGHTS.values())


def needs_another_attempt(found: RoleScores) -> bool:
    """The pipeline's rule: a dimension below its own threshold, or all together below the common one."""
    if found.not_measured:
        return False
    total = total_score(found)
    below = any(found.scores[dimension] < least for dimension, least in LEAST.items())
    scope = found.scores[Dimension.SCOPE_APPROPRIATENESS]
    return below or total < PASS or (scope < LEAST_SCOPE and abs(total - PASS) <= BORDERLINE)


Checks = Mapping[Checkpoint, BuiltinCheck]


def evaluated(material: Material, checks: Checks) -> RoleScores:
    """What the built-in check says."""
    return checks[material.checkpoint].evaluate(material)


def is_caught(one: LabelledPlan, panel: Checks) -> bool:
    """Whether a labelled plan would be sent back."""
    material = Material(checkpoint=Checkpoint.PLAN, question=one.question, plan=one.plan)
    return needs_another_attempt(evaluated(material, panel))


def attempts(question: str, panel: Checks) -> tuple[int, bool]:
    """How often the rule planner has to plan, and whether its last plan passes."""
    planner, feedback = RulePlanner(), None
    for attempt in range(1, MOST_ATTEMPTS + 1):
        plan = planner.plan(question, feedback=feedback)
        found = evaluated(Material(checkpoint=Checkpoint.PLAN, question=question, plan=plan), panel)
        if not needs_another_attempt(found):
            return attempt, True
        mode = IterationMode.TARGETED_FIX if attempt == 1 else IterationMode.FULL_REGENERATION
        feedback = PlanFeedback(previous=plan, mode=mode, issues=found.issues)
    return MOST_ATTEMPTS, False


class Taken(NamedTuple):
    """Milliseconds by the clock on the wall, and of CPU time."""

    wall: float
    cpu: float


def taken(question: str, passages: Sequence[Passage], embedder: Embedder) -> Taken:
    """What evaluating plan, passages and answer costs; making them is not counted."""
    panel = builtin_checks(embedder)
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
    plans, panel = load_plans(split), builtin_checks(embedder)
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


# --- Plans of another author ---

DRAWS = 2_000
SEED = 7


def area_under_curve(right: Sequence[float], wrong: Sequence[float]) -> float:
    """How often a right plan scores above a wrong one; a tie counts half."""
    above = np.subtract.outer(np.asarray(right), np.asarray(wrong))
    return float((above > 0).mean() + 0.5 * (above == 0).mean())


def bootstrap_interval(right: Sequence[float], wrong: Sequence[float]) -> tuple[float, float]:
    """95 % of the area under the curve, over right and wrong plans drawn again."""
    random = np.random.default_rng(SEED)
    areas = [
        area_under_curve(
            random.choice(np.asarray(right), len(right)).tolist(), random.choice(np.asarray(wrong), len(wrong)).tolist()
        )
        for _ in range(DRAWS)
    ]
    low, high = np.percentile(areas, [2.5, 97.5])
    return float(low), float(high)


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignFigures:
    """What was measured on plans of another author. Areas are of right against wrong plans."""

    aligned: int
    misaligned: int
    area: float
    """Of all dimensions together."""
    interval: tuple[float, float]
    areas: Mapping[str, float]
    """By dimension."""
    aligned_passing: float
    misaligned_passing: float
    defects: Mapping[str, str]
    """For each defect: how many plans, the area of all dimensions, of each dimension, and how many pass."""


def measure_foreign(plans: Sequence[LabelledPlan], embedder: Embedder | None) -> ForeignFigures:
    """Areas and shares that pass, by defect."""
    panel = builtin_checks(embedder)
    found = {
        plan.id: evaluated(Material(checkpoint=Checkpoint.PLAN, question=plan.question, plan=plan.plan), panel)
        for plan in plans
    }
    totals = {key: total_score(scores) for key, scores in found.items()}
    owned = {key: scores.scores for key, scores in found.items()}
    passing = {key: not needs_another_attempt(scores) for key, scores in found.items()}
    right = [plan.id for plan in plans if plan.label == ALIGNED]
    wrong = [plan.id for plan in plans if plan.label != ALIGNED]

    def total_area(others: Sequence[str]) -> float:
        return area_under_curve([totals[key] for key in right], [totals[key] for key in others])

    def areas(others: Sequence[str]) -> dict[str, float]:
        return {
            dimension.value: area_under_curve(
                [owned[key][dimension] for key in right], [owned[key][dimension] for key in others]
            )
            for dimension in WEIGHTS
        }

    return ForeignFigures(
        aligned=len(right),
        misaligned=len(wrong),
        area=total_area(wrong),
        interval=bootstrap_interval([totals[key] for key in right], [totals[key] for key in wrong]),
        areas=areas(wrong),
        aligned_passing=_share(passing[key] for key in right),
        misaligned_passing=_share(passing[key] for key in wrong),
        defects={
            label: f"{len(own)} plans, area {total_area(own):.2f} ("
            + ", ".join(f"{name} {area:.2f}" for name, area in areas(own).items())
            + f"), {sum(passing[key] for key in own)} pass"
            for label in sorted({plan.label for plan in plans} - {ALIGNED})
            if (own := [plan.id for plan in plans if plan.label == label])
        },
    )


# --- Planted defects ---
#
# Plans of the rule planner for the questions of the bundled datasets, beside a plan for half of the question and a plan
# for another question of the same dataset.

PLANTED = ("hotel", "vault")
LEAST_KEYS = 4
"""Key words of a question that can be halved."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlantedFigures:
    """What was measured on one dataset."""

    questions: int
    passing: float
    """Plans of the rule planner."""
    halved: int
    half: Mapping[str, float]
    """By dimension: the area of the rule planner's plans against those for half of the question."""
    other: Mapping[str, float]
    """The same against those for another question."""


def halve_question(question: str) -> str | None:
    """Its first side or part, or the first half of its key words; nothing when there is too little to halve."""
    asked = read_question(question)
    aspects = asked.sides or asked.parts
    if len(aspects) > 1:
        return aspects[0]
    return " ".join(asked.keys[: len(asked.keys) // 2]) if len(asked.keys) >= LEAST_KEYS else None


def measure_planted(questions: Sequence[str], embedder: Embedder | None) -> PlantedFigures:
    """Areas of each dimension for two planted defects."""
    panel, planner = builtin_checks(embedder), RulePlanner()

    def scored(question: str, planned: str) -> RoleScores:
        plan = replace(planner.plan(planned), question=question)
        return evaluated(Material(checkpoint=Checkpoint.PLAN, question=question, plan=plan), panel)

    whole = [scored(question, question) for question in questions]
    halves = [scored(question, half) for question in questions if (half := halve_question(question))]
    # Half the list away: neighbours in a dataset are often about the same.
    away = len(questions) // 2
    others = [
        scored(question, other)
        for question, other in zip(questions, [*questions[away:], *questions[:away]], strict=True)
    ]

    def areas(wrong: Sequence[RoleScores]) -> dict[str, float]:
        return {
            dimension.value: area_under_curve(
                [found.scores[dimension] for found in whole], [found.scores[dimension] for found in wrong]
            )
            for dimension in WEIGHTS
        }

    return PlantedFigures(
        questions=len(questions),
        passing=_share(not needs_another_attempt(found) for found in whole),
        halved=len(halves),
        half=areas(halves),
        other=areas(others),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.intent", description=__doc__)
    parser.add_argument("--split", choices=("held_out", "development"), default="held_out")
    parser.add_argument("--plans", type=Path, metavar="FILE", help="measure the plans of another author in this file")
    parser.add_argument("--planted", action="store_true", help="measure planted defects on the bundled datasets")
    parser.add_argument("--words", action="store_true", help="with --plans or --planted: measure without an embedder")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    asked = parser.parse_args(arguments)
    embedder = None if asked.words else load_bundled()
    if asked.plans is not None:
        _print_figures(asdict(measure_foreign(load_foreign(asked.plans), embedder)), as_json=asked.json)
        return 0
    if asked.planted:
        for name in PLANTED:
            questions = [case.query for case in load_dataset(name).cases]
            _print_figures({"dataset": name} | asdict(measure_planted(questions, embedder)), as_json=asked.json)
        return 0
    figures = measure(asked.split, load_bundled())
    _print_figures(asdict(figures), as_json=asked.json)
    return int(not figures.are_met)


def _print_figures(figures: Mapping[str, object], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        if isinstance(value, Mapping):
            print(f"{name}:" if name == "defects" else f"{name}: {_format_items(value)}")
            if name == "defects":
                print("\n".join(f"  {label}: {text}" for label, text in value.items()))
        else:
            print(f"{name}: {_format_value(value)}")


def _format_items(values: Mapping[str, object]) -> str:
    if all(isinstance(value, str) for value in values.values()):
        return str(values)
    return ", ".join(f"{name} {_format_value(value)}" for name, value in values.items())


def _format_value(value: object) -> str:
    if isinstance(value, tuple):
        return " to ".join(_format_value(one) for one in value)
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
