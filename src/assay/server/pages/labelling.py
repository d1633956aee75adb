"""Labels of people: grades of pairs, and the review of proposed questions.

- `/evaluation/label`: grade one pair of a question and a document at a time, with the keys of `assay label`.
- `/evaluation/review`: keep, reword or drop one proposed question at a time, with the keys of `assay start`.

Labels are saved in the labels folder beside the runs, as `DATASET.labels.jsonl` for the tenant that runs the
server; `assay label --labels` reads the same file. Each label is saved under the caller's identity. The page holds the
next pairs, so that a key shows the next one at once; the script sends keys in the order they were pressed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import numpy as np
from starlette.responses import JSONResponse, Response

from assay.access import acts
from assay.errors import AssayError, BadValue, NothingMeasured, RecordNotFound
from assay.evaluation.datasets.bundled import list_bundled
from assay.evaluation.datasets.checks import is_unlabelled
from assay.evaluation.datasets.registry import Imported, next_version
from assay.evaluation.labelling import KEYS, SKIP, UNDO, Label, Task, agreement, tasks_of
from assay.memory.searching.highlighting import TextPiece, mark_matches
from assay.records.datasets import (
    AgreementReport,
    Dataset,
    ProposedQuestions,
    ReviewDecision,
    ReviewedQuestion,
    ReviewState,
)
from assay.records.scope import name_of
from assay.server.pages.page import Page, Pages, PageView, go_to
from assay.verbs import datasets as dataset_verbs

pages = Pages("label")
AHEAD = 20
"""Pairs that a page holds: the one to grade, and the next ones."""
SHOWN_FIRST = 6_000
"""Characters of a document that are shown before all of it is asked for."""
MOST_PRESSED = 200
"""Keys that one request may carry."""
DISAGREEMENTS = 10
_SEED = 0


class ShownPair(NamedTuple):
    """A pair as the page shows it."""

    task: Task
    pieces: tuple[TextPiece, ...]
    rest: int
    """Characters that are not shown."""


@pages.get("/evaluation/label", acts.LABEL_READ)
def list_datasets(view: PageView) -> Page:
    """List the datasets that can be labelled, and the progress of each annotator."""
    found = [_progress(view, name) for name in view.shelf.dataset_names()]
    return Page(
        template="label_datasets.html", context={"datasets": [dataset for dataset in found if dataset is not None]}
    )


def _progress(view: PageView, name: str) -> dict[str, Any] | None:
    try:
        loaded = view.shelf.load_dataset(name)
        pairs = {task.key for task in tasks_of(loaded)}
    except AssayError:
        return None
    done = [(name_of(who), len(pairs & labels.keys())) for who, labels in view.shelf.labels(name).items()]
    proposed = sum(map(is_unlabelled, loaded.cases))
    return {"name": name, "pairs": len(pairs), "done": done, "proposed": proposed}


# --- Grades of pairs ---


@pages.get("/evaluation/label/{dataset}", acts.LABEL_READ)
def show_pair(view: PageView) -> Page:
    """Show the caller's next pair, and hold those after it."""
    name = _check_dataset(view)
    loaded = view.shelf.load_dataset(name)
    session = view.shelf.label_session(name, loaded)
    labels = view.shelf.labels(name)
    whole = view.query_value("whole") == "yes"
    tasks = session.upcoming(1 if whole else AHEAD)
    return Page(
        template="label.html",
        context={
            "dataset": name,
            "pairs": [_show(task, whole=whole) for task in tasks],
            "done": session.done,
            "total": session.total,
            "keys": KEYS,
            "proposed": sum(map(is_unlabelled, loaded.cases)),
            "may_label": view.grant.allows(acts.LABEL_WRITE.policy),
            # A path on the server, so only an operator sees it.
            "file": view.shelf.labels_file(name) if view.grant.allows(acts.SETTINGS_READ_ALL.policy) else None,
            "said": view.notice,
            "annotators": {name_of(who): len(own) for who, own in labels.items()},
            "agreed": _measure_agreement(labels),
            "name_of": name_of,
            "most_disagreements": DISAGREEMENTS,
            **_describe_applying(view, loaded.version, labels),
        },
    )


