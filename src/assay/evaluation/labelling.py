"""Labelling by hand: tasks, sessions, the file of labels, and agreement. Grades in a store: `stored_grades`.

- Tasks: pairs of a question and a candidate.
- The file of labels: appended, never changed.
- One person's way through the tasks.
- Labels into a dataset.
- Agreement between people.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, MalformedFile, NothingMeasured
from assay.evaluation.datasets.checks import ACCEPTED, is_generated
from assay.formats.files import write_lines, writing
from assay.formats.strict_json import Keys, build_or_refuse, one_line, raise_it, read_lines
from assay.private_files import make_private_folder, open_private
from assay.records import heading_path, values
from assay.records.datasets import AgreementReport, Case, Dataset, Disagreement, Document, Grade, Pairwise
from assay.records.evidence import HIGHEST_GRADE, JudgmentSource
from assay.records.fields import allow, one_of, require
from assay.statistics import cohen_kappa, krippendorff_alpha
from assay.text.sections import document_sections

if TYPE_CHECKING:
    import numpy as np

    from assay.clock import Clock
    from assay.records.answers import GoldSupport


# --- Tasks: pairs of a question and a candidate ---

FILE_NAME = "to_label.jsonl"
FROM_TRACE = "from-trace"
"""The tag of a case that was made of a trace. Documents that were retrieved for it bear its id as a tag."""
FROM_SEARCH = "from-search"
"""The same of a case that was made of a search of the log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One pair."""

    case_id: str
    query: str
    document_id: str
    title: str = ""
    text: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What a label is about."""
        return self.case_id, self.document_id


def tasks_of(dataset: Dataset) -> list[Task]:
    """Every graded or anchored document of every case, and what recorded cases retrieved, case by case."""
    recorded = {FROM_TRACE, FROM_SEARCH}
    retrieved: dict[str, list[str]] = {case.id: [] for case in dataset.cases if not recorded.isdisjoint(case.tags)}
    for document in dataset.documents if retrieved else ():
        for tag in document.tags:
            if tag in retrieved:
                retrieved[tag].append(document.id)
    found = [task for case in dataset.cases for task in _of_case(dataset, case, retrieved.get(case.id, ()))]
    if not found:
        raise NothingMeasured(
            f"{dataset.name} names no document that could be labelled",
            remedy=f"Give the {FILE_NAME} that `assay dataset build` wrote.",
        )
    return found


def _of_case(dataset: Dataset, case: Case, retrieved: Iterable[str]) -> Iterator[Task]:
    supports = case.anchors.supports if case.anchors is not None else ()
    by_path = {document.rel_path: document for document in dataset.documents if document.rel_path}
    for support in supports:
        yield _task(case, support.rel_path, by_path.get(support.rel_path), support)
    for ident in dict.fromkeys([*(grade.document_id for grade in case.grades), *retrieved]):
        yield _task(case, ident, dataset.by_id.get(ident), None)


def _task(case: Case, ident: str, document: Document | None, support: GoldSupport | None) -> Task:
    whole = "" if document is None else document.text
    parts = [whole] if support is None else [support.heading_path, *support.snippets, _part(document, support)]
    return Task(
        case_id=case.id,
        query=case.query,
        document_id=ident if document is None or support is not None else document.id,
        title=ident if document is None else document.title,
        text="\n\n".join(filter(None, parts)),
    )


def _part(document: Document | None, support: GoldSupport) -> str:
    """The text under the heading that an anchor names; the whole document where there is none."""
    if document is None:
        return ""
    found = document_sections(document.text, rel_path=document.rel_path, format=document.format)
    under = [section.text for section in found if heading_path.lies_under(section.heading_path, support.heading_path)]
    return "".join(under).strip() if support.heading_path and under else document.text


def write_tasks(path: Path, tasks: Iterable[Task]) -> None:
    """Write one pair a line, for the owner's eyes only: the texts may come from a memory."""
    write_lines(path, (one_line(_task_fields(task)) for task in tasks), private=True)


def read_tasks(path: Path) -> list[Task]:
    """What `write_tasks` wrote."""
    found = [build_or_refuse(place, _read, raise_it) for place in read_lines(path, raise_it)]
    if not found:
        raise NothingMeasured(f"{path} holds nothing to label", remedy="Build it again: `assay dataset build`.")
    return found


def _task_fields(task: Task) -> dict[str, Any]:
    return {
        "case": task.case_id,
        "query": task.query,
        "document": task.document_id,
        "title": task.title,
        "text": task.text,
    }


def _read(value: Any) -> Task:
    keys = Keys(value, "the pair")
    found = Task(
        case_id=keys.need("case"),
        query=keys.need("query"),
        document_id=keys.need("document"),
        title=keys.take("title", ""),
        text=keys.take("text", ""),
    )
    keys.check_none_left()
    return found


