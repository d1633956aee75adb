"""The retriever under the gate: words in common, a rare word counts more."""

from __future__ import annotations

import math
import re
from collections import Counter

from assay import Dataset

WORDS = {one.id: set(re.findall(r"[a-z0-9]+", one.text.lower())) for one in Dataset.load("hotel").documents}
HOLDERS = Counter(word for words in WORDS.values() for word in words)


def weight(word: str) -> float:
    """A rare word counts more than a common one."""
    return math.log(len(WORDS) / HOLDERS[word])


def retrieve(query: str, k: int) -> list[str]:
    """Return the ids of the best documents, best first."""
    asked = set(re.findall(r"[a-z0-9]+", query.lower())) & HOLDERS.keys()
    return sorted(WORDS, key=lambda name: -sum(weight(word) for word in sorted(asked & WORDS[name])))[:k]
