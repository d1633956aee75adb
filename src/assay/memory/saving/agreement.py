"""Do two texts agree, and are they about the same thing? Deterministic, with reasons.

- Agreement: compared by words, since similarity does not separate "limit 100" from "limit 500".
- Subject: whether two texts are about the same thing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from itertools import islice, product

from assay.text.terms import normalise_phrase, stems_of
from assay.text.wording import (
    CHANGE_SIGNS,
    FUNCTION_WORDS,
    NEGATING_PREFIXES,
    NEGATORS,
    OPPOSITES_OF,
    RESTRICTORS,
    SUBJECT_PREPOSITIONS,
    UNITS,
    VALUE_PREPOSITIONS,
    VERBS,
    Fact,
    Sentence,
    Wording,
    first_verb,
    wording,
    words_of,
)

# --- Agreement: compared by words, since similarity does not separate "limit 100" from "limit 500" ---
#
# Facts (numbers with units, dates, versions, names), negation, opposites, quantifiers, argument order, single words
# put in place of others, and signs of change are compared, sentence by sentence where sentences correspond. Whatever
# cannot be explained as another wording counts as disagreement: to keep a note too many costs little, to lose an
# update much.

ALIGNED = 0.3
"""Sentences that share less of their words do not correspond."""
SAME_FRAME = 0.5
"""Sentences that share more than this, in order, differ by what was put in place of something else."""
SAME_SENTENCE = 0.7
"""In sentences that share this much, a new word replaces an old one even if it also occurs elsewhere in the text."""
LONGEST_SWAP = 6
"""Words on either side of a word that others changed places around."""
NEGATED_WORDS = 3
"""Words of content that a negation or restriction is taken to cover."""
NEW_WORDS = 4
"""So many words of content that the old text lacks, and more than a third of all, are more than another wording;
more than half are in any case."""

LONGEST_COMPARED = 50_000
"""Characters of a text that is compared."""
MOST_STEPS = 100_000
"""Pairs of sentences, facts and words: 300 sentences against 300. A pair takes a few microseconds."""
_NOTHING: frozenset[str] = frozenset()
_DIMENSIONS = frozenset(dimension for dimension, _ in UNITS.values())
_CALENDAR = frozenset({"date", "month", "quarter", "weekday"})
_LISTS = frozenset({"and", "or"})
_COPULAS = frozenset(stems_of(words_of("is are be been was were am")))
_LEADS = frozenset(
    stems_of(
        words_of(
            "of to from in on at by with for as into onto over under than before after until till against behind "
            "beside above below between near via through per without during within toward towards past around"
        )
    )
)
"""Prepositions that give the phrase after them its role."""
_COMPARING = frozenset(
    stems_of(words_of("rather instead than over prefer prefers before after versus vs beat beats above below ahead"))
)
_ARTICLES = frozenset(stems_of(words_of("a an the this that these those our my your his her its their every each")))
_NO_ITEMS = FUNCTION_WORDS | VERBS


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """What comparing an old text with a new one gave."""

    contradictions: tuple[str, ...] = ()
    additions: tuple[str, ...] = ()
    """Facts that only the new text has."""

    @property
    def agrees(self) -> bool:
        """Whether nothing in the new text contradicts the old one."""
        return not self.contradictions

    @property
    def adds(self) -> bool:
        """Whether the new text adds something."""
        return bool(self.additions)


TOO_LONG = Agreement(additions=("too long to be compared sentence by sentence",))
"""Of texts that are not compared: the new one is taken to say more, so neither is lost."""


class _Sentences:
    """A sentence of the old text and the one of the new text that corresponds to it."""

    def __init__(self, old: Sentence, new: Sentence) -> None:
        self.old = old
        self.new = new

    @cached_property
    def matcher(self) -> SequenceMatcher[str]:
        """Return what both have, in order."""
        return SequenceMatcher(None, self.old.telling, self.new.telling, autojunk=False)

    @cached_property
    def same_frame(self) -> bool:
        """Whether they share so much, in order, that they differ by what was put in place of something else."""
        # What the matcher finds stands in order in both, so it is never more; this is far quicker to know.
        old, new = self.old.telling, self.new.telling
        length = len(old) + len(new)
        if length and 2.0 * most_in_order(old, new) / length <= SAME_FRAME:
            return False
        return self.matcher.ratio() > SAME_FRAME

    @cached_property
    def same_words(self) -> bool:
        """Whether they differ by the order of their words alone."""
        old, new = self.old.telling, self.new.telling
        return len(old) == len(new) and sorted(old) == sorted(new)


def most_in_order(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence; a bit for each place of one, cleared as its word is used."""
    places: dict[str, int] = {}
    for place, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << place
    every = free = (1 << len(one)) - 1
    for word in other:
        if met := free & places.get(word, 0):
            free = (free + met | free - met) & every
    return len(one) - free.bit_count()


