"""Review proposed questions in the terminal: keep, reword or drop each, every key kept at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from assay.evaluation.labelling import REWORD, UNDO, LabelSession
from assay.records.datasets import Case

KEEP, DROP, STOP = "k", "d", "q"
GRADES = {KEEP: "3", DROP: "0"}
"""The grade that a key gives: proposals are cases to be labelled, as `assay label` labels them."""
HELP = "k keep   e reword   d drop   u undo   q stop, go on later"


class ReviewCounts(NamedTuple):
    """How far a review is."""

    done: int
    of: int


def review(
    session: LabelSession,
    cases: Mapping[str, Case],
    keys: Iterator[str],
    read_wording: Callable[[], str],
    console: Console,
) -> ReviewCounts:
    """Show one question after the other until all are done, `q` is pressed, or no key comes any more."""
    while (task := session.current) is not None:
        console.print(_format(cases[task.case_id], task.query, session), soft_wrap=True)
        if not _press(session, keys, read_wording, console):
            break
    return ReviewCounts(session.done, session.total)


def _press(session: LabelSession, keys: Iterator[str], read_wording: Callable[[], str], console: Console) -> bool:
    """Take the next key that means something; False: the review ends here."""
    for key in keys:
        if key == STOP:
            return False
        if key == REWORD:
            console.print(session.reword(read_wording()), soft_wrap=True)
            return True
        if key in GRADES or key == UNDO:
            done = session.press(GRADES.get(key, key))
            console.print({KEEP: "kept", DROP: "dropped"}.get(key, done))
            return True
    return False


def _format(case: Case, question: str, session: LabelSession) -> Text:
    support = case.anchors.supports[0] if case.anchors and case.anchors.supports else None
    place = "" if support is None else " > ".join(filter(None, [support.rel_path, support.heading_path]))
    shown = Text()
    shown.append(f"\n{session.done + 1} of {session.total}   {place}\n", style="dim")
    shown.append(f"{question}\n", style="bold")
    shown.append(f"  {case.reference_answer or ''}\n")
    shown.append(HELP, style="dim")
    return shown
