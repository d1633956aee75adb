"""Which proposed questions are thrown away, and why."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from assay.evaluation.proposals.clauses import Draft, is_number
from assay.evaluation.proposals.passages import UNKNOWN, Passage
from assay.evaluation.proposals.verbs import word_set
from assay.evaluation.proposals.wording import is_name
from assay.text.terms import words

FEWEST_WORDS, MOST_WORDS = 3, 20
COMMON = word_set(
    "a an the of to in on at for from by with as is are be been was were do does did can may must should will would "
    "could i me my how what when which why who where if and or not no any some all there this that it have has had "
    "use used using happens default set get value file against within through without into over after before between "
    "other another more only one two also than but so up out off about like"
)
"""Words that say nothing about which passage is meant."""
_FOCUSED = frozenset(
    {"purpose", "duration", "amount", "clock", "opening", "count", "reason", "definition", "order", "way"}
)
"""Rules whose questions say what is wanted: two telling words are enough to know which passage is meant."""
GENERIC = word_set(
    "class function method object argument arguments parameter option value values file files code user users name "
    "string type page section document documentation project thing way something someone example text data work works "
    "make made do done new own given extra several different whole particular"
)
"""Words that many passages of any manual have."""
_OPENERS = word_set("how what when which why who where is are can may must should will could do does")
_OPEN_ENDS = word_set(
    "the a an and or of to with for in on by at as is are be if when that which not like than from into e.g. i.e. "
    "via per your my also there then"
)
"""Words that no question ends with, unless its rule says so."""
_MAY_END_OPEN = frozenset({"described", "used for", "default"})
_UNBOUND = word_set(
    "this that these those it its they them their above below following latter former such here we us he she it's "
    "that's they're it'll itself themselves aforementioned previously instead otherwise others"
)
"""Words that point at something outside of the question."""
_MARKUP = ("`", "*", "|", "::", "http", "<", ">", "[", "]", "{", "}", UNKNOWN, "\\", "^", "#", "…", "...")
_POINTERS = (
    " following ", " as follows", " shown above", " shown below", " like this", " like so", " see the ", " below.",
    " above.",
)  # fmt: skip
"""Words of sentences whose answer stands somewhere else."""


class CheckedDraft(NamedTuple):
    """What the checks look at."""

    draft: Draft
    passage: Passage
    spoken: list[str]
    """The question's words as they are written."""
    asked: list[str]
    """The same as terms."""
    answer: list[str]


def find_fault(draft: Draft, passage: Passage) -> str:
    """Why a question cannot be used; empty when it can."""
    proposed = CheckedDraft(
        draft,
        passage,
        draft.question.rstrip("?").split(),
        words(draft.question),
        words(draft.answer or passage.answer),
    )
    return next((fault for fault, applies in FAULTS if applies(proposed)), "")


def _is_broken(proposed: CheckedDraft) -> bool:
    spoken = proposed.spoken
    if not FEWEST_WORDS <= len(spoken) <= MOST_WORDS or spoken[0].lower() not in _OPENERS:
        return True
    if spoken[-1].lower() in _OPEN_ENDS and proposed.draft.rule not in _MAY_END_OPEN:
        return True
    repeated = any(first == second for first, second in pairwise(spoken))
    return repeated or bool({"-", "--", "/", "="} & set(spoken)) or any("," in word for word in spoken)


def _has_markup(proposed: CheckedDraft) -> bool:
    question = proposed.draft.question
    unbalanced = question.count("(") != question.count(")") or question.count('"') % 2 == 1
    return unbalanced or any(mark in question for mark in _MARKUP)


def _points_outside(proposed: CheckedDraft) -> bool:
    bare = {word.strip(",.'\"").lower() for word in proposed.spoken}
    return " the earlier " in proposed.draft.question or bool(_UNBOUND & bare)


def _repeats_heading(proposed: CheckedDraft) -> bool:
    """Whether a question has no word but those of its heading, and asks nothing that the heading does not say."""
    heading = words(proposed.passage.heading)
    if proposed.draft.rule == "described" or len(heading) < 2 or set(proposed.asked) - COMMON - set(heading):
        return False
    asks = {"how", "when", "why", "happens", "long", "many"} & set(proposed.asked[:4])
    return "default" not in proposed.asked and not asks


def _has_no_answer(proposed: CheckedDraft) -> bool:
    """Whether the sentence says nothing that the question does not; "no" is an answer."""
    fresh = set(proposed.answer) - set(proposed.asked) - COMMON
    denied = proposed.draft.rule in {"whether", "does"} and bool({"not", "cannot", "no"} & set(proposed.answer))
    counted = proposed.asked[:2] in (["how", "many"], ["how", "long"], ["how", "soon"], ["how", "much"])
    text = proposed.passage.text.rstrip()
    if text.endswith((":", "?")) or text.count('"') % 2 or text.startswith(UNKNOWN):
        return True
    if counted:
        return not any(is_number(word) for word in proposed.answer)
    return len(fresh) < (2 if proposed.asked[0] == "how" else 1) and not denied


def _is_no_sentence(proposed: CheckedDraft) -> bool:
    text = (proposed.draft.answer or proposed.passage.text).rstrip("\"')")
    return not proposed.passage.term and not text.endswith((".", "!"))


def _answers_elsewhere(proposed: CheckedDraft) -> bool:
    text = proposed.passage.text.rstrip()
    refers = UNKNOWN in text[-12:] or f"to {UNKNOWN}" in text
    return refers or any(pointer in f" {text.lower()} " for pointer in _POINTERS)


def _is_unspecific(proposed: CheckedDraft) -> bool:
    if any(is_name(word) and word != "I" for word in proposed.spoken[1:]):
        return False
    telling = [word for word in proposed.asked if word not in COMMON and word not in GENERIC]
    return len(telling) < (2 if proposed.draft.rule in _FOCUSED else 3)


FAULTS: tuple[tuple[str, Callable[[CheckedDraft], bool]], ...] = (
    ("broken wording", _is_broken),
    ("markup", _has_markup),
    ("points outside", _points_outside),
    ("repeats the heading", _repeats_heading),
    ("no answer", _has_no_answer),
    ("no whole sentence", _is_no_sentence),
    ("answer elsewhere", _answers_elsewhere),
    ("not specific", _is_unspecific),
)
"""Faults by name, in the order in which they are looked for."""
