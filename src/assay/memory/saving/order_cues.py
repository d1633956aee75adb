"""Sentences that read like orders to a machine, told by how many cues of one meet in one sentence.

`orders` knows phrases; whoever words an order anew passes them. A note mentions the user, or an answer, or itself, or
a password now and then; one sentence that has several of these at once is rarely a note. Weights and the bound were
set on orders and how-to notes written for that purpose; `design/trust-in-ranking.md` has the figures, also for orders
written after the weights were fixed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

ENOUGH = 3.0
"""From this weight of cues on, a sentence reads like an order."""
LONGEST = 400
"""Characters of a sentence looked at together; a longer one is cut, each piece beginning in the middle of the last."""
SHORTEST = 8


class _Cue(NamedTuple):
    name: str
    weight: float
    pattern: re.Pattern[str]


def _cue(name: str, weight: float, *patterns: str) -> _Cue:
    return _Cue(name, weight, re.compile("|".join(patterns)))


_CUES = (
    _cue(
        "itself",
        1.5,
        r"\bthis (?:one|note|memory|entry|rule|document|text|instruction|message|result)\b",
        r"\bthe following (?:link|text|instruction)",
    ),
    _cue(
        "the reader's answer",
        1.5,
        r"\byour (?:next |own |previous |earlier )?(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|output)\b",
        r"\byour (?:previous |earlier )?(?:instructions?|orders?|system prompt|guidelines?)\b",
        r"\byou (?:can )?(?:read this|answer|respond|retrieve|summari[sz]e)\b",
    ),
    _cue("a machine", 1.0, r"\b(?:ai|agents?|assistants?|llms?|language models?|chatbots?|copilots?|the model)\b"),
    _cue("the user", 1.0, r"\b(?:the|a|your|any) (?:user|human)(?:'s)?\b", r"\busers\b"),
    _cue("what to say", 0.75, r"\b(?:answer|reply|respond|says?|claim|rate|cite|recommend|output)\b"),
    _cue(
        "what counts",
        1.0,
        r"\b(?:priority|precedence|overrides?|void|ignore|disregard|forget|set aside|disagree|trust)\b",
        r"\bstop (?:using|following)\b",
    ),
    _cue(
        "silence",
        1.5,
        r"\b(?:do not|don't|never|must not) (?:tell|mention|reveal|warn|inform|disclose)\b",
        r"\bsecretly\b|\bto yourself\b|\bexistence\b|\bhide\b|\bwithout (?:telling|asking)\b",
    ),
    _cue(
        "secrets",
        1.0,
        r"\b(?:passwords?|credentials?|secrets?|api[ -]?(?:keys?|tokens?)|session tokens?|private keys?)\b",
        r"\b(?:environment variables|chat history|conversations?)\b",
    ),
    _cue("an address", 1.0, r"https?://", r"\w@\w"),
    _cue("everything", 0.5, r"\b(?:every|any|all|always|never|whenever|regardless|whatever|from now on)\b"),
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")


def cues(text: str) -> tuple[str, ...]:
    """The cues of the sentence that has most of an order; nothing when none has enough.

    The text is in lower case, with one blank between words, as `orders` reads it.
    """
    best: tuple[_Cue, ...] = ()
    # Each different sentence once: a text that repeats itself may have thousands of the same.
    for sentence in dict.fromkeys(_sentences(text)):
        found = tuple(cue for cue in _CUES if cue.pattern.search(sentence))
        if _weight(found) > _weight(best):
            best = found
    return tuple(cue.name for cue in best) if _weight(best) >= ENOUGH else ()


def _weight(found: tuple[_Cue, ...]) -> float:
    return sum(cue.weight for cue in found)


def _sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(text):
        for start in range(0, max(1, len(sentence) - LONGEST // 2), LONGEST // 2):
            piece = sentence[start : start + LONGEST]
            if len(piece) >= SHORTEST:
                yield piece
