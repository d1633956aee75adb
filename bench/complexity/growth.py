"""How the processor time of a piece of work grows with the length of its input.

`screen` looks quickly: one run at a size, and at a quarter of it when the first took long. `measure_growth` doubles the
input from one size to eight times that size and takes the best of several runs, because anything else that runs on the
machine can only make a run slower. A screened suspect is measured again with more runs before it counts.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from assay.errors import AssayError
from assay.server.errors import RequestRefused

MOST_SECONDS = 2.0
"""A suspect that takes longer is not measured with more input."""
ALLOWED = 1.2
"""The highest exponent that counts as linear: 1 is linear, 2 is quadratic."""
FLOOR = 0.004
"""Seconds below which a run at the screening size is not measured further.

The cheapest quadratic step (comparing a character inside the regular expression engine) takes about a nanosecond, so a
quadratic pattern needs at least 30 ms for 8,000 characters.
"""

Work = Callable[[str], object]
Make = Callable[[int], str]
"""Make an input of about this many characters."""


class Growth(NamedTuple):
    """What doubling an input did to the time."""

    exponent: float
    """1 for linear growth, 2 for quadratic; 0 when every run was too short to be measured."""
    seconds: float
    """Of the largest input."""
    size: int
    """Characters of the largest input."""


def run_once(work: Work, text: str) -> float:
    """Seconds of processor time of one run; refusing the input is a good answer.

    What the process had before is hidden from Python's collector of cycles: looking through the modules of a whole
    test run takes a tenth of a second, and falls into longer runs more often, which looked like growth.
    """
    gc.freeze()
    try:
        begun = time.thread_time()
        with suppress(AssayError, RequestRefused):
            work(text)
        return time.thread_time() - begun
    finally:
        gc.unfreeze()


def screen(work: Work, make: Make, size: int) -> Growth:
    """A first look: suspicious when time grew faster than the input over a factor of four."""
    large = run_once(work, make(size))
    if large < FLOOR:
        return Growth(0.0, large, size)
    small = run_once(work, make(size // 4))
    return Growth(_exponent(small, large, 4), large, size)


def measure_growth(work: Work, make: Make, size: int, *, tries: int = 3) -> Growth:
    """The exponent between `size // 8` and `size`, fitted over doublings of the input."""
    sizes = [size // 8, size // 4, size // 2, size]
    texts = [make(each) for each in sizes]
    run_once(work, texts[0])
    seconds = [min(run_once(work, text) for _ in range(tries)) for text in texts]
    if seconds[-1] < FLOOR:
        return Growth(0.0, seconds[-1], size)
    return Growth(_fitted(list(map(len, texts)), seconds), seconds[-1], size)


def confirm(work: Work, make: Make, size: int, *, most: int = 1_000_000) -> Growth:
    """Measure a suspect: the input grows until an eighth of it takes long enough; the least of three counts.

    What takes a fixed time, or begins at a length (a text that no longer fits one passage), is then small beside it.
    Work that is steep inside blocks of a bounded size is linear beyond them, so a steep suspect is measured again with
    eight times the input; what is quadratic stays so.
    """
    while size * 2 <= most and run_once(work, make(size // 8)) < FLOOR:
        size *= 2
    found = _measure_often(work, make, size)
    if found.exponent > ALLOWED and size * 8 <= most and found.seconds <= MOST_SECONDS:
        return _measure_often(work, make, size * 8)
    return found


def _measure_often(work: Work, make: Make, size: int) -> Growth:
    """Measure up to three times, each time with more tries, until the growth is allowed; the least counts."""
    found = measure_growth(work, make, size)
    for tries in (5, 7):
        # A measurement that takes seconds is not noise.
        if found.exponent <= ALLOWED or found.seconds > MOST_SECONDS:
            break
        found = min(found, measure_growth(work, make, size, tries=tries))
    return found


def _exponent(small: float, large: float, factor: int) -> float:
    return math.log(max(large, 1e-4) / max(small, 1e-4), factor)


def _fitted(sizes: list[int], seconds: list[float]) -> float:
    """The slope of a straight line through the logarithms (least squares)."""
    points = [(math.log(size), math.log(max(spent, 1e-5))) for size, spent in zip(sizes, seconds, strict=True)]
    middle_x = sum(x for x, _ in points) / len(points)
    middle_y = sum(y for _, y in points) / len(points)
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread if spread else 0.0