def compare_statements(old: str, new: str) -> Agreement:
    """Compare a new text with an old one: where it contradicts the old text, and what it adds.

    Every sentence is held against every other, so long texts are not compared: they neither contradict each other nor
    count as the same. Equal texts agree at any length.
    """
    if old == new:
        return Agreement()
    if max(len(old), len(new)) > LONGEST_COMPARED:
        return TOO_LONG
    before, after = wording(old), wording(new)
    if _steps(before, after) > MOST_STEPS:
        return TOO_LONG
    pairs, alone = _correspondence(before, after)
    added, conflicts = _facts(before, after, pairs)
    contradictions = [*conflicts, *_changes(before, after)]
    for pair in pairs:
        contradictions += [*_negations(pair, before, after), *_opposites(pair), *_swaps(pair, before, after)]
        contradictions += _order(pair)
    additions = [*added, *_more(before, after, alone)]
    return Agreement(contradictions=tuple(dict.fromkeys(contradictions)), additions=tuple(dict.fromkeys(additions)))


def _steps(before: Wording, after: Wording) -> int:
    """How many pairs of sentences, of facts, and of words in the longest sentences would be looked at."""
    longest = (max(map(len, text.sentences), default=0) for text in (before, after))
    return len(before.sentences) * len(after.sentences) + len(before.facts) * len(after.facts) + math.prod(longest)


def _correspondence(before: Wording, after: Wording) -> tuple[list[_Sentences], list[Sentence]]:
    """Each new sentence with the old one most like it, and the new ones that are like none."""
    if len(before.sentences) == len(after.sentences) == 1:
        return [_Sentences(before.sentences[0], after.sentences[0])], []
    pairs, alone = [], []
    for sentence in after.sentences:
        best = max(before.sentences, key=lambda old: _share(old, sentence), default=None)
        if best is None or _share(best, sentence) < ALIGNED:
            alone.append(sentence)
        elif [token.stem for token in best] != [token.stem for token in sentence]:
            pairs.append(_Sentences(best, sentence))
    return pairs, alone


def _share(one: Sentence, other: Sentence) -> float:
    return 2 * len(one.stems & other.stems) / (len(one.stems) + len(other.stems))


def _facts(before: Wording, after: Wording, pairs: Sequence[_Sentences]) -> tuple[list[str], list[str]]:
    """Facts only the new text has, and pairs of which each text has one."""
    gone = _find_unmatched(before, after)
    come = _find_unmatched(after, before)
    conflicts = [
        (old, new)
        for old, new in product(gone, come)
        if _same_slot(old, new, pairs)
        and (old.kind != "name" or before.led_to.get(old.value, _NOTHING) & after.led_to.get(new.value, _NOTHING))
    ]
    taken = {new for _, new in conflicts}
    return (
        [f"adds {_describe_fact(fact)}" for fact in come if fact not in taken],
        [f"{_describe_fact(old)} / {_describe_fact(new)}" for old, new in conflicts],
    )


def _find_unmatched(one: Wording, other: Wording) -> list[Fact]:
    facts = [fact for fact in one.facts if not any(fact.fits(another) for another in other.facts)]
    return [fact for fact in facts if fact.kind != "name" or fact.value not in other.stems]


def _same_slot(old: Fact, new: Fact, pairs: Sequence[_Sentences]) -> bool:
    if old.kind == new.kind == "number":
        if old.of == new.of or not old.of or not new.of:
            return True
        return not {old.of, new.of} & _DIMENSIONS and any(pair.same_frame for pair in pairs)
    kinds = {old.kind, new.kind}
    return len(kinds) == 1 or kinds <= _CALENDAR or kinds == {"number", "version"}


def _describe_fact(fact: Fact) -> str:
    counted = fact.kind == "number" and fact.of and fact.of not in _DIMENSIONS
    return f"{fact.shown} ({fact.of})" if counted else fact.shown


def _changes(before: Wording, after: Wording) -> Iterator[str]:
    signs = (after.stems & CHANGE_SIGNS) - before.stems
    if signs:
        yield f"says that something changed ({', '.join(sorted(signs))})"


