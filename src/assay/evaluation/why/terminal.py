"""Explanations as text for a terminal: one query with its gold items, and a table of all lost queries."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from assay.evaluation.waterfall import EvidenceStep
from assay.evaluation.why.words import mark_words
from assay.presentation.wording import count_of
from assay.records.explanations import (
    GoldExplanation,
    LostQueries,
    LostQuery,
    ProbeKind,
    Probing,
    QueryChange,
    QueryExplanation,
    ShownDocument,
)

WIDE = 100
"""Columns from which texts stand side by side."""
NARROW = 80
NAMED = 3
"""Documents that are named as those that came before a gold item."""
BESIDE = 2
"""Texts that are shown beside that of a gold item."""
MOST_CHANGES = 2
_NAME = 11


def explain_lines(query: QueryExplanation, width: int = NARROW) -> list[str]:
    """Plain lines: the missed gold items with everything that is known, the others in one line each."""
    missed = [gold for gold in query.gold if not gold.found]
    found = [gold for gold in query.gold if gold.found]
    lines = [f'{query.query_id} "{" ".join(query.query.split())}"']
    lines += [f" {query.status}: {query.failure}"] if query.failure else []
    lines += [f" note: {note}" for note in query.notes]
    lines += list(_describe_stages(query))
    for gold in missed:
        lines += ["", *_explain_miss(gold, query, width)]
    lines += [""] if found else []
    lines += [f"found: {gold.item}   rank {gold.rank}{_score(gold.score)}{_then(gold)}" for gold in found]
    if not query.gold:
        lines.append(" nothing is expected of this query")
    if not missed and query.below:
        lines.append(f"just below: {', '.join(map(_name_document, query.below))}")
    return [_printable(line) for line in (*lines, *_describe_probing(query.probing))]


def _printable(line: str) -> str:
    """A line without control characters: ids and texts come from other systems."""
    return "".join(character if character.isprintable() else " " for character in line)


def _describe_stages(query: QueryExplanation) -> Iterator[str]:
    if query.stages:
        flows = (
            f"{name} {'?' if entered is None else entered} -> {'?' if left is None else left}"
            for name, entered, left in query.stages
        )
        yield f" stages      {', '.join(flows)}"


def _then(gold: GoldExplanation) -> str:
    """What became of a gold item that was shown, where an answer did not use it."""
    return "" if gold.stage == "reached" else f", {gold.stage}"


def _explain_miss(gold: GoldExplanation, query: QueryExplanation, width: int) -> Iterator[str]:
    grade = "" if gold.grade is None else f" (grade {gold.grade})"
    yield f"gold: {gold.item}{grade}{_quote(gold.title)}"
    if not gold.passed:
        yield " the system failed, so nothing is known of it"
        return
    for name, said in _list_facts(gold, query):
        yield f" {name:<{_NAME}} {said}"
    if gold.suggestion:
        yield f" Suggestion: {gold.suggestion}"
    yield from _compare_texts(gold, width)


def _list_facts(gold: GoldExplanation, query: QueryExplanation) -> Iterator[tuple[str, str]]:
    yield "indexed", _describe_indexed(gold)
    yield from _list_steps(gold)
    score = "" if gold.score is None else f", score {gold.score:.4g}"
    yield "shown", f"rank {gold.rank}{score} (k = {query.k})" if gold.rank else f"no (k = {query.k})"
    if query.probing.made and gold.rank is None:
        yield "depth", _describe_depth(gold)
    if gold.outranked_by:
        yield "outranked", f"by {', '.join(map(_name_document, gold.outranked_by[:NAMED]))}"
    if gold.common or gold.missing:
        yield "words", f"has {_list_words(gold.common)}; lacks {_list_words(gold.missing)}"
    for place, change in enumerate(_telling_changes(gold)):
        yield "" if place else "changes", _describe_change(change)
    yield "lost", _describe_loss(gold)


def _describe_indexed(gold: GoldExplanation) -> str:
    if gold.indexed is None:
        return "not known"
    reported = gold.passed.get(EvidenceStep.INDEXED.value) is not None
    word = ("yes" if gold.indexed else "no") if reported or gold.depth else "seems so" if gold.indexed else "seems not"
    return f"{word}: {gold.indexed_by}" if gold.indexed_by else word


def _list_steps(gold: GoldExplanation) -> Iterator[tuple[str, str]]:
    """The steps before the list, up to the loss; later ones carry no information."""
    steps = (EvidenceStep.CANDIDATE, EvidenceStep.IN_SCOPE, EvidenceStep.FUSED)
    if gold.rank is not None and gold.channels is None:
        return
    if gold.rank is None and all(gold.passed.get(step.value) is None for step in steps):
        yield "steps", "not reported: the system gives a list and nothing more"
        return
    said = {
        EvidenceStep.CANDIDATE: ("candidate", _describe_offers(gold)),
        EvidenceStep.IN_SCOPE: ("scope", _yes(gold.passed[EvidenceStep.IN_SCOPE.value], "inside", "filtered out")),
        EvidenceStep.FUSED: ("fusion", _describe_fusion(gold)),
    }
    for step in steps:
        yield said[step]
        if gold.passed[step.value] is False:
            return
    if gold.dropped_by:
        yield "dropped", f"by {gold.dropped_by}"


def _yes(done: bool | None, yes: str = "yes", no: str = "no") -> str:
    return "not known" if done is None else yes if done else no


def _describe_offers(gold: GoldExplanation) -> str:
    if gold.channels is None:
        return _yes(gold.passed[EvidenceStep.CANDIDATE.value])
    named = (
        f"{name} rank {rank}{_score(gold.channel_scores.get(name))}" if rank else f"{name} -"
        for name, rank in gold.channels.items()
    )
    return "   ".join(named) or "no channel was asked"


def _describe_fusion(gold: GoldExplanation) -> str:
    if gold.fused_rank is None:
        return _yes(gold.passed[EvidenceStep.FUSED.value], "kept", "not kept")
    voters = [name for name, rank in (gold.channels or {}).items() if rank]
    alone = f"   only {voters[0]} voted" if len(voters) == 1 and len(gold.channels or {}) > 1 else ""
    return f"rank {gold.fused_rank}{alone}"


def _describe_depth(gold: GoldExplanation) -> str:
    if gold.depth is not None:
        return f"rank {gold.depth:,} when more results are asked for"
    return "not known" if gold.searched_to is None else f"not among the first {gold.searched_to:,} results"


def _telling_changes(gold: GoldExplanation) -> list[QueryChange]:
    """The changes of each kind that lift the item most."""
    lifting = [
        change
        for change in gold.changes
        if change.rank is not None and (gold.depth is None or change.rank < gold.depth)
    ]
    kinds = (ProbeKind.WITHOUT, ProbeKind.WITH)
    return [change for kind in kinds for change in [change for change in lifting if change.kind is kind][:MOST_CHANGES]]


def _describe_change(change: QueryChange) -> str:
    how = "without" if change.kind is ProbeKind.WITHOUT else "with"
    return f"{how} {', '.join(map(repr, change.words))}: rank {change.rank}"


def _describe_loss(gold: GoldExplanation) -> str:
    if gold.reason == "not known":
        return f"not known where: {' or '.join(gold.may_be)}"
    where = f" ({gold.stage})" if gold.stage not in ("not known", gold.reason.value) else ""
    return f"{gold.reason.value}{where}"


def _name_document(document: ShownDocument) -> str:
    strange = "" if document.in_dataset else ", not in the dataset"
    return f"{document.rank} {document.id}{_quote(document.title)}{_score(document.score)}{strange}"


def _quote(title: str) -> str:
    return f' "{title}"' if title else ""


def _score(score: float | None) -> str:
    return "" if score is None else f" ({score:.4g})"


def _list_words(words: Sequence[str]) -> str:
    return ", ".join(words) or "none"


# Texts side by side, the words of the query between asterisks.


def _compare_texts(gold: GoldExplanation, width: int) -> Iterator[str]:
    instead = [document for document in gold.outranked_by if document.text][:BESIDE]
    if not gold.text or not instead:
        return
    own = [f"gold: {gold.item}", mark_words(gold.text, gold.common)]
    other = [
        line
        for document in instead
        for line in (f"came instead: {document.rank} {document.id}", mark_words(document.text, document.common))
    ]
    yield ""
    if width < WIDE:
        yield from (line for text in (*own, *other) for line in _wrap(text, width - 2))
        return
    half = (width - 5) // 2
    columns = [[line for text in texts for line in _wrap(text, half, indent="")] for texts in (own, other)]
    yield from (f" {left:<{half}} | {right}".rstrip() for left, right in zip_longest(*columns, fillvalue=""))


def _wrap(text: str, width: int, indent: str = " ") -> list[str]:
    return textwrap.wrap(text, max(20, width), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _describe_probing(probing: Probing) -> Iterator[str]:
    notes = [f"note: {note}" for note in probing.notes]
    asked = f"The system was asked again: {count_of(probing.made, 'call')} of at most {probing.allowed:,}."
    lines = [*([asked] if probing.allowed else []), *notes]
    yield from ["", *lines] if lines else []


# --- All lost queries ---


def lost_lines(found: LostQueries, width: int = NARROW) -> list[str]:
    """A table of the lost queries, then the counts by reason."""
    head = f"{len(found.lost):,} of {count_of(found.queries, 'query')} lost gold within the first {found.k}"
    if not found.lost:
        return [f"No query lost gold within the first {found.k} results."]
    rows = [("query", "gold", "depth", "outranked by", "reason"), *map(_lost_row, found.lost)]
    sizes = [min(28, max(len(row[at]) for row in rows)) for at in range(len(rows[0]))]
    sizes[-1] = max(len(row[-1]) for row in rows)
    lines = [head, ""]
    for row, lost in zip(rows, (None, *found.lost), strict=True):
        cells = (_clip(cell, size).ljust(size) for cell, size in zip(row, sizes, strict=True))
        lines.append("  ".join(cells).rstrip())
        if lost is not None and lost.remedy:
            lines += textwrap.wrap(lost.remedy, max(40, width - 4), initial_indent="    ", subsequent_indent="    ")
    lines += ["", "By reason:", *(f"{count:>5}  {reason}" for reason, count in found.reasons.items())]
    probing = Probing(allowed=found.allowed, made=found.made, notes=found.notes)
    return [_printable(line) for line in (*lines, *_describe_probing(probing))]


def _lost_row(lost: LostQuery) -> tuple[str, ...]:
    missed = f" ({lost.missed} of {lost.of})" if lost.of > 1 else ""
    beyond = "-" if lost.searched_to is None else f"> {lost.searched_to:,}"
    return (
        lost.query_id,
        f"{lost.gold or '-'}{missed}",
        beyond if lost.depth is None else f"{lost.depth:,}",
        ", ".join(lost.outranked_by[:2]) or "-",
        lost.reason.value,
    )


def _clip(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size - 3]}..."
