"""The spam filter of a save: orders to a reading program, text made to be found, and quarantine for both.

- Sentences that read like orders to a machine, by how many cues meet in one sentence.
- Orders to a reading program: phrases a note has no reason for, and phrases it rarely has.
- Stuffing: words without sentences, text made to be found and not to be read.
- Doubts: is a draft a note at all?.
- Quarantine: a memory that is kept and shown, and that no search finds until a person releases it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from itertools import chain, compress, pairwise
from operator import itemgetter
from typing import NamedTuple

from assay.memory.saving.drafts import HIDDEN_TEXT, PRIVATE, REORDERED, RESERVED
from assay.records import Draft, Mask, MemoryRecord
from assay.records.memory import QUARANTINED_MARK
from assay.storage import Work
from assay.text.terms import words
from assay.text.wording import words_of

# --- Sentences that read like orders to a machine, by how many cues meet in one sentence ---
#
# `orders` knows phrases; whoever words an order anew passes them. A note mentions the user, or an answer, or itself,
#   or
# a password now and then; one sentence that has several of these at once is rarely a note. Weights and the bound were
# set on orders and how-to notes written for that purpose; `design/trust-in-ranking.md` has the figures, also for
# orders written after the weights were fixed.

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


def find_cues(text: str) -> tuple[str, ...]:
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


# --- Orders to a reading program: phrases a note has no reason for, and phrases it rarely has ---
#
# One plain order is enough to doubt a note. The doubtful kinds happen in honest notes too (a preference, an install
# line, a chat log), so it takes two of them, close to each other. What no phrase here knows may still read like an
# order:
# `order_cues`. No list of orders is complete: results are framed as data all the same.

CLOSE = 500
"""Characters between two doubtful kinds that make an order together."""

_OF_OTHERS = "(?:previous|prior|earlier|above|preceding|former|all|any|every|other|existing|system|your|the)"
_ORDERED = "(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|constraints?|safeguards?)"
_READER = "(?:the |any |your )?(?:user|human|customer|operator|person|developer|anyone|anybody)"
_MACHINE = "(?:ai|assistants?|agents?|llms?|language models?|models?|chatbots?|copilots?)"
_NOT = "(?:do not|don't|never|must not)"
_GIVEN = "(?:returned|shown|ranked|listed|placed|retrieved|cited|read)"
_ITSELF = "(?:note|memory|text|document|entry|result|instruction|message)"
_OTHERS = "(?:results?|notes?|memor(?:y|ies)|documents?|sources?|entries)"
_USER = "(?:the |a |your |any )?(?:users?|humans?|anyone|anybody|someone|somebody|people)"
_SAYING = "(?:answer|reply|respond|say|claim|state|insist|recommend)"
_PRIVATE = (
    "(?:passwords?|credentials?|secrets?|api[ -]?(?:keys?|tokens?)|(?:access|session|bearer) tokens?|private keys?"
    r"|(?:user|human)(?:'s|s') (?:messages?|questions?|files?)"
    r"|id_rsa|\.env|environment variables|conversations?|chat (?:history|logs?)|system prompts?)"
)
_AWAY = r"(?:https?://|\S{1,64}@|the chat\b|your (?:next )?answer\b)"

_PLAIN_ORDERS = {
    "sets other instructions aside": (
        (
            r"\b(?:ignore|disregard|forget|override|bypass|set aside|do not follow|stop following)\b"
            rf"(?: \w+){{0,3}}? {_OF_OTHERS}\b(?: [\w']+){{0,3}}? {_ORDERED}\b"
        ),
        r"\b(?:ignore|disregard|bypass) (?:the|any|all|our|your) (?:\w+ )?polic(?:y|ies)\b",
        rf"\b(?:ignore|disregard|skip) (?:(?:all|any|every|the) )*other {_OTHERS}\b",
        rf"\b(?:consider|treat) (?:(?:all|any|every|the) )*other {_OTHERS} (?:as )?(?:outdated|wrong|false|obsolete)\b",
        r"\bforget what you (?:were|are|have been) told\b",
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
        r"\byour (?:new|only|real|actual|true) (?:task|goal|instructions?|objective|mission|role)\b",
        r"\byour (?:task|goal|instructions?|objective|mission|role) (?:is now|are now|has changed|have changed)\b",
        r"\bpretend (?:to be (?:the|an?) (?:user|admin\w*|owner|operator|human)\b|(?:that )?you are\b)",
        r"\bact as (?:the user|the admin\w*|an? (?:admin\w*|unrestricted|unfiltered))\b",
        r"\bfrom now on,? (?:you\b|respond|answer|reply|act|pretend)|\byou (?:\w+ ){1,6}from now on\b",
        rf"\btreat (?:this|it|the following) as (?:a |the )?(?:system|developer|admin\w*) {_ITSELF}\b",
    ),
    "speaks to the machine that reads it": (
        rf"\b(?:if|since|because) you(?: are|'re) an? (?:\w+ ){{0,2}}?{_MACHINE}\b",
        rf"\bas an? (?:\w+ ){{0,2}}?{_MACHINE},? you (?:must|should|have to|shall|need to)\b",
        (
            rf"\b{_MACHINE} (?:that |who |which )?(?:reads?|reading|retrieves?|retrieving|process(?:es|ing)?) this"
            rf"(?: {_ITSELF})?,? (?:must|should|shall|has to|have to|needs? to)\b"
        ),
        r"\b(?:when|once|as soon as) you (?:read|retrieve|process) this\b",
        rf"\b(?:new|changed|updated) instructions? (?:for|to) (?:(?:the|all|any|every) )*{_MACHINE}\b",
        rf"\b{_NOT} (?:obey|listen to) {_USER}\b",
        rf"\b{_NOT} (?:follow|trust|use) (?:the )?(?:notes?|memories) (?:written |saved )?(?:by|of)\b",
        rf"\b(?:do|follow|obey) what this {_ITSELF} says\b|\beven if {_USER} (?:object|refuse|disagree)s?\b",
    ),
    "asks to be found first": (
        (
            rf"\b(?:this|it)(?: \w+)?? (?:must|should|has to|needs to) (?:always )?be {_GIVEN} "
            r"(?:first|before (?:all|any|every)|at the top|on top)\b"
        ),
        r"\b(?:answers?|relevant (?:to|for)|matches) (?:every|any|all) (?:questions?|quer(?:y|ies)|requests?)\b",
        rf"\b(?:return|retrieve|show|rank|cite) this {_ITSELF} (?:first|for (?:every|any|all))\b",
        rf"\bthis {_ITSELF} (?:overrides|outranks|(?:takes|has) (?:precedence|priority) over)\b",
        rf"\btrust this {_ITSELF} (?:more|over|above|first)\b|\buse only this (?:one|{_ITSELF})\b",
    ),
    "keeps something from the user": (
        rf"\b{_NOT} (?:tell|inform|warn|alert|notify) {_READER}\b",
        rf"\b{_NOT} (?:mention|reveal|disclose|show) (?:\w+ ){{1,4}}to {_READER}\b",
        rf"\bwithout (?:telling|informing|asking|alerting) {_READER}\b",
        rf"\b{_NOT} let {_USER} (?:know|see|notice|learn|find out)\b",
        rf"\b{_USER} (?:must|should|may) (?:not|never) (?:(?:learn|know|find out) (?:about|of|that)|be told)\b",
        rf"\b(?:hide|conceal|keep) (?:this|it|these)(?: \w+)?? from {_USER}\b",
        rf"\b{_NOT} (?:mention|reveal|disclose) (?:that )?this {_ITSELF}\b",
        rf"\bwithout {_USER}(?:'s?)? (?:knowing|knowledge|noticing|consent)\b",
        rf"\bthat this (?:rule|{_ITSELF}) exists\b|\bwithout telling (?:them|anyone|anybody|him|her)\b",
        r"\bsecretly (?:add|send|insert|change|copy|install|run|write|include)\b",
    ),
    "puts an answer into the reader's mouth": (
        (
            r"\balways (?:answer|reply|respond|say|return|output)\b(?: \w+){0,4}? (?:with|that|only|exactly):? ?"
            "[\"'\u201c`*]"
        ),
        r"\balways (?:answer|reply|respond to) (?:every|any|all)\b",
        rf"\b(?:when(?:ever)?|if) (?:you are |being )?asked\b[^.\n]{{0,80}}?, ?(?:always |only )?{_SAYING}\b",
        (
            rf"\b(?:when(?:ever)?|if) {_USER} (?:asks?|wants?)\b[^.\n]{{0,80}}?, ?"
            rf"(?:always |only )?(?:{_SAYING}|give them)\b"
        ),
        rf"\bif (?:a|any|the) (?:question|query)\b[^.\n]{{0,60}}?, ?{_SAYING}\b",
        (
            r"\b(?:insert|add|append|include) (?:the |a )?(?:text|words?|phrase|sentence|link)\b[^\n]{0,60}?"
            r"\b(?:every|all|each|any) (?:answer|reply|response|summary|text) you\b"
        ),
        r"\b(?:answer|respond to|reply to) (?:every|any|all) (?:questions?|quer(?:y|ies))\b[^.\n]{0,40}? with\b",
        rf"\bfor (?:every|any|all) (?:questions?|quer(?:y|ies))\b[^.\n]{{0,40}}?, ?(?:output|{_SAYING})\b",
        (
            r"\b(?:regardless of|no matter|whatever) (?:what )?(?:the )?"
            rf"(?:users?|humans?|question|query|{_OTHERS}) (?:is|are|says?|asks?|wants?|said)\b"
        ),
        rf"\bwhen summari[sz]ing this {_ITSELF}\b[^.\n]{{0,60}}?\b(?:{_SAYING}|mention|omit)\b",
        rf"\b(?:convince|persuade|trick|lure) {_USER} to\b",
    ),
    "takes secrets away": (
        (
            rf"\b(?:send|forward|post|upload|e-?mail|mail|transmit|exfiltrate|leak|submit|copy|paste|include)\b"
            rf"(?![^\n]{{0,120}}\b(?:header|parameter|endpoint|form)\b)[^\n]{{0,60}}?{_PRIVATE}\b[^\n]{{0,40}}?"
            rf" (?:to|into|in|at) {_AWAY}"
        ),
        r"\b(?:reveal|print|output|show|repeat|leak|dump) (?:me )?(?:your|the) (?:\w+ )?system prompt\b",
        rf"\b(?:print|output|reveal|list|show|leak) (?:all |every |the |your )*{_PRIVATE}(?: that)? you\b",
        rf"\bleak (?:all |the |your )+{_PRIVATE}",
    ),
}
_DOUBTFUL_ORDERS = {
    "says what to answer": (
        r"\b(?:always|only) (?:answer|reply|respond|say|output)\b|\b(?:answer|reply|respond) only\b",
        rf"\b{_MACHINE} (?:must|should|shall|has to|have to) (?:always |never |only )?{_SAYING}\b",
        r"\bin your (?:next )?(?:answer|reply|response|summary)\b",
    ),
    "speaks of who asks": (rf"\bif {_USER} asks?\b|\bto (?:any|every) request from\b",),
    "speaks as the system": (
        r"(?:^|\n)[^\w\n]*+(?:system|developer) (?:message|note|prompt|instructions?) ?:|\[system\]",
        r"(?:^|\n)[^\w\n]*+system ?: ?(?:you|your|ignore|always|never|do not|from now|the following|this)\b",
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
    "switches safety off": (
        r"\b(?:disable|bypass|skip|turn off|override)\b(?: \w+){0,2}? (?:safety|guardrails?|moderation|approvals?)\b",
        r"\bwithout asking\b|\bsilently\b[^\n]{0,20}?: ?\S",
        rf"\b{_NOT} ask {_USER}\b",
    ),
    "asks for a secret": (
        rf"\bask (?:{_USER}|them) to (?:paste|enter|type|send|give|share)\b[^.\n]{{0,30}}?{_PRIVATE}\b",
    ),
    "waits for the user": (rf"\bwhen(?:ever)? {_USER} (?:mentions?|says?|types?)\b",),
    "acts before it answers": (r"\bbefore (?:you )?(?:answer|respond|continu)(?:ing|e)?\b",),
    "removes what is remembered": (
        r"\bmemory_(?:forget|update|restore)\b|\bdelete (?:all|every|the) (?:other )?(?:memor(?:y|ies)|notes)\b",
        r"\brm -rf [~/]",
    ),
    "keeps quiet": (rf"\b{_NOT} (?:mention|reveal|disclose) (?:it|this|that|where)\b|\btell (?:nobody|no ?one)\b",),
    "orders the reader about": (r"\byou are required to\b|\boverrides? (?:the )?(?:operator|user|admin\w*)\b",),
    "calls a tool": (
        r"\"(?:tool_calls?|function_call)\" ?:",
        r"\{ ?\"name\" ?: ?\"\w+\" ?, ?\"(?:arguments|parameters|input)\" ?:",
    ),
}
_PLAIN = {said: re.compile("|".join(patterns)) for said, patterns in _PLAIN_ORDERS.items()}
_DOUBTFUL = {said: re.compile("|".join(patterns)) for said, patterns in _DOUBTFUL_ORDERS.items()}
_SPACES = re.compile(r"[^\S\n]+")
_LOOKALIKES = str.maketrans("аеорсухіѕԁοѵ", "aeopcyxisdov")  # noqa: RUF001 - Cyrillic and Greek on purpose


def match_orders(text: str) -> tuple[str, ...]:
    """What a text orders its reader's machine to do; nothing when it is to be taken for a note."""
    seen = _fold(text)
    plain = [said for said, pattern in _PLAIN.items() if pattern.search(seen)]
    places = sorted((match.start(), said) for said, pattern in _DOUBTFUL.items() for match in pattern.finditer(seen))
    if plain or _stand_close(places):
        return (*plain, *dict.fromkeys(said for _, said in places))
    found = find_cues(seen)
    return (f"reads like an order ({', '.join(found)})",) if found else ()


