"""BEAM: 100 long chats of a user and an assistant in four sizes; read by chat, in the public or in BEIR's form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.referee.sets.files import DEPTHS, hash_files, need, read_json, read_json_lines, read_moment
from assay.referee.sets.values import MemoryItem, MemoryQuestion, MemorySet, MemoryUser, PublishedCounts

SIZES = {"100k": (20, 400), "500k": (35, 700), "1m": (35, 700), "10m": (10, 200)}
"""Chats and questions of each size as published."""
ABSTENTION = "abstention"
QUIRKS = (
    (
        "An item is one message, `role: content`. Long messages are given whole; how much of them an embedder reads is "
        "up to it."
    ),
    (
        "The evidence is `source_chat_ids`. Where the file names the parts of a contradiction or an update, all of "
        "them count."
    ),
    "Abstention questions have no evidence. They are asked and shown as a category, not part of the mean.",
    "Message ids repeat in some of the largest chats; a repeated id gets a suffix, and evidence means the first.",
    "The published questions carry a rubric for a judge; it is never shown to a system or a reader.",
)
_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")


def read_size(data: Path, *, size: str) -> MemorySet:
    """Read the chats of one size."""
    name = f"beam-{size}"
    beir = _find_folders(data, (f"beam{size}", f"BEAM{size}", name), "corpus.jsonl")
    if beir:
        return _read_beir(beir[0], name)
    chats = _find_chats(data, size)
    if not chats:
        raise InputError(
            f"{data} has no chats of {name}: looked for beam{size}/corpus.jsonl and chats/{size.upper()}/*/chat.json",
            remedy="Download BEAM and name its folder with --data.",
        )
    return _read_public(chats, name, size)


READERS = {f"beam-{size}": partial(read_size, size=size) for size in SIZES}


def _find_folders(data: Path, names: tuple[str, ...], file: str) -> list[Path]:
    places = [data.glob(f"{depth}{name}") for depth in DEPTHS for name in names]
    found = [path for several in places for path in several if (path / file).is_file()]
    return [data, *found] if data.name in names and (data / file).is_file() else found


def _find_chats(data: Path, size: str) -> list[Path]:
    for depth in DEPTHS:
        for name in (size.upper(), size):
            found = sorted(data.glob(f"{depth}{name}/*/chat.json"), key=lambda path: (len(path.parent.name), path))
            if found:
                return found
    return []


def published_counts(name: str) -> PublishedCounts:
    """Return how many chats and questions a size has as published."""
    chats, questions = SIZES[name.removeprefix("beam-")]
    return PublishedCounts(chats=chats, questions=questions, source="the table of the BEAM repository")


# --- The BEIR form: corpus, queries and qrels, with the chat in the metadata ---


def _read_beir(folder: Path, name: str) -> MemorySet:
    corpus, queries, qrels = (folder / file for file in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"))
    chats: dict[str, list[MemoryItem]] = {}
    for line in read_json_lines(corpus):
        facts = line.get("metadata") or {}
        chats.setdefault(str(need(facts, "conversation", corpus)), []).append(
            MemoryItem(
                id=str(need(line, "_id", corpus)),
                text=str(need(line, "text", corpus)),
                session=str(facts.get("batch", "")),
                speaker=str(facts.get("role", "")),
                date=read_moment(str(facts.get("time_anchor") or ""), "%B-%d-%Y"),
            )
        )
    graded: dict[str, list[str]] = {}
    for row in qrels.read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = row.split("\t")
        if int(grade) > 0:
            graded.setdefault(question, []).append(document)
    return MemorySet(
        name=name,
        users=tuple(MemoryUser(id=chat, items=tuple(items)) for chat, items in chats.items()),
        questions=tuple(_read_query(line, graded, queries) for line in read_json_lines(queries)),
        quirks=QUIRKS,
        published=published_counts(name),
        files=hash_files([corpus, queries, qrels]),
    )


def _read_query(line: Mapping[str, Any], graded: Mapping[str, list[str]], path: Path) -> MemoryQuestion:
    facts = line.get("metadata") or {}
    ident = str(need(line, "_id", path))
    return MemoryQuestion(
        id=ident,
        user=str(need(facts, "conversation", path)),
        text=str(need(line, "text", path)),
        evidence=tuple(graded.get(ident, ())),
        answer=str(facts.get("answer") or ""),
        category=str(facts.get("category", "")),
        answerable=bool(facts.get("answerable", True)),
        rubric=tuple(map(str, facts.get("rubric") or ())),
    )


# --- The public form: a folder for each chat ---


def _read_public(paths: list[Path], name: str, size: str) -> MemorySet:
    users: list[MemoryUser] = []
    questions: list[MemoryQuestion] = []
    read: list[list[Path]] = []
    for path in paths:
        user = f"beam-{size}-{path.parent.name}"
        users.append(MemoryUser(id=user, items=tuple(_messages(read_json(path), path))))
        asked = path.parent / "probing_questions" / "probing_questions.json"
        read.append([path, asked])
        questions += list(_probing(read_json(asked), user, asked))
    hashes = {
        f"{user.id}/{file}": digest
        for user, pair in zip(users, read, strict=True)
        for file, digest in hash_files(pair).items()
    }
    return MemorySet(
        name=name,
        users=tuple(users),
        questions=tuple(questions),
        quirks=QUIRKS,
        published=published_counts(name),
        files=hashes,
    )


def _messages(batches: Any, path: Path) -> Iterator[MemoryItem]:
    """Yield the messages of a chat; the 10M chats have plans of batches, each with its name as key."""
    seen: dict[str, int] = {}
    date = None
    for session, turns in _batches(batches, path):
        for message in (message for turn in turns for message in turn):
            date = read_moment(str(message.get("time_anchor") or ""), "%B-%d-%Y") or date
            ident = str(need(message, "id", path))
            seen[ident] = seen.get(ident, 0) + 1
            role = str(need(message, "role", path))
            yield MemoryItem(
                id=ident if seen[ident] == 1 else f"{ident}~{seen[ident]}",
                text=f"{role}: {message.get('content', '')}",
                session=session,
                speaker=role,
                date=date,
            )


def _batches(value: Any, path: Path) -> Iterator[tuple[str, Any]]:
    for place, batch in enumerate(value):
        if "turns" in batch:
            yield str(batch.get("batch_number", place + 1)), batch["turns"]
            continue
        for plan, inner in batch.items():
            for session, turns in _batches(inner, path):
                yield f"{plan}/{session}", turns


def _probing(abilities: Mapping[str, Any], user: str, path: Path) -> Iterator[MemoryQuestion]:
    for ability, entries in abilities.items():
        for place, entry in enumerate(entries):
            yield MemoryQuestion(
                id=f"{user}/{ability}-{place}",
                user=user,
                text=str(need(entry, "question", path)),
                evidence=tuple(dict.fromkeys(_flatten(entry.get("source_chat_ids")))),
                answer=str(next((entry[key] for key in _ANSWERS if entry.get(key)), "")),
                category=ability,
                answerable=ability != ABSTENTION,
                rubric=tuple(map(str, entry.get("rubric") or ())),
            )


def _flatten(value: Any) -> Iterator[str]:
    """Yield the ids of a list, of lists in lists, or of an object of lists."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from _flatten(entry)
    elif value is not None:
        yield str(value)
