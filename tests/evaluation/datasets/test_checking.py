"""Every check finds what it is for, and a good dataset passes them all."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.datasets.small import anchored, graded, with_first

from assay.evaluation.datasets import Severity, check_dataset, check_path
from assay.evaluation.datasets.bundled import REQUIREMENTS, missing_kinds
from assay.evaluation.datasets.checks import Finding
from assay.formats.golden import write_golden
from assay.records import Edge, EdgeKind
from assay.records.answers import EquivalenceClasses, GoldAnchors, GoldSupport
from assay.records.datasets import Dataset, Document, Grade, SessionContext


def codes(findings: list[Finding]) -> dict[str, str]:
    return {one.code: one.severity.value for one in findings}


def grade(document_id: str, value: int) -> Grade:
    return Grade(document_id=document_id, grade=value)


def test_a_good_dataset_passes_every_check() -> None:
    assert check_dataset(graded()) == []


def test_grade_0_declared_as_relevant_is_an_error_here_as_in_a_run() -> None:
    found = check_dataset(replace(graded(), relevance_level=0))
    assert codes(found)["relevance-level"] == "error"


def test_errors_come_first() -> None:
    spoilt = with_first(graded(cases=5), grades=(grade("nobody", 3),))
    found = [one.severity for one in check_dataset(spoilt)]
    assert found == sorted(found, key=list(Severity).index)
    assert len(set(found)) > 1


@pytest.mark.parametrize(
    ("changes", "code", "severity", "named"),
    [
        ({"grades": (grade("nobody", 2),)}, "dangling-id", "error", "'nobody' relevant, which no document is"),
        ({"grades": (grade("d1", 3), grade("nobody", 1))}, "dangling-id", "warning", "judges 'nobody'"),
        ({"grades": (grade("d1", 4),)}, "grade-range", "error", "grades 'd1' 4, off the scale from 0 to 3"),
        ({"grades": (grade("d1", 3), grade("d2", -1))}, "grade-range", "error", "grades 'd2' -1"),
        ({"grades": ()}, "unjudged", "warning", "has no judgments"),
        ({"grades": (grade("d1", 1),)}, "nothing-relevant", "warning", "none of grade 2 or more"),
        ({"declared_relevant": ("d0", "d9")}, "relevant-differs", "warning", "does not list 'd1' and lists 'd9'"),
        ({"declared_relevant": ("d0", "d9")}, "relevant-differs", "warning", "the labels count"),
        ({"declared_relevant": ("d0", "d1")}, "labels-missing", "note", "they count as grade 2"),
        ({"top_chunk": "d0"}, "top-chunk", "error", "not spelt document:chunk:position"),
        ({"top_chunk": "nobody:chunk:0"}, "top-chunk", "error", "names 'nobody'"),
        ({"top_chunk": "d1:chunk:0"}, "top-chunk", "warning", "others have a higher grade"),
        ({"current_value": "said nowhere"}, "fact-value", "error", "'said nowhere' is stated by no document"),
        ({"current_value": "subject number 7"}, "fact-value", "warning", "stated by 'd7', which is not relevant"),
        (
            {"current_value": "subject number 0", "outdated_values": ("said nowhere",)},
            "fact-value",
            "warning",
            "it can never be served",
        ),
        ({"causal_chain": ("d0", "lost")}, "dangling-id", "error", "names 'lost'"),
        ({"session": SessionContext(session_id="s", working_memory=("lost",))}, "dangling-id", "error", "'lost'"),
        ({"equivalence": EquivalenceClasses(classes=(frozenset({"d1", "lost"}),))}, "dangling-id", "error", "'lost'"),
        ({"query": "What do WE know  of thing 1?"}, "same-query", "warning", "asks what case 'q0' asks"),
        (
            {
                "answerable": False,
                "anchors": GoldAnchors(supports=(GoldSupport(rel_path="d1"),), answerable=False),
            },
            "unanswerable",
            "error",
            "is unanswerable and has gold supports",
        ),
    ],
)
def test_a_spoilt_case_is_found(changes: dict[str, Any], code: str, severity: str, named: str) -> None:
    found = [one for one in check_dataset(with_first(graded(), **changes)) if one.code == code]
    assert [one.severity.value for one in found] == [severity]
    assert named in found[0].message
    assert found[0].where.startswith("case q")
    assert found[0].remedy


def test_an_unanswerable_case_needs_no_judgment() -> None:
    assert check_dataset(with_first(graded(), grades=(), answerable=False)) == []


def test_sizes_are_told() -> None:
    assert codes(check_dataset(replace(graded(), cases=()))) == {"empty": "error"}
    assert codes(check_dataset(graded(cases=19))) == {"few-cases": "warning"}
    assert codes(check_dataset(graded(documents=49))) == {"few-documents": "warning"}
    assert codes(check_dataset(replace(graded(), documents=()))) == {"no-documents": "note"}
    unjudged = replace(graded(), cases=tuple(replace(one, grades=()) for one in graded().cases))
    assert codes(check_dataset(unjudged))["nothing-judged"] == "error"


def test_the_same_text_twice_and_no_text_are_told() -> None:
    base = graded()
    doubled = replace(base, documents=(*base.documents, Document(id="x", text="Words  about subject number 3.")))
    assert codes(check_dataset(doubled)) == {"same-text": "warning"}
    empty = replace(base, documents=(*base.documents, Document(id="x", text=" "), Document(id="y", text="")))
    assert [one.code for one in check_dataset(empty)] == ["no-text", "no-text"]


def test_an_edge_to_nowhere_is_found() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    edge = Edge(source_id="d0", target_id="lost", kind=EdgeKind.CAUSED, created_at=moment)
    assert codes(check_dataset(replace(graded(), edges=(edge,)))) == {"dangling-id": "error"}


def test_an_unresolved_anchor_names_its_proposal() -> None:
    found = check_dataset(anchored(GoldSupport(rel_path="lab.md", heading_path="Lab rules > Visitors")))
    (one,) = [one for one in found if one.code == "unresolved-anchor"]
    assert one.severity is Severity.ERROR
    assert one.where == "case c1, support 0"
    assert "rules/lab.md > Lab rules > Visitors (the same heading path)" in one.remedy
    assert "--fix" in one.remedy


def test_a_bundled_dataset_keeps_its_promises() -> None:
    found = list(missing_kinds(graded(), REQUIREMENTS["hotel"]))
    messages = [one.message for one in found]
    assert "has 50 documents, not 60" in messages
    assert "has 24 cases, not 60" in messages
    assert "has 0 of the category comparative, not 12" in messages
    assert "has 0 of the category unanswerable, not 40" in messages
    assert "has 0 of the format JSON, not 1" in messages
    assert not any("factual" in one for one in messages), "kinds are compared whatever their case"
    assert {one.severity for one in found} == {Severity.ERROR}


def test_a_file_is_checked_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    write_golden(path, graded())
    assert check_path(str(path)).usable
    broken = json.loads(path.read_text())
    broken["entities"][3].pop("entity_id")
    broken["entities"][5]["titel"] = "x"
    broken["queries"][0]["expected_results"]["relevance_labels"]["d0"] = "high"
    path.write_text(json.dumps(broken, indent=1), encoding="utf-8")
    found = check_path(str(path))
    assert not found.usable
    schema = [one for one in found.findings if one.code == "schema"]
    assert len(schema) == 3
    assert all("small.json, line " in one.where for one in schema)
    assert found.dataset is not None
    assert len(found.dataset.documents) == 48


def test_a_file_that_cannot_be_read_at_all_is_one_finding(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"entities": [', encoding="utf-8")
    found = check_path(str(tmp_path / "bad.json"))
    assert (found.dataset, found.usable, [one.code for one in found.findings]) == (None, False, ["schema"])


def test_a_dataset_of_no_documents_can_be_checked_with_its_grades() -> None:
    case = graded().cases[0]
    found = check_dataset(Dataset(name="x", documents=(), cases=(case,)))
    assert codes(found) == {"few-cases": "warning", "no-documents": "note"}
