"""Contenders without a product behind them: BM25, exact vectors, and Markdown files with grep.

They keep what they hold in files of their own, one for each user, so that a restart loses nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, RecordNotFound
from assay.referee.contenders.contract import FILTERS, TIMESTAMPS, Contender, ContenderHit, Declaration, OpenContender
from assay.referee.sets.values import MemoryItem

K1, B = 1.2, 0.75
"""The usual parameters of BM25."""
SHORTEST_WORD = 3
_WORD = re.compile(r"\w+")
_MARK = "<!-- item "


def folder_name(user: str) -> str:
    """Return a file name for a user, whatever the user's id contains."""
    return "user-" + hashlib.sha256(user.encode()).hexdigest()[:24]


def missing_item(name: str, user: str, item_id: str) -> RecordNotFound:
    """Return the error for an item that is to be changed and is not there."""
    return RecordNotFound(f"{name} holds no item {item_id!r} of {user!r}", remedy="Fill it first.")


class _KeepsTexts(Contender):
    """Keeps the items of each user in order, in one JSON file."""

    def __init__(self, opened: OpenContender) -> None:
        self._folder = opened.folder
        self._texts: dict[str, dict[str, str]] = {}

    def texts(self, user: str) -> dict[str, str]:
        """Return a user's items, in the order of filling."""
        if user not in self._texts:
            path = self._path(user)
            self._texts[user] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return self._texts[user]

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        """Keep the items."""
        self.texts(user).update({item.id: item.text for item in items})
        self._changed(user)

    def update(self, user: str, item: MemoryItem) -> None:
        """Keep the new text in the old place."""
        if item.id not in self.texts(user):
            raise missing_item(self.name, user, item.id)
        self._texts[user][item.id] = item.text
        self._changed(user)

    def delete(self, user: str, item_id: str) -> None:
        """Drop the item."""
        if item_id not in self.texts(user):
            raise missing_item(self.name, user, item_id)
        del self._texts[user][item_id]
        self._changed(user)

    def _changed(self, user: str) -> None:
        text = json.dumps(self._texts[user], ensure_ascii=False)
        self._path(user).write_text(text, encoding="utf-8")

    def _path(self, user: str) -> Path:
        return self._folder / f"{folder_name(user)}.json"


