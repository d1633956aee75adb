"""REALTALK: ten chats that real people held over three weeks, in a file form close to LoCoMo's."""

from __future__ import annotations

from pathlib import Path

from assay.referee.sets.files import find_files, hash_files, need, read_json
from assay.referee.sets.locomo import read_sessions, split_evidence
from assay.referee.sets.values import MemoryQuestion, MemorySet, MemoryUser, PublishedCounts

NAME = "realtalk"
FILES = ("Chat_*.json",)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "commonsense"}
QUIRKS = (
    (
        "The public files were not at hand when this reader was written. It follows descriptions of them: one file a "
        "chat, `session_N` lists with `clean_text`, `speaker`, `dia_id`, and `qa` with `evidence` and `category`."
    ),
    "An item is one message: the speaker's name and the cleaned text, with the caption of an image in brackets.",
    "Messages without text and caption are kept, so that positions and ids stay as published.",
)
PUBLISHED = PublishedCounts(chats=10, questions=None, source="the ten chats of the published data folder")


def read_realtalk(data: Path) -> MemorySet:
    """Read the chats, one file each."""
    paths = find_files(data, FILES, what="REALTALK")
    users: list[MemoryUser] = []
    questions: list[MemoryQuestion] = []
    for path in paths:
        chat = read_json(path)
        users.append(MemoryUser(id=path.stem, items=tuple(read_sessions(chat, path, text="clean_text"))))
        for row, entry in enumerate(chat.get("qa") or []):
            category = int(entry.get("category") or 0)
            questions.append(
                MemoryQuestion(
                    id=f"{path.stem}/qa{row}",
                    user=path.stem,
                    text=str(need(entry, "question", path)),
                    evidence=split_evidence(entry.get("evidence") or []),
                    answer=str(entry.get("answer", "")),
                    category=CATEGORIES.get(category, str(category)),
                )
            )
    return MemorySet(
        name=NAME,
        users=tuple(users),
        questions=tuple(questions),
        quirks=QUIRKS,
        published=PUBLISHED,
        files=hash_files(paths),
    )