def _negations(pair: _Sentences, before: Wording, after: Wording) -> Iterator[str]:
    old, new = _negation_count(pair.old, after), _negation_count(pair.new, before)
    if old != new and not _negate_alike(NEGATORS, before, after):
        yield f"negation: {old} / {new}"
    for word in sorted(RESTRICTORS & (pair.old.stems ^ pair.new.stems)):
        if not _negate_alike(frozenset({word}), before, after):
            yield f"{word} in one of them"


def _negate_alike(negating: frozenset[str], before: Wording, after: Wording) -> bool:
    """Whether both texts negate, or restrict, the same words, in whatever sentence: `none for calls`, `no calls`."""
    old, new = _negated(negating, before), _negated(negating, after)
    if not old or len(old) != len(new):
        return False
    return all(one <= other or other <= one for one, other in zip(old, new, strict=True))


def _negated(negating: frozenset[str], text: Wording) -> list[frozenset[str]]:
    """The words of content near each negating word: behind it, or before it where it ends its sentence."""
    found = []
    for sentence in text.sentences:
        stems = [token.stem for token in sentence]
        for place in (place for place, stem in enumerate(stems) if stem in negating):
            behind = [stem for stem in stems[place + 1 :] if stem not in FUNCTION_WORDS][:NEGATED_WORDS]
            around = behind or [stem for stem in stems[:place] if stem not in FUNCTION_WORDS][-NEGATED_WORDS:]
            if not around:
                return []
            found.append(frozenset(around))
    return found


def _negation_count(sentence: Sentence, other: Wording) -> int:
    return sum(stem in NEGATORS or _negates(stem, other.stems) for stem in sentence.negating)


def _negates(stem: str, others: frozenset[str]) -> bool:
    """Whether a word is the negated form of one that only the other text has: inactivity, activity."""
    bases = (stem.removeprefix(prefix) for prefix in NEGATING_PREFIXES if stem.startswith(prefix))
    return stem not in others and any(len(base) > 3 and base in others for base in bases)


def _opposites(pair: _Sentences) -> Iterator[str]:
    gone, come = pair.old.stems - pair.new.stems, pair.new.stems - pair.old.stems
    for word in sorted(gone & OPPOSITES_OF.keys()):
        for other in sorted(come & OPPOSITES_OF[word]):
            yield f"{word} / {other}"


def _swaps(pair: _Sentences, before: Wording, after: Wording) -> Iterator[str]:
    """Words of content put in place of others while the sentence around them stayed."""
    old, new = pair.old.telling, pair.new.telling
    short = max(len(old), len(new)) <= 3
    if not short and not pair.same_frame:
        return
    alike = pair.matcher.ratio() >= SAME_SENTENCE
    there, here = (set(new), set(old)) if alike else (after.stems, before.stems)
    facts = {fact.value for fact in (*before.facts, *after.facts)}
    for kind, first, last, start, stop in pair.matcher.get_opcodes():
        gone = [stem for stem in old[first:last] if stem not in FUNCTION_WORDS and stem not in there]
        come = [stem for stem in new[start:stop] if stem not in FUNCTION_WORDS and stem not in here]
        if kind == "replace" and gone and come and not {*gone, *come} <= facts:
            yield f"{' '.join(gone)} / {' '.join(come)}"


def _order(pair: _Sentences) -> Iterator[str]:
    """Arguments that took each other's place around a word both sentences have: tabs over spaces, spaces over tabs.

    Words that only stand in another order are a paraphrase: `under the mat lies the key`, `the key lies under the mat`.
    """
    if _one_block_moved(pair) or _is_list(pair) or _voice(pair.old) != _voice(pair.new):
        return
    old, new = pair.old.telling, pair.new.telling
    here, there = Counter(old), Counter(new)
    facts = {token.stem for token in pair.old if token.fact is not None}
    pivots = (word for word, count in here.items() if count == there.get(word) == 1)
    for word in pivots:
        # What a number, name or `is` stands between may change sides: Lena is the keeper, the keeper is Lena.
        if word in facts or word in _COPULAS:
            continue
        left, right = _around(old, word)
        other_left, other_right = _around(new, word)
        crossed, back = left & other_right, right & other_left
        # Around a comparison the sides are the statement, however each of them is worded.
        reversed_sides = word in _COMPARING and bool(crossed and back)
        if reversed_sides or any(_take_places(pair, *sides) for sides in product(sorted(crossed), sorted(back))):
            yield f"order around {word}: {' '.join(sorted(crossed))} / {' '.join(sorted(back))}"
            return


def _take_places(pair: _Sentences, one: str, other: str) -> bool:
    """Whether two words of the old sentence have each other's role in the new one: what leads them tells the role."""
    return (_lead(pair.old, one), _lead(pair.old, other)) == (_lead(pair.new, other), _lead(pair.new, one))


