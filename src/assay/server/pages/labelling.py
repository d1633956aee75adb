"""`/evaluation/label`: one question and one candidate at a time, a key for each grade, kept at once.

Labels go into `.assay/labels/DATASET.labels.jsonl` beside the runs: the file that `assay label --labels` reads too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
from starlette.responses import Response

from assay.access import acts
from assay.errors import AssayError, BadValue, NothingMeasured, RecordNotFound
from assay.evaluation.datasets import load_dataset
from assay.evaluation.datasets.bundled import bundled_names
from assay.evaluation.labelling import LabelJournal, LabelSession, Task, agreement, standing, tasks_of
from assay.evaluation.labelling.session import KEYS, SKIP, UNDO
from assay.server.pages.viewing import Page, Pages, View, go_to

pages = Pages("label")
FOLDER = "labels"
_SEED = 0


@pages.get("/evaluation/label", acts.LABEL_READ)
def datasets(view: View) -> Page:
    """Which datasets can be labelled, and how far people have come."""
    found = [_progress(view, name) for name in _names(view)]
    return Page(template="label_datasets.html", context={"datasets": [one for one in found if one is not None]})


def _progress(view: View, name: str) -> dict[str, Any] | None:
    try:
        tasks = _tasks(view, name)
    except AssayError:
        return None
    own = standing(_journal(view, name).labels())
    known = {one.key for one in tasks}
    done = {who: len(known & stands.keys()) for who, stands in own.items()}
    return {"name": name, "pairs": len(tasks), "done": done}


@pages.get("/evaluation/label/{dataset}", acts.LABEL_READ)
def one_pair(view: View) -> Page:
    """The next pair of whoever looks."""
    name = _known(view)
    journal = _journal(view, name)
    session = LabelSession(_tasks(view, name), journal, view.scope.principal)
    return Page(
        template="label.html",
        context={
            "dataset": name,
            "task": session.current,
            "done": session.done,
            "total": session.total,
            "keys": KEYS,
            "file": str(journal.path),
            "said": view.asked("said"),
            "agreed": _agreed(journal),
        },
    )


def _agreed(journal: LabelJournal) -> Any:
    try:
        return agreement(standing(journal.labels()), rng=np.random.default_rng(_SEED))
    except NothingMeasured:
        return None


@pages.post("/evaluation/label/{dataset}", acts.LABEL_WRITE)
def press(view: View) -> Response:
    """Do what a key says, to the pair that was on the screen: a second tab answers nothing it did not show."""
    name, key = _known(view), view.filled("key")
    if key not in (*KEYS, SKIP, UNDO):
        raise BadValue(f"there is no key {key!r}", remedy="Press 0 to 3, s or u.")
    session = LabelSession(_tasks(view, name), _journal(view, name), view.scope.principal)
    task = session.current
    seen = (view.form.get("case", ""), view.form.get("document", ""))
    said = session.press(key) if key == UNDO or (task is not None and task.key == seen) else "already answered"
    return go_to(f"/evaluation/label/{quote(name)}?{urlencode({'said': said})}")


def _names(view: View) -> list[str]:
    return list(dict.fromkeys([*bundled_names(), *view.services.registry.names()]))


def _known(view: View) -> str:
    """A dataset by name alone: no path of a request is ever looked at."""
    name = view.path["dataset"]
    if name not in _names(view):
        raise RecordNotFound(f"there is no dataset {name!r}", remedy="Choose one from the list.")
    return name


def _tasks(view: View, name: str) -> list[Task]:
    return tasks_of(load_dataset(name, registry=view.services.registry))


def _journal(view: View, name: str) -> LabelJournal:
    folder: Path = view.services.lookup.runs.parent / FOLDER
    return LabelJournal(folder / f"{name.replace('@', '-')}.labels.jsonl", clock=view.clock)
