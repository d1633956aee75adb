"""Orders to a reading program: what a note has no reason to say, and what it rarely says.

One plain order is enough to doubt a note. The doubtful kinds happen in honest notes too (a preference, an install line,
a chat log), so it takes two of them, close to each other. What no phrase here knows may still read like an order:
`order_cues`. No list of orders is complete: results are framed as data all the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from assay.memory.saving.order_cues import cues

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


def orders(text: str) -> tuple[str, ...]:
    """What a text orders its reader's machine to do; nothing when it is to be taken for a note."""
    seen = _fold(text)
    plain = [said for said, pattern in _PLAIN.items() if pattern.search(seen)]
    places = sorted((match.start(), said) for said, pattern in _DOUBTFUL.items() for match in pattern.finditer(seen))
    if plain or _stand_close(places):
        return (*plain, *dict.fromkeys(said for _, said in places))
    found = cues(seen)
    return (f"reads like an order ({', '.join(found)})",) if found else ()


def _stand_close(places: Sequence[tuple[int, str]]) -> bool:
    """Whether two kinds of doubtful orders stand close to each other; `places` are in the order of the text."""
    return any(kind != other and later - earlier <= CLOSE for (earlier, kind), (later, other) in pairwise(places))


def _fold(text: str) -> str:
    """As a reader takes it: one width, one case, one space, Latin letters for those that look so."""
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_LOOKALIKES).replace("\u2019", "'")
    return _SPACES.sub(" ", plain)
