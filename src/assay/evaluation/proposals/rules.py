"""Questions by rule: each rule looks at one sentence and asks what it answers.

A rule returns a question in the words of somebody who asks, or nothing. It never guesses: whatever does not have the
shape it knows is left alone. `checks` then throws away what does not read well.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay.evaluation.proposals import doing, stating
from assay.evaluation.proposals.clauses import RULES, Draft, Sentence
from assay.evaluation.proposals.passages import Passage
from assay.evaluation.proposals.wording import Speech, say_as_asker

FAMILIES = (doing, stating)
"""Modules that register their rules, in the order in which rules are tried."""


def propose(passage: Passage, speech: Speech) -> Iterator[Draft]:
    """Every question that some rule makes of a sentence."""
    sentence = Sentence(passage, passage.text.rstrip(".!:; ").split(" "), speech)
    for name, make in RULES.items():
        for draft in make(sentence):
            yield Draft(say_as_asker(draft.question), name, draft.answer)
