"""Questions in several steps: from a fact about what the question names to facts about its value.

    Where was the author of The Moonstone born?
      1. The author of The Moonstone is Wilkie Collins.      (the question names The Moonstone)
      2. Wilkie Collins was born in the city of London.      (the first fact leads to Wilkie Collins)

Only current facts count. The search is bounded: at most two hops, and five facts are followed at each. A chain is as
good as its facts are on average like the question. The facts of the best chains are put first, in their order, unless
one of the first results holds more of the question's words than a chain does: then that note answers the question, and
the facts only happen to be about something that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from assay.records import HopStep
from assay.storage import StoredFact
from assay.text.facts import name_run, normalise_name
from assay.text.relations import RelationKind
from assay.text.terms import stems, stems_of, words
from assay.text.wording import FUNCTION_WORDS

MOST_HOPS = 2
FOLLOWED = 5
"""Facts that are followed at each hop, those most like the question."""
READ = 50
"""Facts that are read at each hop, the newest."""
MOST_PLACED = 5
"""Facts of chains that are put first."""
COMPARED_RESULTS = 5
"""First results that a chain is compared with."""
SHORTEST_NAME = 3
"""Characters of a name that is looked up: `it` names nothing."""

LeadsOn = Callable[[Iterable[str]], bool]
About = Callable[[Sequence[str]], Sequence[StoredFact]]
Score = Callable[[Sequence[StoredFact]], Sequence[float]]


class Chain(NamedTuple):
    """Facts of which each leads to the next."""

    facts: tuple[StoredFact, ...]
    total: float
    """The sum of the facts' scores."""

    @property
    def score(self) -> float:
        """How like the question its facts are, on average."""
        return self.total / len(self.facts)


def find_chains(
    runs: Sequence[str], query_stems: Collection[str], *, may_lead_on: LeadsOn, about: About, score: Score
) -> list[Chain]:
    """Return chains of two facts or more that begin at something the question names, best first.

    `runs` are the runs of words of the question. A fact that leaves nothing of the question open begins no chain.
    """
    # Most questions name nothing whose facts lead on: for them no fact is read.
    if not may_lead_on(_names_in(runs)):
        return []
    first = _without_parts(_newest(about(list(dict.fromkeys(_names_in(runs))))))
    asked = _list_asked(query_stems)
    begun = [Chain((fact,), 0.0) for fact in first if asked - set(fact.topic.split())]
    # Most facts lead to nothing; likeness to the question is measured only where some of these do.
    if len(begun) <= FOLLOWED and not _follow(begun, about):
        return []
    beams = _best(begun, score)
    found: list[Chain] = []
    for _ in range(MOST_HOPS):
        beams = _best(_follow(beams, about), score)
        found += beams
    return sorted(found, key=lambda chain: -chain.score)


def _names_in(runs: Iterable[str]) -> Iterator[str]:
    """What runs of words may name; made when it is asked for, as where no fact leads on nobody asks."""
    return (name for name in map(name_run, runs) if len(name) >= SHORTEST_NAME)


def _list_asked(query_stems: Collection[str]) -> set[str]:
    return {stem for stem in query_stems if stem not in FUNCTION_WORDS and stem not in _QUESTION_WORDS}


_QUESTION_WORDS = frozenset(stems_of(words("which what who whom whose where when how name person thing")))


def _newest(facts: Sequence[StoredFact]) -> list[StoredFact]:
    """Return the facts without older views: of a relation that may hold several values, every value is followed."""
    by_age = sorted(facts, key=lambda fact: (fact.stated_at, fact.memory_number))
    newest = {fact.topic: fact for fact in by_age}
    return [fact for fact in facts if fact.kind is RelationKind.SEVERAL or newest[fact.topic] is fact]


def _without_parts(facts: Sequence[StoredFact]) -> list[StoredFact]:
    """Return the facts without those about a part of a longer name that is known too: `London` of `London Bridge`."""
    subjects = {fact.subject for fact in facts}
    parts = {one for one in subjects if any(one != other and f" {one} " in f" {other} " for other in subjects)}
    return [fact for fact in facts if fact.subject not in parts]


def _follow(beams: Sequence[Chain], about: About) -> list[Chain]:
    leads = {normalise_name(chain.facts[-1].shown) for chain in beams}
    by_subject: dict[str, list[StoredFact]] = {}
    for fact in _newest(about(sorted(name for name in leads if len(name) >= SHORTEST_NAME))):
        by_subject.setdefault(fact.subject, []).append(fact)
    return [
        Chain((*chain.facts, fact), chain.total)
        for chain in beams
        for fact in by_subject.get(normalise_name(chain.facts[-1].shown), ())
        if fact.memory_id not in {former.memory_id for former in chain.facts}
    ]


def _best(chains: Sequence[Chain], score: Score) -> list[Chain]:
    """Return the few chains whose facts are most like the question, with the score of their last fact added."""
    if not chains:
        return []
    scores = score([chain.facts[-1] for chain in chains])
    scored = [chain._replace(total=chain.total + likeness) for chain, likeness in zip(chains, scores, strict=True)]
    return sorted(scored, key=lambda chain: -chain.total)[:FOLLOWED]


def drop_answered(
    chains: Sequence[Chain], query_stems: Collection[str], results: Mapping[str, Collection[str]]
) -> list[Chain]:
    """Return the chains that hold at least as many words of the question as any other of the first results.

    `results` are the stems of the first results by memory id. A chain is not compared with its own notes.
    """
    asked = _list_asked(query_stems)
    held = {memory_id: len(asked.intersection(found)) for memory_id, found in results.items()}

    def fits(chain: Chain) -> bool:
        own = {fact.memory_id for fact in chain.facts}
        covered = asked.intersection(set().union(*map(_list_stems, chain.facts)))
        return len(covered) >= max((count for memory_id, count in held.items() if memory_id not in own), default=0)

    return [chain for chain in chains if fits(chain)]


def _list_stems(fact: StoredFact) -> set[str]:
    return {*fact.topic.split(), *stems(fact.shown)}


def choose_steps(chains: Sequence[Chain], ranks: Callable[[str], int | None]) -> dict[str, HopStep]:
    """Return the steps of the best chains by memory id, in the order in which they are shown.

    `ranks` gives the rank that a memory has by its score, None where no channel found it. A chain whose facts do not
    all have room is left out.
    """
    steps: dict[str, HopStep] = {}
    for chain in chains:
        new = [fact for fact in chain.facts if fact.memory_id not in steps]
        if not new or len(steps) + len(new) > MOST_PLACED:
            continue
        for hop, fact in enumerate(chain.facts):
            steps.setdefault(
                fact.memory_id,
                HopStep(hop=hop, from_rank=ranks(fact.memory_id), about=fact.subject, leads_to=fact.shown),
            )
    return steps
