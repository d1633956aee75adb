"""Answering without a model: `python -m bench.answers --data DIR [--cache DIR] [--write] [--json]`.

Each set is searched by the real pipeline (rule planner, all channels, the bundled model). A question counts as
unanswerable when its set says so, or when every document that answers it was taken out of the store (`taken away`).
The probability that passages answer a question (`judging.builtin.answerability`) is fitted on all sets but the one
that is measured. Printed for each set: how many answerable questions are declined and how many unanswerable ones of
each kind are answered, at the threshold of 0.5 that is shipped and at the threshold where 15 % of the set's own
unanswerable questions are answered; and how many of the answers that are given hold the reference answer.

`--write` replaces the coefficients in the repository by those fitted on all sets; without it the program says whether
they are the same.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.evaluation.datasets import load_dataset
from assay.evaluation.datasets.bundled import find_bundled
from assay.hashing import bucket
from assay.judging.builtin import answerability, judges
from assay.judging.builtin.answerability import evidence_features, rank_sentences
from assay.judging.builtin.support import Evidence
from assay.memory.engine import Engine
from assay.memory.saving import Refused
from assay.metrics.reference_text import MATCH_SHARE, content_words, has_reference, numbers
from assay.records import Draft, Format, Scope
from assay.records.research import Passage
from assay.research.planner import RulePlanner
from assay.research.search import MemorySearch, SearchLimits
from assay.research.synthesiser import ExtractiveSynthesiser
from assay.settings import Settings
from assay.systems.assay_engine import take_in
from assay.testing import FixedClock
from assay.text.questions import read_question
from assay.text.statements import statements
from assay.wiring import open_engine
from bench.collections import read_grades, read_lines
from bench.fit_judge import Example, fitted, keep_coefficients
from bench.judge import auroc
from bench.remembered import RememberedEmbedder

SCOPE = Scope()
BUNDLED, PUBLIC = ("hotel", "vault"), ("clapnq", "mtrag", "squad2")
FITTED_ON = ("hotel", "vault", "clapnq", "mtrag")
"""Questions of squad2 are changed answerable questions, made to mislead: they are measured and not fitted on."""
TAKEN = "taken away"
MOST_WRONG = 0.15
"""The share of unanswerable questions that may be answered."""
GOALS = {"hotel": 0.15, "vault": 0.35, "clapnq": 0.30, "mtrag": 0.30}
"""The share of answerable questions that may be declined there."""
COUNTED = {"hotel": (TAKEN,), "vault": (TAKEN,), "clapnq": ("unanswerable",), "mtrag": ("unanswerable",), "squad2": ()}
"""The unanswerable questions of each set that its threshold of 15 % is taken from."""
PROFILES = {answerability.FOUND: ("score", "standing", "sentence"), answerability.FOUND_WORDS: ("words",)}
SQUAD2 = 600
"""Questions of squad2 that are asked: the first of each paragraph, then the second, until there are so many."""
PLACE = Path(judges.__file__).parent / answerability.FILE


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedOf:
    """A question of a set."""

    id: str
    text: str
    answerable: bool
    kind: str = ""
    """Of an unanswerable question: why there is no answer."""
    group: str = ""
    answering: frozenset[str] = frozenset()
    """Documents that answer it."""
    references: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Searched:
    """A question with what was found for it."""

    asked: AskedOf
    passages: tuple[Passage, ...]
    features: dict[str, float] | None
    """None: nothing was found, so there is nothing to answer from."""


# --- The sets ---


def bundled_questions(name: str) -> list[AskedOf]:
    """Questions of a bundled dataset."""
    kinds = ("missing-detail", "false-premise", "other-entity")
    return [
        AskedOf(
            id=case.id,
            text=case.query,
            answerable=case.answerable,
            kind="" if case.answerable else next((tag for tag in kinds if tag in case.tags), "unanswerable"),
            group=case.id,
            answering=frozenset(grade.document_id for grade in case.grades if grade.grade > 0),
            references=(case.reference_answer,) if case.reference_answer else (),
        )
        for case in load_dataset(str(find_bundled(name))).cases
    ]


def public_questions(folder: Path, name: str) -> list[AskedOf]:
    """Questions of a public collection; in a conversation, with the question that the user asked before."""
    graded = read_grades(folder / name / "qrels.tsv")
    found = [_public(line, graded) for line in read_lines(folder / name / "queries.jsonl") if line["text"].strip()]
    return _spread(found, SQUAD2) if name == "squad2" else found


def _public(line: dict[str, Any], graded: dict[str, dict[str, int]]) -> AskedOf:
    about = line["metadata"]
    said = str(about.get("answerability", "")).lower()
    answerable = said in {"answerable", "partial"} if said else bool(about["answerable"])
    before = [turn["text"].strip() for turn in about.get("history", []) if turn["speaker"] == "user"]
    references = about.get("answers") or about.get("reference") or [one["answer"] for one in about.get("outputs", [])]
    return AskedOf(
        id=line["_id"],
        text=" ".join([*before[-1:], line["text"].strip()]),
        answerable=answerable,
        kind="" if answerable else said or "unanswerable",
        group=about.get("paragraph") or about.get("passage") or line["_id"].split("<")[0],
        answering=frozenset(one for one, grade in graded.get(line["_id"], {}).items() if grade > 0),
        references=tuple(text for text in references if text) if answerable else (),
    )


def _spread(questions: Sequence[AskedOf], most: int) -> list[AskedOf]:
    """Take questions of every paragraph by turns."""
    by_group: dict[str, list[AskedOf]] = {}
    for question in questions:
        by_group.setdefault(question.group, []).append(question)
    shuffled = [sorted(group, key=lambda question: bucket(question.id, "squad2")) for group in by_group.values()]
    turns = [group[turn] for turn in range(len(questions)) for group in shuffled if turn < len(group)]
    return turns[:most]


def _drafts(folder: Path, name: str) -> Iterator[Draft]:
    for line in read_lines(folder / name / "corpus.jsonl"):
        if line["text"].strip():
            title = (line.get("title") or "").strip() or line["_id"]
            yield Draft(title=title, body=line["text"], format=Format.TEXT, source_id=line["_id"])


# --- Searching them ---


def search_set(name: str, data: Path | None, cache: Path, embedder: Embedder) -> list[Searched]:
    """Ask every question of a set, and once more without the documents that answer it."""
    db = cache / "answers" / name / "assay.db"
    db.parent.mkdir(parents=True, exist_ok=True)
    with open_engine(Settings(db=str(db)), embedder=embedder, clock=FixedClock()) as engine:
        questions = _store(engine, name, data)
        memory_of = _memories(engine)
        found = []
        for question in questions:
            found.append(_search(engine, question, embedder))
            if question.answerable and question.answering:
                with without(engine, [memory_of[one] for one in question.answering if one in memory_of]):
                    gone = replace(question, answerable=False, kind=TAKEN, references=())
                    found.append(_search(engine, gone, embedder))
        return found


def _store(engine: Engine, name: str, data: Path | None) -> list[AskedOf]:
    if name in BUNDLED:
        take_in(engine, SCOPE, load_dataset(str(find_bundled(name))))
        return bundled_questions(name)
    if data is None:
        raise SystemExit(f"{name} needs --data")
    there = set(_memories(engine))
    missing = (draft for draft in _drafts(data, name) if draft.source_id not in there)
    for _, outcome in engine.saver.save_many(SCOPE, missing, batch=200):
        if isinstance(outcome, Refused):
            raise outcome.error
    engine.indexes.compact(SCOPE)
    return public_questions(data, name)


def _memories(engine: Engine) -> dict[str, str]:
    """The memory of each document."""
    found: dict[str, str] = {}
    after = ""
    with engine.store.reading(SCOPE) as work:
        while page := work.memories.page(after=after):
            after = page[-1].id
            found |= {str(memory.source_id): memory.id for memory in page if memory.source_id}
    return found


@contextmanager
def without(engine: Engine, memories: Sequence[str]) -> Iterator[None]:
    """Search as if some memories had been replaced, which no search shows."""
    with engine.store.writing(SCOPE) as work:
        before = [work.memories.get(memory) for memory in memories]
        hidden = [memory for memory in before if memory.superseded_at is None]
        for memory in hidden:
            work.memories.update(replace(memory, superseded_at=engine.clock.now()))
    try:
        yield
    finally:
        with engine.store.writing(SCOPE) as work:
            for memory in hidden:
                work.memories.update(memory)


def _search(engine: Engine, question: AskedOf, embedder: Embedder) -> Searched:
    plan = RulePlanner().plan(question.text)
    passages = MemorySearch(engine.searcher)(SCOPE, plan, SearchLimits(results=8, passages=12, widened=False)).passages
    evidence = Evidence([passage.text for passage in passages], embedder, split=statements)
    if not evidence.sentences:
        return Searched(asked=question, passages=passages, features=None)
    ranked = rank_sentences(read_question(question.text), passages, evidence)
    return Searched(asked=question, passages=passages, features=evidence_features(passages, ranked))


# --- Fitting and measuring ---


def examples_of(name: str, searched: Iterable[Searched]) -> list[Example]:
    """What a set gives to fit on: answerable questions, the same without their documents, and those it counts."""
    counted = {TAKEN, *COUNTED[name]}
    used = [one for one in searched if one.features and (one.asked.answerable or one.asked.kind in counted)]
    right = sum(one.asked.answerable for one in used)
    return [
        Example(
            dict(one.features or {}),
            one.asked.answerable,
            100.0 / (right if one.asked.answerable else len(used) - right),
            one.asked.group,
        )
        for one in used
    ]


def fit(sets: dict[str, list[Searched]], left_out: str = "") -> dict[str, Any]:
    """Every profile, fitted on all sets but one."""
    names = [name for name in FITTED_ON if name in sets and name != left_out]
    examples = [example for name in names for example in examples_of(name, sets[name])]
    return {profile: fitted(examples, features, names) for profile, features in PROFILES.items()}


def probability(profile: dict[str, Any], features: dict[str, float] | None) -> float:
    """The fitted probability; 0 where nothing was found."""
    if features is None:
        return 0.0
    stored: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in profile.items()}
    return judges.Weights(**stored).probability(features)


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """A share with its 95 % interval (Wilson)."""

    count: int
    total: int

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends."""
        z, n, p = 1.96, self.total, self.count / self.total
        middle, width = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return (middle - width) / (1 + z * z / n), (middle + width) / (1 + z * z / n)

    def __str__(self) -> str:
        """As a table shows it."""
        if not self.total:
            return "-"
        low, high = self.interval
        return f"{self.count / self.total:.0%} [{low:.0%}, {high:.0%}]"