def _stand_close(places: Sequence[tuple[int, str]]) -> bool:
    """Whether two kinds of doubtful orders stand close to each other; `places` are in the order of the text."""
    return any(kind != other and later - earlier <= CLOSE for (earlier, kind), (later, other) in pairwise(places))


def _fold(text: str) -> str:
    """As a reader takes it: one width, one case, one space, Latin letters for those that look so."""
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_LOOKALIKES).replace("\u2019", "'")
    return _SPACES.sub(" ", plain)


# --- Stuffing: words without sentences, text made to be found and not to be read ---
#
# Statistics are taken over windows, since search ranks passages: a good beginning does not excuse the rest. Four
# shapes are told from prose, code and tables: a stretch without any stop, a list of bare words, one word over and
# over, and words in an order that no sentence has. The numbers were set on the texts that `design/save-time-spam-
# filter.md` names.

WINDOW, STEP = 80, 40
"""Words looked at together, and how far apart."""
LEAST = 30
"""Fewer words show no shape."""
LONGEST_STRETCH = 65
"""Words without any stop, comma or line end between them: of 62,000 windows of real text one in 10,000 has so many."""
LOOSE_STRETCH = 30
"""The same, where hardly any of them is a joining word."""
FEW_JOINING = 0.1
"""Share of joining words below which words stand side by side; English prose has 0.35."""
LIST_PLAIN, LIST_DISTINCT = 0.9, 0.95
"""A window is a list of words when so many of them are bare, and so many of those different: prose in any language
repeats the words that join its sentences, if less than English does."""
MOST_FOREIGN = 0.05
"""Share of words with letters beyond ASCII from which a text is not taken for English: languages that put endings where
English puts words repeat as little as a list does."""
MOST_OF_ONE = 0.35
"""Share of one word."""
MOST_MISPLACED = 4
"""Pairs in a window such as `the of` or `with is`, which no sentence has."""

