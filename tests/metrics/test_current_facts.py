"""Current values among the first results, and outdated ones that are served without a mark or on top."""

from __future__ import annotations

import pytest
from tests.metrics.examples import check_entries, mean, missing

from assay.evaluation.run_metrics import compute_view
from assay.metrics import current_facts
from assay.metrics.current_facts import StatedResult, current_fact, stale_served, states_value
from assay.metrics.inputs import CaseView
from assay.metrics.spec import MetricSpec
from assay.records.datasets import Case, Dataset, Document
from assay.records.evaluations import Outcome, OutcomeKind, Retrieved

NOW = StatedResult(text="The upload limit is **500 MB**.")
OLD = StatedResult(text="The upload limit is 100 MB.")
MARKED = StatedResult(text="The upload limit is 100 MB. Files are kept.", marked=("The upload limit is 100 MB.",))
HISTORY = StatedResult(text="The upload limit went from 100 MB to 500 MB.")
OTHER = StatedResult(text="Files are kept for 30 days.")


def served(*results: StatedResult, k: int = 5) -> Outcome:
    return stale_served(results, "500 MB", ["100 MB"], k)


def test_every_entry_has_its_worked_example() -> None:
    tops = [NOW, NOW, HISTORY, OLD]
    check_entries(
        current_facts.ENTRIES,
        "agent memory",
        {
            "current_fact": mean([current_fact([top, NOW], "500 MB", 1) for top in tops]),
            "stale_served": mean([served(NOW, OTHER), served(NOW, MARKED), served(MARKED, NOW), served(NOW, OLD)]),
        },
    )


def test_a_current_value_counts_within_the_cutoff_only() -> None:
    assert current_fact([OLD, NOW], "500 MB", 1) == Outcome.scored(0)
    assert current_fact([OLD, NOW], "500 MB", 2) == Outcome.scored(1)
    assert current_fact([], "500 MB", 5) == Outcome.scored(0)


@pytest.mark.parametrize(
    ("results", "stale"),
    [
        ((NOW, OTHER), 0),
        ((HISTORY, OTHER), 0),
        ((NOW, MARKED), 0),
        ((NOW, OLD), 1),
        ((MARKED, NOW), 1),
        ((MARKED,), 1),
        ((OTHER,), 0),
        ((), 0),
    ],
)
def test_an_outdated_value_must_be_marked_and_stand_below_the_current_one(
    results: tuple[StatedResult, ...], stale: float
) -> None:
    assert served(*results) == Outcome.scored(stale)


def test_an_outdated_value_beyond_the_cutoff_is_not_served() -> None:
    assert served(NOW, OLD, k=1) == Outcome.scored(0)


def test_a_mark_on_another_statement_is_no_mark_on_the_value() -> None:
    elsewhere = StatedResult(text="The upload limit is 100 MB. Files are kept.", marked=("Files are kept.",))
    assert served(NOW, elsewhere) == Outcome.scored(1)


@pytest.mark.parametrize("text", ["limit 100", "limit 10.5", "unlimit 10"])
def test_a_value_is_whole_words_and_numbers(text: str) -> None:
    assert not states_value(text, "limit 10")
    assert states_value("The LIMIT\n`10` holds.", "limit 10")


def view(
    metric: str, case: Case, *, documents: bool = True, outdated: dict[str, tuple[str, ...]] | None = None
) -> CaseView:
    texts = {"new": "The limit is 500 MB.", "old": "The limit is 100 MB."} if documents else {}
    dataset = Dataset(
        name="limits", documents=tuple(Document(id=name, text=text) for name, text in texts.items()), cases=(case,)
    )
    given = Retrieved(ids=("new", "old", "unknown"), outdated=outdated or {})
    return CaseView(MetricSpec.parse(metric), case, given, dataset)


def test_a_case_is_read_with_the_marks_of_the_system() -> None:
    case = Case(id="c", query="upload limit", current_value="500 MB", outdated_values=("100 MB",))
    assert compute_view(view("current_fact@1", case)) == Outcome.scored(1)
    assert compute_view(view("stale_served@1", case)) == Outcome.scored(0)
    assert compute_view(view("stale_served@5", case)) == Outcome.scored(1)
    assert compute_view(view("stale_served@5", case, outdated={"old": ("The limit is 100 MB.",)})) == Outcome.scored(0)


@pytest.mark.parametrize("metric", ["current_fact@1", "stale_served@5"])
def test_what_cannot_be_known_is_neither_good_nor_bad(metric: str) -> None:
    unlabelled = Case(id="c", query="upload limit")
    assert missing(compute_view(view(metric, unlabelled))) is OutcomeKind.NOT_APPLICABLE
    labelled = Case(id="c", query="upload limit", current_value="500 MB", outdated_values=("100 MB",))
    assert missing(compute_view(view(metric, labelled, documents=False))) is OutcomeKind.SKIPPED


def test_without_an_outdated_value_nothing_can_be_stale() -> None:
    case = Case(id="c", query="upload limit", current_value="500 MB")
    assert missing(compute_view(view("stale_served@5", case))) is OutcomeKind.NOT_APPLICABLE
