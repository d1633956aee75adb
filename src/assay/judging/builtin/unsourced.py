"""An answer with no passage beside it: how likely it invents nothing, from the question and the answer alone.

Nothing here can tell whether a statement is true. It knows where inventions are found more often: in answers full of
names and numbers nobody asked for, in answers that were cut off, in replies that claim to be or do what no text can.
"""

from __future__ import annotations

import math
import re

from assay.judging.builtin.weighing import Profile, weights_of
from assay.text.claims import claims
from assay.text.terms import words
from assay.text.wording import wording

READ = 5_000
"""Characters of question and answer that are looked at."""

_ITEM = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[-*\u2022])\s", re.MULTILINE)
_CAPABILITY = re.compile(
    r"\b(?:sorry|apologi[sz]e|as an ai|as a language model|cannot|can't|unable|do not have|don't have|i'm not|"
    r"i am not)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


def unsourced_features(question: str, answer: str) -> dict[str, float]:
    """What is weighed."""
    question, answer = question[:READ], answer[:READ]
    asked, said = wording(question), wording(answer)
    found, statements = words(answer), claims(answer)
    length = max(1, len(found))
    known = {fact.value for fact in asked.facts} | asked.stems
    fresh = {fact for fact in said.facts if fact.value not in known}
    names = sum(fact.kind == "name" for fact in fresh)
    return {
        "length": math.log1p(len(found)),
        "statements": math.log1p(len(statements)),
        "fresh_names": math.log1p(names),
        "fresh_numbers": math.log1p(len(fresh) - names),
        "name_rate": names / length,
        "years": math.log1p(len(_YEAR.findall(answer))),
        "variety": len(set(found)) / length,
        "asked_length": math.log1p(len(words(question))),
        "asked_names": math.log1p(sum(fact.kind == "name" for fact in asked.facts)),
        "asked_numbers": math.log1p(sum(fact.kind != "name" for fact in asked.facts)),
        "on_topic": len(asked.content & said.content) / max(1, len(asked.content)),
        "capability": float(bool(_CAPABILITY.search(answer))),
        "listed": float(bool(_ITEM.search(answer))),
        "cut_off": float(not answer.rstrip().endswith((".", "!", "?", '"', ")", "'", "`"))),
    }


def unsourced_probability(question: str, answer: str) -> float:
    """That an answer nobody gave a source for invents nothing."""
    return weights_of(Profile.UNSOURCED).probability(unsourced_features(question, answer))
