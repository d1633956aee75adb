"""Numbers of the answers layer: the share of right answers, with the original and the corrected key.

Every number belongs to one named reader and one named judge. Answers that the judge could not decide are counted apart;
they are neither right nor wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import NothingMeasured
from assay.referee import traps
from assay.referee.contenders.floors import CEILING
from assay.referee.records import BenchRecords, Line
from assay.referee.standings import compare_systems, rounded, seeded, smallest_differences, summarise, verdict_sentence
from assay.referee.traps import Flag

ACCURACY = "accuracy"
_STOPS = (traps.EMBEDDER, traps.TEXT, traps.EMPTY)


def score_answers(records: BenchRecords) -> dict[str, Any]:
    """Compute every number of a benchmark of answers."""
    traps.refuse_mixed_judges(records.answers)
    shared = _shared_embedder(records.systems)
    flags = [*traps.find_embedder_traps(records.systems, shared), *traps.find_text_traps(records)]
    flags += traps.read_observed(records.observed)
    sets = {}
    for name in records.sets:
        sets[name], found = _score_set(records, name, flags)
        flags += found
    return {
        "layer": records.options.layer,
        "reader": records.options.reader,
        "judge": records.options.judge,
        "sets": sets,
        "flags": [flag.as_json() for flag in flags],
    }


def _shared_embedder(systems: Mapping[str, Line]) -> str | None:
    declared = Counter(
        line["declared"]["embedder"]
        for line in systems.values()
        if line["declared"].get("embedder") not in (None, "unknown")
    )
    return declared.most_common(1)[0][0] if declared else None


def _score_set(records: BenchRecords, name: str, before: Sequence[Flag]) -> tuple[Line, list[Flag]]:
    options, questions = records.options, records.questions[name]
    asked = [question for question in questions if question["answerable"]]
    if not asked:
        raise NothingMeasured(f"{name} has no question with an answer", remedy="Leave the set out.")
    chats = {question["id"]: records.pools[name][question["user"]]["chat"] for question in questions}
    flags: list[Flag] = []
    rows, values = [], {}
    for system in options.systems:
        row, own, found = _score_system(records, name, system, asked, chats)
        rows.append(row)
        values[system] = own
        flags += found
    if "overlay" in records.sets[name]:
        rows.append(_ceiling(asked))
    reference = options.systems[0]
    decided = {system: found for system, found in values.items() if found}
    rng = seeded(options.seed, name, "compare")
    comparisons = compare_systems(reference, decided, chats, rng) if reference in decided else []
    for line in comparisons:
        line["withheld"] = _why_withheld(line, name, [*before, *flags])
        line["sentence"] = verdict_sentence(line, line["withheld"])
    categories: dict[str, list[str]] = {}
    for question in asked:
        categories.setdefault(question["category"], []).append(question["id"])
    return {
        "scored": len(asked),
        "chats": len({chats[question["id"]] for question in asked}),
        "left_out": _left_out(questions),
        "deciding": ACCURACY,
        "withheld": [],
        "rows": rows,
        "comparisons": comparisons,
        "categories": smallest_differences(
            reference, decided, categories, chats, seeded(options.seed, name, "categories")
        ),
    }, flags


def _score_system(
    records: BenchRecords, name: str, system: str, asked: Sequence[Line], chats: Mapping[str, str]
) -> tuple[Line, dict[str, float], list[Flag]]:
    options = records.options
    repeats = [records.answers.get((name, system, repeat), {}) for repeat in range(options.repeats)]
    verdicts = [_verdicts(found, asked, "right") for found in repeats]
    values = _mean_of(verdicts)
    corrected = _mean_of([_verdicts(found, asked, "right_corrected") for found in repeats])
    first = repeats[0]
    ranked = records.rankings.get((name, system, 0), {})
    failed = [line["failed"] for line in ranked.values() if line.get("failed")]
    undecided = sum(first[q["id"]].get("right") is None for q in asked if q["id"] in first)
    empty = sum(not first[q["id"]].get("context") for q in asked if q["id"] in first)
    there = Counter(question["category"] for question in asked if question["id"] in values)
    flags = traps.find_dropped_categories(name, system, Counter(q["category"] for q in asked), there)
    flags += traps.find_empty_contexts(name, system, empty, len(asked))
    if options.repeats > 1:
        means = [sum(found.values()) / len(found) if found else 0.0 for found in verdicts]
        differing = sum(len({found.get(question["id"]) for found in verdicts}) > 1 for question in asked)
        flags += traps.find_unstable_repeats(name, system, means, differing, len(asked))
    row: Line = {
        "system": system,
        "kind": "contender",
        "values": {ACCURACY: summarise(values, chats, seeded(options.seed, name, system))},
        "asked": len(first),
        "empty": empty,
        "failed": len(failed),
        "failure": failed[0] if failed else "",
        "undecided": undecided,
        "tokens": _mean_tokens(first),
        "categories": _by_category(asked, values),
    }
    if "overlay" in records.sets[name]:
        row["corrected"] = {ACCURACY: summarise(corrected, chats, seeded(options.seed, name, system, "corrected"))}
    return row, values, flags


def _verdicts(found: Mapping[str, Line], asked: Sequence[Line], key: str) -> dict[str, float]:
    lines = {question["id"]: found[question["id"]] for question in asked if question["id"] in found}
    return {
        ident: float(verdict)
        for ident, line in lines.items()
        if (verdict := line.get(key, line.get("right"))) is not None
    }


def _mean_of(repeats: Sequence[Mapping[str, float]]) -> dict[str, float]:
    shared = [question for question in repeats[0] if all(question in found for found in repeats)]
    return {question: sum(found[question] for found in repeats) / len(repeats) for question in shared}


def _mean_tokens(found: Mapping[str, Line]) -> float | None:
    sizes = [line["tokens"] for line in found.values() if line.get("tokens") is not None]
    return rounded(sum(sizes) / len(sizes)) if sizes else None


def _by_category(asked: Sequence[Line], values: Mapping[str, float]) -> Line:
    found: dict[str, list[float]] = {}
    for question in asked:
        if question["id"] in values:
            found.setdefault(question["category"], []).append(values[question["id"]])
    return {
        category: {"n": len(numbers), "mean": rounded(sum(numbers) / len(numbers))}
        for category, numbers in sorted(found.items())
    }


def _ceiling(asked: Sequence[Line]) -> Line:
    """The best that the original key allows: whoever answers right is wrong where the key is."""
    answers_wrong = sum(question.get("wrong") == "wrong answer" for question in asked)
    mean = rounded(1 - answers_wrong / len(asked))
    return {
        "system": CEILING,
        "kind": "ceiling",
        "values": {ACCURACY: {"mean": mean, "low": None, "high": None, "n": len(asked)}},
        "corrected": {ACCURACY: {"mean": 1.0, "low": None, "high": None, "n": len(asked)}},
    }


def _left_out(questions: Sequence[Line]) -> list[Line]:
    counts = Counter(question["category"] for question in questions if not question["answerable"])
    return [
        {"category": category, "questions": count, "reason": "nothing to answer"}
        for category, count in sorted(counts.items())
    ]


def _why_withheld(line: Line, name: str, flags: Sequence[Flag]) -> str:
    for flag in flags:
        concerned = flag.system in (line["system"], line["reference"]) and flag.set in ("", name)
        stops = (flag.trap in _STOPS and flag.action == traps.REFUSED) or flag.trap == traps.DROPPED
        if concerned and stops:
            return flag.sentence
    return ""
