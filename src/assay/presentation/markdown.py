"""Markdown of answers as HTML that can do nothing: no raw HTML, no images, links to web and mail addresses alone."""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt
from markupsafe import Markup

_SCHEMES = ("http:", "https:", "mailto:")


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 20}).enable("table")
    made.disable(["image", "heading", "lheading", "html_block", "html_inline"])
    made.validateLink = _is_safe  # type: ignore[assignment,method-assign] # the parser's own way
    return made


def _is_safe(address: str) -> bool:
    """Whether a link may be followed: its scheme is known, so that none runs a script or opens a file."""
    return address.strip().lower().startswith(_SCHEMES)


def render_markdown(text: str) -> Markup:
    """Return a text as HTML. One paragraph is returned without its tags, so that it can stand in a line."""
    blocks = [token.type for token in _parser().parse(text)]
    alone = blocks == ["paragraph_open", "inline", "paragraph_close"]
    # Made by the parser, which escapes what it does not know.
    return Markup(_parser().renderInline(text.strip()) if alone else _parser().render(text).strip())  # noqa: S704
