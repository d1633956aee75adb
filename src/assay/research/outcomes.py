"""The outcome of a question, and the `passed` and overall score that follow from it.

This is the one place that decides them. `evidence` is the chance, 0 to 1, that the passages that were found answer the
question; None where nobody says.

| outcome                     | passed                                     | overall score                             |
|-----------------------------|--------------------------------------------|-------------------------------------------|
| `answered`                  | every checkpoint that was scored passed    | mean of the checkpoints, capped by faults |
| `refused`                   | no                                         | retrieval score, no higher than evidence  |
| `refused_despite_evidence`  | no                                         | half of the chance that refusing is right |
| `answered_without_evidence` | no                                         | as `answered`, no higher than evidence    |
| `failed`                    | no                                         | none: there is nothing to score           |

Missing is not zero: where evaluation is off, or a checkpoint could not be evaluated, `passed` and the overall score of
an answer or of a refusal are None. A score that belongs to a question that did not pass is below the bar it missed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from assay.judging.panel_options import EVIDENCE_FROM, below
from assay.records.judging import CheckpointState
from assay.records.research import Checkpoint, Dimension
from assay.records.research_log import QuestionOutcome, ResearchStatus
from assay.research.checkpoints import ALWAYS, IF_BORDERLINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.records.judging import CheckpointResult
    from assay.records.research import Synthesis

BUILTIN = "builtin"
"""The synthesiser whose confidence is the chance that the passages answer the question."""
LOST = frozenset({CheckpointState.SKIPPED, CheckpointState.JUDGE_FAILED})
"""States in which a checkpoint should have been scored and was not."""


class QuestionVerdict(NamedTuple):
    """What a question came to."""

    outcome: QuestionOutcome
    passed: bool | None
    """None: nothing was scored, or not everything that should have been."""
    overall_score: float | None


def find_evidence(synthesis: Synthesis | None, retrieval: CheckpointResult, passages: int) -> float | None:
    """Return the chance that the passages answer the question; None: retrieval is not evaluated, or nobody says.

    The built-in synthesiser says it itself. For others it is the context recall that the evaluators of the retrieval
    gave. Where nothing was found it is 0.
    """
    if retrieval.state is CheckpointState.DISABLED:
        return None
    if not passages:
        return 0.0
    if synthesis is not None and synthesis.synthesiser == BUILTIN and synthesis.confidence is not None:
        return synthesis.confidence
    return retrieval.scores.get(Dimension.CONTEXT_RECALL.value)


def decide_outcome(
    status: ResearchStatus, evidence: float | None, *, evidence_from: float = EVIDENCE_FROM
) -> QuestionOutcome:
    """Return the outcome of a question from how it ended and from what was found."""
    if status in {ResearchStatus.FAILED, ResearchStatus.WITHHELD}:
        return QuestionOutcome.FAILED
    found = None if evidence is None else not below(evidence, evidence_from)
    if status is ResearchStatus.ABSTAINED:
        return QuestionOutcome.REFUSED_DESPITE_EVIDENCE if found else QuestionOutcome.REFUSED
    return QuestionOutcome.ANSWERED_WITHOUT_EVIDENCE if found is False else QuestionOutcome.ANSWERED


def judge_question(
    status: ResearchStatus,
    results: Sequence[CheckpointResult],
    evidence: float | None,
    *,
    evidence_from: float = EVIDENCE_FROM,
) -> QuestionVerdict:
    """Return the outcome of a question, whether it passed, and its overall score.

    `results` has what counts of each checkpoint: the chosen plan, the retrieval, and the chosen answer if one was made.
    """
    outcome = decide_outcome(status, evidence, evidence_from=evidence_from)
    overall = _overall(outcome, results, evidence)
    if outcome not in {QuestionOutcome.ANSWERED, QuestionOutcome.REFUSED}:
        return QuestionVerdict(outcome, passed=False, overall_score=overall)
    if overall is None or any(result.state in LOST for result in results):
        return QuestionVerdict(outcome, passed=None, overall_score=overall)
    passed = outcome is QuestionOutcome.ANSWERED and all(result.lets_through for result in results)
    return QuestionVerdict(outcome, passed=passed, overall_score=overall)


def _overall(outcome: QuestionOutcome, results: Sequence[CheckpointResult], evidence: float | None) -> float | None:
    retrieval = next((result.score for result in results if result.checkpoint is Checkpoint.RETRIEVAL), None)
    if outcome is QuestionOutcome.FAILED:
        return None
    if outcome is QuestionOutcome.REFUSED:
        # A refusal is worth what was found: sources that do not answer are worth little however good they are.
        return _lowest([retrieval, evidence])
    if outcome is QuestionOutcome.REFUSED_DESPITE_EVIDENCE:
        return _lowest([retrieval, None if evidence is None else (1.0 - evidence) / 2.0])
    scores = [result.score for result in results if result.score is not None]
    if not scores:
        return None
    cap = evidence if outcome is QuestionOutcome.ANSWERED_WITHOUT_EVIDENCE else None
    return _lowest([math.fsum(scores) / len(scores), cap, *_faults(results)])


def _faults(results: Iterable[CheckpointResult]) -> list[float]:
    """Return the scores of checkpoints that failed, and of dimensions that fail a checkpoint by themselves."""
    failed = [result for result in results if result.passed is False]
    scores = [result.score for result in failed if result.score is not None]
    for result in failed:
        decisive = (*ALWAYS[result.checkpoint], *IF_BORDERLINE.get(result.checkpoint, ()))
        scores += [result.scores[name.value] for name in decisive if name.value in result.failed_dimensions]
    return scores


def _lowest(scores: Iterable[float | None]) -> float | None:
    return min((score for score in scores if score is not None), default=None)