@dataclass(frozen=True, kw_only=True, slots=True)
class AtThreshold:
    """What a threshold does to a set."""

    threshold: float
    declined: Share
    """Answerable questions that are declined."""
    wrong: dict[str, Share]
    """Unanswerable questions that are answered, by kind."""
    correct: Share
    """Answers to answerable questions that hold the reference answer, where there is one."""
    words: float | None
    """The share of the reference answer's words and numbers that an answer holds, on average; None: no answer."""
    sentences: float
    """In one answer, on average."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One set, by coefficients fitted without it."""

    name: str
    auroc: dict[str, float]
    """Answerable against each kind of unanswerable questions."""
    shipped: AtThreshold
    own: AtThreshold | None
    """Where 15 % of the set's own unanswerable questions are answered; None: no goal is set for it."""
    goal: float | None

    @property
    def is_met(self) -> bool | None:
        """Whether as few answerable questions are declined there as the goal says; None: there is none."""
        if self.own is None or self.goal is None:
            return None
        return self.own.declined.count <= self.goal * self.own.declined.total


def measure(name: str, searched: Sequence[Searched], profile: dict[str, Any], embedder: Embedder) -> Measured:
    """Measure one set."""
    chances = {id(one): probability(profile, one.features) for one in searched}
    kinds = sorted({one.asked.kind for one in searched if not one.asked.answerable})
    right = [one for one in searched if one.asked.answerable]
    wrong = {kind: [one for one in searched if one.asked.kind == kind] for kind in kinds}
    answers = {id(one): _answer(one, embedder) for one in right}

    def at(threshold: float) -> AtThreshold:
        given = [one for one in right if chances[id(one)] >= threshold]
        checked = [one for one in given if one.asked.references]
        told = [_share_held(answers[id(one)][0], one.asked.references) for one in checked]
        held = sum(
            any(has_reference(answers[id(one)][0], text, MATCH_SHARE) for text in one.asked.references)
            for one in checked
        )
        return AtThreshold(
            threshold=threshold,
            declined=Share(count=len(right) - len(given), total=len(right)),
            wrong={
                kind: Share(count=sum(chances[id(one)] >= threshold for one in those), total=len(those))
                for kind, those in wrong.items()
            },
            correct=Share(count=held, total=len(checked)),
            words=float(np.mean(told)) if told else None,
            sentences=float(np.mean([answers[id(one)][1] for one in given])) if given else 0.0,
        )

    counted = [chances[id(one)] for kind in COUNTED[name] for one in wrong.get(kind, ())]
    return Measured(
        name=name,
        auroc={kind: _auroc([chances[id(o)] for o in right], [chances[id(o)] for o in wrong[kind]]) for kind in kinds},
        shipped=at(0.5),
        own=at(_threshold(counted)) if counted else None,
        goal=GOALS.get(name),
    )


