"""Batches are prepared one ahead, in their order, and nothing is lost when preparing or the caller fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from assay.memory.saving.lookahead import prepare_ahead, prepare_in_turn


def test_a_batch_is_prepared_while_the_caller_has_the_one_before() -> None:
    second_is_ready = threading.Event()

    def prepare(batch: str, before: str | None) -> str:
        if batch == "second":
            second_is_ready.set()
        return f"{batch} after {before}"

    found: list[str] = []
    for ready in prepare_ahead(["first", "second", "third"], prepare):
        if not found:
            # Were it prepared only when asked for, this would wait for ever.
            assert second_is_ready.wait(timeout=60)
        found.append(ready)
    assert found == ["first after None", "second after first after None", "third after second after first after None"]


def test_nothing_is_prepared_more_than_one_ahead() -> None:
    prepared: list[int] = []

    def prepare(batch: int, before: int | None) -> int:
        prepared.append(batch)
        return batch

    batches = prepare_ahead(range(10), prepare)
    assert next(batches) == 0
    batches.close()
    assert prepared in ([0], [0, 1])


def test_batches_are_taken_in_the_thread_of_the_caller() -> None:
    def take() -> Iterator[int]:
        for number in range(3):
            assert threading.current_thread() is caller
            yield number

    caller = threading.current_thread()
    assert list(prepare_ahead(take(), lambda batch, _: batch)) == [0, 1, 2]


def test_a_failure_is_raised_after_the_batches_before_it() -> None:
    def prepare(batch: int, before: int | None) -> int:
        if batch == 2:
            raise RuntimeError("no worker is left")
        return batch

    batches = prepare_ahead(range(5), prepare)
    assert [next(batches), next(batches)] == [0, 1]
    with pytest.raises(RuntimeError, match="no worker is left"):
        next(batches)


@pytest.mark.parametrize("prepare_all", [prepare_ahead, prepare_in_turn])
def test_no_batches_are_nothing_to_prepare(prepare_all: object) -> None:
    assert callable(prepare_all)
    assert list(prepare_all([], lambda batch, _: batch)) == []


def test_in_turn_a_batch_is_prepared_when_it_is_asked_for() -> None:
    prepared: list[int] = []

    def prepare(batch: int, before: int | None) -> int:
        assert before is None
        prepared.append(batch)
        return batch

    batches = prepare_in_turn(range(3), prepare)
    assert next(batches) == 0
    assert prepared == [0]
    assert list(batches) == [1, 2]
