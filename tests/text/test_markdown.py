"""Markdown as sections: which lines are headings, and what lies under them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from assay.records import heading_path
from assay.text.sections import MAX_HEADING, front_matter_end, markdown_sections

MARKDOWN = st.lists(
    st.sampled_from(
        [
            "# A",
            "## B",
            "###### C",
            "# ",
            "x",
            "===",
            "---",
            "```",
            "~~~",
            "> # q",
            "- # l",
            "",
            " ",
            "\t# t",
            "a: b",
            "<!--",
        ]
    ),
    max_size=30,
).flatmap(lambda lines: st.sampled_from(["\n", "\r\n", "\r"]).map(lambda newline: newline.join(lines)))


def paths(body: str) -> list[str]:
    return [section.heading_path for section in markdown_sections(body)]


@given(MARKDOWN | st.text(max_size=60))
def test_the_sections_joined_are_the_body(body: str) -> None:
    found = markdown_sections(body)
    assert "".join(section.text for section in found) == body
    for section in found:
        assert body.startswith(section.text, section.start)
        assert section.heading_path == heading_path.normalise(section.heading_path)


def test_headings_nest_by_level_and_end_with_the_next_of_theirs() -> None:
    body = "intro\n# A\n## B\n### C\n## D\n# E\n### F\n"
    assert paths(body) == ["", "A", "A > B", "A > B > C", "A > D", "E", "E > F"]


def test_a_deeper_heading_may_come_first() -> None:
    assert paths("### C\n## B\n# A\n## B\n") == ["C", "B", "A", "A > B"]


def test_headings_of_both_kinds_count() -> None:
    assert paths("A\n===\nx\n\nB\n---\ny\n## C ##\n") == ["A", "A > B", "A > C"]


def test_the_same_heading_twice_is_two_sections() -> None:
    assert [(one.heading_path, one.start) for one in markdown_sections("# A\nx\n# A\ny\n")] == [("A", 0), ("A", 6)]


@pytest.mark.parametrize(
    "body",
    [
        "```\n# a\n```\n",
        "~~~sh\n# a\n~~~\n",
        "    # a\n",
        "- # a\n",
        "> # a\n",
        "#a\n",
        "\\# a\n",
        "```\n# never closed\n",
    ],
)
def test_what_only_looks_like_a_heading_is_text(body: str) -> None:
    assert paths(body) == [""]


def test_a_heading_is_named_as_it_is_read() -> None:
    assert paths("# The `pip` *way*, [linked](http://x)\n") == ["The pip way, linked"]
    assert paths("# A > B\n## C\n") == ["A > B", "A > B > C"]
    assert paths(f"# {'long ' * 500}\n")[0] == ("long " * 500)[:MAX_HEADING].strip()


def test_a_heading_without_a_name_adds_nothing_to_the_path() -> None:
    assert paths("# A\n##\nx\n") == ["A", "A"]


def test_front_matter_is_text_and_its_end_no_heading() -> None:
    body = "---\ntitle: x\n# no heading\n---\n# A\n"
    assert [(one.heading_path, one.text) for one in markdown_sections(body)] == [
        ("", "---\ntitle: x\n# no heading\n---\n"),
        ("A", "# A\n"),
    ]


@pytest.mark.parametrize(
    "body", ["---\n# A\n---\n", "---\n\nkey: x\n---\n", " ---\nkey: x\n---\n", "---\nkey: x\n", "x"]
)
def test_a_rule_at_the_top_is_no_front_matter(body: str) -> None:
    assert front_matter_end(body) == 0


@pytest.mark.parametrize("body", ["---\nkey: x\n---", "---\r\nkey:\r\n\r\n- a\r\n...\r\n"])
def test_front_matter_may_end_in_several_ways(body: str) -> None:
    assert front_matter_end(body) == len(body)


def test_a_section_knows_whether_anything_stands_under_its_heading() -> None:
    assert [one.is_bare for one in markdown_sections("# A\n\n## B\ntext\n## C\n")] == [True, False, True]
    assert [one.is_bare for one in markdown_sections("\n \n# A\nx")] == [True, False]


LINES = st.sampled_from(
    (
        *(
            "# a",
            "#",
            "  # c",
            "    # d",
            "\t# e",
            "- a",
            "-",
            "- # x",
            "1) # y",
            "> q",
            "> # z",
            "===",
            "---",
            "- - -",
        ),
        *("```", "~~~", "words", "*em*", "[a]: b", "<div>", "</div>", "<!--", "", "", "    code", "## *e* `c`", "+ x"),
        *("#a", "# b c"),
    )
)


@given(st.lists(LINES, max_size=12), st.sampled_from(["\n", "\r\n", "\r"]))
def test_rules_that_a_text_does_not_need_change_no_section(lines: list[str], newline: str) -> None:
    """Rules of the parser are left out when nothing in a text could match them."""
    body = newline.join(lines)
    front = front_matter_end(body)
    starts = [front, *(front + end for end in _line_starts(body[front:])), len(body)]
    tokens = MarkdownIt("commonmark").parse(body[front:])
    levels = {starts[token.map[0]]: token for token in tokens if token.type == "heading_open" and token.map}
    expected = [start for start, token in levels.items() if token.level == 0]
    assert [section.start for section in markdown_sections(body) if section.opening] == expected


def _line_starts(text: str) -> list[int]:
    return [found.end() for found in re.finditer(r"\r\n?|\n", text)]


@pytest.mark.parametrize(
    "name", ["Plain words", "One", "With *marks*", "a_b_c", "Two  spaces", "Zahl 3", "a & b", "x_y"]
)
def test_a_heading_of_plain_words_is_named_as_any_other(name: str) -> None:
    [section] = markdown_sections(f"# {name}\n")
    children = MarkdownIt("commonmark").parseInline(name)[0].children or []
    assert section.heading_path == heading_path.normalise("".join(child.content for child in children))
