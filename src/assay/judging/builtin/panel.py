"""The built-in evaluators of a checkpoint, one for each role that is present there, over one shared reading."""

from __future__ import annotations

from functools import partial

from assay.embedding.cached import CachedEmbedder
from assay.embedding.protocol import Embedder
from assay.judging.builtin.answer_evaluator import BuiltinAnswerEvaluator, read_answer
from assay.judging.builtin.like_lengths import LikeLengths
from assay.judging.builtin.plan_evaluator import BuiltinPlanEvaluator
from assay.judging.builtin.plan_reading import read_plan
from assay.judging.builtin.retrieval_evaluator import BuiltinRetrievalEvaluator, read_retrieval
from assay.judging.builtin.shared import SharedReading
from assay.judging.evaluator import Evaluator
from assay.records.research import Checkpoint, roles_at

REMEMBERED = 512
"""Vectors kept between the checkpoints of one question: what retrieval compared, the answer compares again."""


def builtin_panel(embedder: Embedder | None = None) -> dict[Checkpoint, tuple[Evaluator, ...]]:
    """Every role of every checkpoint, by rules. Safe to use from several threads."""
    remembered = None if embedder is None else CachedEmbedder(LikeLengths(embedder), REMEMBERED)
    plan = SharedReading(partial(read_plan, embedder=remembered))
    retrieval = SharedReading(partial(read_retrieval, embedder=remembered))
    answer = SharedReading(partial(read_answer, embedder=remembered))
    return {
        Checkpoint.PLAN: tuple(BuiltinPlanEvaluator(role, plan) for role in roles_at(Checkpoint.PLAN)),
        Checkpoint.RETRIEVAL: tuple(
            BuiltinRetrievalEvaluator(role, retrieval) for role in roles_at(Checkpoint.RETRIEVAL)
        ),
        Checkpoint.ANSWER: tuple(BuiltinAnswerEvaluator(role, answer) for role in roles_at(Checkpoint.ANSWER)),
    }
