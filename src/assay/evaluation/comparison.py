"""Compare runs over the same cases: paired differences, changed cases, agreement of lists, latency.

- One metric on two sides, as table cells and JSON.
- Pairs of cases.
- The comparison of two or more runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import NotComparable, NothingMeasured
from assay.evaluation import frames
from assay.evaluation.caveats import name_few, withhold
from assay.evaluation.latency_comparison import RESAMPLES, latency_changes
from assay.evaluation.paired_columns import (
    ListComparison,
    are_in_columns,
    compare_lists,
    find_moved,
    find_one_sided,
    pair_columns,
)
from assay.evaluation.reading_columns import SomeCases
from assay.evaluation.readings import METRICS, Reading, differing, has_direction, limit_instrument, lower_is_better
from assay.evaluation.until_sure import withhold_stopped
from assay.formats.grid import grid
from assay.metrics.inputs import mean
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import Outcome, OutcomeKind
from assay.records.fields import plain
from assay.records.run_results import (
    Caveat,
    CaveatKind,
    ComparedMetric,
    ComparedRun,
    ComparisonResult,
    Difference,
    LatencyChange,
    ListAgreement,
    Mover,
    OneSided,
    caveats_about,
)
from assay.statistics import Comparison, Pairs, Rules, compare_all, first_of_each_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assay.statistics import Comparison


# --- One metric on two sides, as table cells and JSON ---

HEAD = ("wins/ties/losses", "detects")
"""Over the last two of `cells`."""


def cells(seen: ComparedMetric) -> tuple[str, str, str, str]:
    """Difference with interval, p, wins/ties/losses, and the smallest difference that would have been seen."""
    score = f"{seen.wins:,}/{seen.ties:,}/{seen.losses:,}"
    p = p_text(seen.p_adjusted, at_floor=seen.p == seen.p_floor)
    return _delta(seen), p, score, detects(seen.minimum_detectable_effect)


def p_head(metrics: int) -> str:
    """Over the p-values: with several metrics they are adjusted."""
    return "p" if metrics == 1 else "p (Holm)"


def number(value: float | None) -> str:
    """A value of a table."""
    return "-" if value is None else f"{value:.3f}"


def detects(effect: float | None) -> str:
    """The smallest difference these queries show with 80 % power; beyond 1 there is none."""
    return ">1" if effect is not None and effect > 1.0 else number(effect)


def p_text(p: float | None, *, at_floor: bool) -> str:
    """A p-value."""
    if p is None:
        return "-"
    digits = f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"
    # No outcome of this many queries could have given less: the number is a limit, not a measurement.
    return f"{digits.removeprefix('0')}{' (floor)' if at_floor else ''}"


def comparison_json(seen: Comparison) -> dict[str, object]:
    """The whole result of a comparison."""
    limits = seen.interval
    return {
        "verdict": seen.verdict,
        "sentence": seen.sentence,
        "n": seen.n,
        "units": seen.units,
        "delta": seen.delta,
        "interval": None if limits is None else [limits.low, limits.high],
        "interval_method": None if limits is None else limits.method,
        "p": seen.p,
        "p_adjusted": seen.p_adjusted,
        "p_floor": seen.p_floor,
        "wins": seen.score.wins,
        "ties": seen.score.ties,
        "losses": seen.score.losses,
        "minimum_detectable_effect": seen.minimum_detectable_effect,
        "queries_needed": seen.queries_needed,
    }


def _delta(seen: ComparedMetric) -> str:
    limits = seen.interval
    inner = "" if limits is None else f" [{number(limits[0])}, {number(limits[1])}]"
    return "-" if seen.delta is None else f"{seen.delta:+.3f}{inner}"


# --- Pairs of cases ---
#
# Cases come in the order of their ids, whatever the order of the files, so that chance falls the same way every time.

_DRAWS = 200_000_000
"""Queries times resamples that a comparison may cost; a million queries need no 10,000 resamples."""
_MOST_RESAMPLES, _FEWEST_RESAMPLES = 10_000, 1_000


def rules_for(queries: int) -> Rules:
    """As many resamples and sign flips as so many queries can afford."""
    draws = min(_MOST_RESAMPLES, max(_FEWEST_RESAMPLES, _DRAWS // max(1, queries)))
    return Rules(resamples=draws, flips=draws)


def _latency_resamples(queries: int) -> int:
    return min(RESAMPLES, rules_for(queries).resamples)


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricChange:
    """One metric on two sides, over the cases that have a value on both."""

    before: float | None
    after: float | None
    comparison: Comparison


def metrics_in_both(before: Reading, after: Reading) -> tuple[str, ...]:
    """What both measured and one way of which is better, in the control's order."""
    return tuple(metric for metric in before.metrics if metric in after.outcomes and has_direction(metric))