def _answer(one: Searched, embedder: Embedder) -> tuple[str, int]:
    """The answer and how many statements it has, as if every question were answered."""
    made = ExtractiveSynthesiser(embedder, answer_from=0.0).synthesise(one.asked.text, one.passages)
    return made.text, len(made.statements)


def _holds(answer: str, references: Sequence[str]) -> bool:
    """Whether an answer holds one of the reference answers."""
    return any(has_reference(answer, reference, MATCH_SHARE) for reference in references)


def _share_held(answer: str, references: Sequence[str]) -> float:
    """The share of a reference answer's words and numbers that an answer has; of several, the best."""
    has = content_words(answer) | numbers(answer)
    wanted = [content_words(reference) | numbers(reference) for reference in references]
    return max((len(has & terms) / len(terms) for terms in wanted if terms), default=0.0)


def _auroc(right: Sequence[float], wrong: Sequence[float]) -> float:
    labels = np.array([1.0] * len(right) + [0.0] * len(wrong))
    return auroc(np.array([*right, *wrong]), labels)


def _threshold(chances: Sequence[float]) -> float:
    """The lowest threshold at which at most 15 % of these are answered."""
    most = math.floor(MOST_WRONG * len(chances))
    return math.nextafter(sorted(chances, reverse=True)[most], 1.0)


