"""What a quotation loses: the marks of Markdown, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.judging.builtin.support import remove_marks


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("**Backups** run at `02:00`.", "Backups run at 02:00."),
        ("## Retention ##", "Retention"),
        ("> - [x] do **it `now*`**", "do it now*"),
        ('See [the docs](https://x.y/a_(b)) and ![pic](a.png "title").', "See the docs and pic."),
        ("See [the docs][1] at <https://a.b>.", "See the docs at https://a.b."),
        ("**[the docs](x.md)**, *really*, _now_, ***all***", "the docs, really, now, all"),
        ("**Important. ", "Important."),
        ("Do not restart.**", "Do not restart."),
    ],
)
def test_marks_go_and_words_stay(marked: str, plain: str) -> None:
    assert remove_marks(marked) == plain


@pytest.mark.parametrize(
    "plain",
    [
        "2 * 3 * 4 is not 5*3*2.",
        "snake_case_name and rows[0][1] stay.",
        "Costs [1] and *args and **kwargs go through.",
        "It is ~~30~~ 40 days.",
        "[](https://a1.b)",
        "***",
        "",
    ],
)
def test_what_is_no_mark_or_would_leave_nothing_stays(plain: str) -> None:
    assert remove_marks(plain) == plain


def test_code_keeps_what_looks_like_a_mark() -> None:
    assert remove_marks("Use `**kwargs`, `a_b_c` and `__init__`.") == "Use **kwargs, a_b_c and __init__."


@given(st.text(alphabet="ab *_`[]()#>!x1\ue000", max_size=60))
def test_nothing_is_added_or_moved(text: str) -> None:
    letters = iter(text)
    assert all(letter in letters for letter in remove_marks(text))
