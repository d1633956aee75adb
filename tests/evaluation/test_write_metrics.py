"""Write-path metrics in a run, worked by hand."""

from __future__ import annotations

import pytest
from tests.systems.sample import right

from assay.errors import BadValue
from assay.evaluation.results import RunResult, load_run
from assay.evaluation.run_metrics import default_metrics
from assay.evaluation.running.runner import Running, run
from assay.records.datasets import Case, Dataset, Document
from assay.records.evaluations import CaseStatus, Retrieved
from assay.records.saving import SaveDecision, SaveTask, Written
from assay.systems.protocol import System
from assay.systems.python_function import PythonFunction

STORE, MERGE, SUPERSEDE, REJECT = SaveDecision


def task(*expected: SaveDecision, contradicts: bool = False, facts: tuple[str, ...] = ()) -> SaveTask:
    return SaveTask(title="t", body="new", after="there", expected=expected, contradicts=contradicts, facts=facts)


TASKS = {
    "update": task(SUPERSEDE, contradicts=True),
    "lost": task(SUPERSEDE, contradicts=True),
    "same": task(MERGE, REJECT, facts=("10", "20")),
    "other": task(STORE),
    "away": task(STORE),
}
DONE = {
    "update": Written(decided=SUPERSEDE, old_live=False, new_live=True),
    "lost": Written(decided=STORE, old_live=True, new_live=True),
    "same": Written(decided=MERGE, old_live=True, new_live=True, kept="limit 10"),
    "other": Written(decided=STORE, old_live=True, new_live=True),
    "away": Written(decided=REJECT, old_live=True, new_live=False),
}
SERVED = {"lost": ("mine", "there")}
SAVES = Dataset(
    name="saves",
    documents=(Document(id="there", text="old"),),
    cases=tuple(Case(id=name, query=name, category=name, save=one) for name, one in TASKS.items()),
)


class Saving(System):
    """Does what was written down."""

    name = "saving"

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        raise AssertionError(f"{case.id} {query} {k}: a save is not asked")

    def save(self, case: Case) -> Retrieved:
        return Retrieved(ids=SERVED.get(case.id, ("mine",)), saved=DONE[case.id])


@pytest.fixture(scope="module")
def result() -> RunResult:
    return run(SAVES, Saving())


def test_decisions_are_counted_as_a_confusion_matrix_would(result: RunResult) -> None:
    assert result.value("save_accuracy") == 3 / 5
    assert result.value("save_precision(decision=store)") == 1 / 2
    assert result.value("save_recall(decision=store)") == 1 / 2
    assert result.value("save_recall(decision=supersede)") == 1 / 2
    assert result.value("save_precision(decision=merge)") == 1.0
    assert result.value("false_rejection_rate") == 1 / 5


def test_a_contradiction_that_lives_on_is_seen_and_so_is_the_stale_note(result: RunResult) -> None:
    assert result.value("contradiction_coexistence") == 1 / 2
    assert result.value("stale_served_rate(per=search)@5") == 1 / 2
    assert result.per_case("contradiction_coexistence")["same"].reason == "the two notes do not contradict each other"


def test_what_a_merge_lost_is_a_share_of_its_facts(result: RunResult) -> None:
    assert result.value("information_lost") == 1 / 2
    assert result.per_case("information_lost")["other"].reason == "nothing was merged"


def test_a_run_of_saves_is_measured_by_them_alone_and_notes_nothing_foreign(result: RunResult) -> None:
    assert {one.entry.family for one in default_metrics(SAVES)} == {"write path"}
    assert not [note for note in result.notes if "the dataset does not have" in note]


def test_saves_survive_being_written_down(tmp_path_factory: pytest.TempPathFactory) -> None:
    runs = tmp_path_factory.mktemp("runs")
    made = run(SAVES, Saving(), running=Running(runs=runs))
    assert made.folder is not None
    assert load_run(made.folder).cases == made.cases


def test_a_system_that_only_searches_fails_every_save_and_says_why() -> None:
    searching = PythonFunction(right, "ten lines")
    failed = run(SAVES, searching)
    assert failed.counts[CaseStatus.ERROR] == len(TASKS)
    assert "cannot save" in failed.cases[0].error


def test_a_save_that_expects_nothing_is_refused() -> None:
    with pytest.raises(BadValue, match="expects nothing"):
        task()