_WORD = re.compile(r"([^\W_]+(?:['\u2019_-][^\W_]+)*)")
_BARE = frozenset(" ,.;:\n\t")
_JOINING = frozenset(
    words_of(
        "a an the this that these those our my your his her its their of and or also it they them we you i he "
        "she there so will would then is are be been was were am have has had do does did must should may "
        "might can could need to from in on at by with for as into over under out up down off about than if "
        "when while which who what where how because per each every until but not no all any some more most "
        "such other only both between after before during against without within one two"
    )
)
_LEADS = frozenset(words_of("the an of by with from at for into"))
_NEVER_LED = frozenset(words_of("of is are was were and or has have but will can than"))


class _Words:
    """The words of a text in lower case, and what the shapes need to know of each: found once, windows overlap."""

    def __init__(self, text: str) -> None:
        # Splitting at a group gives in turn what stands between two words, and a word.
        parts = _WORD.split(text)
        self.said = [word.lower() for word in parts[1::2]]
        self.gaps = parts[:-1:2]
        """The text before each word."""
        self.joined = [not gap.strip(" ") for gap in self.gaps]
        """Whether nothing but spaces parts a word from the one before it."""
        self.plain = [word.isalpha() for word in self.said]

    @cached_property
    def repeatable(self) -> list[str]:
        """Each word whose repetition counts; empty for joining words, short ones and numbers."""
        return [
            word if plain and len(word) > 2 and word not in _JOINING else ""
            for word, plain in zip(self.said, self.plain, strict=True)
        ]

    @cached_property
    def misplaced(self) -> list[bool]:
        """Whether a word follows one that cannot precede it in a sentence, such as `of` after `the`."""
        pairs = pairwise(("", *self.said))
        return [
            after in _NEVER_LED and before in _LEADS and joined
            for (before, after), joined in zip(pairs, self.joined, strict=True)
        ]

    @cached_property
    def foreign(self) -> list[bool]:
        """Whether a word has letters beyond ASCII."""
        return [not word.isascii() for word in self.said]

    @cached_property
    def bare(self) -> list[bool]:
        """Whether a word is letters alone, without marks before it."""
        return [plain and _BARE.issuperset(gap) for plain, gap in zip(self.plain, self.gaps, strict=True)]


