"""Check a capsule without its systems: hashes, judge inputs, and every number computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.hashing import canonical_json
from assay.referee.capsule import find_changed_lines, read_lines, read_records
from assay.referee.judges import RULE_JUDGES, AnswerJudge
from assay.referee.records import BenchRecords, Line
from assay.referee.scoring import compute_results
from assay.referee.sets.catalog import SETS, load_set

MOST_SHOWN = 5
FindJudge = Callable[[str], AnswerJudge | None]
"""Finds a judge by its name; None where it is not known or asks a model."""


@dataclass(frozen=True, kw_only=True)
class CapsuleCheck:
    """What became of a verification."""

    path: Path
    seal: str
    problems: tuple[str, ...]
    rankings: int
    answers: int
    rejudged: int
    """Answers that a repeatable judge was asked about again."""
    numbers: int
    """Numbers that were computed again."""

    @property
    def intact(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.problems

    def as_json(self) -> Line:
        """Return it for machines."""
        return {
            "capsule": str(self.path),
            "seal": self.seal,
            "intact": self.intact,
            "problems": list(self.problems),
            "rankings": self.rankings,
            "answers": self.answers,
            "rejudged": self.rejudged,
            "numbers": self.numbers,
        }


def verify_capsule(path: Path, *, data: Path | None = None, find_judge: FindJudge = RULE_JUDGES.get) -> CapsuleCheck:
    """Check a capsule; with `data` its sets are read again, and texts and keys compared too.

    A judge that `find_judge` gives is asked again about every answer.
    """
    lines, stated_seal, seal = read_lines(path)
    problems = [] if stated_seal == seal else ["the seal does not fit: a line was changed, added or removed"]
    problems += [f"{what} was changed" for what in find_changed_lines(lines)]
    records, stated = read_records(lines)
    rejudged = list(_judge_again(records, find_judge))
    problems += [problem for problem in rejudged if problem]
    try:
        computed = compute_results(records)
    except (AssayError, KeyError, TypeError, ValueError) as problem:
        computed = {}
        problems.append(f"the numbers cannot be computed again: {problem}")
    else:
        problems += list(_compare(stated, computed, ""))[:MOST_SHOWN]
    problems += list(_compare_sets(records, data)) if data is not None else []
    return CapsuleCheck(
        path=path,
        seal=seal,
        problems=tuple(problems),
        rankings=sum(map(len, records.rankings.values())),
        answers=sum(map(len, records.answers.values())),
        rejudged=len(rejudged),
        numbers=_count_numbers(computed),
    )


def _judge_again(records: BenchRecords, find_judge: FindJudge) -> Iterator[str]:
    """Ask a repeatable judge again; yield a problem, or nothing as an empty text, for each answer."""
    judge = find_judge(records.options.judge) if records.answers else None
    if judge is None or not judge.repeatable:
        return
    for (name, system, _), found in records.answers.items():
        for question, line in found.items():
            given = line.get("judge_input")
            if given is None or line.get("imported"):
                continue
            verdict = judge.judge(given["question"], given["key"], given["answer"])
            is_same = verdict == line.get("right") and given["answer"] == line.get("answer")
            yield "" if is_same else f"{system}, {question} in {name}: {judge.name} says {verdict}, not {line['right']}"


def _compare(stated: Any, computed: Any, where: str) -> Iterator[str]:
    """Yield what the capsule states otherwise than computed."""
    if isinstance(stated, Mapping) and isinstance(computed, Mapping):
        for key in sorted({*stated, *computed}):
            yield from _compare(stated.get(key), computed.get(key), f"{where}/{key}")
    elif isinstance(stated, list) and isinstance(computed, list) and len(stated) == len(computed):
        for place, (one, other) in enumerate(zip(stated, computed, strict=True)):
            yield from _compare(one, other, f"{where}/{place}")
    elif canonical_json(stated) != canonical_json(computed):
        yield f"{where.lstrip('/')}: the capsule states {stated!r}, computed is {computed!r}"


def _compare_sets(records: BenchRecords, data: Path) -> Iterator[str]:
    for name, line in records.sets.items():
        if name in SETS and load_set(name, data).hash != line["hash"]:
            yield f"{name}: the files in {data} are not those the capsule was made with"


def _count_numbers(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(map(_count_numbers, value.values()))
    if isinstance(value, list):
        return sum(map(_count_numbers, value))
    return int(isinstance(value, (int, float)) and not isinstance(value, bool))
