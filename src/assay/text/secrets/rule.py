"""What a rule for secrets is, and what it finds.

A rule has a kind (the words that stand in the mask), anchors (a text that holds none of them is not looked at any
further), a pattern, the group of the pattern that is the secret, and optionally a check such as a checksum.

Patterns are bounded everywhere, so that no text costs more than a constant for each of its characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

NAMED_SECRET = "named secret"  # noqa: S105 - the name of a kind
"""The kind of a value that only its name gives away."""
ESCAPES = "nrt"
"""Letters that end a written escape: in `\\nghp_...` the token begins after the `n`."""


class Finding(NamedTuple):
    """A secret in a text: where it begins, where it ends and what it is."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Prefixed:
    """A secret that begins with a fixed text, such as `ghp_`. Case matters."""

    kind: str
    prefix: str
    pattern: str
    """Matched where the prefix stands; its group 1, or all of it, is the secret."""
    check: Callable[[str], bool] | None = None
    inside_words: bool = False
    """Whether a letter or digit may stand before the prefix."""

    def find(self, text: str) -> Iterator[Finding]:
        """Find every secret of this kind."""
        pattern = compiled(self.pattern, 0)
        place = text.find(self.prefix)
        while place >= 0:
            after = place + 1
            match = pattern.match(text, place) if self.inside_words or begins_word(text, place) else None
            if match is not None:
                after = match.end()
                group = match.lastindex or 0
                if self.check is None or self.check(match[group]):
                    yield Finding(match.start(group), match.end(group), self.kind)
            place = text.find(self.prefix, after)


@dataclass(frozen=True, kw_only=True, slots=True)
class Searched:
    """A secret that its surroundings give away."""

    kind: str
    anchors: tuple[str, ...]
    """In small letters; case does not matter. A text that holds none of them is not looked at any further."""
    pattern: str
    """Each of its groups that took part in the match is a secret; without groups, all of it."""
    flags: int = re.IGNORECASE
    check: Callable[[str], bool] | None = None
    begins: bool = False
    """Whether every match begins with an anchor, so that the pattern need not be tried anywhere else."""
    needs: str = ""
    """A pattern without which no text holds the secret: searched once before the anchors are looked at."""
    stride: int = 1
    """Characters after a failed try in which no other is made: a pattern that reads on to the end of a line has it."""

    def find(self, text: str, lower: str) -> Iterator[Finding]:
        """Find every secret of this kind; `lower` is the text in small letters, character by character."""
        held = [anchor for anchor in self.anchors if anchor in lower]
        if not held or (self.needs and compiled(self.needs, 0).search(text) is None):
            return
        pattern = compiled(self.pattern, self.flags)
        matches = self._match_at(pattern, held, text, lower) if self.begins else pattern.finditer(text)
        for match in matches:
            for group in range(1, match.re.groups + 1) or (0,):
                if match[group] and (self.check is None or self.check(match[group])):
                    yield Finding(match.start(group), match.end(group), self.kind)

    def _match_at(self, pattern: re.Pattern[str], anchors: list[str], text: str, lower: str) -> Iterator[re.Match[str]]:
        for anchor in anchors:
            place = lower.find(anchor)
            while place >= 0:
                match = pattern.match(text, place)
                if match is not None:
                    yield match
                place = lower.find(anchor, max(match.end(), place + 1) if match is not None else place + self.stride)


@cache
def compiled(pattern: str, flags: int) -> re.Pattern[str]:
    """Compile a pattern of a rule when a text first needs it: most texts need few of them."""
    return re.compile(pattern, flags)


def begins_word(text: str, place: int) -> bool:
    r"""Whether no letter or digit stands right before a place, or only the letter of a written escape such as `\n`."""
    if place == 0:
        return True
    before = text[place - 1]
    if not (before.isascii() and before.isalnum()):
        return True
    return place > 1 and before in ESCAPES and text[place - 2] == "\\"


def searched(
    kind: str,
    anchors: str,
    pattern: str,
    *,
    flags: int = re.IGNORECASE,
    check: Callable[[str], bool] | None = None,
    begins: bool = False,
    needs: str = "",
    stride: int = 1,
) -> Searched:
    """Make a rule from anchors with a blank between them."""
    return Searched(
        kind=kind,
        anchors=tuple(anchors.split()),
        pattern=pattern,
        flags=flags,
        check=check,
        begins=begins,
        needs=needs,
        stride=stride,
    )


def words(text: str) -> frozenset[str]:
    """Return the words of a list that is written with blanks between them."""
    return frozenset(text.split())


def lower_in_place(text: str) -> str:
    """Return a text in small letters, each character in its place, also where its small form is longer."""
    lower = text.lower()
    if lower.isascii():
        return lower
    if len(lower) != len(text):
        lower = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    return lower.replace("\u017f", "s")