def find_stuffing(text: str) -> str:
    """How a text is stuffed; empty when it reads like prose, code or a table."""
    words = _Words(text)
    if len(words.said) < LEAST:
        return ""
    return _stretch(words) or next(filter(None, (_window(words, span) for span in _windows(len(words.said)))), "")


def _windows(count: int) -> Iterator[slice]:
    for start in range(0, max(1, count - WINDOW + STEP), STEP):
        yield slice(start, min(start + WINDOW, count))


def _stretch(words: _Words) -> str:
    """Words that follow each other without a stop, far beyond what a sentence has."""
    begin = 0
    breaks = (place for place, joined in enumerate(words.joined) if place and not joined)
    for place in chain(breaks, [len(words.said)]):
        length = place - begin
        if length >= LOOSE_STRETCH and _is_unbroken(words, slice(begin, place)):
            return f"{length} words without a stop between them"
        begin = place
    return ""


def _is_unbroken(words: _Words, stretch: slice) -> bool:
    # A script without spaces, or one that has no stops, gives few long words: those are told by their letters.
    said = list(compress(words.said[stretch], words.plain[stretch]))
    if len(said) < LOOSE_STRETCH:
        return False
    return len(said) >= LONGEST_STRETCH or _joining(said) < FEW_JOINING


def _joining(said: Sequence[str]) -> float:
    return sum(word in _JOINING for word in said) / len(said)


