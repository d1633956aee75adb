"""Chats, facts and beliefs as collections: `load_any(folder, name)`.

- Chats: every turn is a document, with the turns around it. `beam100k` lies among the collections; `locomo` are the
  turns of five chats, read from `memory-benchmarks` beside them.
- Facts: `facts`, a single-hop list of FactConsolidation. Every fact is a note, saved one after the other; a question
  asks for the newest on its topic, and older ones on the same topic are wrong.
- Beliefs: `beliefs`, the seed of PrecisionMemBench and the cases that expect something of it.
- Conversations: `mtrag_human`, the questions of MTRAG's human evaluation, none of them in `mtrag`, over the passages
  of both.
- Every other name is a collection of documents.

PersonaMem is not among them: its questions name every document of a user as evidence, which no ranking can get wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from assay.referee.sets.precisionmembench import USER, read_precisionmembench
from assay.text.surroundings import find_surroundings
from bench.collections import Collection, Document, load, read_lines
from bench.fact_consolidation import find_asked_fact, read_parts

LOCOMO, BEAM, FACTS, BELIEFS = "locomo", "beam100k", "facts", "beliefs"
CONVERSATIONS, THEIR_PASSAGES = "mtrag_human", "mtrag"
FACTS_PART = "sh_6k"
"""The list of facts that `facts` stands for: the larger one takes ten times as long to save and says the same."""
MEMORY_BENCHMARKS = "memory-benchmarks"


def load_any(folder: Path, name: str) -> Collection:
    """Read a collection of documents, the turns of chats, or facts that replace each other."""
    if name == LOCOMO:
        return load_locomo(folder / MEMORY_BENCHMARKS / LOCOMO / "locomo5.json")
    if name == FACTS:
        return load_facts(folder / MEMORY_BENCHMARKS / "factconsolidation")
    if name == BELIEFS:
        return load_beliefs(folder / MEMORY_BENCHMARKS / "precisionmembench")
    if name == CONVERSATIONS:
        return load_conversations(folder)
    if name == BEAM:
        return replace(load(folder, name), surroundings=read_beam_surroundings(folder / name / "corpus.jsonl"))
    return load(folder, name)


def load_locomo(file: Path) -> Collection:
    """Every turn is a document, named by its speaker and time; evidence that names no turn is left out."""
    documents: list[Document] = []
    questions: dict[str, str] = {}
    judgments: dict[str, dict[str, int]] = {}
    surroundings: dict[str, str] = {}
    for number, chat in enumerate(json.loads(file.read_text(encoding="utf-8"))):
        turns: dict[str, Document] = {}
        for session in _read_sessions(number, chat["conversation"]):
            turns |= session
            around = find_surroundings([document.text for document in session.values()])
            surroundings |= {document.id: text for document, text in zip(session.values(), around, strict=True)}
        documents += turns.values()
        for place, asked in enumerate(chat["qa"]):
            found = {turns[turn].id: 1 for turn in asked["evidence"] if turn in turns}
            if found and asked["category"] != 5:
                questions[f"{number}:{place}"] = asked["question"]
                judgments[f"{number}:{place}"] = found
    return Collection(
        name=LOCOMO, documents=documents, questions=questions, judgments=judgments, surroundings=surroundings
    )


def _read_sessions(number: int, conversation: Mapping[str, Any]) -> Iterator[dict[str, Document]]:
    """Yield the turns of each session, by their ids in the file."""
    for name, session in conversation.items():
        if re.fullmatch(r"session_\d+", name):
            when = conversation.get(f"{name}_date_time", "")
            yield {
                turn["dia_id"]: Document(f"{number}:{turn['dia_id']}", f"{turn['speaker']}, {when}", turn["text"])
                for turn in session
            }


def read_beam_surroundings(file: Path) -> dict[str, str]:
    """Read what stands around each turn, within one batch of a conversation."""
    found: dict[str, str] = {}
    for _, sitting in groupby(read_lines(file), key=lambda line: (line["metadata"]["conversation"], _batch(line))):
        turns = list(sitting)
        around = find_surroundings([turn["text"] for turn in turns])
        found |= {turn["_id"]: text for turn, text in zip(turns, around, strict=True)}
    return found


def load_conversations(folder: Path) -> Collection:
    """Read the last question of each conversation; what its answers were written from is relevant."""
    passages = {document.id: document for document in load(folder, THEIR_PASSAGES).documents}
    questions: dict[str, str] = {}
    judgments: dict[str, dict[str, int]] = {}
    previous: dict[str, str] = {}
    for line in read_lines(folder / CONVERSATIONS / "human_evaluations.jsonl"):
        if not line["contexts"]:
            continue
        said = [turn["text"] for turn in line["conversation"] if turn["speaker"] == "user"]
        questions[line["id"]] = said[-1]
        judgments[line["id"]] = {passage["id"]: 1 for passage in line["contexts"]}
        if len(said) > 1:
            previous[line["id"]] = said[-2]
        for passage in line["contexts"]:
            passages.setdefault(passage["id"], Document(passage["id"], "", passage["text"]))
    return Collection(
        name=CONVERSATIONS,
        documents=list(passages.values()),
        questions=questions,
        judgments=judgments,
        previous=previous,
    )


def _batch(line: Mapping[str, Any]) -> object:
    return line["metadata"].get("batch")


def load_facts(place: Path) -> Collection:
    """Every fact is a document; what a question asks for is the newest fact on its topic."""
    part = next(part for part in read_parts(place) if part.name == FACTS_PART)
    documents = [Document(f"fact-{number}", fact.rstrip("."), fact) for number, fact in enumerate(part.facts, start=1)]
    # A fact that is stated twice is the later one: the earlier one may have been replaced in between.
    ids = {document.text: document.id for document in documents}
    questions: dict[str, str] = {}
    judgments: dict[str, dict[str, int]] = {}
    for number, question in enumerate(part.questions, start=1):
        asked = find_asked_fact(question, part.facts)
        if asked is not None:
            questions[f"question-{number}"] = question.text
            judgments[f"question-{number}"] = {ids[asked.current]: 1}
    return Collection(name=FACTS, documents=documents, questions=questions, judgments=judgments, one_by_one=True)


def load_beliefs(place: Path) -> Collection:
    """Every belief of the user that the cases are about is a document."""
    benchmark = read_precisionmembench(place)
    asked = [question for question in benchmark.questions if question.user == USER and question.evidence]
    return Collection(
        name=BELIEFS,
        documents=[Document(item.id, "", item.text) for item in benchmark.by_user[USER].items],
        questions={question.id: question.text for question in asked},
        judgments={question.id: dict.fromkeys(question.evidence, 1) for question in asked},
    )
