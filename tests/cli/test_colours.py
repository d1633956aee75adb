"""Colours of verdicts: on a terminal, where a verdict stands, and nowhere else."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from assay.cli.colours import colour_verdicts

TOLD = """FAIL  recall@5 fell, and FAIL here is no verdict
PASS  7 other rules
Gate, default:  PASS   all 9 rules hold
 recall@5   0.91   0.74   -0.17 [-0.25, -0.09]  worse
 mrr        0.71   0.88   +0.17 [+0.09, +0.25]  better
  -0.500  1 -> 0.5  q1  how much worse is it"""
RED, GREEN = "\x1b[31m", "\x1b[32m"


def show(environ: dict[str, str], *, terminal: bool = True) -> str:
    screen = io.StringIO()
    options = {"color_system": "standard", "width": 120} if terminal else {}
    console = Console(file=screen, force_terminal=terminal, highlight=False, _environ=environ, **options)  # type: ignore[arg-type]
    console.print(colour_verdicts(TOLD), soft_wrap=True)
    return screen.getvalue()


def test_verdicts_are_coloured_and_sentences_are_not() -> None:
    shown = show({"TERM": "xterm"})
    assert shown.count(RED) == 2
    assert shown.count(GREEN) == 3
    assert shown.startswith(f"{RED}FAIL\x1b[0m  recall@5 fell, and FAIL here")
    assert "how much worse is it" in shown


@pytest.mark.parametrize(("environ", "terminal"), [({"NO_COLOR": "1", "TERM": "xterm"}, True), ({}, False)])
def test_no_color_and_pipes_get_the_bare_text(environ: dict[str, str], *, terminal: bool) -> None:
    assert show(environ, terminal=terminal).rstrip("\n") == TOLD
