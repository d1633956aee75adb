"""A passage's sentence as an answer quotes it: the same words without the marks of Markdown.

Code keeps what stands in it (`**kwargs`, `__init__`), a link keeps its text. What is no mark in Markdown is none here:
`2 * 3`, `snake_case`, a lone star. Text that is struck out keeps its marks, since without them it would say what
somebody took back.
"""

from __future__ import annotations

import re

from assay.text.terms import words

_LEADING = re.compile(r"^(?:(?:[-*+>\u2022]|#{1,6})\s+|\[[ xX]\]\s+)+")
_CLOSING_HASHES = re.compile(r"(?<!\s)\s+#{1,6}\s*$")
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+[\"'(][^\"')]*[\"')])?\)")
_REFERENCE = re.compile(r"(?<![\w\]])\[([^\[\]]+)\]\[[^\[\]]*\]")
_ADDRESS = re.compile(r"<((?:https?|mailto):[^<>\s]+)>")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])(.+?)(?<=[^\s*])\1(?![\w*])")
_UNDERLINED = re.compile(r"(?<!\w)(_{1,2})(?=[^\s_])(.+?)(?<=[^\s_])\1(?!\w)")
_OPENED = re.compile(r"^(?:\*\*|`)(?=\S)|(?<=\S)(?:\*\*|`)$")
"""Emphasis over several sentences: its other end stands in another one."""


_MARKS = (_LINK, _REFERENCE, _ADDRESS, _EMPHASIS, _UNDERLINED)
"""Links stand inside emphasis, so they go first."""
_KEPT = "\ue000"
"""Stands for a piece of code while marks are taken from the text around it; of private use, so no text means it."""


def unmarked(sentence: str) -> str:
    """A sentence without marks; as it stands where nothing would be left."""
    plain = _CLOSING_HASHES.sub("", _LEADING.sub("", sentence.replace(_KEPT, "")))
    code = [found[2] for found in _CODE.finditer(plain)]
    plain = _CODE.sub(_KEPT, plain)
    for pattern in _MARKS:
        plain = pattern.sub(lambda found: found[found.re.groups], plain)
    plain = _OPENED.sub("", plain)
    for one in code:
        plain = plain.replace(_KEPT, one, 1)
    return plain.strip() if words(plain) else sentence
