"""Entries that a memory made of its own output: recalled text, a model's set phrases, echoes of a system prompt.

Each makes the next recall worse, because what was recalled is recalled again as if somebody had said it. The rules
look at how an entry begins, and at whole lines that other entries hold: a note that mentions such a phrase is none.

- Phrases.
- Copies of other entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from assay.text.terms import words

# --- Phrases ---

_START = r"^[\s>*_#`\"'-]*(?:(?:assistant|ai|bot|model)\s*:\s*)?"
_I = r"(?:i|we)"
_PAST = r"(?:previous|earlier|past|prior|last)"
_TALKS = r"(?:conversations?|sessions?|chats?|discussions?|interactions?|messages?)"
_STORE = r"(?:memor(?:y|ies)|notes|records)"

_RECALLED = (
    (
        rf"{_I} (?:do |can |still |also |already |now |clearly )?(?:remember|recall|have noted|have stored|have saved) "
        r"(?:that|from|you)\b"
    ),
    rf"as {_I} (?:remember|recall)\b",
    (
        rf"(?:based on|according to|from|looking at|per|in) (?:my|our|the|your) (?:\w+ )?{_STORE}\b"
        r"(?: of| from| about|,|:)"
    ),
    rf"(?:based on|according to|from|in) (?:my|our|your|the) {_PAST} {_TALKS}\b",
    r"(?:here(?:'s| is) what|here are the (?:things|facts)) (?:i|we) (?:remember|recall|know|have)\b",
    rf"(?:relevant|recalled|retrieved|stored|related|existing|known) (?:\w+ )?{_STORE}\b[^.\n]{{0,40}}:",
    r"(?:memory|memories) (?:retrieved|recalled|found|context|search results?)\b[^.\n]{0,40}:",
    r"you (?:have )?(?:previously|earlier|once|already) (?:told|mentioned|said|shared|asked|informed)\b",
    rf"in (?:a|our|an|the) {_PAST} {_TALKS},? you\b",
    r"\[?(?:memory|recall|recalled memory)(?: #?\d+)?\s*(?:\(|\|)\s*(?:score|relevance|similarity)\b",
    r"\(?(?:score|relevance|similarity)\s*[:=]\s*[01]?\.\d+\)?\s*[|:)-]",
    r"<(?:memor(?:y|ies)|recalled[_-]?memor(?:y|ies)|relevant[_-]memor(?:y|ies)|memory[_-]context)\b[^<>\n]{0,80}>",
    r"(?:search_memory|memory_search|recall_memory|get_memories|search_nodes)\b[^\n]{0,40}(?:returned|result|->|:)",
)
_BOILERPLATE = (
    r"as an? (?:ai|artificial intelligence|large language model|language model)\b",
    r"(?:i'm|i am|we are|we're) (?:just )?an? (?:ai|artificial intelligence|large language model|language model)\b",
    r"(?:i'm|i am) (?:sorry|afraid|unable|not able)\b[^.\n]{0,30}\b(?:can't|cannot|can not|but|to (?:help|assist|do))",
    r"i apologi[sz]e (?:for|that|if|but)\b",
    (
        r"i (?:don't|do not|cannot|can't) "
        r"(?:have (?:access|the ability|any (?:memory|record|information))|access|browse)\b"
    ),
    (
        r"(?:sure|certainly|of course|absolutely|great question|got it|understood|okay|no problem)[!,.][^.\n]{0,20}"
        r"\b(?:here|i'll|i will|i've|i have|let me|i can|i'd|happy|thanks for)\b"
    ),
    r"(?:how (?:can|may) i (?:help|assist)|is there anything else)\b",
    r"(?:i hope (?:this|that) helps|let me know if you (?:need|have|would|want)|feel free to (?:ask|reach))\b",
    (
        r"(?:i'll|i will) (?:make sure to |be sure to |try to )?"
        r"(?:remember|keep (?:that|this|it) in mind|note|store|save)\b"
    ),
    r"(?:thank you|thanks) for (?:sharing|letting me know|providing|telling me|the (?:information|update))\b",
)
_PROMPT_ECHO = (
    r"you are (?:a|an|the) (?:\w+[ -]){0,3}?(?:assistant|agent|chatbot|ai|language model|copilot)\b",
    r"you are (?:chatgpt|claude|gemini|copilot|gpt-?\w*)\b",
    r"(?:your )?knowledge cut-?off\b",
    r"(?:you have access to|use) the following (?:tools?|functions?|memor(?:y|ies))\b",
    r"(?:system prompt|system message|system instructions?)\s*[:=]",
    r"(?:current date|today's date)\s*(?:is|:)[^.\n]{0,40}(?:you are|knowledge|assistant)",
    r"(?:below|here) (?:is|are) (?:a list of |the )?(?:user(?:'s)? )?memor(?:y|ies)\b",
    r"when (?:answering|responding|replying)(?: to (?:the )?user)?, (?:you )?(?:should|must|always|never|use)\b",
)


_PHRASES: Mapping[str, re.Pattern[str]] = {
    "recalled text": re.compile(f"{_START}(?:{'|'.join(_RECALLED)})", re.IGNORECASE),
    "a model's set phrase": re.compile(f"{_START}(?:{'|'.join(_BOILERPLATE)})", re.IGNORECASE),
    "an echo of a system prompt": re.compile(f"{_START}(?:{'|'.join(_PROMPT_ECHO)})", re.IGNORECASE),
}
_CLOSING = re.compile(
    r"(?:^|[.!?]\s+)(?:i hope (?:this|that) helps|(?:please )?let me know if (?:you (?:need|have|would|want)|there)"
    r"|feel free to (?:ask|reach out|let me)|is there anything else (?:i|you)|how (?:can|may) i (?:help|assist) you)\b"
    r"[^.!?\n]{0,80}[.!?]?\s*$",
    re.IGNORECASE,
)
"""How a model ends an answer; a note does not end so."""
_APOSTROPHES = str.maketrans("\u2019\u2018", "''")


class SelfFeeding(NamedTuple):
    """Why an entry is taken for the memory's own output."""

    rule: str
    part: str
    """The words that show it."""