# --- The file of labels: appended, never changed ---
#
# Undoing is a line too. What stands is what is left when every line has been followed in order; a torn last line, as a
# power cut leaves it, does not count. Several people may write to one file at once.


LABELS = "labels.jsonl"
"""What the file is called beside a dataset."""


class Pressed(StrEnum):
    """What a key means."""

    GRADE = "grade"
    SKIP = "skip"
    UNDO = "undo"
    REWORD = "reword"
    """The question of the case is asked in other words from now on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """One key press."""

    case_id: str
    document_id: str
    annotator: str
    at: datetime
    pressed: Pressed
    grade: int | None = None
    wording: str | None = None
    """The question in other words; the original ones where it is empty."""

    def __post_init__(self) -> None:
        require(self, values.short_label, "case_id", "document_id", "annotator")
        allow(self, values.text, "wording")
        if (self.wording is not None) != (self.pressed is Pressed.REWORD):
            raise MalformedFile(
                f"a line says {self.pressed} with the wording {self.wording!r}",
                remedy="Only a reworded question has a wording.",
            )
        require(self, values.moment, "at")
        require(self, one_of(Pressed), "pressed")
        allow(self, values.count, "grade")
        if (self.grade is not None) != (self.pressed is Pressed.GRADE) or (self.grade or 0) > HIGHEST_GRADE:
            raise MalformedFile(
                f"a line says {self.pressed} with the grade {self.grade}",
                remedy=f"A grade is from 0 to {HIGHEST_GRADE}, and nothing else has one.",
            )

    @property
    def key(self) -> tuple[str, str]:
        """What it is about."""
        return self.case_id, self.document_id


class LabelJournal:
    """Reads and adds to one file of labels."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self.path = path
        self._clock = clock

    def add(
        self,
        key: tuple[str, str],
        annotator: str,
        pressed: Pressed,
        grade: int | None = None,
        *,
        wording: str | None = None,
    ) -> Label:
        """Write one key press down; it is on the disk when this returns."""
        case, document = key
        label = Label(
            case_id=case,
            document_id=document,
            annotator=annotator,
            at=self._clock.now(),
            pressed=pressed,
            grade=grade,
            wording=wording,
        )
        line = json.dumps(_label_fields(label), ensure_ascii=False, allow_nan=False).encode() + b"\n"
        with writing(self.path):
            make_private_folder(self.path.parent)
            descriptor = open_private(self.path, os.O_RDWR | os.O_APPEND)
            try:
                # A torn line before this one must not swallow it.
                os.write(descriptor, b"\n" + line if _is_torn(descriptor) else line)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        return label

    def labels(self) -> list[Label]:
        """Every key press, in order."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")
        found = []
        for number, line in enumerate(lines, start=1):
            if line.strip():
                label = self._read(line, number)
                found += [] if label is None else [label]
        return found

    def _read(self, line: bytes, number: int) -> Label | None:
        try:
            whole = json.loads(line)
        except ValueError:
            return None  # a torn line; nothing that was acknowledged looks like it
        try:
            return _label(whole)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise MalformedFile(
                f"{self.path}, line {number:,} is not a label: {problem}",
                remedy="Take the line out, or name another file.",
            ) from problem


def standing(labels: Iterable[Label]) -> dict[str, dict[tuple[str, str], Label]]:
    """By annotator and pair: the last label that was not undone."""
    pressed: dict[str, list[Label]] = {}
    for label in labels:
        if label.pressed is Pressed.REWORD:
            continue  # says nothing about the pair; `rewordings` reads it
        own = pressed.setdefault(label.annotator, [])
        if label.pressed is not Pressed.UNDO:
            own.append(label)
        elif own:
            # Undone is the last label of that pair: grades given elsewhere, as in the debugger, stay.
            places = [place for place, earlier in enumerate(own) if earlier.key == label.key]
            own.pop(places[-1] if places else -1)
    return {annotator: {label.key: label for label in own} for annotator, own in pressed.items()}


def rewordings(labels: Iterable[Label]) -> dict[str, str]:
    """The question of each reworded case, as it was worded last, whoever did it; an empty wording takes it back."""
    last = {label.case_id: label.wording or "" for label in labels if label.pressed is Pressed.REWORD}
    return {case: wording for case, wording in last.items() if wording}


def _is_torn(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def _label_fields(label: Label) -> dict[str, Any]:
    own = {Pressed.GRADE: label.grade, Pressed.REWORD: label.wording}
    said: dict[str, Any] = {label.pressed.value: own.get(label.pressed, True)}
    return {
        "case": label.case_id,
        "document": label.document_id,
        **said,
        "annotator": label.annotator,
        "at": label.at.isoformat(),
    }


def _label(whole: Mapping[str, Any]) -> Label:
    pressed = next((key for key in Pressed if key.value in whole), None)
    if pressed is None:
        raise ValueError("it has neither a grade nor a skip nor an undo")
    return Label(
        case_id=whole["case"],
        document_id=whole["document"],
        annotator=whole["annotator"],
        at=datetime.fromisoformat(whole["at"]),
        pressed=pressed,
        grade=whole.get("grade"),
        wording=whole.get("reword"),
    )


def labels_beside(dataset: str) -> Path:
    """Return where the labels of a dataset lie unless another file is named: in or beside it, or in this folder."""
    path = Path(dataset)
    if path.is_dir():
        return path / LABELS
    return path.with_name(LABELS) if path.is_file() else Path(f"{dataset.replace('@', '-')}.{LABELS}")


def read_standing(journal: LabelJournal) -> Stands:
    """Return the labels in force, by annotator; raises `InputError` when there are none yet."""
    labels = journal.labels()
    if not labels:
        raise InputError(f"{journal.path} has no labels yet", remedy="Label first: `assay label DATASET`.")
    return standing(labels)


# --- One person's way through the tasks ---

KEYS = {"0": "not relevant", "1": "on the subject", "2": "a part of the answer", "3": "the answer"}
UNDO, SKIP, QUIT, REWORD = "u", "s", "q", "e"


class LabelSession:
    """Continues where the journal shows that this person stopped."""

    def __init__(self, tasks: Sequence[Task], journal: LabelJournal, annotator: str) -> None:
        self._tasks = {task.key: task for task in tasks}
        self._journal = journal
        self._annotator = annotator
        labels = journal.labels()
        known = standing(labels).get(annotator, {})
        self._done = [key for key in known if key in self._tasks]
        self._first_words = {task.case_id: task.query for task in tasks}
        for case, wording in rewordings(labels).items():
            self._word(case, wording)
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

    def upcoming(self, most: int) -> list[Task]:
        """The next pairs that were not answered yet, in order."""
        answered = set(self._done)
        return list(islice((task for key, task in self._tasks.items() if key not in answered), most))

    def press_on(self, key: str, pair: tuple[str, str]) -> str:
        """Apply a key to one pair, in any order, and record it; return a description, empty where it does nothing.

        A pair that was answered already is left as it is; `u` undoes the last answer of this person.
        """
        if key == UNDO:
            return self._undo()
        if pair not in self._tasks or pair in self._done or key not in (*KEYS, SKIP):
            return ""
        return self._answer(key, pair)

    def press(self, key: str) -> str:
        """Apply a key and record it; return a description of what was done. Other keys do nothing."""
        task = self.current
        if key == QUIT:
            self.ended = True
            return "stopped"
        if key == UNDO:
            return self._undo()
        if task is None or key not in (*KEYS, SKIP):
            return ""
        return self._answer(key, task.key)

    def reword(self, wording: str) -> str:
        """Ask the question of the current pair in other words, or, with none, in its first ones; say what was done."""
        task = self.current
        if task is None:
            return ""
        wording = " ".join(wording.split())
        self._journal.add(task.key, self._annotator, Pressed.REWORD, wording=wording)
        self._word(task.case_id, wording or self._first_words[task.case_id])
        return f"reworded: {wording}" if wording else "first wording"

    def _word(self, case: str, wording: str) -> None:
        for key, task in self._tasks.items():
            if task.case_id == case:
                self._tasks[key] = replace(task, query=wording)

    def _answer(self, key: str, pair: tuple[str, str]) -> str:
        pressed = Pressed.SKIP if key == SKIP else Pressed.GRADE
        self._journal.add(pair, self._annotator, pressed, None if key == SKIP else int(key))
        self._done.append(pair)
        return "skipped" if key == SKIP else f"{key}: {KEYS[key]}"

    def _undo(self) -> str:
        """Undo this person's last label, of this session or an earlier one."""
        if not self._done:
            return "nothing to undo"
        key = self._done.pop()
        self._journal.add(key, self._annotator, Pressed.UNDO)
        return "undone"


