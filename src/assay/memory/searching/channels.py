"""The five built-in ways of finding passages, and `@channel`, which adds one of your own.

- Score of the `fts5` channel: how many of the query's words a passage holds, where, and how close together.
- `Ask`: what every channel is called with.
- The `vector` channel: passages whose vectors are nearest to the query's, by cosine.
- The `fts5` channel: phrases, all words and prefixes in the database's full-text index.
- The `bm25` channel: stems of the query against the tenant's own lexical index.
- The `trigger` channel: memories one of whose trigger phrases is in the query.
- The `graph` channel: memories within two edges of the best hits of the other channels.
- The registry of channels, and the decorator `@channel`.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress, islice
from operator import itemgetter
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadValue, ChannelUnavailable
from assay.index import AllowedPassages, SearchView, numbers_of
from assay.memory.learning.policy import DENYLIST
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.query import ParsedQuery, expand_query, full_text_query
from assay.records import Channel, CosineSpread, Mode
from assay.records.fields import one_of
from assay.records.searching import add_channel, load_channels_by
from assay.registry import Registered, Registry, hash_function
from assay.storage import FullTextQuery, Reached, Work
from assay.text.terms import stems, stems_of
from assay.text.wording import FUNCTION_WORDS

# --- Score of the `fts5` channel: how many of the query's words a passage holds, where, and how close together ---
#
# The database only finds matches; this formula ranks them, so both back ends give the same order from the same words.
#
# The score is the square of coverage, times the sum of 0.5, 0.2 times place and 0.3 times nearness:
#
# - coverage: the share of the query's terms that the passage holds in any field, each weighed by its idf;
# - place: the mean weight of the best field of each term found (title 3, triggers 2, body 1; over 3), weighed by idf;
# - nearness: terms found in a field over the length of the shortest stretch of it that holds them all, the best field
#   counting; 1 when a quoted phrase, or all of the query in its own order, stands in one field. One term is near
#   itself.
#
# The score lies in (0, 1] for a passage that holds any term and is 0 for one that holds none. Terms are the query's
# words and prefixes; a prefix is found in any word that begins with it.

TITLE, TRIGGERS, BODY = 3.0, 2.0, 1.0
GROUND, PLACE, NEARNESS = 0.5, 0.2, 0.3
_FEW: Final = 16
"""Terms that are looked for one by one; for more of them, a field is taken apart."""


class Precise:
    """Scores passages for one query by the idf of its terms. Terms are matched with a space on either side."""

    def __init__(self, parsed: ParsedQuery, idf: Mapping[str, float]) -> None:
        self._parsed = parsed
        self._terms = [_in_line([term]) for term in parsed.terms]
        self._idf = {_in_line([term]): idf[term] for term in parsed.terms + parsed.prefixes}
        self._whole = math.fsum(self._idf.values())
        self._quoted = [_in_line(phrase) for phrase in parsed.phrases]
        self._as_asked = [_in_line(parsed.words)]
        self._one_by_one = not parsed.prefixes and len(self._terms) <= _FEW
        self._known: dict[tuple[tuple[str, float], ...], tuple[float, float]] = {}

    def score(self, lines: str) -> float:
        """The score of a passage, whose words are given as `AnalysedPassage.lines`."""
        # Most passages hold few of the terms, and most fields none.
        there = [term for term in self._terms if term in lines] if self._one_by_one else None
        title, triggers, body = lines.split("\n")
        best: dict[str, float] = {}
        fields: list[tuple[str, list[str]]] = []
        for weight, line in ((BODY, body), (TRIGGERS, triggers), (TITLE, title)):
            if here := self._find_terms(line) if there is None else [term for term in there if term in line]:
                fields.append((line, here))
                for term in here:
                    # The heavier field comes later and overwrites.
                    best[term] = weight
        if not best:
            return 0.0
        covered, ground = self._score_coverage(tuple(best.items()))
        near = max([self._nearness(line, here, len(best)) for line, here in fields])
        return covered * (ground + NEARNESS * near)

    def _score_coverage(self, best: tuple[tuple[str, float], ...]) -> tuple[float, float]:
        """The square of coverage, and what place adds to the ground. The same terms in the same fields come often."""
        known = self._known.get(best)
        if known is None:
            idf = self._idf
            found = math.fsum([idf[term] for term, _ in best])
            place = math.fsum([idf[term] * weight for term, weight in best]) / (found * TITLE)
            known = self._known[best] = (found / self._whole) ** 2, GROUND + PLACE * place
        return known

    def _find_terms(self, line: str) -> list[str]:
        return [_in_line([term]) for term in dict.fromkeys(term for _, term in self._places(line))]

    def _places(self, line: str) -> list[tuple[int, str]]:
        """Where terms stand in a field, in order."""
        words, parsed = line.split(), self._parsed
        if not parsed.prefixes:
            return list(compress(enumerate(words), map(parsed.term_set.__contains__, words)))
        return [(at, term) for at, word in enumerate(words) if (term := _term_of(word, parsed)) is not None]

    def _nearness(self, line: str, here: Sequence[str], found: int) -> float:
        """How close together the terms found stand in one field, which holds these of them."""
        different = len(here)
        wanted = self._quoted or (self._as_asked if different == len(self._terms) > 1 else ())
        for phrase in wanted:
            if phrase in line:
                return 1.0
        if different == 1:
            return 1.0 / found
        # A field that holds few of the terms found is not near for holding them close.
        return different / self._stretch(line, here) * different / found

    def _stretch(self, line: str, here: Sequence[str]) -> int:
        """The length in words of the shortest stretch that holds every term of the field."""
        if self._one_by_one:
            places = [line.find(term) for term in here]
            # Most fields say each term once: the stretch goes from the first of them to the last.
            if places == [line.rfind(term) for term in here]:
                return line.count(" ", min(places), max(places)) + 1
            return _shortest_stretch(_find_places(line, here), len(here))
        return _shortest_stretch(self._places(line), len(here))


def inverse_frequencies(parsed: ParsedQuery, frequency: Callable[[str], int], document_count: int) -> dict[str, float]:
    """The idf of each term, `ln(1 + (n - df + 0.5) / (df + 0.5))`, as BM25 has it; above 0 for every frequency.

    A prefix can match words of any frequency, so it weighs as much as the mean term, or 1 if there is no other term.
    """
    known = {term: inverse_frequency(frequency(term), document_count) for term in parsed.terms}
    mean = math.fsum(known.values()) / len(known) if known else 1.0
    return known | dict.fromkeys(parsed.prefixes, mean)


def inverse_frequency(frequency: int, document_count: int) -> float:
    """The idf of a term in this many of all passages."""
    count = max(document_count, frequency)
    return math.log1p((count - frequency + 0.5) / (frequency + 0.5))


def _term_of(word: str, parsed: ParsedQuery) -> str | None:
    if word in parsed.term_set:
        return word
    return next((prefix for prefix in parsed.prefixes if word.startswith(prefix)), None)


def _shortest_stretch(places: Sequence[tuple[int, str]], different: int) -> int:
    """The length in words of the shortest stretch that holds every term of the field."""
    shortest = places[-1][0] - places[0][0] + 1
    latest: dict[str, int] = {}
    for at, term in places:
        # Taken out and put in again, a term stands last: the first of them is where the stretch begins.
        latest.pop(term, None)
        latest[term] = at
        if len(latest) == different:
            stretch = at - next(iter(latest.values())) + 1
            if stretch < shortest:
                shortest = stretch
                if shortest == different:
                    break
    return shortest


def _find_places(line: str, terms: Sequence[str]) -> list[tuple[int, str]]:
    """Where these terms stand in a field, by the number of words before, in order; without taking the field apart."""
    found: list[tuple[int, str]] = []
    for term in terms:
        at = line.find(term)
        while at >= 0:
            found.append((at, term))
            # The space behind a word is the one before the next.
            at = line.find(term, at + len(term) - 1)
    found.sort()
    places: list[tuple[int, str]] = []
    words = before = 0
    for at, term in found:
        words += line.count(" ", before, at)
        before = at
        places.append((words, term))
    return places


def _in_line(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


# --- `Ask`: what every channel is called with ---

Offer = Sequence[tuple[int, float]]
"""Numbers of passages with scores on the channel's own scale, best first, ties by number."""


