"""Text stays text, whatever it holds."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assay.evaluation.reporting.elements import Html, data_script, element


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


def test_children_are_escaped_unless_they_are_html() -> None:
    assert element("p", "<b>", Html("<i>x</i>"), None, ["&", [" y"]]) == "<p>&lt;b&gt;<i>x</i>&amp; y</p>"


def test_attributes_are_named_as_html_names_them() -> None:
    made = element("input", type="search", data_part="words", class_='a"b', hidden=True, checked=False, id=None)
    assert made == '<input type="search" data-part="words" class="a&quot;b" hidden>'


@given(st.text())
def test_no_text_becomes_an_element_or_leaves_its_attribute(text: str) -> None:
    seen = read(element("p", text, title=text))
    assert [tag for tag, _ in seen.tags] == ["p"]
    assert list(seen.tags[0][1]) == ["title"]
    shown = "".join(one for one in text if one.isprintable())
    assert all(one in seen.text for one in shown)


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_no_value_ends_the_script_that_carries_it(value: Any) -> None:
    inner = data_script(value).removeprefix('<script type="application/json">').removesuffix("</script>")
    assert "<" not in inner