# --- Labels into a dataset ---

Stands = Mapping[str, Mapping[tuple[str, str], Label]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Applied:
    """A dataset with labels in it."""

    dataset: Dataset
    grades: int
    """Given by people."""
    accepted: int
    """Generated cases that count from now on."""
    rejected: int
    """Generated cases that people found wrong; they are gone."""
    strangers: int
    """Labels of cases that the dataset does not have."""
    reworded: int
    """Cases whose question was put in other words."""


def apply_labels(dataset: Dataset, stands: Stands, reworded: Mapping[str, str] | None = None) -> Applied:
    """A copy of the dataset with every label that is in force, and with questions in other words, by case."""
    worded = [
        replace(case, query=reworded[case.id]) if reworded and case.id in reworded else case for case in dataset.cases
    ]
    changed = sum(case is not before for case, before in zip(worded, dataset.cases, strict=True))
    dataset = replace(dataset, cases=tuple(worded)) if changed else dataset
    by_case: dict[str, list[Label]] = {}
    for of in stands.values():
        for label in of.values():
            if label.grade is not None:
                by_case.setdefault(label.case_id, []).append(label)
    cases = [_apply_to_case(case, by_case.get(case.id, []), dataset.relevance_level) for case in dataset.cases]
    kept = tuple(case for case in cases if case is not None)
    known = {case.id for case in dataset.cases}
    return Applied(
        dataset=replace(dataset, cases=kept),
        grades=sum(len(of) for case, of in by_case.items() if case in known),
        accepted=sum(is_generated(case) and ACCEPTED in case.tags and bool(by_case.get(case.id)) for case in kept),
        rejected=len(cases) - len(kept),
        strangers=sum(len(of) for case, of in by_case.items() if case not in known),
        reworded=sum(case.id in (reworded or {}) for case in kept),
    )


def _apply_to_case(case: Case, labels: list[Label], level: int) -> Case | None:
    """Apply labels to a case; None where people rejected a generated case."""
    if not labels:
        return case
    if case.anchors is None:
        return replace(case, grades=_grades(case, labels), tags=_tags(case))
    if not is_generated(case):
        return case
    return replace(case, tags=_tags(case)) if max(label.grade or 0 for label in labels) >= level else None


def _grades(case: Case, labels: list[Label]) -> tuple[Grade, ...]:
    """The grades of a case with those of people; a grade that nobody signed gives way to a person's own."""
    given = {
        (label.document_id, JudgmentSource.MANUAL, label.annotator): Grade(
            document_id=label.document_id, grade=label.grade or 0, annotator=label.annotator
        )
        for label in labels
    }
    regraded = {label.document_id for label in labels}
    before = {
        (grade.document_id, grade.source, grade.annotator): grade
        for grade in case.grades
        if grade.annotator or grade.source is not JudgmentSource.MANUAL or grade.document_id not in regraded
    }
    return tuple({**before, **given}.values())


def _tags(case: Case) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*case.tags, *([ACCEPTED] if is_generated(case) else [])]))


