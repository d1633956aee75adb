"""Two retrievers over the documents of the hotel dataset: words in common, and words in common weighted by rarity."""

from __future__ import annotations

import math
import re
from collections import Counter

from assay import Dataset

HOTEL = Dataset.load("hotel")
WORDS = {document.id: set(re.findall(r"[a-z0-9]+", document.text.lower())) for document in HOTEL.documents}
HOLDERS = Counter(word for words in WORDS.values() for word in words)


def count_words(query: str, k: int) -> list[str]:
    """Rank documents by how many words of the query they hold."""
    asked = set(re.findall(r"[a-z0-9]+", query.lower()))
    return sorted(WORDS, key=lambda name: -len(asked & WORDS[name]))[:k]


def weigh_words(query: str, k: int) -> list[str]:
    """Rank documents by the same words, where a rare word counts more."""
    asked = set(re.findall(r"[a-z0-9]+", query.lower()))
    weights = {word: math.log(len(WORDS) / HOLDERS[word]) for word in sorted(asked) if word in HOLDERS}
    return sorted(WORDS, key=lambda name: -sum(weights[word] for word in weights if word in WORDS[name]))[:k]
