"""Many batches side by side: the rows of one thread, errors that come through, and threads that stop."""

from __future__ import annotations

import threading
from contextlib import closing

import numpy as np
import pytest

from assay.embedding import onnx
from assay.embedding.bundled import load_bundled
from assay.embedding.onnx import run_side_by_side
from assay.errors import AssayError

TEXTS = [f"note {number} " + "the rain in the plain falls " * (number % 7) for number in range(40)]


@pytest.mark.slow
def test_rows_are_those_of_one_thread_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx, "BATCHES_SIDE_BY_SIDE", 1)
    alone, both = load_bundled(threads=1), load_bundled(threads=2)
    done: list[int] = []
    assert np.array_equal(both.embed(TEXTS, progress=done.append), alone.embed(TEXTS))
    assert sum(done) == len(TEXTS)
    assert both._bulk._loaded is not None  # type: ignore[attr-defined] # else nothing was run side by side
    assert alone._bulk._loaded is None  # type: ignore[attr-defined]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_batch_is_run_once_and_told_to_the_caller(threads: int) -> None:
    ran: list[int] = []
    here = threading.get_ident()
    told = []

    def run(batch: int) -> int:
        ran.append(batch)
        return batch

    for number in run_side_by_side(run, range(50), threads=threads):
        assert threading.get_ident() == here
        told.append(number)
    assert sorted(ran) == sorted(told) == list(range(50))


def test_what_a_batch_raises_in_another_thread_is_raised_to_the_caller() -> None:
    here, fell = threading.get_ident(), threading.Event()

    def run(batch: int) -> int:
        if threading.get_ident() != here:
            fell.set()
            raise AssayError("the model fell over", remedy="Try again.")
        assert fell.wait(10)
        return batch

    with pytest.raises(AssayError, match="the model fell over"):
        list(run_side_by_side(run, range(10), threads=2))


def test_whoever_stops_begins_no_further_batch() -> None:
    ran: list[int] = []

    def run(batch: int) -> int:
        ran.append(batch)
        return 1

    with closing(run_side_by_side(run, range(1_000_000), threads=2)) as finished:
        next(finished)
    count = len(ran)
    assert count < 1_000_000
    assert len(ran) == count
