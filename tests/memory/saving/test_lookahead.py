"""Batches are prepared ahead, in their order, and nothing is lost when preparing or the caller fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

import pytest

from assay.memory.saving.lookahead import AT_ONCE, Earlier, prepare_ahead, prepare_in_turn

Before = Sequence[Earlier[int, int]]
PrepareAll = Callable[[Iterable[int], Callable[[int], int], Callable[[int, Before], int]], Generator[int]]


def same(batch: int) -> int:
    return batch


def same_whatever_was_before(batch: int, _: Before) -> int:
    return batch


def test_a_batch_is_prepared_while_the_caller_has_the_one_before() -> None:
    second_is_ready = threading.Event()

    def finish(batch: str, _: Sequence[Earlier[str, str]]) -> str:
        if batch == "SECOND":
            second_is_ready.set()
        return batch

    found: list[str] = []
    for ready in prepare_ahead(["first", "second", "third"], str.upper, finish):
        if not found:
            # Were it prepared only when asked for, this would wait for ever.
            assert second_is_ready.wait(timeout=60)
        found.append(ready)
    assert found == ["FIRST", "SECOND", "THIRD"]


def test_a_batch_is_told_of_those_before_it_that_may_not_be_written() -> None:
    told: dict[int, tuple[list[int], list[int]]] = {}

    def finish(batch: int, before: Before) -> int:
        told[batch] = [one.begun for one in before], [one.ready() for one in before]
        return batch * 10

    assert list(prepare_ahead(range(6), same, finish)) == [0, 10, 20, 30, 40, 50]
    assert told == {
        number: (list(earlier), [one * 10 for one in earlier])
        for number in range(6)
        for earlier in [range(max(0, number - AT_ONCE), number)]
    }


def test_two_batches_are_at_their_second_step_at_once() -> None:
    both = threading.Barrier(AT_ONCE, timeout=60)

    def finish(batch: int, _: Before) -> int:
        # Were one finished before the next is begun, this would break.
        both.wait()
        return batch

    assert list(prepare_ahead(range(4), same, finish)) == [0, 1, 2, 3]


def test_nothing_is_prepared_more_than_two_ahead() -> None:
    begun: list[int] = []
    finished: list[int] = []

    def begin(batch: int) -> int:
        begun.append(batch)
        return batch

    def finish(batch: int, _: Before) -> int:
        finished.append(batch)
        return batch

    batches = prepare_ahead(range(10), begin, finish)
    assert next(batches) == 0
    batches.close()
    assert begun == [0, 1, 2]
    assert set(finished) <= {0, 1, 2}


def test_batches_are_taken_in_the_thread_of_the_caller() -> None:
    def take() -> Iterator[int]:
        for number in range(3):
            assert threading.current_thread() is caller
            yield number

    caller = threading.current_thread()
    assert list(prepare_ahead(take(), same, same_whatever_was_before)) == [0, 1, 2]


@pytest.mark.parametrize("step", ["first", "second"])
def test_a_failure_is_raised_after_the_batches_before_it(step: str) -> None:
    def fail(batch: int) -> int:
        if batch == 2:
            raise RuntimeError("no worker is left")
        return batch

    begin, finish = (fail, same_whatever_was_before) if step == "first" else (same, lambda batch, _: fail(batch))
    batches = prepare_ahead(range(5), begin, finish)
    assert [next(batches), next(batches)] == [0, 1]
    with pytest.raises(RuntimeError, match="no worker is left"):
        next(batches)


@pytest.mark.parametrize("prepare_all", [prepare_ahead, prepare_in_turn])
def test_no_batches_are_nothing_to_prepare(prepare_all: PrepareAll) -> None:
    assert list(prepare_all([], same, same_whatever_was_before)) == []


def test_in_turn_a_batch_is_prepared_when_it_is_asked_for() -> None:
    prepared: list[int] = []

    def finish(batch: int, before: Before) -> int:
        assert not before
        prepared.append(batch)
        return batch

    batches = prepare_in_turn(range(3), same, finish)
    assert next(batches) == 0
    assert prepared == [0]
    assert list(batches) == [1, 2]