class QueryVector(NamedTuple):
    """The query as a vector, and the model that made it."""

    model: str
    values: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One question to a channel, inside one snapshot."""

    work: Work
    view: SearchView | None
    """None when the index cannot be read; channels that need it then return nothing."""
    parsed: ParsedQuery
    vector: QueryVector | None
    limit: int
    wanted: int = 1
    """Results that were asked for."""
    allowed: AllowedPassages | None
    """Which passages may be offered; None: all."""
    options: SearchOptions
    channels: tuple[Channel, ...] = ()
    """All channels that run in this search."""
    added_stems: Mapping[str, float] = field(default_factory=dict)
    """Stems that the previous question and query expansion add to the query, with their weights."""
    neighbours: Callable[[], Sequence[tuple[str, float]]] = tuple
    """Memories that the graph reaches from the best hits of the channels that ran before."""

    @property
    def around(self) -> Around:
        """What is near memories, from the index where it can be read."""
        return self.work.edges.around if self.view is None else self.view.around

    def opened_view(self) -> SearchView:
        """The index, for a channel that is nothing without it."""
        if self.view is None:
            raise ChannelUnavailable("the index cannot be read", remedy="See `assay index status`.")
        return self.view


# --- The `vector` channel: passages whose vectors are nearest to the query's, by cosine ---
#
# Vectors of two models are never compared: while a tenant's vectors are of another model than the query's, the channel
# gives nothing and says how far re-embedding has come.
#
# The channel lists its nearest passages. What the others find by words is compared with the query too, further down the
# same list: a passage behind the hundred nearest has a cosine all the same, and taking it for 0 buried good hits of
# `bm25` (`design/retrieval-quality.md`).


def search_vectors(ask: Ask) -> Offer:
    """The nearest passages."""
    view, vector = ask.opened_view(), ask.vector
    if vector is None:
        raise ChannelUnavailable("the query has no vector", remedy="Configure an embedder, or name other channels.")
    if not view.document_count:
        return []
    if view.model != vector.model:
        raise _other_model(ask, view.model, vector.model)
    return view.nearest(vector.values, model=vector.model, limit=_limit_nearest(ask), allowed=ask.allowed)


def _limit_nearest(ask: Ask) -> int:
    """How many are listed: fewer where the hits of `bm25` are compared with the query too."""
    if Channel.BM25 not in ask.channels or not ask.options.compare_found:
        return ask.limit
    return max(ask.wanted, math.ceil(ask.limit * ask.options.nearest_share))


def compare_found(ask: Ask, listed: Offer, found: set[int]) -> Offer:
    """The cosines of passages that other channels found and this one did not list, best first."""
    vector, others = ask.vector, list(found.difference(numbers_of(listed)))
    if vector is None or not others:
        return []
    return ask.opened_view().cosines(vector.values, others, model=vector.model)


def find_cosine_spread(ask: Ask) -> CosineSpread | None:
    """How near the query is to all the passages it may find; None when nothing can be compared with it."""
    view, vector = ask.opened_view(), ask.vector
    if vector is None or view.model != vector.model:
        return None
    return view.cosine_spread(vector.values, model=vector.model, allowed=ask.allowed)


def _other_model(ask: Ask, active: str | None, model: str) -> ChannelUnavailable:
    done, every = ask.work.vectors.count(model), ask.work.memories.count_chunks()
    return ChannelUnavailable(
        f"the vectors here are of {active or 'no model'}, the query's is of {model}; "
        f"{done:,} of {every:,} passages are embedded with it",
        remedy="Wait for re-embedding, run `assay index reembed`, or go back to the former embedder.",
    )


# --- The `fts5` channel: phrases, all words and prefixes in the database's full-text index ---
#
# The database finds, the formula of `precise` ranks, so both back ends give the same order. Words too common to tell
# anything are left out of the question to the database, but count in the score.

BEYOND_A_FILTER = 5
"""How many times as many matches are read when a filter will leave only some."""


def search_full_text(ask: Ask) -> Offer:
    """The passages that hold the query's words."""
    view = ask.view
    # Without an index no frequency is known; the database bounds the time all the same.
    count = 1 if view is None else view.document_count
    times = {term: 1 if view is None else view.word_frequency(term) for term in ask.parsed.terms}
    asked = full_text_query(ask.parsed, times.__getitem__, count, ask.options)
    if asked is None:
        return []
    score = Precise(ask.parsed, inverse_frequencies(ask.parsed, times.__getitem__, count)).score
    found = _find_matches(ask, asked)
    words = ask.work.passages.words(found) if view is None else view.words(found)
    scored = [(number, score(words[number])) for number in found]
    return sorted(scored, key=lambda one: (-one[1], one[0]))[: ask.limit]


