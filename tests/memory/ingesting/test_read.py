"""What a file becomes: drafts, or a reason with its line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.formats.made_pdf import encrypt_pdf, make_pdf

from assay.evaluation.question_generation import read_corpus
from assay.formats.document_text import LARGEST_PDF
from assay.memory.ingesting.files import LIMIT, read_file, walk
from assay.records import Draft, Format, Tier
from assay.records.saving import Skip


def read(folder: Path, name: str, content: str | bytes) -> list[Draft | Skip]:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    (found,) = walk([file], root=folder).files
    return list(read_file(found))


def draft(folder: Path, name: str, content: str | bytes) -> Draft:
    (one,) = read(folder, name, content)
    assert isinstance(one, Draft), one
    return one


def skip(folder: Path, name: str, content: str | bytes) -> Skip:
    (one,) = read(folder, name, content)
    assert isinstance(one, Skip), one
    return one


def test_markdown_becomes_one_document_with_its_place(tmp_path: Path) -> None:
    one = draft(tmp_path, "rules/auth/sign-in.md", "# Sign-in\n\nUse PKCE.\n")

    assert (one.title, one.format, one.rel_path, one.folder) == (
        "Sign-in",
        Format.MARKDOWN,
        "rules/auth/sign-in.md",
        "rules/auth",
    )
    assert one.body == "# Sign-in\n\nUse PKCE.\n"
    assert one.source_id == f"{tmp_path.name}/rules/auth/sign-in.md"
    assert one.automated


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("text only\n", "note"),
        ("## Second level only\n", "note"),
        ("# Closed #\n", "Closed"),
        ("```\n# in code\n```\n# Real\n", "Real"),
        ("---\ntitle: 'From the front'\ntags: [a]\n---\n# Heading\n", "From the front"),
        ("---\nauthor: me\n---\n# Heading\n", "Heading"),
        ("---\n# a rule, then a heading\n", "a rule, then a heading"),
        ("#hashtag\n", "note"),
    ],
)
def test_the_title_is_the_front_matters_or_the_first_heading_or_the_files_name(
    tmp_path: Path, content: str, title: str
) -> None:
    assert draft(tmp_path, "note.md", content).title == title


def test_front_matter_is_metadata_and_not_text(tmp_path: Path) -> None:
    head = "---\ntitle: Plan\ntags: [garden, beans]\naliases: [plot plan]\ncreated: 2025-02-03\nstatus: draft\n---\n"
    one = draft(tmp_path, "plan.md", head + "# Beans\n\nThey climb.\n")
    assert one.body == "# Beans\n\nThey climb.\n"
    assert (one.title, one.tags, one.triggers) == ("Plan", ("garden", "beans"), ("plot plan",))
    assert one.valid_from == datetime(2025, 2, 3, tzinfo=UTC)
    assert one.metadata["status"] == "draft"
    assert skip(tmp_path, "empty.md", head).reason == "empty"


def test_the_hash_is_of_the_content_alone(tmp_path: Path) -> None:
    first, same, other = (
        draft(tmp_path, name, text).source_hash for name, text in (("a.md", "x"), ("b.md", "x"), ("a.md", "y"))
    )
    assert first == same != other


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.txt", Format.TEXT), ("a.rst", Format.TEXT), ("a.py", Format.TEXT), ("a.json", Format.JSON)],
)
def test_the_suffix_says_how_it_is_written(tmp_path: Path, name: str, expected: Format) -> None:
    one = draft(tmp_path, name, '{"key": "value"}')
    assert (one.format, one.title) == (expected, "a")


def test_a_byte_order_mark_is_no_text_and_utf_16_is_read(tmp_path: Path) -> None:
    assert draft(tmp_path, "a.txt", b"\xef\xbb\xbfhello").body == "hello"
    assert draft(tmp_path, "a.txt", "hello".encode("utf-16")).body == "hello"


@pytest.mark.parametrize(
    ("content", "reason", "told"),
    [
        (b"", "empty", "no visible character"),
        (b" \n\t\n", "empty", "no visible character"),
        (b"PNG\x00\x01", "binary", "NUL byte at 3"),
        (b"caf\xe9", "encoding", "byte 3"),
        (b"\xff\xfe\x00", "encoding", "byte"),
        ("a\x00b".encode("utf-16"), "binary", "NUL"),
    ],
)
def test_what_is_no_text_is_passed_over_with_the_reason(tmp_path: Path, content: bytes, reason: str, told: str) -> None:
    one = skip(tmp_path, "a.md", content)
    assert (one.place, one.reason) == ("a.md", reason)
    assert told in one.detail


@pytest.mark.parametrize("name", ["big.txt", "big.html"])
def test_a_file_of_fifty_megabytes_is_named_with_the_limit(tmp_path: Path, name: str) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(50_000_000)
    (one,) = read_file(walk([tmp_path / name], root=tmp_path).files[0])
    assert isinstance(one, Skip)
    assert (one.reason, f"{LIMIT:,}" in one.detail, "50,000,000" in one.detail) == ("size", True, True)


def test_a_web_page_becomes_markdown_with_its_title(tmp_path: Path) -> None:
    one = draft(
        tmp_path, "guide/Leave.HTM", b"<meta charset=latin1><title>Leave</title><h2>Caf\xe9</h2><nav>Home</nav>At 9."
    )
    assert (one.title, one.format, one.rel_path) == ("Leave", Format.MARKDOWN, "guide/Leave.HTM")
    assert one.body == "# Leave\n\n## Café\n\nAt 9.\n"
    assert draft(tmp_path, "a.xhtml", "<p>no title</p>").title == "a"
    assert skip(tmp_path, "app.html", "<div id=root></div>").reason == "empty"
    assert "byte 6; save it as UTF-8" in skip(tmp_path, "a.html", b"<p>caf\xe9").detail


def test_a_pdf_becomes_its_text_and_others_are_named_with_the_reason(tmp_path: Path) -> None:
    whole = make_pdf("The badge is valid.")
    one = draft(tmp_path, "Report.PDF", whole)
    assert (one.title, one.format, one.body) == ("Report", Format.TEXT, "The badge is valid.\n")
    found = {name: skip(tmp_path, "a.pdf", content) for name, content in {
        "encrypted": encrypt_pdf(whole, "secret"), "empty": make_pdf(""), "broken": whole[:200]
    }.items()}  # fmt: skip
    assert {name: skipped.reason for name, skipped in found.items()} == {name: name for name in found}
    assert found["empty"].detail.endswith("probably scanned; recognise the text (OCR) first")


def test_a_large_pdf_is_named_with_its_own_limit(tmp_path: Path) -> None:
    with (tmp_path / "big.pdf").open("wb") as file:
        file.truncate(LARGEST_PDF + 1)
    (one,) = read_file(walk([tmp_path / "big.pdf"], root=tmp_path).files[0])
    assert isinstance(one, Skip)
    assert (one.reason, "at most 100,000,000 are read" in one.detail) == ("size", True)


@pytest.mark.slow
def test_ten_thousand_pages_are_read(tmp_path: Path) -> None:
    for number in range(10_000):
        (tmp_path / f"{number}.html").write_text(f"<title>Page {number}</title><p>Text of page {number}.")
    drafts = [one for file in walk([tmp_path], root=tmp_path).files for one in read_file(file)]
    assert len({one.title for one in drafts if isinstance(one, Draft)}) == len(drafts) == 10_000
    assert len(read_corpus(tmp_path).documents) == 10_000


@pytest.mark.parametrize(
    ("content", "line"),
    [('{\n"a": 1,\n}', 3), ('{"a": NaN}', None), ("[" * 100_000, None), ("not json", 1)],
)
def test_broken_json_is_named_with_its_line(tmp_path: Path, content: str, line: int | None) -> None:
    one = skip(tmp_path, "a.json", content)
    assert (one.reason, one.line) == ("json", line)


def test_a_file_that_went_away_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    (found,) = walk([tmp_path], root=tmp_path).files
    (tmp_path / "a.md").unlink()
    (one,) = read_file(found)
    assert isinstance(one, Skip)
    assert one.reason == "unreadable"


def test_a_line_of_jsonl_is_a_document_of_its_own(tmp_path: Path) -> None:
    lines = [
        {"_id": "4983", "title": "Diffusion", "text": "White matter.", "url": "x"},
        {"text": "No id, no title."},
        {
            "id": 7,
            "body": "All of it.",
            "tags": ["a"],
            "triggers": ["when b"],
            "tier": "critical",
            "folder": "elsewhere",
            "valid_from": "2026-01-02",
        },
    ]
    first, second, third = read(tmp_path, "corpus.jsonl", "\n".join(json.dumps(one) for one in lines) + "\n\n")

    assert isinstance(first, Draft)
    assert isinstance(second, Draft)
    assert isinstance(third, Draft)
    name = f"{tmp_path.name}/corpus.jsonl"
    assert [one.source_id for one in (first, second, third)] == [f"{name}#4983", f"{name}#2", f"{name}#7"]
    assert (first.title, first.body, first.metadata) == ("Diffusion", "White matter.", {"_id": "4983", "url": "x"})
    assert second.title == "2"
    assert (third.tags, third.triggers, third.tier, third.folder) == (("a",), ("when b",), Tier.CRITICAL, "elsewhere")
    assert third.valid_from == datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"title": "x"}', "record"),
        (b'{"text": "  "}', "record"),
        (b"[1]", "record"),
        (b"{", "json"),
        (b'{"text": "x", "n": NaN}', "json"),
        (b'{"text": "\xff"}', "encoding"),
        (b'{"text": "x", "tier": "nonsense"}', "refused"),
        (b'{"text": "a\\u0000b"}', "refused"),
        (b'{"text": "x", "valid_from": "yesterday"}', "record"),
        (b'{"text": "x", "valid_from": []}', "record"),
        (b'{"text": "x", "tags": [1]}', "refused"),
    ],
)
def test_a_bad_record_is_named_with_its_line_and_the_others_are_read(tmp_path: Path, line: bytes, reason: str) -> None:
    good = b'{"text": "good"}'
    before, bad, after = read(tmp_path, "a.jsonl", b"\n".join([good, line, good]))

    assert isinstance(before, Draft)
    assert isinstance(after, Draft)
    assert isinstance(bad, Skip)
    assert (bad.reason, bad.line) == (reason, 2)


def test_a_line_that_is_too_long_is_passed_over_and_the_next_is_read(tmp_path: Path) -> None:
    long = b'{"text": "' + b"x" * (LIMIT * 2 + 10) + b'"}'
    bad, good = read(tmp_path, "a.jsonl", long + b'\n{"text": "good"}\n')
    assert isinstance(bad, Skip)
    assert isinstance(good, Draft)
    assert (bad.reason, bad.line, good.title) == ("size", 1, "2")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(content=st.binary(max_size=200), name=st.sampled_from(["a.md", "a.txt", "a.json", "a.jsonl", "a.html", "a.pdf"]))
def test_no_content_of_a_file_raises(tmp_path: Path, content: bytes, name: str) -> None:
    for one in read(tmp_path, name, content):
        assert isinstance(one, Draft) or one.detail
