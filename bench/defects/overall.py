"""What becomes of a question as a whole: its outcome and overall score, by the rules that the pipeline uses.

Refusals have no answer to score, so the two defects that are about refusing are measured here: a refusal although the
passage is there, and an answer although it is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from assay.embedding.protocol import Embedder
from assay.judging.builtin.answerability import read_evidence
from assay.judging.panel import Panel
from assay.judging.roles import builtin_members
from assay.records.research import Checkpoint, Material
from assay.records.research_log import ResearchStatus
from assay.research.checkpoints import CheckpointEvaluator
from assay.research.options import ResearchOptions
from assay.research.outcomes import QuestionVerdict, judge_question
from assay.testing import FixedClock
from bench.defects.cases import DefectCase

ABOUT_REFUSING = ("refusal despite evidence", "answer without evidence")
"""The defects that are measured here."""
BAD_BELOW = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeFigures:
    """What a defect does to questions as a whole."""

    defect: str
    pairs: int
    good: dict[str, int]
    """Outcomes of the good materials."""
    bad: dict[str, int]
    """Outcomes of the materials with the defect."""
    good_mean: float
    bad_mean: float
    bad_above: int
    """Materials with the defect that have an overall score of 0.5 or more, or passed."""


def measure_outcomes(cases: Sequence[DefectCase], embedder: Embedder | None) -> list[OutcomeFigures]:
    """Judge both materials of every case that is about refusing."""
    options = ResearchOptions()
    clock = FixedClock()
    panel = Panel(builtin_members(embedder), clock=clock, options=options.panel)
    evaluator = CheckpointEvaluator(panel, options=options, clock=clock)
    found = []
    for name in ABOUT_REFUSING:
        pairs = [
            (_judge(case.good, evaluator, embedder), _judge(case.bad, evaluator, embedder))
            for case in cases
            if case.defect.name == name
        ]
        if pairs:
            found.append(_figures(name, pairs))
    return found


def _judge(material: Material, evaluator: CheckpointEvaluator, embedder: Embedder | None) -> QuestionVerdict:
    refused = material.synthesis is None or material.synthesis.abstained
    results = [evaluator.evaluate(replace(material, checkpoint=Checkpoint.RETRIEVAL, synthesis=None))]
    if not refused:
        results.append(evaluator.evaluate(material))
    evidence = read_evidence(material.question, material.passages, embedder).probability
    return judge_question(ResearchStatus.ABSTAINED if refused else ResearchStatus.ANSWERED, results, evidence)


def _figures(name: str, pairs: Sequence[tuple[QuestionVerdict, QuestionVerdict]]) -> OutcomeFigures:
    good, bad = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return OutcomeFigures(
        defect=name,
        pairs=len(pairs),
        good=dict(Counter(verdict.outcome.value for verdict in good)),
        bad=dict(Counter(verdict.outcome.value for verdict in bad)),
        good_mean=fmean(verdict.overall_score or 0.0 for verdict in good),
        bad_mean=fmean(verdict.overall_score or 0.0 for verdict in bad),
        bad_above=sum((verdict.overall_score or 0.0) >= BAD_BELOW or bool(verdict.passed) for verdict in bad),
    )


def show_outcomes(figures: Sequence[OutcomeFigures]) -> list[str]:
    """A table of outcomes and overall scores."""
    head = ["defect", "pairs", "good: outcomes", "good: overall", "defective: outcomes", "defective: overall"]
    head.append("defective at .5 or above, or passed")
    lines = ["", f"| {' | '.join(head)} |", "| " + " | ".join(["---"] * len(head)) + " |"]
    for one in figures:
        cells = [one.defect, str(one.pairs), _list(one.good), f"{one.good_mean:.3f}", _list(one.bad)]
        cells += [f"{one.bad_mean:.3f}", f"{one.bad_above} of {one.pairs}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _list(outcomes: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(outcomes.items(), key=lambda item: -item[1]))
