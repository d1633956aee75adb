"""What judging keeps in the store, on both back ends: inputs, verdicts, calibrations, replies, and what was spent."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.judging.made import case, judge_of, reading_answers, verdict
from tests.storage.homes import Home

from assay.errors import BudgetExhausted, InputError, NothingMeasured, RecordNotFound
from assay.judging.persistence import StoredReplies, StoredSpending, account_of, guard_of, to_stored_verdict
from assay.judging.rerun import load_judged, rerun, spot_check
from assay.models.budget import Cost, Limits
from assay.models.chat import CachedModel, ChatRequest, Message
from assay.records import Scope
from assay.records.judging import Calibration, RubricKind
from assay.storage import Store
from assay.testing import FixedClock, ScriptedModel

OTHER = Scope(tenant="umbrella", principal="eve")


def test_replies_are_kept_and_belong_to_a_tenant(store: Store, scope: Scope) -> None:
    asked = ChatRequest(messages=(Message(role="user", content="Well?"),))
    inner = ScriptedModel("first", "second")
    model = CachedModel(inner, StoredReplies(store, scope))
    assert [model.complete(asked).text for _ in range(2)] == ["first", "first"]
    assert CachedModel(inner, StoredReplies(store, OTHER)).complete(asked).text == "second"


def test_money_is_set_aside_and_settled_across_reopenings(home: Home, scope: Scope, clock: FixedClock) -> None:
    limits = Limits(tokens=100, nano_usd=1_000)

    def spending(store: Store) -> StoredSpending:
        return StoredSpending(store, scope, period="month", clock=clock)

    first = spending(home.open())
    reservation = first.reserve(Cost(60, 600), limits)
    left_open = first.reserve(Cost(30, 300), limits)
    assert left_open != reservation
    home.close()
    second = spending(home.open())
    with pytest.raises(BudgetExhausted, match="90 of 100 tokens"):
        second.reserve(Cost(20, 1), limits)
    second.settle(reservation, Cost(10, 100))
    second.settle(reservation, Cost(0, 0))
    assert second.spent() == Cost(40, 400)
    with pytest.raises(BudgetExhausted, match="USD"):
        second.reserve(Cost(1, 700), limits)
    clock.advance(days=40)
    assert second.spent() == Cost(0, 0)


def test_accounts_follow_the_calendar_and_tenants_are_apart(store: Store, scope: Scope, clock: FixedClock) -> None:
    now = clock.now()
    assert [account_of(one, now) for one in ("day", "month", "ever")] == ["2026-01-05", "2026-01", "ever"]
    limits = Limits(tokens=10)
    StoredSpending(store, scope, period="ever", clock=clock).reserve(Cost(10, 0), limits)
    assert StoredSpending(store, OTHER, period="ever", clock=clock).reserve(Cost(10, 0), limits)


def test_threads_cannot_overdraw_an_account(store: Store, scope: Scope, clock: FixedClock) -> None:
    spending = StoredSpending(store, scope, period="ever", clock=clock)
    taken: list[str] = []

    def take() -> None:
        try:
            taken.append(spending.reserve(Cost(3, 0), Limits(tokens=10)))
        except BudgetExhausted:
            return

    threads = [threading.Thread(target=take) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(taken) == 3
    assert spending.spent() == Cost(9, 0)


def test_the_secret_of_the_marked_lines_is_made_once(home: Home, scope: Scope) -> None:
    mark = guard_of(home.open(), scope).mark("x")
    home.close()
    assert guard_of(home.open(), scope).mark("x") == mark


def test_inputs_and_verdicts_come_back_as_they_were(store: Store, scope: Scope, clock: FixedClock) -> None:
    judged = judge_of(ScriptedModel(verdict(4))).judge_case(case())
    kept = to_stored_verdict("r1", "c1", judged, clock.now())
    with store.writing(scope) as work:
        work.judging.put_inputs([judged.input, judged.input])
        work.judging.put_verdicts([kept])
        work.judging.put_verdicts([replace(kept, score=2.0)])
    with store.reading(scope) as work:
        assert work.judging.input(judged.input.input_hash) == judged.input
        (found,) = work.judging.verdicts("r1")
        assert (found.score, found.detail["raw"]) == (2.0, list(judged.raw))
        assert found.detail["judge"]["model_digest"] == "scripted-1"
    with store.reading(OTHER) as work:
        assert work.judging.verdicts("r1") == []
        with pytest.raises(RecordNotFound):
            work.judging.input(judged.input.input_hash)


def test_the_newest_calibration_of_a_judge_counts(store: Store, scope: Scope, clock: FixedClock) -> None:
    one = Calibration(
        fingerprint_id="j_1",
        kind=RubricKind.CORRECTNESS,
        made_at=clock.now(),
        expires_at=clock.now() + timedelta(days=1),
        labels_hash="h",
        cases=30,
        passed=False,
        figures={"kappa": {"value": 0.5}},
        fingerprint={},
    )
    with store.writing(scope) as work:
        work.judging.put_calibration(one)
        work.judging.put_calibration(replace(one, passed=True))
    with store.reading(scope) as work:
        assert work.judging.calibration("j_1") == replace(one, passed=True)
        assert work.judging.calibration("j_2") is None
        assert len(work.judging.calibrations()) == 2


def keep_verdicts(store: Store, scope: Scope, clock: FixedClock, count: int = 40) -> None:
    judge = judge_of(reading_answers(lambda answer: int(answer[-1]), name="first"))
    said = [judge.judge_case(case(f"answer {one % 6}", question=f"q{one}?")) for one in range(count)]
    with store.writing(scope) as work:
        work.judging.put_inputs([one.input for one in said])
        rows = [to_stored_verdict("r1", f"c{place:02}", one, clock.now()) for place, one in enumerate(said)]
        work.judging.put_verdicts(rows)


def test_another_judge_is_asked_about_what_the_first_was_shown(store: Store, scope: Scope, clock: FixedClock) -> None:
    keep_verdicts(store, scope, clock)
    given = load_judged(store, scope, "r1", RubricKind.GROUNDEDNESS)
    milder = judge_of(
        reading_answers(lambda answer: min(5, int(answer[-1]) + 1) if answer[-1].isdigit() else 0, name="second")
    )
    found = rerun("r1", given, milder).as_json()
    assert (found["cases"], found["both"], found["moved"]) == (40, 40, [])
    assert found["mean_second"] > found["mean_first"]
    with pytest.raises(NothingMeasured, match="no verdict about abstention"):
        load_judged(store, scope, "r1", RubricKind.ABSTENTION)


def test_a_judge_is_not_asked_to_check_itself(store: Store, scope: Scope, clock: FixedClock) -> None:
    keep_verdicts(store, scope, clock, 3)
    given = load_judged(store, scope, "r1", RubricKind.GROUNDEDNESS)
    itself = judge_of(reading_answers(lambda _: 1, name="first"))
    for ask in (lambda: rerun("r1", given, itself), lambda: spot_check("r1", given, itself)):
        with pytest.raises(InputError, match="gave these verdicts itself"):
            ask()


@pytest.mark.parametrize(("off_by", "warns"), [(1, False), (3, True)])
def test_a_spot_check_warns_when_judges_disagree_by_more_than_a_point(
    store: Store, scope: Scope, clock: FixedClock, off_by: int, warns: bool
) -> None:
    keep_verdicts(store, scope, clock)
    given = load_judged(store, scope, "r1", RubricKind.GROUNDEDNESS)
    second = judge_of(reading_answers(lambda answer: abs(int(answer[-1]) - off_by), name="second"))
    found = spot_check("r1", given, second, share=0.5)
    assert (found.of, found.checked, found.warns) == (40, 20, warns)
    assert bool(found.disagreements) is warns
    assert found.as_json()["judge_reliability"]["spot_check_n"] == 20
