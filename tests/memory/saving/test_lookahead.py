"""Batches are prepared one ahead, in their order, and nothing is lost when preparing or the caller fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator

import pytest

from assay.memory.saving.lookahead import prepare_ahead, prepare_in_turn

PrepareAll = Callable[[Iterable[int], Callable[[int], int], Callable[[int, int | None], int]], Generator[int]]


def same(batch: int) -> int:
    return batch


def same_whatever_was_before(batch: int, _: int | None) -> int:
    return batch


def test_a_batch_is_prepared_while_the_caller_has_the_one_before() -> None:
    second_is_ready = threading.Event()

    def finish(batch: str, before: str | None) -> str:
        if batch == "SECOND":
            second_is_ready.set()
        return f"{batch} after {before}"

    found: list[str] = []
    for ready in prepare_ahead(["first", "second", "third"], str.upper, finish):
        if not found:
            # Were it prepared only when asked for, this would wait for ever.
            assert second_is_ready.wait(timeout=60)
        found.append(ready)
    assert found == ["FIRST after None", "SECOND after FIRST after None", "THIRD after SECOND after FIRST after None"]


def test_the_first_step_of_a_batch_is_made_during_the_second_step_of_the_one_before() -> None:
    second_has_begun = threading.Event()

    def begin(batch: int) -> int:
        if batch == 1:
            second_has_begun.set()
        return batch

    def finish(batch: int, _: int | None) -> int:
        # Were the next batch begun only afterwards, this would wait for ever.
        assert second_has_begun.wait(timeout=60)
        return batch

    assert list(prepare_ahead(range(3), begin, finish)) == [0, 1, 2]


def test_nothing_is_prepared_more_than_one_ahead() -> None:
    begun: list[int] = []
    finished: list[int] = []

    def begin(batch: int) -> int:
        begun.append(batch)
        return batch

    def finish(batch: int, _: int | None) -> int:
        finished.append(batch)
        return batch

    batches = prepare_ahead(range(10), begin, finish)
    assert next(batches) == 0
    batches.close()
    assert begun == [0, 1]
    assert finished in ([0], [0, 1])


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

    def finish(batch: int, before: int | None) -> int:
        assert before is None
        prepared.append(batch)
        return batch

    batches = prepare_in_turn(range(3), same, finish)
    assert next(batches) == 0
    assert prepared == [0]
    assert list(batches) == [1, 2]