def _find_matches(ask: Ask, asked: FullTextQuery) -> list[int]:
    """Return the newest matches that pass. The database applies no filter, so more than needed are read."""
    limit = ask.options.full_text_beside if _ranked_by_others(ask) else ask.options.full_text_limit
    if ask.view is None or ask.allowed is None:
        return ask.work.passages.matching(asked, limit)
    found = ask.work.passages.matching(asked, limit * BEYOND_A_FILTER)
    passing = ask.view.passes(found, ask.allowed)
    return list(islice(compress(found, passing), limit))


def _ranked_by_others(ask: Ask) -> bool:
    """Whether another channel ranks all passages by the query, so that this one adds little."""
    if ask.view is None:
        return False
    has_vectors = ask.vector is not None and ask.vector.model == ask.view.model
    return Channel.BM25 in ask.channels or (Channel.VECTOR in ask.channels and has_vectors)


# --- The `bm25` channel: stems of the query against the tenant's own lexical index ---
#
# In deep mode the query is expanded: words that the first results of all channels share join it with a small weight,
# and the index is asked once more. The first results of this channel alone would only say again what it has found.


def search_stems(ask: Ask) -> Offer:
    """The passages that share most with the query."""
    view = ask.opened_view()
    asked = _asked_stems(ask)
    if not asked:
        return []
    return view.lexical(asked, limit=ask.limit, allowed=ask.allowed)


