"""Orders to a reading program: what a note has no reason to say, and what it rarely says.

One plain order is enough to doubt a note. The doubtful kinds happen in honest notes too (a preference, an install line,
a chat log), so it takes two of them. No list of orders is complete: results are framed as data all the same.
"""

from __future__ import annotations

import re
import unicodedata

_OF_OTHERS = "(?:previous|prior|earlier|above|preceding|former|all|any|every|other|existing|system|your|the)"
_ORDERED = "(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|constraints?|safeguards?)"
_READER = "(?:the |any |your )?(?:user|human|customer|operator|person|developer|anyone|anybody)"
_MACHINE = "(?:ai|assistants?|agents?|llms?|language models?|models?|chatbots?|copilots?)"
_NOT = "(?:do not|don't|never|must not)"
_GIVEN = "(?:returned|shown|ranked|listed|placed|retrieved|cited|read)"
_ITSELF = "(?:note|memory|text|document|entry|result)"

_PLAIN_ORDERS = {
    "sets other instructions aside": (
        (
            r"\b(?:ignore|disregard|forget|override|bypass|do not follow|stop following)\b"
            rf"(?: \w+){{0,3}}? {_OF_OTHERS}\b(?: \w+){{0,3}}? {_ORDERED}\b"
        ),
        r"\b(?:forget|disregard|ignore) (?:everything|anything|all|what) (?:\w+ ){0,3}(?:above|before|said|told)\b",
    ),
    "has markers of a chat or a tool call": (
        r"<\|[^|<>\n]{1,40}\|>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>",
        r"</?(?:system|assistant|tool_call|tool_result|tool_use|function_calls?|invoke)\b[^<>\n]{0,80}>",
    ),
    "gives the reader another role": (
        (
            r"\byou are (?:now|no longer) (?:\w+ ){0,3}"
            r"(?:\w*gpt|dan|ai|assistant|agent|model|unrestricted|unfiltered|jailbroken|bound|in (?:\w+ )?mode)\b"
        ),
        r"\b(?:new|real|updated|hidden) system (?:prompt|instructions?)\b|\bsystem (?:prompt )?override\b",
    ),
    "asks to be found first": (
        (
            rf"\b(?:this|it)(?: \w+)?? (?:must|should|has to|needs to) (?:always )?be {_GIVEN} "
            r"(?:first|before (?:all|any|every)|at the top|on top)\b"
        ),
        r"\b(?:answers?|relevant (?:to|for)|matches) (?:every|any|all) (?:questions?|quer(?:y|ies)|requests?)\b",
        rf"\b(?:return|retrieve|show|rank|cite) this {_ITSELF} (?:first|for (?:every|any|all))\b",
    ),
    "keeps something from the user": (
        rf"\b{_NOT} (?:tell|inform|warn|alert|notify) {_READER}\b",
        rf"\b{_NOT} (?:mention|reveal|disclose|show) (?:\w+ ){{1,4}}to {_READER}\b",
        rf"\bwithout (?:telling|informing|asking|alerting) {_READER}\b",
    ),
    "puts an answer into the reader's mouth": (
        (
            r"\balways (?:answer|reply|respond|say|return|output)\b(?: \w+){0,4}? (?:with|that|only|exactly):? ?"
            "[\"'\u201c`*]"
        ),
        r"\balways (?:answer|reply|respond to) (?:every|any|all)\b",
    ),
}
_DOUBTFUL_ORDERS = {
    "says what to answer": (r"\b(?:always|only) (?:answer|reply|respond|say|output)\b|\brespond only\b",),
    "speaks as the system": (
        r"(?:^|\n)\W*(?:system|developer) (?:message|note|prompt|instructions?) ?:|\[system\]",
        r"(?:^|\n)\W*system ?: ?(?:you|your|ignore|always|never|do not|from now)\b",
        r"\bimportant system (?:note|message|instruction)s?\b",
    ),
    "speaks to a program": (
        (
            r"\b(?:note|message|attention|instructions?)\W{0,3}(?:to|for)? ?(?:the |all |any )?"
            rf"{_MACHINE}\b\W{{0,2}}[:!,]"
        ),
        rf"\b(?:dear|hey|hello) {_MACHINE}\b|\bas an? {_MACHINE},? you\b",
    ),
    "sends the user somewhere": (
        (
            rf"\b(?:tell|ask|instruct|convince|advise|get) {_READER} to "
            r"(?:run|execute|install|download|visit|open|send|pay|buy|click|paste|enter)\b"
        ),
    ),
    "pipes a download into a shell": (r"\b(?:curl|wget)\b[^\n|]{1,200}\| ?(?:sudo )?(?:ba|z)?sh\b",),
    "calls a tool": (
        r"\"(?:tool_calls?|function_call)\" ?:",
        r"\{ ?\"name\" ?: ?\"\w+\" ?, ?\"(?:arguments|parameters|input)\" ?:",
    ),
}
_PLAIN = {said: re.compile("|".join(patterns)) for said, patterns in _PLAIN_ORDERS.items()}
_DOUBTFUL = {said: re.compile("|".join(patterns)) for said, patterns in _DOUBTFUL_ORDERS.items()}
_SPACES = re.compile(r"[^\S\n]+")
_LOOKALIKES = str.maketrans("аеорсухіѕԁοѵ", "aeopcyxisdov")  # noqa: RUF001 - Cyrillic and Greek on purpose


def orders(text: str) -> tuple[str, ...]:
    """What a text orders its reader's machine to do; nothing when it is to be taken for a note."""
    seen = _folded(text)
    plain = [said for said, pattern in _PLAIN.items() if pattern.search(seen)]
    doubtful = [said for said, pattern in _DOUBTFUL.items() if pattern.search(seen)]
    return (*plain, *doubtful) if plain or len(doubtful) > 1 else ()


def _folded(text: str) -> str:
    """As a reader takes it: one width, one case, one space, Latin letters for those that look so."""
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_LOOKALIKES).replace("\u2019", "'")
    return _SPACES.sub(" ", plain)
