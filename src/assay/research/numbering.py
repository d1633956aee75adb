"""Number passages in the order in which the answer cites them.

A search numbers passages by rank; a reader expects the first mark of an answer to be [1]. So when the answer is chosen,
cited passages come first, in the order of their marks, and the others keep their order behind them. Evaluators saw the
numbers of the search: a passage keeps that number as `found_as`, which is what their critiques and replies name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.records.judging import CheckpointResult
from assay.records.research import Citation, Passage, Statement, Synthesis

_MARK = re.compile(r"\[(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\]")

Numbers = Mapping[int, int]
"""The new number of each passage, by its old one."""


def number_by_citation(passages: Sequence[Passage], answer: Synthesis) -> Numbers:
    """Return the new numbers: cited passages first, in the order in which the answer cites them."""
    cited = [number for statement in answer.statements for number in statement.citations]
    known = {passage.number for passage in passages}
    order = dict.fromkeys([*(number for number in cited if number in known), *(one.number for one in passages)])
    return {old: new for new, old in enumerate(order, start=1)}


def renumber_passages(passages: Sequence[Passage], numbers: Numbers) -> tuple[Passage, ...]:
    """Return passages under their new numbers, in that order."""
    renumbered = [replace(one, number=numbers[one.number], found_as=one.number) for one in passages]
    return tuple(sorted(renumbered, key=lambda passage: passage.number))


def renumber_answer(answer: Synthesis, numbers: Numbers) -> Synthesis:
    """Return an answer whose marks, statements and citations have the new numbers."""
    if answer.abstained:
        return answer
    return replace(
        answer,
        text=_MARK.sub(lambda found: _renumber_mark(found[1], numbers), answer.text),
        statements=tuple(_renumber_statement(statement, numbers) for statement in answer.statements),
        citations=tuple(
            sorted((_renumber_citation(citation, numbers) for citation in answer.citations), key=lambda one: one.number)
        ),
    )


def renumber_sources(result: CheckpointResult, numbers: Numbers) -> CheckpointResult:
    """Return the evaluation of passages with what was found of each source under its new number."""
    if result.verdict is None:
        return result
    roles = tuple(
        replace(
            role,
            sources=tuple(
                sorted(
                    (replace(source, number=numbers.get(source.number, source.number)) for source in role.sources),
                    key=lambda source: source.number,
                )
            ),
        )
        for role in result.verdict.results
    )
    return replace(result, verdict=replace(result.verdict, results=roles))


def _renumber_mark(inside: str, numbers: Numbers) -> str:
    """Return a mark such as `[3, 1]`; a number that is no passage's stays as it is."""
    return f"[{re.sub(r'[0-9]+', lambda found: str(numbers.get(int(found[0]), int(found[0]))), inside)}]"


def _renumber_statement(statement: Statement, numbers: Numbers) -> Statement:
    return replace(statement, citations=tuple(numbers[number] for number in statement.citations))


def _renumber_citation(citation: Citation, numbers: Numbers) -> Citation:
    return replace(citation, number=numbers[citation.number])
