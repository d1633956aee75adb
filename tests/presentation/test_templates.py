"""Text stays text, whatever it holds."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markupsafe import Markup

from assay.presentation.templates import environment


class Reader(HTMLParser):
    """What a browser would see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


TEMPLATES = environment(Path(__file__).parent)


def render(template: str, **names: Any) -> str:
    return TEMPLATES.from_string(template).render(**names)


def test_text_is_escaped_unless_it_is_html() -> None:
    assert render("<p>{{ a }}{{ b }}</p>", a="<b>&\"'", b=Markup("<i>x</i>")) == (
        "<p>&lt;b&gt;&amp;&#34;&#39;<i>x</i></p>"
    )


def test_a_name_that_a_template_misspells_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'tilte' is undefined"):
        render("{{ tilte }}", title="x")


def test_what_no_document_may_hold_is_shown_as_a_replacement() -> None:
    assert render("{{ text }}", text="a\x00\x1b\x9f\ud800\tb\r\nc") == "a\ufffd\ufffd\ufffd\ufffd\tb\r\nc"


def test_a_figure_with_a_value_that_json_lacks_is_an_error() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        render("{{ figure | tojson }}", figure={"x": [float("nan")]})


@given(st.text())
def test_no_text_becomes_an_element_or_leaves_its_attribute(text: str) -> None:
    seen = read(render('<p title="{{ text }}">{{ text }}</p>', text=text))
    assert [tag for tag, _ in seen.tags] == ["p"]
    assert list(seen.tags[0][1]) == ["title"]
    shown = "".join(letter for letter in text if letter.isprintable())
    assert all(letter in seen.text for letter in shown)