def _window(words: _Words, window: slice) -> str:
    if window.stop - window.start < LEAST:
        return ""
    return _one_word(words, window) or _describe_misplaced(words, window) or _list(words, window)


def _one_word(words: _Words, window: slice) -> str:
    counted = Counter(words.repeatable[window])
    counted.pop("", None)
    word, count = max(counted.items(), key=itemgetter(1), default=("", 0))
    length = window.stop - window.start
    return f"{word!r} is {count} of {length} words" if count > MOST_OF_ONE * length else ""


def _describe_misplaced(words: _Words, window: slice) -> str:
    if sum(words.misplaced[window]) < MOST_MISPLACED:
        return ""
    # The first word of a window counts without the one before it, which is outside.
    places = [place for place in range(window.start + 1, window.stop) if words.misplaced[place]]
    if len(places) < MOST_MISPLACED:
        return ""
    pairs = (f"{words.said[place - 1]} {words.said[place]}" for place in places[:3])
    return f"words in no order: {', '.join(pairs)}"


def _list(words: _Words, window: slice) -> str:
    length = window.stop - window.start
    if length < WINDOW or sum(words.foreign[window]) > MOST_FOREIGN * length:
        return ""
    bare = list(compress(words.said[window], words.bare[window]))
    listed = len(bare) >= LIST_PLAIN * length and len(set(bare)) >= LIST_DISTINCT * len(bare)
    return f"a list of {len(set(bare))} words without sentences" if listed and _joining(bare) < FEW_JOINING else ""


# --- Doubts: is a draft a note at all? ---
#
# | doubt | said of |
# | --- | --- |
# | `hidden_text` | characters that nobody sees, more than happen by accident; any that turn or steer what is shown |
# | `orders` | text that tells a reading program what to do: one plain order, or two of the doubtful kind |
# | `stuffing` | words without sentences: long stretches without a stop, lists, one word over and over, broken order |
# | `triggers` | more trigger phrases, or more words in them, than a note of a program has reason for |
# | `title` | a title as long as a text |
#
# The check is deterministic and looks at shape, never at subject. It doubts: what is done about it is for `decisions`
# to say. `copying` adds doubts that need the memories nearby.

