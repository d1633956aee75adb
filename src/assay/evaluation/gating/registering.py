"""The registry of gate rules, and `@gate_rule`, which adds one of your own.

    @gate_rule("no-empty-answers")
    def judge_empty(question: Question) -> RuleVerdict: ...

Every registered rule is asked in every gate, or only over the datasets it names. It returns a verdict, several, or None
where it has nothing to say. A rule that raises, or whose package cannot be loaded, leaves the gate inconclusive: a gate
must not pass because a rule is missing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from assay.errors import BadValue
from assay.evaluation.gating.question import Question
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.registry import Registry

Said: TypeAlias = RuleVerdict | Iterable[RuleVerdict] | None
Speaks = Callable[[Question, RuleVerdict], bool]
Rule = TypeVar("Rule", bound=Callable[[Question], Said])


@dataclass(frozen=True, kw_only=True, slots=True)
class GateRule:
    """One rule of the gate."""

    name: str
    summary: str
    judge: Callable[[Question], Said]
    datasets: tuple[str, ...] = ()
    """Datasets over whose runs it is asked; empty: all."""
    speaks_of_quality: Speaks
    """Whether a verdict of it is about quality: a gate that asks nothing of quality is not passed."""

    def ask(self, question: Question) -> Iterator[RuleVerdict]:
        """Give what the rule says; what it raises becomes an inconclusive verdict."""
        try:
            verdicts = _read_said(self.judge(question))
        except Exception as problem:
            if not self.is_added:
                raise
            sentence = f"the rule {self.name} raised {type(problem).__name__}: {problem}"
            verdicts = [RuleVerdict(rule=self.name, status=Status.INCONCLUSIVE, sentence=sentence)]
        yield from verdicts

    @property
    def is_added(self) -> bool:
        """Whether a package or program added it."""
        return not getattr(self.judge, "__module__", "").startswith("assay.")


def _read_said(said: Said) -> list[RuleVerdict]:
    verdicts = [] if said is None else [said] if isinstance(said, RuleVerdict) else list(said)
    if not all(isinstance(verdict, RuleVerdict) for verdict in verdicts):
        raise BadValue(f"it returned {said!r}", remedy="Return a RuleVerdict, several, or None.")
    return verdicts


def read_rule(name: str, thing: object) -> GateRule:
    """Make a rule of a plain function."""
    if not callable(thing):
        raise BadValue(f"{thing!r} is not a function", remedy="Give a function of a Question.")
    return make_rule(thing, name)


GATE_RULES: Registry[GateRule] = Registry(
    "gate rule",
    group="assay.gate_rules",
    read=read_rule,
    builtin=tuple(
        f"assay.evaluation.gating.{module}"
        for module in (
            "sealed",
            "coverage",
            "floors",
            "relative",
            "latency",
            "lost",
            "guarantees",
            "failures",
            "diagnostic",
            "agent_memory",
        )
    ),
)
"""Every rule, in the order in which they are asked."""


def gate_rule(
    name: str, *, datasets: Sequence[str] = (), quality: bool | Speaks = True, summary: str = ""
) -> Callable[[Rule], Rule]:
    """Register a function as a rule of the gate; it is returned unchanged.

    `datasets` limits it to runs over these. `quality` says whether its verdicts are about how good results are, rather
    than about times, failures or the run's files.
    """

    def add(function: Rule) -> Rule:
        GATE_RULES.add(name, make_rule(function, name, datasets, quality, summary), thing=function)
        return function

    return add


def make_rule(
    function: Callable[[Question], Said],
    name: str,
    datasets: Sequence[str] = (),
    quality: bool | Speaks = True,
    summary: str = "",
) -> GateRule:
    """Make the entry of a rule."""
    first_line = (inspect.getdoc(function) or "").partition("\n")[0]
    return GateRule(
        name=name,
        summary=summary or first_line,
        judge=function,
        datasets=tuple(datasets),
        speaks_of_quality=quality if callable(quality) else lambda *_: quality,
    )


def rules_of(dataset: str) -> tuple[GateRule, ...]:
    """Return every rule that a run over this dataset is held to."""
    rules = [registered.entry for registered in GATE_RULES.all().values()]
    return tuple(rule for rule in rules if not rule.datasets or dataset in rule.datasets)


def judge_missing_rules() -> list[RuleVerdict]:
    """Return an inconclusive verdict for each rule whose package cannot be loaded."""
    return [
        RuleVerdict(rule="missing rule", status=Status.INCONCLUSIVE, sentence=problem)
        for problem in GATE_RULES.problems()
    ]
