"""Which relations between a subject and a value hold one value at a time, and which may hold several.

`facts` reads sentences with these tables. English, like the bundled embedder. A relation that is in no table may hold
one value or several: then nothing is replaced, and both statements are shown.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from assay.text.terms import stems_of


class RelationKind(StrEnum):
    """How many values a relation has at a time."""

    SINGLE = "single"
    """One: another value replaces it."""
    SEVERAL = "several"
    """Any number: another value adds to it."""
    UNKNOWN = "unknown"
    """The words do not tell: another value is another view."""


def _stems(words: str) -> frozenset[str]:
    return frozenset(stems_of(words.split()))


SINGLE_NOUNS = _stems(
    "limit timeout deadline version port owner maintainer lead leader manager boss status state priority budget price "
    "cost fee rate size length height weight width age address email phone password username hostname url branch "
    "default maximum minimum capacity quota threshold interval ttl retention window duration date time day birthday "
    "name title role position salary location place city country capital headquarters currency timezone language "
    "author director president chairman chairperson ceo cto coach captain editor publisher employer spouse wife "
    "husband partner successor predecessor head colour color format engine database framework editor theme frequency "
    "count number amount level score temperature schedule start end expiry room floor seat gate code key region zone"
)
"""Nouns of which a thing has one at a time: `the limit is 100` needs no `of`."""

SEVERAL_NOUNS = _stems(
    "child son daughter brother sister sibling friend colleague hobby interest skill pet cat dog tag label member "
    "topic feature example case ally rival customer client dependency contributor reviewer award song book film "
    "allergy ingredient symptom part component strength weakness"
)
"""Nouns of which a thing may have several, also when one sentence names one."""

ABSTRACT_NOUNS = _stems(
    "reason problem issue advantage disadvantage benefit drawback downside upside idea point goal aim purpose trick "
    "way rule thing fact question answer result effect cause risk danger lesson difference trouble catch upshot rest "
    "majority half part kind sort lot number consequence challenge key"
)
"""`The reason is ...` states no property that a later sentence could replace."""

SINGULAR_IN_S = frozenset({"status", "headquarters", "address", "boss", "bus", "access", "process", "class", "basis"})
"""Nouns that end in s and are one thing."""

CHANGE_WORDS = re.compile(
    r"\b(?:[Nn]ow|no longer|not any ?more|any ?more|instead|[Ff]rom now on|[Aa]s of|[Ee]ffective|switched|moved|"
    r"migrated|changed|replaced|renamed|raised|lowered|increased|reduced|dropped|bumped|updated)\b"
)
"""Words by which a sentence says that something is different from before; a name in capitals is none of them."""

HEDGES = re.compile(
    r"\b(?:might|maybe|perhaps|probably|possibly|could|would|should|(?-i:may)|i think|i guess|i believe|allegedly|"
    r"rumou?r|supposedly|apparently|seems?|unclear|not sure|proposed?|suggest(?:s|ed)?|plan(?:s|ned)? to|"
    r"consider(?:s|ed|ing)?|unless|whether|example|e\.g\.|imagine|suppose)\b|\b(?-i:if|If)\b",
    re.IGNORECASE,
)
"""A sentence with one of these states no fact. `IF` in capitals is a name."""


class VerbRelation(NamedTuple):
    """A verb with what it relates."""

    pattern: re.Pattern[str]
    relation: str
    kind: RelationKind
    exact_only: bool = False
    """Only a value with a number, a date or a code is a value of it: `runs on port 80`, not `runs on Sundays`."""


def _verb(pattern: str, relation: str, kind: RelationKind, *, exact_only: bool = False) -> VerbRelation:
    return VerbRelation(re.compile(rf"\s(?:{pattern})\s"), relation, kind, exact_only)


_BE = r"(?:is|are|was|were|has been|have been|will be)(?: (?:now|currently|still|also|already|usually|always))?"
_NOW = r"(?:(?:now|currently|still|also|already|usually|always|has|have) )?"
_SINGLE, _SEVERAL, _UNKNOWN = RelationKind.SINGLE, RelationKind.SEVERAL, RelationKind.UNKNOWN

VERB_RELATIONS = (
    _verb(
        rf"{_BE} (?:located|based|headquartered|situated|hosted|stored|kept|deployed) (?:in|at|on)",
        "located in",
        _SINGLE,
    ),
    _verb(rf"{_NOW}(?:lives?|lived|resides?|sits?) (?:in|at)", "located in", _SINGLE),
    _verb(rf"{_NOW}(?:moved|relocated|migrated)(?: over)? to", "located in", _SINGLE),
    _verb(rf"{_BE} born in", "born in", _SINGLE),
    _verb(rf"{_BE} born on", "born on", _SINGLE),
    _verb(r"died in", "died in", _SINGLE),
    _verb(r"died on", "died on", _SINGLE),
    _verb(rf"{_BE} married to", "married to", _SINGLE),
    _verb(rf"{_BE} (?:owned by|the property of)|belongs? to", "owned by", _SINGLE),
    _verb(rf"{_BE} (?:maintained|managed|led|headed|chaired|run) by|reports? to", "led by", _SINGLE),
    _verb(rf"{_BE} (?:called|named|renamed to|known as)", "named", _SINGLE),
    _verb(
        rf"{_BE} (?:limited|set|capped|fixed|restricted|raised|lowered|increased|reduced|cut) (?:to|at)",
        "set to",
        _SINGLE,
    ),
    _verb(rf"{_BE} (?:(?:due|scheduled|planned)(?: (?:on|by|for|at))?|on|at|by)", "due", _SINGLE, exact_only=True),
    _verb(rf"{_NOW}(?:costs?|takes?|lasts?|weighs?|measures?)", "measures", _SINGLE, exact_only=True),
    _verb(rf"{_NOW}(?:expires?|ends?|closes?)(?: (?:on|in|at|after))?", "ends", _SINGLE, exact_only=True),
    _verb(rf"{_NOW}(?:starts?|begins?|opens?)(?: (?:on|in|at|after))?", "starts", _SINGLE, exact_only=True),
    _verb(rf"{_NOW}(?:listens?|runs?) (?:on|at)(?: (?:the )?port)?", "runs on", _SINGLE, exact_only=True),
    _verb(rf"{_NOW}runs? (?:every|each)", "runs every", _SINGLE),
    _verb(
        rf"{_NOW}(?:allows?|accepts?|permits?|holds?|retries|retry|keeps?)(?: up to| at most)?",
        "allows",
        _SINGLE,
        exact_only=True,
    ),
    _verb(rf"{_NOW}(?:works? (?:for|at)|joined)|{_BE} employed (?:by|at)", "works for", _UNKNOWN),
    _verb(rf"{_NOW}uses?", "uses", _UNKNOWN),
    _verb(
        r"(?:speaks?|likes?|loves?|hates?|enjoys?|knows?|owns?|has|have|studied|visited|met|collects?)", "", _SEVERAL
    ),
    _verb(rf"{_BE} (?:famous|known) for", "famous for", _SEVERAL),
    _verb(rf"{_BE} (?:a|an|the) \w+ of", "", _UNKNOWN),
    _verb(rf"{_BE} \w+(?:ed|en|wn|lt|de|ng|ous|un|id|ld) (?:by|in|for|with|to|at|from|on|as)", "", _UNKNOWN),
    _verb(r"(?:works?|worked|plays?|played)(?: (?:in|for|at))?(?= the \w+ of )", "", _UNKNOWN),
    _verb(r"(?:works?|worked|plays?|played)(?: (?:in|for|at))?", "", _SEVERAL),
)
"""Tried in order; the first that stands in a sentence is its relation. An empty relation is named by its own words."""
