"""The judges that come with Assay, registered like those of a package. `JUDGES` imports this module when needed."""

from __future__ import annotations

from assay.judging.builtin.correctness import BuiltinCorrectness, OverlapCorrectness
from assay.judging.builtin.judges import BuiltinAbstention, BuiltinGroundedness
from assay.judging.protocol import Judging, judging_abstention, judging_correctness, judging_groundedness
from assay.judging.registry import JudgeRequest, add_builtin
from assay.records.judging import RubricKind
from assay.wiring.engines import open_embedder
from assay.wiring.models import BUILTIN_JUDGE, open_judge


@add_builtin(
    BUILTIN_JUDGE,
    about=(RubricKind.GROUNDEDNESS, RubricKind.CORRECTNESS, RubricKind.ABSTENTION),
    summary="Rules and a few coefficients; no model.",
)
def open_builtin(request: JudgeRequest) -> Judging:
    """Open the judge that uses no model."""
    if request.about is RubricKind.ABSTENTION:
        return judging_abstention(BuiltinAbstention(), version="1")
    if request.about is RubricKind.CORRECTNESS:
        return open_correctness(request)
    embedder = None if request.settings.embedder == "none" else open_embedder(request.settings)
    return judging_groundedness(BuiltinGroundedness(embedder), version="1")


@add_builtin(
    "builtin-correctness",
    about=(RubricKind.CORRECTNESS,),
    summary="Holds the answer against the reference answer, part by part; no model.",
)
def open_correctness(request: JudgeRequest) -> Judging:  # noqa: ARG001 - it needs no setting
    """Open the built-in judge of correctness."""
    return judging_correctness(BuiltinCorrectness(), version="1")


@add_builtin(
    "builtin-overlap",
    about=(RubricKind.CORRECTNESS,),
    summary="Accepts an answer with half of the reference answer's words: a floor to compare judges with.",
)
def open_overlap(request: JudgeRequest) -> Judging:  # noqa: ARG001 - it needs no setting
    """Open the judge by word overlap."""
    return judging_correctness(OverlapCorrectness(), version="1")


@add_builtin("model", about=tuple(RubricKind), summary="The model that the settings name, asked with a rubric.")
def open_model_judge(request: JudgeRequest) -> Judging:
    """Open the judge that uses the model of the settings."""
    rubric = request.rubric or request.about.value
    return open_judge(request.settings, request.store, request.scope, rubric=rubric, model=request.model)
