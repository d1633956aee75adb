"""Signals of a plan, for the plan evaluator: numbers that tell an aligned plan from a misaligned one.

- Comparing words: by stem, by prefix, by vector.
- The signals.
- Their fitted weights, in `plan_coefficients.json`; `python -m bench.fit_plans` fits them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.judging.builtin.judges import Weights
from assay.regular_files import read_packaged_text
from assay.text.questions import ALIKE, FORM, AskedQuestion, cues_of, key_words
from assay.text.terms import stems, stems_of, words
from assay.text.wording import NEGATING_PREFIXES, RESTRICTORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assay.embedding.protocol import Embedder, Vectors

# --- Comparing words: by stem, by prefix, by vector ---
#
# A plan may use none of the question's words and still be right. So a key word counts as covered as far as the nearest
# word of a query is near to it, and fully when a query has it.

PREFIX = 5
"""Words that begin with as many letters alike are one: Norway, Norwegian."""
MOST_KEYS = 24
MOST_QUERY_WORDS = 60
"""Words that are compared by vector; each costs time."""
UNRELATED, RELATED = 0.3, 0.8
"""Cosines of two single words: at or below the first they have nothing in common, from the second on they mean the
same. Between them a part of the question is covered in proportion."""
MOST_BY_VECTOR = 0.9
"""The coverage of a word that no query has and a near word stands for."""
HALF = 0.5
"""A word, side or part is covered from here on."""


def has_stem(stem: str, stems_there: frozenset[str]) -> bool:
    """Whether a stem, a word that asks for the same, or another form of it is among these stems."""
    if any(stem in group and group & stems_there for group in ALIKE):
        return True
    return stem in stems_there or (
        len(stem) >= PREFIX and any(other.startswith(stem[:PREFIX]) for other in stems_there if len(other) >= PREFIX)
    )


class PlanWords:
    """The words of a question and of its queries, with their vectors when there is an embedder."""

    def __init__(self, asked: AskedQuestion, queries: Sequence[str], embedder: Embedder | None) -> None:
        self.asked = asked
        self.queries = tuple(queries)
        self.keys = list(asked.keys[:MOST_KEYS]) or words(asked.text)[:MOST_KEYS]
        self.query_keys = [key_words(query) for query in self.queries]
        self.query_stems = [frozenset(stems(query)) for query in self.queries]
        self.all_stems = frozenset[str]().union(*self.query_stems)
        self._embedder = embedder

    @property
    def has_vectors(self) -> bool:
        """Whether words can be compared by vector."""
        return self._embedder is not None

    @cached_property
    def aspects(self) -> tuple[str, ...]:
        """The sides or parts of the question; none when it has only one."""
        found = self.asked.sides or _alternatives(self.asked.text) or self.asked.parts
        return found if len(found) > 1 else ()

    @cached_property
    def distinct_query_keys(self) -> list[str]:
        """Each key word of a query once."""
        return list(dict.fromkeys(word for found in self.query_keys for word in found))[:MOST_QUERY_WORDS]

    @cached_property
    def _vectors(self) -> dict[str, Vectors]:
        if self._embedder is None:
            return {}
        texts = list(dict.fromkeys([self.asked.text, *self.queries, *self._compared_words()]))
        # One call: an embedder batches texts of like length.
        return dict(zip(texts, self._embedder.embed(texts), strict=True))

    def _compared_words(self) -> list[str]:
        """Words that stems alone do not settle; a plan in the question's own words has none."""
        lost, added = self._lost_words, list(self.shared_new_words)
        return [*lost, *(self.distinct_query_keys if lost else ()), *added, *(self.keys if added else ())]

    @cached_property
    def _lost_words(self) -> list[str]:
        """Words of the question, its sides and parts that no query has."""
        found = list(dict.fromkeys([*self.keys, *(word for aspect in self.aspects for word in key_words(aspect))]))
        return [word for word, stem in zip(found, stems_of(found), strict=True) if not has_stem(stem, self.all_stems)]

    @cached_property
    def shared_new_words(self) -> dict[str, float]:
        """Words of several queries that the question does not have, with the share of the queries that have them."""
        asked = frozenset(stems(self.asked.text))
        shown: dict[str, str] = {}
        counted: Counter[str] = Counter()
        for found in self.query_keys:
            for word, stem in zip(found, stems_of(found), strict=True):
                if not has_stem(stem, asked):
                    shown.setdefault(stem, word)
                    counted[stem] += 1
        shared = [stem for stem, count in counted.items() if count > 1][:MOST_QUERY_WORDS]
        return {shown[stem]: counted[stem] / len(self.queries) for stem in shared}

    def cosine(self, text: str, other: str) -> float:
        """Of two texts among those of the plan and its question."""
        return float(self._vectors[text] @ self._vectors[other])

    def cosine_of_all(self) -> float:
        """Of the question with the mean of its queries."""
        mean = np.mean([self._vectors[query] for query in self.queries], axis=0)
        return float(self._vectors[self.asked.text] @ mean / np.linalg.norm(mean))

    @cached_property
    def _nearest_query_words(self) -> dict[str, float]:
        """For each word that no query has, the largest cosine with a key word of a query."""
        return self._nearest(self._lost_words, self.distinct_query_keys)

    @cached_property
    def _nearest_keys(self) -> dict[str, float]:
        """For each new word that queries share, the largest cosine with a key word of the question."""
        return self._nearest(list(self.shared_new_words), self.keys)

    def _nearest(self, found: Sequence[str], others: Sequence[str]) -> dict[str, float]:
        if not self.has_vectors or not found or not others:
            return {}
        rows, columns = (np.stack([self._vectors[word] for word in side]) for side in (found, others))
        return dict(zip(found, (rows @ columns.T).max(axis=1).tolist(), strict=True))

    def nearest_query_word(self, word: str) -> float:
        """The largest cosine of a word that no query has with a key word of a query; 0 without vectors."""
        return self._nearest_query_words.get(word, 0.0)

    def nearest_key(self, word: str) -> float:
        """The largest cosine of a new word that queries share with a key word of the question; 0 without vectors."""
        return self._nearest_keys.get(word, 0.0)

    def coverage_of(self, found: Sequence[str]) -> float:
        """How far the queries cover these words of the question, on average."""
        shares = [
            1.0 if has_stem(stem, self.all_stems) else _scale_word(self.nearest_query_word(word))
            for word, stem in zip(found, stems_of(list(found)), strict=True)
        ]
        return sum(shares) / len(shares)

    def aspect_coverages(self) -> dict[str, float]:
        """The coverage of what each side or part has and the others do not; empty when the question has only one.

        A part without words of its own ("and why") is covered when a query asks for its kind of answer.
        """
        found = [key_words(aspect) for aspect in self.aspects]
        stems_in = [set(stems_of(keys)) for keys in found]
        coverages = {}
        for place, (aspect, keys) in enumerate(zip(self.aspects, found, strict=True)):
            others = set[str]().union(*(other for index, other in enumerate(stems_in) if index != place))
            own = [word for word, stem in zip(keys, stems_of(keys), strict=True) if stem not in others]
            cues = cues_of(aspect)
            if own:
                coverages[aspect] = self.coverage_of(own)
            elif cues:
                coverages[aspect] = float(bool(cues & self.all_stems))
        return coverages

    def uncovered_keys(self) -> tuple[str, ...]:
        """The question's key words that no query has and no near word stands for, in order."""
        return tuple(word for word in self.keys if self.coverage_of([word]) < HALF)