def find_set_phrase(text: str) -> SelfFeeding | None:
    """Return the phrase of a memory or model that an entry begins or ends with; None where it has none."""
    seen = text.translate(_APOSTROPHES)[:2_000]
    for rule, pattern in _PHRASES.items():
        if (found := pattern.search(seen)) is not None:
            return SelfFeeding(rule, found[0].strip())
    closing = _CLOSING.search(seen)
    return None if closing is None else SelfFeeding("a model's set phrase", closing[0].strip(" .!?"))


# --- Copies of other entries ---

LEAST_WORDS = 5
"""Words of a line that is looked for among other entries: a shorter one may be there by chance."""
LEAST_LINES = 2
"""Lines that other entries hold as their whole text, from which an entry is a list of recalled entries."""
MOST_LINES = 200
_LIST_MARK = re.compile(
    r"^\s{0,20}(?:[-*+\u2022>]\s{1,9}|\(?\d{1,3}[.):]\)?\s{0,9}|\[\d{1,3}\]\s{0,9})?"
    r"(?:\(?\[?(?:score|relevance|similarity)?\s{0,9}[:=]?\s{0,9}[01]?\.\d{1,6}\]?\)?\s{0,9}[-:|]?\s{0,9})?"
)


def normalise_entry(text: str) -> str:
    """Return a text in one spelling, for finding it again: its words alone."""
    return " ".join(words(text))


def find_recalled_lines(text: str, known: Mapping[str, str]) -> list[str]:
    """Return the keys of other entries whose whole text stands as a line of this one.

    `known` has the keys of entries by their normalised text. Empty unless most lines of the text are such lines, and
    at least two.
    """
    lines = [line for line in text.splitlines()[:MOST_LINES] if line.strip()]
    if len(lines) < LEAST_LINES:
        return []
    found = list(_match_lines(lines, known))
    return found if len(found) >= max(LEAST_LINES, (len(lines) - 1) / 2) else []


def _match_lines(lines: list[str], known: Mapping[str, str]) -> Iterator[str]:
    for line in lines:
        said = normalise_entry(_LIST_MARK.sub("", line, count=1))
        if said in known and said.count(" ") >= LEAST_WORDS - 1:
            yield known[said]
