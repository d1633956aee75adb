"""Words by which a note itself says that something has changed.

`The user has given up coffee` replaces an older note on coffee without a number or name that could be compared. Only
phrases that report a change count: the perfect and the passive of verbs of change, `no longer`, `after all`, `instead
of`. A single `now` or `since` does not: it also stands in additions (`we now count them as well`). English, like the
bundled embedder.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from assay.text.wording import FUNCTION_WORDS, wording, words_of

_CHANGED = "|".join(
    words_of(
        "abandoned abolished adjusted amended banned bought canceled cancelled ceased changed closed "
        "corrected cut deprecated discontinued dissolved doubled dropped eliminated ended exchanged expanded "
        "extended forbidden frozen halved increased lengthened lifted lowered migrated moved overruled "
        "overturned postponed prohibited prolonged promoted raised reassigned reduced rejected released "
        "relocated removed renamed replaced rescheduled resigned resolved retired reversed revised revoked "
        "rewritten scrapped shifted shortened shut slashed stopped superseded suspended swapped switched "
        "tightened transferred undone updated upgraded withdrawn"
    )
)
"""Participles of verbs that change something, for the passive and the perfect."""
_WENT = "|".join(
    words_of(
        "abandoned banned canceled cancelled ceased changed cut decided dropped ended extended gone left "
        "lowered migrated moved postponed quit raised reduced removed renamed replaced scrapped stopped "
        "suspended swapped switched"
    )
)
"""What somebody did: `we cut`, `has stopped`."""


def _any_of(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE)


_ENDED = _any_of(
    *("no longer", "any ?(?:more|longer)", "no more(?! than)", "not to be used", "after all"),
    *("called off", "ruled out", "on hold", "put (?:back|off|forward)", "brought forward"),
    *("taken (?:out|down|over by)", "(?:has|have|had|is|are|am|was|were) (?:been )?(?:given|giving) up"),
)
_REPLACED = _any_of(
    rf"(?:was|were|been|being|got|will be|(?:is|are) now)(?: \w{{1,20}}ly| now| since| just| also)? (?:{_CHANGED})",
    rf"(?:has|have|had|we|they|i)(?: now| since| just| recently)? (?:{_WENT})",
    *("replaces?", "supersedes?", "takes? over from", "takes? the place of", r"handed [^.]{1,40} over to"),
)
_DID = re.compile(rf"^\W{{0,5}}(?:{_WENT})\b", re.IGNORECASE)
"""`Switched the starter to`: a sentence without its subject."""
_INSTEAD = _any_of(
    *("instead(?: of)?", "rather than (?:the )?(?:old|previous|former|earlier)"),
    *("(?:go|going|gone|went|switched|moved|changed|is|are) back to", "(?:down|up) from", r"down to \d{1,9}"),
    *("now (?:called|known|named|trades|goes by|runs under)", "used to be", "formerly", "previously", "new name"),
    *("correction", "turns? out", "turned out", "reverted", "out of date", "outdated", "obsolete"),
    "(?:is|are) (?:resolved|cancelled|canceled|discontinued)",
)
_REST = _any_of(
    *("still", "as (?:before|always|ever)", "unchanged", "not changed", "carried over"),
    *("remains? (?:the same|unchanged|in place)", "(?:is|are|stays?) (?:all )?the same"),
)
"""What says that the rest stayed says that something did not."""
_TITLE = re.compile(rf"\b(?:{_CHANGED})\W{{0,5}}$", re.IGNORECASE)
"""`Laptop budget raised`: a title leaves the verb out."""
_REPORTS = (_ENDED, _REPLACED, _DID, _INSTEAD, _REST)
_RECENT = _any_of("now", "since", "as of", "from now on", "recently", "for the last time")
_MORE = _any_of("also(?! (?:when|if))", "in addition", "additionally", "besides", "as well", "on top of")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|;\s+")
LONGEST_READ = 10_000
"""Characters of a text that are read: an update says so at its beginning."""


class Report(NamedTuple):
    """A sentence that says that something has changed."""

    phrase: str
    """The words that say so."""
    content: frozenset[str]
    """The content words of the sentence they stand in."""
    in_title: bool


def find_reports(title: str, body: str) -> list[Report]:
    """Return the title and the sentences of a note that report a change, with the phrase that does."""
    found = []
    for sentence in (title, *_SENTENCE.split(body[:LONGEST_READ])):
        patterns = (*_REPORTS, _TITLE) if sentence is title else _REPORTS
        match = next((match for pattern in patterns if (match := pattern.search(sentence))), None)
        if match is not None:
            content = wording(sentence).stems - FUNCTION_WORDS
            found.append(Report(" ".join(match[0].lower().split()), content, sentence is title))
    return found


def says_recent(text: str) -> bool:
    """Whether a text places itself after some change, with `now`, `since` or a report of one."""
    read = text[:LONGEST_READ]
    return bool(_RECENT.search(read)) or any(pattern.search(read) for pattern in _REPORTS)


def says_more(text: str) -> bool:
    """Whether a text says that it adds something: `also`, `as well`."""
    return bool(_MORE.search(text[:LONGEST_READ]))
