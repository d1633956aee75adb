"""Handing items to workers: each has one result, whatever becomes of the workers."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.work.crews import MadeCrew, SetClock
from tests.work.stub import make_job

from assay.errors import BadValue, ClusterFailed
from assay.work import worker as inside
from assay.work.dispatch import AHEAD, Dispatcher, DispatchRules
from assay.work.jobs import Hold, Job, LocalExecutor, draw
from assay.work.worker import Build, Request, build, close_job, perform

RULES = DispatchRules(patience_s=20.0, silence_s=5.0, grace_s=5.0, opening_s=5.0)
_KEYS = iter(range(10**9))


def dispatch(
    crew: MadeCrew, items: Iterator[int | Hold], job: Job[int, int | str] | None = None, rules: DispatchRules = RULES
) -> tuple[list[int | str], Dispatcher[int, int | str]]:
    dispatcher = Dispatcher(crew, job or make_job(), key=f"t{next(_KEYS)}", rules=rules, clock=crew.clock)
    return list(dispatcher.run(items)), dispatcher


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(0, 60), workers=st.integers(1, 4), slots=st.integers(1, 3))
def test_every_item_has_one_result_whatever_becomes_of_the_workers(
    seed: int, count: int, workers: int, slots: int
) -> None:
    rng = random.Random(seed)

    def disturb(crew: MadeCrew) -> None:
        if crew.there and rng.random() < 0.15:
            crew.kill(rng.choice(sorted(crew.there)))
        if crew.there and rng.random() < 0.05:
            crew.hung.add(rng.choice(sorted(crew.there)))
        if crew.hung and rng.random() < 0.2:
            crew.hung.pop()
        if len(crew.there) < workers:
            crew.start()

    crew = MadeCrew(SetClock(), workers=workers, slots=slots, rng=rng)
    crew.act = disturb
    results, _ = dispatch(crew, iter(range(count)), rules=DispatchRules(tries=10**6, silence_s=5.0, patience_s=1e9))
    assert sorted(map(int, results)) == [number * number for number in range(count)]
    assert len(crew.finished) == 1


def test_nothing_is_lost_where_nothing_happens_and_no_more_is_out_than_there_is_room_for() -> None:
    crew = MadeCrew(SetClock(), workers=3, slots=2)
    results, dispatcher = dispatch(crew, iter(range(2_000)))
    assert sorted(map(int, results)) == [number * number for number in range(2_000)]
    assert crew.most_out <= 3 * 2 * AHEAD
    figures = dispatcher.figures()
    assert (sum(one.done for one in figures), sum(one.lost for one in figures)) == (2_000, 0)


@pytest.mark.parametrize("is_number_known", [True, False])
def test_batches_become_smaller_towards_an_end_that_is_known(is_number_known: bool) -> None:
    sizes: list[int] = []

    def answer(worker: str, request: Request) -> object:
        sizes.append(len(pickle.loads(request.items)))
        return perform(tuple(request))

    crew = MadeCrew(SetClock(), workers=2)
    crew.answer = answer
    items = iter(range(1_000))
    dispatch(crew, items if is_number_known else (item for item in items))
    assert sum(sizes) == 1_000
    # Otherwise whoever asks first would get all that is left.
    assert max(sizes) == (249 if is_number_known else 998)
    assert sizes[-1] == 1 or not is_number_known


def test_an_item_that_kills_its_worker_is_given_up_and_takes_nothing_with_it() -> None:
    crew = MadeCrew(SetClock(), workers=2, slots=2)

    def answer(worker: str, request: Request) -> object:
        if 7 in pickle.loads(request.items):
            crew.there.pop(worker)
            crew.start()
            return None
        return perform(tuple(request))

    crew.answer = answer
    results, _ = dispatch(crew, iter(range(100)), rules=DispatchRules(tries=3))
    given_up = [result for result in results if isinstance(result, str)]
    assert len(given_up) == 1
    assert given_up[0].startswith("7: it was lost with its worker 3 times: w")
    assert sorted(result for result in results if isinstance(result, int)) == [
        number * number for number in range(100) if number != 7
    ]


def test_a_silent_worker_gets_nothing_until_it_is_heard_again() -> None:
    crew = MadeCrew(SetClock(), workers=2)
    crew.act = lambda crew: crew.hung.add("w1") if crew.clock.seconds == 1.0 else None
    results, dispatcher = dispatch(crew, iter(range(5_000)))
    assert sorted(map(int, results)) == [number * number for number in range(5_000)]
    before = max(place for place, (worker, _) in enumerate(crew.performed) if worker == "w1")
    assert before < 8
    assert next(one.lost for one in dispatcher.figures() if one.name == "w1") > 0


def test_a_worker_that_does_not_finish_in_time_gets_nothing_more() -> None:
    crew = MadeCrew(SetClock(), workers=2)
    crew.answer = lambda worker, request: None if worker == "w1" else perform(tuple(request))
    results, dispatcher = dispatch(crew, iter(range(30)), make_job(limit_s=1.0))
    assert sorted(map(int, results)) == [number * number for number in range(30)]
    (late,) = [one for one in dispatcher.figures() if one.problem]
    assert (late.name, late.problem, late.lost) == ("w1", "w1 did not finish in time", 1)


def test_a_worker_of_another_version_is_refused_and_others_do_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    crew = MadeCrew(SetClock(), workers=2)
    other = build()._replace(assay="0.0.9")

    def answer(worker: str, request: Request) -> object:
        with monkeypatch.context() as patched:
            patched.setattr(inside, "build", lambda: other if worker == "w1" else build())
            return inside.perform(tuple(request))

    crew.answer = answer
    results, dispatcher = dispatch(crew, iter(range(30)))
    assert sorted(map(int, results)) == [number * number for number in range(30)]
    (refused,) = [one for one in dispatcher.figures() if one.problem]
    assert refused.problem == f"it runs another Assay: assay 0.0.9 instead of {build().assay}"


def test_where_no_worker_can_do_it_the_reason_is_told() -> None:
    with pytest.raises(ClusterFailed, match="no worker can work on these numbers: w1: the model is missing"):
        dispatch(MadeCrew(SetClock(), workers=2), iter(range(5)), make_job(refuses="the model is missing"))


def test_without_any_worker_patience_ends() -> None:
    with pytest.raises(ClusterFailed, match=r"there was no worker for 2[01] s"):
        dispatch(MadeCrew(SetClock(), workers=0), iter(range(5)))


def test_a_worker_that_forgot_the_job_is_told_again() -> None:
    crew = MadeCrew(SetClock(), workers=1)
    forgot: list[str] = []

    def answer(worker: str, request: Request) -> object:
        if request.job is None and len(forgot) < 3:
            forgot.append(worker)
            close_job(request.key)
        return perform(tuple(request))

    crew.answer = answer
    results, dispatcher = dispatch(crew, iter(range(2_000)))
    assert sorted(map(int, results)) == [number * number for number in range(2_000)]
    assert len(forgot) == 3
    assert dispatcher.figures()[0].problem == ""


def test_nothing_is_drawn_while_the_source_holds() -> None:
    out: list[int] = []

    def one_at_a_time() -> Iterator[int | Hold]:
        for number in range(20):
            while out:
                yield Hold.UNTIL_A_RESULT
            out.append(number)
            yield number

    crew = MadeCrew(SetClock(), workers=3)
    dispatcher = Dispatcher(crew, make_job(), key="held", rules=RULES, clock=crew.clock)
    for result in dispatcher.run(one_at_a_time()):
        assert [number * number for number in out] == [result]
        out.clear()
    assert crew.most_out == 1
    held = LocalExecutor(4).run(one_at_a_time(), make_job())
    for result in held:
        assert [number * number for number in out] == [result]
        out.clear()


def test_a_job_of_this_process_alone_is_refused() -> None:
    job: Job[int, int] = Job(perform=abs, lost=lambda number, _: number, what="cases")
    with pytest.raises(BadValue, match="these cases can be worked on in this process only"):
        Dispatcher(MadeCrew(SetClock()), job, key="none")


def test_drawing_says_when_there_is_no_more() -> None:
    assert draw(iter([1, 2, 3]), 2) == ([1, 2], False)
    assert draw(iter([1, 2]), 5) == ([1, 2], True)
    assert draw(iter([1, Hold.UNTIL_A_RESULT, 2]), 5) == ([1], False)


def test_builds_that_differ_name_what_differs() -> None:
    mine = Build("0.1.0", "a" * 64, "3.11", "2.0")
    assert mine.differences(mine._replace(python="3.12")) == ["python 3.11 instead of 3.12"]
