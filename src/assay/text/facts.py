"""Read what sentences state as facts: subject, relation, value, polarity and time, by rules and without a model.

    The author of The Moonstone is Wilkie Collins.  ->  moonstone | author | wilkie collins | single
    Ada's favourite editor is Helix.                ->  ada | favourite editor | helix | single
    The export job runs on port 8080.               ->  export job | runs on | 8080 | single
    max_upload_mb: 50                                ->  (title) | max_upload_mb | 50 | single
    Use ruff instead of flake8 for linting.          ->  linting | uses | ruff, replaces flake8

A sentence that fits no pattern, asks, supposes or hedges gives no fact: nothing is guessed. Two facts are about the
same thing when their `topic` is equal: the words that name subject and relation, in any order. `relations` says which
relations hold one value at a time.

- The facts of a text.
- Sentences with their place in the text.
- One sentence.
- Names, topics and values in one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from assay.text.relations import (
    ABSTRACT_NOUNS,
    CHANGE_WORDS,
    HEDGES,
    SEVERAL_NOUNS,
    SINGLE_NOUNS,
    SINGULAR_IN_S,
    VERB_RELATIONS,
    RelationKind,
)
from assay.text.terms import normalise_phrase, stems_of, words
from assay.text.wording import MONTHS, wording, words_of

FACTS_VERSION = "2"
"""Of these rules. Stored facts that were read by another version are read again by `assay index compact`."""
MOST_FACTS = 200
"""Facts read of one text; a longer document has its first ones."""
LONGEST_SENTENCE = 400
LONGEST_READ = 60_000
"""Characters of a text that are read."""
LONGEST_NAME = 12
"""Words of a subject or a relation; what is longer is a clause."""
LONGEST_VALUE = 16


class StatedFact(NamedTuple):
    """What one sentence states."""

    subject: str
    """Who or what it is about, in one spelling."""
    relation: str
    topic: str
    """The words of subject and relation in one order: facts with the same topic answer the same question."""
    value: str
    """In one spelling: numbers with their unit, words by their stems."""
    shown: str
    """The value as it was written."""
    kind: RelationKind
    negated: bool = False
    replaces: str = ""
    """The value that the sentence says is replaced: `use A instead of B`."""
    is_change: bool = False
    """Whether the sentence says that something is different from before."""
    since: date | None = None
    """The day from which it holds, where the sentence names one."""
    start: int = 0
    """Where its sentence begins in the text."""
    stop: int = 0


def is_same_value(one: str, other: str) -> bool:
    """Whether two values in their one spelling are the same, or one is a longer wording of the other."""
    if one == other:
        return True
    if not one or not other:
        return False
    first, second = set(one.split()), set(other.split())
    numbers = {word for word in first ^ second if any(map(str.isdigit, word))}
    return not numbers and (first <= second or second <= first)


# --- The facts of a text ---


@lru_cache(maxsize=64)
def read_facts(text: str, *, title: str = "") -> tuple[StatedFact, ...]:
    """Return what a text states, in order. `title` names the subject of lines that name none, such as `port: 80`."""
    found: list[StatedFact] = []
    for start, stop in _sentences(text[:LONGEST_READ]):
        fact = _read_sentence(text[start:stop], title)
        if fact is not None:
            found.append(fact._replace(start=start, stop=stop))
            if len(found) == MOST_FACTS:
                break
    return tuple(found)


def count_sentences(text: str) -> int:
    """Return how many sentences a text has, counted as `read_facts` reads them."""
    return sum(1 for _ in _sentences(text[:LONGEST_READ]))


# --- Sentences with their place in the text ---

_LINE = re.compile(r"[^\n]+")
_MARK = re.compile(r"\s*(?:>\s*)*(?:[-*+\u2022]\s+|\d{1,4}[.)]\s+)?(?:\[[ xX]\]\s+)?")
_NO_SENTENCE = re.compile(r"\s*(?:#{1,6}\s|```|~~~|\||---)")
_END = re.compile(r"[.!?](?=[\s\"')\]]*(?:\s|$))[\"')\]]*|;(?=\s)")
_WORD = re.compile(r"\S")
LONGEST_ABBREVIATION = 8
_ABBREVIATION = re.compile(
    r"(?:\b[A-Z]|\b(?:Dr|Mr|Mrs|Ms|St|Inc|Ltd|Co|Corp|No|Jr|Sr|vs|etc|e\.g|i\.e|approx|Prof|Gen|Sen|Rep|Mt|Ft))$"
)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    fenced = False
    for line in _LINE.finditer(text):
        if line[0].lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if fenced or _NO_SENTENCE.match(line[0]):
            continue
        mark = _MARK.match(line[0])
        start = line.start() + (mark.end() if mark else 0)
        for end in _END.finditer(text, start, line.end()):
            # "L. Ron Hubbard" and "Apple Inc. is" go on. Only the few characters around are looked at: linear time.
            before = text[max(start, end.start() - LONGEST_ABBREVIATION) : end.start()]
            following = _WORD.search(text, end.end(), line.end())
            if end[0] == "." and following and (_ABBREVIATION.search(before) or following[0].islower()):
                continue
            if end.end() - start <= LONGEST_SENTENCE:
                yield start, end.end()
            start = line.end() if following is None else following.start()
        if text[start : line.end()].strip() and line.end() - start <= LONGEST_SENTENCE:
            yield start, line.end()


# --- One sentence ---

_LEADING = re.compile(
    r"^(?:(?:update|note|fyi|reminder|decision|fact|correction|news|today|now|currently|as you know|please note|"
    r"it turns out|we decided|we agreed|remember|actually|from now on|going forward)\b[,:]?\s*(?:that\s+)?)+",
    re.IGNORECASE,
)
_SCOPE = re.compile(r"^(?:in|on|for|at|during|under|within|inside)\s+([^,]{2,60}),\s+", re.IGNORECASE)
_SINCE = re.compile(
    r"[,(]?\s*\b(?:as of|since|from|effective(?: from)?|starting(?: on)?)\s+"
    r"(?P<date>\d{4}-\d\d-\d\d|\d{1,2}\s+[A-Z][a-z]{2,8}\s+\d{4}|[A-Z][a-z]{2,8}\s+\d{1,2},?\s+\d{4})(?:\s+on)?[,)]?\s*",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"\s*(?:,\s*(?:which|who|because|since|so|but|and|as|not|after|before|when|where|while|though)\b|"
    r"\s(?:because|since|so that|but|although|though|while|whereas|which|who|when|after|before)\s|"
    r";|\s-\s|\s\u2013\s|\s\()"
)
_COPULA = re.compile(
    r"\s(?:is|are|was|were|equals|became|becomes|=)(?:\s(?:now|currently|still|set to|called|named))?\s"
)
_RELATIVE = re.compile(r"\s(?:where|that|which|who|whose|in which)\s")
_NOUN_OF = re.compile(r"^(?P<relation>[^,]+?)\s+(?:of|for|in|at)\s+(?P<subject>.+)$")
_POSSESSIVE = re.compile(r"^(?P<subject>.+?)(?:'s|\u2019s|s'|s\u2019)\s+(?P<relation>.+)$")
_HAS = re.compile(r"^(?P<subject>.+?)\s(?:has|have)\s(?:a|an|the)\s(?P<relation>[^,]+?)\sof\s(?P<value>.+)$")
_KEY = re.compile(
    r"^[`\"']?(?P<key>[A-Za-z][\w.-]*(?:[_.-]\w+)+|[A-Z][A-Z0-9_]{2,})[`\"']?\s*(?::|=)\s*(?P<value>\S.*)$"
)
_NARROWED = re.compile(r"^(?P<value>[^()]{1,100}) \((?P<scope>[^()]{2,60})\)$")
_INSTEAD = re.compile(
    r"^(?:we\s+|i\s+|you\s+)?(?:must\s+|always\s+|now\s+|should\s+)?uses?\s+(?P<value>.+?)\s+"
    r"(?:instead of|rather than|in place of|not)\s+(?P<old>.+?)(?:\s+(?:for|to|in|when)\s+(?P<subject>.+))?$",
    re.IGNORECASE,
)
_USES_FOR = re.compile(
    r"^(?:we|i|you|the team)\s+(?:now\s+|always\s+|currently\s+)?use\s+(?P<value>.+?)\s+"
    r"(?:for|to|as)\s+(?P<subject>.+?)$",
    re.IGNORECASE,
)
_SWITCHED = re.compile(
    r"^(?P<subject>.+?)\s+(?:has\s+|have\s+)?(?:switched|moved|migrated|changed|went|upgraded|was raised|was lowered|"
    r"was increased|was reduced|was changed|was cut|dropped|rose)\s+from\s+(?P<old>.+?)\s+to\s+(?P<value>.+?)$",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"^(?P<subject>.+?)\s+(?:now\s+)?prefers?\s+(?P<value>.+?)\s+(?:over|to|rather than|instead of)\s+(?P<old>.+?)$",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:not|no longer|never|n't|isn't|aren't|doesn't|don't|no)\b", re.IGNORECASE)
_THE_OF = re.compile(r"^the\s+(?P<noun>[a-z]+)\s+of\s+", re.IGNORECASE)
_PRONOUN = frozenset(
    words_of("it this that these those there they he she we you i what who which here everything nothing")
)
_DETERMINERS = frozenset(words_of("the a an my our your his her its their this that these those each every"))
_DEFINITE = re.compile(r"^(?:the|my|our|your|his|her|its|their)\s", re.IGNORECASE)
_EXACT = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:daily|hourly|weekly|monthly|noon|midnight)\b",
    re.IGNORECASE,
)
_SCOPED_NUMBER = re.compile(
    r"^(?P<value>[^,]*?\d[^,]*?)\s+(?:in|on|for|at|during|under)\s+(?P<scope>(?!average|total)[^,\d]{2,60})$"
)
_ENDING_NEGATION = re.compile(r"\s+(?:no longer|not|never|does not|do not|doesn't|don't|has|have)$", re.IGNORECASE)
_CONNECTORS = frozenset(words_of("of the and de la le von van du des del da di al el bin for to in on at & a an"))
_MARKS = re.compile(r"[*`\"\u201c\u201d]")


class _Parts(NamedTuple):
    """A sentence taken apart, before its words are put in one spelling."""

    subject: str
    relation: str
    value: str
    kind: RelationKind
    old: str = ""
    scope: str = ""
    topic: str | None = None
    """The topic where it is not made of subject and relation."""


def _read_sentence(sentence: str, title: str) -> StatedFact | None:
    # One space between words: many of them would make patterns with several gaps slow.
    text = " ".join(_MARKS.sub("", sentence).split())
    if not text or text.endswith("?") or len(text) < 5:
        return None
    key = _KEY.match(text)
    if key is not None and "://" not in text:
        value = key["value"].rstrip(".").split(" #")[0].strip()
        # "ETA: 15 min (export)" is about the export alone.
        narrowed = _NARROWED.match(value)
        value, scope = (narrowed["value"].strip(), narrowed["scope"]) if narrowed is not None else (value, "")
        setting = _Parts(title, key["key"], value, RelationKind.SINGLE, scope=scope)
        return _make(setting, text) if len(value) < 80 else None
    text = text.rstrip(" .!")
    if HEDGES.search(text):
        return None
    is_change = bool(CHANGE_WORDS.search(text))
    since = _SINCE.search(text)
    if since is not None:
        text = f"{text[: since.start()]} {text[since.end() :]}".strip()
    text = _LEADING.sub("", text)
    scope = _SCOPE.match(text)
    if scope is not None:
        text = text[scope.end() :]
    text = f"{text[:1].lower()}{text[1:]}" if text[:2] in {"Th", "My", "Ou"} or text[:3] in {"Use", "We "} else text
    parts = _take_apart(text, title)
    if parts is None:
        return None
    if scope is not None:
        parts = parts._replace(scope=f"{parts.scope} {scope[1]}".strip())
    made = _make(parts, text)
    day = None if since is None else _day(since["date"])
    return None if made is None else made._replace(is_change=is_change, since=day)


def _take_apart(text: str, title: str) -> _Parts | None:
    if (found := _INSTEAD.match(text)) is not None:
        return _Parts(found["subject"] or title, "uses", found["value"], RelationKind.UNKNOWN, old=found["old"])
    if (found := _USES_FOR.match(text)) is not None:
        return _Parts(found["subject"], "uses", found["value"], RelationKind.UNKNOWN)
    if (found := _PREFERS.match(text)) is not None:
        both = " ".join(sorted(_value(found["value"]).split() + _value(found["old"]).split()))
        topic = f"{_topic(found['subject'])} prefer {both}"
        return _Parts(found["subject"], "prefers", found["value"], RelationKind.SINGLE, old=found["old"], topic=topic)
    if (found := _SWITCHED.match(text)) is not None:
        subject = found["subject"]
        is_actor = subject.split()[-1].lower() in _PRONOUN | {"team"}
        return _Parts(title if is_actor else subject, "", found["value"], RelationKind.UNKNOWN, old=found["old"])
    if (found := _HAS.match(text)) is not None:
        return _Parts(found["subject"], found["relation"], found["value"], RelationKind.SINGLE)
    return _by_verb(text) or _by_copula(text, title)


def _by_verb(text: str) -> _Parts | None:
    """A verb of the table between a subject and a value; the one that stands first, and of those the first listed."""
    others = (_COPULA.search(text), _RELATIVE.search(text))
    limit = min((found.start() for found in others if found is not None), default=len(text))
    found_verbs = ((verb, found) for verb in VERB_RELATIONS if (found := verb.pattern.search(text)) is not None)
    for verb, found in sorted(found_verbs, key=lambda pair: pair[1].start()):
        if found.start() > limit:
            return None
        value = text[found.end() :].strip()
        relation = verb.relation or " ".join(words(found[0]))
        noun = _THE_OF.match(value)
        if noun is not None:
            value = value[noun.end() :]
            relation = relation if verb.relation == "located in" else f"{relation} {noun['noun']}"
        if not verb.exact_only or _EXACT.search(value):
            subject = text[: found.start()].strip()
            # "Each worker holds 20 connections" may be about other workers in another note: the words do not tell.
            unsure = verb.kind is RelationKind.SINGLE and _is_common(subject)
            return _Parts(subject, relation, value, RelationKind.UNKNOWN if unsure else verb.kind)
    return None


def _by_copula(text: str, title: str) -> _Parts | None:
    """`The R of S is V`, `S's R is V`, `the R is V`."""
    copulas = list(_COPULA.finditer(text))
    if not copulas:
        return None
    relative = _RELATIVE.search(text)
    is_clause = relative is not None and relative.start() < copulas[0].start()
    copula = copulas[-1] if is_clause else copulas[0]
    name, value = text[: copula.start()].strip(), text[copula.end() :].strip()
    definite = bool(_DEFINITE.match(name))
    if is_clause and relative is not None:
        subject = _name_in(name[relative.end() :])
        return _Parts(subject, name, value, RelationKind.SINGLE, topic=_topic(name)) if definite else None
    if (found := _POSSESSIVE.match(name)) is not None:
        return _Parts(found["subject"], found["relation"], value, _noun_kind(found["relation"], definite=True))
    if (found := _NOUN_OF.match(name)) is not None and definite:
        return _Parts(found["subject"], found["relation"], value, _noun_kind(found["relation"], definite=True))
    kind = _noun_kind(name, definite=definite)
    if kind is not RelationKind.SINGLE or stems_of(words(name))[-1:] == [] or _head(name) not in SINGLE_NOUNS:
        return None
    # "The limit is 100" is about what the note is about; "the API rate limit is 100" names it.
    bare = len([word for word in words(name) if word not in _DETERMINERS]) < 2
    return _Parts(title if bare else name, name if bare else "", value, kind)


def _name_in(clause: str) -> str:
    """Return the name in a relative clause: `Lou Reed was educated`, `produced the Ford Fiesta`."""
    found: list[str] = []
    for word in clause.split():
        if not word[:1].islower() or (found and word in _CONNECTORS):
            found.append(word)
        elif found:
            break
    while found and found[-1] in _CONNECTORS:
        found.pop()
    return " ".join(found) or clause


def _innermost(subject: str) -> str:
    """Return whom a described subject is about: `the current head of the Norway government` is about Norway."""
    described = [word for word in subject.split() if word.lower() not in _DETERMINERS]
    return _name_in(" ".join(described)) if described and described[0][:1].islower() else subject


def _is_common(subject: str) -> bool:
    """Whether a subject is one common noun, such as `the worker`, which names no thing in particular."""
    named = [word for word in subject.split() if word.lower() not in _DETERMINERS]
    return len(named) == 1 and named[0].isalpha() and named[0].islower()


def _is_pronoun(name: str) -> bool:
    """Whether a name says nothing without the sentences before it: `it`, `this one`, `we in the team`."""
    first, *rest = name.split()
    # "I Fall to Pieces" is a title.
    return first.lower() in _PRONOUN and not any(word[:1].isupper() for word in rest)


def _noun_kind(relation: str, *, definite: bool) -> RelationKind:
    head = _head(relation)
    last = (words(relation) or [""])[-1]
    if head in SEVERAL_NOUNS or (last.endswith("s") and not last.endswith("ss") and last not in SINGULAR_IN_S):
        return RelationKind.SEVERAL
    if head in ABSTRACT_NOUNS and head not in SINGLE_NOUNS:
        return RelationKind.UNKNOWN
    return RelationKind.SINGLE if definite or head in SINGLE_NOUNS else RelationKind.UNKNOWN


def _head(phrase: str) -> str:
    found = stems_of(words(phrase))
    return found[-1] if found else ""


# --- Names, topics and values in one spelling ---


def _make(parts: _Parts, text: str) -> StatedFact | None:
    negated = bool(_NEGATION.search(text[: len(text) - len(parts.value)])) or bool(
        re.match(r"(?:not|no longer|never)\s", parts.value)
    )
    shown = re.sub(r"^(?:not|no longer|never)\s+", "", parts.value)
    cut = _CUT.search(shown)
    if cut is not None:
        shown = shown[: cut.start()]
    scope = parts.scope
    if (narrowed := _SCOPED_NUMBER.match(shown)) is not None:
        shown, scope = narrowed["value"], f"{scope} {narrowed['scope']}".strip()
    shown = shown.strip(" ,.:")
    subject = normalise_name(_innermost(_ENDING_NEGATION.sub("", parts.subject)))
    value = _value(shown)
    lengths = (len(subject.split()), len(words(parts.relation)), len(value.split()))
    if not value or not subject or _is_pronoun(parts.subject):
        return None
    if max(lengths[:2]) > LONGEST_NAME or lengths[2] > LONGEST_VALUE:
        return None
    named = _ENDING_NEGATION.sub("", parts.subject)
    topic = parts.topic or _topic(f"{named} {parts.relation}")
    return StatedFact(
        subject=subject,
        relation=normalise_phrase(parts.relation),
        topic=f"{topic} @ {_topic(scope)}" if scope else topic,
        value=value,
        shown=shown,
        kind=parts.kind,
        negated=negated,
        replaces=_value(parts.old) if parts.old else "",
    )


def normalise_name(name: str) -> str:
    """Return a name in one spelling, without its article.

    >>> normalise_name("The Moonstone")
    'moonstone'
    """
    return join_name(words(name))


def join_name(found: Sequence[str]) -> str:
    """Return the name that words make, as `normalise_name` writes it."""
    first = 0
    while first < len(found) - 1 and found[first] in _DETERMINERS:
        first += 1
    return " ".join(found[first:])


def name_run(run: str) -> str:
    """Return the name that a run of analysed words makes, joined by single spaces: the same as `normalise_name`."""
    return join_name(run.split()) if run.partition(" ")[0] in _DETERMINERS else run


_UNTOLD = frozenset(
    stems_of(words_of("the a an of for in at on to is are was were be current currently new our my your its"))
)


def _topic(name: str) -> str:
    return " ".join(sorted(stem for stem in stems_of(words(name)) if stem not in _UNTOLD))


def _value(shown: str) -> str:
    return " ".join(
        token.stem for sentence in wording(shown).sentences for token in sentence if token.stem not in _UNTOLD
    )


def _day(written: str) -> date | None:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", written):
        year, month, day = map(int, written.split("-"))
    else:
        name = re.search(r"[A-Za-z]{3}", written)
        numbers = [int(number) for number in re.findall(r"\d+", written)]
        if name is None or name[0].lower() not in MONTHS or len(numbers) != 2:
            return None
        month = MONTHS.index(name[0].lower()) + 1
        day, year = sorted(numbers)
    try:
        return date(year, month, day)
    except ValueError:
        return None
