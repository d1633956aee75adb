"""Folder choice: where to look, from a cheap lexical probe and from the words in folder names.

A folder's evidence is its share of the probe's weight, raised when its name says what the query says. Folders are taken
best first until they hold most of the evidence. The pick is None, and the whole store is searched, when the evidence is
too flat: it takes more than three folders, or the folders taken hold most of the memories anyway.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from assay.memory.searching.query import ParsedQuery
from assay.text.terms import stems

ENOUGH_EVIDENCE = 0.8
"""The share of all evidence that the chosen folders hold; what is left is the risk of a scope miss."""
MOST_FOLDERS = 3
MOST_MEMORIES = 0.6
"""The share of all memories from which on narrowing is not worth its risk."""
NAME_WORTH = 0.5
"""What a folder named throughout by the query's words is worth, as a share of the whole probe."""


class FolderEvidence(NamedTuple):
    """What a probe found in one folder."""

    folder: str
    size: int
    """Memories in it."""
    hits_weight: float
    """The sum of the probe's scores of passages in it."""


class FolderPick(NamedTuple):
    """Folders to search and folders left out; best first and by name."""

    chosen: tuple[str, ...]
    excluded: tuple[str, ...]


def choose_folders(parsed: ParsedQuery, folder_scores: Sequence[FolderEvidence]) -> FolderPick | None:
    """The folders to search, or None when the evidence does not single any out."""
    worth = _worth(parsed, folder_scores)
    ranked = sorted((one for one in folder_scores if worth[one.folder] > 0.0), key=lambda one: _by(worth, one))
    needed = ENOUGH_EVIDENCE * math.fsum(worth.values())
    chosen: list[FolderEvidence] = []
    # A hair of tolerance: 0.8 of a sum of tenths is not exactly eight of them.
    while ranked and math.fsum(worth[one.folder] for one in chosen) < needed - 1e-12:
        chosen.append(ranked.pop(0))
    if not chosen or len(chosen) > MOST_FOLDERS or _share_of_memories(chosen, folder_scores) > MOST_MEMORIES:
        return None
    names = tuple(one.folder for one in chosen)
    return FolderPick(names, tuple(sorted(one.folder for one in folder_scores if one.folder not in names)))


def _worth(parsed: ParsedQuery, folder_scores: Sequence[FolderEvidence]) -> dict[str, float]:
    total = math.fsum(one.hits_weight for one in folder_scores) or 1.0
    return {one.folder: one.hits_weight / total + NAME_WORTH * _named(parsed, one.folder) for one in folder_scores}


def _named(parsed: ParsedQuery, folder: str) -> float:
    """The share of a folder's words that the query holds."""
    words = set(stems(folder))
    return len(words & parsed.stems.keys()) / len(words) if words else 0.0


def _by(worth: dict[str, float], one: FolderEvidence) -> tuple[float, str]:
    return -worth[one.folder], one.folder


def _share_of_memories(chosen: Sequence[FolderEvidence], every: Sequence[FolderEvidence]) -> float:
    total = sum(one.size for one in every)
    return sum(one.size for one in chosen) / total if total else 1.0
