"""The one way in which commands show how far they are: a bar with the time left, on standard error of a terminal.

Nothing is shown with --json, with --quiet, or where standard error is not a terminal, such as in a pipe or a CI log.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from assay.cli.surface import Surface
from assay.evaluation.running.runner import OnCase

Show: TypeAlias = Callable[[float, float | None, str], None]
"""Told how much is done, of how much (None: not known), and of what. An empty text keeps the last one."""


def has_terminal(surface: Surface) -> bool:
    """Whether somebody watches: standard error is a terminal, and neither --json nor --quiet was given."""
    return not surface.common.json and not surface.common.quiet and sys.stderr.isatty()


@contextmanager
def show_progress(
    surface: Surface, title: str, *, in_bytes: bool = False, counted: bool = True
) -> Iterator[Show | None]:
    """Show a bar while the block runs, and remove it afterwards; yield None where nobody watches.

    `in_bytes` shows amounts as kB and MB. Not `counted`, the whole is never known: elapsed time is shown instead.
    """
    if not has_terminal(surface):
        yield None
        return
    with Bar(*_columns(in_bytes=in_bytes, counted=counted), console=_console(), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def show(done: float, of: float | None, what: str) -> None:
            bar.update(task, completed=done, total=of, description=what or bar.tasks[0].description)

        yield show


def count_as(show: Show | None, what: str) -> Callable[[int, int], None] | None:
    """Return what a loop over cases or documents tells, for the bar; None where nobody watches."""
    return None if show is None else lambda done, of: show(done, of, what)


def count_cases(show: Show | None, what: str) -> OnCase | None:
    """Return what a run tells after each case, for the bar; None where nobody watches."""
    return None if show is None else lambda done, of, _: show(done, of, what)


@contextmanager
def show_several(surface: Surface) -> Iterator[Show | None]:
    """Show a bar for each thing that is named while the block runs; yield None where nobody watches."""
    if not has_terminal(surface):
        yield None
        return
    with Bar(*_columns(in_bytes=False, counted=True), console=_console(), transient=True) as bar:
        tasks = {}

        def show(done: float, of: float | None, what: str) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=of)
            bar.update(tasks[what], completed=done, total=of)

        yield show


def _console() -> Console:
    return Console(stderr=True, markup=False)


def _columns(*, in_bytes: bool, counted: bool) -> tuple[ProgressColumn, ...]:
    text = TextColumn("{task.description}")
    if not counted:
        return SpinnerColumn(), text, TextColumn("{task.completed:,}"), TimeElapsedColumn()
    return text, BarColumn(), DownloadColumn() if in_bytes else MofNCompleteColumn(), TimeRemainingColumn()
