"""A memory system of your own: it ranks notes by the words they share with the question, rare words first."""

import json
import math
import re
from pathlib import Path
from typing import Any


class MyMemory:
    """Keeps notes in one JSON file."""

    ignores = ("filters", "timestamps")
    configuration = {"ranking": "shared words, weighted by rarity"}  # noqa: RUF012 - never changed

    def __init__(self, folder: Path) -> None:
        self.path = folder / "notes.json"
        self.notes = json.loads(self.path.read_text()) if self.path.exists() else {}

    def fill(self, user: str, items: Any) -> None:
        """Keep the items of a user."""
        self.notes.setdefault(user, {}).update({item.id: item.text for item in items})
        self.path.write_text(json.dumps(self.notes))

    def ask(self, user: str, question: str, k: int) -> list[tuple[str, str]]:
        """Return ids and texts, best first."""
        notes = self.notes.get(user, {})
        words = {note: set(re.findall(r"\w+", text.lower())) for note, text in notes.items()}
        scores = dict.fromkeys(notes, 0.0)
        for word in set(re.findall(r"\w+", question.lower())):
            having = [note for note in notes if word in words[note]]
            for note in having:
                scores[note] += math.log(1 + len(notes) / len(having))
        best = sorted(notes, key=scores.__getitem__, reverse=True)[:k]
        return [(note, notes[note]) for note in best if scores[note] > 0]
