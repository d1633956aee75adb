"""Read the results of other harnesses into a capsule, so that published numbers can be scored again.

- Judged answers in the form of LoCoMo's evaluations: by chat, lists of question, key, answer and several judgments.
- Reports of PrecisionMemBench: the beliefs that a system returned for each case.
- Rankings: JSON lines with `question` and `ids` (and `system`, where there are several), or a TREC run.

An imported capsule has the same seal and the same numbers as one of `assay bench memory`; where something is not known,
such as the systems' configuration, it says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import InputError, MalformedFile
from assay.hashing import content_hash
from assay.referee.contenders.contract import UNKNOWN_EMBEDDER
from assay.referee.judges import AnswerJudge
from assay.referee.measures import BUDGET, CUTOFFS, count_tokens
from assay.referee.records import (
    BenchOptions,
    BenchRecords,
    Line,
    RunKey,
    describe_pools,
    describe_questions,
    describe_set,
)
from assay.referee.sets.files import need, read_json, read_json_lines
from assay.referee.sets.overlays import KeyOverlay
from assay.referee.sets.values import ANSWERS, RETRIEVAL, MemorySet
from assay.referee.traps import refuse_mixed_layers

JUDGED, REPORT, RANKINGS = "judged answers", "PrecisionMemBench report", "rankings"
IMPORTED_READER, IMPORTED_JUDGE = "imported", "imported"
_JUDGMENTS = "llm_judgments"


def detect_form(path: Path) -> str:
    """Return which kind of result file this is."""
    if path.suffix in (".jsonl", ".trec", ".run", ".txt"):
        return RANKINGS
    content = read_json(path)
    if isinstance(content, Mapping) and "cases" in content:
        return REPORT
    if isinstance(content, Mapping) and all(isinstance(value, list) for value in content.values()):
        return JUDGED
    raise MalformedFile(
        f"{path} is not a result file that can be imported", remedy="Give judged answers, a report or rankings."
    )


def import_results(
    paths: Sequence[Path],
    memory_set: MemorySet,
    overlay: KeyOverlay | None = None,
    *,
    judge: AnswerJudge | None = None,
) -> BenchRecords:
    """Read result files of one kind, each a system named like the file.

    With a judge, imported answers are judged again by it, with both keys; without one their own judgments count.
    """
    forms = {detect_form(path) for path in paths}
    refuse_mixed_layers([ANSWERS if form == JUDGED else RETRIEVAL for form in forms])
    if len(forms) > 1:
        raise InputError(
            f"the files are of different kinds: {', '.join(sorted(forms))}",
            remedy="Import reports and rankings apart.",
        )
    form = forms.pop()
    if form == JUDGED:
        return _import_judged(paths, memory_set, overlay, judge)
    if judge is not None:
        raise InputError("a ranking has no answers to judge", remedy="Leave --judge out.")
    found: dict[str, dict[str, list[str]]] = {}
    for path in paths:
        found |= _read_report(path) if form == REPORT else _read_rankings(path)
    return _ranking_records(found, memory_set, overlay)


# --- Rankings ---


def _read_report(path: Path) -> dict[str, dict[str, list[str]]]:
    report = read_json(path)
    name = str(report.get("provider") or path.stem)
    return {
        name: {
            str(need(case, "caseId", path)): list(map(str, case.get("relevantBeliefs") or ()))
            for case in report["cases"]
        }
    }


def _read_rankings(path: Path) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    if path.suffix == ".jsonl":
        for line in read_json_lines(path):
            question, ids = need(line, "question", path), need(line, "ids", path)
            found.setdefault(str(line.get("system") or path.stem), {})[str(question)] = list(map(str, ids))
        return found
    scored: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        parts = text.split()
        if len(parts) != 6:
            raise MalformedFile(
                f"{path}, line {number}: {len(parts)} columns instead of 6", remedy="Write it as a TREC run."
            )
        question, _, item, rank, _, system = parts
        scored.setdefault(system, {}).setdefault(question, []).append((float(rank), item))
    return {
        system: {question: [item for _, item in sorted(hits)] for question, hits in questions.items()}
        for system, questions in scored.items()
    }


def _ranking_records(
    found: Mapping[str, Mapping[str, Sequence[str]]], memory_set: MemorySet, overlay: KeyOverlay | None
) -> BenchRecords:
    tokens = {user.id: {item.id: count_tokens(item.text) for item in user.items} for user in memory_set.users}
    rankings: dict[RunKey, dict[str, Line]] = {}
    for system, by_question in found.items():
        known = {ident: hits for ident, hits in by_question.items() if ident in memory_set.by_question}
        if not known:
            raise InputError(
                f"no question of {system} is a question of {memory_set.name}", remedy="Name the set that it answers."
            )
        rankings[memory_set.name, system, 0] = {
            ident: {"hits": [[hit, tokens[memory_set.by_question[ident].user].get(hit, 0)] for hit in hits]}
            for ident, hits in known.items()
        }
    options = _options(RETRIEVAL, tuple(found))
    return _records(options, memory_set, overlay, rankings=rankings)


# --- Judged answers ---


def _import_judged(
    paths: Sequence[Path], memory_set: MemorySet, overlay: KeyOverlay | None, judge: AnswerJudge | None
) -> BenchRecords:
    corrected = {} if overlay is None else overlay.apply(memory_set).by_question
    answers: dict[RunKey, dict[str, Line]] = {}
    repeats = 0
    for path in paths:
        entries = [entry for chat in read_json(path).values() for entry in chat]
        known = [entry for entry in entries if str(entry.get("question_id")) in memory_set.by_question]
        if not known:
            raise InputError(
                f"no question of {path} is a question of {memory_set.name}", remedy="Name the set that it answers."
            )
        counts = {len(entry.get(_JUDGMENTS) or ()) for entry in known}
        if len(counts) != 1:
            raise MalformedFile(
                f"{path} has questions with {sorted(counts)} judgments", remedy="Judge every answer equally often."
            )
        repeats = 1 if judge is not None else counts.pop()
        for repeat in range(repeats):
            lines = {str(entry["question_id"]): _judged_line(entry, repeat, corrected, path) for entry in known}
            if judge is not None:
                lines = {ident: _judge_again(line, judge) for ident, line in lines.items()}
            answers[memory_set.name, path.stem, repeat] = lines
    if any(len({key[2] for key in answers if key[1] == path.stem}) != repeats for path in paths):
        raise InputError("the files have different numbers of judgments", remedy="Import them one by one.")
    named = IMPORTED_JUDGE if judge is None else judge.name
    options = _options(ANSWERS, tuple(path.stem for path in paths), repeats=repeats, judge=named)
    return _records(options, memory_set, overlay, answers=answers)


def _judged_line(entry: Mapping[str, Any], repeat: int, corrected: Mapping[str, Any], path: Path) -> Line:
    ident = str(entry["question_id"])
    verdicts = list(need(entry, _JUDGMENTS, path).values())
    given = {
        "question": str(need(entry, "question", path)),
        "key": str(need(entry, "golden_answer", path)),
        "answer": str(need(entry, "generated_answer", path)),
    }
    line: Line = {
        "answer": given["answer"],
        "context": 1,
        "reader": IMPORTED_READER,
        "judge_prompt": IMPORTED_JUDGE,
        "judge_input": given,
        "right": bool(verdicts[repeat]),
        "imported": True,
    }
    if ident in corrected and corrected[ident].answer != given["key"]:
        # The judge never saw the corrected key: with it, its verdict is not known.
        line["corrected_key"] = corrected[ident].answer
        line["right_corrected"] = None
    return line


def _judge_again(line: Line, judge: AnswerJudge) -> Line:
    """Replace the imported verdict with a judge's own, with both keys."""
    given = line["judge_input"]
    fixed = line.get("corrected_key", given["key"])
    kept = {key: value for key, value in line.items() if key not in ("imported", "right_corrected")}
    verdict = judge.judge(given["question"], given["key"], given["answer"])
    by_fixed = verdict if fixed == given["key"] else judge.judge(given["question"], fixed, given["answer"])
    return {**kept, "judge_prompt": judge.prompt_hash, "right": verdict, "right_corrected": by_fixed}


