"""Asks a system again to learn what it does not report: how deep a gold item is, and which words would have found it.

In this order, as long as calls are left:

    more results     the same query with 5, 20 and 100 times as many results, until the gold item appears
    its own words    title and opening of a gold item that did not appear, then its most telling words: is it indexed?
    without a word   the query less one word
    with a word      the query and a telling word of the gold item

A call that takes too long or cannot reach the system ends the probing; what was learnt until then is kept. A system
that refuses more results is asked with the number it takes. Systems that replay what was recorded are never asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from assay.evaluation.placement import Placing, words_of
from assay.evaluation.waterfall import Gold, rank_of
from assay.evaluation.why.words import OPENING_WORDS, TELLING_WORDS, CorpusWords, text_of_gold
from assay.records.datasets import Asking, Case, build_query
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved
from assay.records.explanations import ProbeCall, ProbeKind, Probing
from assay.records.searching import MAX_QUERY
from assay.systems.boundary import Asker, Terms

if TYPE_CHECKING:
    from assay.records.datasets import Dataset
    from assay.systems.protocol import System

DEFAULT_CALLS = 20
"""Calls for one query at most."""
DEEPER = (5, 20, 100)
"""How many times as many results are asked for."""
DEEPEST = 1_000
MOST_SEARCHED = 3
"""Gold items of a query whose own words are asked with."""
MOST_REMOVED = 8
"""Words of a query that are left out, one at a time."""
MOST_ADDED = 3
"""Words of each such gold item that are added, one at a time and then together."""
MOST_ERRORS = 2
TIMEOUT_S = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """A query whose gold is looked for."""

    case: Case
    gold: tuple[Gold, ...]
    """The gold items that were missed, the most relevant first."""
    listed: tuple[str, ...]
    """Ids of the list in the run."""
    ranks: Mapping[str, int]
    """Where the run showed the gold items that it did show."""
    k: int
    """How many results the run asked for."""
    wanted: int
    """How far down a reader looks."""
    asking: Asking = Asking.LAST
    instead: tuple[str, ...] = ()
    """Texts of the results that came instead, for the order in which words are tried."""


@dataclass
class _State:
    """What was learnt so far about one query."""

    calls: list[ProbeCall] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: int = 0
    ended: bool = False

    def rank_of(self, gold: Gold, *kinds: ProbeKind) -> int | None:
        """The best rank of a gold item in the calls of some kinds."""
        ranks = (call.ranks.get(gold.name) for call in self.calls if call.kind in kinds)
        return min((rank for rank in ranks if rank is not None), default=None)


class Prober:
    """Asks one system about lost queries of one dataset."""

    def __init__(
        self, system: System, dataset: Dataset, *, calls: int = DEFAULT_CALLS, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.calls = calls
        self._system = system
        self._dataset = dataset
        self._timeout_s = timeout_s
        self._known = frozenset(document.id for document in dataset.documents)
        self._words = CorpusWords(dataset)
        self._placing = Placing(dataset) if any(case.anchors for case in dataset.cases) else None

    def probe(self, lost: Lost) -> Probing:
        """Ask again about one query, `calls` times at most."""
        if self._system.replays:
            note = f"{self._system.name} only replays what was recorded, so nothing more can be learnt by asking it"
            return Probing(allowed=0, notes=(note,))
        state = _State()
        for call in chain(*(step(self, lost, state) for step in (_deeper, _own_words, _without_words, _with_words))):
            if len(state.calls) >= self.calls:
                state.notes.append(f"stopped after {self.calls} calls, the most that were allowed")
                break
            self._make(lost, call, state)
            if state.ended:
                break
        return Probing(
            allowed=self.calls, made=len(state.calls), calls=tuple(state.calls), notes=tuple(dict.fromkeys(state.notes))
        )

    def _make(self, lost: Lost, planned: _Planned, state: _State) -> None:
        result = self._ask(lost, planned)
        given = None if result.retrieved is None else self._placed(lost.case, result.retrieved)
        state.calls.append(
            ProbeCall(
                kind=planned.kind,
                query=planned.query,
                k=planned.k,
                words=planned.words,
                about=planned.about,
                status=result.status.value,
                returned=0 if given is None else len(given.ids),
                ranks={} if given is None else {gold.name: rank_of(gold, given) for gold in lost.gold},
                error=result.error,
            )
        )
        if planned.kind is ProbeKind.DEPTH and given is not None:
            _compare_with_run(lost, given, state)
        if result.status is CaseStatus.TIMEOUT or result.unreachable:
            state.notes.append(f"stopped after {len(state.calls)} calls: {result.error}")
            state.ended = True
        elif result.status is CaseStatus.ERROR and planned.kind is not ProbeKind.DEPTH:
            state.errors += 1
            state.ended = state.errors >= MOST_ERRORS
            state.notes += [f"stopped after {state.errors} calls failed: {result.error}"] if state.ended else []

    def _ask(self, lost: Lost, planned: _Planned) -> CaseResult:
        asked = planned.kind is ProbeKind.DEPTH
        case = lost.case if asked else replace(lost.case, query=planned.query, history=())
        terms = Terms(
            k=planned.k,
            timeout_s=self._timeout_s,
            known=self._known,
            asking=lost.asking if asked else Asking.LAST,
        )
        with closing(Asker(self._system, terms)) as asker:
            return asker.ask(case)

    def _placed(self, case: Case, given: Retrieved) -> Retrieved:
        return given if self._placing is None or case.anchors is None else self._placing.place(case, given)

    def text_of(self, gold: Gold) -> str:
        """The text of a gold item."""
        return text_of_gold(self._dataset, gold)

    def title_of(self, gold: Gold) -> str:
        """The title of a gold item's document; empty: it has none."""
        document = self._dataset.by_id.get(gold.document_id or "")
        return "" if document is None else document.title

    @property
    def words(self) -> CorpusWords:
        """The words of the dataset's documents."""
        return self._words


