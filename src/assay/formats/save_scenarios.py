"""The labelled saves that come with the package, read from their files.

Two sets come with the package. The first was looked at while the checks were written; the second was held out, and only
its scores were.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from assay.records import Draft, SaveDecision
from assay.records.save_scenarios import Scenario

FILES = {"development": "save_scenarios.jsonl", "held out": "save_scenarios_held_out.jsonl"}


def load_scenarios(which: str = "development") -> list[Scenario]:
    """One of the sets of `FILES`, in order."""
    text = resources.files("assay").joinpath("datasets", FILES[which]).read_text(encoding="utf-8")
    return [_scenario(json.loads(line)) for line in text.splitlines()]


def _scenario(row: dict[str, Any]) -> Scenario:
    return Scenario(
        id=str(row["id"]),
        kind=str(row["kind"]),
        domain=str(row["domain"]),
        old=_draft(row["old"]),
        new=_draft(row["new"]),
        expected=tuple(SaveDecision(one) for one in row["expected"]),
        why=str(row["why"]),
    )


def _draft(row: dict[str, Any]) -> Draft:
    return Draft(title=row["title"], body=row["body"], triggers=tuple(row["triggers"]))
