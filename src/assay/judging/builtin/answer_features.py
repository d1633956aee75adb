"""The features by which the built-in correctness judge weighs an answer: what it has of the gold answer, and how.

None of them looks at the length of the answer or at how much of the question it repeats: in labelled sets right
answers are often full sentences and wrong ones are not, and a judge that learns this accepts every full sentence.
`design/correctness-judge.md` has the figures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.judging.builtin.answer_parts import Parts, Reading, compare_parts, plain_words, read
from assay.text.terms import stems_of
from assay.text.wording import FUNCTION_WORDS, VERBS, words_of

VAGUE_WORDS = frozenset(
    stems_of(
        words_of(
            "some several various something someone somewhere sometime somehow anything few couple many multiple "
            "certain different numerous general generally kind sort type related relating thing stuff activity item "
            "way area topic aspect matter nice good popular known particular lot around about roughly approximately "
            "recently while often regularly occasionally sometimes probably possibly maybe likely perhaps seem involve "
            "similar other another personal new"
        )
    )
)
"""Words that touch a topic without committing to anything."""
FEWEST_IN_SALAD = 6
"""A heap of fewer words is an answer without a verb."""
SMALL_IN_SALAD = 0.1
"""The largest share of small words in a heap."""
FEW_SMALL_WORDS = 0.25
"""The largest share of them in one that has no verb either."""
_ARTICLES = frozenset(words_of("a an the"))
_SUBJECTS = frozenset(words_of("i he she they we it"))
_FORMS_OF_BE = frozenset(words_of("is was are were"))
_PREPOSITIONS = frozenset(words_of("of from in at by with since into onto up"))
_JOINING = frozenset(words_of("and or"))
COPIED = 0.8
"""The share of a question's words from which an answer without other words is a copy of it."""
_ONE_OF = re.compile(
    r"\b(?:answer|it|this|that|which|he|she|they)\b.{0,20}?\b(?:is|was|be|are|were)\s+(?:probably\s+|likely\s+)?"
    r"(?:either|one\s+of|any\s+of|among)\b|\bone\s+of\s+(?:the\s+following|these)\b",
    re.IGNORECASE,
)
_OR_LIST = re.compile(
    r"(?:\b[\w'-]{1,30}+(?:\s[\w'-]{1,30}+){0,3},\s){2,8}(?:or|maybe|perhaps)\s[\w'-]{1,30}+(?:\s[\w'-]{1,30}+){0,3}"
    r"|\b[\w'-]{1,30}+(?:\s[\w'-]{1,30}+){0,3}\sor\s[\w'-]{1,30}+(?:\s[\w'-]{1,30}+){0,3}\sor\s[\w'-]{1,30}+",
    re.IGNORECASE,
)
_ANY_OR = re.compile(r"\bor\b|\bone of\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A candidate held against a gold answer."""

    parts: Parts
    features: dict[str, float]
    same_text: bool
    """Both have the same words in the same order."""
    defect: str = ""
    """Why it is no answer whatever it has of the gold answer; empty: it may be one."""


def compare(question: str, gold: str, candidate: str) -> Comparison:
    """Hold a candidate against a gold answer."""
    parts = compare_parts(question, gold, candidate)
    asked, meant, given = read(question), read(gold), read(candidate)
    same = plain_words(gold) == plain_words(candidate)
    return Comparison(
        parts=parts,
        features={**_of_parts(parts), **_of_texts(asked, meant, given)},
        same_text=same,
        defect="" if same else _find_defect(parts, asked, meant, given),
    )


def _find_defect(parts: Parts, asked: Reading, meant: Reading, given: Reading) -> str:
    found = [word for word, hit in parts.words.items() if hit]
    if _copies(asked, given):
        return "it repeats the question and says nothing else"
    if _is_salad(given):
        return "it is a heap of words, not a sentence and not a list"
    if _offers_alternatives(parts, given) and not _ANY_OR.search(f"{asked.text} {meant.text}"):
        return "it offers several answers to choose from"
    if found and len(parts.denied) >= len(found):
        return f"it denies {', '.join(parts.denied)}"
    if parts.contradicted:
        return f"it says {', '.join(parts.contradicted)} and lacks {', '.join(_lacking_numbers(parts))}"
    return ""


def _lacking_numbers(parts: Parts) -> list[str]:
    return [fact.shown or fact.value for fact, hit in parts.exact.items() if not hit]


def _of_parts(parts: Parts) -> dict[str, float]:
    words, exact, periods = (list(kind.values()) for kind in (parts.words, parts.exact, parts.periods))
    found = parts.found
    names = [hit for word, hit in parts.words.items() if word.is_name]
    return {
        "words": _share(words),
        "parts": _share(found),
        "any_part": float(any(found) or not found),
        "all_parts": float(all(found)),
        "items": _share(parts.items or found),
        "names_missing": 1 - _share(names),
        "exact_missing": 1 - _share(exact),
        "exact_other": float(bool(parts.other_exact)),
        "dates_missing": 1 - _share(periods),
        "dates_coarse": float(bool(parts.coarse)),
        "denied": float(bool(parts.denied)),
        "polarity_same": float(parts.polarity != 0 and parts.said == parts.polarity),
        "polarity_other": float(parts.polarity != 0 and parts.said == -parts.polarity),
        "no_words": float(not words),
        "size": math.log1p(len(words)),
    }


def _of_texts(asked: Reading, meant: Reading, given: Reading) -> dict[str, float]:
    fresh = [stem for stem in given.words if stem not in asked.words]
    pairs, others = set(pairwise(meant.order)), set(pairwise(given.order))
    return {
        "vague": sum(stem in VAGUE_WORDS for stem in fresh) / max(1, len(fresh)),
        "pairs": len(pairs & others) / len(pairs) if pairs else float(set(meant.order) <= set(given.order)),
    }


def _share(hits: Sequence[bool]) -> float:
    """The share of what is there; 1 where nothing is asked for."""
    return sum(hits) / len(hits) if hits else 1.0


# --- Answers that are none ---


def _copies(asked: Reading, given: Reading) -> bool:
    """Whether an answer has nearly every word of the question and no other."""
    if not given.words or set(given.exact) - set(asked.exact) or set(given.periods) - set(asked.periods):
        return False
    own = [stem for stem in given.words if stem not in asked.words]
    return not own and len(given.words) >= COPIED * len(asked.words)


def _is_salad(given: Reading) -> bool:
    """Whether many words stand together without the order and the marks that make a sentence or a list of them."""
    text = given.text.strip()
    found = plain_words(text)
    if len(found) < FEWEST_IN_SALAD or re.search(r"[,;:.\n]", text):
        return False
    small = sum(stem in FUNCTION_WORDS for stem in stems_of(found))
    if small <= SMALL_IN_SALAD * len(found) or (text == text.lower() and _is_out_of_order(found)):
        return True
    return small <= FEW_SMALL_WORDS * len(found) and not set(stems_of(found)) & VERBS


def _is_out_of_order(found: Sequence[str]) -> bool:
    """Whether words stand where no English sentence has them: an article before a preposition, a pronoun at the end."""
    if found[0] in _JOINING or found[-1] in _ARTICLES | _JOINING | _SUBJECTS | _FORMS_OF_BE:
        return True
    return any(
        (one in _ARTICLES and other in _ARTICLES | _SUBJECTS | _FORMS_OF_BE | _PREPOSITIONS | _JOINING)
        or (one in _PREPOSITIONS and other in _SUBJECTS | _FORMS_OF_BE)
        or (one in _SUBJECTS and other in _ARTICLES | _PREPOSITIONS)
        or (one.isdigit() and other.isdigit())
        for one, other in pairwise(found)
    )


def _offers_alternatives(parts: Parts, given: Reading) -> bool:
    """Whether an answer leaves the choice to the reader, with what is right among the things to choose from."""
    if _ONE_OF.search(given.text):
        return True
    offered = _OR_LIST.search(given.text)
    shown = [text.lower() for text in parts.shown(found=True)]
    return offered is not None and any(text in offered[0].lower() for text in shown)
