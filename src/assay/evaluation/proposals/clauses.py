"""Parts of an English sentence: subject, verb, clauses; without a grammar, by position and lists of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from assay.evaluation.proposals.passages import Passage
from assay.evaluation.proposals.verbs import (
    AUXILIARIES,
    BASE_VERBS,
    base_of_participle,
    base_of_third_person,
    is_verb,
    word_set,
)
from assay.evaluation.proposals.wording import Speech


class Draft(NamedTuple):
    """A question before it is checked."""

    question: str
    rule: str = ""
    answer: str = ""
    """The reference answer; empty: the sentence itself."""


class Sentence(NamedTuple):
    """What rules look at."""

    passage: Passage
    words: list[str]
    """The sentence without its stop."""
    speech: Speech


Rule = Callable[[Sentence], Iterator[Draft]]
RULES: dict[str, Rule] = {}
"""By name, in the order in which they are tried: the first question of a sentence that passes the checks is taken."""


def rule(name: str) -> Callable[[Rule], Rule]:
    """Register a rule."""

    def add(function: Rule) -> Rule:
        RULES[name] = function
        return function

    return add


ASIDES = word_set(
    "though however then also too instead simply just actually really already either still "
    "always never therefore first usually often further sometimes even yet"
)
DROPPED = word_set("though however also too instead simply just actually really already either still yet")
"""Those of them without which a clause says the same; "never" and "first" are not."""
_NUMBER_WORDS = word_set(
    "one two three four five six seven eight nine ten twelve fifteen twenty thirty forty fifty sixty ninety"
)


def is_number(word: str) -> bool:
    """Whether a word begins with a digit or is a number that is written out."""
    return word[:1].isdigit() or word.lower().rstrip(",").partition("-")[0] in _NUMBER_WORDS


DETERMINERS = word_set("the a an each every all any some no its their your my our this that these those")
VAGUE = word_set(
    "it this that these those they he she we there here what which who one another other others both following above "
    "below latter former such same first second third last next result reason problem goal idea main only rest example "
    "difference purpose way point case cases thing things note see if when while because then also however but and or "
    "so for in on at by with from to as of not most many several few some since until between during after before "
    "within without under over please though although unless once whenever everything anything nothing something "
    "nobody everyone anyone you i more less whilst while given despite due neither either whatever "
    "whoever whichever whose"
)
LINKS = word_set("is are was were")
MODALS = word_set("can could may might must should will would cannot")


def join(*parts: str | list[str]) -> str:
    """Words and lists of words as one text."""
    return " ".join(part if isinstance(part, str) else " ".join(part) for part in parts if part)


def verb_at(words: list[str], among: frozenset[str], most: int = 8) -> int | None:
    """Where the first of these words stands, within the first few; None: nowhere."""
    return next((at for at, word in enumerate(words[: most + 1]) if at and word in among), None)


def subject_of(sentence: Sentence, end: int) -> str:
    """The first words as a subject in the middle of a question; empty where they are not one."""
    words = sentence.words[:end]
    if not words or len(words) > 7 or any(mark in word for word in words for mark in ',;:()"!?'):
        return ""
    low = [word.lower() for word in words if word.lower() not in {"the", "a", "an"}]
    first = words[0].lower()
    if not low or low[0] in VAGUE or first in VAGUE or _begins_otherwise(first, low):
        return ""
    ends_oddly = low[-1] in ASIDES or low[-1].endswith("ly") or low[-2:] == ["in", "general"]
    acts = any(base_of_third_person(word) and word not in NOUNS_TOO for word in low[1:])
    if ends_oddly or acts or any(word in AUXILIARIES or word in _CLAUSE_WORDS for word in low):
        return ""
    return sentence.speech.lower_first(join(words))


_CLAUSE_WORDS = word_set("that which who if when it this you there then")


def _begins_otherwise(first: str, low: list[str]) -> bool:
    """Whether words begin with a number, an auxiliary, an order or a participle, and not with a subject."""
    orders = first in BASE_VERBS and len(low) > 1
    return is_number(first) or first in AUXILIARIES or orders or (first == low[0] and bool(base_of_participle(first)))


NOUNS_TOO = word_set(
    "requests settings options files names lists links forms tests commands changes calls logs types views returns "
    "imports exports runs updates releases rules sets sorts shows signs stops stores styles supports uses values works "
    "charges costs claims orders posts places processes profiles records references reports results reviews targets "
    "functions methods documents formats filters groups guests caches limits loads locks maps matches needs parts "
    "searches starts steps tracks transfers triggers visits questions packages comments statements expressions books "
    "checks clones commits copies counts covers controls defaults displays downloads drops edits ends escapes exits "
    "extracts fixes follows helps joins keeps looks marks means measures mounts moves passes pauses picks prints reads "
    "repeats replaces schedules scrapes selects shares splits streams switches takes uploads waits wraps writes hooks "
    "crawls reloads retries redirects responses parks travels"
)
"""Words in -s that are nouns at least as often as verbs."""


def clause_end(words: list[str], begin: int = 0) -> int | None:
    """Where the clause that begins a sentence ends with a comma outside of brackets; None: nowhere near."""
    depth = 0
    for at in range(begin, min(len(words), begin + 18)):
        depth += words[at].count("(") - words[at].count(")")
        if words[at].endswith(",") and not depth:
            return at
    return None


def is_imperative(words: list[str]) -> bool:
    """Whether words begin with a verb that tells somebody to do something; "Click can" and "Click reads" do not."""
    if not words or words[0].lower() not in BASE_VERBS:
        return False
    following = words[1] if len(words) > 1 else ""
    reads = base_of_third_person(following) is not None and following not in NOUNS_TOO
    return following not in AUXILIARIES and not reads


def has_verb(words: list[str]) -> bool:
    """Whether some word is a verb; one that may be a noun has to stand between two others."""
    return any(
        is_verb(word) and (word.lower() not in NOUNS_TOO or 0 < at < len(words) - 1) for at, word in enumerate(words)
    )


_SIDE_CLAUSES = word_set("which because since so but although unless whereas - \u2013 \u2014")


def cut_tail(words: list[str], most: int = 12) -> list[str]:
    """Words up to the first comma, bracket or side clause, at most so many."""
    for at, word in enumerate(words):
        if word.startswith("(") or (at and word.lower() in _SIDE_CLAUSES):
            words = words[:at]
            break
        if word.endswith((",", ";", ":")):
            words = [*words[:at], word.rstrip(",;:")]
            break
    return words if len(words) <= most else []


def find_phrase(words: list[str], phrase: list[str]) -> int | None:
    """Where words follow each other; None: nowhere."""
    return next((at for at in range(len(words) - len(phrase) + 1) if words[at : at + len(phrase)] == phrase), None)


def cut_and(words: list[str]) -> list[str]:
    """Words up to an "and" that may open another clause."""
    at = words.index("and") if "and" in words else 0
    if at <= 2:
        return words
    # "to send and receive" is one task.
    return [] if words[at - 1].lower() in BASE_VERBS and words[at - 2] == "to" else words[:at]
