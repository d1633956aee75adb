"""Progress of long commands: a bar with the time left on a terminal, nothing anywhere else."""

from __future__ import annotations

import io
from contextlib import redirect_stderr

import pytest

from assay.cli.options import Common
from assay.cli.progress import count_as, count_cases, show_progress, show_several
from assay.cli.surface import Surface


class Terminal(io.StringIO):
    """Standard error of somebody who watches."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_what_is_done_and_the_time_left() -> None:
    screen = Terminal()
    with redirect_stderr(screen), show_progress(Surface(Common()), "documents") as show:
        assert show is not None
        show(1, 4, "documents")
        count = count_as(show, "searches")
        assert count is not None
        count(3, 4)
    assert "searches" in screen.getvalue()
    assert "3/4" in screen.getvalue()
    assert "0:00:0" in screen.getvalue() or "-:--:--" in screen.getvalue()


@pytest.mark.parametrize(
    ("common", "screen"),
    [(Common(json=True), Terminal()), (Common(quiet=True), Terminal()), (Common(), io.StringIO())],
    ids=["json", "quiet", "pipe"],
)
def test_nobody_else_is_told_anything(common: Common, screen: io.StringIO) -> None:
    with redirect_stderr(screen):
        with show_progress(Surface(common), "documents") as show:
            assert show is None
            assert count_as(show, "documents") is None
            assert count_cases(show, "cases") is None
        with show_several(Surface(common)) as show:
            assert show is None
    assert screen.getvalue() == ""


def test_each_named_thing_has_a_bar_of_its_own() -> None:
    screen = Terminal()
    with redirect_stderr(screen), show_several(Surface(Common())) as show:
        assert show is not None
        show(2, 5, "starter: bm25")
        show(4, 5, "starter: vector")
        show(5, 5, "starter: bm25")
    assert "5/5" in screen.getvalue()
    assert "4/5" in screen.getvalue()
