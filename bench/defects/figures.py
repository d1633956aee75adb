"""AUROC of each dimension for each defect, verdicts, and the tables.

- One cell: a dimension and a defect.
- One dimension: what its own defects say of it.
- Tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from assay.records.research import DIMENSIONS, Checkpoint, Dimension
from bench.defects.cases import DefectCase
from bench.defects.planting import DEFECTS, Defect
from bench.defects.scoring import ScoredCase
from bench.judge import auroc

# --- One cell: a dimension and a defect ---

LEAST_AUROC = 0.75
"""For its own defects, for a dimension to count."""
RESAMPLES, SEED = 500, 20_261_117

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """How one dimension tells good materials from those with one defect."""

    dimension: Dimension
    defect: str
    part: str
    """`own`: must fall; `also`: may fall too; `other`: should not have to."""
    pairs: int
    """Cases of the defect."""
    measured: int
    """Those of them that have a score on both sides."""
    auroc: float | None
    """None: nothing was measured."""
    low: float | None
    high: float | None
    """95 % of resampled questions."""
    good: float | None
    """Mean of the good materials."""
    bad: float | None
    falls: float | None
    """Share of pairs in which the defect scores lower."""
    constant: float | None
    """Share of all values that equal the most frequent one."""


def compute_cells(scored: Sequence[ScoredCase], *, resamples: int = RESAMPLES) -> list[Cell]:
    """Compute every dimension of every defect's checkpoint, in the order of `DEFECTS`."""
    return [
        _compute_cell(dimension, defect, own, resamples)
        for defect in DEFECTS
        if (own := [found for found in scored if found.case.defect.name == defect.name])
        for dimension in DIMENSIONS[defect.checkpoint]
    ]


def _compute_cell(dimension: Dimension, defect: Defect, scored: Sequence[ScoredCase], resamples: int) -> Cell:
    part = "own" if dimension in defect.own else "also" if dimension in defect.also else "other"
    pairs = _list_measured(dimension, scored)
    if not pairs:
        return Cell(
            dimension=dimension, defect=defect.name, part=part, pairs=len(scored), measured=0,
            auroc=None, low=None, high=None, good=None, bad=None, falls=None, constant=None,
        )  # fmt: skip
    whole, broken = np.array([pair[1] for pair in pairs]), np.array([pair[2] for pair in pairs])
    low, high = _interval(whole, broken, [pair[0] for pair in pairs], resamples)
    values = np.round(np.concatenate([whole, broken]), 6).tolist()
    return Cell(
        dimension=dimension,
        defect=defect.name,
        part=part,
        pairs=len(scored),
        measured=len(pairs),
        auroc=tell_apart(whole, broken),
        low=low,
        high=high,
        good=float(whole.mean()),
        bad=float(broken.mean()),
        falls=float((broken < whole).mean()),
        constant=Counter(values).most_common(1)[0][1] / len(values),
    )


def _list_measured(dimension: Dimension, scored: Iterable[ScoredCase]) -> list[tuple[str, float, float]]:
    """Return the question and both scores of each case that has both."""
    return [
        (found.case.question_id, good, bad)
        for found in scored
        if (good := found.good.get(dimension)) is not None and (bad := found.bad.get(dimension)) is not None
    ]


def tell_apart(good: Floats, bad: Floats) -> float:
    """How often a good material scores above a defective one; a tie is half."""
    labels = np.concatenate([np.ones(len(good)), np.zeros(len(bad))])
    return auroc(np.concatenate([good, bad]), labels)


def _interval(good: Floats, bad: Floats, questions: Sequence[str], resamples: int) -> tuple[float, float]:
    """Bootstrap over questions: both materials of a question come together."""
    groups = np.unique(questions, return_inverse=True)[1]
    members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(resamples):
        rows = np.concatenate([members[group] for group in rng.integers(len(members), size=len(members))])
        found.append(tell_apart(good[rows], bad[rows]))
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


# --- One dimension: what its own defects say of it ---


@dataclass(frozen=True, kw_only=True, slots=True)
class DimensionVerdict:
    """Whether a dimension may count."""

    dimension: Dimension
    verdict: str
    """`counts`; `not measured`: the check gives no score; `below`: it gives scores that miss an own defect."""
    lowest: float | None
    """AUROC for the own defect that it tells worst."""
    worst: str
    """That defect."""
    mean: float | None
    """Of the AUROCs for its own defects."""

    @property
    def is_met(self) -> bool:
        """Whether what counts tells its own defects."""
        return self.verdict != BELOW


COUNTS, NOT_MEASURED, BELOW = "counts", "not measured", "below"