MOST_TRIGGERS_OF_PROGRAM = 10
"""Trigger phrases of a note that a program writes."""
MOST_TRIGGER_WORDS = 40
LONGEST_TITLE = 40
"""Words."""
MOST_HIDDEN = {HIDDEN_TEXT: 12, PRIVATE: 3, REORDERED: 0}
"""Characters of each kind that happen by accident, in text that was copied from a page or an icon font."""
MOST_READ = 200_000
"""Characters of a body that are looked at."""


class Doubt(NamedTuple):
    """What is doubtful about a draft."""

    name: str
    reason: str
    kept: bool = False
    """Worth keeping if a person approves it, so the gate does not reject it."""


def find_doubts(draft: Draft, masks: Sequence[Mask] = ()) -> tuple[Doubt, ...]:
    """Return all doubts about a draft whose hidden characters were removed; `masks` lists those characters."""
    found = (
        _doubt_hidden_text(masks),
        _doubt_orders(draft),
        _doubt_stuffing(draft),
        _doubt_triggers(draft.triggers),
        _doubt_title(draft.title),
    )
    return tuple(doubt for doubt in found if doubt is not None)


def _doubt_hidden_text(masks: Sequence[Mask]) -> Doubt | None:
    for kind, most in MOST_HIDDEN.items():
        count = sum(mask.length for mask in masks if mask.kind == kind)
        if count > most:
            return Doubt("hidden_text", f"{count} invisible characters ({kind})")
    return None


def _doubt_orders(draft: Draft) -> Doubt | None:
    found = match_orders("\n".join((draft.title, draft.body[:MOST_READ], *draft.triggers)))
    return Doubt("orders", "; ".join(found)) if found else None


def _doubt_stuffing(draft: Draft) -> Doubt | None:
    found = find_stuffing(draft.body[:MOST_READ])
    return Doubt("stuffing", found) if found else None


def _doubt_triggers(phrases: Sequence[str]) -> Doubt | None:
    count = sum(len(words(phrase)) for phrase in phrases)
    if len(phrases) <= MOST_TRIGGERS_OF_PROGRAM and count <= MOST_TRIGGER_WORDS:
        return None
    most = f"over {MOST_TRIGGERS_OF_PROGRAM} or {MOST_TRIGGER_WORDS}"
    return Doubt("triggers", f"{len(phrases)} triggers of {count} words together, {most}")


def _doubt_title(title: str) -> Doubt | None:
    count = len(words(title))
    return Doubt("title", f"a title of {count} words, over {LONGEST_TITLE}") if count > LONGEST_TITLE else None


# --- Quarantine: a memory that is kept and shown, and that no search finds until a person releases it ---
#
# It has a row and no passages, so it is in no index and counts for no word's frequency. It never held: it is
# superseded from the moment it would have been valid, so that no question about any time finds it, nor is it what a
# source says now. What was doubted stands in its metadata. `assay restore` releases it: only then is it cut, embedded
# and indexed.

MARK = QUARANTINED_MARK


def mark_quarantined(memory: MemoryRecord, doubts: Sequence[Doubt]) -> MemoryRecord:
    """A new memory as it is kept in quarantine."""
    own = {**memory.metadata.get(RESERVED, {}), MARK: [f"{doubt.name}: {doubt.reason}" for doubt in doubts]}
    return replace(memory, superseded_at=memory.valid_from, metadata={**memory.metadata, RESERVED: own})


def quarantine_reasons(memory: MemoryRecord) -> tuple[str, ...]:
    """Why a memory is in quarantine; nothing when it is not."""
    return tuple(memory.metadata.get(RESERVED, {}).get(MARK, ()))


def release(memory: MemoryRecord, now: datetime) -> MemoryRecord:
    """The memory as one that holds."""
    own = {name: value for name, value in memory.metadata[RESERVED].items() if name != MARK}
    rest = {name: value for name, value in memory.metadata.items() if name != RESERVED}
    return replace(memory, superseded_at=None, updated_at=now, metadata={**rest, **({RESERVED: own} if own else {})})


def list_quarantined(work: Work) -> list[MemoryRecord]:
    """Every memory in quarantine, oldest first."""
    return [memory for memory in work.memories.never_held() if quarantine_reasons(memory)]


def find_quarantined(work: Work, source_id: str | None, source_hash: str) -> MemoryRecord | None:
    """What is in quarantine with this very source and content."""
    versions = [] if source_id is None else work.memories.by_source(source_id)
    return next(
        (version for version in versions if version.source_hash == source_hash and quarantine_reasons(version)), None
    )
