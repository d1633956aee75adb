"""How likely each result is relevant: a probability that was fitted on labelled searches.

A score orders the results of one search; it does not say from where on results are noise. The relevance of a result is
a logistic function of a few clues that mean the same in every store:

- `best_share`: the logarithm of its score over the best score of the search;
- `standing`: by how many standard deviations its cosine is above the query's cosines with the whole store;
- `words`: the share of the query's content words that its best passage holds, rare words weighing more;
- `title`: the share of its title's content words that the query holds;
- `trigger`: the score of a trigger phrase of its own that stands in the query.

The coefficients are in `relevance.json`, made by `bench.fit_relevance`. There are two profiles: `meaning` for cosines
of the embedder that it was fitted with, `words` for all other searches. Scores of rank fusion are too flat to be
compared with the best one, so there the relevance is not known. Why these clues: `design/relevance-cut-off.md`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple, Protocol

from assay.memory.searching.channels import inverse_frequency
from assay.memory.searching.fusion import FusedPassage
from assay.records import Channel, CosineSpread, RelevanceClue, RelevanceReason
from assay.records.searching import LARGEST_LOG_ODDS
from assay.text.questions import FURNITURE
from assay.text.terms import stems_of
from assay.text.wording import FUNCTION_WORDS, NEGATORS

FILE = "relevance.json"
MEANING, WORDS = "meaning", "words"
"""The profile with cosines of the embedder it was fitted with, and the one without cosines."""
BEST_SHARE, STANDING, IN_PASSAGE, TITLE, TRIGGER = "best_share", "standing", "words", "title", "trigger"
CLUES: Mapping[str, tuple[str, ...]] = {
    MEANING: (BEST_SHARE, STANDING, IN_PASSAGE, TITLE, TRIGGER),
    WORDS: (BEST_SHARE, IN_PASSAGE, TITLE, TRIGGER),
}
LEAST_SHARE = 0.01
"""A smaller share of the best score counts as this one: its logarithm would outweigh all other clues."""
FRAMING = FURNITURE | FUNCTION_WORDS | NEGATORS
"""Stems that frame a question or a title and say nothing of its subject."""


# --- The fitted profiles ---


@dataclass(frozen=True, kw_only=True, slots=True)
class RelevanceProfile:
    """One set of coefficients: the log-odds are `bias` plus `weight * clue` for each clue."""

    name: str
    bias: float
    weights: Mapping[str, float]

    def explain(self, clues: Mapping[str, float]) -> RelevanceReason:
        """Return the probability with what each clue adds to its log-odds."""
        return RelevanceReason(
            profile=self.name,
            bias=self.bias,
            clues=tuple(
                RelevanceClue(name=name, value=clues[name], weight=weight) for name, weight in self.weights.items()
            ),
        )

    def probability(self, clues: Mapping[str, float]) -> float:
        """Return the probability that a result with these clues is relevant."""
        return to_probability(self.bias + math.fsum(weight * clues[name] for name, weight in self.weights.items()))


def to_probability(log_odds: float) -> float:
    """Return the probability of log-odds; never exactly 0 or 1."""
    return 1.0 / (1.0 + math.exp(-min(max(log_odds, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)))


@cache
def load_profiles() -> Mapping[str, RelevanceProfile]:
    """Return the profiles that come with Assay, by name."""
    return {
        name: RelevanceProfile(name=name, bias=stored["bias"], weights=stored["weights"])
        for name, stored in _read_file()["profiles"].items()
    }


@cache
def fitted_embedder() -> str:
    """Return the embedder whose cosines the profile `meaning` was fitted with."""
    return str(_read_file()["embedder"])


@cache
def _read_file() -> dict[str, Any]:
    text = resources.files("assay.memory.searching").joinpath(FILE).read_text(encoding="utf-8")
    stored: dict[str, Any] = json.loads(text)
    return stored


# --- The clues of each result ---


class Result(Protocol):
    """What is read of a result: its passages with their votes, best first."""

    @property
    def ranked(self) -> tuple[FusedPassage[int], ...]:
        """Its passages, best first."""
        ...


class QueryEvidence(NamedTuple):
    """What a search knows of its query before it looks at single results."""

    stems: Mapping[str, float]
    """The content stems of the query with their idf."""
    named: frozenset[str]
    """All stems of the query, to find titles in it."""
    store: CosineSpread | None
    """The query's cosines with the store; None: no vector of the fitted embedder was compared."""
    lowest: float
    """The lowest cosine that the vector channel listed: a passage it did not list is at most as near."""


