"""The gate inside pytest: `@pytest.mark.assay(...)` on a test, or `pytest --assay-gate` for one test a rule.

A test with the marker runs only its own lines when the gate passes: a regression is a failure, what cannot be decided
an error. Its arguments are those of `assay.gate`, and the fixture `assay_verdict` hands it the verdict. With
`--assay-gate` the exit code is the gate's: 1 for a regression, 2 when all that went wrong was undecided.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from assay.evaluation.gating import RuleVerdict, Verdict

MARKER = "assay"
UNDECIDED = 2
_VERDICT = pytest.StashKey["Verdict"]()


class Inconclusive(Exception):
    """The gate could not be decided, which is never a pass."""


class Regression(Exception):
    """A rule of the gate does not hold."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the gate."""
    group = parser.getgroup("assay")
    group.addoption("--assay-gate", action="store_true", help="Add the rules of Assay's gate as tests.")
    group.addoption("--assay-run", default="latest", metavar="RUN", help="The run to judge (latest).")
    group.addoption("--assay-baseline", default="baseline.json", metavar="FILE", help="What it is held against.")
    group.addoption("--assay-strict", action="store_true", help="Any drop beyond what is allowed fails.")
    group.addoption("--assay-metric", default=None, metavar="NAME", help="The one metric that decides (all of them).")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", f"{MARKER}(run, baseline, ...): the test needs Assay's gate to pass.")


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test for each rule."""
    if config.getoption("--assay-gate"):
        gate = GateCollector.from_parent(session, name="assay-gate", nodeid="assay-gate")
        items.extend(gate.collect())


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Ask the gate for a test that needs it; what cannot be decided is an error of the test's setup."""
    marker = item.get_closest_marker(MARKER)
    if marker is None:
        return
    verdict = _ask(*marker.args, **marker.kwargs)
    item.stash[_VERDICT] = verdict
    if verdict.exit_code == UNDECIDED:
        raise Inconclusive(repr(verdict))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """A regression fails the test before its own lines run."""
    verdict = item.stash.get(_VERDICT, None)
    if verdict is not None and not verdict.passed:
        pytest.fail(repr(verdict), pytrace=False)


@pytest.fixture
def assay_verdict(request: pytest.FixtureRequest) -> Verdict:
    """The gate's verdict on the marked test."""
    verdict: Verdict | None = request.node.stash.get(_VERDICT, None)
    if verdict is None:
        raise pytest.UsageError("assay_verdict needs the marker: @pytest.mark.assay(run='latest')")
    return verdict


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Say 2 instead of 1 when nothing failed and something could not be decided."""
    undecided = session.config.stash.get(_UNDECIDED, 0)
    if undecided and session.testsfailed == undecided:
        session.exitstatus = UNDECIDED


_UNDECIDED = pytest.StashKey[int]()


class GateCollector(pytest.Collector):
    """The rules of one gate."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test for each rule; a gate that could not run is one test with the reason."""
        from assay.errors import AssayError  # noqa: PLC0415 - loaded when the gate is asked

        option = self.config.getoption
        try:
            verdict = _ask(
                option("--assay-run"),
                baseline=option("--assay-baseline"),
                strict=bool(option("--assay-strict")),
                metric=option("--assay-metric"),
            )
        except AssayError as problem:
            yield RuleItem.from_parent(self, name="comparable", problem=problem)
            return
        for rule in verdict.rules:
            yield RuleItem.from_parent(self, name=rule.title, rule=rule)


class RuleItem(pytest.Item):
    """One rule as a test."""

    def __init__(self, *, rule: RuleVerdict | None = None, problem: Exception | None = None, **given: Any) -> None:
        super().__init__(**given)
        self.rule = rule
        self.problem = problem

    def setup(self) -> None:
        """An error here, where pytest calls it one: nothing is known to be worse."""
        if self.problem is not None or (self.rule is not None and self.rule.status.value == "inconclusive"):
            self.config.stash[_UNDECIDED] = self.config.stash.get(_UNDECIDED, 0) + 1
            raise Inconclusive(str(self.problem) if self.rule is None else self.rule.sentence)

    def runtest(self) -> None:
        """Hold or not."""
        if self.rule is None or self.rule.status.value == "pass":
            return
        if self.rule.status.value == "not_applicable":
            pytest.skip(self.rule.sentence)
        raise Regression(self.rule.sentence)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The sentence alone, because the place in pytest where it was raised does not help."""
        if isinstance(excinfo.value, (Regression, Inconclusive)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """The location of the test, which is in no file."""
        return "assay-gate", None, f"assay gate: {self.name}"


def _ask(*given: Any, **named: Any) -> Verdict:
    from assay.api import gate  # noqa: PLC0415 - loaded when the gate is asked

    return gate(*given, **named)