def _show(task: Task, *, whole: bool) -> ShownPair:
    text = task.text if whole else task.text[:SHOWN_FIRST]
    return ShownPair(task, mark_matches(task.query, text), len(task.text) - len(text))


def _measure_agreement(labels: Mapping[str, Mapping[tuple[str, str], Label]]) -> AgreementReport | None:
    try:
        return agreement(labels, rng=np.random.default_rng(_SEED))
    except NothingMeasured:
        return None


def _describe_applying(
    view: PageView, version: str, labels: Mapping[str, Mapping[tuple[str, str], Label]]
) -> dict[str, Any]:
    """Return what the form for a new version of the dataset says, and the version that was just written."""
    imports, name = view.shelf.list_imports(), view.path["dataset"]
    target = f"{name}-labelled" if name in list_bundled() else name
    versions = [card.version for card in imports if card.name == target]
    written = _find_written(imports, view.query_value("written"))
    return {
        "graded": sum(label.grade is not None for own in labels.values() for label in own.values()),
        "target": target,
        "version": next_version(versions[-1] if versions else version),
        "written": written,
        "may_apply": view.grant.allows(acts.LABEL_APPLY.policy),
    }


def _find_written(imports: list[Imported], wanted: str) -> Imported | None:
    return next((card for card in imports if f"{card.name}@{card.version}" == wanted), None)


@pages.post("/evaluation/label/{dataset}", acts.LABEL_WRITE)
def press(view: PageView) -> Response:
    """Apply keys to the pairs that the browser showed; a pair that has been labelled meanwhile stays as it is."""
    name = _check_dataset(view)
    if view.form.get("presses"):
        return _press_many(view, name)
    key = view.form_value("key")
    _check_key(key)
    view.shelf.claim_labels(name)
    session = view.shelf.label_session(name)
    case, document = view.form.get("case", ""), view.form.get("document", "")
    done = session.press_on(key, (case, document))
    if done:
        record_labels(view, name, [(case, document, key)])
    return view.go_to(f"/evaluation/label/{quote(name)}", done or "already answered")


def _press_many(view: PageView, name: str) -> Response:
    """Apply the keys of a script in their order; the reply says how many were kept."""
    presses = _read_presses(view.form["presses"])
    view.shelf.claim_labels(name)
    session = view.shelf.label_session(name)
    kept = [press for press in presses if session.press_on(press[2], press[:2])]
    if kept:
        record_labels(view, name, kept)
    return JSONResponse({"kept": len(kept), "done": session.done, "total": session.total})


def record_labels(view: PageView, dataset: str, presses: Sequence[tuple[str, str, str]]) -> None:
    """Write one line into the audit log for the pairs of case and document that somebody labelled, with the keys."""
    with view.engine.store.writing(view.scope) as work:
        work.audit.append("label.write", dataset, {"labels": [list(press) for press in presses]})


def _read_presses(text: str) -> list[tuple[str, str, str]]:
    try:
        found = json.loads(text)
        presses = [(str(case), str(document), str(key)) for case, document, key in found]
    except (ValueError, TypeError, RecursionError) as problem:
        raise BadValue("presses is not a list of pairs and keys", remedy="Load the page again.") from problem
    if len(presses) > MOST_PRESSED:
        raise BadValue(f"{len(presses):,} keys are sent at once", remedy=f"Send up to {MOST_PRESSED}.")
    for _, _, key in presses:
        _check_key(key)
    return presses


def _check_key(key: str) -> None:
    if key not in (*KEYS, SKIP, UNDO):
        raise BadValue(f"there is no key {key!r}", remedy="Press 0 to 3, s or u.")