class FoundResult(NamedTuple):
    """One result: its passages and its score over the best one."""

    result: Result
    share: float


def read_query(
    frequencies: Mapping[str, int],
    document_count: int,
    *,
    store: CosineSpread | None,
    vectors: Sequence[tuple[int, float]],
) -> QueryEvidence:
    """Read a query: how many passages hold each of its stems, and the vector channel's list."""
    content = {
        stem: inverse_frequency(frequency, document_count)
        for stem, frequency in frequencies.items()
        if is_content(stem)
    }
    return QueryEvidence(content, frozenset(frequencies), store, min((score for _, score in vectors), default=0.0))


def is_content(stem: str) -> bool:
    """Whether a stem says something of a subject."""
    return len(stem) > 1 and stem not in FRAMING


class Relevance(NamedTuple):
    """The relevance of one result."""

    profile: RelevanceProfile
    clues: Mapping[str, float]
    probability: float

    @property
    def is_triggered(self) -> bool:
        """Whether one of its trigger phrases stands in the query: its writer asked for it to come up."""
        return self.clues[TRIGGER] > 0.0

    def reason(self) -> RelevanceReason:
        """Return how the probability came about."""
        return self.profile.explain(self.clues)


def find_relevance(found: Sequence[FoundResult], query: QueryEvidence, lines: Mapping[int, str]) -> list[Relevance]:
    """Return the relevance of each result; `lines` has the analysed words of their best passages."""
    profile = load_profiles()[WORDS if query.store is None else MEANING]
    best = [entry.result.ranked[0].number for entry in found]
    texts = [lines.get(number, "\n\n").partition("\n") for number in best]
    stem_of = _stem_words(texts, query)
    every = [_clues(entry, query, title, rest, stem_of) for entry, (title, _, rest) in zip(found, texts, strict=True)]
    return [Relevance(profile, clues, profile.probability(clues)) for clues in every]


def _clues(
    entry: FoundResult, query: QueryEvidence, title: str, rest: str, stem_of: Mapping[str, str]
) -> dict[str, float]:
    in_title = {stem_of[word] for word in title.split()}
    about = [stem for stem in in_title if is_content(stem)]
    there = in_title.union(stem_of[word] for word in rest.split() if word in stem_of)
    clues = {
        BEST_SHARE: math.log(max(entry.share, LEAST_SHARE)),
        IN_PASSAGE: _share(query.stems, there),
        TITLE: sum(stem in query.named for stem in about) / len(about) if about else 0.0,
        TRIGGER: max(_scores(entry.result, Channel.TRIGGER), default=0.0),
    }
    if query.store is not None:
        cosine = max(_scores(entry.result, Channel.VECTOR), default=query.lowest)
        clues[STANDING] = query.store.standing_of(cosine)
    return clues


def _share(stems: Mapping[str, float], there: set[str]) -> float:
    whole = math.fsum(stems.values())
    return math.fsum(weight for stem, weight in stems.items() if stem in there) / whole if whole else 0.0


def _scores(result: Result, channel: Channel) -> Iterator[float]:
    """The scores that a channel gave to the passages of a result."""
    return (ballot[2] for passage in result.ranked for ballot in passage.ballots if ballot[0] is channel)


def _stem_words(texts: Sequence[tuple[str, str, str]], query: QueryEvidence) -> dict[str, str]:
    """The stems of all words of titles, and of those words of the passages that may be a word of the query."""
    # A stem begins with the letter of its word, so few words of a passage need to be stemmed.
    letters = {stem[0] for stem in query.stems}
    wanted = {word for title, _, _ in texts for word in title.split()}
    wanted |= {word for _, _, rest in texts for word in rest.split() if word[0] in letters}
    listed = sorted(wanted)
    return dict(zip(listed, stems_of(listed), strict=True))
