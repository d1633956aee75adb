"""Experiments: one change of configuration, compared with the current one, decided and recorded.

- Whether a change is accepted.
- The record of one experiment.
- Running control and treatment over the same cases.
- The file `experiments.json`.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.errors import BadValue, InputError, MalformedFile, NotComparable, RecordNotFound
from assay.evaluation.comparison import Compared, comparison_json, leading, metric_changes, pair_values, rules_for
from assay.evaluation.gating.rules import answer, ask, judge
from assay.evaluation.gating.verdict import GateOptions, RuleVerdict, Status, Verdict, beyond
from assay.evaluation.readings import Reading, reading_of
from assay.evaluation.running.asking import OpenRemoteSystem
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.formats.files import write_lines, writing
from assay.records import values
from assay.records.datasets import Dataset
from assay.records.fields import one_of, require
from assay.records.scope import IdFactory
from assay.statistics import Comparison, alpha_of_attempt
from assay.systems.protocol import System

if TYPE_CHECKING:
    from assay.clock import Clock

# --- Whether a change is accepted ---
#
# The gate is asked with the control as the baseline. A rule that the control fails too, and at least as badly, says
# nothing about the change, so it does not decide; it is named all the same. A change that breaks nothing and shows no
# gain is `INCONCLUSIVE`: it may be one, and these cases cannot tell. Whoever tries twenty changes finds one that is
# better by chance, so each further try over the same dataset and control has to be clearer (`alpha_of_attempt`).


class ExperimentOutcome(StrEnum):
    """What follows from an experiment."""

    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    INCONCLUSIVE = "INCONCLUSIVE"


MOST_TOLD = 3
ALPHA = 0.05
"""What the first try over a dataset may spend."""
EXIT_CODES = {ExperimentOutcome.ACCEPTED: 0, ExperimentOutcome.REJECTED: 1, ExperimentOutcome.INCONCLUSIVE: 2}


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class ExperimentDecision:
    """The answer, with everything behind it."""

    outcome: ExperimentOutcome
    reason: str
    metric: str
    gate: Verdict
    compared: Compared
    attempt: int
    """The number of the try over this dataset and control, from 1."""
    alpha: float
    """What this try may spend."""


def decide(
    control: Reading,
    treatment: Reading,
    *,
    metric: str | None = None,
    options: GateOptions | None = None,
    attempt: int = 1,
) -> ExperimentDecision:
    """Hold a treatment against its control.

    `metric` is the one that has to gain; unless given, the leading one. `attempt` is the number of the try over this
    dataset and control: the k-th is accepted at alpha / (k (k + 1)).
    """
    question = ask(treatment, control, options)
    compared = question.compared
    if compared is None:
        raise NotComparable(f"{treatment.name} has nothing to be compared with", remedy="Run a control too.")
    counted = metric or leading(tuple(compared.metrics))
    if counted not in compared.metrics:
        raise NotComparable(
            f"{counted} was not measured on both sides", remedy=f"There is: {', '.join(compared.metrics)}."
        )
    gate = answer(question)
    # The metric was named before the runs, so it stands alone: the others' number does not weigh on it.
    alpha = alpha_of_attempt(ALPHA, attempt)
    once = _compare(control, treatment, counted, seed=question.options.seed, alpha=ALPHA)
    seen = once if attempt == 1 else _compare(control, treatment, counted, seed=question.options.seed, alpha=alpha)
    outcome, reason = _decide(f"{counted}: {seen.sentence}", seen.verdict, gate, judge(control, None, options))
    if outcome is ExperimentOutcome.INCONCLUSIVE and once.verdict == "better" and seen.verdict != "better":
        reason = f"{counted}: {once.sentence} That is not enough at try {attempt}: it takes p <= {alpha:.2g}."
    elif outcome is ExperimentOutcome.INCONCLUSIVE and once.verdict == "worse":
        # Nobody picks the worst of many tries, so a loss counts as at the first.
        outcome, reason = ExperimentOutcome.REJECTED, f"{counted}: {once.sentence}"
    return ExperimentDecision(
        outcome=outcome, reason=reason, metric=counted, gate=gate, compared=compared, attempt=attempt, alpha=alpha
    )


def _compare(control: Reading, treatment: Reading, metric: str, *, seed: int, alpha: float) -> Comparison:
    pairs = pair_values(control, treatment, metric)
    rules = replace(rules_for(len(np.asarray(pairs.control))), alpha=alpha)
    return metric_changes({metric: pairs}, rng=np.random.default_rng(seed), rules=rules)[metric].comparison


def _decide(sentence: str, seen: str, gate: Verdict, before: Verdict) -> tuple[ExperimentOutcome, str]:
    broken, undecided = _new(gate, before, Status.FAIL), _new(gate, before, Status.INCONCLUSIVE)
    if broken:
        return ExperimentOutcome.REJECTED, _sentences(broken)
    if seen == "worse":
        return ExperimentOutcome.REJECTED, sentence
    if undecided:
        return ExperimentOutcome.INCONCLUSIVE, _sentences(undecided)
    if seen == "better":
        return ExperimentOutcome.ACCEPTED, f"{sentence}{_same_as_before(gate)}"
    return ExperimentOutcome.INCONCLUSIVE, sentence


def _new(gate: Verdict, before: Verdict, status: Status) -> list[RuleVerdict]:
    """The rules that came out so, and did not without the change, or not as badly."""
    known = {ruling.title: ruling for ruling in before.of(status)}
    return [ruling for ruling in gate.of(status) if ruling.title not in known or _is_worse(ruling, known[ruling.title])]


def _is_worse(now: RuleVerdict, before: RuleVerdict) -> bool:
    """Whether a rule is broken worse than it was; False where the rule has no measure of that."""
    badly, less = _badness(now), _badness(before)
    return badly is not None and less is not None and beyond(badly, less)


def _badness(rule: RuleVerdict) -> float | None:
    """Return how badly a rule is broken, as a number that grows with it; None where it does not say."""
    evidence = rule.evidence
    if isinstance(evidence.get("rate"), float):
        return float(evidence["rate"])
    for name in ("broken", "unjudgeable"):
        if isinstance(evidence.get(name), list):
            return float(len(evidence[name]))
    value, floor = evidence.get("value"), evidence.get("floor")
    # A floor may be a ceiling (of a latency): in both cases the distance from it is what is missed.
    return abs(value - floor) if isinstance(value, float) and isinstance(floor, (int, float)) else None


def _sentences(rules: list[RuleVerdict]) -> str:
    more = f"; and {len(rules) - MOST_TOLD} more rules" if len(rules) > MOST_TOLD else ""
    return "; ".join(rule.sentence for rule in rules[:MOST_TOLD]) + more


def _same_as_before(gate: Verdict) -> str:
    failed = [ruling.title for ruling in gate.of(Status.FAIL)]
    return f" (fails as the control does: {', '.join(failed)})" if failed else ""


# --- The record of one experiment ---


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
    verdict: ExperimentOutcome
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
        require(self, one_of(ExperimentOutcome), "verdict")
        require(self, values.count, "attempt")
        require(self, values.finite, "alpha")
        require(self, values.json_object, "results", "changes", "control", "treatment")

    @property
    def series(self) -> tuple[str, str, str]:
        """What tries have in common that are counted together: the dataset, its version, and the control."""
        return self.dataset, self.dataset_version, str(self.control.get("system", ""))

    def as_json(self) -> dict[str, Any]:
        """Every field, as plain JSON values."""
        whole = {field.name: getattr(self, field.name) for field in fields(self)}
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


# --- Running control and treatment over the same cases ---

OpenSystem = Callable[[str, Dataset], System]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExperimentPlan:
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
    decision: ExperimentDecision


def perform(
    plan: ExperimentPlan,
    open_system: OpenSystem,
    running: Running,
    *,
    earlier: int = 0,
    remote: Callable[[str], OpenRemoteSystem | None] | None = None,
) -> Performed:
    """Run both sides, decide, and make the record; the caller stores it.

    `earlier` is the number of tries over the same dataset and control before this one (`Book.earlier`). `remote` says
    how a worker of the executor opens the system of a name; it is needed where the executor has workers.
    """

    def run_side(spec: str) -> Reading:
        here = running if remote is None else replace(running, open_remote=remote(spec))
        return _reading(plan, spec, open_system, here)

    control, treatment = run_side(plan.base), run_side(plan.treatment)
    decision = decide(control, treatment, metric=plan.metric, options=plan.gate, attempt=earlier + 1)
    return Performed(_experiment(plan, control, treatment, decision, running.clock), decision)


def _reading(plan: ExperimentPlan, spec: str, open_system: OpenSystem, running: Running) -> Reading:
    with closing(open_system(spec, plan.dataset)) as system:
        result = run(plan.dataset, system, replace(plan.options, spec=spec), running)
    return reading_of(result, {case.id: case.query for case in plan.dataset.cases})


def _experiment(
    plan: ExperimentPlan, control: Reading, treatment: Reading, decision: ExperimentDecision, clock: Clock
) -> Experiment:
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
            name: {"before": change.before, "after": change.after, **_numbers(comparison_json(change.comparison))}
            for name, change in decision.compared.metrics.items()
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


# --- The file `experiments.json` ---
#
# A new one is added to what is there under a lock, and the file is replaced as a whole: two processes that finish at
# the same moment both find their place, and a reader never sees half a file.

FILE_NAME = "experiments.json"
VERSION = 1


class Book:
    """The experiments of one file."""

    def __init__(self, path: Path = Path(FILE_NAME)) -> None:
        self.path = path

    def add(self, experiment: Experiment) -> None:
        """Write one down, behind all the others."""
        with self._lock():
            known = self.all()
            if any(recorded.id == experiment.id for recorded in known):
                raise BadValue(
                    f"{self.path} has the experiment {experiment.id!r} already", remedy="Give it another id."
                )
            listed = [recorded.as_json() for recorded in (*known, experiment)]
            whole = {"version": VERSION, "experiments": listed}
            write_lines(self.path, [json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False), "\n"])

    def all(self) -> list[Experiment]:
        """Every experiment, oldest first; none where there is no file."""
        if not self.path.exists():
            return []
        try:
            found = json.loads(self.path.read_bytes())
            return [Experiment.from_json(entry) for entry in _read_list(found)]
        except (OSError, ValueError, BadValue) as problem:
            raise MalformedFile(
                f"{self.path} holds no experiments: {problem}", remedy="Correct it, or name another file with --file."
            ) from problem

    def get(self, wanted: str) -> Experiment:
        """One experiment by its id, or the newest as `latest`."""
        known = self.all()
        if wanted == "latest" and known:
            return known[-1]
        for experiment in known:
            if experiment.id == wanted:
                return experiment
        listed = ", ".join(known_experiment.id for known_experiment in known[-3:]) or "none"
        raise RecordNotFound(f"{self.path} has no experiment {wanted!r}", remedy=f"The newest are: {listed}.")

    def tries(self) -> dict[str, Try]:
        """Return, by the id of each experiment, which of how many tries over its dataset and control it is."""
        return count_tries(self.all())

    def earlier(self, series: tuple[str, str, str]) -> int:
        """Return how many tries of a series are written down."""
        return sum(experiment.series == series for experiment in self.all())

    @contextmanager
    def _lock(self) -> Iterator[None]:
        place = self.path.with_name(f".{self.path.name}.lock")
        with writing(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


class Try(NamedTuple):
    """The number of an experiment among those over the same dataset and control."""

    number: int
    of: int
    accepted: int

    @property
    def sentence(self) -> str:
        """The count, to be read."""
        return f"try {self.number} of {self.of}, {self.accepted} accepted"


def count_tries(experiments: Sequence[Experiment]) -> dict[str, Try]:
    """Count tries of the same series, in the order they are written down."""
    of = Counter(experiment.series for experiment in experiments)
    accepted = Counter(
        experiment.series for experiment in experiments if experiment.verdict is ExperimentOutcome.ACCEPTED
    )
    seen: Counter[tuple[str, str, str]] = Counter()
    tries = {}
    for experiment in experiments:
        series = experiment.series
        seen[series] += 1
        tries[experiment.id] = Try(number=seen[series], of=of[series], accepted=accepted[series])
    return tries


def _read_list(found: Any) -> list[dict[str, Any]]:
    known = found if isinstance(found, dict) else {}
    if known.get("version") != VERSION or not isinstance(known.get("experiments"), list):
        raise BadValue(
            f"it is not a list of experiments of version {VERSION}", remedy="It is written by `assay experiment run`."
        )
    listed: list[dict[str, Any]] = known["experiments"]
    return listed
