"""One metric on two sides, in words and numbers: the cells of a table and the JSON, the same on every surface."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # The command line's help needs these words and no numpy.
    from assay.statistics import Comparison

HEAD = ("wins/ties/losses", "detects")
"""Over the last two of `cells`."""


def cells(seen: Comparison) -> tuple[str, str, str, str]:
    """Difference with interval, p, wins/ties/losses, and the smallest difference that would have been seen."""
    score = f"{seen.score.wins:,}/{seen.score.ties:,}/{seen.score.losses:,}"
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
    """Everything a comparison says."""
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


def _delta(seen: Comparison) -> str:
    limits = seen.interval
    inner = "" if limits is None else f" [{number(limits.low)}, {number(limits.high)}]"
    return "-" if seen.delta is None else f"{seen.delta:+.3f}{inner}"
