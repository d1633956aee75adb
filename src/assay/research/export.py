"""A session as files: the whole record, each attempt at a plan, and what each role replied.

evaluations/{log_id}/evaluation.json
evaluations/{log_id}/plan_attempts/attempt_1.json ...
evaluations/{log_id}/evaluator_responses/{role}.json
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.private_files import make_private_folder, open_new_private
from assay.records import values

FOLDER = "evaluations"


def export(trace: Mapping[str, Any], folder: Path) -> Path:
    """Write a record below a folder; files that are there are replaced. Returns the session's own folder."""
    place = folder / FOLDER / values.identifier(trace["log_id"], "log_id").replace(":", "_")
    try:
        for name, content in _files(trace):
            file = place / name
            make_private_folder(file.parent)
            text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
            with open_new_private(file) as opened:
                opened.write(text + "\n")
    except OSError as problem:
        raise InputError(f"cannot write to {place}: {problem}", remedy="Name a folder you can write.") from problem
    return place


def _files(trace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "evaluation.json", trace
    for attempt in trace["plan_evaluation"]["attempts"]:
        yield f"plan_attempts/attempt_{attempt['number']}.json", attempt
    for role, said in _by_role(trace).items():
        yield f"evaluator_responses/{role}.json", said


def _by_role(trace: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return all results by role, in the order of evaluation."""
    found: dict[str, list[dict[str, Any]]] = {}
    for checkpoint, attempt, result in _results(trace):
        verdict = result["verdict"] or {}
        for response in verdict.get("results", []):
            found.setdefault(response["role"], []).append({"checkpoint": checkpoint, "attempt": attempt, **response})
        if verdict.get("escalation"):
            said = {"checkpoint": checkpoint, "attempt": attempt, **verdict["escalation"]}
            found.setdefault("escalation_reviewer", []).append(said)
    return found


def _results(trace: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    for attempt in trace["plan_evaluation"]["attempts"]:
        yield "plan", attempt["number"], attempt["result"]
    yield "retrieval", 1, trace["retrieval_evaluation"]["result"]
    for attempt in trace["answer_evaluation"]["attempts"]:
        yield "answer", attempt["number"], attempt["result"]
