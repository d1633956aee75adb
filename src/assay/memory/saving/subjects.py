"""Are two texts about the same thing? Deterministic, with reasons.

They are when they share a source, title, trigger or heading that means something, unless they name different things
(staging, production), begin with different things, or say different things under one label. A label is a claim of its
writer; the texts below it may still be two notes on one topic, both true. They are told apart by what narrows the
subject (what stands before the verb, or after `for`, `in`, `of`) and by how much of the old text the new one covers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from assay.memory.saving.agreement import Agreement
from assay.memory.saving.openings import ANYBODY, begins_with_when, compare_openings, words_of_note
from assay.text.terms import normalise_phrase
from assay.text.wording import (
    FUNCTION_WORDS,
    NEGATORS,
    SUBJECT_PREPOSITIONS,
    VALUE_PREPOSITIONS,
    Sentence,
    Wording,
    first_verb,
    wording,
    words_of,
)

COVERED = 0.5
"""A text with less than this share of the other's content has another subject."""

RESTATED = 0.7
"""Share of a sentence's words, and of those before its verb, from which another sentence repeats it."""
MOST_SENTENCES = 500
"""Different sentences of a text that are looked at: both texts may be long, and each is compared with each."""
RESTATED_WORDS = 4
"""Fewer words of content are alike by chance."""

GENERIC = frozenset(
    words_of(
        "note notes summary overview todo misc introduction background context details decision decisions "
        "status problem solution example examples references reference update updates general untitled readme "
        "changelog faq conclusion conclusions purpose scope consequences question questions answer answers "
        "information info memory meeting"
    )
) | {"meeting notes", "next steps", "open questions", "release notes", "action items"}
"""Labels that many notes carry and that say nothing about what a note is about."""

SAME_TITLE = "the same title"
_PREPOSITIONS = VALUE_PREPOSITIONS | SUBJECT_PREPOSITIONS


@dataclass(frozen=True, kw_only=True, slots=True)
class Labelled:
    """A text with its labels: title, triggers and headings."""

    title: str
    body: str
    triggers: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    source_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What two texts are about, seen side by side."""

    same: bool
    distinct: bool = False
    """They name different things: one has nothing to say about the other."""
    reasons: tuple[str, ...] = field(default=())


def compare_subjects(
    old: Labelled, new: Labelled, agreement: Agreement, *, repeats: bool = False, mutual: bool = False
) -> Subject:
    """Whether two texts are about the same thing, and why.

    `repeats`: the new one is known to say the same. `mutual`: each says nearly all that the other does; then what they
    begin with does not tell them apart (`The owner deletes a flag ...`, `Flags are deleted by their owner ...`).
    """
    if old.source_id is not None and old.source_id == new.source_id:
        return Subject(same=True, reasons=("the same source",))
    named = _different_names(old, new)
    if named is None and not (repeats and mutual):
        named = _different_statements(old, new) or _different_openings(old, new)
    if named is not None:
        return Subject(same=False, distinct=True, reasons=(f"about different things: {named}",))
    if agreement.exchanged:
        return Subject(same=False, distinct=True, reasons=(f"different acts: {agreement.exchanged}",))
    shared = find_shared_labels(old, new)
    if not shared:
        return Subject(same=False, reasons=("no label is shared",))
    if agreement.agrees and not repeats and not _covers(old, new):
        return Subject(same=False, distinct=True, reasons=(*shared, "different statements under one label"))
    return Subject(same=True, reasons=tuple(shared))


def restates(old: str, new: str) -> bool:
    """Whether the new text repeats a sentence of the old one with a different statement about the same subject.

    Decided by the words of the two sentences alone; the rest of both texts does not matter.
    """
    distinct = {sentence.stems: sentence for sentence in wording(new).sentences}
    sentences = list(islice(distinct.values(), MOST_SENTENCES))
    return any(
        _says_otherwise(known, sentence)
        for known in wording(old).sentences
        if len(known.stems - FUNCTION_WORDS) >= RESTATED_WORDS
        for sentence in sentences
    )


def _says_otherwise(known: Sentence, sentence: Sentence) -> bool:
    content = known.stems - FUNCTION_WORDS
    gone = content - sentence.stems
    if len(gone) > (1.0 - RESTATED) * len(content):
        return False
    # Where no verb is known, what a sentence begins with still says what it is about.
    head = next(token.stem for token in known if token.stem in content)
    subject, _ = _halves(known)
    if head in gone or len(subject - sentence.stems) > (1.0 - RESTATED) * len(subject):
        return False
    turned = len(known.stems & NEGATORS) != len(sentence.stems & NEGATORS)
    return turned or bool(gone)


def find_shared_labels(old: Labelled, new: Labelled) -> list[str]:
    """Return the title, triggers and headings that two texts share and that mean something."""
    found = []
    title = normalise_phrase(new.title)
    if title == normalise_phrase(old.title) and title not in GENERIC:
        found.append(SAME_TITLE)
    found += [f"the trigger {trigger!r}" for trigger in _both(old.triggers, new.triggers)]
    found += [f"the heading {heading!r}" for heading in _both(old.headings, new.headings)]
    return found


def _both(one: Iterable[str], other: Iterable[str]) -> list[str]:
    shared = {normalise_phrase(label) for label in one} & {normalise_phrase(label) for label in other}
    return sorted(shared - GENERIC - {""})


def _covers(old: Labelled, new: Labelled) -> bool:
    """Return whether either text repeats enough of the other's content beyond its labels."""
    labels = _label_stems(old) | _label_stems(new)
    first, second = (_statement(side) - labels for side in (old, new))
    if not first or not second:
        return True
    return len(first & second) >= COVERED * min(len(first), len(second))


