"""Whatever a system does, asking it gives an outcome."""

from __future__ import annotations

import math
import signal
import threading
from dataclasses import replace
from typing import Any

import pytest
from tests.systems.sample import CASES, TEXTS, Given

from assay.records.answers import GivenAnswer
from assay.records.datasets import Case
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved, Seen
from assay.systems.boundary import Asker, Terms
from assay.systems.protocol import System

CASE = CASES[0]


def ask(system: System, **terms: Any) -> CaseResult:
    asker = Asker(system, Terms(**{"k": 3, "known": TEXTS.keys(), **terms}))
    try:
        return asker.ask(CASE)
    finally:
        asker.close()


def test_a_list_comes_back_as_it_was_given_and_is_timed() -> None:
    ticks = iter([10.0, 10.25])
    found = ask(Given(lambda _: ["pool", "sauna"]), stopwatch=lambda: next(ticks))
    assert (found.status, found.total_ms, found.error) == (CaseStatus.OK, 250.0, "")
    assert found.retrieved is not None
    assert (found.retrieved.ids, found.retrieved.notes) == (("pool", "sauna"), ())


def test_a_list_that_needs_no_change_is_not_copied() -> None:
    """Systems that give the same list often have it in memory once."""
    given = Retrieved(ids=("pool", "sauna"), scores=(2.0, 1.0))
    assert ask(Given(lambda _: given)).retrieved is given
    longer = Retrieved(ids=("pool", "sauna", "pool"))
    found = ask(Given(lambda _: longer)).retrieved
    assert found is not None
    assert found.ids == ("pool", "sauna")


def raising(problem: BaseException) -> Any:
    def act(_: object) -> None:
        raise problem

    return act


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (ValueError("no such index"), "ValueError: no such index"),
        (SystemExit(3), "SystemExit: 3"),
        (RuntimeError("a\n  b"), "RuntimeError: a b"),
        (RuntimeError("lone \ud800"), "RuntimeError: lone ?"),
        (RuntimeError("nul \x00 and \x1b[31m"), "RuntimeError: nul and [31m"),
        (KeyError(), "KeyError: no message"),
    ],
)
@pytest.mark.parametrize("timeout_s", [None, 30.0])
def test_a_system_that_raises_has_failed_with_what_it_said(
    problem: BaseException, said: str, timeout_s: float | None
) -> None:
    found = ask(Given(raising(problem)), timeout_s=timeout_s)
    assert (found.status, found.error, found.retrieved) == (CaseStatus.ERROR, said, None)


def test_the_users_own_interrupt_is_not_the_systems_failure() -> None:
    with pytest.raises(KeyboardInterrupt):
        ask(Given(raising(KeyboardInterrupt())), timeout_s=None)


def test_an_interrupt_that_another_thread_hears_ends_the_wait() -> None:
    answered, released = threading.Event(), threading.Event()

    class Interrupted(System):
        name = "interrupted"

        def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
            # To this thread alone: the one that waits for the answer is not woken by it.
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            released.wait(5)
            answered.set()
            return Retrieved(ids=())

    try:
        with pytest.raises(KeyboardInterrupt):
            Asker(Interrupted(), Terms(timeout_s=60)).ask(CASES[0])
        assert not answered.is_set(), "the interrupt waited for the system"
    finally:
        released.set()


def test_a_system_that_hangs_is_left_behind_and_the_next_case_is_answered() -> None:
    begun, release = threading.Event(), threading.Event()
    hanging = iter([True, False])

    def act(_: object) -> list[str]:
        if next(hanging):
            begun.set()
            release.wait()
        return ["pool"]

    asker = Asker(Given(act), Terms(timeout_s=0.05))
    first = asker.ask(CASE)
    assert begun.wait(60.0)
    # The one that does answer gets the time that a busy machine takes to begin a thread.
    asker._terms = replace(asker._terms, timeout_s=60.0)
    second = asker.ask(CASE)
    release.set()
    asker.close()
    assert (first.status, first.error, first.total_ms) == (CaseStatus.TIMEOUT, "no answer within 0.05 s", 50.0)
    assert second.status is CaseStatus.OK


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "the system returned NoneType"),
        ({"pool": 1.0}, "the system returned dict"),
        (Retrieved(ids=("pool", "")), "an id is empty"),
        (Retrieved(ids=("\ud800",)), "UnicodeEncodeError"),
        (Retrieved(ids=("pool",), scores=(math.nan,)), "a score is nan"),
        (Retrieved(ids=("pool",), scores=(math.inf,)), "a score is inf"),
        (Retrieved(ids=("pool",), scores=(1.0, 2.0)), "1 results have 2 scores"),
        (Retrieved(ids=(7,)), "'int' object has no attribute 'encode'"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_used_is_a_failed_case(given: Any, said: str) -> None:
    found = ask(Given(lambda _: given))
    assert found.status is CaseStatus.ERROR
    assert said in found.error


def test_nothing_found_is_empty_and_not_a_failure() -> None:
    found = ask(Given(lambda _: []))
    assert (found.status, found.error) == (CaseStatus.EMPTY, "")
    assert found.retrieved == Retrieved(ids=())


def test_an_answer_without_documents_is_no_empty_response() -> None:
    found = ask(Given(lambda _: Retrieved(ids=(), answer=GivenAnswer(text="At seven."))))
    assert found.status is CaseStatus.OK


def test_repeats_surplus_and_strangers_are_noted() -> None:
    given = Retrieved(ids=("pool", "attic", "pool", "sauna", "pets"), scores=(5.0, 4.0, 3.0, 2.0, 1.0))
    found = ask(Given(lambda _: given)).retrieved
    assert found is not None
    assert (found.ids, found.scores) == (("pool", "attic", "sauna"), (5.0, 4.0, 2.0))
    assert found.notes == (
        "1 repeated results dropped",
        "1 results beyond k dropped",
        "1 ids that the dataset does not have, such as attic",
    )


def test_an_id_may_hold_any_characters() -> None:
    found = ask(Given(lambda _: ["{0}", "a b", "%s"])).retrieved
    assert found is not None
    assert found.notes == ("3 ids that the dataset does not have, such as {0}",)


def test_strangers_are_not_looked_for_where_documents_are_not_known() -> None:
    found = ask(Given(lambda _: ["attic"]), known=frozenset()).retrieved
    assert found is not None
    assert found.notes == ()


class Telling(Given):
    """Tells how it got there, or fails to."""

    def seen(self, case: Any, given: Retrieved) -> Seen:
        if case.id != "q1":
            raise LookupError("the log is gone")
        return Seen(fused=given.ids)


def test_how_the_list_was_made_is_asked_afterwards_and_cannot_fail_the_case() -> None:
    asker = Asker(Telling(lambda _: ["pool"]), Terms(timeout_s=None))
    good, bad = asker.ask(CASES[0]).retrieved, asker.ask(CASES[1]).retrieved
    assert good is not None
    assert bad is not None
    assert good.seen == Seen(fused=("pool",))
    assert (bad.seen, bad.notes) == (None, ("how the list was made is not known: LookupError: the log is gone",))


def test_what_a_case_cost_stands_in_its_result() -> None:
    assert ask(Given(lambda _: Retrieved(ids=("pool",), cost=0.25))).cost == 0.25