# --- Records ---


def _options(layer: str, systems: tuple[str, ...], *, repeats: int = 1, judge: str = "") -> BenchOptions:
    answers = layer == ANSWERS
    return BenchOptions(
        layer=layer,
        systems=systems,
        cutoffs=CUTOFFS,
        budget=BUDGET,
        seed=0,
        repeats=repeats,
        reader=IMPORTED_READER if answers else "",
        judge=judge,
        depth=max(CUTOFFS),
    )


def _records(
    options: BenchOptions,
    memory_set: MemorySet,
    overlay: KeyOverlay | None,
    *,
    rankings: Mapping[RunKey, Mapping[str, Line]] | None = None,
    answers: Mapping[RunKey, Mapping[str, Line]] | None = None,
) -> BenchRecords:
    declared = {
        "ignores": [],
        "embedder": UNKNOWN_EMBEDDER,
        "configuration": {"imported": "configuration not known"},
        "persistent": True,
        "rewrites": False,
    }
    return BenchRecords(
        options=options,
        sets={memory_set.name: describe_set(memory_set, overlay)},
        systems={
            system: {"declared": declared, "subject": {"system": system, "imported": content_hash(system)}}
            for system in options.systems
        },
        pools={memory_set.name: describe_pools(memory_set)},
        questions={memory_set.name: describe_questions(memory_set, overlay)},
        rankings=rankings or {},
        answers=answers or {},
    )
