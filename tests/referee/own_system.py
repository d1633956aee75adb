"""A memory of words, as a stranger would write it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from assay.errors import RecordNotFound
from assay.referee.sets.values import MemoryItem


class WordMemory:
    """Ranks by shared words."""

    ignores = ("filters", "timestamps")
    embedder = None

    def __init__(self, folder: Path) -> None:
        self._path = folder / "words.json"
        self._held = json.loads(self._path.read_text()) if self._path.exists() else {}

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        self._held.setdefault(user, {}).update({item.id: item.text for item in items})
        self._path.write_text(json.dumps(self._held))

    def ask(self, user: str, question: str, k: int) -> list[tuple[str, str]]:
        asked = set(question.lower().split())
        held = self._held.get(user, {})
        return sorted(held.items(), key=lambda entry: -len(asked & set(entry[1].lower().split())))[:k]

    def update(self, user: str, item: MemoryItem) -> None:
        self._need(user, item.id)
        self.fill(user, [item])

    def delete(self, user: str, item_id: str) -> None:
        self._need(user, item_id)
        del self._held[user][item_id]

    def _need(self, user: str, item_id: str) -> None:
        if item_id not in self._held.get(user, {}):
            raise RecordNotFound(f"no {item_id!r}", remedy="Fill it first.")
