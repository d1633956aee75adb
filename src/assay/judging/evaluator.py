"""What an evaluator is to the panel: it looks at the material of a checkpoint and scores every dimension of it.

A built-in evaluator, one that asks a model and one a user wrote all are one. What it returns is checked by the record
itself; an evaluator that raises is the panel's to handle.
"""

from __future__ import annotations

from typing import Protocol

from assay.records.judging import JudgeKind
from assay.records.research import Checkpoint, Material, Role, RoleScores


class Evaluator(Protocol):
    """One role at one checkpoint."""

    @property
    def name(self) -> str:
        """What records call it: `builtin` with its version, or the model."""
        ...

    @property
    def kind(self) -> JudgeKind:
        """Whether rules or a model evaluate."""
        ...

    @property
    def role(self) -> Role:
        """Whose view it gives."""
        ...

    @property
    def checkpoint(self) -> Checkpoint:
        """What it can look at."""
        ...

    def evaluate(self, material: Material) -> RoleScores:
        """Score every dimension of the checkpoint."""
        ...