def _scale_word(cosine: float) -> float:
    return min(MOST_BY_VECTOR, max(0.0, (cosine - UNRELATED) / (RELATED - UNRELATED)))


_TOKEN = re.compile(r"[\w'.-]+|[^\s\w'.-]")
"""A word, or a mark that parts words."""
AROUND_OR = 5
"""Words that are looked at on either side of an `or`."""


def _alternatives(text: str) -> tuple[str, ...]:
    """The few words before and after the first `or`."""
    tokens = _TOKEN.findall(text[:FORM])
    for place, token in enumerate(tokens):
        before = _leading_words(reversed(tokens[:place]))[::-1]
        after = _leading_words(tokens[place + 1 :])
        if token.lower() == "or" and before and after:
            return " ".join(before), " ".join(after)
    return ()


def _leading_words(tokens: Iterable[str]) -> list[str]:
    """The first few tokens, up to a mark."""
    return list(islice(takewhile(lambda token: token[0].isalnum() or token[0] in "_'.-", tokens), AROUND_OR))


# --- The signals ---
#
# Each is a number between 0 and 1 (cosines may lie a little below 0). None decides alone: a plan in other words has an
# uncovered word, a plan for another question may have most of them.

_NOT = re.compile(r"\b(?:not|never|no|nor|neither|none|cannot|without|except|excluding)\b|n['\u2019]t\b", re.IGNORECASE)
_EXCLUDES = re.compile(
    r"\b(?:exempt\w*|exclu\w+|exception\w*|disallow\w*|alternatives?|instead|other than|apart from|avoid\w*|free|"
    r"optional|voluntary|lack\w*|missing)\b",
    re.IGNORECASE,
)
NEGATED_WORDS = 3
"""Key words after a negator that it is about."""
NEGATED_CHARACTERS = 100
MOST_NEGATORS = 8
"""How much is read of a long question."""
_ASKS_FOR_NOW = re.compile(
    # A current may also flow: it is an adjective between a determiner and a noun.
    r"\b(?:now|nowadays|today|tonight|currently|(?:the|an?|our|my|your|its|their|any|is|are)\s+current"
    r"(?=\s+(?!will|is|was|has|can|may|could|would)\w)|latest|newest|recent(?:ly)?|news|at the moment|so far|"
    r"this (?:week|month|year|season|morning|weekend|evening))\b",
    re.IGNORECASE,
)
_SEARCHES_NOW = re.compile(
    r"\b(?:now|nowadays|today|tonight|current(?:ly)?|present|latest|newest|new|recent(?:ly)?|news|at the moment|so far|"
    r"live|real-time|status|upcoming|updated?|updates|20[2-9]\d|"
    r"this (?:week|month|year|season|morning|weekend|evening))\b",
    re.IGNORECASE,
)
ENOUGH_WORDS = 4
"""Key words of a specific query; fewer are enough for a shorter question."""