# --- Agreement between people ---

GRADES = tuple(range(HIGHEST_GRADE + 1))


def agreement(stands: Mapping[str, Mapping[tuple[str, str], Label]], *, rng: np.random.Generator) -> AgreementReport:
    """Grades in force, by annotator; skipped pairs have no grade."""
    graded = {
        who: {key: label.grade for key, label in of.items() if label.grade is not None} for who, of in stands.items()
    }
    graded = {who: of for who, of in sorted(graded.items()) if of}
    keys = sorted({key for of in graded.values() for key in of})
    twice = [key for key in keys if sum(key in of for of in graded.values()) > 1]
    if not twice:
        raise NothingMeasured(
            f"no pair was graded by two people; there are {len(graded)}",
            remedy="Let a second person label the same pairs: `assay label ... --annotator NAME`.",
        )
    rows = [[of.get(key) for of in graded.values()] for key in twice]
    return AgreementReport(
        annotators={who: len(of) for who, of in graded.items()},
        pairwise=tuple(_pairwise(graded, rng)),
        alpha=krippendorff_alpha(rows, rng=rng, scale="ordinal", categories=GRADES),
        disagreements=_disagreements(graded, twice),
    )


def _pairwise(graded: Mapping[str, Mapping[tuple[str, str], int]], rng: np.random.Generator) -> list[Pairwise]:
    found = []
    for first, second in combinations(graded, 2):
        both = sorted(graded[first].keys() & graded[second].keys())
        if both:
            left, right = ([graded[who][key] for key in both] for who in (first, second))
            kappa = cohen_kappa(left, right, rng=rng, weights="quadratic", categories=GRADES)
            same = sum(value == other for value, other in zip(left, right, strict=True))
            found.append(Pairwise(first, second, len(both), same, kappa))
    return found


def _disagreements(
    graded: Mapping[str, Mapping[tuple[str, str], int]], keys: list[tuple[str, str]]
) -> tuple[Disagreement, ...]:
    all_ = [Disagreement(*key, {who: of[key] for who, of in graded.items() if key in of}) for key in keys]
    return tuple(
        sorted(
            (disagreement for disagreement in all_ if disagreement.apart),
            key=lambda item: (-item.apart, item.case_id, item.document_id),
        )
    )
