"""A document in sections, whatever it is written in."""

from __future__ import annotations

from assay.records.document_kinds import Markup, markup_of
from assay.records.memory import Format
from assay.text import markdown, restructured
from assay.text.markdown import Section


def document_sections(text: str, *, rel_path: str = "", format: Format = Format.MARKDOWN) -> list[Section]:  # noqa: A002 - the record's own word
    """The sections of a document; plain text and JSON are one, without a heading."""
    markup = markup_of(rel_path, format)
    if markup is Markup.MARKDOWN:
        return markdown.sections(text)
    if markup is Markup.RESTRUCTURED_TEXT:
        return restructured.sections(text)
    return [Section("", 0, text)] if text else []