def measure_signals(plan: PlanWords, rules: float) -> dict[str, float]:
    """The signals of a plan; `rules` is the share of intent that the exact checks leave it."""
    found = {
        "kept_terms": _share(has_stem(stem, plan.all_stems) for stem in stems_of(plan.keys)),
        "dropped_term": _dropped_term(plan),
        "uneven_parts": _uneven_parts(plan),
        "lost_negation": _lost_negation(plan),
        "lost_present": _lost_present(plan),
        "added_focus": _added_focus(plan),
        "specificity": _specificity(plan),
        "rules": rules,
    }
    if plan.has_vectors:
        found |= {
            "weakest_query": min(plan.cosine(plan.asked.text, query) for query in plan.queries),
            "all_queries": plan.cosine_of_all(),
        }
    return found


def _share(values: Iterable[bool]) -> float:
    counted = [float(value) for value in values]
    return sum(counted) / len(counted)


def _dropped_term(plan: PlanWords) -> float:
    """High when a query quotes the question and no query has one of its words: the word was left out or exchanged.

    A plan in other words altogether quotes nothing, so nothing was dropped from a quotation.
    """
    key_stems = stems_of(plan.keys)
    quoted = max(_share(has_stem(stem, found) for stem in key_stems) for found in plan.query_stems)
    return quoted * max(1 - plan.coverage_of([word]) for word in plan.keys)