def _statement(one: Labelled) -> frozenset[str]:
    text = wording(one.body)
    return text.content | {fact.value for fact in text.facts}


def _label_stems(one: Labelled) -> frozenset[str]:
    return frozenset().union(*(wording(label).stems for label in (one.title, *one.triggers)))


def _different_names(old: Labelled, new: Labelled) -> str | None:
    """What one text is narrowed to and the other is not, when both titles narrow their subject."""
    first, second = wording(old.title), wording(new.title)
    mine = _narrowing(old, first, second, new)
    theirs = _narrowing(new, second, first, old)
    return f"{mine} / {theirs}" if mine and theirs else None


def _different_statements(old: Labelled, new: Labelled) -> str | None:
    """Return the subjects of two single sentences, if both the subjects and the statements about them differ."""
    if begins_with_when(old.body) or begins_with_when(new.body):
        return None
    sides = [wording(side.body).sentences for side in (old, new)]
    if [len(sentences) for sentences in sides] != [1, 1]:
        return None
    (subject, said), (other_subject, other_said) = (_halves(sentences[0]) for sentences in sides)
    mine, theirs = subject - other_subject - other_said - ANYBODY, other_subject - subject - said - ANYBODY
    if not mine or not theirs or not said - other_said or not other_said - said:
        return None
    return f"{' '.join(sorted(mine))} / {' '.join(sorted(theirs))}"


def _different_openings(old: Labelled, new: Labelled) -> str | None:
    mine, theirs = (words_of_note(side.title, side.triggers, wording(side.body)) for side in (old, new))
    return compare_openings(old.body, new.body, mine, theirs)


def _halves(sentence: Sentence) -> tuple[set[str], set[str]]:
    """The words of content before the verb, and those after it."""
    stems = [token.stem for token in sentence]
    verb = first_verb(stems)
    return set(stems[:verb]) - FUNCTION_WORDS, set(stems[verb + 1 :]) - FUNCTION_WORDS


def _narrowing(one: Labelled, title: Wording, other_title: Wording, other: Labelled) -> str | None:
    elsewhere = wording(other.body).stems | _label_stems(other) | other_title.stems | FUNCTION_WORDS
    only_here = [token.stem for token in title.tokens if token.stem not in elsewhere]
    return next((stem for stem in only_here if _is_key(stem, one, title)), None)


def _is_key(stem: str, one: Labelled, title: Wording) -> bool:
    """Whether a word of the title narrows the subject, rather than being part of the statement about it."""
    stems = [token.stem for sentence in title.sentences for token in sentence]
    place = stems.index(stem)
    before = next((word for word in reversed(stems[:place]) if word in _PREPOSITIONS), "")
    if place > first_verb(stems) or before in VALUE_PREPOSITIONS:
        return False
    in_subject = wording(one.body).before_the_verb(stem)
    exact = any(token.stem == stem and token.fact and token.fact.kind != "name" for token in title.tokens)
    if exact:
        return in_subject is not False
    if before in SUBJECT_PREPOSITIONS:
        return in_subject is not None or stem in _trigger_stems(one)
    return bool(in_subject) or (in_subject is None and stem in _trigger_stems(one))


def _trigger_stems(one: Labelled) -> frozenset[str]:
    return frozenset().union(*(wording(trigger).stems for trigger in one.triggers))
