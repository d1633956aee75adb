"""What a benchmark leaves behind: everything its numbers are computed from, as plain values.

`BenchRecords` is the content of a capsule without the numbers. `scoring` computes the numbers from it and from nothing
else, when a benchmark ends and again when a capsule is verified.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.referee.measures import count_tokens
from assay.referee.sets.overlays import AMBIGUOUS, KeyOverlay
from assay.referee.sets.values import MemorySet

Line = dict[str, Any]
RunKey = tuple[str, str, int]
"""Set, system and repeat."""


def hash_text(text: str) -> str:
    """Return a short hash that tells texts apart."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """What was asked for; every field moves a number."""

    layer: str
    systems: tuple[str, ...]
    cutoffs: tuple[int, ...]
    budget: int
    seed: int
    repeats: int = 1
    context_limit: int = 128_000
    """Tokens of a context window, for the row `full context`."""
    reader: str = ""
    judge: str = ""
    depth: int = 20
    """Results requested from every system: the largest cutoff."""

    def as_json(self) -> Line:
        """Return it as a capsule keeps it."""
        return {
            "layer": self.layer,
            "systems": list(self.systems),
            "cutoffs": list(self.cutoffs),
            "budget": self.budget,
            "seed": self.seed,
            "repeats": self.repeats,
            "context_limit": self.context_limit,
            "reader": self.reader,
            "judge": self.judge,
            "depth": self.depth,
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> BenchOptions:
        """Read it from a capsule."""
        fields = dict(line)
        return cls(**{**fields, "systems": tuple(fields["systems"]), "cutoffs": tuple(fields["cutoffs"])})


@dataclass(frozen=True, kw_only=True)
class BenchRecords:
    """Everything the numbers are computed from."""

    options: BenchOptions
    sets: Mapping[str, Line]
    """By name: counts, files, hashes, quirks, overlay."""
    systems: Mapping[str, Line]
    """By name: declaration and subject."""
    pools: Mapping[str, Mapping[str, Line]]
    """By set and user: the chat, and for each item id, text hash and tokens."""
    questions: Mapping[str, Sequence[Line]]
    rankings: Mapping[RunKey, Mapping[str, Line]] = field(default_factory=dict)
    """By run and question: the hits, or why there are none."""
    answers: Mapping[RunKey, Mapping[str, Line]] = field(default_factory=dict)
    fills: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    """By set and system: for each user one hash of the texts it was filled with."""
    observed: Sequence[Line] = ()
    """What was noticed while it ran: defaults that are on, addresses that were contacted."""
    versions: Mapping[str, str] = field(default_factory=dict)


def describe_set(memory_set: MemorySet, overlay: KeyOverlay | None) -> Line:
    """Return the header of a set."""
    line: Line = {
        "counts": memory_set.compare_counts(),
        "questions": len(memory_set.questions),
        "chats": memory_set.chats,
        "hash": memory_set.hash,
        "texts": memory_set.text_hash,
        "files": dict(memory_set.files),
        "quirks": list(memory_set.quirks),
        "categories": memory_set.count_categories(),
    }
    if overlay is not None:
        line["overlay"] = {
            "version": overlay.version,
            "source": overlay.source,
            "hash": overlay.hash,
            "sentence": overlay.describe(memory_set),
        }
    return line


def describe_pools(memory_set: MemorySet) -> dict[str, Line]:
    """Return every user's items as ids, text hashes and token counts: enough to score, without the texts."""
    return {
        user.id: {
            "chat": user.chat,
            "items": [[item.id, hash_text(item.text), count_tokens(item.text)] for item in user.items],
        }
        for user in memory_set.users
    }


def describe_questions(memory_set: MemorySet, overlay: KeyOverlay | None) -> list[Line]:
    """Return the questions with both keys, without their texts."""
    corrected = overlay.apply(memory_set).by_question if overlay is not None else {}
    wrong = {} if overlay is None else {entry.question: entry.wrong for entry in overlay.corrections}
    lines = []
    for question in memory_set.questions:
        line: Line = {
            "id": question.id,
            "user": question.user,
            "category": question.category,
            "answerable": question.answerable,
            "evidence": list(question.evidence),
            "text": hash_text(question.text),
        }
        if overlay is not None:
            line["corrected"] = list(corrected[question.id].evidence)
            # An ambiguous answer is not impossible to match, so it does not lower the ceiling.
            line["broken"] = wrong.get(question.id, "") not in ("", AMBIGUOUS)
            line["wrong"] = wrong.get(question.id, "")
        lines.append(line)
    return lines
