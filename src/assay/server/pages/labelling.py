"""`/evaluation/label`: label one pair of question and candidate at a time, with a key for each grade.

Labels are saved at once to a file of the tenant, `.assay/labels/DATASET.labels.jsonl` for the tenant that runs the
server; `assay label --labels` reads the same file. Each label is saved under the caller's identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import numpy as np
from starlette.responses import Response

from assay.access import acts
from assay.errors import AssayError, BadValue, NothingMeasured, RecordNotFound
from assay.evaluation.labelling import KEYS, SKIP, UNDO, Label, agreement, tasks_of
from assay.records.scope import name_of
from assay.server.pages.page import Page, Pages, PageView

pages = Pages("label")
_SEED = 0


@pages.get("/evaluation/label", acts.LABEL_READ)
def list_datasets(view: PageView) -> Page:
    """List the datasets that can be labelled, and the progress of each annotator."""
    found = [_progress(view, name) for name in view.shelf.dataset_names()]
    return Page(
        template="label_datasets.html", context={"datasets": [dataset for dataset in found if dataset is not None]}
    )


def _progress(view: PageView, name: str) -> dict[str, Any] | None:
    try:
        pairs = {task.key for task in tasks_of(view.shelf.load_dataset(name))}
    except AssayError:
        return None
    done = [(name_of(who), len(pairs & labels.keys())) for who, labels in view.shelf.labels(name).items()]
    return {"name": name, "pairs": len(pairs), "done": done}


@pages.get("/evaluation/label/{dataset}", acts.LABEL_READ)
def show_pair(view: PageView) -> Page:
    """Show the caller's next pair."""
    name = _check_dataset(view)
    session = view.shelf.label_session(name)
    return Page(
        template="label.html",
        context={
            "dataset": name,
            "task": session.current,
            "done": session.done,
            "total": session.total,
            "keys": KEYS,
            # A path on the server, so only an operator sees it.
            "file": view.shelf.labels_file(name) if view.grant.allows(acts.SETTINGS_READ_ALL.policy) else None,
            "said": view.notice,
            "agreed": _measure_agreement(view.shelf.labels(name)),
            "name_of": name_of,
        },
    )


def _measure_agreement(labels: Mapping[str, Mapping[tuple[str, str], Label]]) -> Any:
    try:
        return agreement(labels, rng=np.random.default_rng(_SEED))
    except NothingMeasured:
        return None


@pages.post("/evaluation/label/{dataset}", acts.LABEL_WRITE)
def press(view: PageView) -> Response:
    """Apply a key to the pair that the browser showed; if that pair has been labelled meanwhile, do nothing."""
    name, key = _check_dataset(view), view.form_value("key")
    if key not in (*KEYS, SKIP, UNDO):
        raise BadValue(f"there is no key {key!r}", remedy="Press 0 to 3, s or u.")
    view.shelf.claim_labels(name)
    session = view.shelf.label_session(name)
    task = session.current
    seen = (view.form.get("case", ""), view.form.get("document", ""))
    said = session.press(key) if key == UNDO or (task is not None and task.key == seen) else "already answered"
    return view.go_to(f"/evaluation/label/{quote(name)}", said)


def _check_dataset(view: PageView) -> str:
    """Return the name of a dataset from the address if the caller may see it; paths are not accepted."""
    name = view.path["dataset"]
    if name not in view.shelf.dataset_names():
        raise RecordNotFound(f"there is no dataset {name!r}", remedy="Choose one from the list.")
    return name
