"""Performing an experiment: the control and the treatment over the same cases, then the decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from assay.clock import Clock
from assay.errors import BadValue, InputError
from assay.evaluation.differences import comparison_json
from assay.evaluation.experiments.deciding import Decision, decide
from assay.evaluation.experiments.record import Experiment
from assay.evaluation.gating.question import GateOptions
from assay.evaluation.readings import Reading, reading_of
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.records.datasets import Dataset
from assay.records.ids import IdFactory
from assay.systems.protocol import System

OpenSystem = Callable[[str, Dataset], System]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is to be tried on what."""

    dataset: Dataset
    changes: Mapping[str, str]
    description: str = ""
    base: str = "assay"
    """The system that is changed."""
    metric: str | None = None
    options: RunOptions = field(default_factory=RunOptions)
    gate: GateOptions = field(default_factory=GateOptions)

    def __post_init__(self) -> None:
        if not self.changes:
            raise InputError("nothing is to be changed", remedy="Name a setting: --set chunking.max_tokens=128.")
        if self.base.partition(":")[0] != "assay" or self.base.endswith(".toml"):
            raise InputError(f"{self.base!r} has no settings to change", remedy="Use assay, or assay:key=value,...")
        for key, value in self.changes.items():
            if not value or "," in value or "," in key or "=" in key:
                raise BadValue(f"{key}={value} cannot be set", remedy="Give one key and one value without a comma.")

    @property
    def series(self) -> tuple[str, str, str]:
        """What tries have in common that are counted together: the dataset, its version, and the control."""
        return self.dataset.name, self.dataset.version, self.base

    @property
    def treatment(self) -> str:
        """The system with the changes."""
        changes = ",".join(f"{key}={value}" for key, value in self.changes.items())
        return f"{self.base}{',' if ':' in self.base else ':'}{changes}"


class Performed(NamedTuple):
    """An experiment, and the decision it was written down from."""

    experiment: Experiment
    decision: Decision


def perform(plan: Plan, open_system: OpenSystem, running: Running, *, earlier: int = 0) -> Performed:
    """Run both sides, decide, and make the record; writing it down is for whoever asked.

    `earlier` is the number of tries over the same dataset and control before this one (`Book.earlier`).
    """
    control, treatment = (_reading(plan, spec, open_system, running) for spec in (plan.base, plan.treatment))
    decision = decide(control, treatment, metric=plan.metric, options=plan.gate, attempt=earlier + 1)
    return Performed(_experiment(plan, control, treatment, decision, running.clock), decision)


def _reading(plan: Plan, spec: str, open_system: OpenSystem, running: Running) -> Reading:
    with closing(open_system(spec, plan.dataset)) as system:
        result = run(plan.dataset, system, replace(plan.options, spec=spec), running)
    return reading_of(result, {case.id: case.query for case in plan.dataset.cases})


def _experiment(plan: Plan, control: Reading, treatment: Reading, decision: Decision, clock: Clock) -> Experiment:
    return Experiment(
        id=IdFactory(clock).new("ex"),
        date=clock.now(),
        description=plan.description or ", ".join(f"{key}={value}" for key, value in plan.changes.items()),
        dataset=plan.dataset.name,
        dataset_version=plan.dataset.version,
        changes=dict(plan.changes),
        control={"system": plan.base, "run_id": control.run_id},
        treatment={"system": plan.treatment, "run_id": treatment.run_id},
        results={
            name: {"before": one.before, "after": one.after, **_numbers(comparison_json(one.comparison))}
            for name, one in decision.compared.metrics.items()
        },
        metric=decision.metric,
        verdict=decision.outcome,
        reason=decision.reason,
        gate=decision.gate.status.value,
        attempt=decision.attempt,
        alpha=decision.alpha,
    )


def _numbers(found: Mapping[str, object]) -> dict[str, object]:
    return {name: found[name] for name in ("delta", "interval", "p_adjusted", "wins", "ties", "losses", "verdict")}
