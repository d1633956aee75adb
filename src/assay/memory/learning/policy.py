"""The ten safeguards between use and a learned trigger, each a named rule, all of them here.

- Words that no memory learns, because they are in too many queries.
- The rules and their limits.
- Whether several principals work in one tenant: then one of them alone must not move a memory.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple

from assay.errors import BadValue
from assay.records.learning import Refusal, Safeguard
from assay.storage import Work
from assay.text.terms import stems_of, words

# --- Words that no memory learns, because they are in too many queries ---

_WORDS = """
a about above after again against ago all almost also although always am among an and another any anybody anyone
anything are around as ask asked at away back be became because become been before began begin behind being below
best better between both but by call came can cannot case change come could day did different do does doing done
down during each either else end enough even ever every everybody everyone everything example explain fact far few
find first for found from further gave general get give given go goes going good got had has have having he help
hence her here hers him his how however i if in information instead into is issue it its itself just keep know
known last later latest least less let like list little look made make many may maybe me mean memory might mine
more most much must my myself name need never new next no nobody none nor not note nothing now of off often old on
once one only onto or other others our ours out over own part per perhaps please point possible problem put
question quite rather really remember result right said same saw say search see seem seen several shall she should
show since so some somebody someone something sometimes soon still such sure take tell than that the their theirs
them then there these they thing things think this those though through time to today together tomorrow too toward
try two under understand until up upon us use used using usual very want was way we well went were what whatever
when whenever where whether which while who whole whom whose why will with within without word work works would
yes yesterday yet you your yours
"""
# What an apostrophe leaves of a contraction, and contractions written without one.
_CONTRACTIONS = """
ain aint arent aren cant couldn couldnt couldve didn didnt doesn doesnt don dont hadn hadnt hasn hasnt haven havent
heres hes howd hows ill isn isnt itll its ive lets mightn mustn mustnt needn shant shes shouldn shouldnt shouldve thats
theres theyd theyll theyre theyve wasn wasnt weren werent weve whatd whatll whatre whats wheres whos whys won wont
wouldn wouldnt wouldve youd youll youre youve
"""
DENYLIST = frozenset(_WORDS.split()) | frozenset(_CONTRACTIONS.split())
_DIGITS = re.compile(r"\d+")


# --- The rules and their limits ---
#
# | rule | says |
# | --- | --- |
# | `denylist` | stop words and what is no word are not learned |
# | `rate` | a memory learns at most 3 terms in any 8 hours |
# | `ttl` | a term ends 30 days after it was learned; until then its belief falls in a straight line |
# | `full_text` | a term lives in a column and a table of its own; what the author wrote is not learned again |
# | `top_three` | nothing is learned from what was among the first three already, or from a query nobody knows |
# | `rollback` | a term that was taken back stays away until new evidence is complete |
# | `audit` | a term without its provenance (query, session, principal, rank) is not learned |
# | `shadow` | for a week terms are only written down; then those apply that are not noise, if fewer than 5 % are |
# | `age` | a memory younger than 72 hours learns nothing |
# | `gate` | nothing applies before two evaluation cycles are complete and a person has approved |
#
# Evidence comes from at least six sessions, and where several principals work in one scope from at least two of them:
# one voice alone moves nothing. It has to be 15 % of the searches that hold the word and returned the memory: what is
# returned often is chosen by mistake often. A question that holds the word, returned the memory three times and never
# led to it speaks against the word. `design/learned-term-noise.md` says how these numbers were chosen.
#
# Rules are pure: facts in, a verdict out. Time is an argument, and time that goes backwards never opens anything: what
# lies in the future is too young, still within its window, not yet over.

WEEK = timedelta(days=7)
SHORTEST, LONGEST = 3, 40
"""Letters of a term."""
READ_WORDS = 64
"""Words of a query that are looked at: a query is a question, and what is longer is no query."""
TTL = timedelta(days=30)


class Facts(NamedTuple):
    """A choice: a memory was read, reused or found useful after a query returned it."""

    memory_created_at: datetime
    query: str | None
    """None when the query that led there is unknown."""
    rank: int | None
    session_id: str | None
    principal: str | None


class Offered(NamedTuple):
    """The words of a query: what may be learned, and what is on the denylist."""

    terms: tuple[str, ...]
    denied: tuple[str, ...]


class AskedQuestion(NamedTuple):
    """One question that holds a word, over all of its searches."""

    returned: int
    """Searches for it that returned the memory."""
    chosen: int
    """Of these, how many are evidence."""


class Opening(NamedTuple):
    """What the shadow and gate rules look at."""

    activated_at: datetime | None
    """When learning was switched on."""
    cycles: int
    noise: float | None
    """None when no term was searched for again, so that it cannot be measured."""
    approved_at: datetime | None
    killed_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Every number of the rules."""

    terms: int = 3
    window: timedelta = timedelta(hours=8)
    ttl: timedelta = TTL
    top: int = 3
    age: timedelta = timedelta(hours=72)
    shadow: timedelta = WEEK
    noise: float = 0.05
    cycles: int = 2
    cycle_queries: int = 100
    cycle_time: timedelta = timedelta(days=14)
    sessions: int = 6
    principals: int = 2
    """Where more than one is known."""
    chosen: float = 0.15
    """Of the searches that hold a word and returned the memory, the share that has to be evidence for it."""
    in_vain: int = 3
    """Searches for one question that returned the memory, none of them evidence, which speak against a word."""
    trials: int = 10
    """Later searches after which a term can be called noise or not: a good result in place 5 is chosen in one of 5."""
    alone: int = 20
    alone_within: timedelta = timedelta(days=30)
    """With several principals: the most memories on which one principal's votes count alone within `alone_within`."""

    def __post_init__(self) -> None:
        if self.shadow < WEEK:
            raise BadValue(
                f"a shadow period of {self.shadow.total_seconds() / 86_400:g} days is below 7",
                remedy="Set learning.shadow_days to 7 or more.",
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """The rules as they are enforced. Switching one off is for experiments: see `assay simulate feedback --unsafe`."""

    limits: Limits = field(default_factory=Limits)
    off: frozenset[Safeguard] = frozenset()
    watched: bool = True
    """Whether the kill switch looks on."""

    def holds(self, safeguard: Safeguard) -> bool:
        """Whether a rule is enforced."""
        return safeguard not in self.off

    # -- what may be learned from one choice

    def refusal(self, facts: Facts, now: datetime) -> Refusal | None:
        """The first rule that forbids learning anything from a choice."""
        found = (self._provenance(facts), self._top_three(facts), self._age(facts.memory_created_at, now))
        return next((refusal for refusal in found if refusal is not None), None)

    def _provenance(self, facts: Facts) -> Refusal | None:
        if facts.query is None or facts.rank is None:
            # The rule about the first three needs them: without a query there is no rank to look at.
            return self._refuse(Safeguard.TOP_THREE, "the query and rank that returned it are not known")
        if not facts.session_id or not facts.principal:
            return self._refuse(Safeguard.AUDIT, "the principal or the session of the choice is not known")
        return None

    def _top_three(self, facts: Facts) -> Refusal | None:
        top = self.limits.top
        if facts.rank is None or facts.rank > top:
            return None
        return self._refuse(Safeguard.TOP_THREE, f"it was at rank {facts.rank}, among the first {top} already")

    def _age(self, created_at: datetime, now: datetime) -> Refusal | None:
        if now - created_at >= self.limits.age:
            return None
        hours = self.limits.age.total_seconds() / 3_600
        return self._refuse(Safeguard.AGE, f"it is younger than {hours:g} hours")

    def _refuse(self, safeguard: Safeguard, said: str) -> Refusal | None:
        return Refusal(safeguard, said) if self.holds(safeguard) else None

    def split_offered_words(self, query: str, written: Collection[str]) -> Offered:
        """Return the words of a query that a memory may learn; `written` are the words it already contains."""
        found = dict.fromkeys(words(query)[:READ_WORDS])
        denied = tuple(word for word in found if self.holds(Safeguard.DENYLIST) and not learnable(word))
        own = set(written) if self.holds(Safeguard.FULL_TEXT) else set()
        return Offered(tuple(word for word in found if word not in denied and word not in own), denied)

    # -- whether a term is learned

    def enough(self, sessions: Collection[str], principals: Collection[str], *, shared: bool) -> bool:
        """Whether evidence comes from enough sessions, and where several principals work from enough of them."""
        if not self.holds(Safeguard.GATE):
            return bool(sessions)
        wanted = self.limits.principals if shared else 1
        return len(set(sessions)) >= self.limits.sessions and len(set(principals)) >= wanted

    def chosen_often(self, asked: Collection[AskedQuestion]) -> bool:
        """Whether a memory was chosen in enough of the searches that hold a word and returned it."""
        if not self.holds(Safeguard.GATE):
            return True
        chosen, returned = sum(question.chosen for question in asked), sum(question.returned for question in asked)
        in_vain = any(not question.chosen and question.returned >= self.limits.in_vain for question in asked)
        return chosen >= self.limits.chosen * returned and not in_vain

    def room(self, learned_at: Iterable[datetime], now: datetime) -> int:
        """How many terms a memory may still learn now, given when it learned the others."""
        if not self.holds(Safeguard.RATE):
            return READ_WORDS
        recent = sum(now - moment < self.limits.window for moment in learned_at)
        return max(self.limits.terms - recent, 0)

    def is_expired(self, learned_at: datetime, now: datetime) -> bool:
        """Whether a learned term has expired."""
        return self.holds(Safeguard.TTL) and now - learned_at >= self.limits.ttl

    # -- whether terms apply

    def shadow_until(self, activated_at: datetime) -> datetime:
        """When the shadow period ends."""
        return activated_at + self.limits.shadow

    def is_proven(self, learned_at: datetime, trials: int, *, noisy: bool, now: datetime) -> bool:
        """Whether a term may leave the shadow: it was there for the whole period, was tried, and is not noise."""
        if not self.holds(Safeguard.SHADOW):
            return True
        return now >= self.shadow_until(learned_at) and trials >= self.limits.trials and not noisy

    def find_refusals(self, opening: Opening, now: datetime) -> list[Refusal]:
        """Return the rules that forbid applying learned terms; an empty list allows it."""
        return [*self._shadow(opening, now), *self._gate(opening)]

    def _shadow(self, opening: Opening, now: datetime) -> Iterable[Refusal]:
        if not self.holds(Safeguard.SHADOW):
            return
        if opening.activated_at is None:
            yield Refusal(Safeguard.SHADOW, "learning was never switched on")
            return
        if now < self.shadow_until(opening.activated_at):
            yield Refusal(Safeguard.SHADOW, f"the shadow period ends {_day(self.shadow_until(opening.activated_at))}")
        if opening.noise is None:
            yield Refusal(
                Safeguard.SHADOW,
                f"the noise is not known: no learned term was asked for in {self.limits.trials} later searches",
            )
        elif opening.noise >= self.limits.noise:
            yield Refusal(Safeguard.SHADOW, f"the noise is {opening.noise:.1%}, not below {self.limits.noise:.0%}")

    def _gate(self, opening: Opening) -> Iterable[Refusal]:
        if not self.holds(Safeguard.GATE):
            return
        if opening.cycles < self.limits.cycles:
            yield Refusal(Safeguard.GATE, f"{opening.cycles} of {self.limits.cycles} evaluation cycles are complete")
        if not self._is_approved(opening):
            yield Refusal(Safeguard.GATE, "no person has approved since the shadow period ended")

    def _is_approved(self, opening: Opening) -> bool:
        """An approval counts if what it approves had been seen: after the shadow, and after the last stop."""
        if opening.approved_at is None or opening.activated_at is None:
            return False
        seen = opening.approved_at >= self.shadow_until(opening.activated_at)
        return seen and (opening.killed_at is None or opening.approved_at > opening.killed_at)


def learnable(word: str) -> bool:
    """Whether a word may be learned: not on the denylist, not too short or too long, not a number.

    Other endings of a denied word (`questions`) and digits at it (`the1`) do not get it past the list, nor do letters
    of another script that look like its own.
    """
    return SHORTEST <= len(word) <= LONGEST and any(map(str.isalpha, word)) and not _is_denied(word)


def _is_denied(word: str) -> bool:
    letters = _DIGITS.sub("", word)
    stem = "".join(stems_of([letters])) if letters else ""
    return letters in DENYLIST or stem in _denied_stems() or len({_find_script(letter) for letter in letters}) > 1


@cache
def _denied_stems() -> frozenset[str]:
    return frozenset(stems_of(sorted(DENYLIST)))


@cache
def _find_script(letter: str) -> str:
    """Return the script of a letter, such as LATIN; the scripts that one language mixes are one."""
    script = unicodedata.name(letter, "").partition(" ")[0]
    return "HAN AND KANA" if script in {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"} else script


def belief(learned_at: datetime, now: datetime, ttl: timedelta = TTL) -> float:
    """How much a term is believed: 1 when it is new, falling in a straight line to 0 at its end."""
    return min(max(1.0 - (now - learned_at) / ttl, 0.0), 1.0)


def beliefs(learned: Iterable[tuple[str, str, datetime]], now: datetime) -> dict[str, dict[str, float]]:
    """For each memory, how much each of its terms is believed; ended ones are left out."""
    found: dict[str, dict[str, float]] = {}
    for memory_id, term, learned_at in learned:
        if held := belief(learned_at, now):
            found.setdefault(memory_id, {})[term] = held
    return found


def count_votes(tally: Mapping[str, int], *, shared: bool) -> int:
    """Return how many votes count.

    With several principals, the votes of each count for at most one more than those of all others together. So one vote
    always counts, many votes of one principal do not, and principals who agree raise each other's limit.
    """
    total = sum(tally.values())
    if not shared:
        return total
    return sum(min(votes, 1 + total - votes) for votes in tally.values())


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


# --- Whether several principals work in one tenant: then one of them alone must not move a memory ---
#
# Who wrote memories is remembered in the process and read on from there, since the whole list would be read for every
# vote otherwise.


class Principals:
    """The principals of each tenant, as far as this process has read."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, frozenset[str]]] = {}
        self._lock = threading.Lock()

    def several(self, work: Work, more: Collection[str] = ()) -> bool:
        """Whether more than one is known, those named here included."""
        tenant = work.scope.tenant
        with self._lock:
            last, writers = self._known.get(tenant, (0, frozenset()))
        if len(writers) < 2:
            found = work.learning.writers_after(last)
            last, writers = max(last, found.last), writers | found.writers
            with self._lock:
                self._known[tenant] = (last, writers)
        return len({*writers, *more} - {""}) > 1
