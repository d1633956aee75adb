"""How well passages support a claim, as numbers.

- Evidence: passages split into sentences, with stems and facts.
- Sentences without Markdown marks.
- Exact checks: numbers, dates, names, negation, opposites.
- Support of a claim by evidence.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.text.claims import sentences
from assay.text.terms import stems_of, words
from assay.text.wording import (
    FILLERS,
    FUNCTION_WORDS,
    NEGATORS,
    OPPOSITES_OF,
    RESTRICTORS,
    Fact,
    Token,
    wording,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from assay.embedding.protocol import Embedder, Vectors

# --- Evidence: passages split into sentences, with stems and facts ---
#
# Every claim of an answer is compared with the same `Evidence`. Vectors are made only of the sentences a claim's words
# lead to, and each is made once.

MOST_SENTENCES = 3_000
"""Limit over all passages together. Text beyond it is not read, and the verdict reports that."""
WINDOW = 3
"""Neighbouring sentences that may support a claim together."""


class EvidenceSentence(NamedTuple):
    """One sentence of a passage."""

    text: str
    passage: int
    """Which of the passages, from 0."""
    tokens: tuple[Token, ...]
    stems: frozenset[str]
    facts: tuple[Fact, ...]


def read(text: str, passage: int = 0) -> EvidenceSentence:
    """A sentence taken apart."""
    tokens = tuple(wording(text).tokens)
    return EvidenceSentence(
        text,
        passage,
        tokens,
        frozenset(token.stem for token in tokens),
        tuple(token.fact for token in tokens if token.fact is not None),
    )


class Evidence:
    """Passages as sentences."""

    def __init__(
        self,
        passages: Sequence[str],
        embedder: Embedder | None = None,
        *,
        split: Callable[[str], Sequence[str]] = sentences,
    ) -> None:
        """`split` cuts a passage into the sentences that are looked at."""
        every = [(text, place) for place, passage in enumerate(passages) for text in split(passage)]
        self.truncated = len(every) > MOST_SENTENCES
        self.sentences = [read(text, place) for text, place in every[:MOST_SENTENCES]]
        self._embedder = embedder
        self._vectors: dict[str, Vectors] = {}

    @cached_property
    def stems(self) -> frozenset[str]:
        """Every stem of it."""
        return frozenset().union(*(sentence.stems for sentence in self.sentences))

    @cached_property
    def facts(self) -> frozenset[Fact]:
        """Every fact of it."""
        return frozenset(fact for sentence in self.sentences for fact in sentence.facts)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Every two content stems that follow one another."""
        return frozenset(pair for sentence in self.sentences for pair in neighbours(sentence.tokens))

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(stem for sentence in self.sentences for stem in sentence.stems)

    def weight(self, stem: str) -> float:
        """Return the weight of a stem: the rarer, the higher."""
        return math.log(1 + (len(self.sentences) + 1) / (self._counts[stem] + 0.5))

    def window(self, place: int) -> list[EvidenceSentence]:
        """A sentence with its neighbours of the same passage."""
        around = self.sentences[max(0, place - WINDOW // 2) : place + WINDOW // 2 + 1]
        return [sentence for sentence in around if sentence.passage == self.sentences[place].passage]

    @property
    def model(self) -> str | None:
        """The name of the embedder; None: there is none."""
        return None if self._embedder is None else self._embedder.model

    @property
    def has_vectors(self) -> bool:
        """Whether meaning can be compared too."""
        return self._embedder is not None

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        if self._embedder is None:
            return np.zeros((len(texts), 0), np.float32)
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._vectors |= dict(zip(missing, self._embedder.embed(missing), strict=True))
        return np.stack([self._vectors[text] for text in texts])


def content(tokens: Sequence[Token]) -> list[str]:
    """The stems that carry content, each once, in order."""
    return [stem for stem in dict.fromkeys(token.stem for token in tokens) if stem not in FUNCTION_WORDS]


def neighbours(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    """Two content stems that follow one another, fillers between them left out."""
    stems = [token.stem for token in tokens if token.stem not in FUNCTION_WORDS]
    return list(pairwise(stems))


# --- Sentences without Markdown marks ---
#
# Code keeps what stands in it (`**kwargs`, `__init__`), a link keeps its text. What is no mark in Markdown is none
# here:
# `2 * 3`, `snake_case`, a lone star. Text that is struck out keeps its marks, since without them it would say what
# somebody took back.

_LEADING = re.compile(r"^(?:(?:[-*+>\u2022]|#{1,6})\s+|\[[ xX]\]\s+)+")
_CLOSING_HASHES = re.compile(r"(?<!\s)\s+#{1,6}\s*$")
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+[\"'(][^\"')]*[\"')])?\)")
_REFERENCE = re.compile(r"(?<![\w\]])\[([^\[\]]+)\]\[[^\[\]]*\]")
_ADDRESS = re.compile(r"<((?:https?|mailto):[^<>\s]+)>")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])(.+?)(?<=[^\s*])\1(?![\w*])")
_UNDERLINED = re.compile(r"(?<!\w)(_{1,2})(?=[^\s_])(.+?)(?<=[^\s_])\1(?!\w)")
_OPENED = re.compile(r"^(?:\*\*|`)(?=\S)|(?<=\S)(?:\*\*|`)$")
"""Emphasis over several sentences: its closing mark is in a later sentence."""


_MARKS = (_LINK, _REFERENCE, _ADDRESS, _EMPHASIS, _UNDERLINED)
"""Links stand inside emphasis, so they go first."""
_KEPT = "\ue000"
"""Placeholder for code while marks are removed around it; a private-use character that no text contains."""


def remove_marks(sentence: str) -> str:
    """Return a sentence without Markdown marks, or unchanged if nothing would be left."""
    plain = _CLOSING_HASHES.sub("", _LEADING.sub("", sentence.replace(_KEPT, "")))
    code = [found[2] for found in _CODE.finditer(plain)]
    plain = _CODE.sub(_KEPT, plain)
    for pattern in _MARKS:
        plain = pattern.sub(lambda found: found[found.re.groups], plain)
    plain = _OPENED.sub("", plain)
    for snippet in code:
        plain = plain.replace(_KEPT, snippet, 1)
    return plain.strip() if words(plain) else sentence


# --- Exact checks: numbers, dates, names, negation, opposites ---
#
# Similar wording hides exactly these: "limit 100" is near "limit 500", "was" near "was not". Each check gives words a
# person can read, and the counts are features of the judge.

SAME_FRAME = 0.6
"""Sentences that share this much, in order, say the same; what differs was put in place of something."""
SAME_SPELLING = 0.7
"""Names that share this much of their letters, in order, may be spellings of one name."""
MOST_APART = 1
"""A negation turns a sentence round only when hardly anything else differs: it may belong to another clause."""

_NAMES = frozenset({"name"})
_MORE = frozenset(
    stems_of(
        words_of(
            "increase increased increases raise rise rose grow growth gain higher greater more longer faster stronger "
            "elevated enhance enhanced promote promotes activate activates activation induce induces stimulate improve "
            "boost strengthen accelerate upregulate upregulated exceed support supports enable protect benefit"
        )
    )
)
_LESS = frozenset(
    stems_of(
        words_of(
            "decrease decreased decreases reduce reduces reduction lower fell fall drop decline declined loss lose "
            "less fewer shorter slower weaker inhibit inhibits inhibition suppress suppresses block blocks "
            "prevent prevents impair impaired impairs weaken slow downregulate downregulated lack lacks fail fails "
            "failed absence deficient deficiency diminish attenuate limit worsen harm"
        )
    )
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Consistency:
    """Contradictions between a claim and the evidence."""

    numbers: int
    """How many numbers, dates and times the claim states."""
    numbers_missing: tuple[str, ...]
    """Those that stand nowhere in the evidence."""
    numbers_elsewhere: tuple[str, ...]
    """Those that stand in the evidence, but not near the support."""
    names: int
    names_missing: tuple[str, ...]
    negation_differs: bool
    """One of claim and best sentence is negated, the other is not."""
    opposites: tuple[str, ...]
    """Terms of the claim whose opposite is in its best sentence."""
    direction_differs: bool
    """Whether the claim states an increase and its best sentence a decrease, or the reverse."""
    replaced: tuple[str, ...]
    """The claim has one number, its best sentence another of the same kind in its place."""
    names_replaced: tuple[str, ...]
    """The claim has a name that no passage has, its best sentence another name that the claim has not."""
    frame: float
    """How much of claim and best sentence is the same, in order, 0 to 1."""
    apart: int
    """How many words of content only one of the two has."""

    @property
    def contradicts(self) -> bool:
        """Whether the best sentence is the same but for a number, a name, a negation or an opposite."""
        negated = self.negation_differs and self.apart <= MOST_APART
        # Each replaced name is one word of difference on both sides.
        renamed = bool(self.names_replaced) and self.apart <= 2 * len(self.names_missing)
        turned = negated or renamed or bool(self.opposites) or bool(self.replaced)
        return turned and self.frame >= SAME_FRAME

    @property
    def problems(self) -> tuple[str, ...]:
        """In words."""
        found = [f"{shown} stands in no passage" for shown in (*self.numbers_missing, *self.names_missing)]
        found += [f"{pair} in its support" for pair in (*self.replaced, *self.names_replaced * self.contradicts)]
        found += ["one of claim and support is negated"] * self.negation_differs
        found += ["claim and support go in opposite directions"] * self.direction_differs
        return (*found, *(f"{pair} are opposites" for pair in self.opposites))


def consistency(
    claim: EvidenceSentence, window: Sequence[EvidenceSentence], best: EvidenceSentence | None, evidence: Evidence
) -> Consistency:
    """Check one claim against its best sentence, the sentences around it, and all of the evidence."""
    numbers = [fact for fact in claim.facts if fact.kind not in _NAMES]
    names = [fact for fact in claim.facts if fact.kind in _NAMES]
    near = [fact for sentence in window for fact in sentence.facts]
    missing = [fact for fact in numbers if not _is_stated(fact, evidence.facts)]
    unknown = [fact for fact in names if fact.value not in evidence.stems]
    return Consistency(
        numbers=len(numbers),
        numbers_missing=_labels_of(missing),
        numbers_elsewhere=_labels_of(fact for fact in numbers if fact not in missing and not _is_stated(fact, near)),
        names=len(names),
        names_missing=_labels_of(unknown),
        negation_differs=best is not None and _is_negated(claim) != _is_negated(best),
        opposites=() if best is None else _opposites(claim, best),
        direction_differs=best is not None and _direction(claim) * _direction(best) < 0,
        replaced=() if best is None else _replacements(numbers, claim, best),
        names_replaced=() if best is None else _name_replacements(unknown, claim, best),
        frame=0.0 if best is None else _frame(claim, best),
        apart=0 if best is None else len(_content_stems(claim) ^ _content_stems(best)),
    )


def _is_stated(fact: Fact, among: Iterable[Fact]) -> bool:
    """Return whether a number or date occurs, with any unit: "40 days" contains 40."""
    return any(fact.fits(other) or fact.value == other.value or fact.value in other.value.split("-") for other in among)


def _is_negated(sentence: EvidenceSentence) -> bool:
    return sum(token.stem in NEGATORS for token in sentence.tokens) % 2 == 1


def _direction(sentence: EvidenceSentence) -> int:
    """Return 1 for an increase, -1 for a decrease, 0 for neither or both; a negation reverses it."""
    more = sum(token.stem in _MORE for token in sentence.tokens) - sum(token.stem in _LESS for token in sentence.tokens)
    sign = (more > 0) - (more < 0)
    return -sign if _is_negated(sentence) else sign


def _opposites(claim: EvidenceSentence, best: EvidenceSentence) -> tuple[str, ...]:
    return tuple(
        f"{stem} / {other}"
        for stem in sorted(claim.stems - best.stems)
        for other in sorted(OPPOSITES_OF.get(stem, frozenset()) & (best.stems - claim.stems))
    )


def _replacements(numbers: Sequence[Fact], claim: EvidenceSentence, best: EvidenceSentence) -> tuple[str, ...]:
    there = [fact for fact in best.facts if fact.kind != "name"]
    lost = [fact for fact in numbers if not _is_stated(fact, there)]
    other = [fact for fact in there if not _is_stated(fact, claim.facts)]
    pairs = [
        (fact, another) for fact in lost for another in other if fact.kind == another.kind and fact.of == another.of
    ]
    return tuple(f"{fact.shown} / {another.shown}" for fact, another in pairs)


def _name_replacements(unknown: Sequence[Fact], claim: EvidenceSentence, best: EvidenceSentence) -> tuple[str, ...]:
    """Return pairs of names; two spellings of one name are not a pair."""
    other = [fact for fact in best.facts if fact.kind in _NAMES and fact.value not in claim.stems]
    pairs = [(fact, another) for fact in unknown for another in other if not _is_spelled_alike(fact, another)]
    return tuple(f"{fact.shown} / {another.shown}" for fact, another in pairs)


def _is_spelled_alike(first: Fact, second: Fact) -> bool:
    return SequenceMatcher(None, first.value, second.value, autojunk=False).ratio() >= SAME_SPELLING


def _frame(claim: EvidenceSentence, best: EvidenceSentence) -> float:
    """Numbers and negators are left out: they are what may differ inside a frame."""
    one, other = (
        [token.stem for token in sentence.tokens if token.stem not in FILLERS | NEGATORS and not _is_number(token)]
        for sentence in (claim, best)
    )
    return SequenceMatcher(None, one, other, autojunk=False).ratio() if one and other else 0.0


def _content_stems(sentence: EvidenceSentence) -> frozenset[str]:
    return frozenset(
        token.stem for token in sentence.tokens if token.stem not in FUNCTION_WORDS | NEGATORS and not _is_number(token)
    )


def _is_number(token: Token) -> bool:
    return token.fact is not None and token.fact.kind != "name"


def adds_restriction(claim: EvidenceSentence, best: EvidenceSentence | None) -> bool:
    """Return whether the claim contains "only", "except" or "unless" and its support does not."""
    return bool(claim.stems & RESTRICTORS) and (best is None or not best.stems & RESTRICTORS)


def _labels_of(facts: Iterable[Fact]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fact.shown or fact.value for fact in facts))


# --- Support of a claim by evidence ---
#
# Words first: the sentences that share most of a claim's rare words are the candidates, and only they are compared by
# meaning, so that a long context costs little more than a short one.

CANDIDATES = 3
"""Sentences compared by meaning, for each claim."""
TOGETHER = 3
"""Sentences that may support a claim together wherever they stand."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Support:
    """What was found for one claim."""

    best: int | None
    """The place of the best sentence in the evidence; None: there is no evidence."""
    consistency: Consistency
    features: dict[str, float]
    """By name, every one within a small range; a feature that needs vectors is absent without them."""


def support(claim: str, evidence: Evidence) -> Support:
    """Look for the support of a claim."""
    asked = read(claim)
    places = _candidates(asked, evidence)
    cosines = _cosines(claim, places, evidence)
    best = _best(asked, places, cosines, evidence)
    window = [] if best is None else evidence.window(best)
    sentence = None if best is None else evidence.sentences[best]
    checked = consistency(asked, window, sentence, evidence)
    features = _lexical(asked, places, evidence) | _exact(asked, sentence, checked) | _size(asked, evidence)
    if evidence.has_vectors:
        features["meaning"] = max(cosines, default=0.0)
    return Support(best=best, consistency=checked, features=features)


def coverage(wanted: Sequence[str], stems: frozenset[str], evidence: Evidence) -> float:
    """Return the share of these stems that occur, weighted by rarity; 1 without any stems."""
    total = math.fsum(map(evidence.weight, wanted))
    return math.fsum(evidence.weight(stem) for stem in wanted if stem in stems) / total if total else 1.0


def _candidates(asked: EvidenceSentence, evidence: Evidence) -> list[int]:
    """The places of the sentences that share most of a claim's words, best first."""
    wanted = content(asked.tokens)
    scored = [(coverage(wanted, sentence.stems, evidence), -place) for place, sentence in enumerate(evidence.sentences)]
    return [-place for _, place in sorted(scored, reverse=True)[:CANDIDATES]]


def _cosines(claim: str, places: Sequence[int], evidence: Evidence) -> list[float]:
    if not places or not evidence.has_vectors:
        return []
    same = [float(claim in (text, remove_marks(text))) for text in (evidence.sentences[place].text for place in places)]
    if any(same):
        # A sentence has a cosine of 1 with itself: quotations, such as the extractive synthesiser's, cost no model.
        return same
    rows = evidence.vectors([claim, *(evidence.sentences[place].text for place in places)])
    return [float(value) for value in rows[1:] @ rows[0]]


def _best(asked: EvidenceSentence, places: Sequence[int], cosines: Sequence[float], evidence: Evidence) -> int | None:
    """The sentence that agrees most, by words and meaning together."""
    if not places:
        return None
    wanted = content(asked.tokens)
    shared = [coverage(wanted, evidence.sentences[place].stems, evidence) for place in places]
    meant = cosines or [0.0] * len(places)
    return places[int(np.argmax(np.add(shared, meant)))]


def _lexical(asked: EvidenceSentence, places: Sequence[int], evidence: Evidence) -> dict[str, float]:
    wanted, pairs = content(asked.tokens), neighbours(asked.tokens)
    alone = [coverage(wanted, evidence.sentences[place].stems, evidence) for place in places]
    windows = [_union(evidence.window(place)) for place in places]
    together = _together(wanted, places, evidence)
    return {
        "words": coverage(wanted, evidence.stems, evidence),
        "words_sentence": max(alone, default=0.0),
        "words_window": max((coverage(wanted, stems, evidence) for stems in windows), default=0.0),
        "words_plain": sum(stem in evidence.stems for stem in wanted) / len(wanted) if wanted else 1.0,
        "words_together": coverage(wanted, together, evidence),
        "gap": _gap(asked, together),
        "pairs": sum(pair in evidence.pairs for pair in pairs) / len(pairs) if pairs else 0.5,
    }


def _union(sentences: Sequence[EvidenceSentence]) -> frozenset[str]:
    return frozenset[str]().union(*(sentence.stems for sentence in sentences))


def _together(wanted: Sequence[str], places: Sequence[int], evidence: Evidence) -> frozenset[str]:
    """The stems of the few sentences that cover a claim best together, each chosen for what the others lack."""
    found: frozenset[str] = frozenset()
    for _ in range(TOGETHER):
        missing = [stem for stem in wanted if stem not in found]
        gains = [(coverage(missing, evidence.sentences[place].stems, evidence), -place) for place in places]
        if not missing or not gains or max(gains)[0] == 0:
            break
        found |= evidence.sentences[-max(gains)[1]].stems
    return found


def _gap(asked: EvidenceSentence, stems: frozenset[str]) -> float:
    """Return the longest run of a claim's content that is in none of these, as a share of the claim."""
    runs = [0]
    order = [token.stem for token in asked.tokens if token.stem not in FUNCTION_WORDS]
    for stem in order:
        runs.append(0 if stem in stems else runs[-1] + 1)
    return max(runs) / max(1, len(order))


def _exact(asked: EvidenceSentence, best: EvidenceSentence | None, checked: Consistency) -> dict[str, float]:
    return {
        "numbers_missing": len(checked.numbers_missing) / max(1, checked.numbers),
        "numbers_elsewhere": len(checked.numbers_elsewhere) / max(1, checked.numbers),
        "names_missing": len(checked.names_missing) / max(1, checked.names),
        "exact": math.log1p(checked.numbers + checked.names),
        "negation": float(checked.negation_differs),
        "opposites": float(bool(checked.opposites)),
        "direction": float(checked.direction_differs),
        "restricted": float(adds_restriction(asked, best)),
    }


def _size(asked: EvidenceSentence, evidence: Evidence) -> dict[str, float]:
    return {"claim_length": math.log1p(len(asked.tokens)), "evidence_length": math.log1p(len(evidence.sentences))}
