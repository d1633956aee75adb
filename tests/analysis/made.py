"""Sessions made for tests: questions over a small world, scores as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import numpy as np

from assay.records.research_log import ResearchSession
from assay.text.questions import kind_of

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
"""A Monday."""
VERBS = ("deploy", "restore", "measure", "archive", "rotate", "export")
THINGS = ("invoices", "backups", "certificates", "dashboards", "tokens", "queues", "reports", "tenants")
NAMES = ("Anna", "Bo", "Chen", "Dita", "Emil", "Fatma", "Goran", "Hana", "Ines", "Jun", "Kofi", "Lena", "Mika")


def asked(number: int, *, newest: bool = False) -> str:
    """A question no other number has."""
    verb, thing = VERBS[number % len(VERBS)], THINGS[(number // 2) % len(THINGS)]
    name = NAMES[(number // 3) % len(NAMES)]
    return f"What is the {'latest ' if newest else ''}rule to {verb} {thing} for {name} in room {number}?"


def session(
    number: int, question: str = "", scores: Mapping[str, float] | None = None, **given: object
) -> ResearchSession:
    """One session with these scores."""
    question = question or asked(number)
    made = {
        "log_id": f"r_{number}",
        "created_at": AT + timedelta(hours=number),
        "question": question,
        "kind": kind_of(question),
        "scores": scores or {},
        **given,
    }
    return ResearchSession(**made)  # type: ignore[arg-type] # each test gives fields by name


Lowered = Callable[[int], bool]


def scored(count: int, *, seed: int, lowered: Lowered, drop: float = 0.35) -> list[ResearchSession]:
    """Every eighth question asks for the newest; those that `lowered` names lose on intent alignment."""
    rng = np.random.default_rng(seed)
    intent, faith = rng.beta(9.0, 2.0, count), rng.choice([0.0, 0.5, 1.0], count, p=[0.05, 0.15, 0.8])
    return [
        session(
            number,
            asked(number, newest=number % 8 == 0),
            {
                "intent_alignment": float(np.clip(intent[number] - (drop if lowered(number) else 0.0), 0.0, 1.0)),
                "faithfulness": float(faith[number]),
            },
        )
        for number in range(count)
    ]
