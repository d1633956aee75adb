"""The kind of value that answers a question: a price, a time of day, a length, a name.

`expected_kind` reads a question, `has_value` looks for a value of that kind in a sentence. English, like the
vocabulary. A question that any sentence may answer has no expected kind.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import StrEnum

from assay.text.terms import stems_of
from assay.text.wording import Fact, words_of

READ = 400
"""Characters of a question that are looked at: what is asked for stands in its first words or its last."""


class AnswerKind(StrEnum):
    """What a question asks for."""

    MONEY = "money"
    DATE = "date"
    """A day, a month, a year or a weekday."""
    TIME_OF_DAY = "time of day"
    DURATION = "duration"
    LENGTH = "length"
    MASS = "mass"
    SHARE = "share"
    """A percentage."""
    NUMBER = "number"
    """A count of anything."""
    NAME = "name"
    """A person or an organisation."""
    CODE = "code"
    """A telephone number, a code, an address on a network."""


_EXPECTED: tuple[tuple[AnswerKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile("|".join(patterns), re.IGNORECASE))
    for kind, *patterns in (
        (AnswerKind.DURATION, r"\bhow (?:long|many (?:minutes|hours|days|weeks|months|years|nights))\b"),
        (AnswerKind.MASS, r"\bhow heavy\b", r"\bwhat weight\b", r"\bhow many (?:kilos|kilograms|grams)\b"),
        (
            AnswerKind.MONEY,
            r"\b(?:price|costs?|fee|fare|charges?|rent|fine|deposit|salary|postage|expensive|cheaper)\b",
            r"\bhow much (?:money|rent|damage|extra|more|does|do|did|is|are|was|were|will|would)\b",
            r"\b(?:pay|paid|paying|spend|spent) (?:for|on|back)\b",
        ),
        (AnswerKind.SHARE, r"\b(?:what|which|how many) (?:percent|per cent|percentage)\b", r"\bwhat share\b"),
        (
            AnswerKind.TIME_OF_DAY,
            r"\b(?:what|which) (?:time|hours?)\b",
            r"\bopening hours\b",
            r"\buntil (?:what|when)\b",
        ),
        (AnswerKind.LENGTH, r"\bhow (?:far|tall|high|deep|wide|big|large)\b"),
        (
            AnswerKind.DATE,
            r"^\W*(?:and |since |by |until )?when\b",
            r"\b(?:what|which) (?:day|date|year|month|weekday)\b",
            r"\bsince when\b",
        ),
        (
            AnswerKind.CODE,
            r"\b(?:what|which) (?:is|was|are) the (?:\w+ ){0,3}?(?:code|number|password|phone|address|extension)\b",
            r"\bon what number\b",
        ),
        (AnswerKind.NUMBER, r"\bhow (?:many|often|old|much)\b"),
        (
            AnswerKind.NAME,
            r"^\W*(?:and )?(?:who|whom|whose|with whom|by whom)\b",
            r"\b(?:what|which) (?:company|person|firm|bank|make)\b",
        ),
    )
)
_MONEY_NOUNS = frozenset(
    stems_of(words_of("cent cents penny pence euro euros eur dollar dollars franc francs price_eur"))
)
_SIGNED = re.compile(r"[$\u00a3\u00a5\u20ac] ?\d|\d ?[\u00a3\u00a5\u20ac]")
"""An amount with the sign of a currency, which is no token of its own."""
_DATES = frozenset({"date", "weekday", "month", "quarter"})
_MEASURES = {
    kind: (dimension, frozenset(stems_of(words_of(nouns))))
    for kind, dimension, nouns in (
        (AnswerKind.DURATION, "time", "night nights evening evenings season seasons"),
        (AnswerKind.LENGTH, "length", "mile miles foot feet inch inches kilometre kilometres"),
        (AnswerKind.MASS, "mass", "kilo kilos kilogram kilograms pound pounds tonne tonnes"),
        (AnswerKind.SHARE, "share", "percent"),
    )
}
_KINDS_OF_FACT = {
    AnswerKind.DATE: _DATES,
    AnswerKind.TIME_OF_DAY: frozenset({"time"}),
    AnswerKind.NAME: frozenset({"name"}),
    AnswerKind.CODE: frozenset({"name", "number", "version"}),
    AnswerKind.NUMBER: frozenset({"number"}),
}


def expected_kind(question: str) -> AnswerKind | None:
    """Return the kind of value that a question asks for; None when any statement may answer it."""
    text = " ".join(question[:READ].split())
    return next((kind for kind, pattern in _EXPECTED if pattern.search(text)), None)


def has_value(kind: AnswerKind, text: str, facts: Iterable[Fact], known: Collection[str] = ()) -> bool:
    """Return whether a text with these facts has a value of a kind, other than the values the question has."""
    if any(fact.value not in known and _is_of(kind, fact) for fact in facts):
        return True
    return kind is AnswerKind.MONEY and bool(_SIGNED.search(text))


def _is_of(kind: AnswerKind, fact: Fact) -> bool:
    if kind in _MEASURES:
        dimension, nouns = _MEASURES[kind]
        return fact.of == dimension or fact.of in nouns
    if kind is AnswerKind.MONEY:
        return fact.of == "money" or fact.of in _MONEY_NOUNS or fact.of.endswith("_eur")
    if kind is AnswerKind.DATE and fact.kind == "number":
        return _is_year(fact.value)
    return fact.kind in _KINDS_OF_FACT[kind]


def _is_year(value: str) -> bool:
    return len(value) == 4 and value.isdigit() and value[:2] in {"15", "16", "17", "18", "19", "20"}