def pair_values(before: Reading, after: Reading, metric: str) -> Pairs:
    """The values of the cases that have one on both sides."""
    paired = pair_columns(before, after, metric)
    if paired is not None:
        return Pairs(
            control=paired.control,
            treatment=paired.treatment,
            higher_is_better=not lower_is_better(metric),
            bounds=_bounds(metric),
            clusters=paired.find_clusters({**before.clusters, **after.clusters}),
            over=paired.over,
        )
    left, right = before.values(metric), after.values(metric)
    cases = [case for case in left if case in right]
    return Pairs(
        control=[left[case] for case in cases],
        treatment=[right[case] for case in cases],
        higher_is_better=not lower_is_better(metric),
        bounds=_bounds(metric),
        clusters=_clusters(before, after, cases),
        over=tuple(cases),
    )


class PairedMetrics(Mapping[str, Pairs]):
    """The pairs of several metrics, made when they are asked for: those of one metric are in memory at a time."""

    def __init__(self, before: Reading, after: Reading, metrics: Sequence[str]) -> None:
        self._before, self._after, self._metrics = before, after, metrics

    def __getitem__(self, metric: str) -> Pairs:
        if metric not in self._metrics:
            raise KeyError(metric)
        return pair_values(self._before, self._after, metric)

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)


def _clusters(before: Reading, after: Reading, cases: Sequence[str]) -> list[str] | None:
    """The cluster of each case; a case alone is its own cluster. None where all cases are alone."""
    known = {**before.clusters, **after.clusters}
    labels = [known.get(case, f"case {case}") for case in cases]
    return labels if len(set(labels)) < len(labels) else None


def metric_changes(
    pairs: Mapping[str, Pairs], *, rng: np.random.Generator, rules: Rules | None = None
) -> dict[str, MetricChange]:
    """Each metric with its means over the pairs and its test result, Holm-adjusted over the distinct metrics."""
    means, most = dict[str, tuple[float | None, float | None]](), 0
    for name, paired in pairs.items():
        left, right = np.asarray(paired.control), np.asarray(paired.treatment)
        means[name], most = (_mean(left), _mean(right)), max(most, len(left))
    found = compare_all(pairs, rng=rng, rules=rules or rules_for(most))
    return {name: MetricChange(before=was, after=now, comparison=found[name]) for name, (was, now) in means.items()}


def _bounds(metric: str) -> tuple[float, float] | None:
    entry = MetricSpec.parse(metric).entry
    if entry.lowest is None or entry.highest is None:
        return None
    return (entry.lowest - entry.highest, entry.highest - entry.lowest)


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(np.mean(values)) if len(values) else None


# --- The comparison of two or more runs ---
#
# Runs are compared only when they were measured with the same instrument; else `NotComparable` names the fields that
# differ. What differs in the subject is what changed, and is listed. The first run is the control.

