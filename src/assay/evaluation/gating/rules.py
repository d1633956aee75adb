"""The registry of gate rules, `@gate_rule` to add your own, and judging a run by all of them.

- Registry and `@gate_rule`.
- A gate that checks nothing about quality does not pass.
- Judging a run by all rules.

Registry and `@gate_rule`:

    @gate_rule("no-empty-answers")
    def judge_empty(question: Question) -> RuleVerdict: ...

Every registered rule runs in every gate, or only over the datasets it names. It returns a verdict, several, or None
where it has nothing to say. A rule that raises, or whose package cannot be loaded, leaves the gate inconclusive: a gate
must not pass because a rule is missing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from assay.errors import BadValue, NotComparable, NothingMeasured
from assay.evaluation.comparison import compare_two
from assay.evaluation.gating.verdict import GateOptions, Question, RuleVerdict, Status, Verdict
from assay.registry import Registry

if TYPE_CHECKING:
    from assay.evaluation.readings import Reading

# --- Registry and `@gate_rule` ---

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
    """Datasets whose runs it applies to; empty: all."""
    speaks_of_quality: Speaks
    """Whether a verdict of it is about quality: a gate that checks nothing about quality does not pass."""

    def ask(self, question: Question) -> Iterator[RuleVerdict]:
        """Return the rule's verdicts; an exception becomes an inconclusive verdict."""
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
    builtin=tuple(f"assay.evaluation.gating.{module}" for module in ("run_rules", "baseline_rules", "guarantee_rules")),
)
"""Every rule, in the order in which they run."""


def gate_rule(
    name: str, *, datasets: Sequence[str] = (), quality: bool | Speaks = True, summary: str = ""
) -> Callable[[Rule], Rule]:
    """Register a function as a rule of the gate; it is returned unchanged.

    `datasets` limits it to runs over these. `quality` states whether its verdicts are about how good results are,
    rather than about times, failures or the run's files.
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


# --- A gate that checks nothing about quality does not pass ---
#
# Without a baseline and without a floor on any metric of quality, only failures and latencies are looked at: a run
# that finds nothing at all would pass. Floors that every value reaches, such as a recall of 0, ask nothing either.

QUALITY_RULE = "quality"
_MOST_NAMED = 3


def judge_asked(question: Question, given: Iterable[tuple[GateRule, RuleVerdict]]) -> list[RuleVerdict]:
    """Return one inconclusive verdict where no rule that applied was about quality, else nothing."""
    applied = [(rule, verdict) for rule, verdict in given if verdict.status is not Status.NOT_APPLICABLE]
    if any(rule.speaks_of_quality(question, verdict) for rule, verdict in applied):
        return []
    means = {metric: question.run.mean(metric) for metric in question.run.metrics}
    reached = [f"{metric} is {mean:.3f}" for metric, mean in means.items() if mean is not None][:_MOST_NAMED]
    return [
        RuleVerdict(
            rule=QUALITY_RULE,
            status=Status.INCONCLUSIVE,
            sentence=f"nothing is asked of quality ({', '.join(reached)}): bless a baseline (`assay baseline bless`) "
            "or declare floors in the dataset or under [floors] in assay.toml",
            evidence={"means": means},
        )
    ]


# --- Judging a run by all rules ---


def judge(run: Reading, baseline: Reading | None, options: GateOptions | None = None) -> Verdict:
    """Hold a run against its floors and, where there is one, its baseline.

    Raises `NotComparable` for a baseline of another instrument and `NothingMeasured` for a run without any value.
    """
    return answer(ask(run, baseline, options))


def ask(run: Reading, baseline: Reading | None, options: GateOptions | None = None) -> Question:
    """The question that the rules answer; raises as `judge` does."""
    options = options or GateOptions()
    refuse_nothing(run)
    compared = None if baseline is None else compare_two(baseline, run, seed=options.seed)
    _refuse_unmeasured(options.metric, run.metrics if compared is None else tuple(compared.metrics))
    return Question(run=run, compared=compared, options=options)


def answer(question: Question) -> Verdict:
    """The verdict of every rule."""
    run, baseline = question.run, question.baseline
    given = [(rule, verdict) for rule in rules_of(run.dataset) for verdict in rule.ask(question)]
    return Verdict(
        run=run.name,
        baseline=None if baseline is None else baseline.name,
        dataset=run.dataset,
        rules=(*(verdict for _, verdict in given), *judge_missing_rules(), *judge_asked(question, given)),
        caveats=run.caveats if question.compared is None else question.compared.caveats,
    )


def _refuse_unmeasured(metric: str | None, measured: Sequence[str]) -> None:
    """Refuse a deciding metric that was not measured."""
    if metric is not None and metric not in measured:
        raise NotComparable(
            f"the gate is to be decided by {metric}, which was not measured",
            remedy=f"Measured were: {', '.join(measured)}. Name one of them, or run again with --metrics {metric}.",
        )


def refuse_nothing(run: Reading) -> None:
    """Refuse a run without values, which must be neither passed nor blessed."""
    if not run.statuses:
        raise NothingMeasured(f"the run {run.name} has no cases", remedy="Run over a dataset that has some.")
    if not any(run.count_values(metric) for metric in run.metrics):
        raise NothingMeasured(
            f"no case of the run {run.name} has a value", remedy="See its outcomes: `assay run` lists what failed."
        )
