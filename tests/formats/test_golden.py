"""Golden JSON: everything a dataset holds comes back; what cannot be read is refused by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.formats.made import datasets

from assay.errors import MalformedFile
from assay.formats.golden import read_golden, write_golden, write_golden_files, write_golden_lines
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.memory import Format

PRINTED = """{
  "version": "1.0.0",
  "created_at": "2026-01-04",
  "description": "Golden dataset for RAG evaluation (hotel domain)",
  "entities": [
    {
      "entity_id": "entity-refund-policy",
      "entity_type": "KNOWLEDGE_ARTIFACT",
      "title": "Refund and Cancellation Policy",
      "content": "Our refund policy allows full refunds up to 48 hours before check-in.",
      "metadata": {
        "format": "MARKDOWN",
        "category": "POLICY"
      },
      "tags": ["refund", "cancellation", "policy"]
    },
    {
      "entity_id": "entity-amenities-list",
      "entity_type": "KNOWLEDGE_ARTIFACT",
      "title": "Hotel Amenities",
      "content": "We offer complimentary WiFi, 24/7 room service, gym access, heated pool.",
      "metadata": {
        "format": "MARKDOWN",
        "category": "AMENITIES"
      },
      "tags": ["amenities", "services", "facilities"]
    }
  ],
  "queries": [
    {
      "query_id": "q001",
      "query_text": "What is the refund policy if I cancel my reservation?",
      "expected_results": {
        "relevant_entities": ["entity-refund-policy"],
        "top_1_chunk": "entity-refund-policy:chunk:0",
        "relevance_labels": {
          "entity-refund-policy": 3,
          "entity-terms-of-service": 1
        }
      },
      "category": "POLICY_QUERY"
    },
    {
      "query_id": "q002",
      "query_text": "Do you have a swimming pool?",
      "expected_results": {
        "relevant_entities": ["entity-amenities-list"],
        "top_1_chunk": "entity-amenities-list:chunk:0",
        "relevance_labels": {
          "entity-amenities-list": 3
        }
      },
      "category": "AMENITY_QUERY"
    }
  ]
}
"""
"""The shape that golden datasets of this kind have elsewhere, without scale, floors or a name."""


def written(tmp_path: Path, **changes: Any) -> Path:
    """A small golden file with some parts changed."""
    found = {**json.loads(PRINTED), **changes}
    path = tmp_path / "small.json"
    path.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return path


def with_query(tmp_path: Path, **changes: Any) -> Path:
    one = {**json.loads(PRINTED)["queries"][0], **changes}
    return written(tmp_path, queries=[{key: value for key, value in one.items() if value is not None}])


def test_a_file_without_scale_and_floors_is_read_as_it_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "golden-dataset.json"
    path.write_text(PRINTED, encoding="utf-8")
    found = read_golden(path)
    assert (found.name, found.version, found.created_at) == ("golden-dataset", "1.0.0", "2026-01-04")
    assert (found.lowest_grade, found.highest_grade, found.relevance_level) == (0, 3, 2)
    assert [one.id for one in found.documents] == ["entity-refund-policy", "entity-amenities-list"]
    assert found.documents[0].metadata == {"format": "MARKDOWN", "category": "POLICY"}
    first = found.cases[0]
    assert first.labels == {"entity-refund-policy": 3, "entity-terms-of-service": 1}
    assert (first.top_chunk, first.category) == ("entity-refund-policy:chunk:0", "POLICY_QUERY")
    assert first.declared_relevant is None


@settings(max_examples=60)
@given(dataset=datasets())
def test_any_dataset_comes_back_from_every_shape(tmp_path_factory: pytest.TempPathFactory, dataset: Dataset) -> None:
    folder = tmp_path_factory.mktemp("golden")
    write_golden(folder / "one.json", dataset)
    write_golden(folder / "packed.json.gz", dataset)
    write_golden_files(folder / "files", dataset)
    write_golden_lines(folder / "lines", dataset)
    for place in ("one.json", "packed.json.gz", "files", "lines"):
        found = read_golden(folder / place)
        assert found == dataset, place
        assert found.content_hash == dataset.content_hash


def test_scale_floors_and_ranked_unit_are_read(tmp_path: Path) -> None:
    scale = {"lowest": 0, "highest": 2, "relevant_from": 1}
    floors = {"recall@5": 0.8, "latency p95": 500}
    found = read_golden(written(tmp_path, scale=scale, floors=floors, ranked_unit="chunk"))
    assert (found.highest_grade, found.relevance_level, found.ranked_unit) == (2, 1, "chunk")
    assert found.floors == {"recall@5": 0.8, "latency p95": 500.0}


def test_a_text_may_stand_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "entities").mkdir()
    (tmp_path / "entities" / "a.md").write_bytes(b"# Pool\r\n\r\nHeated.")
    path = written(tmp_path, entities=[{"entity_id": "a", "content_file": "entities/a.md"}])
    assert read_golden(path).documents[0].text == "# Pool\r\n\r\nHeated."


def test_ids_that_are_no_file_names_get_files_all_the_same(tmp_path: Path) -> None:
    documents = tuple(Document(id=one, text=one) for one in ("a/b", "a_b", "A_B", "../c", "d" * 200, "ä"))
    dataset = Dataset(name="odd", documents=documents, cases=())
    write_golden_files(tmp_path / "odd", dataset)
    assert read_golden(tmp_path / "odd").documents == documents
    names = [one.name.lower() for one in (tmp_path / "odd" / "entities").iterdir()]
    assert len(names) == len(set(names)) == 6


def test_labels_win_and_what_was_listed_is_kept(tmp_path: Path) -> None:
    expected = {"relevant_entities": ["entity-amenities-list"], "relevance_labels": {"entity-refund-policy": 3}}
    case = read_golden(with_query(tmp_path, expected_results=expected)).cases[0]
    assert case.labels == {"entity-refund-policy": 3}
    assert case.declared_relevant == ("entity-amenities-list",)
    dataset = Dataset(name="d", documents=(), cases=(case,))
    write_golden(tmp_path / "again.json", dataset)
    assert read_golden(tmp_path / "again.json", name="d").cases == (case,)


def test_listed_entities_without_labels_have_the_lowest_relevant_grade(tmp_path: Path) -> None:
    case = read_golden(with_query(tmp_path, expected_results={"relevant_entities": ["entity-refund-policy"]})).cases[0]
    assert case.grades == (Grade(document_id="entity-refund-policy", grade=2),)
    assert case.declared_relevant == ("entity-refund-policy",)


def test_the_format_of_an_entity_is_its_own_or_its_metadatas(tmp_path: Path) -> None:
    entities = [
        {"entity_id": "a", "content": "", "metadata": {"format": "json"}},
        {"entity_id": "b", "content": "", "format": "TEXT", "metadata": {"format": "PDF"}},
    ]
    found = read_golden(written(tmp_path, entities=entities)).documents
    assert [one.format for one in found] == [Format.JSON, Format.TEXT]


@pytest.mark.parametrize(
    ("entity", "named"),
    [
        ({"content": "x"}, "the entity has no 'entity_id'"),
        ({"entity_id": "a"}, "neither of 'content' and 'content_file'"),
        ({"entity_id": "a", "content": "x", "content_file": "y"}, "both of 'content' and 'content_file'"),
        ({"entity_id": "a", "content_file": "../../secret"}, "is not a file beside it"),
        ({"entity_id": "a", "content_file": "/etc/passwd"}, "is not a file beside it"),
        ({"entity_id": "a", "content_file": "nowhere.md"}, "cannot be read"),
        ({"entity_id": "a", "content": 5}, "text 5 is not text"),
        ({"entity_id": "", "content": "x"}, "is empty"),
        ({"entity_id": "a", "content": "x", "titel": "y"}, "has the key 'titel', which is not known"),
        ({"entity_id": "a", "content": "x", "tags": "one"}, "tags is a text"),
        ({"entity_id": "a", "content": "x", "tags": [1]}, "tags 1 is not text"),
        ({"entity_id": "a", "content": "x", "metadata": []}, "metadata is a list"),
        ({"entity_id": "a", "content": "x", "metadata": {"format": "PDF"}}, "metadata.format 'PDF' is not known"),
        ({"entity_id": "a", "content": "x", "dated": "soon"}, "dated 'soon' is not a date"),
        ({"entity_id": "a", "content": "\ud800"}, "lone surrogate"),
        ("a", "the entity is a text"),
        (None, "the entity is null"),
    ],
)
def test_a_bad_entity_is_named_by_its_line(tmp_path: Path, entity: Any, named: str) -> None:
    path = written(tmp_path, entities=[{"entity_id": "fine", "content": ""}, entity])
    line = 1 + path.read_text().split('"content": ""')[0].count("\n") + 2
    with pytest.raises(MalformedFile) as told:
        read_golden(path)
    assert named in told.value.message
    assert f"small.json, line {line}: " in told.value.message
    assert told.value.remedy


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"query_id": None}, "the query has no 'query_id'"),
        ({"query_text": None}, "the query has no 'query_text'"),
        ({"query_text": " "}, "query ' ' is empty"),
        ({"expected_results": None}, "the query has no 'expected_results'"),
        ({"expected_results": []}, "expected_results is a list"),
        ({"expected_results": {"relevence_labels": {}}}, "has the key 'relevence_labels', which is not known"),
        ({"expected_results": {"relevance_labels": {"a": 1.5}}}, "grade 1.5 is not a whole number"),
        ({"expected_results": {"relevance_labels": {"a": True}}}, "grade True is not a whole number"),
        ({"expected_results": {"relevance_labels": {"a": 1}, "judgments": []}}, "both 'relevance_labels' and 'judgm"),
        ({"expected_results": {"judgments": [{"grade": 1}]}}, "a judgment has no 'entity_id'"),
        ({"difficulty": 3}, "difficulty 3 is not text"),
        ({"intent": "find_bugs"}, "intent 'find_bugs' is not known"),
        ({"session": {}}, "session has no 'session_id'"),
        ({"gold_supports": [{}]}, "a gold support has no 'rel_path'"),
        ({"gold_supports": [], "required_support_groups": [[0]]}, "required_support_groups has the group [0]"),
    ],
)
def test_a_bad_query_is_named(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(MalformedFile) as told:
        read_golden(with_query(tmp_path, **changes))
    assert named in told.value.message
    assert "small.json, line " in told.value.message


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"entities": {}}, "'entities' is not a list"),
        ({"queries_file": "queries.jsonl"}, "has both of 'queries' and 'queries_file'"),
        ({"flors": {}}, "has the key 'flors', which is not known"),
        ({"scale": {"lowest": 0, "top": 3}}, "scale has the key 'top'"),
        ({"scale": {"relevant_from": 7}}, "reads grade 7 as relevant on a scale from 0 to 3"),
        ({"floors": {"mrr": "high"}}, "floors.mrr 'high' is not a number"),
        ({"version": 1}, "version 1 is not text"),
        ({"edges": [{"source_id": "a"}]}, "an edge has no 'target_id'"),
    ],
)
def test_a_bad_header_is_named(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(MalformedFile) as told:
        read_golden(written(tmp_path, **changes))
    assert named in told.value.message
    assert "small.json, line " in told.value.message


@pytest.mark.parametrize("key", ["entities", "queries"])
def test_a_golden_file_needs_entities_and_queries(tmp_path: Path, key: str) -> None:
    found = json.loads(PRINTED)
    del found[key]
    (tmp_path / "small.json").write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(MalformedFile, match=f"neither of '{key}' and '{key}_file'"):
        read_golden(tmp_path / "small.json")


def test_an_id_given_twice_is_refused_with_both_lines_also_on_one_line(tmp_path: Path) -> None:
    twice = [{"entity_id": "a", "content": "x"}, {"entity_id": "a", "content": "y"}]
    path = written(tmp_path, entities=twice)
    with pytest.raises(MalformedFile, match=r"entity 'a' was given on line \d+"):
        read_golden(path)
    path.write_text(json.dumps({"entities": twice, "queries": []}), encoding="utf-8")
    with pytest.raises(MalformedFile, match="line 1: entity 'a' was given on line 1"):
        read_golden(path)


def test_every_bad_part_can_be_collected_and_the_rest_is_read(tmp_path: Path) -> None:
    entities = [{"entity_id": "a", "content": "x"}, {"entity_id": "b"}, {"entity_id": "a", "content": "z"}]
    problems: list[MalformedFile] = []
    found = read_golden(written(tmp_path, entities=entities, flors={}), refuse=problems.append)
    assert [one.id for one in found.documents] == ["a"]
    assert len(found.cases) == 2
    assert len(problems) == 3


def test_a_golden_file_in_a_folder_is_called_after_the_folder(tmp_path: Path) -> None:
    write_golden_files(tmp_path / "inn", Dataset(name="x", documents=(), cases=(Case(id="q", query="?"),)))
    golden = tmp_path / "inn" / "golden.json"
    found = json.loads(golden.read_text())
    del found["name"]
    golden.write_text(json.dumps(found), encoding="utf-8")
    assert read_golden(tmp_path / "inn").name == "inn"
