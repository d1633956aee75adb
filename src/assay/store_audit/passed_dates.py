"""Plans and terms whose day has passed: `the demo is on 12 March 2025`, read in November 2026.

A sentence counts when it looks forward (will, is due, until, expires, ...) to a day, month or year that it names and
that is over. What is told of the past (`was released on 3 May 2021`, `since 2019`, a birthday) holds for good. Where a
store says when an entry was written, `tomorrow` and `next week` are read from that day.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import NamedTuple

from assay.text.periods import Period, read_periods
from assay.text.relative_times import read_relative

LONGEST_READ = 4_000
LONGEST_TERM = 31
"""Days of a period that a plan is bound to: `in 2023` is mostly told of the past."""
GRACE = timedelta(days=1)
"""A day that ended yesterday may still be running somewhere."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_FORWARD = re.compile(
    r"\b(?:will|won't|shall|going to|is|are|be)\b[^.]{0,60}\b(?:due|scheduled|planned|booked|expected|set|slated|valid"
    r"|frozen|closed|open|away|out|unavailable|on (?:leave|holiday|vacation|parental leave))\b"
    r"|\b(?:will|won't|shall|going to|plans? to|planning to|intends? to|aims? to|hopes? to|needs? to|has to|have to"
    r"|must|about to|looking forward to|is (?:flying|travel+ing|moving|starting|leaving|visiting|presenting|launching"
    r"|joining|taking|getting|having|hosting|running|speaking))\b"
    r"|\b(?:deadline|due(?: date| by| on)?|expires?|expiry|expiration|valid until|valid through|renewal|renews?"
    r"|upcoming|reminder|remind|to-?do|appointment|scheduled (?:for|on)|planned for|booked for|no later than"
    r"|by the end of|freeze|ends? on|starts? on|begins? on|takes place|launch(?:es)? on|closes? on|opens? on"
    r"|until|till|before)\b"
    r"|\b(?:meeting|demo|launch|release|review|exam|flight|interview|conference|workshop|trip|visit|wedding|party"
    r"|call|event|webinar|sprint|audit|go-live|cut-?over|concert|match|race|surgery|check-?up)\b[^.]{0,60}"
    r"\b(?:is|are|on|takes place|for)\b",
    re.IGNORECASE,
)
_BACKWARD = re.compile(
    r"\b(?:was|were|had|did|has been|have been|since|after|ago|born|founded|established|released|launched|published"
    r"|wrote|written|built|bought|graduated|joined|married|died|started in|began in|happened|took place|ended"
    r"|expired|moved|visited|met|went|came|got|held|won|lost|completed|finished|shipped|signed|switched|migrated"
    r"|introduced|decided|agreed|fixed|changed|created|last (?:year|month|week)|yesterday|history|historical"
    r"|anniversary|birthday|copyright|version|dated|logged|measured|recorded|reported|in force)\b",
    re.IGNORECASE,
)
_UNTIL = re.compile(
    r"\b(?:until|till|expires?|valid (?:until|through)|due|deadline|scheduled|no later than"
    r"|by the end of)\b",
    re.IGNORECASE,
)


class PassedDate(NamedTuple):
    """A sentence that looks forward to a day which is over."""

    sentence: str
    named: str
    """The words that name the day."""
    last: date


def find_passed_date(text: str, as_of: date, written_on: date | None = None) -> PassedDate | None:
    """Return the last day that a text looks forward to, if all such days are over; None where one is to come."""
    found: list[PassedDate] = []
    for sentence in _SENTENCE.split(text[:LONGEST_READ]):
        if not _FORWARD.search(sentence) or (_BACKWARD.search(sentence) and not _UNTIL.search(sentence)):
            continue
        periods = [period for period in read_periods(sentence) if _is_term(period, sentence)]
        periods += _read_from(sentence, written_on)
        found += [
            PassedDate(sentence.strip(), period.shown or str(period.last), period.widest[1]) for period in periods
        ]
    latest = max(found, key=lambda passed: passed.last, default=None)
    return latest if latest is not None and latest.last + GRACE < as_of else None


def _is_term(period: Period, sentence: str) -> bool:
    """Whether a period is a day or month with its year; a whole year only where the sentence makes it a term."""
    return period.has_year and (period.days <= LONGEST_TERM or bool(_UNTIL.search(sentence)))


def _read_from(sentence: str, written_on: date | None) -> list[Period]:
    """Return the times after the day of writing that a sentence tells from it: `tomorrow`, `next week`."""
    if written_on is None:
        return []
    return [period for period in read_relative(sentence, written_on) if period.widest[1] >= written_on]
