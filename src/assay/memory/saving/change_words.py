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
        "abandoned abolished adjusted amended banned bought cancelled canceled ceased changed closed corrected cut "
        "deprecated discontinued dissolved doubled dropped eliminated ended expanded extended forbidden frozen halved "
        "increased lengthened lifted lowered migrated moved overruled overturned postponed prohibited promoted "
        "raised reassigned reduced rejected released relocated removed renamed replaced rescheduled resigned resolved "
        "retired reversed revised revoked rewritten scrapped shifted shortened shut slashed stopped superseded "
        "suspended switched tightened transferred undone updated upgraded withdrawn"
    )
)
"""Participles of verbs that change something, for the passive and the perfect."""
_WENT = "|".join(
    words_of(
        "abandoned banned cancelled canceled ceased changed cut decided dropped ended extended gone left lowered "
        "migrated moved postponed quit raised reduced removed renamed replaced scrapped stopped suspended switched"
    )
)
"""What somebody did: `we cut`, `has stopped`."""

_ENDED = re.compile(
    r"\bno longer\b|\bany ?more\b|\bno more\b(?! than)|\bnot to be used\b|\bnot .{1,40}\bafter all\b|\bafter all\b"
    r"|\b(?:called off|ruled out|on hold|put back|put off|put forward|brought forward|taken out|taken over by)\b"
    r"|\b(?:has|have|had|is|are|am|was|were) (?:been )?(?:given|giving) up\b",
    re.IGNORECASE,
)
_REPLACED = re.compile(
    rf"\b(?:was|were|been|being|got|(?:is|are) now)(?: \w+ly| now| since| just| also)? (?:{_CHANGED})\b"
    rf"|\b(?:has|have|had|we|they|i)(?: now| since| just| recently)? (?:{_WENT})\b"
    rf"|^\W*(?:{_WENT})\b",
    re.IGNORECASE | re.MULTILINE,
)
_INSTEAD = re.compile(
    r"\binstead(?: of)?\b|\brather than (?:the )?(?:old|previous|former|earlier)\b"
    r"|\b(?:go|going|gone|went|switched|ripped|moved|changed|is|are) back to\b"
    r"|\b(?:down|up) from\b|\bdown to \d|\bis down to\b|\bnow (?:called|known|named|trades|goes by|runs under)\b"
    r"|\bused to be\b|\bformerly\b|\bpreviously\b|\bcorrection\b|\bturns? out\b|\bturned out\b|\breverted\b"
    r"|\bnew name\b|\bout of date\b|\boutdated\b|\bobsolete\b",
    re.IGNORECASE,
)
_TITLE = re.compile(rf"\b(?:{_CHANGED})\W*$", re.IGNORECASE)
"""`Laptop budget raised`: a title leaves the verb out."""
_REPORTS = (_ENDED, _REPLACED, _INSTEAD)
_RECENT = re.compile(r"\b(?:now|since|as of|from now on|recently|for the last time)\b", re.IGNORECASE)
_MORE = re.compile(r"\b(?:also|in addition|additionally|besides|as well|on top of)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|;\s+")
LONGEST_READ = 10_000
"""Characters of a text that are read: an update says so at its beginning."""


class Report(NamedTuple):
    """A sentence that says that something has changed."""

    phrase: str
    """The words that say so."""
    content: frozenset[str]
    """The content words of the sentence they stand in."""


def find_reports(title: str, body: str) -> list[Report]:
    """Return the title and the sentences of a note that report a change, with the phrase that does."""
    found = []
    for sentence in (title, *_SENTENCE.split(body[:LONGEST_READ])):
        patterns = (*_REPORTS, _TITLE) if sentence is title else _REPORTS
        match = next((match for pattern in patterns if (match := pattern.search(sentence))), None)
        if match is not None:
            content = wording(sentence).stems - FUNCTION_WORDS
            found.append(Report(" ".join(match[0].lower().split()), content))
    return found


def says_recent(text: str) -> bool:
    """Whether a text places itself after some change, with `now`, `since` or a report of one."""
    read = text[:LONGEST_READ]
    return bool(_RECENT.search(read)) or any(pattern.search(read) for pattern in _REPORTS)


def says_more(text: str) -> bool:
    """Whether a text says that it adds something: `also`, `as well`."""
    return bool(_MORE.search(text[:LONGEST_READ]))
