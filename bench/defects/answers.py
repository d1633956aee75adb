"""Answers in the words of the passages that hold the reference answer, or in those of the reference itself.

- Choosing the sentences.
- From sentences to a synthesis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from assay.judging.builtin.support import remove_marks
from assay.records.research import Citation, Passage, Statement, Synthesis
from assay.text.claims import sentences
from assay.text.questions import key_words
from assay.text.terms import stems, words
from assay.text.wording import FUNCTION_WORDS
from bench.defects.question_sets import ResearchedQuestion

# --- Choosing the sentences ---

FEWEST_WORDS, MOST_WORDS = 4, 60
"""Of a sentence that can be quoted."""
MOST_SENTENCES = 3
HELD = 0.6
"""The share of the reference's content words that the quoted sentences must have to count as the answer."""
ADDS = 0.15
"""The share that a further sentence must add."""
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s")
_ENDED = re.compile(r"""[.!]["')\]]*$""")


@dataclass(frozen=True, kw_only=True, slots=True)
class Quoted:
    """One sentence of an answer and the passage it rests on."""

    text: str
    passage: Passage


def list_sentences(passage: Passage) -> list[str]:
    """List the sentences of a passage that can be quoted, and items of lists; no headings, questions or stray lines."""
    return [
        sentence
        for line in passage.text.splitlines()
        for sentence in map(remove_marks, sentences(line))
        if FEWEST_WORDS <= len(words(sentence)) <= MOST_WORDS
        and not sentence.endswith("?")
        and (_ENDED.search(sentence) or _ITEM.match(line))
    ]


@lru_cache(maxsize=4_096)
def quote_answer(asked: ResearchedQuestion) -> tuple[Quoted, ...]:
    """Quote the fewest sentences of the needed passages that hold the reference answer; none where nothing holds it."""
    open_stems = set(content_stems(asked.question.reference))
    if not open_stems:
        return ()
    of_question = set(content_stems(asked.question.text))
    whole = len(open_stems)
    candidates = [
        (Quoted(text=sentence, passage=passage), set(stems(sentence)))
        for passage in asked.needed_passages
        for sentence in list_sentences(passage)
    ]
    chosen: list[Quoted] = []
    while candidates and len(chosen) < MOST_SENTENCES:
        best, found = max(
            candidates, key=lambda pair: (len(pair[1] & open_stems), len(pair[1] & of_question), -len(pair[1]))
        )
        if len(found & open_stems) < max(1.0, ADDS * whole):
            break
        chosen.append(best)
        open_stems -= found
        candidates = [pair for pair in candidates if pair[0] != best]
    return tuple(chosen) if 1 - len(open_stems) / whole >= HELD else ()


@lru_cache(maxsize=4_096)
def write_answer(asked: ResearchedQuestion) -> tuple[Quoted, ...]:
    """Answer in the reference's own sentences, each resting on the passage that holds most of it."""
    held = quote_answer(asked)
    own = [sentence for sentence in sentences(asked.question.reference) if len(words(sentence)) >= FEWEST_WORDS]
    return tuple(
        Quoted(
            text=sentence,
            passage=max(held, key=lambda quoted: len(set(stems(quoted.text)) & set(stems(sentence)))).passage,
        )
        for sentence in own
        if held
    )


def content_stems(text: str) -> list[str]:
    """List the stems that carry content, each once."""
    found = [stem for stem in stems(text) if stem not in FUNCTION_WORDS]
    return list(dict.fromkeys(found or stems(" ".join(key_words(text)))))


def list_runs(passage: Passage, length: int) -> Iterator[tuple[str, ...]]:
    """Yield sentences that stand one after the other in a passage."""
    found = list_sentences(passage)
    yield from (tuple(found[start : start + length]) for start in range(len(found) - length + 1))


# --- From sentences to a synthesis ---


def passage_key(passage: Passage) -> tuple[str, str]:
    """Return what makes it the same passage, whatever its number and scores."""
    return passage.memory_id, passage.text


REFUSAL = "The passages found do not answer the question."


def synthesise(answer: Sequence[Quoted], passages: Sequence[Passage]) -> Synthesis:
    """Make the answer over numbered passages; each sentence cites the passage it rests on."""
    shown = {passage_key(passage): passage for passage in passages}
    cited = [shown[passage_key(quoted.passage)] for quoted in answer]
    statements = tuple(
        Statement(text=quoted.text, citations=(passage.number,)) for quoted, passage in zip(answer, cited, strict=True)
    )
    return Synthesis(
        text=" ".join(f"{statement.text} [{statement.citations[0]}]" for statement in statements),
        statements=statements,
        citations=tuple(
            Citation(number=passage.number, memory_id=passage.memory_id, title=passage.title, rel_path=passage.rel_path)
            for passage in sorted(
                {passage.number: passage for passage in cited}.values(), key=lambda found: found.number
            )
        ),
        synthesiser="planted",
    )


def refuse() -> Synthesis:
    """Decline to answer."""
    return Synthesis(
        text=REFUSAL, abstained=True, reason="the passages do not seem to answer the question", synthesiser="planted"
    )
