"""Cases that became worse, as SARIF 2.1.0: for tools that show findings one by one, at the line of the case.

A finding points at the line of the file that names the case: the dataset where it is known, else the baseline. Places
are relative to where the gate ran, which is the root of the checkout in CI; a file elsewhere is told by its `file:`
address. What is the same finding in two runs has the same fingerprint: case and metric, never numbers or lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.evaluation.comparing import Compared, is_loss, leading, movers
from assay.evaluation.differences import number
from assay.evaluation.gating.verdict import Status, Verdict
from assay.hashing import content_hash
from assay.records.run_results import Mover

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
WORSE, LOST = "assay/case-regression", "assay/case-lost"
MOST = 1_000
"""Findings in one file; viewers refuse many more. The biggest stay, and the number of the others is told."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def sarif(compared: Compared, *, artifact: str, lines: Mapping[str, int] | None = None) -> dict[str, Any]:
    """One result for each case that fell; `artifact` is the file they are filed under, `lines` where each stands."""
    metric = leading(tuple(compared.metrics))
    moved = movers(compared.control, compared.treatment, metric, len(compared.control.cases))
    fell = [one for one in moved if is_loss(one)]
    run: dict[str, Any] = {
        "tool": {"driver": _driver()},
        "automationDetails": {"id": f"assay gate/{compared.treatment.dataset}/"},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {ROOT: {"description": {"text": "Where the gate ran."}}},
        "invocations": [{"executionSuccessful": True}],
        "results": [_result(one, artifact, (lines or {}).get(one.case, 1)) for one in fell[:MOST]],
        "properties": {"metric": metric, "omitted": max(0, len(fell) - MOST)},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def refused_sarif(verdict: Verdict) -> dict[str, Any]:
    """No results, and why: for a gate that could not compare anything."""
    told = [
        {"level": "error", "message": {"text": one.sentence}}
        for one in verdict.rules
        if one.status in (Status.FAIL, Status.INCONCLUSIVE)
    ]
    run: dict[str, Any] = {
        "tool": {"driver": _driver()},
        "automationDetails": {"id": f"assay gate/{verdict.dataset}/"},
        "columnKind": "utf16CodeUnits",
        "invocations": [{"executionSuccessful": False, "toolExecutionNotifications": told}],
        "results": [],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def case_lines(path: Path, cases: Collection[str]) -> dict[str, int]:
    """The first line of a JSON or JSONL file that names each case, from 1; nothing where there is no such file."""
    found: dict[str, int] = {}
    wanted = frozenset(cases)
    if not path.is_file():
        return found
    for line_number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        for text in _STRING.findall(line):
            name = _unquoted(text)
            if name in wanted:
                found.setdefault(name, line_number)
    return found


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return ""


def _driver() -> dict[str, Any]:
    rules = [
        _rule(WORSE, "CaseRegression", "warning", "A case is answered worse than in the baseline."),
        _rule(LOST, "CaseLost", "error", "A case that the baseline answered is not answered at all."),
    ]
    return {"name": "assay", **_version(), "rules": rules}


def _version() -> dict[str, str]:
    try:
        return {"semanticVersion": version("assay")}
    except PackageNotFoundError:  # run from a folder that was never installed
        return {}


def _rule(ident: str, name: str, level: str, text: str) -> dict[str, Any]:
    remedy = "See `assay compare` for what changed, and `assay report` for where the evidence was lost."
    return {
        "id": ident,
        "name": name,
        "shortDescription": {"text": text},
        "fullDescription": {"text": f"{text} The value is of one metric, case by case."},
        "help": {"text": remedy},
        "defaultConfiguration": {"level": level},
    }


def _result(one: Mover, artifact: str, line: int) -> dict[str, Any]:
    lost = one.after == 0.0
    called = f"{one.case} {one.query}".rstrip()
    way = "fell" if one.after < one.before else "rose"
    text = f"{called}: {one.metric} {way} from {number(one.before)} to {number(one.after)}"
    return {
        "ruleId": LOST if lost else WORSE,
        "ruleIndex": int(lost),
        "level": "error" if lost else "warning",
        "message": {"text": text},
        "locations": [{"physicalLocation": _place(artifact, line)}] if artifact else [],
        "partialFingerprints": {"case/v1": content_hash([one.case, one.metric])},
        "properties": {"case": one.case, "metric": one.metric, "before": one.before, "after": one.after},
    }


def _place(artifact: str, line: int) -> dict[str, Any]:
    path = Path(artifact)
    if path.is_absolute() and not path.is_relative_to(Path.cwd()):
        location = {"uri": path.as_uri()}
    else:
        relative = path.relative_to(Path.cwd()) if path.is_absolute() else path
        location = {"uri": quote(relative.as_posix()), "uriBaseId": ROOT}
    return {"artifactLocation": location, "region": {"startLine": line}}
