"""Requests with which each verb is compared on its surfaces: ordinary ones, and ones that must be refused.

`<tea>` in a value stands for the id of the note of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.records import Scope

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
EXAMPLES: Mapping[str, Examples] = {examples.of: examples for examples in (*MEMORY,)}
