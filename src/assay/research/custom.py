"""Dimensions of your own: a Python function or a rubric file that scores one more thing at a checkpoint.

A function takes the `Material` and returns a score, a score and a confidence, or a score, a confidence and a critique.
A rubric is a TOML file like the bundled prompts. Either way it is a member of the panel: what it raises is its own
outcome, and its score enters the aggregate with the weight it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.errors import BadValue
from assay.judging.injection import InjectionGuard
from assay.judging.panel import PanelMember
from assay.judging.prompts import Prompt
from assay.judging.roles import ModelRole
from assay.models.chat import ChatModel
from assay.records import values
from assay.records.fields import one_of, require
from assay.records.judging import JudgeKind, RoleResult
from assay.records.research import Checkpoint, Dimension, Material

Said = float | tuple[float, float] | tuple[float, float, str]
Score = Callable[[Material], Said]


@dataclass(frozen=True, kw_only=True, slots=True)
class CustomDimension:
    """One more thing to score, and who scores it."""

    name: str
    checkpoint: Checkpoint
    weight: float
    bar: float = 0.5
    """Below it the dimension has failed."""
    score: Score | None = None
    prompt: Prompt | None = None
    """For a model; exactly one of the two is given."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "name")
        require(self, one_of(Checkpoint), "checkpoint")
        require(self, values.share, "weight", "bar")
        if self.name in [dimension.value for dimension in Dimension]:
            raise BadValue(f"{self.name!r} is a dimension of Assay's own", remedy="Give yours another name.")
        if (self.score is None) == (self.prompt is None):
            raise BadValue(
                f"custom dimension {self.name!r} needs a function or a rubric, and not both", remedy="Give one of them."
            )


class CustomMember:
    """A function as a member of the panel."""

    kind: JudgeKind = "builtin"

    def __init__(self, dimension: CustomDimension, score: Score) -> None:
        self.role = f"custom.{dimension.name}"
        self._dimension = dimension
        self._score = score

    @property
    def name(self) -> str:
        """The function."""
        return f"{self._score.__module__}:{getattr(self._score, '__qualname__', 'function')}"

    def examine(self, material: Material, deadline_s: float) -> RoleResult:  # noqa: ARG002 - the panel keeps the time
        """Ask the function; what it returns is checked as every score is."""
        said = self._score(material)
        parts = said if isinstance(said, tuple) else (said,)
        if not 1 <= len(parts) <= 3:
            raise BadValue(f"{self.name} returned {len(parts)} values", remedy="Return a score, confidence, critique.")
        return RoleResult(
            role=self.role,
            evaluator=self.name,
            kind=self.kind,
            scores={self._dimension.name: values.share(parts[0], self._dimension.name)},
            confidence=values.share(parts[1], "confidence") if len(parts) > 1 else 1.0,
            critique=values.text(parts[2], "critique") if len(parts) > 2 else "",
        )


def with_custom(
    members: Mapping[Checkpoint, Sequence[PanelMember]],
    dimensions: Sequence[CustomDimension],
    *,
    model: ChatModel | None,
    guard: InjectionGuard,
) -> dict[Checkpoint, tuple[PanelMember, ...]]:
    """The members of a panel and these."""
    found = {checkpoint: list(members.get(checkpoint, ())) for checkpoint in Checkpoint}
    for dimension in dimensions:
        found[dimension.checkpoint].append(_member(dimension, model, guard))
    return {checkpoint: tuple(those) for checkpoint, those in found.items()}


def _member(dimension: CustomDimension, model: ChatModel | None, guard: InjectionGuard) -> PanelMember:
    if dimension.score is not None:
        return CustomMember(dimension, dimension.score)
    if model is None or dimension.prompt is None:
        raise BadValue(
            f"custom dimension {dimension.name!r} has a rubric, and no model is set up",
            remedy="Set model.url and model.name.",
        )
    return ModelRole(f"custom.{dimension.name}", (dimension.name,), model, dimension.prompt, guard=guard)
