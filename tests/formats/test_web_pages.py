"""Web pages as Markdown: what is kept, what is left out, and pages that are broken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.web_pages import UnknownCharacters, decode_page, page_to_markdown
from assay.text.sections import markdown_sections

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>Badge &amp; access - Corp</title>
<style>p { color: red }</style><script>document.write("<p>no</p>")</script></head>
<body><header><h1>Corp</h1></header><nav><ul><li>Home</ul></nav>
<main><article><header><h1>Badges<a class="headerlink" href="#x">¶</a></h1></header>
<p>A badge is <em>valid</em> for <code>90</code>&nbsp;days.<br>Ask the desk.
<h2>Reset</h2><ol><li><p>Open the app.</p><li>Press <b>Reset</b><ul><li>twice</ul></ol>
<pre><code class="language-python">def reset():
    return "&lt;b&gt;"
</code></pre>
<table><tr><th>Zone<th>Code<tr><td>North<td>a|b</table>
<form><p>Search</p><input name=q></form>
<dl><dt>Term<dd>Its meaning.</dl></article></main><footer>© Corp</footer></body></html>"""

MARKDOWN = """# Badges

A badge is valid for `90` days.
Ask the desk.

## Reset

1. Open the app.
2. Press Reset
  - twice

```python
def reset():
    return "<b>"
```

| Zone | Code |
| --- | --- |
| North | a\\|b |

Term

Its meaning.
"""


def test_a_page_becomes_markdown_with_its_headings_lists_tables_and_code() -> None:
    assert page_to_markdown(PAGE) == MARKDOWN


def test_headings_of_a_page_are_sections() -> None:
    paths = [section.heading_path for section in markdown_sections(page_to_markdown(PAGE))]
    assert paths == ["Badges", "Badges > Reset"]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<title>Leave</title><p>May I?", "# Leave\n\nMay I?\n"),
        ("<title>Leave - Corp</title><h1>Leave</h1>May I?", "# Leave\n\nMay I?\n"),
        ("<head><title>Leave<p>May I?", "# Leave\n\nMay I?\n"),
        ("<p>a<p hidden>b<p aria-hidden=true>c<div role='navigation'>d</div>", "a\n"),
        ("<form><h1>All</h1><p>in one form</form>", "# All\n\nin one form\n"),
        ("<body>a<main></main>b", "a\n\nb\n"),
        ("<svg><title>icon</title></svg>text", "text\n"),
        ("<p>a &lt; b &#233; &nope; &#99999999999999; caf&eacute;", "a < b é &nope; \ufffd café\n"),
        ("<p># no heading<p>```<p>---<p>&lt;!-- no comment", "\\# no heading\n\n\\```\n\n\\---\n\n\\<!-- no comment\n"),
        ("<table><tr><td><h1>Laid out</h1><tr><td>in a table</table>", "# Laid out\n\nin a table\n"),
        ("<nav><table><tr><td>x</table></nav><table><tr><td>a<td>b</table>", "| a | b |\n| --- | --- |\n"),
        ("<pre>a\n  b</pre>", "```\na\n  b\n```\n"),
        ("<p>hy\xadphen", "hyphen\n"),
        ("<br/><p/>x<script/>y", "xy\n"),
        ("<![CDATA[x < y]]>", "x < y\n"),
        ("<script>var a = 1", ""),
        ("", ""),
    ],
)
def test_parts_of_a_page(page: str, text: str) -> None:
    assert page_to_markdown(page) == text


@pytest.mark.parametrize(
    "page",
    [
        "<p>one<b>two</i>three</div></p></p>",
        "one</x><two three",
        "one <!-- never ended",
        "one <a href='x\"y'>two</a> < three > four",
        "<ul><li>one<ul><li>two<h2>three",
        '<a b="c>one</a><p>two',
    ],
)
def test_a_broken_page_still_says_something(page: str) -> None:
    assert "one" in page_to_markdown(page) or "two" in page_to_markdown(page)


TAGS = ["<", ">", "</", "<!--", "-->", "<p>", "</p>", "<table>", "<td>", "<tr>", "</table>", "<li>", "<ul>", "<pre>",
        "</pre>", "<code>", "</code>", "<h1>", "</h1>", "<main>", "</main>", "<title>", "<head>", "<form>", "<br>", '"',
        "'", "=", "&", "&#", "x", " ", "\n", "<![CDATA[", "<?", "<nav>", "</nav>"]  # fmt: skip


@given(st.lists(st.sampled_from(TAGS), max_size=40).map("".join))
def test_no_page_fails_or_says_more_than_it_holds(page: str) -> None:
    assert page_to_markdown(page).count("x") <= page.count("x")


def test_words_in_paragraphs_are_never_lost() -> None:
    words = [f"word{number}" for number in range(50)]
    page = "".join(f"<div><span>{word}</span>" for word in words)
    assert page_to_markdown(page).split() == words


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b'<meta charset="iso-8859-1"><p>caf\xe9 \x80', "café €"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>\xcf\xf0', "Пр"),
        (b'<?xml version="1.0" encoding="shift_jis"?><p>\x83\x65', "テ"),
        ("\ufeff<p>é".encode("utf-16"), "é"),
        (b"\xef\xbb\xbf<p>\xc3\xa9", "é"),
        (b"<meta charset=utf-16><p>\xc3\xa9", "é"),
        (b"<meta charset=latin1><p>\x81\xe9", "\x81é"),
    ],
)
def test_a_page_is_read_in_the_encoding_that_it_declares(content: bytes, text: str) -> None:
    assert text in decode_page(content)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"<p>caf\xe9", "not utf-8 at byte 6"),
        (b"<meta charset=klingon><p>x", "'klingon', which is not known"),
        (b"<meta charset=utf-7><p>x", "'utf-7', which no page may have"),
    ],
)
def test_a_page_that_cannot_be_decoded_says_why(content: bytes, told: str) -> None:
    with pytest.raises(UnknownCharacters, match=told):
        decode_page(content)
