"""One person's way through the tasks: which pair is next, and what each key does to it."""

from __future__ import annotations

from collections.abc import Sequence

from assay.evaluation.labelling.journal import LabelJournal, Pressed, standing
from assay.evaluation.labelling.tasks import Task

KEYS = {"0": "not relevant", "1": "on the subject", "2": "a part of the answer", "3": "the answer"}
UNDO, SKIP, QUIT = "u", "s", "q"


class LabelSession:
    """Goes on where the journal says that this person stopped."""

    def __init__(self, tasks: Sequence[Task], journal: LabelJournal, annotator: str) -> None:
        self._tasks = {one.key: one for one in tasks}
        self._journal = journal
        self._annotator = annotator
        known = standing(journal.labels()).get(annotator, {})
        self._done = [key for key in known if key in self._tasks]
        self.ended = False

    @property
    def total(self) -> int:
        """How many pairs there are."""
        return len(self._tasks)

    @property
    def done(self) -> int:
        """How many of them were answered or skipped."""
        return len(self._done)

    @property
    def current(self) -> Task | None:
        """The pair to look at; None when all are done, or the person had enough."""
        if self.ended:
            return None
        answered = set(self._done)
        return next((task for key, task in self._tasks.items() if key not in answered), None)

    def press(self, key: str) -> str:
        """Do what a key says and write it down; gives back what was done, in words. Other keys do nothing."""
        task = self.current
        if key == QUIT:
            self.ended = True
            return "stopped"
        if key == UNDO:
            return self._undo()
        if task is None or key not in (*KEYS, SKIP):
            return ""
        pressed = Pressed.SKIP if key == SKIP else Pressed.GRADE
        self._journal.add(task.key, self._annotator, pressed, None if key == SKIP else int(key))
        self._done.append(task.key)
        return "skipped" if key == SKIP else f"{key}: {KEYS[key]}"

    def _undo(self) -> str:
        """Take back what this person said last, in this session or an earlier one."""
        if not self._done:
            return "nothing to undo"
        key = self._done.pop()
        self._journal.add(key, self._annotator, Pressed.UNDO)
        return "undone"
