"""FactConsolidation as `bench.facts` reads it: numbered facts of which later ones replace earlier ones, and questions.

- Reading the public file.
- Answers in texts.
- What a question of one hop is about: the current fact and those it replaced.
- What a question of several hops is about: chains of current facts. The file names none, so they are derived.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import InputError, MalformedFile
from assay.text.facts import normalise_name, read_facts
from assay.text.terms import normalise_phrase, words

# --- Reading the public file ---
#
# Read are a list of rows, an object with `rows` (each the row itself or an object with `row`), and JSON lines. A row
# has `context`, `questions`, `answers` and `metadata.source`, such as `factconsolidation_sh_6k`.

_SOURCE = re.compile(r"factconsolidation_(?P<hops>sh|mh)_(?P<size>\d+k)")
_FACT = re.compile(r"^\s*(?P<number>\d+)\.\s+(?P<text>\S.*?)\s*$", re.MULTILINE)
SUFFIXES = (".json", ".jsonl")


class Question(NamedTuple):
    """One question with every answer that counts as right."""

    text: str
    answers: tuple[str, ...]


class Part(NamedTuple):
    """The facts and questions of one row."""

    name: str
    """Such as `sh_6k`."""
    facts: tuple[str, ...]
    """In the order of their numbers."""
    questions: tuple[Question, ...]

    @property
    def is_multi_hop(self) -> bool:
        """Whether a question needs several facts."""
        return self.name.startswith("mh")


def read_parts(place: Path) -> list[Part]:
    """Read every part of a file, or of the files in a folder; single hop first, then by size."""
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.suffix in SUFFIXES)
    parts = {part.name: part for file in files for row in _rows(file) if (part := _part(row, file)) is not None}
    if not parts:
        raise InputError(
            f"{place} has no part of FactConsolidation",
            remedy="Give the folder of conflict_resolution.json; a row's source is such as 'factconsolidation_sh_6k'.",
        )
    return sorted(parts.values(), key=lambda part: (part.is_multi_hop, len(part.facts)))


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    text = file.read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = [_line(line, file, number) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if isinstance(found, dict):
        found = found.get("rows", [found])
    for row in found if isinstance(found, list) else []:
        inner = row.get("row", row) if isinstance(row, dict) else None
        if isinstance(inner, dict):
            yield inner


def _line(line: str, file: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as problem:
        raise MalformedFile(
            f"{file}, line {number:,}: not JSON: {problem.msg}", remedy="Give the file as it was published."
        ) from problem


def _part(row: Mapping[str, Any], file: Path) -> Part | None:
    """One row; None where it belongs to another benchmark."""
    metadata = row.get("metadata")
    described = json.loads(metadata) if isinstance(metadata, str) else metadata or {}
    source = _SOURCE.fullmatch(str(described.get("source", row.get("source", ""))))
    if source is None:
        return None
    name = f"{source['hops']}_{source['size']}"
    facts = sorted((int(found["number"]), found["text"]) for found in _FACT.finditer(str(row.get("context", ""))))
    questions, answers = row.get("questions"), row.get("answers")
    if not facts or not questions or not answers or len(questions) != len(answers):
        raise MalformedFile(
            f"{file}: {name} has {len(facts):,} facts, {len(questions or ()):,} questions and "
            f"{len(answers or ()):,} lists of answers",
            remedy="Each part needs facts, and one list of answers for each question.",
        )
    asked = (
        Question(text, tuple(right) if isinstance(right, list) else (right,))
        for text, right in zip(questions, answers, strict=True)
    )
    return Part(name, tuple(text for _, text in facts), tuple(asked))


# --- Answers in texts ---


def states(text: str, answers: Iterable[str]) -> bool:
    """Whether the words of one of the answers stand in a text, in a row."""
    flat = f" {normalise_phrase(text)} "
    return any(f" {normalise_phrase(answer)} " in flat for answer in answers)


# --- What a question of one hop is about ---


class AskedFact(NamedTuple):
    """The current fact that answers a question, and the facts that it replaced."""

    current: str
    outdated: frozenset[str]


def find_asked_fact(question: Question, facts: Sequence[str]) -> AskedFact | None:
    """Find the fact that answers a question; None where no fact ends with an answer to it.

    In this collection a value stands at the end of its sentence. So a fact is the words before its value, and an
    earlier fact that begins with the same words gives another value of the same thing. Nothing of Assay decides this.
    """
    told = [
        (number, said)
        for number, fact in enumerate(facts)
        for answer in question.answers
        if (said := _before(fact, answer)) is not None
    ]
    if not told:
        return None
    # The fact that shares the rarest words with the question; of several the newest.
    asked, common = set(words(question.text)), Counter(word for fact in facts for word in set(words(fact)))
    number, stem = max(told, key=lambda pair: (sum(1 / common[word] for word in asked & set(words(pair[1]))), pair[0]))
    older = (fact for fact in facts[:number] if fact.startswith(stem))
    return AskedFact(facts[number], frozenset(fact for fact in older if not states(fact, question.answers)))


def _before(fact: str, answer: str) -> str | None:
    """The words before a value at the end of a sentence."""
    bare, value = fact.rstrip("."), answer.rstrip(".")
    return bare.removesuffix(value) if value and bare.endswith(f" {value}") else None


# --- What a question of several hops is about ---

FEWEST_HOPS, MOST_HOPS = 2, 4
LONGEST_NAME = 12
"""Words."""
MOST_CHAINS = 20_000
"""Chains followed for one question; a name such as `basketball` leads to many."""


class Link(NamedTuple):
    """A fact that holds at the end."""

    fact: str
    subject: str
    about: str
    """The words before its value."""
    value: str


class Chains:
    """The current facts of a part, joined where the value of one is named before the value of another."""

    def __init__(self, facts: Iterable[str]) -> None:
        by_topic: dict[str, Link] = {}
        for fact in facts:
            for stated in read_facts(fact):
                about = normalise_phrase(fact[: fact.rindex(stated.shown)])
                by_topic[stated.topic] = Link(fact, stated.subject, about, normalise_name(stated.shown))
        self.links = tuple(by_topic.values())
        values = {link.value for link in self.links}
        self._about: dict[str, list[Link]] = defaultdict(list)
        for link in self.links:
            for name in {link.subject, *_names_in(link.about, values)}:
                self._about[name].append(link)

    def find(self, question: Question) -> tuple[tuple[str, ...], ...]:
        """Return the shortest chains of facts from a name in the question to an answer; all of that length."""
        right = {normalise_name(answer) for answer in question.answers}
        named = _names_in(normalise_phrase(question.text), self._about)
        chains: list[tuple[Link, ...]] = [(link,) for name in named for link in self._about[name]]
        for length in range(1, MOST_HOPS + 1):
            reached = [chain for chain in chains if chain[-1].value in right]
            if reached and length >= FEWEST_HOPS:
                return tuple(dict.fromkeys(tuple(link.fact for link in chain) for chain in reached))
            chains = [
                (*chain, link) for chain in chains for link in self._about.get(chain[-1].value, ()) if link not in chain
            ][:MOST_CHAINS]
        return ()


def _names_in(phrase: str, names: Container[str]) -> list[str]:
    """The names in a phrase; one that only stands within a longer one is left out."""
    found, tokens, reached = [], phrase.split(), 0
    for start in range(len(tokens)):
        for stop in range(min(len(tokens), start + LONGEST_NAME), max(start, reached), -1):
            if (name := " ".join(tokens[start:stop])) in names:
                found.append(name)
                reached = stop
                break
    return list(dict.fromkeys(found))
