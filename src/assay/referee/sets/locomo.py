"""LoCoMo: ten long chats of two people with questions, and the file form that REALTALK shares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.referee.sets.files import find_file, hash_files, need, read_json, read_moment
from assay.referee.sets.values import MemoryItem, MemoryQuestion, MemorySet, MemoryUser, PublishedCounts

NAME = "locomo"
FILES = ("locomo10.json", "locomo*.json")
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = 5
CHATS = ("26", "30", "41", "42", "43", "44", "47", "48", "49", "50")
"""Numbers in the ids of the ten published chats (`conv-26`, ...), in the order of the file: audits number by it."""
QUIRKS = (
    "An item is one turn of the chat: the speaker's name and the text, with the caption of a shared image in brackets.",
    (
        "Questions of category 5 (adversarial) have no answer in the chat. They are asked and shown as a category, and "
        "are not part of the mean, as in the published tables."
    ),
    (
        "Some evidence ids are joined by semicolons or malformed (`D8:6; D9:17`, `D`, `D:11:26`). Joined ids are "
        "split; a malformed one stays in the key as it is, and no system can find it."
    ),
    "The answer key has known errors: give a key overlay (--overlay) to see both columns.",
)
PUBLISHED = PublishedCounts(chats=10, questions=1986, source="locomo10.json: 1,540 in categories 1 to 4, 446 in 5")
_JOINED = re.compile(r"[;,\s]+")
_SESSION = re.compile(r"session_(\d+)")


def read_locomo(data: Path) -> MemorySet:
    """Read the chats of a LoCoMo file, all ten or some."""
    path = find_file(data, FILES, what="LoCoMo")
    chats = read_json(path)
    read = [_read_chat(chat, place, path) for place, chat in enumerate(chats)]
    return MemorySet(
        name=NAME,
        users=tuple(user for user, _ in read),
        questions=tuple(question for _, questions in read for question in questions),
        quirks=QUIRKS,
        published=PUBLISHED,
        files=hash_files([path]),
    )


def _read_chat(chat: Mapping[str, Any], place: int, path: Path) -> tuple[MemoryUser, list[MemoryQuestion]]:
    ident = str(chat.get("sample_id") or f"chat-{place}")
    number = ident.removeprefix("conv-")
    index = CHATS.index(number) if number in CHATS else place
    user = MemoryUser(id=ident, items=tuple(read_sessions(need(chat, "conversation", path), path)))
    questions = [
        _read_question(entry, f"locomo_{index}_qa{row}", ident, path)
        for row, entry in enumerate(need(chat, "qa", path))
    ]
    return user, questions


def _read_question(entry: Mapping[str, Any], ident: str, user: str, path: Path) -> MemoryQuestion:
    category = int(need(entry, "category", path))
    return MemoryQuestion(
        id=ident,
        user=user,
        text=str(need(entry, "question", path)),
        evidence=split_evidence(entry.get("evidence") or []),
        answer=str(entry.get("answer", "")) if category != ADVERSARIAL else "",
        category=CATEGORIES.get(category, str(category)),
        answerable=category != ADVERSARIAL,
    )


def read_sessions(conversation: Mapping[str, Any], path: Path, *, text: str = "text") -> Iterator[MemoryItem]:
    """Yield the turns of `session_1`, `session_2`, ... in order; `text` is the field that has the words."""
    numbers = sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key)))
    for number in numbers:
        date = read_moment(
            str(conversation.get(f"session_{number}_date_time", "")), "%I:%M %p on %d %B, %Y", "%d.%m.%Y, %H:%M:%S"
        )
        for turn in conversation[f"session_{number}"]:
            yield _read_turn(turn, f"session_{number}", date, path, text)


def _read_turn(turn: Mapping[str, Any], session: str, date: datetime | None, path: Path, text: str) -> MemoryItem:
    speaker = str(need(turn, "speaker", path))
    caption = turn.get("blip_caption")
    words = str(turn.get(text) or "") + (f" [shares an image: {caption}]" if caption else "")
    return MemoryItem(
        id=str(need(turn, "dia_id", path)),
        text=f"{speaker}: {words.strip()}",
        session=session,
        speaker=speaker,
        date=date,
    )


def split_evidence(entries: Any) -> tuple[str, ...]:
    """Return the ids of an evidence list, each once; joined ids are split, malformed ones kept as they are."""
    flat = entries if isinstance(entries, list) else [entries]
    parts = [part for entry in flat for part in _JOINED.split(str(entry).strip()) if part]
    return tuple(dict.fromkeys(part.rstrip(".") for part in parts))