class _Bm25Index:
    """Terms of one user's items."""

    def __init__(self, texts: Mapping[str, str], analyse: Callable[[str], list[str]]) -> None:
        self.ids = list(texts)
        counts = [Counter(analyse(text)) for text in texts.values()]
        self._lengths = np.array([sum(count.values()) for count in counts], dtype=np.float64)
        self._mean = float(self._lengths.mean()) if len(self._lengths) else 1.0
        self._postings: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        rows: dict[str, list[tuple[int, int]]] = {}
        for place, count in enumerate(counts):
            for term, times in count.items():
                rows.setdefault(term, []).append((place, times))
        for term, found in rows.items():
            columns = np.array(found, dtype=np.int64)
            self._postings[term] = columns[:, 0], columns[:, 1].astype(np.float64)

    def scores(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """Return the score of every item."""
        total = np.zeros(len(self.ids))
        for term in dict.fromkeys(terms):
            if term not in self._postings:
                continue
            places, times = self._postings[term]
            weight = math.log(1 + (len(self.ids) - len(places) + 0.5) / (len(places) + 0.5))
            norm = K1 * (1 - B + B * self._lengths[places] / max(self._mean, 1.0))
            total[places] += weight * times * (K1 + 1) / (times + norm)
        return total


class Bm25(_KeepsTexts):
    """Okapi BM25 over stemmed words."""

    name = "bm25"

    def __init__(self, opened: OpenContender, analyse: Callable[[str], list[str]]) -> None:
        super().__init__(opened)
        self._analyse = analyse
        self._indexes: dict[str, _Bm25Index] = {}

    @property
    def declaration(self) -> Declaration:
        """Return the parameters."""
        configuration = {"k1": K1, "b": B, "terms": "words folded and stemmed for English, no stop words"}
        return Declaration(ignores=(FILTERS, TIMESTAMPS), configuration=configuration)

    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        """Return items with at least one term of the question."""
        texts = self.texts(user)
        if user not in self._indexes:
            self._indexes[user] = _Bm25Index(texts, self._analyse)
        index = self._indexes[user]
        scores = index.scores(self._analyse(question))
        best = [place for place in np.argsort(-scores, kind="stable")[:k].tolist() if scores[place] > 0]
        return [ContenderHit(id=index.ids[place], text=texts[index.ids[place]]) for place in best]

    def _changed(self, user: str) -> None:
        super()._changed(user)
        self._indexes.pop(user, None)


class ExactVectors(_KeepsTexts):
    """Every vector of the user compared, by one matrix product."""

    name = "vector"

    def __init__(self, opened: OpenContender) -> None:
        if opened.embedder is None:
            raise InputError("vector needs an embedder", remedy="Install assaykit[memory].")
        super().__init__(opened)
        self._embedder: Any = opened.embedder
        self._vectors: dict[str, tuple[list[str], NDArray[np.float32]]] = {}

    @property
    def declaration(self) -> Declaration:
        """Return the model."""
        return Declaration(
            ignores=(FILTERS, TIMESTAMPS),
            embedder=self._embedder.model,
            configuration={"similarity": "cosine, exact", "reads": f"{self._embedder.token_limit} tokens of a text"},
        )

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        """Keep the items and make their vectors, so that the time to fill includes them."""
        super().fill(user, items)
        self._matrix(user)

    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        """Return the nearest items."""
        ids, matrix = self._matrix(user)
        if not ids:
            return []
        scores = matrix @ self._embedder.embed([question])[0]
        texts = self.texts(user)
        return [ContenderHit(id=ids[place], text=texts[ids[place]]) for place in np.argsort(-scores, kind="stable")[:k]]

    def _matrix(self, user: str) -> tuple[list[str], NDArray[np.float32]]:
        if user not in self._vectors:
            texts = self.texts(user)
            self._vectors[user] = list(texts), self._embedder.embed(list(texts.values()))
        return self._vectors[user]

    def _changed(self, user: str) -> None:
        super()._changed(user)
        self._vectors.pop(user, None)


class MarkdownGrep(Contender):
    """Plain Markdown files, one for each session, searched word by word as `grep -i -w` does.

    An item counts one for every different word of the question that it has; of equal ones the newer is better. There is
    no index, no stemming and no weighting: it is what an agent with a notes folder has.
    """

    name = "markdown-grep"

    def __init__(self, opened: OpenContender) -> None:
        self._folder = opened.folder

    @property
    def declaration(self) -> Declaration:
        """Return how lines are matched."""
        configuration = {"words": f"of {SHORTEST_WORD} letters or more, whole, any case", "ties": "newer first"}
        return Declaration(ignores=(FILTERS, TIMESTAMPS), configuration=configuration)

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        """Append the items to their sessions' files."""
        place = self._place(user)
        place.mkdir(parents=True, exist_ok=True)
        start = sum(len(self._read(path)) for path in self._files(user))
        for number, item in enumerate(items, start=start):
            # The number keeps the order of filling across files; a Markdown reader does not show comments.
            path = place / f"{folder_name(item.session)}.md"
            with path.open("a", encoding="utf-8") as file:
                file.write(self._section(number, item.id, item.text))

    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        """Return items that have words of the question, those with more of them first."""
        asked = {word for word in _WORD.findall(question.casefold()) if len(word) >= SHORTEST_WORD}
        found = []
        for path in self._files(user):
            for number, item_id, text in self._read(path):
                shared = len(asked.intersection(_WORD.findall(text.casefold())))
                if shared:
                    found.append((shared, number, item_id, text))
        found.sort(key=lambda entry: (-entry[0], -entry[1]))
        return [ContenderHit(id=item_id, text=text) for _, _, item_id, text in found[:k]]

    def update(self, user: str, item: MemoryItem) -> None:
        """Rewrite the file that has the item."""
        self._rewrite(user, item.id, item.text)

    def delete(self, user: str, item_id: str) -> None:
        """Rewrite the file without the item."""
        self._rewrite(user, item_id, None)

    def _rewrite(self, user: str, item_id: str, text: str | None) -> None:
        for path in self._files(user):
            entries = self._read(path)
            if any(found == item_id for _, found, _ in entries):
                kept = [
                    (number, found, text if found == item_id and text is not None else old)
                    for number, found, old in entries
                    if found != item_id or text is not None
                ]
                path.write_text("".join(self._section(*entry) for entry in kept), encoding="utf-8")
                return
        raise missing_item(self.name, user, item_id)

    def _place(self, user: str) -> Path:
        return self._folder / folder_name(user)

    def _files(self, user: str) -> list[Path]:
        return sorted(self._place(user).glob("*.md"))

    @staticmethod
    def _section(number: int, item_id: str, text: str) -> str:
        # Written as JSON, so that no text can look like the mark of another item.
        return f"{_MARK}{number} {json.dumps(item_id)} -->\n{json.dumps(text, ensure_ascii=False)[1:-1]}\n\n"

    @staticmethod
    def _read(path: Path) -> list[tuple[int, str, str]]:
        found = []
        lines = path.read_text(encoding="utf-8").split("\n")
        for place, line in enumerate(lines):
            if line.startswith(_MARK):
                number, _, rest = line.removeprefix(_MARK).partition(" ")
                item_id = json.loads(rest.removesuffix(" -->"))
                found.append((int(number), item_id, json.loads(f'"{lines[place + 1]}"')))
        return found
