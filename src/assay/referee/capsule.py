"""Capsules: one file with everything a benchmark's numbers are computed from, and the numbers.

JSON lines. The first has format, options, sets, systems and versions; then come pools, questions, fills, rankings,
answers and what was observed; then the numbers; last a seal with one hash over all lines before it. Each ranking and
each judge input carries a hash of its own, so that a changed one is named. Measured times are in another file: two
runs with the same seed give the same capsule, byte for byte.

A hash does not say who made a file. Whoever publishes a number publishes the seal with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import BrokenSeal, MalformedFile
from assay.hashing import HASH_PREFIX, canonical_json, content_hash
from assay.referee.records import BenchOptions, BenchRecords, Line, RunKey
from assay.regular_files import read_regular

FORMAT = "assay-bench-capsule/1"
HEADER, POOL, QUESTION, FILL, RANKING, ANSWER, OBSERVED, RESULTS, SEAL = (
    "capsule",
    "pool",
    "question",
    "fill",
    "ranking",
    "answer",
    "observed",
    "results",
    "seal",
)
_HASHED = {RANKING: "hits", ANSWER: "judge_input"}
"""The kinds of line that carry a hash of one of their fields."""


def write_capsule(path: Path, records: BenchRecords, results: Mapping[str, Any]) -> str:
    """Write a capsule and return its seal."""
    lines = [canonical_json(line) for line in capsule_lines(records, results)]
    seal = _seal(lines)
    lines.append(canonical_json({"kind": SEAL, "lines": len(lines), "hash": seal}))
    temporary = path.with_name(f"{path.name}.part")
    temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    temporary.replace(path)
    return seal


def capsule_lines(records: BenchRecords, results: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the lines of a capsule but the seal."""
    yield {
        "kind": HEADER,
        "format": FORMAT,
        "options": records.options.as_json(),
        "sets": dict(records.sets),
        "systems": dict(records.systems),
        "versions": dict(records.versions),
    }
    for name, users in records.pools.items():
        for user, pool in users.items():
            yield {"kind": POOL, "set": name, "user": user, **pool}
    for name, questions in records.questions.items():
        for question in questions:
            yield {"kind": QUESTION, "set": name, **question}
    yield from _run_lines(records)
    yield {"kind": RESULTS, "results": dict(results)}


def _run_lines(records: BenchRecords) -> Iterator[Line]:
    """Yield what systems were filled with, what they returned, and what was noticed meanwhile."""
    for (name, system), filled in sorted(records.fills.items()):
        for user, digest in filled.items():
            yield {"kind": FILL, "set": name, "system": system, "user": user, "texts": digest}
    for kind, runs in ((RANKING, records.rankings), (ANSWER, records.answers)):
        for (name, system, repeat), found in runs.items():
            for question, line in found.items():
                place = {"kind": kind, "set": name, "system": system, "repeat": repeat, "question": question}
                yield {**place, **line, "hash": content_hash(line.get(_HASHED[kind]))}
    for line in records.observed:
        yield {"kind": OBSERVED, **line}


def _seal(lines: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode() + b"\n")
    return HASH_PREFIX + digest.hexdigest()


def read_lines(path: Path) -> tuple[list[Line], str, str]:
    """Return the lines but the seal, the hash of the seal, and the hash that the lines have."""
    try:
        texts = read_regular(path).decode().splitlines()
        lines = [json.loads(text) for text in texts]
    except (OSError, ValueError) as problem:
        raise MalformedFile(f"cannot read {path}: {problem}", remedy="Give a capsule of `assay bench`.") from problem
    if not lines or not isinstance(lines[0], dict) or lines[0].get("format") != FORMAT:
        raise MalformedFile(f"{path} is not a capsule ({FORMAT})", remedy="Give a capsule of `assay bench`.")
    if lines[-1].get("kind") != SEAL:
        raise BrokenSeal(f"{path} has no seal: its end is missing", remedy="Make the capsule again.")
    return lines[:-1], str(lines[-1].get("hash")), _seal(texts[:-1])


def find_changed_lines(lines: Sequence[Line]) -> list[str]:
    """Name the rankings and judge inputs that do not fit their own hash."""
    return [
        f"the {line['kind']} of {line['system']} for {line['question']} in {line['set']}"
        for line in lines
        if line.get("kind") in _HASHED and content_hash(line.get(_HASHED[line["kind"]])) != line.get("hash")
    ]


def read_records(lines: Sequence[Line]) -> tuple[BenchRecords, Line]:
    """Return the records of a capsule's lines, and the numbers that it states."""
    try:
        return _read_records(lines)
    except (KeyError, TypeError, AttributeError) as problem:
        raise MalformedFile(
            f"a line of the capsule has not what it should have: {problem!r}", remedy="Make the capsule again."
        ) from problem


def _read_records(lines: Sequence[Line]) -> tuple[BenchRecords, Line]:
    pools: dict[str, dict[str, Line]] = {}
    questions: dict[str, list[Line]] = {}
    fills: dict[tuple[str, str], dict[str, str]] = {}
    runs: dict[str, dict[RunKey, dict[str, Line]]] = {RANKING: {}, ANSWER: {}}
    observed: list[Line] = []
    stated: Line = {}
    header, *rest = lines
    for line in rest:
        kind, fields = line["kind"], {key: value for key, value in line.items() if key not in ("kind", "set")}
        if kind == POOL:
            pools.setdefault(line["set"], {})[fields.pop("user")] = fields
        elif kind == QUESTION:
            questions.setdefault(line["set"], []).append(fields)
        elif kind == FILL:
            fills.setdefault((line["set"], line["system"]), {})[line["user"]] = line["texts"]
        elif kind in runs:
            key = (line["set"], fields.pop("system"), fields.pop("repeat"))
            fields.pop("hash", None)
            runs[kind].setdefault(key, {})[fields.pop("question")] = fields
        elif kind == OBSERVED:
            observed.append({key: value for key, value in line.items() if key != "kind"})
        elif kind == RESULTS:
            stated = line["results"]
    records = BenchRecords(
        options=BenchOptions.from_json(header["options"]),
        sets=header["sets"],
        systems=header["systems"],
        versions=header["versions"],
        pools=pools,
        questions=questions,
        fills=fills,
        rankings=runs[RANKING],
        answers=runs[ANSWER],
        observed=observed,
    )
    return records, stated