MOST_MOVERS = 10
ABSENT = "absent"
"""The placeholder for a case that a run does not have."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Compared:
    """One run against the control."""

    control: Reading
    treatment: Reading
    metrics: Mapping[str, MetricChange]
    movers: tuple[Mover, ...]
    """The biggest first."""
    agreement: ListAgreement | None
    """None: one side did not keep its lists."""
    latency: tuple[LatencyChange, ...]
    one_sided: tuple[OneSided, ...]
    changed: tuple[Difference, ...]
    """What differs in the subject."""
    same_tests: tuple[tuple[str, ...], ...] = ()
    """Metrics that are functions of each other over these cases: each group is one test, and counts once in Holm."""

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """The caveats of both runs, each once where it holds for both."""
        shared = [caveat for caveat in self.control.caveats if caveat in self.treatment.caveats]
        each = [
            replace(caveat, sentence=f"{name}: {caveat.sentence}")
            for name, reading in zip(self._names(), (self.control, self.treatment), strict=True)
            for caveat in reading.caveats
            if caveat not in shared
        ]
        return (*shared, *each, *map(_same_test_caveat, self.same_tests), *self._host_caveat())

    def _host_caveat(self) -> tuple[Caveat, ...]:
        """Times of two machines are shown and not compared."""
        if self.same_host or not self.latency:
            return ()
        hosts = [reading.host or "an unknown host" for reading in (self.control, self.treatment)]
        where = f"on {hosts[0]} and on {hosts[1]}" if hosts[0] != hosts[1] else f"each on {hosts[0]}"
        return (Caveat(kind=CaveatKind.LATENCY, sentence=f"Latencies are not compared: they were measured {where}."),)

    @property
    def same_host(self) -> bool:
        """Whether the times were taken on one machine; others say little of each other."""
        return bool(self.control.host) and self.control.host == self.treatment.host

    def rows(self) -> list[tuple[str, ...]]:
        """The table of metrics, its head first."""
        names = self._names()
        head = ("metric", *names, f"{names[1]} - {names[0]} [95 %]", p_head(len(self.metrics)), *HEAD)
        found = (
            (name, number(change.before), number(change.after), *cells(describe_change(change)))
            for name, change in self._each()
        )
        return [head, *found]

    def _names(self) -> tuple[str, str]:
        """Names of the two runs, made different where they are the same."""
        before, after = self.control.name, self.treatment.name
        return (before, after) if before != after else (f"{before} (A)", f"{after} (B)")

    def result(self) -> ComparisonResult:
        """Return the comparison as every surface shows it."""
        return ComparisonResult(
            control=_describe_run(self.control),
            treatment=_describe_run(self.treatment),
            metrics={name: describe_change(change) for name, change in self.metrics.items()},
            movers=self.movers,
            list_agreement=self.agreement,
            latency=self.latency,
            same_host=self.same_host,
            one_sided=self.one_sided,
            changed=self.changed,
            caveats=self.caveats,
        )

    def as_json(self) -> dict[str, object]:
        """Everything, for machines."""
        whole: dict[str, object] = plain(self.result())
        return whole

    def _each(self) -> Iterable[tuple[str, MetricChange]]:
        return self.metrics.items()

    def change_rows(self) -> list[frames.Row]:
        """Return a row for each metric, with the columns of `frames.CHANGE_COLUMNS`."""
        return [
            {
                "control": self.control.name,
                "treatment": self.treatment.name,
                "metric": name,
                "before": change.before,
                "after": change.after,
                **_split_interval(comparison_json(change.comparison)),
            }
            for name, change in self.metrics.items()
        ]

    def verdict(self) -> str:
        """Return the result of the comparison as a sentence."""
        by_verdict: dict[str, list[str]] = {}
        for name, change in self.metrics.items():
            by_verdict.setdefault(change.comparison.verdict, []).append(name)
        lists = {verdict: _name_some(names) for verdict, names in by_verdict.items()}
        parts = [f"{verdict} on {lists[verdict]}" for verdict in ("worse", "better") if verdict in lists]
        withheld = f" No verdict on {lists['withheld']}: see below." if "withheld" in lists else ""
        if parts:
            return f"{self.treatment.name} is {'; '.join(parts)}.{withheld}"
        return withheld.strip() or "No difference that these queries could tell from chance."

    def _repr_html_(self) -> str:
        """The comparison as a table of a notebook, with the verdict on each metric in words."""
        names = self._names()
        head, *lines = self.rows()
        rows = [
            (*map(_or_missing, line[:_HTML_CELLS]), change.comparison.sentence)
            for line, change in zip(lines, self.metrics.values(), strict=True)
        ]
        title = f"{names[1]} against {names[0]} on {self.control.dataset}"
        notes = [caveat.sentence for caveat in self.caveats]
        return frames.show_in_notebook(title, self.verdict(), (*head[:_HTML_CELLS], "verdict"), rows, notes)

    def __repr__(self) -> str:
        return "\n".join(grid(self.rows()))


_HTML_CELLS = 5
"""Cells of a row that a notebook shows: metric, both means, difference and p."""


NAMED = 8
"""Metrics that a sentence names before it only counts the rest."""


def _name_some(names: Sequence[str]) -> str:
    """Return names in a row; of many, the first ones and how many more there are."""
    more = len(names) - NAMED
    return ", ".join(names) if more < 2 else f"{', '.join(names[:NAMED])} and {more} more"


def _split_interval(told: dict[str, Any]) -> dict[str, object]:
    """A comparison with both ends of the interval as columns of their own."""
    low, high = told.pop("interval") or (None, None)
    return {**told, "interval_low": low, "interval_high": high}


def _or_missing(cell: str) -> str | None:
    """A cell of a table of text, where a dash stands for a missing value."""
    return None if cell == "-" else cell


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class RunsCompared:
    """Every later run against the first."""

    comparisons: tuple[Compared, ...]

    def as_json(self) -> dict[str, object]:
        """Everything, for machines."""
        return {"comparisons": [comparison.as_json() for comparison in self.comparisons]}

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with a row for each comparison and metric."""
        return frames.to_pandas(self._rows(), frames.CHANGE_COLUMNS)

    def to_polars(self) -> Any:
        """A `polars.DataFrame` with a row for each comparison and metric."""
        return frames.to_polars(self._rows(), frames.CHANGE_COLUMNS)

    def _rows(self) -> list[frames.Row]:
        return [row for comparison in self.comparisons for row in comparison.change_rows()]

    def _repr_html_(self) -> str:
        """Each comparison as a table of a notebook."""
        return "".join(comparison._repr_html_() for comparison in self.comparisons)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.comparisons))


