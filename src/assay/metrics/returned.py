"""What was returned as a whole: how much of it is relevant, and how much there is to read.

Rankings are measured by their first k places. A memory that leaves out what is hardly relevant returns shorter lists,
and these two metrics look at the list as the caller gets it. Memories that a system returns beside the list, such as
Assay's constitutional ones, do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from assay.metrics import outcomes
from assay.metrics.catalog import Better, FromCase, MetricEntry, register
from assay.metrics.inputs import CaseView
from assay.records.answers import NO_CLASSES, EquivalenceClasses
from assay.records.evaluations import Cause, Outcome

CHARACTERS_PER_TOKEN = 4
"""The usual estimate for English text, the same for every system: tokenizers of two systems count differently."""
NOTHING = "nothing is relevant and nothing was returned"
NO_TEXTS = "the system returns documents without their texts"


def precision_returned(
    ranking: Sequence[str], relevant: Collection[str], *, classes: EquivalenceClasses = NO_CLASSES
) -> Outcome:
    """The share of relevant documents among all that were returned; of an equivalence class one member counts.

    Returning nothing is right where nothing is relevant, and then there is no share; elsewhere it is 0.
    """
    returned = list(dict.fromkeys(ranking))
    if not returned:
        return Outcome.scored(0.0) if relevant else outcomes.not_applicable(NOTHING)
    wanted = classes.names(relevant)
    return Outcome.scored(len({classes.name(document) for document in returned} & wanted) / len(returned))


def tokens_returned(texts: Sequence[str]) -> float:
    """How many tokens the texts have, estimated from their characters; each text is rounded up."""
    return float(sum(-(-len(text) // CHARACTERS_PER_TOKEN) for text in texts))


def _precision(view: CaseView) -> Outcome:
    return precision_returned(view.ids, view.relevant, classes=view.classes)


def _tokens(view: CaseView) -> Outcome:
    if view.ids and not view.given.passages:
        return outcomes.not_applicable(NO_TEXTS, Cause.UNTOLD)
    return Outcome.scored(tokens_returned([passage.text for passage in view.given.passages]))


ENTRIES = (
    MetricEntry(
        name="precision_returned",
        compute=FromCase(_precision),
        family="agent memory",
        summary="Of everything that was returned, how much is relevant?",
        formula="relevant documents returned / documents returned; 0 if something is relevant and nothing was returned",
        citation="PrecisionMemBench (retrieval precision), arXiv:2605.11325.",
        disagreement="precision@k divides by k and so cannot reward a shorter list. Where nothing is relevant, a list"
        " with anything in it scores 0, and an empty list has no value.",
        example="Three documents returned, two of them relevant, with precision@5 of 2/5: 2/3 = 0.667",
    ),
    MetricEntry(
        name="tokens_returned",
        compute=FromCase(_tokens),
        family="agent memory",
        summary="How many tokens of text does the caller have to read?",
        formula="sum over returned passages of their characters / 4, each rounded up",
        highest=None,
        better=Better.NEITHER,
        citation="Assay.",
        disagreement="An estimate that is the same for every system; a model's own tokenizer counts otherwise. Fewer"
        " tokens are better only where as much of what is relevant was returned.",
        example="Two passages of 10 and 8 characters: 3 + 2 = 5",
    ),
)
register(__name__, ENTRIES)
