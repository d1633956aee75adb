"""The bundled set `starter`: eight users with two sessions each, so that a benchmark needs no data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.hashing import content_hash
from assay.referee.sets.values import MemoryItem, MemoryQuestion, MemorySet, MemoryUser, PublishedCounts
from assay.regular_files import read_packaged_text

NAME = "starter"
PUBLISHED = PublishedCounts(chats=8, questions=56, source="Assay's own set, version 1")
QUIRKS = (
    "Written for Assay by its authors: small, clean and in English. It shows that a system works, not that it is good.",
    (
        "An item is one turn, with the speaker's name. Later sessions change what earlier ones said; the evidence of "
        "an update is the newest statement alone."
    ),
    "Unanswerable questions have no evidence. They are asked and shown as a category, not part of the mean.",
    "Every user has 24 items, so ranks beyond 20 say nothing.",
)
UNANSWERABLE = "unanswerable"
FOLDER, FILE = "memory-starter", "set.json"


def read_bundled(data: Path) -> MemorySet:  # noqa: ARG001 - read like the others
    """Read the set from the package."""
    content = json.loads(read_packaged_text("datasets", FOLDER, FILE))
    return MemorySet(
        name=NAME,
        users=tuple(_read_user(user) for user in content["users"]),
        questions=tuple(question for user in content["users"] for question in _read_questions(user)),
        quirks=QUIRKS,
        published=PUBLISHED,
        files={FILE: content_hash(content)},
    )


def _read_user(user: Mapping[str, Any]) -> MemoryUser:
    return MemoryUser(id=user["id"], items=tuple(_read_items(user)))


def _read_items(user: Mapping[str, Any]) -> Iterator[MemoryItem]:
    for session in user["sessions"]:
        for place, turn in enumerate(session["turns"], start=1):
            yield MemoryItem(
                id=f"{session['id']}:{place}",
                text=turn,
                session=session["id"],
                speaker=turn.partition(":")[0],
                date=datetime.fromisoformat(session["date"]),
            )


def _read_questions(user: Mapping[str, Any]) -> Iterator[MemoryQuestion]:
    for place, entry in enumerate(user["questions"], start=1):
        yield MemoryQuestion(
            id=f"{user['id']}-{place}",
            user=user["id"],
            text=entry["question"],
            evidence=tuple(entry["evidence"]),
            answer=entry["answer"],
            category=entry["category"],
            answerable=entry["category"] != UNANSWERABLE,
        )
