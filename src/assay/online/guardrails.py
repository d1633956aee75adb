"""What is watched after a change has graduated, and when it is taken back.

Three numbers of the searches since graduation are held against those before: p95 latency (not more than 20 % worse, and
the interval of the ratio must exclude that), the quality proxy (a fall of 5 % or more that is no chance), and whether
every constitutional memory still surfaces. A guardrail that cannot be told yet holds nothing up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.online.graduation import SLOWEST
from assay.records import LoggedQuery
from assay.statistics.checks import Floats

LEAST = 50
"""Searches on each side before a guardrail says anything."""
FALL = 0.05
"""The share of the quality proxy that may be lost."""
CHANCE = 0.01
"""A break less likely than this by chance is one."""
RESAMPLES = 2_000


class Guardrail(NamedTuple):
    """One number that is watched."""

    name: str
    broken: bool | None
    """None: too little is known."""
    sentence: str


def guardrails(
    before: Sequence[LoggedQuery], after: Sequence[LoggedQuery], surfacing: float | None, *, rng: np.random.Generator
) -> tuple[Guardrail, ...]:
    """What is watched, by the searches before and after graduation and by a look at constitutional memories now."""
    return (
        _latency(_latencies(before), _latencies(after), rng),
        _proxy(_proxies(before), _proxies(after), rng),
        _surfacing(surfacing),
    )


def _latencies(queries: Sequence[LoggedQuery]) -> Floats:
    return np.asarray([one.total_latency_ms for one in queries if one.total_latency_ms is not None], dtype=np.float64)


def _proxies(queries: Sequence[LoggedQuery]) -> Floats:
    return np.asarray([one.quality_proxy_score for one in queries if one.quality_proxy_score is not None], np.float64)


def _too_few(name: str, before: Floats, after: Floats) -> Guardrail | None:
    if min(before.size, after.size) >= LEAST:
        return None
    return Guardrail(name, None, f"{before.size} searches before and {after.size} after; {LEAST} of each are needed.")


def _latency(before: Floats, after: Floats, rng: np.random.Generator) -> Guardrail:
    if few := _too_few("latency", before, after):
        return few
    ratios = _p95s(after, rng) / np.maximum(_p95s(before, rng), 1e-9)
    low = float(np.quantile(ratios, CHANCE))
    was, now = float(np.quantile(before, 0.95)), float(np.quantile(after, 0.95))
    sentence = f"p95 {now:.1f} ms, before {was:.1f} ms; the ratio is at least {low:.2f}, allowed is {SLOWEST:.2f}."
    return Guardrail("latency", low > SLOWEST, sentence)


def _p95s(values: Floats, rng: np.random.Generator) -> Floats:
    rows = rng.integers(0, values.size, (RESAMPLES, values.size))
    p95s: Floats = np.quantile(values[rows], 0.95, axis=1)
    return p95s


def _proxy(before: Floats, after: Floats, rng: np.random.Generator) -> Guardrail:
    if few := _too_few("quality proxy", before, after):
        return few
    was, now = float(before.mean()), float(after.mean())
    together = np.concatenate([before, after])
    shuffled = rng.permuted(np.tile(together, (RESAMPLES, 1)), axis=1)
    falls = shuffled[:, : before.size].mean(axis=1) - shuffled[:, before.size :].mean(axis=1)
    p = (int(np.sum(falls >= was - now)) + 1) / (RESAMPLES + 1)
    broken = now < was * (1.0 - FALL) and p < CHANCE
    return Guardrail("quality proxy", broken, f"{now:.3f}, before {was:.3f} (p = {p:.3f}); {FALL:.0%} may be lost.")


def _surfacing(rate: float | None) -> Guardrail:
    if rate is None:
        return Guardrail("constitutional", None, "There is no constitutional memory to look for.")
    return Guardrail("constitutional", rate < 1.0, f"{rate:.0%} of constitutional memories surface.")
