"""Choose which questions are proposed: the best of each sentence, no two alike, spread over documents and rules."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from assay.evaluation.proposals.checks import COMMON, find_fault
from assay.evaluation.proposals.clauses import Draft
from assay.evaluation.proposals.passages import Passage, read_passages
from assay.evaluation.proposals.rules import propose
from assay.evaluation.proposals.wording import Speech
from assay.records.datasets import Document
from assay.text.terms import words

ALIKE = 0.75
"""From this share of common words on, two questions are one."""


MOST_OF_RULE = 0.3
"""The share of all questions that one rule may make: a manual of settings would give one kind of question only."""
FEWEST_OF_RULE = 5


class Proposal(NamedTuple):
    """A question with the sentence that answers it."""

    question: str
    rule: str
    passage: Passage
    answer: str
    worth: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedQuestions:
    """What was proposed, and what was not."""

    proposals: tuple[Proposal, ...]
    """In the order of the documents."""
    sentences: int
    rejected: Mapping[str, int]
    """Questions thrown away, by reason."""


def propose_questions(documents: Sequence[Document], *, per_document: int, most: int) -> ProposedQuestions:
    """Questions about documents, at most so many of one document and in all."""
    asked = [document for document in documents if not is_history(document)]
    passages = [passage for document in asked or documents for passage in read_passages(document)]
    speech = Speech(passages)
    rarity = _rarity(passages)
    rejected: Counter[str] = Counter()
    made = [found for passage in passages if (found := _best(passage, speech, rarity, rejected)) is not None]
    chosen = _choose(made, per_document, most, rejected)
    order = {id(passage): at for at, passage in enumerate(passages)}
    return ProposedQuestions(
        proposals=tuple(sorted(chosen, key=lambda proposal: order[id(proposal.passage)])),
        sentences=len(passages),
        rejected=dict(rejected.most_common()),
    )


_HISTORY = ("change", "history", "release", "news", "whatsnew", "whats-new", "authors", "license", "licence", "copying")


def is_history(document: Document) -> bool:
    """Whether a document lists changes, people or terms of a licence: nobody asks about single lines of those."""
    names = PurePosixPath((document.rel_path or document.id).lower()).with_suffix("").parts
    return any(name.replace("_", "-").startswith(_HISTORY) for name in names[-2:])


def _rarity(passages: Sequence[Passage]) -> dict[str, float]:
    seen = Counter(word for passage in passages for word in set(words(passage.text)))
    return {word: math.log((1 + len(passages)) / (1 + count)) for word, count in seen.items()}


def _best(passage: Passage, speech: Speech, rarity: Mapping[str, float], rejected: Counter[str]) -> Proposal | None:
    """The first question of a sentence that passes every check."""
    for draft in propose(passage, speech):
        fault = find_fault(draft, passage)
        if not fault:
            answer = draft.answer or passage.answer
            return Proposal(draft.question, draft.rule, passage, answer, _worth(draft, passage, rarity))
        rejected[fault] += 1
    return None


def _worth(draft: Draft, passage: Passage, rarity: Mapping[str, float]) -> float:
    """How much a question is worth.

    It asks something particular, the answer says more than the question, and it has words other than its headings':
    those every search finds.
    """
    asked = {word for word in words(draft.question) if word not in COMMON}
    fresh = {word for word in words(passage.answer) if word not in COMMON} - asked
    particular = sum(rarity.get(word, 0.0) for word in asked) / math.sqrt(len(asked) + 1)
    titled = len(asked & set(words(passage.heading_path))) / max(1, len(asked))
    worth = min(particular, ENOUGH) + 0.3 * min(len(fresh), 8) - 3.0 * titled
    return WEIGHTS.get(draft.rule, 1.0) * worth


ENOUGH = 6.0
"""How particular a question has to be: beyond it, rare words only make it easier to find."""
WEIGHTS = {
    "purpose": 1.3, "means": 1.2, "choice": 1.3, "order": 1.2, "condition": 1.1, "late condition": 0.7, "way": 0.8,
    "duration": 1.3, "amount": 1.3, "clock": 1.3, "opening": 1.3, "count": 1.3, "reason": 1.1, "described": 1.1,
    "definition": 0.9, "whether": 0.8, "does": 0.4,
}  # fmt: skip
"""How well questions of a rule read, where it is not 1 (`bench/README.md`, blind ratings)."""


def _choose(made: list[Proposal], per_document: int, most: int, rejected: Counter[str]) -> list[Proposal]:
    taken: list[Proposal] = []
    of_document: Counter[str] = Counter()
    of_rule: Counter[str] = Counter()
    seen: list[set[str]] = []
    answers: set[str] = set()
    most_of_rule = max(FEWEST_OF_RULE, int(most * MOST_OF_RULE))
    for proposal in sorted(made, key=lambda item: (-item.worth, item.question)):
        if len(taken) >= most:
            break
        asked = set(words(proposal.question)) - COMMON
        if proposal.answer in answers or any(_alike(asked, other) for other in seen):
            rejected["a duplicate"] += 1
        elif of_document[proposal.passage.document.id] < per_document and of_rule[proposal.rule] < most_of_rule:
            of_document[proposal.passage.document.id] += 1
            of_rule[proposal.rule] += 1
            seen.append(asked)
            answers.add(proposal.answer)
            taken.append(proposal)
    return taken


def _alike(one: set[str], other: set[str]) -> bool:
    return len(one & other) >= ALIKE * len(one | other)