@dataclass(frozen=True, kw_only=True, slots=True)
class _Planned:
    """A call to make."""

    kind: ProbeKind
    query: str
    k: int
    words: tuple[str, ...] = ()
    about: str = ""


def _compare_with_run(lost: Lost, given: Retrieved, state: _State) -> None:
    if given.ids[: len(lost.listed)] != lost.listed:
        state.notes.append("the system now gives another list for this query than in the run")


def _deeper(_: Prober, lost: Lost, state: _State) -> Iterator[_Planned]:
    """The same query with more results, until every gold item appeared or the list grows no more."""
    query = build_query(lost.case, lost.asking)
    if all(gold.name in lost.ranks for gold in lost.gold):
        return
    for k in dict.fromkeys(min(lost.k * times, max(DEEPEST, lost.k)) for times in DEEPER):
        if k <= lost.k:
            return
        yield _Planned(kind=ProbeKind.DEPTH, query=query, k=k)
        last = state.calls[-1]
        if last.status in (CaseStatus.ERROR, CaseStatus.TIMEOUT):
            state.notes.append(f"the system refuses {k:,} results: {last.error}")
            return
        if all(_is_found(gold, lost, state) for gold in lost.gold):
            return
        if last.returned < k:
            state.notes.append(f"asked for {k:,} results, the system gives {last.returned:,}: its list ends there")
            return


def _is_found(gold: Gold, lost: Lost, state: _State) -> bool:
    """Whether a gold item is in a list for the query itself."""
    return gold.name in lost.ranks or state.rank_of(gold, ProbeKind.DEPTH) is not None


def _own_words(prober: Prober, lost: Lost, state: _State) -> Iterator[_Planned]:
    """The own words of gold items that did not appear."""
    for gold in lost.gold[:MOST_SEARCHED]:
        text = prober.text_of(gold)
        if not text or _is_found(gold, lost, state):
            continue
        opening = " ".join([prober.title_of(gold), *text.split()[:OPENING_WORDS]]).strip()
        telling = " ".join(prober.words.telling_words(text, TELLING_WORDS))
        for query in dict.fromkeys(filter(None, (opening[:MAX_QUERY], telling[:MAX_QUERY]))):
            yield _Planned(kind=ProbeKind.OWN_WORDS, query=query, k=lost.k, about=gold.name)
            if state.calls[-1].ranks.get(gold.name) is not None:
                break


def _seems_absent(gold: Gold, state: _State) -> bool:
    looked = any(call.about == gold.name for call in state.calls if call.kind is ProbeKind.OWN_WORDS)
    return looked and state.rank_of(gold, ProbeKind.OWN_WORDS, ProbeKind.DEPTH) is None


def _depth_to_ask(gold: Gold, lost: Lost, state: _State) -> int:
    """How many results show where a gold item stands."""
    depths = [call for call in state.calls if call.kind is ProbeKind.DEPTH and call.status == CaseStatus.OK]
    held = [call.k for call in depths if call.ranks.get(gold.name) is not None]
    return min(held, default=lost.k)


def _without_words(prober: Prober, lost: Lost, state: _State) -> Iterator[_Planned]:
    """The query less one word: first words that the gold item lacks and the texts that came instead have."""
    gold = lost.gold[0]
    if _seems_absent(gold, state):
        return
    query = build_query(lost.case, lost.asking)
    own, instead = set(prober.words.content_words(prober.text_of(gold))), [set(words_of(text)) for text in lost.instead]
    words = prober.words.content_words(query)
    ordered = sorted(words, key=lambda word: (word in own, -sum(word in text for text in instead)))
    for word in ordered[:MOST_REMOVED]:
        rest = " ".join(piece for piece in query.split() if word not in words_of(piece))
        if rest:
            yield _Planned(kind=ProbeKind.WITHOUT, query=rest, k=_depth_to_ask(gold, lost, state), words=(word,))


def _with_words(prober: Prober, lost: Lost, state: _State) -> Iterator[_Planned]:
    """The query and telling words of a gold item."""
    query = build_query(lost.case, lost.asking)
    for gold in lost.gold[:MOST_SEARCHED]:
        if _seems_absent(gold, state):
            continue
        telling = prober.words.telling_words(prober.text_of(gold), MOST_ADDED, without=words_of(query))
        tries: Sequence[tuple[str, ...]] = [*((word,) for word in telling), *([telling] if len(telling) > 1 else [])]
        for words in tries:
            asked = f"{query} {' '.join(words)}"
            if len(asked) <= MAX_QUERY:
                k = _depth_to_ask(gold, lost, state)
                yield _Planned(kind=ProbeKind.WITH, query=asked, k=k, words=words, about=gold.name)
