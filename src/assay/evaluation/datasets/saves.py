"""The labelled saves as a dataset: each case saves a note where another is already.

    assay run save-scenarios

The documents are the older notes, the cases the newer ones, the category what the newer one does to the older one. The
facts that a merge must keep are the numbers of both notes: they are what a summary loses first, and they survive word
for word or not at all.
"""

from __future__ import annotations

import re

from assay.formats.save_scenarios import load_scenarios
from assay.records.datasets import Case, Dataset, Document
from assay.records.save_scenarios import UPDATES, Scenario
from assay.records.writes import SaveTask

SETS = {"save-scenarios": "development", "save-scenarios-held-out": "held out"}
"""By the name of the dataset; the second was never looked at while the checks were written."""
FLOORS = {
    "save_accuracy": 0.9,
    "false_rejection_rate": 0.0,
    "contradiction_coexistence": 0.2,
    "stale_served_rate(per=search)@5": 0.2,
}
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,:]\d+)*(?!\w)")


def saves_dataset(name: str) -> Dataset:
    """One of `SETS`."""
    scenarios = load_scenarios(SETS[name])
    return Dataset(
        name=name,
        documents=tuple(_document(one) for one in scenarios),
        cases=tuple(_case(one) for one in scenarios),
        description="Notes that are saved after another: paraphrases, updates, negations, additions, strangers.",
        floors=FLOORS,
    )


def _document(one: Scenario) -> Document:
    return Document(id=_older(one), title=one.old.title, text=one.old.body, triggers=one.old.triggers)


def _older(one: Scenario) -> str:
    return f"{one.id}:older"


def _case(one: Scenario) -> Case:
    task = SaveTask(
        title=one.new.title,
        body=one.new.body,
        triggers=one.new.triggers,
        after=_older(one),
        expected=one.expected,
        contradicts=one.kind in UPDATES,
        facts=tuple(dict.fromkeys(_NUMBER.findall(f"{one.old.body} {one.new.body}"))),
    )
    return Case(id=one.id, query=f"{one.new.title}: {one.new.body}", category=one.kind, tags=(one.domain,), save=task)
