"""Questions without a model: a telling sentence and its heading, put into the form that fits them.

They are plain, and often close to the words of the document, which makes them easy to answer. That is why a person
looks at each of them.
"""

from __future__ import annotations

import re

from assay.evaluation.generating.sections import Telling, plain

_DEFINES = re.compile(
    r"^(?P<subject>(?:(?:The|A|An|Our|Each|Every)\s)?[\w'/-]+(?:\s[\w'/-]+){0,5}?)\s(?P<verb>is|are)\s\w"
)
_NO_SUBJECT = frozenset(
    {"it", "this", "that", "these", "those", "there", "he", "she", "they", "we", "what", "which", "if"}
)
_ARTICLES = frozenset({"the", "a", "an", "our", "each", "every"})
_REASON = re.compile(r"\b(?:because|so that|since|therefore|in order to)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d")
SHORT_QUESTION = 4
"""Words up to which a heading that is a question ("How good is it?") does not say what it is about."""


def question(one: Telling) -> str:
    """What could be asked so that this part is the answer."""
    if "?" in one.heading:
        return _asked_by_heading(one)
    sentence, about = plain(one.sentence), _about(one)
    defined = _DEFINES.match(sentence)
    if defined and _names_something(defined["subject"]):
        return f"What {defined['verb']} {_in_the_middle(defined['subject'])}?"
    if one.steps:
        return f"What are the steps for {about}?"
    if _REASON.search(sentence):
        return f"What is the reason for what is said about {about}?"
    if _NUMBER.search(sentence):
        return f"Which numbers or times apply to {about}?"
    return f"What should I know about {about}?"


def _asked_by_heading(one: Telling) -> str:
    """A heading that is a question, as its author wrote it; a short one needs the title to be understood alone."""
    asked = one.heading[: one.heading.rindex("?") + 1].strip()
    return asked if len(asked.split()) > SHORT_QUESTION else f"{asked} ({one.document.title})"


def _names_something(subject: str) -> bool:
    """Two words or more beside an article, and no word that points elsewhere: "a line" could be any."""
    words = [one for one in subject.lower().split() if one not in _ARTICLES]
    return len(words) > 1 and words[0] not in _NO_SUBJECT


def _about(one: Telling) -> str:
    heading, title = _in_the_middle(one.heading), one.document.title
    return heading if not title or heading.lower() == title.lower() else f"{heading} ({title})"


def _in_the_middle(words: str) -> str:
    """A first word loses its capital, unless it is a name or a short form."""
    first, _, rest = words.strip().rstrip(".:").partition(" ")
    return f"{first.lower() if first.lower() in _ARTICLES else first} {rest}".strip()
