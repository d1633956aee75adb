"""How a question is worded: who speaks, small letters, names, and plainer words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from assay.evaluation.proposals.passages import GLUE, Passage
from assay.evaluation.proposals.verbs import PLAINER, PLAINER_WORDS, base_of_gerund, base_of_participle, word_set

_LOWERED = word_set("the a an each every all any some no our your its their")


def is_name(word: str) -> bool:
    """Whether a word is written like an identifier, an option or a proper name."""
    bare = word.strip(".,:;'\"()")
    if not bare:
        return False
    marked = any(mark in bare for mark in ("_", "--", ".", "/", GLUE, "(")) or bare.startswith("-")
    return (marked and any(letter.isalpha() for letter in bare)) or any(letter.isupper() for letter in bare)


def is_identifier(word: str) -> bool:
    """Whether a word is the name of an option, a setting, a function or a class."""
    bare = word.strip(".,:;'\"()")
    capitals = sum(letter.isupper() for letter in bare)
    marked = any(mark in bare for mark in ("_", "--", ".")) or bare.startswith("-") or GLUE in bare
    return len(bare) > 2 and is_name(bare) and (marked or (capitals > 1 and bare.isalnum() and not bare.isdigit()))


def is_plural(subject: str) -> bool:
    """Whether a subject is many things, by its last word."""
    last = subject.rsplit(maxsplit=1)[-1].lower()
    return (
        last.endswith("s")
        and not last.endswith(("ss", "us", "is", "os"))
        and not is_name(subject.rsplit(maxsplit=1)[-1])
    )


class Speech:
    """How the words of a collection are written: which begin with a capital wherever they stand."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._small: Counter[str] = Counter()
        self._large: Counter[str] = Counter()
        known = [passage for passage in passages if passage.text]
        for passage in known:
            for word in passage.text.split()[1:]:
                bare = word.strip(".,:;'\"()")
                if bare[:1].isalpha():
                    (self._large if bare[0].isupper() else self._small)[bare.lower()] += 1

        subjects = Counter(passage.text.split()[0] for passage in known)
        self.main_name = next((word for word, _ in subjects.most_common() if self.is_proper(word)), "")
        """The name that most sentences begin with: what the documents are about."""

    def lower_first(self, text: str) -> str:
        """The text as it stands in the middle of a sentence."""
        first, _, rest = text.partition(" ")
        known = self._small[first.lower()] or self._large[first.lower()]
        if rest[:1].islower() and first[1:].islower() and not known:
            # A name would be written with a capital elsewhere, too: this is an adjective at the beginning.
            return f"{first.lower()} {rest}"
        return f"{self._lower(first)} {rest}".strip()

    def is_proper(self, word: str) -> bool:
        """Whether a word is a name: written with a capital also inside of sentences, and mostly."""
        low = word.lower()
        return self._large[low] > max(1, self._small[low])

    def lower_heading(self, words: list[str]) -> list[str]:
        """Words of a heading as they stand in a sentence."""
        return [self._lower(word) for word in words]

    def _lower(self, word: str) -> str:
        low = word.lower()
        if low in _LOWERED:
            return low
        if not word[1:].islower() or GLUE in word:
            return low if len(word) == 1 else word
        small, large = self._small[low], self._large[low]
        if not small and not large:
            head = low.partition("-")[0]
            known = base_of_gerund(low) or base_of_participle(low) or low.endswith("s")
            return low if head != low or known else word
        return low if small > large else word


_SPOKEN = {
    "your": "my", "yours": "mine", "yourself": "myself", "you're": "I am", "you've": "I have", "you'll": "I will",
    "you'd": "I would", "our": "your",
}  # fmt: skip
_BEFORE_OBJECT = word_set(
    "for to with lets let allows allow help helps gives give tells tell of from by on enables enable remind reminds "
    "warn warns ask asks require requires show shows want"
)
_AFTER_I = {"are": "am", "were": "was", "aren't": "am not"}


def say_as_asker(question: str) -> str:
    """The same with "I" for "you" and with plainer words, as somebody asks who has not read the text."""
    made: list[str] = []
    for word in question.rstrip("?").split(" "):
        low = word.lower()
        if low == "you":
            made.append("me" if made and made[-1].lower() in _BEFORE_OBJECT else "I")
        elif made and made[-1] == "I" and low in _AFTER_I:
            made.append(_AFTER_I[low])
        else:
            made.append(_SPOKEN.get(low) or (word if GLUE in word else PLAINER_WORDS.get(word, word)))
    text = " ".join(made).replace(GLUE, " ").strip(" ,;:")
    return f"{text[:1].upper()}{text[1:]}?"


def swap_verb(task: list[str]) -> list[str]:
    """A task with a plainer verb, where there is one that takes the same objects."""
    first, *rest = task
    low = first.lower()
    plainer = PLAINER.get(low)
    if plainer is None or (rest and rest[0] in {"that", "whether", "if", "how", "when"}):
        return [low, *rest]
    return [*plainer.split(), *rest]
