"""The text of documents that are not text files themselves: web pages and PDF.

- `extract_text`: the text of such a file, or why it has none.
- The file that holds such a text in a vault: `guide.html.md`, `report.pdf.txt`. It is known as the document it is of.
"""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from assay.extras import install_command, missing_modules
from assay.formats.web_pages import UnknownCharacters, decode_page, page_to_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypdf import PdfReader

WEB_PAGES = frozenset({".html", ".htm", ".xhtml"})
PDF = ".pdf"
TEXT_SUFFIX = {**dict.fromkeys(WEB_PAGES, ".md"), PDF: ".txt"}
"""How the file of a text ends, by the suffix of the document it is of."""
LARGEST_PAGE = 16_000_000
"""Bytes of a web page, and characters of any text that is extracted."""
LARGEST_PDF = 100_000_000
"""Bytes of a PDF, most of which are pictures and fonts."""
EXTRA = "pdf"
NO_READER = "no reader"
"""The reason of a file that only an extra reads."""
_HYPHENATED = re.compile(r"(?<=[a-zà-öø-ÿ])-\n(?=[a-zà-öø-ÿ])")
"""A word that was divided at the end of a line."""


class ReadProblem(NamedTuple):
    """Why a file has no text, and what to do about it."""

    reason: str
    """`no reader`, `encrypted`, `broken`, `empty`, `encoding`, `binary` or `size`."""
    detail: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.detail}; {self.remedy[:1].lower()}{self.remedy[1:].rstrip('.')}"


def is_extracted(path: PurePath | str) -> bool:
    """Whether the text of a file has to be extracted."""
    return PurePath(path).suffix.lower() in TEXT_SUFFIX


def most_bytes(path: PurePath | str) -> int:
    """How many bytes of such a file are read."""
    return LARGEST_PDF if PurePath(path).suffix.lower() == PDF else LARGEST_PAGE


def extract_text(content: bytes, path: PurePath | str) -> str | ReadProblem:
    """The text of a file, by the suffix of its path: Markdown of a web page, plain text of a PDF."""
    most = most_bytes(path)
    if len(content) > most:
        return ReadProblem("size", f"it has over {most:,} bytes", "Split it.")
    text = _pdf_text(content) if PurePath(path).suffix.lower() == PDF else _page_text(content)
    if isinstance(text, str) and len(text) > LARGEST_PAGE:
        return ReadProblem("size", f"its text has over {LARGEST_PAGE:,} characters", "Split it.")
    return text


# --- Web pages ---


def _page_text(content: bytes) -> str | ReadProblem:
    try:
        page = decode_page(content)
    except UnknownCharacters as problem:
        return ReadProblem("encoding", str(problem), "Save it as UTF-8, or declare its encoding: <meta charset=...>.")
    if "\x00" in page:
        return ReadProblem("binary", f"a NUL byte at {page.index(chr(0)):,}", "Save it as a web page.")
    text = page_to_markdown(page)
    if not text:
        return ReadProblem("empty", "the page has no text of its own", "Save it after its scripts have run.")
    return text


# --- PDF ---


def _pdf_text(content: bytes) -> str | ReadProblem:
    if missing_modules(EXTRA):
        return ReadProblem(NO_READER, f"PDF is read by the extra '{EXTRA}'", f"Install it: {install_command(EXTRA)}")
    from pypdf import PdfReader, errors  # noqa: PLC0415 - the extra "pdf"

    # Its warnings about files that are slightly broken would be printed between our lines.
    logging.getLogger("pypdf").addHandler(logging.NullHandler())
    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            return ReadProblem("encrypted", "it asks for a password", "Save a copy without one.")
        return _join_pages(reader)
    except errors.DependencyError as problem:
        return ReadProblem("encrypted", str(problem), "Install that, or save a copy that is not encrypted.")
    except Exception as problem:  # noqa: BLE001 - a broken file fails in every way that a parser can
        told = " ".join(str(problem).split())[:200] or type(problem).__name__
        return ReadProblem("broken", f"it cannot be read as PDF: {told}", "Export it again.")


def _join_pages(reader: PdfReader) -> str | ReadProblem:
    text = "\n\n".join(_page_texts(reader))
    if text:
        return f"{text}\n"
    told = f"none of its pages ({len(reader.pages):,}) has text: they are probably scanned"
    return ReadProblem("empty", told, "Recognise the text (OCR) first.")


def _page_texts(reader: PdfReader) -> Iterator[str]:
    """The text of each page that has any, up to more than is kept of a document."""
    length = 0
    for page in reader.pages:
        text = _HYPHENATED.sub("", _clean(page.extract_text()))
        if text:
            yield text
        length += len(text)
        if length > LARGEST_PAGE:
            return


def _clean(text: str) -> str:
    """A text without control characters and lone surrogates, which fonts with a wrong table give."""
    plain = text.encode("utf-8", "replace").decode().replace("\xad\n", "").replace("\xa0", " ")
    lines = ("".join(sign for sign in line if sign.isprintable() or sign == "\t").strip() for line in plain.split("\n"))
    return "\n".join(lines).strip()


# --- The file of a text ---


def name_text_file(rel_path: str) -> str:
    """Where the text of a document is written in a vault: as the document is called, unless that is no text file."""
    return rel_path + TEXT_SUFFIX.get(PurePath(rel_path).suffix.lower(), "")


def document_of(path: Path) -> Path:
    """The document whose text a file of a vault holds: itself, or `report.pdf` of `report.pdf.txt` without the PDF."""
    document = path.with_suffix("")
    is_text = TEXT_SUFFIX.get(document.suffix.lower()) == path.suffix
    return document if is_text and not document.exists() else path
