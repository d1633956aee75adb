"""What a note is about, read from how its first sentence begins, and whether two notes begin with different things.

`Production backups are kept for 35 days` and `Staging backups are now kept for 3 days` stand under one title and
conflict in a number, yet both hold: before the verb each names something that the other note never mentions. Of an
update only one side does, or none: `The deposit is 20` and `Guests leave a deposit of 50`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from assay.memory.saving.coverage import Vocabulary
from assay.text.terms import stems_of
from assay.text.wording import FUNCTION_WORDS, VERBS, Wording, wording, words_of

_MORE_VERBS = frozenset(
    stems_of(
        words_of(
            "add agree apply arrive ask avoid beat become belong book bring build buy cancel carry change charge clean "
            "collect come commit confirm connect convert count cover create cut decide deliver deny deploy describe "
            "drink drive eat enter exist expect expire fall feed feel fetch fill find finish fit fix fly forbid get "
            "grow happen hate help import increase inform install interpret invite join lead learn let lie like load "
            "look lose love maintain manage mean meet merge migrate move offer order own park pay phone pick place "
            "plan play post print process produce protect provide pull push put raise reach receive recommend reduce "
            "refuse reject release remain remind remove rent repair replace reply reset restart retire retry review "
            "ring rise rotate route save say scrape see seem sell set share sign sit sleep sort spend split stand stay "
            "stop submit suggest supply swap switch talk teach tell test think throw trade train travel treat try turn "
            "understand update upload validate visit wait walk want warn wash watch wear win wish"
        )
    )
)
ALL_VERBS = VERBS | _MORE_VERBS
"""Verbs that a sentence may begin its statement with; some of them are nouns as well."""
_ARTICLES = frozenset(
    words_of("a an the this that these those our my your his her its their every each all any some no")
)
_PREPOSITIONS = frozenset(
    words_of(
        "of to from in on at by with for as into onto over under than before after until against behind beside above "
        "below between near via through per without during within since that which who"
    )
)
_AUXILIARIES = frozenset(words_of("is are was were has have may must can will should needs need"))
_PRONOUNS = frozenset(words_of("we you i they he she it there"))
_WHEN = frozenset(
    words_of("after since from because as until during following due thanks under when while by once starting to")
)
"""Begin a phrase that says when or why, not what a sentence is about."""
ANYBODY = frozenset(
    stems_of(
        words_of(
            "user users whoever people person everyone everybody anyone anybody someone somebody one team staff "
            "company employer now still also please always never only again correction update note longer"
        )
    )
)
"""Say nothing about which of several things a note is about."""
LONGEST_PHRASE = 12
"""Words of a phrase before the subject; a longer one is taken for the subject itself."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|;\s+")
_LEADING_CLAUSE = re.compile(r"^\W*(\w+)\b([^,.;:!?]{0,120}),\s*")


def begins_with_when(text: str) -> bool:
    """Whether a text begins with a phrase that says when or why."""
    first = text.split(maxsplit=1)
    return bool(first) and first[0].lower() in _WHEN


def find_opening(text: str) -> list[str]:
    """Return the stems before the main verb of a text's first sentence, without a phrase that says when or why."""
    first = next((part for part in _SENTENCE.split(text.lstrip()[:1_000]) if part.strip()), "")
    clause = _LEADING_CLAUSE.match(first)
    if clause and clause[1].lower() in _WHEN:
        first = first[clause.end() :]
    sentences = wording(first).sentences
    if not sentences:
        return []
    tokens = sentences[0]
    shown = [token.shown.lower() for token in tokens]
    start = _skip_phrase(shown, [token.stem for token in tokens])
    stems = [token.stem for token in tokens]
    if stems[start] in ALL_VERBS and _AUXILIARIES.isdisjoint(shown[start + 1 : start + 1 + LONGEST_PHRASE]):
        # An order, such as `bake it at 230 degrees`, has no subject before its verb; `travel above 500 is` has one.
        return []
    for place in range(start + 1, len(tokens)):
        before = shown[place - 1]
        if stems[place] in ALL_VERBS and before not in _ARTICLES and before not in _PREPOSITIONS:
            return stems[start:place]
    # No verb is known: what stands before the first preposition names the thing, and perhaps what it does.
    ends = (place for place in range(start + 1, len(tokens)) if shown[place] in _PREPOSITIONS)
    return stems[start : next(ends, start)]


def _skip_phrase(shown: Sequence[str], stems: Sequence[str]) -> int:
    """Return where the subject begins after a phrase such as `since the outage in May`."""
    if not shown or shown[0] not in _WHEN:
        return 0
    seen = False
    for place in range(1, min(len(shown), LONGEST_PHRASE)):
        if seen and (shown[place] in _ARTICLES or shown[place] in _PRONOUNS):
            return place
        seen = seen or stems[place] not in FUNCTION_WORDS
    return 0


def compare_openings(old: str, new: str, old_words: Vocabulary, new_words: Vocabulary) -> str | None:
    """Return what each of two texts begins with and the other never mentions; None unless both do so.

    Texts that say the same after their openings are no two statements: there the openings hold the value that changed,
    as in `half of the members make a quorum`.
    """
    first, second = find_opening(old), find_opening(new)
    mine, theirs = _only_here(first, new_words), _only_here(second, old_words)
    if not mine or not theirs:
        return None
    rest = (
        _only_here(wording(old).stems - set(first), new_words),
        _only_here(wording(new).stems - set(second), old_words),
    )
    return f"{' '.join(mine)} / {' '.join(theirs)}" if any(rest) else None


def _only_here(opening: Iterable[str], other: Vocabulary) -> list[str]:
    return [stem for stem in opening if stem not in FUNCTION_WORDS and stem not in ANYBODY and not other.has(stem)]


@lru_cache(maxsize=128)
def words_of_note(title: str, triggers: tuple[str, ...], body: Wording) -> Vocabulary:
    """Return all words of a note: its text and its labels; made once for a note that is held against several."""
    labels = (wording(label).stems for label in (title, *triggers))
    return Vocabulary(body.stems.union(*labels) - FUNCTION_WORDS)
