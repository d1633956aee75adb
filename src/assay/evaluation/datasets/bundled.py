"""Datasets that come with Assay: the labelled saves, and what each dataset promises to hold.

- Labelled saves as files.
- Labelled saves as a dataset.
- The bundled datasets and their promises.

Labelled saves as a dataset:

    assay run save-scenarios

The documents are the older notes, the cases the newer ones, the category what the newer one does to the older one. The
facts that a merge must keep are the numbers of both notes: they are what a summary loses first, and they survive
literally or not at all.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.evaluation.datasets.checks import Finding, error
from assay.records import Draft, SaveDecision
from assay.records.datasets import Case, Dataset, Document
from assay.records.saving import UPDATES, SaveTask, Scenario
from assay.regular_files import read_packaged_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# --- Labelled saves as files ---
#
# Two sets come with the package. The first was looked at while the checks were written; the second was held out, and
# only its scores were.

FILES = {"development": "save_scenarios.jsonl", "held out": "save_scenarios_held_out.jsonl"}


def load_scenarios(which: str = "development") -> list[Scenario]:
    """One of the sets of `FILES`, in order."""
    text = read_packaged_text("datasets", FILES[which])
    return [_scenario(json.loads(line)) for line in text.splitlines()]


def _scenario(row: dict[str, Any]) -> Scenario:
    return Scenario(
        id=str(row["id"]),
        kind=str(row["kind"]),
        domain=str(row["domain"]),
        old=_draft(row["old"]),
        new=_draft(row["new"]),
        expected=tuple(SaveDecision(decision) for decision in row["expected"]),
        why=str(row["why"]),
    )


def _draft(row: dict[str, Any]) -> Draft:
    return Draft(title=row["title"], body=row["body"], triggers=tuple(row["triggers"]))


# --- Labelled saves as a dataset ---

SETS = {"save-scenarios": "development", "save-scenarios-held-out": "held out"}
"""By the name of the dataset; the second was never looked at while the checks were written."""
FLOORS = {
    "save_accuracy": 0.9,
    "false_rejection_rate": 0.0,
    "contradiction_coexistence": 0.2,
    "stale_served_rate(per=search)@5": 0.2,
    "false_supersede": 0.0,
}
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,:]\d+)*(?!\w)")


def saves_dataset(name: str) -> Dataset:
    """One of `SETS`."""
    scenarios = load_scenarios(SETS[name])
    return Dataset(
        name=name,
        documents=tuple(_document(scenario) for scenario in scenarios),
        cases=tuple(_case(scenario) for scenario in scenarios),
        description="Notes that are saved after another: paraphrases, updates, negations, additions, strangers.",
        floors=FLOORS,
    )


def _document(scenario: Scenario) -> Document:
    return Document(
        id=_older(scenario), title=scenario.old.title, text=scenario.old.body, triggers=scenario.old.triggers
    )


def _older(scenario: Scenario) -> str:
    return f"{scenario.id}:older"


def _case(scenario: Scenario) -> Case:
    task = SaveTask(
        title=scenario.new.title,
        body=scenario.new.body,
        triggers=scenario.new.triggers,
        after=_older(scenario),
        expected=scenario.expected,
        contradicts=scenario.kind in UPDATES,
        facts=tuple(dict.fromkeys(_NUMBER.findall(f"{scenario.old.body} {scenario.new.body}"))),
    )
    return Case(
        id=scenario.id,
        query=f"{scenario.new.title}: {scenario.new.body}",
        category=scenario.kind,
        tags=(scenario.domain,),
        save=task,
    )


# --- The bundled datasets and their promises ---


@dataclass(frozen=True, kw_only=True, slots=True)
class Requirements:
    """Kinds that must be there, each with the least number of them."""

    documents: int
    cases: int
    entity_types: Mapping[str, int] = field(default_factory=dict)
    formats: Mapping[str, int] = field(default_factory=dict)
    domains: Mapping[str, int] = field(default_factory=dict)
    """By `metadata.category`."""
    categories: Mapping[str, int] = field(default_factory=dict)
    """Of cases."""
    difficulties: Mapping[str, int] = field(default_factory=dict)


_KINDS = (
    *("changed_number", "negation", "update", "version_bump", "date_change", "name_change", "reversed_arguments"),
    *("paraphrase", "restatement", "extension", "both_true", "unrelated"),
)
"""What a newer note does to an older one."""

REQUIREMENTS = {
    "hotel": Requirements(
        documents=60,
        cases=60,
        entity_types={"KNOWLEDGE_ARTIFACT": 1, "COMMUNICATION_SIGNAL": 1, "INTERACTION_EVENT": 1},
        formats={"MARKDOWN": 1, "TEXT": 1, "JSON": 1},
        domains={"POLICY": 1, "AMENITIES": 1, "SUPPORT": 1, "OPERATIONS": 1},
        categories={"factual": 12, "comparative": 12, "troubleshooting": 12, "sentiment": 12, "unanswerable": 40},
        difficulties={"easy": 1, "medium": 1, "hard": 1},
    ),
    "vault": Requirements(
        documents=70,
        cases=200,
        formats={"MARKDOWN": 70},
        categories={
            "factual": 25,
            "reasoning": 15,
            "general": 10,
            "multi_hop": 15,
            "recency/conflict": 12,
            "adversarial": 12,
            "unanswerable": 60,
            "scope": 12,
        },
        difficulties={"easy": 20, "medium": 20, "hard": 20},
    ),
    "agent-memory": Requirements(
        documents=130,
        cases=280,
        categories={
            "trigger-match": 30,
            "semantic-search": 50,
            "causal-query": 25,
            "cross-folder": 25,
            "intent-specific": 105,
            "cold-start": 15,
            "multi-concept": 20,
            "edge-case": 10,
        },
        difficulties={"easy": 30, "medium": 30, "hard": 30},
    ),
    "save-scenarios": Requirements(documents=150, cases=150, categories=dict.fromkeys(_KINDS, 5)),
    "save-scenarios-held-out": Requirements(documents=50, cases=50, categories=dict.fromkeys(_KINDS, 2)),
}
"""By the name of the bundled dataset."""
_FILES = {"save-scenarios": "save_scenarios.jsonl", "save-scenarios-held-out": "save_scenarios_held_out.jsonl"}
"""Those that are one file; the others are a folder with a golden file."""


def list_bundled() -> list[str]:
    """The datasets that come with Assay."""
    return [name for name in REQUIREMENTS if find_bundled(name) is not None]


def find_bundled(name: str) -> Path | None:
    """Where a bundled dataset lies; None if there is none of that name. An installed package has them packed."""
    place = Path(str(files("assay"))) / "datasets" / _FILES.get(name, f"{name}/golden.json")
    known = (place, place.with_name(f"{place.name}.gz")) if name in REQUIREMENTS else ()
    return next((path for path in known if path.is_file()), None)


def missing_kinds(dataset: Dataset, wanted: Requirements) -> Iterator[Finding]:
    """Every kind of which there are too few."""
    for what, least, found in (
        ("documents", wanted.documents, len(dataset.documents)),
        ("cases", wanted.cases, len(dataset.cases)),
    ):
        if found < least:
            yield error("too-small", dataset.name, f"has {found:,} {what}, not {least:,}", f"Write more {what}.")
    documents, cases = dataset.documents, dataset.cases
    kinds = (
        ("entity type", wanted.entity_types, [document.entity_type for document in documents]),
        ("format", wanted.formats, [document.format.value for document in documents]),
        ("domain", wanted.domains, [str(document.metadata.get("category", "")) for document in documents]),
        ("category", wanted.categories, [case.category for case in cases]),
        ("difficulty", wanted.difficulties, [case.difficulty for case in cases]),
    )
    for what, required, found_kinds in kinds:
        spelt = [kind.casefold() for kind in found_kinds]
        for kind, least in required.items():
            if spelt.count(kind.casefold()) < least:
                message = f"has {spelt.count(kind.casefold()):,} of the {what} {kind}, not {least:,}"
                yield error("missing-kind", dataset.name, message, f"Add some of {kind}.")
