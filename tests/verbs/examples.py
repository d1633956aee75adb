"""Requests with which each verb is compared on its surfaces: ordinary ones, and ones that must be refused.

`<tea>` in a value stands for the id of the note of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.evaluation.manual_grades import keep_grades
from assay.records import Judgment, JudgmentSource, Scope, SearchRequest

Prepare = Callable[[Any, Scope, Any], Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class Example:
    """One request."""

    given: Mapping[str, Any]
    argv: tuple[str, ...] | None
    """The same request as a command line; None: the command line cannot say it."""
    prepare: Prepare | None = None
    """What must have happened before; returns further ids by name."""
    programs: bool = True
    """Whether a program may ask for the same and is answered the same."""


@dataclass(frozen=True)
class Examples:
    """The requests of one verb."""

    of: str
    requests: tuple[Example, ...] = field(default_factory=tuple)


def forget_tea(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Forget the note on tea."""
    engine.saver.forget(scope, notes.ids["tea"], automated=True)
    return {}


def keep_rows(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Keep rows of the runs."""
    notes.files.keep_rows(engine, scope)
    return {}


def search_oven(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Search, so that there is something to grade."""
    return {"query": engine.searcher.search(scope, SearchRequest(query="polled oven")).query_id}


def grade_oven(engine: Any, scope: Scope, notes: Any) -> Mapping[str, str]:
    """Search, and have two people grade what was found."""
    found = search_oven(engine, scope, notes)
    grades = [
        Judgment(
            query_id=found["query"],
            memory_id=notes.ids[name],
            relevance=2,
            source=JudgmentSource.MANUAL,
            annotator=annotator,
            created_at=engine.clock.now(),
        )
        for name in ("oven", "router")
        for annotator in ("ada", "ben")
    ]
    keep_grades(engine.store, scope, grades)
    return found


SAVE_BODY = "The kettle is descaled with citric acid on the first Monday of a month."
MEMORY = (
    Examples(
        "memory.save",
        (
            Example(given={"title": "Kettle", "body": SAVE_BODY}, argv=("save", "-t", "Kettle", "--text", SAVE_BODY)),
            Example(
                given={
                    "title": "Kettle",
                    "body": SAVE_BODY,
                    "tags": ["a", "b"],
                    "folder": "house/kitchen",
                    "tier": "critical",
                },
                argv=(
                    "save",
                    "-t",
                    "Kettle",
                    "--text",
                    SAVE_BODY,
                    "--tag",
                    "a",
                    "--tag",
                    "b",
                    "--folder",
                    "house/kitchen",
                    "--tier",
                    "critical",
                ),
            ),
            Example(
                given={"title": "Key", "body": "Deploy with AKIA" + "IOSFODNN7EXAMPLE please, on Mondays only."},
                argv=("save", "-t", "Key", "--text", "Deploy with AKIA" + "IOSFODNN7EXAMPLE please, on Mondays only."),
            ),
            Example(given={"title": "x" * 1_001, "body": "b"}, argv=("save", "-t", "x" * 1_001, "--text", "b")),
            Example(given={"title": "Empty", "body": ""}, argv=("save", "-t", "Empty", "--text", "")),
        ),
    ),
    Examples(
        "memory.update",
        (
            Example(given={"memory_id": "<tea>", "title": "Green tea"}, argv=("update", "<tea>", "-t", "Green tea")),
            Example(
                given={"memory_id": "<tea>", "tags": ["drinks"], "folder": "kitchen"},
                argv=("update", "<tea>", "--tag", "drinks", "--folder", "kitchen"),
            ),
            Example(given={"memory_id": "m_none", "title": "x"}, argv=("update", "m_none", "-t", "x")),
        ),
    ),
    Examples(
        "memory.forget",
        (
            Example(given={"memory_id": "<tea>"}, argv=None),
            Example(given={"memory_id": "<tea>"}, argv=None, prepare=forget_tea),
            Example(given={"memory_id": "m_none"}, argv=("forget", "--reversible", "m_none")),
        ),
    ),
    Examples(
        "memory.restore",
        (
            Example(given={"memory_id": "<tea>"}, argv=("restore", "<tea>"), prepare=forget_tea),
            Example(given={"memory_id": "<oven>"}, argv=("restore", "<oven>")),
            Example(given={"memory_id": "m_none"}, argv=("restore", "m_none")),
        ),
    ),
    Examples(
        "memory.link",
        (
            Example(
                given={
                    "source_id": "<tea>",
                    "kind": "enabled",
                    "target_id": "<oven>",
                    "strength": 0.25,
                    "evidence": "hot",
                },
                argv=("link", "<tea>", "enabled", "<oven>", "--strength", "0.25", "--evidence", "hot"),
            ),
            Example(
                given={"source_id": "<tea>", "kind": "caused", "target_id": "<tea>"},
                argv=("link", "<tea>", "caused", "<tea>"),
            ),
            Example(
                given={"source_id": "m_none", "kind": "caused", "target_id": "<tea>"},
                argv=("link", "m_none", "caused", "<tea>"),
            ),
        ),
    ),
    Examples(
        "memory.why",
        (
            Example(given={"memory_id": "<oven>"}, argv=("why", "<oven>")),
            Example(given={"memory_id": "<tea>"}, argv=("why", "<tea>")),
            Example(given={"memory_id": "m_none"}, argv=("why", "m_none")),
        ),
    ),
)
DATASETS = (
    Examples("dataset.list", (Example(given={}, argv=("dataset", "list")),)),
    Examples(
        "dataset.show",
        (
            Example(given={"name": "tiny"}, argv=("dataset", "show", "tiny")),
            Example(given={"name": "hotel"}, argv=("dataset", "show", "hotel")),
            Example(given={"name": "tiny@1.0.0"}, argv=("dataset", "show", "tiny@1.0.0")),
            Example(given={"name": "no-such"}, argv=("dataset", "show", "no-such")),
        ),
    ),
)
GRADED = {"query_id": "<query>", "memory_id": "<oven>", "relevance": 3}
JUDGMENTS = (
    Examples(
        "judgment.add",
        (
            Example(given={"judgments": [GRADED]}, argv=None, prepare=search_oven),
            Example(
                given={
                    "judgments": [{**GRADED, "confidence": 0.5}, {**GRADED, "memory_id": "<tea>", "relevance": 0}],
                    "annotator": "ada",
                },
                argv=None,
                prepare=search_oven,
            ),
            Example(given={"judgments": [GRADED | {"relevance": 4}]}, argv=None, prepare=search_oven),
            Example(given={"judgments": [GRADED | {"memory_id": "m_none"}]}, argv=None, prepare=search_oven),
            Example(given={"judgments": []}, argv=None),
        ),
    ),
    Examples(
        "judgment.list",
        (
            Example(given={}, argv=None),
            Example(given={"limit": 1, "source": "manual"}, argv=None, prepare=grade_oven),
            Example(given={"query_id": "<query>"}, argv=None, prepare=grade_oven),
            Example(given={"cursor": "nowhere"}, argv=None),
            Example(given={"limit": 0}, argv=None),
        ),
    ),
)
RUNS = (
    Examples(
        "run.start",
        (
            Example(given={"dataset": "tiny"}, argv=("run", "tiny")),
            Example(
                given={
                    "dataset": "tiny",
                    "mode": "quick",
                    "metrics": ["ndcg@5", "recall@5"],
                    "k": 7,
                    "max_cases": 2,
                    "name": "quick two",
                },
                argv=(
                    *("run", "tiny"),
                    *("--system", "assay:mode=quick"),
                    *("--metrics", "ndcg@5,recall@5"),
                    *("-k", "7"),
                    *("--max-cases", "2"),
                    *("--name", "quick two"),
                ),
            ),
            Example(given={"dataset": "no-such"}, argv=("run", "no-such")),
            Example(given={"dataset": "tiny", "metrics": ["ndgc@5"]}, argv=("run", "tiny", "--metrics", "ndgc@5")),
            Example(given={"dataset": "tiny", "k": 2}, argv=("run", "tiny", "-k", "2")),
            Example(given={"dataset": "tiny", "k": 0}, argv=("run", "tiny", "-k", "0")),
            Example(given={"dataset": "tiny", "max_cases": 0}, argv=("run", "tiny", "--max-cases", "0")),
        ),
    ),
    Examples(
        "run.list",
        (
            Example(given={}, argv=None, prepare=keep_rows),
            Example(given={"limit": 2}, argv=None, prepare=keep_rows),
            Example(given={"cursor": "nowhere"}, argv=None),
            Example(given={"limit": 201}, argv=None),
        ),
    ),
    Examples(
        "run.show",
        (
            Example(given={"run_id": "<auto>"}, argv=None, prepare=keep_rows),
            Example(given={"run_id": "<auto>"}, argv=None),
            Example(given={"run_id": "run_none"}, argv=None),
        ),
    ),
    Examples(
        "run.compare",
        (
            Example(
                given={"control": "<auto>", "treatment": "<poor>"},
                argv=("compare", "<auto>", "<poor>"),
            ),
            Example(
                given={"control": "auto", "treatment": "poor one", "seed": 7},
                argv=("compare", "auto", "poor one", "--seed", "7"),
            ),
            Example(
                given={"control": "<auto>", "treatment": "<deep>"},
                argv=("compare", "<auto>", "<deep>"),
            ),
            Example(
                given={"control": "run_none", "treatment": "<poor>"},
                argv=("compare", "run_none", "<poor>"),
            ),
        ),
    ),
)
EXAMPLES: Mapping[str, Examples] = {examples.of: examples for examples in (*DATASETS, *JUDGMENTS, *MEMORY, *RUNS)}