@pages.post("/evaluation/label/{dataset}/apply", acts.LABEL_APPLY)
def apply(view: PageView) -> Response:
    """Write everybody's labels into a new version of the dataset."""
    name = _check_dataset(view)
    target, version = view.form_value("name").strip(), view.form_value("version").strip()
    if target in list_bundled():
        raise BadValue(f"{target} comes with Assay and does not change", remedy="Choose another name for the copy.")
    card, _ = view.shelf.apply_labels(name, name=target, version=version)
    with view.engine.store.writing(view.scope) as work:
        work.audit.append("label.apply", card.name, {"version": card.version, "from": name})
    return go_to(f"/evaluation/label/{quote(name)}?{urlencode({'written': f'{card.name}@{card.version}'})}")


# --- Review of proposed questions ---

DECISIONS = {"k": ReviewDecision.KEEP, "d": ReviewDecision.DROP, "u": ReviewDecision.UNDO}
"""What each key decides; `e` takes the cursor to the wording."""
MOST_LISTED = 500


@pages.get("/evaluation/review/{dataset}", acts.LABEL_READ)
def show_question(view: PageView) -> Page:
    """Show the question that the address names, or else the first that nobody decided about."""
    name = _check_dataset(view)
    found = view.call(dataset_verbs.PROPOSALS, name=name)
    shown = _choose_question(found, view.query_value("case"))
    loaded = view.shelf.load_dataset(name)
    return Page(
        template="question_review.html",
        context={
            "dataset": name,
            "found": found,
            "shown": shown,
            "pair": None if shown is None else _show_source(loaded, shown),
            "listed_questions": found.questions[:MOST_LISTED],
            "may_label": view.grant.allows(acts.LABEL_WRITE.policy),
            "said": view.notice,
            **_describe_applying(view, loaded.version, view.shelf.labels(name)),
        },
    )


def _choose_question(found: ProposedQuestions, wanted: str) -> ReviewedQuestion | None:
    if wanted:
        named = next((question for question in found.questions if question.case_id == wanted), None)
        if named is None:
            raise RecordNotFound(f"there is no proposed question {wanted!r}", remedy="Choose one from the list.")
        return named
    return next((question for question in found.questions if question.state is ReviewState.OPEN), None)


def _show_source(dataset: Dataset, question: ReviewedQuestion) -> ShownPair | None:
    """The part of the document that the question was made from, with the words that answer it marked."""
    task = next((task for task in tasks_of(dataset) if task.case_id == question.case_id), None)
    if task is None:
        return None
    # The pair to be graded begins with the heading and the quotation, which stand in the text again.
    opening = "\n\n".join(filter(None, [question.heading_path, *question.quotes]))
    text = task.text.removeprefix(opening).strip() or task.text
    return _show(replace(task, query=f"{question.question} {question.answer}", text=text), whole=False)


@pages.post("/evaluation/review/{dataset}", acts.LABEL_WRITE)
def decide(view: PageView) -> Response:
    """Keep, reword or drop a question, or undo the last decision, and show the next question."""
    name, key = _check_dataset(view), view.form_value("key")
    if key not in DECISIONS:
        raise BadValue(f"there is no key {key!r}", remedy="Press k, d or u.")
    decision, address = DECISIONS[key], f"/evaluation/review/{quote(name)}"
    if decision is ReviewDecision.UNDO:
        case = view.form_value("last")
        view.call(dataset_verbs.REVIEW, name=name, case_id=case, decision=decision)
        return view.go_to(f"{address}?{urlencode({'case': case})}", "Undone.")
    wording = None
    if decision is ReviewDecision.KEEP and view.form_value("wording") != view.form.get("asked"):
        wording = view.form["wording"]
    found = view.call(
        dataset_verbs.REVIEW, name=name, case_id=view.form_value("case"), decision=decision, wording=wording
    )
    question = next(question for question in found.questions if question.case_id == view.form["case"])
    return view.go_to(address, f"{question.state.value.capitalize()}: {question.question}")


def _check_dataset(view: PageView) -> str:
    """Return the name of a dataset from the address if the caller may see it; paths are not accepted."""
    name = view.path["dataset"]
    if name not in view.shelf.dataset_names():
        raise RecordNotFound(f"there is no dataset {name!r}", remedy="Choose one from the list.")
    return name
