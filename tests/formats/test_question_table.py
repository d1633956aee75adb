"""A table of questions with a folder of documents: names of columns and files as people write them, and refusals."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.errors import InputError, MalformedFile
from assay.evaluation.datasets import Source, check_dataset, export_dataset, load_dataset
from assay.evaluation.datasets.loading import read_path
from assay.formats.question_table import read_question_table
from assay.records.datasets import Dataset

DOCUMENTS = {
    "access.md": "# Badges\n\nA lost badge is replaced at the front desk.\n",
    "leave/holidays.rst": "Holidays\n========\n\nFive days may be carried over.\n",
    "leave/faq.md": "# Questions\n\nAsk the office.\n",
    "faq.md": "# More questions\n\nAsk again.\n",
    "logo.png": "not a text",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in DOCUMENTS.items():
        place = tmp_path / "docs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return tmp_path


def read(folder: Path, text: str, *, encoding: str = "utf-8") -> Dataset:
    (folder / "questions.csv").write_text(text, encoding=encoding)
    return load_dataset(folder / "questions.csv")


def expected(dataset: Dataset) -> dict[str, list[str]]:
    return {case.query: list(case.labels) for case in dataset.cases}


def test_questions_name_the_documents_that_answer_them(folder: Path) -> None:
    found = read(folder, "question,expected_doc\nWhere is my badge?,access.md\nHow many days?,leave/faq.md;holidays\n")
    assert expected(found) == {
        "Where is my badge?": ["access.md"],
        "How many days?": ["leave/faq.md", "leave/holidays.rst"],
    }
    assert (found.name, len(found.documents), found.ranked_unit) == ("questions", 4, "document")
    assert "error" not in {finding.severity.value for finding in check_dataset(found)}


@pytest.mark.parametrize(
    "text",
    [
        "Query;Document;Answer\nWhere is my badge?;docs/access.md;At the desk.\n",
        "answer\tfile\tquery\nAt the desk.\t./access\tWhere is my badge?\n",
        'user_input,Source,ground-truth\n" Where is my badge? ",access.md,At the desk.\n\n',
    ],
)
def test_other_names_and_separators_are_known(folder: Path, text: str) -> None:
    [case] = read(folder, text, encoding="utf-8-sig").cases
    assert (case.query, list(case.labels), case.reference_answer) == (
        "Where is my badge?",
        ["access.md"],
        "At the desk.",
    )


def test_rows_with_the_same_question_are_one_case(folder: Path) -> None:
    found = read(folder, "question,doc,answer\nHow many  days?,holidays,\nhow many days?,leave/faq.md,Five.\n")
    assert expected(found) == {"How many  days?": ["leave/holidays.rst", "leave/faq.md"]}
    assert found.cases[0].reference_answer == "Five."


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("question,doc\nWhy?,acess.md\n", r"line 2: there is no document 'acess\.md'", r"Did you mean 'access\.md'\?"),
        ("question,doc\nWhy?,leave/holiday.md\n", "line 2: there is no document", r"'leave/holidays\.rst'"),
        ("question,doc\nWhy?,logo.png\n", r"line 2: 'logo\.png' is not a document", "Markdown"),
        ("question,doc\nWhy?,\n", "line 2: the row has no expected_doc", "Fill the cell"),
        ("question,doc,answer\nWhy?,access,a\nWhy?,access,b\n", "other answers on lines 2 and 3", "Keep one"),
        ("id,question,doc\n1,Why?,access\n1,How?,access\n", "line 3: the id '1' was given on line 2", "unique"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_row(folder: Path, text: str, problem: str, remedy: str) -> None:
    with pytest.raises(MalformedFile, match=problem) as refused:
        read(folder, text)
    assert re.search(remedy, refused.value.remedy)


def test_a_name_that_fits_two_documents_is_refused(folder: Path) -> None:
    (folder / "docs" / "other").mkdir()
    (folder / "docs" / "other" / "holidays.md").write_text("# Other\n", encoding="utf-8")
    with pytest.raises(MalformedFile, match=r"may be any of leave/holidays\.rst, other/holidays\.md"):
        read(folder, "question,doc\nWhy?,holidays\n")
    assert expected(read(folder, "question,doc\nWhy?,faq.md\n")) == {"Why?": ["faq.md"]}


def test_another_table_and_a_missing_folder_are_told(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "alone").mkdir()
    alone = tmp_path / "alone" / "questions.csv"
    alone.write_text("question,doc\nWhy?,access\n", encoding="utf-8")
    with pytest.raises(InputError, match="no folder of them beside it") as problem:
        load_dataset(alone)
    assert "--docs" in problem.value.remedy
    assert len(read_path(alone, source=Source(vault=folder / "docs")).documents) == 4
    (folder / "other.csv").write_text("name,size\na,1\n", encoding="utf-8")
    with pytest.raises(MalformedFile, match="the columns are 'name,size'"):
        read_question_table(folder / "other.csv")


def test_what_is_written_is_read_again(folder: Path, tmp_path: Path) -> None:
    before = read(folder, 'id,question,doc,answer\nq1,"Where, and when?",access;holidays,"At ""the"" desk."\n')
    export_dataset(before, tmp_path / "out", kind="questions")
    after = load_dataset(tmp_path / "out")
    assert after.cases == before.cases
    assert after.documents == before.documents