def compare_readings(readings: Sequence[Reading], *, seed: int = 0) -> RunsCompared:
    """Compare each later reading with the first."""
    control, *treatments = readings
    if not treatments:
        raise NotComparable(f"{control.name} is one run", remedy="Give two runs or more.")
    return RunsCompared(comparisons=tuple(compare_two(control, treatment, seed=seed) for treatment in treatments))


def compare_two(control: Reading, treatment: Reading, *, seed: int = 0) -> Compared:
    """Compare two readings; raises `NotComparable` when they were measured with different instruments."""
    metrics = comparable_metrics(control, treatment)
    rng = np.random.default_rng(seed)
    pairs: Mapping[str, Pairs] = PairedMetrics(control, treatment, metrics)
    if not are_in_columns(control, treatment):
        pairs = dict(pairs)
    return Compared(
        control=control,
        treatment=treatment,
        metrics=_withhold_unsure(control, treatment, metric_changes(pairs, rng=rng)),
        movers=movers(control, treatment, leading(metrics)),
        agreement=_agreement(control, treatment),
        latency=latency_changes(control, treatment, rng=rng, resamples=_latency_resamples(len(control.statuses))),
        one_sided=_one_sided(control, treatment, metrics),
        changed=differing(control.subject, treatment.subject),
        same_tests=_same_tests(pairs),
    )


def _same_tests(pairs: Mapping[str, Pairs]) -> tuple[tuple[str, ...], ...]:
    """Metrics that are one test under several names, where anything changed at all."""
    groups: dict[str, list[str]] = {}
    for metric, first in first_of_each_test(pairs).items():
        paired = pairs[metric]
        if not np.array_equal(np.asarray(paired.control), np.asarray(paired.treatment)):
            groups.setdefault(first, []).append(metric)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _same_test_caveat(group: Sequence[str]) -> Caveat:
    return Caveat(
        kind=CaveatKind.REPEATS,
        sentence=f"{', '.join(group)} rise and fall together in every case: they are one test, and count once in "
        "Holm's correction.",
        metrics=tuple(group),
        count=len(group),
    )


def _withhold_unsure(
    control: Reading, treatment: Reading, changes: Mapping[str, MetricChange]
) -> dict[str, MetricChange]:
    """Withhold the verdicts that unjudged results alone may explain, and those on runs that were stopped early."""
    both = (*control.caveats, *treatment.caveats)
    return {
        metric: replace(
            change,
            comparison=withhold_stopped(withhold(change.comparison, control.caveats, treatment.caveats, metric), both),
        )
        for metric, change in changes.items()
    }


def comparable_metrics(control: Reading, treatment: Reading) -> tuple[str, ...]:
    """The metrics both runs have, measured the same way. Anything that prevents it is an error with exit code 2."""
    untold = _untold(control) & _untold(treatment)
    metrics = tuple(metric for metric in metrics_in_both(control, treatment) if metric not in untold)
    if not metrics and control.dataset != treatment.dataset:
        raise NotComparable(
            f"{control.name} is a run over {control.dataset}, {treatment.name} over {treatment.dataset}, "
            "and they share no metric",
            remedy="Compare runs over one dataset; where several runs have a name, give the id of the one you mean.",
        )
    if not metrics:
        raise NotComparable(
            f"{control.name} and {treatment.name} share no metric",
            remedy=f"One has {', '.join(control.metrics)}; the other {', '.join(treatment.metrics)}. Run one again.",
        )
    found = _instrument_differences(control, treatment, metrics)
    if found:
        told = "; ".join([*map(str, found), *_case_differences(control, treatment)])
        raise NotComparable(
            f"{control.name} and {treatment.name} were measured with other instruments: {told}",
            remedy="Run both again over the same dataset with the same metrics.",
        )
    if not any(len(np.asarray(pair_values(control, treatment, metric).control)) for metric in metrics):
        raise NothingMeasured(
            f"no case has a value in both {control.name} and {treatment.name}",
            remedy="Look at the outcomes of both runs: what was sampled, what failed.",
        )
    return metrics


