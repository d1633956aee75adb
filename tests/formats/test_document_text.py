"""The text of web pages and PDF files as documents of a corpus and of a dataset."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.made_pdf import encrypt_pdf, make_pdf

from assay.errors import MalformedFile, MissingExtra, NothingMeasured
from assay.evaluation.question_generation import generate, read_corpus
from assay.formats import document_text
from assay.formats.anchored import read_anchored, read_notes, write_anchored
from assay.formats.document_text import ReadProblem, extract_text
from assay.formats.question_table import read_question_table, write_question_table

TEXT = "Every badge is valid for ninety days after the first use.\nAsk the recep-\ntion desk (north) for a new one."
PAGE = "<title>Holidays</title><h2>Carry over</h2><p>Every day is valid for three months after the end of the year."


def reason_of(content: bytes, name: str = "a.pdf") -> str:
    found = extract_text(content, name)
    assert isinstance(found, ReadProblem)
    return found.reason


def test_the_text_of_a_pdf_has_its_pages_and_whole_words() -> None:
    found = extract_text(make_pdf(TEXT, "", "Second: caf\xe9."), "A.PDF")
    whole = TEXT.replace("recep-\ntion", "reception")
    assert found == f"{whole}\n\nSecond: café.\n"


def test_a_pdf_without_text_is_named_with_its_reason() -> None:
    whole = make_pdf(TEXT)
    assert isinstance(extract_text(encrypt_pdf(whole, ""), "a.pdf"), str)
    assert reason_of(encrypt_pdf(whole, "secret")) == "encrypted"
    assert reason_of(make_pdf("", "")) == "empty"
    assert [reason_of(content) for content in (b"", b"no pdf", whole[:300])] == ["broken"] * 3
    assert reason_of(b"<p>caf\xe9", "a.htm") == "encoding"
    assert reason_of(b"<p>a\x00b", "a.html") == "binary"
    assert reason_of(b"<div id=root></div>", "a.xhtml") == "empty"


def test_a_file_over_its_bound_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_text, "LARGEST_PAGE", 50)
    assert reason_of(b"<p>" + b"x" * 60, "a.html") == "size"
    assert reason_of(make_pdf(TEXT)) == "size", "the text is too long, not the file"


def written(folder: Path, **files: bytes) -> Path:
    folder.mkdir(parents=True)
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_bytes(content)
    return folder


def test_a_corpus_takes_every_file_that_can_be_read_and_names_the_others(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "docs",
        report_pdf=make_pdf(TEXT),
        leave_HTML=PAGE.encode(),
        scan_pdf=make_pdf(""),
        closed_pdf=encrypt_pdf(make_pdf(TEXT), "secret"),
    )
    found = read_corpus(folder)
    assert {document.id: document.title for document in found.documents} == {
        "leave.HTML": "Holidays",
        "report.pdf": "report",
    }
    assert {path: told.partition(": ")[2] for path, told in found.unreadable.items()} == {
        "closed.pdf": "it asks for a password. Save a copy without one, or move the file out of the folder.",
        "scan.pdf": "none of its pages (1) has text: they are probably scanned. "
        "Recognise the text (OCR) first, or move the file out of the folder.",
    }


def test_proposed_questions_are_anchored_at_headings_of_a_page_and_come_back(tmp_path: Path) -> None:
    folder = written(tmp_path / "docs", leave_html=PAGE.encode(), report_pdf=make_pdf(TEXT))
    dataset = generate(folder).dataset
    supports = {case.anchors.supports[0] for case in dataset.cases if case.anchors}
    assert {(support.rel_path, support.heading_path) for support in supports} == {
        ("leave.html", "Holidays > Carry over"),
        ("report.pdf", ""),
    }
    write_anchored(tmp_path / "set", dataset)
    assert sorted(path.name for path in (tmp_path / "set" / "vault").iterdir()) == ["leave.html.md", "report.pdf.txt"]
    assert read_anchored(tmp_path / "set").documents == dataset.documents
    assert tuple(read_notes(folder)) == dataset.documents, "the texts are those of the files themselves"


def test_a_table_of_questions_names_pages_and_pdf_files(tmp_path: Path) -> None:
    written(tmp_path / "docs", leave_html=PAGE.encode(), report_pdf=make_pdf(TEXT))
    (tmp_path / "questions.csv").write_text("question,expected_doc\nHow long?,report.pdf\nWhen?,leave\n")
    dataset = read_question_table(tmp_path)
    assert [case.grades[0].document_id for case in dataset.cases] == ["report.pdf", "leave.html"]
    write_question_table(tmp_path / "again", dataset)
    assert read_question_table(tmp_path / "again").documents == dataset.documents


def test_a_dataset_with_documents_that_cannot_be_read_names_all_of_them(tmp_path: Path) -> None:
    folder = written(tmp_path / "vault", a_pdf=b"", b_md=b"text", c_html=b"")
    with pytest.raises(MalformedFile, match=r"(?s)a\.pdf cannot be read: .*c\.html cannot be read: ") as refused:
        tuple(read_notes(folder))
    assert refused.value.remedy == "Export it again, or move the file out of the folder."


def test_without_the_reader_a_pdf_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_text, "missing_modules", lambda extra: ["pypdf"])
    folder = written(tmp_path / "docs", a_pdf=make_pdf(TEXT), b_md=b"# Text")
    assert "pip install 'assaykit[pdf]'" in read_corpus(folder).unreadable["a.pdf"]
    with pytest.raises(MissingExtra) as refused:
        tuple(read_notes(folder))
    assert "pip install 'assaykit[pdf]'" in str(refused.value.remedy)


def test_a_folder_without_anything_readable_says_what_it_has(tmp_path: Path) -> None:
    empty = written(tmp_path / "empty")
    with pytest.raises(NothingMeasured, match="holds no document that Assay can read"):
        read_corpus(empty)
    unreadable = written(tmp_path / "unreadable", a_pdf=b"", b_html=b"<p>caf\xe9", c_png=b"x")
    with pytest.raises(NothingMeasured, match=r"it has 1 \.png; .*a\.pdf cannot be read: .*Cannot read an empty file"):
        read_corpus(unreadable)


def test_a_corpus_with_a_loop_of_links_ends(tmp_path: Path) -> None:
    folder = written(tmp_path / "docs", a_html=PAGE.encode())
    (folder / "again").symlink_to(folder, target_is_directory=True)
    (folder / "b.html").symlink_to(folder / "b.html")
    assert [document.id for document in read_corpus(folder).documents] == ["a.html"]
