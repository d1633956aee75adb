"""LongMemEval: a JSON list of questions, each with the chat sessions of its user, some of which hold the answer.

A session is a document: its turns as `role: content`, dated. Sessions that several questions share are kept once. All
questions search all sessions, which is harder than to search one user's alone. Sessions that hold the answer have
grade 1. A question whose id ends with `_abs` has no answer in its sessions: it is unanswerable, and the sessions
that only look like it have grade 0. Which questions a session belongs to and where its turns end is kept in its
metadata, so that the list can be written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.errors import BadValue
from assay.formats.files import write_lines
from assay.formats.strict_json import (
    Keys,
    Placed,
    Refuse,
    a_list,
    a_moment,
    an_object,
    build_or_refuse,
    raise_it,
    read_lines,
    read_list,
    texts,
    to_indented_json,
)
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.memory import Format

FILE_NAME = "longmemeval.json"
HAYSTACK = "haystack_sessions"
ABSTAIN = "_abs"
ABSTENTION = "abstention"
_DATE = "%Y/%m/%d (%a) %H:%M"
_BETWEEN = "\n\n"


def read_longmemeval(path: Path, *, name: str | None = None, refuse: Refuse = raise_it) -> Dataset:
    """The dataset of a file of questions."""
    file = path / FILE_NAME if path.is_dir() else path
    own = path.resolve().name if path.is_dir() else path.name.split(".")[0]
    lines = file.name.removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    return questions_dataset(read_lines(file, refuse) if lines else read_list(file), name=name or own, refuse=refuse)


def questions_dataset(places: Iterable[Placed], *, name: str, refuse: Refuse = raise_it) -> Dataset:
    """The dataset of questions, wherever they were read from."""
    kept = _Sessions()
    cases: dict[str, Case] = {}
    for place in places:
        one: Case | None = build_or_refuse(place, lambda value: _case(value, kept), refuse)
        if one is not None and one.id in cases:
            refuse(place.error(f"question {one.id!r} was given before", "Make ids unique."))
        elif one is not None:
            cases[one.id] = one
    return Dataset(
        name=name,
        documents=kept.documents(),
        cases=tuple(cases.values()),
        highest_grade=1,
        relevance_level=1,
        ranked_unit="session",
    )


def write_longmemeval(path: Path, dataset: Dataset) -> None:
    """The list of questions; a document that belongs to no question in particular is written with all of them."""
    write_lines(path, [to_indented_json([_question_fields(case, dataset) for case in dataset.cases])])


class _Sessions:
    """The sessions read so far; one that comes again under its id with other words gets an id of its own."""

    def __init__(self) -> None:
        self._found: dict[str, Document] = {}
        self._questions: dict[str, list[str]] = {}

    def put(self, document: Document, question: str) -> str:
        """Keep a session of a question; gives the id it is kept under."""
        there = self._found.get(document.id)
        if there is not None and there != document:
            named = {**document.metadata, "session_id": document.id}
            document = replace(document, id=f"{document.id}@{question}", metadata=named)
        self._found[document.id] = document
        asked = self._questions.setdefault(document.id, [])
        if question not in asked:
            asked.append(question)
        return document.id

    def documents(self) -> tuple[Document, ...]:
        return tuple(
            replace(document, metadata={**document.metadata, "questions": self._questions[document.id]})
            for document in self._found.values()
        )


def _case(value: Any, kept: _Sessions) -> Case:
    keys = Keys(value, "the question")
    ident, question = keys.need("question_id"), keys.need("question")
    sessions = a_list(keys.need(HAYSTACK), HAYSTACK, lambda item: item)
    ids = texts(keys.need("haystack_session_ids"), "haystack_session_ids")
    dates = texts(keys.take("haystack_dates") or [""] * len(ids), "haystack_dates")
    if not len(ids) == len(sessions) == len(dates):
        raise BadValue(
            f"question {ident!r} has {len(sessions)} sessions, {len(ids)} ids and {len(dates)} dates",
            remedy="Give each session one id and one date.",
        )
    documents = [_session(*session) for session in zip(ids, dates, sessions, strict=True)]
    known = {document.id: kept.put(document, ident) for document in documents}
    gold = texts(keys.take("answer_session_ids") or [], "answer_session_ids")
    lost = [identifier for identifier in gold if identifier not in known]
    if lost:
        raise BadValue(f"question {ident!r} has no session {lost[0]!r}", remedy="It names it in answer_session_ids.")
    answerable = not str(ident).endswith(ABSTAIN)
    answer, asked = keys.take("answer"), keys.take("question_date")
    return Case(
        id=ident,
        query=question,
        grades=tuple(Grade(document_id=known[identifier], grade=int(answerable)) for identifier in dict.fromkeys(gold)),
        answerable=answerable,
        reference_answer=None if answer is None else str(answer),
        category=keys.take("question_type") or "",
        tags=() if answerable else (ABSTENTION,),
        asked_at=_moment(asked),
    )


def _session(ident: str, date: str, turns: Any) -> Document:
    said = a_list(turns, f"session {ident!r}", lambda item: an_object(item, "a turn"))
    parts = [_turn_text(turn) for turn in said]
    ends = [_turn_end(turn, text) for turn, text in zip(said, parts, strict=True)]
    return Document(
        id=ident, text=_BETWEEN.join(parts), format=Format.TEXT, dated=_moment(date), metadata={"turns": ends}
    )


def _turn_text(turn: Mapping[str, Any]) -> str:
    role, content = turn.get("role"), turn.get("content")
    if not isinstance(role, str) or not isinstance(content, str):
        raise BadValue("a turn has no role or no content", remedy="Write it as {'role': 'user', 'content': '...'}.")
    return f"{role}: {content}"


def _turn_end(turn: Mapping[str, Any], text: str) -> dict[str, Any]:
    said = {"has_answer": turn["has_answer"]} if isinstance(turn.get("has_answer"), bool) else {}
    return {"characters": len(text), **said}


def _moment(value: Any) -> datetime | None:
    """`2023/05/20 (Sat) 02:21`, or any ISO date."""
    if not value:
        return None
    try:
        return datetime.strptime(value, _DATE).replace(tzinfo=UTC)
    except (TypeError, ValueError):
        return a_moment(value, "a date")


def _question_fields(case: Case, dataset: Dataset) -> dict[str, Any]:
    haystack = [document for document in dataset.documents if case.id in document.metadata.get("questions", [case.id])]
    wanted = dataset.relevance_level if case.answerable else dataset.lowest_grade
    gold = [ident for ident, grade in case.labels.items() if grade >= wanted]
    named = {document.id: document.metadata.get("session_id", document.id) for document in haystack}
    ident = case.id if case.answerable or case.id.endswith(ABSTAIN) else f"{case.id}{ABSTAIN}"
    return {
        "question_id": ident,
        "question_type": case.category,
        "question": case.query,
        "answer": case.reference_answer,
        **({} if case.asked_at is None else {"question_date": case.asked_at.strftime(_DATE)}),
        "haystack_dates": ["" if session.dated is None else session.dated.strftime(_DATE) for session in haystack],
        "haystack_session_ids": [named[session.id] for session in haystack],
        HAYSTACK: [_turns_of(session) for session in haystack],
        "answer_session_ids": [named[identifier] for identifier in gold if identifier in named],
    }


def _turns_of(document: Document) -> list[dict[str, Any]]:
    """The turns of a session; the whole text as one turn of the user where the ends of turns are not known."""
    ends = document.metadata.get("turns")
    if not isinstance(ends, list):
        return [{"role": "user", "content": document.text}]
    found, at = [], 0
    for end in ends:
        role, _, content = document.text[at : at + end["characters"]].partition(": ")
        found.append({"role": role, "content": content, **{k: v for k, v in end.items() if k != "characters"}})
        at += end["characters"] + len(_BETWEEN)
    return found
