"""What a run says of its labels: weak, leaking, backward, and documents that are in the corpus more than once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.evaluation.made import golden, good, run_of
from tests.systems.sample import Given

from assay.evaluation.comparison import compare_two
from assay.evaluation.datasets import check_dataset
from assay.evaluation.datasets import show as overview
from assay.evaluation.measure import MeasureRequest, measure_files
from assay.evaluation.placement import copy_units, find_copies, join_units
from assay.evaluation.readings import reading_of
from assay.evaluation.results import RunResult
from assay.evaluation.running.runner import run
from assay.evaluation.waterfall import waterfall
from assay.formats.trec import write_trec_qrels, write_trec_run
from assay.metrics.spec import parse_specs
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.evidence import JudgmentSource
from assay.records.run_results import Caveat, CaveatKind, caveats_about

CASES = 30


def about_labels(result: RunResult) -> list[str]:
    return [caveat.sentence for caveat in caveats_about(result.caveats, CaveatKind.LABELS)]


def test_labels_from_use_are_called_weak_in_runs_checks_and_overviews() -> None:
    plain = golden(CASES)
    weak = tuple(
        replace(case, grades=tuple(replace(one, source=JudgmentSource.IMPLICIT, confidence=0.5) for one in case.grades))
        for case in plain.cases
    )
    dataset = replace(plain, cases=weak)
    (said,) = about_labels(run_of(dataset, [good(n) for n in range(CASES)]))
    assert said.startswith(
        "90 of 90 grades were not given by hand (90 read or referred to in use): such labels are weak"
    )
    assert [one.code for one in check_dataset(dataset) if one.code == "weak-labels"] == ["weak-labels"]
    assert overview(dataset).label_sources == {"implicit": 90}
    assert not about_labels(run_of(plain, [good(n) for n in range(CASES)]))
    assert not [one for one in check_dataset(plain) if one.code == "weak-labels"]


def test_a_label_by_hand_outweighs_a_weak_one() -> None:
    both = Case(
        id="q",
        query="when",
        grades=(
            Grade(document_id="d0-0", grade=2, source=JudgmentSource.IMPLICIT, confidence=0.5),
            Grade(document_id="d0-0", grade=3),
        ),
    )
    assert not about_labels(run_of(replace(golden(1), cases=(both,)), [good(0)]))


def test_leakage_is_said_beside_the_numbers() -> None:
    plain = golden(CASES)
    asked = "what is the opening time of the swimming pool"
    documents = (replace(plain.documents[0], text=f"Somebody asked {asked} yesterday."), *plain.documents[1:])
    cases = (replace(plain.cases[0], query=asked), *plain.cases[1:])
    result = run_of(replace(plain, documents=documents, cases=cases), [good(n) for n in range(CASES)])
    (said,) = about_labels(result)
    assert said.startswith("Leakage in 1 of 30 cases: the query is copied from a document (1).")


def with_copies(cases: int = CASES) -> Dataset:
    """One relevant document a case, and a copy of each under another id that nobody judged."""
    texts = {f"d{n}": f"The answer to question number {n} is written here at length." for n in range(cases)}
    originals = [Document(id=name, text=text, title=name) for name, text in texts.items()]
    copies = [Document(id=f"copy-{name}", text=f"{text}\n", title=f"again {name}") for name, text in texts.items()]
    return Dataset(
        name="docs",
        documents=(*originals, *copies),
        cases=tuple(
            Case(id=f"q{n:02}", query=f"ask {n}", grades=(Grade(document_id=f"d{n}", grade=3),)) for n in range(cases)
        ),
    )


def test_a_copy_of_a_judged_document_has_its_credit_and_both_count_once() -> None:
    dataset = with_copies()
    lists = {
        "orig": [(f"d{n}", "d0" if n else "d1") for n in range(CASES)],
        "copies": [(f"copy-d{n}", "d0" if n else "d1") for n in range(CASES)],
        "both": [(f"copy-d{n}", f"d{n}") for n in range(CASES)],
    }
    found = {name: run_of(dataset, given, name=name) for name, given in lists.items()}
    assert {name: result.value("recall@5") for name, result in found.items()} == dict.fromkeys(lists, 1.0)
    assert {name: result.value("mrr") for name, result in found.items()} == dict.fromkeys(lists, 1.0)
    compared = compare_two(reading_of(found["orig"]), reading_of(found["copies"]))
    assert {one.comparison.delta for one in compared.metrics.values()} == {0.0}
    (said,) = caveats_about(found["copies"].caveats, CaveatKind.COPIES)
    assert (said.count, said.of) == (CASES, CASES)
    assert "A copy counts as the document itself" in said.sentence


def test_a_copy_that_was_shown_is_the_gold_item_in_the_waterfall() -> None:
    dataset = with_copies(3)
    result = run_of(dataset, [(f"copy-d{n}",) for n in range(3)])
    assert [(fate.item, fate.rank) for fate in waterfall(dataset, result.cases, k=5).fates] == [
        ("d0", 1),
        ("d1", 1),
        ("d2", 1),
    ]


def test_copies_that_were_all_judged_keep_their_judgments() -> None:
    documents = with_copies(1).documents
    both = Case(id="q", query="ask", grades=(Grade(document_id="d0", grade=3), Grade(document_id="copy-d0", grade=0)))
    assert copy_units(both, find_copies(documents)) == {}


def test_short_texts_are_copies_only_under_one_title() -> None:
    short = [Document(id=name, text="See above.", title=title) for name, title in (("a", "X"), ("b", "Y"), ("c", "x"))]
    assert find_copies(short) == {"a": frozenset({"a", "c"}), "c": frozenset({"a", "c"})}


def test_units_that_share_a_member_are_one() -> None:
    assert join_units({"a": "a", "b": "a"}, {"b": "b", "c": "b"}) == {"a": "a", "b": "a", "c": "a"}


def backward(dataset: Dataset) -> Dataset:
    """Grades as places: 1 for the best."""
    turned = tuple(
        replace(case, grades=tuple(replace(one, grade=4 - one.grade) for one in case.grades)) for case in dataset.cases
    )
    return replace(dataset, cases=turned)


def test_a_run_says_that_grades_rise_from_place_to_place() -> None:
    lists = [good(n) for n in range(CASES)]
    (said,) = about_labels(run_of(backward(golden(CASES)), lists))
    assert said.startswith("The grades look backward: in 60 of 60 neighbouring results")
    assert not about_labels(run_of(golden(CASES), lists))


def test_measured_run_files_say_the_same(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("trec")
    dataset = backward(golden(CASES))
    write_trec_qrels(folder / "qrels", {case.id: case.labels for case in dataset.cases})
    lists = {case.id: {name: 9.0 - place for place, name in enumerate(good(n))} for n, case in enumerate(dataset.cases)}
    write_trec_run(folder / "run.trec", lists, "a")
    asked = MeasureRequest(qrels=folder / "qrels", runs=(folder / "run.trec",), specs=parse_specs("ndcg@10,mrr"))
    found: tuple[Caveat, ...] = caveats_about(measure_files(asked).caveats, CaveatKind.LABELS)
    assert any("The grades look backward" in one.sentence for one in found)


def test_a_check_warns_of_negative_and_of_backward_grades() -> None:
    words, places = "opening hours of the pool", {"yes": 1, "so": 2, "no": 3}
    documents = tuple(
        Document(id=f"{name}{n}", text=text)
        for n in range(20)
        for name, text in (("yes", f"The {words} number {n}"), ("so", f"pool {n}"), ("no", f"parking {n}"))
    )
    cases = tuple(
        Case(
            id=f"q{n}",
            query=f"{words} {n}",
            grades=tuple(Grade(document_id=f"{name}{n}", grade=grade) for name, grade in places.items()),
        )
        for n in range(20)
    )
    dataset = Dataset(name="gb", documents=documents, cases=cases)
    found = [one for one in check_dataset(dataset) if one.code == "backward-grades"]
    assert [one.message for one in found] == [
        "in 20 of 20 cases the documents of the lowest grade have more words of the query than those of the highest"
    ]
    turned = replace(dataset, cases=backward(dataset).cases)
    assert not [one for one in check_dataset(turned) if one.code == "backward-grades"]
    below = replace(cases[0], grades=(replace(cases[0].grades[0], grade=-1),))
    negative = replace(turned, cases=(below, *turned.cases[1:]), lowest_grade=-2)
    assert [one.code for one in check_dataset(negative) if one.code == "negative-grade"] == ["negative-grade"]


def test_mostly_highest_grades_are_worth_a_look() -> None:
    cases = tuple(
        Case(
            id=f"q{n}",
            query="ask",
            grades=tuple(Grade(document_id=f"d{n}-{p}", grade=min(3, p + 1)) for p in range(8)),
        )
        for n in range(12)
    )
    dataset = Dataset(name="gb", documents=(), cases=cases)
    assert [one.message for one in check_dataset(dataset) if one.code == "backward-grades"] == [
        "in 12 of 12 cases most judged documents have the highest grade"
    ]


def test_how_copies_count_is_a_part_of_the_instrument() -> None:
    found = run(with_copies(3), Given(lambda case: [f"d{case.id[-1]}"]))
    assert found.manifest.instrument["copies"] == "one unit"
    assert "copies" not in run(golden(3), Given(lambda _: ["d0-0"])).manifest.instrument