def judge_dimensions(cells: Sequence[Cell]) -> list[DimensionVerdict]:
    """Give the verdict on every dimension that has own defects among the cells."""
    found = []
    for dimension in Dimension:
        own = [cell for cell in cells if cell.dimension is dimension and cell.part == "own"]
        if own:
            found.append(_judge(dimension, own))
    return found


def _judge(dimension: Dimension, own: Sequence[Cell]) -> DimensionVerdict:
    measured = [(cell.auroc, cell.defect) for cell in own if cell.auroc is not None]
    if not measured:
        return DimensionVerdict(dimension=dimension, verdict=NOT_MEASURED, lowest=None, worst="", mean=None)
    lowest, worst = min(measured)
    return DimensionVerdict(
        dimension=dimension,
        verdict=COUNTS if lowest >= LEAST_AUROC else BELOW,
        lowest=lowest,
        worst=worst,
        mean=fmean(value for value, _ in measured),
    )


# --- Tables ---

_MARKS = {"own": "**", "also": "*", "other": ""}


def show_overview(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield one table for each checkpoint: AUROC of each dimension for each defect, own in bold, also in italics."""
    for checkpoint in Checkpoint:
        dimensions = DIMENSIONS[checkpoint]
        own = [cell for cell in cells if cell.dimension in dimensions]
        if not own:
            continue
        yield ""
        yield f"| {checkpoint.value}: defect | pairs | {' | '.join(dimension.value for dimension in dimensions)} |"
        yield "| --- " * (len(dimensions) + 2) + "|"
        for name in dict.fromkeys(cell.defect for cell in own):
            by = {cell.dimension: cell for cell in own if cell.defect == name}
            shown = " | ".join(_mark(cell) for cell in by.values())
            yield f"| {name} | {next(iter(by.values())).pairs} | {shown} |"


def _mark(cell: Cell) -> str:
    """Write the AUROC of a cell in bold or italics; nothing where nothing was measured."""
    marks = "" if cell.auroc is None else _MARKS[cell.part]
    return f"{marks}{_number(cell.auroc)}{marks}"


def show_own(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the figures of every cell that must or may fall."""
    yield ""
    yield "| dimension | defect | AUROC | 95 % | measured | good | defective | falls | constant |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    order = {dimension: place for place, dimension in enumerate(Dimension)}
    for cell in sorted((cell for cell in cells if cell.part != "other"), key=lambda cell: order[cell.dimension]):
        interval = "" if cell.low is None else f"{_number(cell.low)} to {_number(cell.high)}"
        figures = " | ".join(_number(figure) for figure in (cell.good, cell.bad, cell.falls, cell.constant))
        defect = cell.defect if cell.part == "own" else f"({cell.defect})"
        yield (
            f"| {cell.dimension.value} | {defect} | {_number(cell.auroc)} | {interval} | "
            f"{cell.measured} of {cell.pairs} | {figures} |"
        )


def show_groups(scored: Sequence[ScoredCase], group_of: Callable[[DefectCase], str]) -> Iterator[str]:
    """Yield AUROC of each dimension for its own defects in each group of cases."""
    groups = [name for name in dict.fromkeys(group_of(found.case) for found in scored) if name]
    yield ""
    yield f"| dimension | defect | {' | '.join(groups)} |"
    yield "| --- " * (len(groups) + 2) + "|"
    for defect in DEFECTS:
        own = [found for found in scored if found.case.defect.name == defect.name and group_of(found.case)]
        for dimension in defect.own if own else ():
            cells = [_compute_group(dimension, own, group_of, name) for name in groups]
            yield f"| {dimension.value} | {defect.name} | {' | '.join(cells)} |"


def _compute_group(
    dimension: Dimension, scored: Sequence[ScoredCase], group_of: Callable[[DefectCase], str], name: str
) -> str:
    pairs = _list_measured(dimension, (found for found in scored if group_of(found.case) == name))
    if not pairs:
        return ""
    value = tell_apart(np.array([pair[1] for pair in pairs]), np.array([pair[2] for pair in pairs]))
    return f"{_number(value)} ({len(pairs)})"


def show_verdicts(verdicts: Sequence[DimensionVerdict]) -> Iterator[str]:
    """Yield one line for each dimension."""
    yield ""
    yield "| dimension | verdict | lowest own AUROC | for | mean of own |"
    yield "| --- | --- | --- | --- | --- |"
    for found in verdicts:
        yield (
            f"| {found.dimension.value} | {found.verdict} | {_number(found.lowest)} | {found.worst} | "
            f"{_number(found.mean)} |"
        )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
