"""Markdown of answers is shown, and can do nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.presentation.markdown import render_markdown

KNOWN = {
    "p", "em", "strong", "code", "pre", "a", "ul", "ol", "li", "blockquote", "br", "hr", "table", "thead", "tbody",
    "tr", "th", "td",
}  # fmt: skip


class Elements(HTMLParser):
    """The elements of a text, and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Power is **45 cents** a kWh.", "Power is <strong>45 cents</strong> a kWh."),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("[a](javascript:x)", "[a](javascript:x)"),
        ("![a](https://example.com/x.png)", '!<a href="https://example.com/x.png">a</a>'),
        ("- one\n- two", "<ul>\n<li>one</li>\n<li>two</li>\n</ul>"),
    ],
)
def test_marks_are_rendered_and_markup_is_shown(text: str, shown: str) -> None:
    assert render_markdown(text) == shown


@given(st.text(alphabet=st.sampled_from("<>\"'&()[]!`*_|-# \njavscript:/onerrhf="), max_size=60))
def test_no_text_becomes_an_element_that_does_something(text: str) -> None:
    found = Elements(str(render_markdown(text)))
    assert found.names <= KNOWN
    assert {name for name, _ in found.attributes} <= {"href", "title", "start", "style", "class"}
    assert all(value.lower().startswith(("http", "mailto")) for name, value in found.attributes if name == "href")
