"""PersonaMem: multiple-choice questions about what a user said over many sessions."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.referee.sets.files import find_file, hash_files, need, read_json, read_json_lines, read_moment
from assay.referee.sets.values import ANSWERS, MemoryItem, MemoryQuestion, MemorySet, MemoryUser, PublishedCounts
from assay.regular_files import read_regular_text

NAME = "personamem"
PUBLISHED = PublishedCounts(chats=37, questions=589, source="questions_32k.csv and shared_contexts_32k.jsonl")
QUIRKS = (
    (
        "The key names a user's documents, not the turns that hold the answer: every document of the user is gold, so "
        "any ranking of documents would be right. Retrieval is therefore not measured; the answers layer is."
    ),
    "An item is one turn of a document, in the order of the chat.",
    "The options are not part of the query; they are shown to the reader only.",
    (
        "In the published CSV a question is asked at a point of the chat. A user is then the chat up to that point, "
        "and the questions of one chat are one cluster."
    ),
)
_ROLE = re.compile(r"^\[(SYSTEM|USER|ASSISTANT)\] ?", re.MULTILINE)
_OPTION = re.compile(r"^\(([a-z])\)\s*(.*?)(?=^\([a-z]\)|\Z)", re.MULTILINE | re.DOTALL)
_LETTER = re.compile(r"\(?([a-z])\)?")


def read_personamem(data: Path) -> MemorySet:
    """Read documents and queries, or the published CSV with its shared contexts."""
    try:
        queries = find_file(data, ("personamem*/queries.json", "queries.json"), what="PersonaMem")
    except InputError:
        return _read_published(data)
    documents = queries.with_name("documents.json")
    return MemorySet(
        name=NAME,
        users=tuple(_read_users(read_json(documents), documents)),
        questions=tuple(_read_query(entry, queries) for entry in read_json(queries)),
        quirks=QUIRKS,
        published=PUBLISHED,
        files=hash_files([documents, queries]),
        layers=(ANSWERS,),
    )


def _read_users(documents: Any, path: Path) -> Iterator[MemoryUser]:
    items: dict[str, list[MemoryItem]] = {}
    for document in documents:
        ident, user = str(need(document, "id", path)), str(need(document, "user_id", path))
        date = read_moment(str(document.get("timestamp") or "")[:19], "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d")
        for place, (role, text) in enumerate(_split_turns(str(need(document, "content", path)))):
            item = MemoryItem(id=f"{ident}#{place}", text=text, session=ident, speaker=role, date=date)
            items.setdefault(user, []).append(item)
    for user, found in items.items():
        yield MemoryUser(id=user, items=tuple(found))


def _split_turns(content: str) -> Iterator[tuple[str, str]]:
    marks = list(_ROLE.finditer(content))
    if not marks:
        yield "", content.strip()
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        text = content[mark.end() : following.start() if following else len(content)].strip()
        if text:
            yield mark[1].lower(), text


def _read_query(entry: Mapping[str, Any], path: Path) -> MemoryQuestion:
    facts = need(entry, "meta", path)
    whole = str(need(entry, "query", path))
    return MemoryQuestion(
        id=str(need(entry, "id", path)),
        user=str(need(entry, "user_id", path)),
        text=str(facts.get("retrieval_query") or whole.partition("\n\n(a)")[0]),
        answer=_letter(need(entry, "gold_answers", path)[-1]),
        category=str(facts.get("question_type", "")),
        options=_read_options(whole),
    )


def _read_options(text: str) -> tuple[str, ...]:
    return tuple(" ".join(found[2].split()) for found in _OPTION.finditer(text))


def _letter(answer: Any) -> str:
    found = _LETTER.match(str(answer).strip().casefold())
    return found[1] if found else ""


# --- The published form ---


def _read_published(data: Path) -> MemorySet:
    asked = find_file(data, ("questions_32k.csv",), what="PersonaMem")
    contexts = find_file(data, ("shared_contexts_32k.jsonl",), what="PersonaMem")
    chats = {str(ident): turns for line in read_json_lines(contexts) for ident, turns in line.items()}
    rows = list(csv.DictReader(io.StringIO(read_regular_text(asked))))
    users: dict[str, MemoryUser] = {}
    questions = []
    for row in rows:
        chat, end = str(need(row, "shared_context_id", asked)), int(need(row, "end_index_in_shared_context", asked))
        user = f"{chat}:{end}"
        if user not in users:
            users[user] = MemoryUser(id=user, items=tuple(_read_context(chats[chat][:end], chat)), cluster=chat)
        questions.append(
            MemoryQuestion(
                id=str(need(row, "question_id", asked)),
                user=user,
                text=str(need(row, "user_question_or_message", asked)),
                answer=_letter(need(row, "correct_answer", asked)),
                category=str(row.get("question_type", "")),
                options=_read_listed_options(str(need(row, "all_options", asked))),
            )
        )
    return MemorySet(
        name=NAME,
        users=tuple(users.values()),
        questions=tuple(questions),
        quirks=QUIRKS,
        published=PUBLISHED,
        files=hash_files([asked, contexts]),
        layers=(ANSWERS,),
    )


def _read_context(turns: Any, chat: str) -> Iterator[MemoryItem]:
    for place, turn in enumerate(turns):
        text = str(turn.get("content") or "").strip()
        if text:
            yield MemoryItem(id=f"{chat}#{place}", text=text, session=chat, speaker=str(turn.get("role", "")))


def _read_listed_options(text: str) -> tuple[str, ...]:
    """Return the options of a cell: a list written in Python's way, or `(a) ... (b) ...`."""
    spread = re.sub(r"['\"]?,?\s{0,3}['\"]?\((?=[a-z]\)\s)", "\n(", text.strip("[]"))
    return tuple(option.rstrip("'\" ") for option in _read_options(spread))
