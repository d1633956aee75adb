"""LongMemEval S, M and oracle: 500 questions, each with the chat sessions of its own user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from assay.referee.sets.files import find_file, hash_files, need, read_json, read_moment
from assay.referee.sets.values import MemoryItem, MemoryQuestion, MemorySet, MemoryUser, PublishedCounts

ABSTAIN = "_abs"
VARIANTS = ("s", "m", "oracle")
QUIRKS = (
    (
        "Every question has a user of its own, filled with that question's sessions only; so no two questions share a "
        "cluster."
    ),
    "An item is one turn, `role: content`. The evidence is the turns that the file marks with `has_answer`.",
    "A question without a marked turn has no evidence in the key, and is not part of the retrieval mean.",
    "A question whose id ends with `_abs` has no answer in its sessions.",
    "The M file is 2.7 GB and is read whole.",
)
PUBLISHED = PublishedCounts(chats=500, questions=500, source="longmemeval_*.json: 500 questions")


def read_variant(data: Path, *, variant: str) -> MemorySet:
    """Read one of the three files."""
    name = f"longmemeval-{variant}"
    path = find_file(data, (f"longmemeval_{variant}.json", f"longmemeval_{variant}_*.json"), what=name)
    entries = read_json(path)
    users, questions = [], []
    for entry in entries:
        ident = str(need(entry, "question_id", path))
        items, evidence = _read_turns(entry, path)
        users.append(MemoryUser(id=ident, items=items))
        answerable = not ident.endswith(ABSTAIN)
        questions.append(
            MemoryQuestion(
                id=ident,
                user=ident,
                text=str(need(entry, "question", path)),
                evidence=evidence if answerable else (),
                answer=str(entry.get("answer", "")),
                category=str(entry.get("question_type", "")),
                answerable=answerable,
            )
        )
    return MemorySet(
        name=name,
        users=tuple(users),
        questions=tuple(questions),
        quirks=QUIRKS,
        published=PUBLISHED,
        files=hash_files([path]),
    )


READERS = {f"longmemeval-{variant}": partial(read_variant, variant=variant) for variant in VARIANTS}


def _read_turns(entry: Mapping[str, Any], path: Path) -> tuple[tuple[MemoryItem, ...], tuple[str, ...]]:
    items = list(_turns(entry, path))
    evidence = tuple(item.id for item, marked in items if marked)
    return tuple(item for item, _ in items), evidence


def _turns(entry: Mapping[str, Any], path: Path) -> Iterator[tuple[MemoryItem, bool]]:
    sessions = need(entry, "haystack_sessions", path)
    ids = entry.get("haystack_session_ids") or [f"session-{place}" for place in range(len(sessions))]
    dates = entry.get("haystack_dates") or [""] * len(sessions)
    seen: dict[str, int] = {}
    for session, ident, date in zip(sessions, ids, dates, strict=True):
        # A session may stand twice in one haystack; its turns then get ids of their own.
        seen[ident] = seen.get(ident, 0) + 1
        name = ident if seen[ident] == 1 else f"{ident}~{seen[ident]}"
        moment = read_moment(str(date), "%Y/%m/%d (%a) %H:%M")
        for place, turn in enumerate(session):
            role = str(need(turn, "role", path))
            text = f"{role}: {turn.get('content', '')}"
            item = MemoryItem(id=f"{name}#{place}", text=text, session=name, speaker=role, date=moment)
            yield item, bool(turn.get("has_answer"))
