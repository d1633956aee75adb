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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

from assay.memory.searching.channels import inverse_frequency
from assay.memory.searching.fusion import FusedPassage
from assay.records import Channel, CosineSpread, RelevanceClue, RelevanceReason
from assay.records.searching import LARGEST_LOG_ODDS
from assay.regular_files import read_packaged_text
from assay.text.questions import FURNITURE
from assay.text.terms import look_up_stem, look_up_stems
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
        return to_probability(self.bias + math.fsum([weight * clues[name] for name, weight in self.weights.items()]))


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
    text = read_packaged_text("memory", "searching", FILE)
    stored: dict[str, Any] = json.loads(text)
    return stored


# --- The clues of each result ---


class Result(Protocol):
    """What is read of a result: its passages with their votes, best first."""

    @property
    def best_number(self) -> int:
        """The number of its best passage."""
        ...

    @property
    def ranked(self) -> tuple[FusedPassage[int], ...]:
        """Its passages, best first."""
        ...


class QueryEvidence(NamedTuple):
    """What a search knows of its query before it looks at single results."""

    stems: Mapping[str, float]
    """The content stems of the query with their idf."""
    whole: float
    """The sum of their idf."""
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
    stems: Collection[str],
    frequency: Callable[[str], int],
    document_count: int,
    *,
    store: CosineSpread | None,
    cosines: Sequence[float],
) -> QueryEvidence:
    """Read a query: its stems, how many passages hold each, and the cosines that the vector channel lists."""
    content = {stem: inverse_frequency(frequency(stem), document_count) for stem in stems if is_content(stem)}
    lowest = min(cosines, default=0.0)
    return QueryEvidence(content, math.fsum(content.values()), frozenset(stems), store, lowest)


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
    spread = None if query.store is None else query.store.with_prior()
    texts = [lines.get(entry.result.best_number, "") for entry in found]
    relevances = []
    for entry, text, there in zip(found, texts, _find_stems(texts, query), strict=True):
        title = look_up_stems(text.partition("\n")[0].split())
        clues = _clues(entry, query, title, there, spread)
        relevances.append(Relevance(profile, clues, profile.probability(clues)))
    return relevances


def _clues(
    entry: FoundResult,
    query: QueryEvidence,
    title: Sequence[str],
    there: set[str],
    spread: tuple[float, float] | None,
) -> dict[str, float]:
    """The clues of one result: the stems of its title, and the stems of the query in its passage.

    `spread` is what its cosine is held against: the mean and the standard deviation of the store's.
    """
    about = {stem for stem in title if len(stem) > 1} - FRAMING
    stems = query.stems
    covered = math.fsum([stems[stem] for stem in stems.keys() & there])
    cosine, trigger = _find_votes(entry.result)
    clues = {
        BEST_SHARE: math.log(max(entry.share, LEAST_SHARE)),
        IN_PASSAGE: covered / query.whole if query.whole else 0.0,
        TITLE: len(about & query.named) / len(about) if about else 0.0,
        TRIGGER: trigger,
    }
    if spread is not None:
        mean, deviation = spread
        clues[STANDING] = ((query.lowest if cosine is None else cosine) - mean) / deviation
    return clues


def _find_votes(result: Result) -> tuple[float | None, float]:
    """The highest cosine of its passages, None where the vector channel listed none, and its trigger score."""
    cosine: float | None = None
    trigger = 0.0
    for passage in result.ranked:
        for channel, _, score, _, _ in passage.ballots:
            if channel is Channel.VECTOR and (cosine is None or score > cosine):
                cosine = score
            elif channel is Channel.TRIGGER and score > trigger:
                trigger = score
    return cosine, trigger


def _find_stems(texts: Sequence[str], query: QueryEvidence) -> list[set[str]]:
    """The stems of the query that each analysed text holds."""
    # Stemming every word of ten passages would cost more than all the rest. A stem differs from the beginning of its
    # word in its last letter at most (`happi` of `happy`), but for a handful such as `die` of `dying`.
    by_begin: dict[str, set[str]] = {}
    for stem in query.stems:
        by_begin.setdefault(f" {stem[: max(len(stem) - 1, 2)]}", set()).add(stem)
    return [_find_stems_in(text, by_begin) for text in texts]


def _find_stems_in(text: str, by_begin: Mapping[str, set[str]]) -> set[str]:
    """The stems in a text; `by_begin` has those looked for by how their words begin, with the space before them."""
    found: set[str] = set()
    find = text.find
    for begin, wanted in by_begin.items():
        at = find(begin)
        while at >= 0:
            # Every word has a space on either side.
            end = find(" ", at + 1)
            stem = look_up_stem(text[at + 1 : end])
            if stem in wanted:
                found.add(stem)
                if wanted <= found:
                    break
            at = find(begin, end)
    return found
