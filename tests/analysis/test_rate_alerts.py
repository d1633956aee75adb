"""Alerts come when a rate changes and stay away when it does not, however often one looks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from assay.analysis.rate_alerts import ALPHA, find_alerts, first_needed
from assay.records.alerts import WatchedRate
from assay.records.research_log import BriefSession, QuestionOutcome

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MONDAY = datetime(2026, 11, 16, tzinfo=UTC)
GOOD, BAD = QuestionOutcome.ANSWERED, QuestionOutcome.REFUSED_DESPITE_EVIDENCE


def sessions(shares: list[tuple[datetime, int, float]], rng: np.random.Generator) -> list[BriefSession]:
    """Questions from a moment on, ten minutes apart, of which a share went wrong."""
    return [
        BriefSession(
            begins + timedelta(minutes=10 * place),
            f"question {begins:%d} {place}",
            BAD if bad else GOOD,
            not bad,
        )
        for begins, count, share in shares
        for place, bad in enumerate(rng.random(count) < share)
    ]


def test_a_rate_that_doubles_is_seen_in_its_week_with_its_direction() -> None:
    before = MONDAY - timedelta(days=20)
    asked = sessions([(before, 200, 0.1), (MONDAY, 80, 0.6)], np.random.default_rng(3))
    alerts = find_alerts(asked, NOW)
    assert {(alert.rate, alert.rose) for alert in alerts} == {
        (WatchedRate.PASSED, False),
        (WatchedRate.ANSWERED, False),
        (WatchedRate.REFUSED_DESPITE_EVIDENCE, True),
    }
    wrong = next(alert for alert in alerts if alert.rose)
    assert wrong.is_worse
    assert wrong.id == "2026-11-16:refused_despite_evidence:up"
    assert 5 < wrong.after < wrong.questions == 80
    assert "refused despite evidence rose from" in wrong.sentence
    assert find_alerts(asked, NOW, weeks=3) == alerts


def test_unchanged_rates_raise_hardly_any_alert() -> None:
    rng = np.random.default_rng(4)
    before = MONDAY - timedelta(days=20)
    weeks = 60
    raised = sum(bool(find_alerts(sessions([(before, 60, 0.3), (MONDAY, 60, 0.3)], rng), NOW)) for _ in range(weeks))
    assert raised <= max(2, 3 * ALPHA * weeks)


def test_one_question_asked_a_hundred_times_and_too_little_history_are_no_change() -> None:
    rng = np.random.default_rng(5)
    before = sessions([(MONDAY - timedelta(days=20), 100, 0.05)], rng)
    same = [one._replace(question="the same") for one in sessions([(MONDAY, 100, 1.0)], rng)]
    assert find_alerts([*before, *same], NOW) == []
    assert find_alerts(sessions([(MONDAY - timedelta(days=20), 19, 0.0), (MONDAY, 100, 1.0)], rng), NOW) == []


def test_sessions_reach_back_as_far_as_is_compared() -> None:
    assert first_needed(NOW) == MONDAY - timedelta(weeks=4)
    assert first_needed(NOW, weeks=3) == MONDAY - timedelta(weeks=6)
