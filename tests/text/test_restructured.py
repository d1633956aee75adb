"""reStructuredText in sections: titles by their underline, levels by the order of marks, nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.sections import split_rst

GUIDE = """\
=====
Guide
=====

Before everything.

Install
=======

Use the package.

On ``Linux``
------------

Use :ref:`the other one <other>`.

Jobs: pausing
=============

.. code-block:: none

    Not a title
    -----------

A paragraph
goes on
-------
here.
"""


def test_titles_open_sections_and_their_marks_say_how_deep() -> None:
    paths = [one.heading_path for one in split_rst(GUIDE)]
    assert paths == ["Guide", "Guide > Install", "Guide > Install > On Linux", "Guide > Jobs: pausing"]


def test_the_opening_is_the_title_with_its_lines() -> None:
    found = split_rst(GUIDE)[2]
    assert found.text[: found.opening] == "On ``Linux``\n------------\n"
    assert found.text[found.opening :].strip() == "Use :ref:`the other one <other>`."


@pytest.mark.parametrize(
    "body", ["", "no title at all", "=====\n", "a\n==\nb\n--", "=====  =====\nA      B\n=====  =====\n"]
)
def test_broken_or_plain_text_is_still_text(body: str) -> None:
    assert "".join(one.text for one in split_rst(body)) == body


@given(st.text(alphabet="a=-~ \n\r*`", max_size=200))
def test_nothing_is_lost_whatever_it_is(body: str) -> None:
    assert "".join(one.text for one in split_rst(body)) == body