def score_found(ask: Ask, listed: Offer, found: set[int]) -> Offer:
    """BM25 of passages that other channels found and this one did not list, best first."""
    others = list(found.difference(numbers_of(listed)))
    if not others:
        return []
    return ask.opened_view().lexical_of(_asked_stems(ask), others)


def _asked_stems(ask: Ask) -> dict[str, float]:
    asked = {stem: float(times) for stem, times in ask.parsed.stems.items()}
    return add_weights(asked, ask.added_stems)


def add_weights(weights: Mapping[str, float], added: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of stems with further ones added to them."""
    total = dict(weights)
    for stem, weight in added.items():
        total[stem] = total.get(stem, 0.0) + weight
    return total


def find_expansion_stems(ask: Ask, first: Sequence[int]) -> dict[str, float]:
    """The stems that expansion adds, without the query's own; `first` are the passages found so far, best first."""
    options, view = ask.options, ask.opened_view()
    texts = ask.work.passages.texts(first[: options.expansion_documents])
    feedback = [Counter(stems(text)) for text in texts.values()]
    if sum(map(Counter.total, feedback)) < options.expansion_least * len(feedback):
        return {}
    weighed = expand_query(
        ask.parsed.stems,
        feedback,
        lambda stem: inverse_frequency(view.document_frequency(stem), view.document_count),
        count=options.expansion_terms,
        weight=options.expansion_weight,
    )
    return {stem: weight for stem, weight in weighed.items() if stem not in ask.parsed.stems}


# --- The `trigger` channel: memories one of whose trigger phrases is in the query ---
#
# A phrase of n words scores 1 - 1/2^n (.5, .75, .875, ...), since a longer one is less likely to stand there by
# chance; a phrase that is the whole query scores 1. A memory scores by its best phrase. A phrase of ordinary words
# alone does not fire: it would bring its memory up for queries about anything. Learned triggers are not phrases of
# this channel; they are a boost.

MOST_JOINING = 3
"""Words of a phrase that stand together by chance when none of them has a content of its own."""


def search_triggers(ask: Ask) -> list[tuple[str, float]]:
    """Ids of memories with scores, best first, ties by number."""
    if not ask.parsed.runs or (ask.view is not None and not ask.view.may_match_triggers(ask.parsed.runs)):
        return []
    best: dict[tuple[int, str], float] = {}
    ordinary: dict[str, bool] = {}
    for found in ask.work.triggers.matching(ask.parsed.runs):
        if found.phrase not in ordinary:
            ordinary[found.phrase] = is_ordinary(found.phrase, ask.view, ask.options)
        if not ordinary[found.phrase]:
            key = (found.memory_number, found.memory_id)
            best[key] = max(best.get(key, 0.0), phrase_score(found.phrase.count(" ") + 1, len(ask.parsed.words)))
    ranked = sorted(best.items(), key=lambda one: (-one[1], one[0]))[: ask.limit]
    return [(memory_id, score) for (_, memory_id), score in ranked]


def phrase_score(length: int, query_length: int) -> float:
    """What a phrase of so many words is worth in a query of so many."""
    return 1.0 if length >= query_length else 1.0 - 0.5**length


def is_ordinary(phrase: str, view: SearchView | None, options: SearchOptions) -> bool:
    """Whether a normalised phrase says nothing: a word of any sentence or common here, or a few that only join."""
    if options.ordinary_fire:
        return False
    words = phrase.split(" ")
    if len(words) > 1:
        return len(words) <= MOST_JOINING and FUNCTION_WORDS.issuperset(stems_of(words))
    if phrase in DENYLIST:
        return True
    return view is not None and view.word_frequency(phrase) > options.too_ordinary(view.document_count)


# --- The `graph` channel: memories within two edges of the best hits of the other channels ---
#
# A memory scores the strength of the path that reaches it, times how good the hit is at which the path begins,
# compared with the best hit. Reached by several paths, it scores its best one.

GRAPH_SEEDS = 5
"""Hits whose neighbours are looked at."""
GRAPH_HOPS = 2
MOST_NEIGHBOURS = 50
"""Neighbours of all seeds together; the strongest are kept."""


class GraphNeighbour(NamedTuple):
    """A memory that the graph reached, and how."""

    memory_id: str
    score: float
    strength: float
    hops: int


_new_neighbour: Callable[[tuple[str, float, float, int]], GraphNeighbour] = partial(tuple.__new__, GraphNeighbour)


class Around(Protocol):
    """Finds what is near memories: the index of a search, or the store."""

    def __call__(self, memory_ids: Sequence[str], *, hops: int, limit: int) -> list[Reached]:
        """The memories within so many hops of any of these, strongest first."""
        ...


def search_graph(around: Around, seeds: Mapping[str, float]) -> list[GraphNeighbour]:
    """The neighbours of seeds, best first, ties by id. Each seed has its score, above 0."""
    if not seeds:
        return []
    best_seed = max(seeds.values())
    shares = {seed: score / best_seed for seed, score in seeds.items()}
    reached = around(list(seeds), hops=GRAPH_HOPS, limit=MOST_NEIGHBOURS)
    found = [
        _new_neighbour((memory_id, strength * shares[seed], strength, hops))
        for memory_id, seed, hops, strength, _ in reached
    ]
    found.sort(key=itemgetter(0))
    found.sort(key=itemgetter(1), reverse=True)
    return found


# --- The registry of channels, and the decorator `@channel` ---
#
# An added channel returns ids of memories with scores from 0 to 1. Each votes for its memory's best passage; filters
# and scope hold for it as for the others. What it raises is named in the result's `degraded`, and the others answer.

Offers = Iterable[tuple[str, float]]
"""Ids of memories with their scores."""
Function = TypeVar("Function", bound=Callable[[Ask], Offers])


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelEntry:
    """One channel."""

    channel: Channel
    summary: str
    of_passages: Callable[[Ask], Offer] | None = None
    """Finds passages by number; called before the channels that find memories."""
    of_memories: Callable[[Ask], Sequence[tuple[str, float]]] | None = None
    """Finds memories by id."""
    weight: float | None = None
    """Of an added channel; those of the built-in ones depend on what a query is after."""
    modes: frozenset[Mode] = frozenset({Mode.FOCUSED, Mode.DEEP})
    """Modes in which an added channel runs without being named."""
    code: str = ""
    """Hash of the function of an added channel."""


def read_channel(name: str, thing: object) -> ChannelEntry:
    """Make a channel of a plain function."""
    if not callable(thing):
        raise BadValue(f"{thing!r} is not a function", remedy="Give a function of an Ask that returns ids and scores.")
    return make_channel(thing, name)


CHANNELS: Registry[ChannelEntry] = Registry("channel", group="assay.channels", read=read_channel)
"""Every channel, by name."""


def channel(
    name: str,
    *,
    weight: float = 0.1,
    modes: Sequence[Mode | str] = (Mode.FOCUSED, Mode.DEEP),
    summary: str = "",
) -> Callable[[Function], Function]:
    """Register a function as a channel; it is returned unchanged.

        @channel("bookmarks", weight=0.2)
        def find_bookmarks(ask: Ask) -> list[tuple[str, float]]: ...

    `weight` is its weight in fusion (`vector` has 0.7, `bm25` 0.3). The channel runs in the given `modes`, and in every
    search that names it.
    """

    def add(function: Function) -> Function:
        CHANNELS.add(name, make_channel(function, name, weight=weight, modes=modes, summary=summary), thing=function)
        return function

    return add


def make_channel(
    function: Callable[[Ask], Offers],
    name: str,
    *,
    weight: float = 0.1,
    modes: Sequence[Mode | str] = (Mode.FOCUSED, Mode.DEEP),
    summary: str = "",
) -> ChannelEntry:
    """Make the entry of a channel that is added."""
    if not (math.isfinite(weight) and weight > 0):
        raise BadValue(f"the weight {weight} of the channel {name} is not above 0", remedy="Give a number such as 0.1.")
    first_line = (inspect.getdoc(function) or "").partition("\n")[0]
    return ChannelEntry(
        channel=add_channel(name),
        summary=summary or first_line,
        of_memories=lambda ask: _read_offers(function(ask), name)[: ask.limit],
        weight=weight,
        modes=frozenset(one_of(Mode)(mode, "modes") for mode in modes),
        code=hash_function(function),
    )


def _read_offers(offered: Offers, name: str) -> list[tuple[str, float]]:
    read = [(str(memory_id), float(score)) for memory_id, score in offered]
    if not all(0.0 <= score <= 1.0 for _, score in read):
        raise BadValue(f"the channel {name} gave a score outside 0 to 1", remedy="Scale its scores.")
    return sorted(read, key=lambda offer: (-offer[1], offer[0]))


def list_added_channels(mode: Mode | None = None) -> list[ChannelEntry]:
    """Return the channels that packages and programs added; with a mode, only those of that mode."""
    every, known = CHANNELS.all(), _ADDED.get("last")
    if known is None or known[0] is not every:
        added = tuple(known.entry for known in every.values() if known.entry.weight is not None)
        # Mostly none: every search asks several times. One assignment, so that threads need no lock.
        known = _ADDED["last"] = every, added
    return [entry for entry in known[1] if mode is None or mode in entry.modes]


_ADDED: dict[str, tuple[Mapping[str, Registered[ChannelEntry]], tuple[ChannelEntry, ...]]] = {}
"""The channels that were registered when this was last asked, and which of them were added."""


def _add_builtin(channel_name: Channel, summary: str, **finds: Any) -> None:
    entry = ChannelEntry(channel=channel_name, summary=summary, **finds)
    CHANNELS.add(channel_name.value, entry, thing=entry, origin=f"Assay itself ({channel_name.value})", module=__name__)


_add_builtin(Channel.VECTOR, "Passages whose meaning is nearest.", of_passages=search_vectors)
_add_builtin(Channel.FTS5, "Passages that hold the words, word for word.", of_passages=search_full_text)
_add_builtin(Channel.BM25, "Passages that share most stems.", of_passages=search_stems)
_add_builtin(Channel.TRIGGER, "Memories whose trigger phrase stands in the query.", of_memories=search_triggers)
_add_builtin(Channel.GRAPH, "Memories near the best hits of the others.", of_memories=lambda ask: ask.neighbours())
load_channels_by(CHANNELS.find)