def _lead(sentence: Sentence, word: str) -> str:
    """The preposition before a word's phrase, such as `over` before `the spaces`; empty when there is none."""
    stems = [token.stem for token in sentence]
    place = stems.index(word) - 1
    while place >= 0 and stems[place] not in FUNCTION_WORDS and stems[place] not in _LEADS:
        place -= 1
    if place > 0 and stems[place] in _ARTICLES:
        # An article begins the phrase: only what stands right before it leads it.
        place -= 1
    return stems[place] if place >= 0 and stems[place] in _LEADS else ""


def _around(stems: Sequence[str], word: str) -> tuple[set[str], set[str]]:
    place = stems.index(word)
    left, right = stems[max(0, place - LONGEST_SWAP) : place], stems[place + 1 : place + 1 + LONGEST_SWAP]
    before, after = set(left) - FUNCTION_WORDS, set(right) - FUNCTION_WORDS
    return before - after, after - before


def _one_block_moved(pair: _Sentences) -> bool:
    """Whether the new sentence is the old one with one part put elsewhere: `by default` at its start or its end."""
    if not pair.same_words:
        return False
    inner, wanted = _differing(pair.old.telling, pair.new.telling)
    return any(inner[cut:] + inner[:cut] == wanted for cut in range(len(inner) + 1))


def _differing(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    """Two sentences of equal length without what they begin and end with alike."""
    start = next((place for place, (word, other) in enumerate(zip(old, new, strict=True)) if word != other), len(old))
    end = len(old)
    while end > start and old[end - 1] == new[end - 1]:
        end -= 1
    return list(old[start:end]), list(new[start:end])


def _voice(sentence: Sentence) -> bool:
    """Whether a sentence is in the passive and names who acts."""
    return "by" in sentence.stems


def _is_list(pair: _Sentences) -> bool:
    """Whether only the order of a list joined by `and` differs, which does not change the meaning."""
    if not pair.same_words or not pair.old.stems & pair.new.stems & _LISTS:
        return False
    old = pair.old.telling
    items, _ = _differing(old, pair.new.telling)
    return all(item not in _NO_ITEMS and old.count(item) == 1 for item in items)


def _more(before: Wording, after: Wording, alone: Sequence[Sentence]) -> Iterator[str]:
    """Return what the new text adds in words that the old one lacks, beyond a different wording."""
    fresh = after.content - before.stems
    if (len(fresh) >= NEW_WORDS and len(fresh) * 3 > len(after.content)) or len(fresh) * 2 > len(after.content):
        yield f"adds {' '.join(sorted(fresh)[:NEW_WORDS])}"
    for sentence in alone:
        if len(said := sentence.stems & fresh) > 2:
            yield f"adds a sentence on {' '.join(sorted(said)[:3])}"


# --- Subject: whether two texts are about the same thing ---
#
# They are when they share a source, title, trigger or heading that means something, unless they name different things
# (staging, production), or say different things under one label. A label is a claim of its writer; the texts below it
# may still be two notes on one topic, both true. They are told apart by what narrows the subject (what stands before
# the verb, or after `for`, `in`, `of`) and by how much of the old text the new one covers.

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


def compare_subjects(old: Labelled, new: Labelled, agreement: Agreement) -> Subject:
    """Whether two texts are about the same thing, and why."""
    if old.source_id is not None and old.source_id == new.source_id:
        return Subject(same=True, reasons=("the same source",))
    named = _different_names(old, new) or _different_statements(old, new)
    if named is not None:
        return Subject(same=False, distinct=True, reasons=(f"about different things: {named}",))
    shared = _find_shared_labels(old, new)
    if not shared:
        return Subject(same=False, reasons=("no label is shared",))
    if agreement.agrees and not _covers(old, new):
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


def _find_shared_labels(old: Labelled, new: Labelled) -> list[str]:
    found = []
    title = normalise_phrase(new.title)
    if title == normalise_phrase(old.title) and title not in GENERIC:
        found.append("the same title")
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
    sides = [wording(side.body).sentences for side in (old, new)]
    if [len(sentences) for sentences in sides] != [1, 1]:
        return None
    (subject, said), (other_subject, other_said) = (_halves(sentences[0]) for sentences in sides)
    mine, theirs = subject - other_subject - other_said, other_subject - subject - said
    if not mine or not theirs or not said - other_said or not other_said - said:
        return None
    return f"{' '.join(sorted(mine))} / {' '.join(sorted(theirs))}"


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
