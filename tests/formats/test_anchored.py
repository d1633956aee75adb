"""Anchored JSONL and its vault: cases and notes come back; what cannot be read is refused by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.made import anchored_cases, ids, texts

from assay.errors import BadValue, InputError, MalformedFile
from assay.formats.anchored import list_notes, read_anchored, write_anchored
from assay.records.answers import ConflictRule, GoldSupport
from assay.records.datasets import Case, Dataset, Document
from assay.records.memory import Format

LINE = {
    "id": "c1",
    "question": "When may a visitor use the lab?",
    "answerable": True,
    "gold_supports": [
        {"rel_path": "rules/lab.md", "heading_path": "Lab >  Visitors", "snippets": ["with a member"]},
        {"rel_path": "rules/old.md", "dated": "2024-02-01"},
    ],
    "required_support_groups": [[0], [1]],
    "recency_conflict_rule": "cite_newer",
    "category": "multi_hop",
    "difficulty": "hard",
    "tags": ["lab"],
    "vault": "work",
    "reference_answer": "With a member beside them.",
}


def written(tmp_path: Path, *lines: Any) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    return path


@st.composite
def any_dataset(draw: Any) -> Dataset:
    names = draw(st.lists(ids, max_size=4, unique=True))
    paths = draw(st.lists(st.from_regex(r"([a-z]{1,5}/)?[a-z]{1,8}\.(md|txt|json)", fullmatch=True), unique=True))
    notes = {one: draw(texts) for one in paths if not any(f"{one}/" in other for other in paths)}
    kinds = {"md": Format.MARKDOWN, "txt": Format.TEXT, "json": Format.JSON}
    documents = tuple(
        Document(
            id=path,
            text=text if path.endswith(("txt", "json")) else f"# Title of {path}\n{text}",
            title=path.rsplit("/", 1)[-1].split(".")[0] if path.endswith(("txt", "json")) else f"Title of {path}",
            format=kinds[path.split(".")[1]],
            rel_path=path,
            folder=path.rpartition("/")[0],
        )
        for path, text in sorted(notes.items())
    )
    cases = tuple(draw(anchored_cases(one)) for one in names)
    return Dataset(name="any", documents=documents, cases=cases, ranked_unit="anchor")


@settings(max_examples=50)
@given(dataset=any_dataset())
def test_any_anchored_dataset_comes_back(tmp_path_factory: pytest.TempPathFactory, dataset: Dataset) -> None:
    folder = tmp_path_factory.mktemp("anchored") / "any"
    write_anchored(folder, dataset)
    found = read_anchored(folder)
    assert found.cases == dataset.cases
    assert sorted(found.documents, key=lambda one: one.id) == sorted(dataset.documents, key=lambda one: one.id)
    assert found.content_hash == dataset.content_hash


def test_a_line_is_read_with_all_its_fields(tmp_path: Path) -> None:
    case = read_anchored(written(tmp_path, LINE)).cases[0]
    assert case.anchors is not None
    assert case.anchors.supports[0] == GoldSupport(
        rel_path="rules/lab.md", heading_path="Lab > Visitors", snippets=("with a member",)
    )
    assert case.anchors.supports[1].dated is not None
    assert case.anchors.required_support_groups == ((0,), (1,))
    assert case.anchors.recency_conflict_rule is ConflictRule.CITE_NEWER
    assert (case.category, case.difficulty, case.tags, case.vault) == ("multi_hop", "hard", ("lab",), "work")
    assert case.reference_answer == "With a member beside them."


def test_a_case_without_an_id_is_known_by_its_words(tmp_path: Path) -> None:
    first = read_anchored(written(tmp_path, {"question": "a?"}, {"question": "b?"})).cases
    second = read_anchored(written(tmp_path, {"question": "b?"}, {"question": "a?"})).cases
    assert {one.query: one.id for one in first} == {one.query: one.id for one in second}
    with pytest.raises(MalformedFile, match=r"line 2: case 'c-[0-9a-f]+' was given on line 1"):
        read_anchored(written(tmp_path, {"question": "a?"}, {"question": "a?"}))


@pytest.mark.parametrize("folder", ["vault", "cases"])
def test_notes_are_found_beside_the_file(tmp_path: Path, folder: str) -> None:
    notes = tmp_path / folder
    (notes / "sub" / ".hidden").mkdir(parents=True)
    (notes / "sub" / "b.MD").write_text("---\ntitle: x\n---\n\n## The *lab* ##\n\ntext", encoding="utf-8")
    (notes / "a.txt").write_text("plain", encoding="utf-8")
    (notes / "sub" / ".hidden" / "c.md").write_text("no", encoding="utf-8")
    (notes / "logo.png").write_bytes(b"\x89")
    found = read_anchored(written(tmp_path, LINE)).documents
    assert [(one.id, one.title, one.folder) for one in found] == [("a.txt", "a", ""), ("sub/b.MD", "The *lab*", "sub")]


def test_another_vault_can_be_named_and_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.md").write_text("# A", encoding="utf-8")
    path = written(tmp_path, LINE)
    assert [one.id for one in read_anchored(path, vault=tmp_path / "elsewhere").documents] == ["a.md"]
    with pytest.raises(InputError, match="is not a folder of notes"):
        read_anchored(path, vault=tmp_path / "nowhere")


def test_a_note_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_bytes(b"caf\xe9")
    with pytest.raises(MalformedFile, match=r"a\.md is not UTF-8 at byte 3"):
        read_anchored(written(tmp_path, LINE))


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ({"id": "c2"}, "the case has no 'question'"),
        ({**LINE, "id": "c2", "answerable": "yes"}, "answerable 'yes' is not true or false"),
        ({**LINE, "id": "c2", "gold_supports": {}}, "gold_supports is an object"),
        ({**LINE, "id": "c2", "gold_supports": [{"heading_path": "A"}]}, "a gold support has no 'rel_path'"),
        ({**LINE, "id": "c2", "required_support_groups": [[2]]}, "has the group [2] over 2 supports"),
        ({**LINE, "id": "c2", "required_support_groups": [0]}, "required_support_groups is a number"),
        ({**LINE, "id": "c2", "recency_conflict_rule": "newest"}, "recency_conflict_rule 'newest' is not known"),
        ({**LINE, "id": "c2", "questions": "?"}, "has the key 'questions'"),
        ([], "the case is a list"),
        (LINE, "case 'c1' was given on line 1"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: Any, named: str) -> None:
    with pytest.raises(MalformedFile) as told:
        read_anchored(written(tmp_path, LINE, line))
    assert "cases.jsonl, line 2: " in told.value.message
    assert named in told.value.message


def test_what_has_no_anchors_or_no_path_cannot_be_written(tmp_path: Path) -> None:
    graded = Dataset(name="d", documents=(), cases=(Case(id="q", query="?"),))
    with pytest.raises(BadValue, match="case 'q' has grades and no anchors"):
        write_anchored(tmp_path, graded)
    for path in ("", "../out.md", "/out.md"):
        loose = Dataset(name="d", documents=(Document(id="x", text="", rel_path=path),), cases=())
        with pytest.raises(BadValue, match="document 'x' has the path"):
            write_anchored(tmp_path, loose)


def test_a_link_out_of_a_vault_is_not_a_note_of_it(tmp_path: Path) -> None:
    vault = tmp_path / "notes"
    vault.mkdir()
    (vault / "a.md").write_text("# A\n", encoding="utf-8")
    (tmp_path / "private.md").write_text("# Private\n", encoding="utf-8")
    (vault / "b.md").symlink_to(tmp_path / "private.md")
    (vault / "c.md").symlink_to(vault / "a.md")
    assert [path.name for path in list_notes(vault).taken] == ["a.md", "c.md"]
