"""The judges that come with Assay, registered like those of a package. `JUDGES` imports this module when needed."""

from __future__ import annotations

from assay.judging.builtin.judges import BuiltinAbstention, BuiltinGroundedness
from assay.judging.protocol import Judging, judging_abstention, judging_groundedness
from assay.judging.registry import JudgeRequest, add_builtin
from assay.records.judging import RubricKind
from assay.wiring.engines import open_embedder
from assay.wiring.models import BUILTIN_JUDGE, open_judge


@add_builtin(
    BUILTIN_JUDGE,
    about=(RubricKind.GROUNDEDNESS, RubricKind.ABSTENTION),
    summary="Rules and a few coefficients; no model.",
)
def open_builtin(request: JudgeRequest) -> Judging:
    """Open the judge that uses no model."""
    if request.about is RubricKind.ABSTENTION:
        return judging_abstention(BuiltinAbstention(), version="1")
    embedder = None if request.settings.embedder == "none" else open_embedder(request.settings)
    return judging_groundedness(BuiltinGroundedness(embedder), version="1")


@add_builtin("model", about=tuple(RubricKind), summary="The model that the settings name, asked with a rubric.")
def open_model_judge(request: JudgeRequest) -> Judging:
    """Open the judge that uses the model of the settings."""
    rubric = request.rubric or request.about.value
    return open_judge(request.settings, request.store, request.scope, rubric=rubric, model=request.model)
