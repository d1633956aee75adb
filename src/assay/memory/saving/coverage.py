"""How much of one note another one says as well: by words with their synonyms, sentence by sentence.

A note that repeats another in other words says nothing that the other lacks; one that elaborates on another says all of
it and more. Both are measured here as the share of content words that the other note has too, in its text or labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from assay.text.terms import stems_of
from assay.text.wording import FUNCTION_WORDS, Wording

SHORTEST_ROOT = 4
"""Letters from which a stem that begins another one counts as the same word: lock, locksmith."""

LONGEST_ROOT = 16
"""Letters beyond which no root is looked for: a word may be as long as its text."""

_SYNONYMS = """
begin start commence initiate
end finish terminate conclude complete
buy purchase acquire procure
get receive obtain
send dispatch ship mail
show display present
hide conceal
choose pick select opt
want wish desire would
like enjoy fond
dislike hate
need require necessary must obligatory mandatory
allow permit let may authorise
forbid prohibit ban disallow
refuse reject decline deny
accept approve
delete erase remove discard drop evict purge
keep retain hold preserve store
change alter modify amend
fix repair mend
break pause rest
employee staff worker personnel colleague
customer client guest patron
person people human individual somebody someone anyone anybody
everyone everybody
child kid children
adult grown
doctor physician gp
car vehicle automobile
house home
town city municipal
shop store
office workplace
salary pay wage
money cash funds
bill invoice
price cost fee charge
tax levy duty
contract agreement
rule policy regulation
law statute
court tribunal
reason because cause since
deadline due
weekly week
daily day everyday
monthly month
yearly annual year annually
evening night
noon midday
quick fast rapid swift
short brief
switch turn
heavy heavier
talk speak spoke spoken
walk stroll
place location site spot
reach contact
big large huge
small little tiny
important key crucial essential
error mistake fault failure
bug defect
test check verify examine
answer reply respond response
ask request enquire
tell inform notify
say state
call phone ring telephone
write note record document
search look find
use utilise employ apply
make create produce build
run execute operate
stop halt cease quit
restart reboot
log record
machine server host computer
disk drive
password passphrase credential
login signin sign logon
logout signout
timeout expire lapse
admin administrator
folder directory
file document
picture image photo photograph
film movie video
phone mobile telephone
email mail
letter post
parcel package packet
box crate carton
bag sack
room chamber
dinner supper
holiday vacation leave
sick ill unwell
medicine drug medication
injury wound
allergy allergic
pregnant expecting
journey trip travel
flight plane fly air
bicycle bike cycle
seat sit
free gratis complimentary
exempt excluded excepted except
only solely exclusively
about approximately around roughly circa
above over exceed more
below under less fewer
before prior ahead beforehand
after following afterwards later then
within inside
outside beyond
together jointly combined
separate dedicated distinct own
each every per
all every entire whole
twice two double
throwaway disposable temporary
automatic automatically itself themselves
manual manually hand
usual normal standard regular default ordinary
additional extra further another
again anew
anyhow anyway
often frequently
rarely seldom
several many multiple various
correct right accurate
wrong incorrect
difficult hard
easy simple
possible feasible
prefer favour rather
avoid shun
lead guide
team crew group
clean wash
rubbish waste trash garbage
put place set
give hand provide supply
take bring carry
go travel
come arrive
leave depart
stay remain
close shut
new fresh
old former previous
"""


def _build_groups() -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for line in _SYNONYMS.strip().splitlines():
        stems = set(stems_of(line.split()))
        for stem in stems:
            groups.setdefault(stem, set()).update(stems)
    return {stem: frozenset(group) for stem, group in groups.items()}


SYNONYMS = _build_groups()
"""For a stem, the stems that may stand for it. A group is not closed: `store` keeps goods and sells them."""


class Vocabulary:
    """The words of a note, to be asked whether they cover a word of another note."""

    def __init__(self, stems: Iterable[str]) -> None:
        self._stems = frozenset(stems)
        self._roots = {
            stem[:length]
            for stem in self._stems
            if stem.isalpha()
            for length in range(SHORTEST_ROOT, min(len(stem), LONGEST_ROOT))
        }
        self._covered: dict[str, bool] = {}
        """What was asked before: a note is held against several, and each time in four ways."""

    def covers(self, stem: str) -> bool:
        """Whether the note has the word, one of the same root, or a synonym."""
        known = self._covered.get(stem)
        if known is None:
            known = self.has(stem) or not self._stems.isdisjoint(SYNONYMS.get(stem, ()))
            self._covered[stem] = known
        return known

    def has(self, stem: str) -> bool:
        """Whether the note has the word or one of the same root."""
        if stem in self._stems:
            return True
        if not stem.isalpha():
            return False
        lengths = range(SHORTEST_ROOT, min(len(stem), LONGEST_ROOT))
        return stem in self._roots or any(stem[:length] in self._stems for length in lengths)


class Coverage(NamedTuple):
    """How much of a text another one has too, from 0 to 1. A text without content is covered."""

    share: float
    """Of its content words."""
    worst_sentence: float
    """Of the content words of the sentence of which least is covered."""
    missing: frozenset[str]
    """The content words that the other text lacks."""


def measure_coverage(text: Wording, other: Vocabulary, ignored: frozenset[str] = frozenset()) -> Coverage:
    """Measure how much of a text another note covers, leaving out words that both have in any case."""
    ignored |= FUNCTION_WORDS
    content = text.stems - ignored
    missing = frozenset(stem for stem in content if not other.covers(stem))
    share = 1.0 - len(missing) / len(content) if content else 1.0
    worst = min((_share_of(sentence.stems - ignored, missing) for sentence in text.sentences), default=1.0)
    return Coverage(share, worst, missing)


def _share_of(content: frozenset[str], missing: frozenset[str]) -> float:
    return 1.0 - len(content & missing) / len(content) if content else 1.0