def _case_differences(control: Reading, treatment: Reading) -> Iterator[str]:
    """Which cases only one of the two has: a dataset without its hard cases must not look like a better system."""
    missing = [case for case in control.cases if case not in treatment.statuses]
    new = [case for case in treatment.cases if case not in control.statuses]
    if missing:
        yield f"{len(missing):,} cases of {control.name} are missing in {treatment.name}: {name_few(missing)}"
    if new:
        yield f"{len(new):,} cases of {treatment.name} are not in {control.name}: {name_few(new)}"


def _untold(reading: Reading) -> set[str]:
    """Metrics that no case could compute, because the system does not report what they need."""
    return {name for caveat in caveats_about(reading.caveats, CaveatKind.UNTOLD) for name in caveat.metrics}


def _instrument_differences(control: Reading, treatment: Reading, metrics: Sequence[str]) -> tuple[Difference, ...]:
    """What differs; definitions of metrics follow from the rest, and are named only when nothing else differs."""
    found = differing(*(limit_instrument(reading.instrument, metrics) for reading in (control, treatment)))
    own = tuple(difference for difference in found if not difference.field.startswith(f"{METRICS}."))
    return own or found


def leading(metrics: Sequence[str]) -> str:
    """The metric by which movers are chosen: the first nDCG, else the first metric."""
    return next((metric for metric in metrics if metric.startswith("ndcg")), metrics[0])


def movers(control: Reading, treatment: Reading, metric: str, most: int = MOST_MOVERS) -> tuple[Mover, ...]:
    """The cases whose value changed most, the biggest change first."""
    paired = pair_columns(control, treatment, metric)
    if paired is not None:
        found = find_moved(paired, most)
        texts = {case: control.queries.get(case, "") for case, _, _ in found}
        return tuple(Mover(case, treatment.queries.get(case, texts[case]), metric, *both) for case, *both in found)
    left, right = control.values(metric), treatment.values(metric)
    moved = [case for case in left if case in right and left[case] != right[case]]
    moved.sort(key=lambda case: (-abs(right[case] - left[case]), case))
    queries = {**control.queries, **treatment.queries}
    return tuple(Mover(case, queries.get(case, ""), metric, left[case], right[case]) for case in moved[:most])


def is_loss(mover: Mover) -> bool:
    """Whether the case became worse."""
    return (mover.after > mover.before) == lower_is_better(mover.metric)


def _agreement(control: Reading, treatment: Reading) -> ListAgreement | None:
    if control.lists is None or treatment.lists is None:
        return None
    if isinstance(control.lists, SomeCases) and isinstance(treatment.lists, SomeCases):
        return compare_lists(control.lists, treatment.lists)
    cases = sorted(control.lists.keys() & treatment.lists.keys())
    if not cases:
        return None
    lists = ListComparison()
    pairs = [(control.lists[case], treatment.lists[case]) for case in cases]
    found = [lists.compare(first, second) for first, second in pairs]
    return ListAgreement(
        cases=len(cases),
        rbo=mean([overlap for overlap, _ in found]) or 0.0,
        jaccard=mean([share for _, share in found]) or 0.0,
        top_changed=sum(first[:1] != second[:1] for first, second in pairs),
    )


def _one_sided(control: Reading, treatment: Reading, metrics: Sequence[str]) -> tuple[OneSided, ...]:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for metric in metrics:
        for case, was, now in find_one_sided(control, treatment, metric) or _each_one_sided(control, treatment, metric):
            groups.setdefault((case, was, now), []).append(metric)
    return tuple(OneSided(case, tuple(names), *kinds) for (case, *kinds), names in sorted(groups.items()))


def _each_one_sided(control: Reading, treatment: Reading, metric: str) -> Iterator[tuple[str, str, str]]:
    before, after = control.outcomes[metric], treatment.outcomes[metric]
    for case in {**before, **after}:
        was, now = before.get(case), after.get(case)
        if was is not None and now is not None and was.kind is now.kind:
            continue
        kinds = _kind(was), _kind(now)
        if OutcomeKind.SCORED in kinds:
            yield (case, *kinds)


def _kind(outcome: Outcome | None) -> str:
    return ABSENT if outcome is None else outcome.kind.value


def _describe_run(reading: Reading) -> ComparedRun:
    return ComparedRun(name=reading.name, run_id=reading.run_id, host=reading.host)


def describe_change(change: MetricChange) -> ComparedMetric:
    """Return a change as results show it."""
    told: dict[str, Any] = comparison_json(change.comparison)
    limits = told.pop("interval")
    return ComparedMetric(
        before=change.before, after=change.after, interval=None if limits is None else tuple(limits), **told
    )
