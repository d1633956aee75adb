"""One experiment as it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from assay.errors import BadValue
from assay.evaluation.experiments.deciding import Outcome
from assay.records import values
from assay.records.checked import one_of, require


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """What was changed, what came of it, and what follows."""

    id: str
    date: datetime
    description: str
    dataset: str
    dataset_version: str
    changes: Mapping[str, str]
    """What the treatment sets, by key."""
    control: Mapping[str, str]
    """`system` and `run_id`."""
    treatment: Mapping[str, str]
    results: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By metric: before, after, delta, interval, p."""
    metric: str
    """The one that decides."""
    verdict: Outcome
    reason: str
    gate: str
    """How the gate came out, with the control as the baseline."""
    attempt: int = 1
    """The number of the try over this dataset and control, from 1; files written before it was kept say nothing."""
    alpha: float = 0.05
    """What p had to reach at this try."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "id")
        require(self, values.moment, "date")
        require(self, one_of(Outcome), "verdict")
        require(self, values.count, "attempt")
        require(self, values.finite, "alpha")
        require(self, values.json_object, "results", "changes", "control", "treatment")

    @property
    def series(self) -> tuple[str, str, str]:
        """What tries have in common that are counted together: the dataset, its version, and the control."""
        return self.dataset, self.dataset_version, str(self.control.get("system", ""))

    def as_json(self) -> dict[str, Any]:
        """Every field, as plain JSON values."""
        whole = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**whole, "date": self.date.isoformat(), "verdict": self.verdict.value}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Experiment:
        """What `as_json` gave."""
        try:
            return Experiment(**{**found, "date": datetime.fromisoformat(found["date"])})
        except (KeyError, TypeError, ValueError) as problem:
            raise BadValue(
                f"an experiment cannot be read: {problem}", remedy="Correct it, or take it out."
            ) from problem
