"""Read a question by rules: its kind, its parts, the sides it compares, its time, what it excludes.

English, like the vocabulary. A question in another language still has its words, names and numbers; it has no parts,
and its kind is open. Nothing here raises, and a question of any length is read in its first `LONGEST` characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assay.records.research import QuestionKind
from assay.text.terms import stems_of, words
from assay.text.wording import FUNCTION_WORDS, NEGATORS, words_of

LONGEST = 4_000
"""Characters of a question that are read; a longer one is mostly material, not question."""
MOST_PARTS = 8
FORM = 400
"""Characters in which kind and comparison are looked for: a form is at the beginning, and looking for one takes
time that grows with the square of the text."""
LONGEST_SIDE = 8
"""Words of one side of a comparison."""

FURNITURE = frozenset(
    stems_of(
        words_of(
            "what which who whom whose when where why how tell explain describe show list give name find know want "
            "like please can could would should do does did there any me us about between difference differences "
            "differ compare compared comparison versus vs better best worse way ways work works happen happens mean "
            "means i we my our you your help need looking look question answer information info detail details "
            "overview summary summarise summarize exactly actually except excluding without besides instead rather "
            "than other many much basically really main different kind type sort "
            "good well more most all every people thing things someone somebody something possible right"
        )
    )
)
"""Words that frame a question and say nothing of its subject."""

CUES: dict[str, frozenset[str]] = {
    word: frozenset(stems_of(words_of(cues)))
    for word, cues in {
        "why": "why reason reasons cause causes caused because purpose motive led explanation",
        "when": "when date year time century month day opened founded",
        "where": "where place location country city region",
        "who": "who whom person founder founded author inventor owner responsible by name",
        "how much": "much price cost amount value fee sum paid deal",
        "how many": "many number count total population",
        "how long": "long duration length time years",
        "how tall": "tall height high metres",
        "how high": "high height altitude metres",
        "how old": "old age born founded years",
        "how far": "far distance",
        "how often": "often frequency times rate",
        "how": "how way steps method process mechanism",
    }.items()
}
"""Search terms for each kind of answer, by the phrases that call for it; longer phrases first."""

ALIKE = tuple(
    frozenset(stems_of(words_of(group)))
    for group in (
        "pros advantages benefits strengths",
        "cons disadvantages drawbacks downsides weaknesses risks",
        "causes reasons why",
        "treatments therapy cure medication",
        "symptoms signs",
        "price cost fee",
        "wrote author writer written",
        "founder founded established creator",
        "rules regulation law requirements policy",
        "kids children paediatric",
        "effects consequences impact results",
        "restore restoration recovery",
    )
)
"""Words that ask for the same."""

NEW_WORDS = frozenset(words_of("latest recent recently newest current currently now today nowadays upcoming modern"))
OLD_WORDS = frozenset(
    words_of("history historical historically origin origins originally past early formerly ancient founding")
)
_YEARS = r"(?:1[5-9]|20)\d\d"
_TIME = re.compile(
    rf"\b(?:(?:since|before|after|until|by|in|during|from)\s+)?{_YEARS}(?:s|\b)(?:\s?(?:-|to|and)\s?{_YEARS})?"
    r"|\b(?:last|past|next|this|previous|coming)\s+(?:\w+\s+)?(?:year|month|week|quarter|decade|century|summer|winter|"
    r"spring|autumn|fall|season|days?|years|months|weeks|decades)\b"
    rf"|\b(?:{'|'.join(sorted(NEW_WORDS | OLD_WORDS, key=len, reverse=True))}|yesterday|tomorrow|so far|to date)\b"
    r"|\b(?:since|before|after|until)\s+(?:the\s+)?(?:\w+\s+)?(?:release|version|war|update|upgrade|migration|pandemic)\b"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_EXCLUDED = re.compile(
    r"\b(?:without|except(?:\s+for)?|excluding|other\s+than|apart\s+from|besides|aside\s+from|not\s+(?:including|using|"
    r"counting|involving|about|in|on|for|by|from)|instead\s+of|rather\s+than|no\s+need\s+for|but\s+not)\s+"
    r"((?:(?:a|an|the|any|using|having|in|on|for)\s+)*[\w.+#'-]+(?:\s+(?!(?:and|or|in|on|for|when|with|to|at|is|are|"
    r"does|do|can|from|of|use|uses|used|have|has|were|was|that|which)\b)[\w.+#'-]+){0,3})",
    re.IGNORECASE,
)
_LAST_SIDE = r"(.+?)(?=[?.,;:]|\s+(?:in|on|for|when|with|regarding)\b|$)"
_BETWEEN = re.compile(rf"\b(?:between|among)\s+(.+?)\s+and\s+{_LAST_SIDE}", re.IGNORECASE)
_SIDES = (
    _BETWEEN,
    *(
        re.compile(pattern + _LAST_SIDE, re.IGNORECASE)
        for pattern in (
            r"\b(?:compare|contrast)\s+(.+?)\s+(?:and|with|to|against)\s+",
            (
                r"^(?:.*?\b(?:is|are|of|compare|choose|use|does|do)\s+)?(.+?)\s+(?:vs\.?|versus|compared\s+(?:to|with)|"
                r"as\s+opposed\s+to)\s+"
            ),
            r"\bhow\s+(?:does|do|did|is|are)\s+(.+?)\s+(?:differ|different)\s+from\s+",
            (
                r"\b(?:is|are|was|were|does|do|did|has|have|can)\s+(.+?)\s+(?:\w+\s+){0,3}?(?:more\s+\w+|less\s+\w+|\w+er|"
                r"better|worse|more|less|fewer)\s+(?:\w+\s+){0,3}?(?<!other\s)(?<!rather\s)than\s+"
            ),
            r"\b(?:should\s+(?:i|we|one)\s+(?:use|choose|pick|prefer|take)|which\s+is\s+\w+[,:]?)\s+(.+?)\s+or\s+",
        )
    ),
)
_KINDS: tuple[tuple[QuestionKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (
            QuestionKind.QUANTITY,
            (
                r"\bhow\s+(?:many|much|long|far|often|old|big|large|tall|fast|high|deep|heavy)\b"
                r"|\b(?:number|amount|percentage|share|size|cost|price|limit)\s+of\b"
            ),
        ),
        (
            QuestionKind.TIME,
            r"^\W*(?:when|what\s+(?:year|date|day|time|month)|in\s+(?:what|which)\s+(?:year|month))\b|\bsince\s+when\b",
        ),
        (
            QuestionKind.REASON,
            (
                r"\bwhy\b|\bwhat\s+(?:causes?|caused|made|explains?|led)\b|\breasons?\s+(?:for|why|behind|that)\b"
                r"|\bcauses?\s+of\b|\bhow\s+come\b"
            ),
        ),
        (
            QuestionKind.PROCEDURE,
            (
                r"\bhow\s+(?:do|can|should|could|would|to|must)\b|\bsteps?\s+(?:to|for)\b|\bway\s+to\b|\binstructions?\b"
                r"|\bguide\s+to\b|\bset\s+up\b"
            ),
        ),
        (
            QuestionKind.DEFINITION,
            (
                r"^\W*what(?:\s+(?:is|are|was|were)|'s)\s+(?:an?\s+|the\s+)?\w[\w.+#-]*(?:\s+\w[\w.+#-]*){0,2}\W*$"
                r"|\bwhat\s+does\s+.+\s+mean\b|\bdefin(?:e|ition)\b|\bmeaning\s+of\b"
            ),
        ),
        (
            QuestionKind.LIST,
            (
                r"\b(?:list|which|what)\s+(?:are\s+)?(?:(?:all|the|some)\s+)?(?:\w+\s+)?(?:options|ways|types|kinds|examples|"
                r"features|steps|benefits|advantages|disadvantages|drawbacks|tools|members|reasons)\b"
                r"|^\W*(?:list|name|enumerate)\b|\bexamples\s+of\b"
            ),
        ),
        (QuestionKind.FACT, r"^\W*(?:who|whom|whose|where|which)\b"),
        (
            QuestionKind.YES_NO,
            r"^\W*(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|must)\b",
        ),
    )
)
_AND = re.compile(
    r"(?:,\s*(?:and\s+(?:also\s+)?)?|;\s*|\s+and\s+(?:also\s+)?|\s+as\s+well\s+as\s+|\s+plus\s+)"
    r"(?=(?:what|which|who|when|where|why|how|is|are|does|do|can|should|did|was|were|list|explain|describe|compare|"
    r"(?:then\s+)?\w+\s+(?:them|it|those|these))\b)",
    re.IGNORECASE,
)
_OF = re.compile(
    r"(?:^|\b(?:are|is|were|the|about|describe|explain|list)\s+)(?:the\s+)?([\w-]+(?:\s*,\s*[\w-]+)*)\s*,?"
    r"\s+and\s+(?:the\s+)?([\w-]+)\s+(?:of|in|for|behind)\s+(.+?)\W*$",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"\b(?:how\s+(?:long|far|often|old|big|large|tall|fast|high|deep|heavy)|maximum|minimum|size)\b", re.IGNORECASE
)
_OPENING = re.compile(
    r"^(?:(?:please|hi|hello|hey|ok|so|well)\b[\s,!.]*)*(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?(?:tell|explain|"
    r"show|give|describe|list|help)(?:\s+(?:me|us))?\s*(?:about|to|with)?|(?:tell|show|give)\s+(?:me|us)\s*(?:about|a|an)?|"
    r"i\s+(?:want|need|would\s+like|'d\s+like|am\s+trying)\s+to\s+(?:know|understand|learn|find\s+out)?(?:\s+about)?|"
    r"explain|describe)?\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedQuestion:
    """A question taken apart."""

    text: str
    """As it was read: one line, at most `LONGEST` characters."""
    kind: QuestionKind
    parts: tuple[str, ...]
    """Return the parts of a question in order; one part for a simple question."""
    sides: tuple[str, ...]
    """What is compared; empty when nothing is."""
    time: tuple[str, ...]
    excluded: tuple[str, ...]
    keys: tuple[str, ...]
    """The words of its subject, as they are written, each stem once, without what it rules out."""

    @property
    def key_stems(self) -> tuple[str, ...]:
        """The same as stems."""
        return tuple(stems_of(list(self.keys)))


def read_question(question: str) -> AskedQuestion:
    """Take a question apart."""
    text = " ".join(question[:LONGEST].split())
    sides = tuple(dict.fromkeys(_sides(text[:FORM])))
    excluded = tuple(dict.fromkeys(_trim(found[1]) for found in _EXCLUDED.finditer(text) if _trim(found[1])))
    return AskedQuestion(
        text=text,
        kind=QuestionKind.COMPARISON if sides else kind_of(text),
        parts=tuple(dict.fromkeys(_parts(text)))[:MOST_PARTS],
        sides=sides,
        time=time_words(text),
        excluded=excluded,
        keys=tuple(_keys(text, excluded)),
    )


def kind_of(text: str) -> QuestionKind:
    """Return the shape of answer that a question needs."""
    short = " ".join(text[:LONGEST].split())
    plain = (_OPENING.sub("", short, count=1) or short)[:FORM]
    return next((kind for kind, pattern in _KINDS if pattern.search(plain)), QuestionKind.OPEN)


def time_words(text: str) -> tuple[str, ...]:
    """The words about time in a text, each once."""
    found = (match[0].lower() for match in _TIME.finditer(text) if match[0].lower() not in {"may", "march"})
    return tuple(dict.fromkeys(found))


def cues_of(part: str) -> frozenset[str]:
    """Return stems of which a search for this part should have one, when it has an interrogative; else none."""
    plain = part.lower()
    return next((cues for word, cues in CUES.items() if re.search(rf"\b{word}\b", plain)), frozenset())


def key_words(text: str) -> list[str]:
    """The words of a text that say what it is about, each stem once, in order."""
    found = words(text)
    kept: dict[str, str] = {}
    for word, stem in zip(found, stems_of(found), strict=True):
        if stem not in FURNITURE and stem not in FUNCTION_WORDS and stem not in NEGATORS and len(word) > 1:
            kept.setdefault(stem, word)
    return list(kept.values())


def part_stems(part: str) -> list[str]:
    """The stems an answer to a part has: its key words without `how long` and the like, which an answer replaces."""
    plain = _MEASURE.sub("", part)
    return stems_of(key_words(plain)) or stems_of(key_words(part)) or stems_of(words(part))


def without_opening(text: str) -> str:
    """A question without the politeness it begins with."""
    return _OPENING.sub("", text, count=1).strip() or text


def _keys(text: str, excluded: Iterable[str]) -> Iterator[str]:
    ruled_out = {stem for phrase in excluded for stem in stems_of(words(phrase))}
    found = key_words(text)
    yield from (word for word, stem in zip(found, stems_of(found), strict=True) if stem not in ruled_out)


def _sides(text: str) -> Iterator[str]:
    for pattern in _SIDES:
        if found := pattern.search(text):
            sides = [side for group in found.groups() for part in _split_list(group) if (side := _trim(part))]
            if len(sides) > 1 and all(len(side.split()) <= LONGEST_SIDE for side in sides):
                yield from sides
                return


def _split_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _parts(text: str) -> Iterator[str]:
    """Every question of a text, and each question in a row of them: how is it built and who pays for it."""
    for sentence in re.split(r"(?<=[?!.])\s+", without_opening(text)):
        for part in filter(None, map(_trim, _AND.split(sentence))):
            yield from (noun for noun in _split_joined_nouns(part) if key_words(noun) or cues_of(noun))


def _split_joined_nouns(part: str) -> list[str]:
    """A question for the causes and the consequences of something has two parts."""
    found = _OF.search(part[:FORM])
    if found is None or _BETWEEN.search(part[:FORM]):
        return [part]
    return [f"{noun} of {found[3]}" for noun in (*_split_list(found[1]), found[2])]


def _trim(text: str) -> str:
    plain = text.strip(" ?!.,;:\"'()")
    return re.sub(r"^(?:(?:a|an|the|any|and|or|using|having|both|either)\s+)+", "", plain, flags=re.IGNORECASE)