# --- Printing ---


def table(measured: Sequence[Measured]) -> str:
    """Both tables in Markdown."""
    lines = ["At the threshold of 0.5 that is shipped:", ""]
    lines += _table([(one, one.shipped) for one in measured], goals=False)
    lines += ["", "At each set's own threshold, where at most 15 % of its unanswerable questions are answered:", ""]
    lines += _table([(one, one.own) for one in measured if one.own is not None], goals=True)
    return "\n".join(lines)


def _table(rows: Sequence[tuple[Measured, AtThreshold]], *, goals: bool) -> list[str]:
    head = ["set", "AUROC by kind", "answerable declined", "unanswerable answered, by kind"]
    head += ["answers with the whole reference", "its words in them", "sentences"]
    head += ["threshold", "goal: declined"] if goals else []
    lines = [f"| {' | '.join(head)} |", "| " + " | ".join(["---"] * len(head)) + " |"]
    for one, found in rows:
        ranked = "; ".join(f"{kind} {value:.2f}" for kind, value in one.auroc.items())
        wrong = "; ".join(f"{kind} {share}" for kind, share in found.wrong.items())
        words = "-" if found.words is None else f"{found.words:.0%}"
        cells = [one.name, ranked, str(found.declined), wrong, str(found.correct), words, f"{found.sentences:.1f}"]
        if goals:
            cells += [f"{found.threshold:.2f}", f"{one.goal:.0%}: {'met' if one.is_met else 'missed'}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, fit, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.answers", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the public collections")
    parser.add_argument("--cache", type=Path, help="folder that keeps stores and vectors for the next run")
    parser.add_argument("--write", action="store_true", help="replace the coefficients in the repository")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        cache = options.cache or Path(folder)
        embedder = RememberedEmbedder(load_bundled(), cache)
        names = (*BUNDLED, *(PUBLIC if options.data else ()))
        sets = {name: search_set(name, options.data, cache, embedder) for name in names}
        # Before measuring: answers are made by the coefficients in the repository, which may know other features.
        code = keep_coefficients(fit(sets), embedder.model, PLACE, write=options.write) if options.data else 0
        measured = [
            measure(name, searched, fit(sets, left_out=name)[answerability.FOUND], embedder)
            for name, searched in sets.items()
        ]
    print(json.dumps([asdict(one) for one in measured]) if options.json else table(measured))
    return code


if __name__ == "__main__":
    sys.exit(main())