def _uneven_parts(plan: PlanWords) -> float:
    """High when one side or part is covered and another is not."""
    coverages = plan.aspect_coverages().values()
    return max(coverages) - min(coverages) if len(coverages) > 1 else 0.0


def _lost_negation(plan: PlanWords) -> float:
    """High when queries have the words that the question negates, and nothing that negates them."""
    if any(_negates(query, plan.asked.text) for query in plan.queries):
        return 0.0
    text = plan.asked.text
    ends = [match.end() for match in islice(_NOT.finditer(text), MOST_NEGATORS)]
    found = [key_words(text[end : end + NEGATED_CHARACTERS])[:NEGATED_WORDS] for end in ends]
    return max(
        (_share(has_stem(stem, plan.all_stems) for stem in stems_of(negated)) for negated in found if negated),
        default=0.0,
    )


def _negates(query: str, question: str) -> bool:
    """Whether a query has a negator, a word of exclusion, or the negated form of one of the question's words."""
    if _NOT.search(query) or _EXCLUDES.search(query) or RESTRICTORS & set(stems(query)):
        return True
    asked = frozenset(stems(question))
    without_prefix = [
        word.removeprefix(prefix) for word in words(query) for prefix in NEGATING_PREFIXES if word.startswith(prefix)
    ]
    return any(stem in asked for stem in stems_of([word for word in without_prefix if len(word) > 3]))


def _lost_present(plan: PlanWords) -> float:
    """1 when the question is about the present and no query is."""
    asks = _ASKS_FOR_NOW.search(plan.asked.text)
    return float(bool(asks) and not any(_SEARCHES_NOW.search(query) for query in plan.queries))


def _added_focus(plan: PlanWords) -> float:
    """High when several queries share a word that the question does not have and that is near to none of its words."""
    return max((share * (1 - plan.nearest_key(word)) for word, share in plan.shared_new_words.items()), default=0.0)


def _specificity(plan: PlanWords) -> float:
    """How many key words a query has, on average, of those that a specific one has."""
    enough = min(ENOUGH_WORDS, len(plan.keys))
    return sum(min(1.0, len(found) / enough) for found in plan.query_keys) / len(plan.queries)


# --- Their fitted weights ---

FILE = "plan_coefficients.json"


class PlanProfile(StrEnum):
    """What a set of weights gives the probability of."""

    INTENT = "intent"
    """That a plan follows the question; words and vectors."""
    INTENT_WORDS = "intent_words"
    """The same where no vectors are at hand."""
    COVERAGE = "coverage"
    """That a plan leaves nothing of the question out; words and vectors."""
    COVERAGE_WORDS = "coverage_words"
    SCOPE = "scope"
    """That a plan is neither too broad nor too narrow; words and vectors."""
    SCOPE_WORDS = "scope_words"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanProbabilities:
    """What the fitted weights say of a plan."""

    intent: float
    coverage: float
    scope: float


def weigh_signals(signals: Mapping[str, float], *, has_vectors: bool) -> PlanProbabilities:
    """The probability that a plan is right in each respect."""
    if has_vectors:
        profiles = (PlanProfile.INTENT, PlanProfile.COVERAGE, PlanProfile.SCOPE)
    else:
        profiles = (PlanProfile.INTENT_WORDS, PlanProfile.COVERAGE_WORDS, PlanProfile.SCOPE_WORDS)
    intent, coverage, scope = (load_weights()[profile].probability(signals) for profile in profiles)
    return PlanProbabilities(intent=intent, coverage=coverage, scope=scope)


@cache
def load_weights() -> dict[PlanProfile, Weights]:
    """The fitted weights of every profile."""
    stored: dict[str, dict[str, Any]] = json.loads(read_packaged_text("judging", "builtin", FILE))
    return {PlanProfile(name): read_weights(profile) for name, profile in stored["profiles"].items()}


def read_weights(stored: Mapping[str, Any]) -> Weights:
    """One profile as it is written in the file."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
    }
    return Weights(**fields)
