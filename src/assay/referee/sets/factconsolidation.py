"""FactConsolidation: numbered facts of which later ones contradict earlier ones; the newest is the answer.

The file names no evidence. It is derived here: facts are parsed into subject, relation and object, only the newest fact
of a subject and relation holds, and the evidence of a question is the one chain of such facts that leads from a subject
named in the question to the answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import InputError
from assay.referee.sets.files import find_file, hash_files, need, read_json
from assay.referee.sets.values import MemoryItem, MemoryQuestion, MemorySet, MemoryUser, PublishedCounts

NAME = "factconsolidation"
FILES = ("conflict_resolution.json", "Conflict_Resolution*.json", "factconsolidation*.json")
PARTS = tuple(f"factconsolidation_{hops}_{size}" for hops in ("sh", "mh") for size in ("6k", "32k", "64k", "262k"))
PUBLISHED = PublishedCounts(chats=8, questions=800, source="MemoryAgentBench: eight parts of 100 questions")
LONGEST_CHAIN = 4
QUIRKS = (
    (
        "An item is one numbered fact, without its number; its number is its id, so that order is known to nobody but "
        "by the order of filling."
    ),
    (
        "The file names no evidence. It is derived: the newest fact of a subject and relation holds, and the evidence "
        "is the one chain of such facts from a subject in the question to the answer. Questions without exactly one "
        "shortest chain have no evidence and are not part of the retrieval mean."
    ),
    "Single-hop (sh) and multi-hop (mh) parts of one size share their facts; each part is filled by itself.",
    "A part is one user. With four or eight users, differences are clustered into very few units.",
)
_WORDS = re.compile(r"\w+")
_FACT = re.compile(r"^(\d+)\.\s+(.*)$")
_RELATIONS = tuple(
    re.compile(pattern)
    for pattern in (
        (
            r"^The (?P<r>author|capital|chairperson|director|head coach|official language|original language)"
            r" of (?P<s>.+) is (?P<o>.+?)\.?$"
        ),
        (
            r"^The (?P<r>chief executive officer|orig\w+ broadcaster|headquarters) of (?P<s>.+)"
            r" is (?:located in the city of )?(?P<o>.+?)\.?$"
        ),
        r"^The (?P<r>univeristy|university) where (?P<s>.+) was educated is (?P<o>.+?)\.?$",
        r"^The (?P<r>company that produced) (?P<s>.+) is (?P<o>.+?)\.?$",
        r"^The (?P<r>name of the current head of state) in (?P<s>.+) is (?P<o>.+?)\.?$",
        r"^The (?P<r>name of the current head) of the (?P<s>.+) government is (?P<o>.+?)\.?$",
        r"^The (?P<r>type of music) that (?P<s>.+) plays is (?P<o>.+?)\.?$",
        r"^(?P<s>.+)'s (?P<r>child) is (?P<o>.+?)\.?$",
        (
            r"^(?P<s>.+?) (?P<r>is a citizen of|is married to|is employed by|is famous for|was founded by"
            r"|was created by|was performed by|was developed by|speaks the language of|plays the position of"
            r"|works in the field of|is affiliated with the religion of|is associated with the sport of"
            r"|is located in the continent of|died in the city of|was born in the city of"
            r"|worked in the city of"
            r"|was founded in the city of|was created in the country of|was written in the language of) (?P<o>.+?)\.?$"
        ),
    )
)


class _Fact(NamedTuple):
    """One parsed fact."""

    id: str
    subject: str
    relation: str
    object: str


def read_factconsolidation(data: Path) -> MemorySet:
    """Read the parts that the file has, up to eight."""
    path = find_file(data, FILES, what="FactConsolidation")
    parts = [(_source(part), part) for part in read_json(path)]
    known = [(source, part) for source, part in parts if source in PARTS]
    if not known:
        raise InputError(f"{path} has none of the parts {', '.join(PARTS)}", remedy="Give MemoryAgentBench's file.")
    users, questions = [], []
    for source, part in sorted(known, key=lambda entry: PARTS.index(entry[0])):
        items = tuple(_read_items(str(need(part, "context", path))))
        users.append(MemoryUser(id=source, items=items))
        questions += list(_read_questions(part, source, items, path))
    return MemorySet(
        name=NAME,
        users=tuple(users),
        questions=tuple(questions),
        quirks=QUIRKS,
        published=PUBLISHED,
        files=hash_files([path]),
    )


def _source(part: Mapping[str, Any]) -> str:
    return str((part.get("metadata") or {}).get("source", ""))


def _read_items(context: str) -> Iterator[MemoryItem]:
    for line in context.splitlines():
        found = _FACT.match(line.strip())
        if found:
            yield MemoryItem(id=found[1], text=found[2])


def _read_questions(
    part: Mapping[str, Any], source: str, items: Sequence[MemoryItem], path: Path
) -> Iterator[MemoryQuestion]:
    facts = _newest(items)
    answers = need(part, "answers", path)
    category = "single-hop" if "_sh_" in source else "multi-hop"
    for place, question in enumerate(need(part, "questions", path)):
        accepted = [str(answer) for answer in answers[place]]
        yield MemoryQuestion(
            id=f"{source}_no{place}",
            user=source,
            text=str(question),
            evidence=_derive_evidence(str(question), accepted, facts),
            answer=accepted[0],
            category=f"{category} {source.rpartition('_')[2]}",
        )


def _newest(items: Sequence[MemoryItem]) -> dict[str, list[_Fact]]:
    """Return the facts that hold at the end, by subject."""
    latest: dict[tuple[str, str], _Fact] = {}
    for item in items:
        fact = _parse(item)
        if fact is not None:
            latest[fact.subject, fact.relation] = fact
    found: dict[str, list[_Fact]] = defaultdict(list)
    for fact in latest.values():
        found[fact.subject].append(fact)
    return found


def _parse(item: MemoryItem) -> _Fact | None:
    for pattern in _RELATIONS:
        found = pattern.match(item.text)
        if found:
            return _Fact(item.id, found["s"], found["r"], found["o"])
    return None


def _plain(text: str) -> str:
    """Return the words alone, with a space at both ends, so that names match whole words."""
    return f" {' '.join(_WORDS.findall(text.casefold()))} "


def _derive_evidence(question: str, answers: Sequence[str], facts: Mapping[str, list[_Fact]]) -> tuple[str, ...]:
    """Return the one shortest chain of facts from a subject in the question to an answer; empty if not exactly one."""
    asked = _plain(question)
    starts = [subject for subject in facts if len(subject) > 2 and _plain(subject) in asked]
    # A longer name that contains a shorter one is what the question means.
    starts = [name for name in starts if not any(name != other and name in other for other in starts)]
    chains: list[tuple[_Fact, ...]] = [(fact,) for subject in starts for fact in facts[subject]]
    for _ in range(LONGEST_CHAIN):
        complete = {tuple(fact.id for fact in chain) for chain in chains if chain[-1].object in answers}
        if complete:
            return next(iter(complete)) if len(complete) == 1 else ()
        chains = [
            (*chain, following)
            for chain in chains
            for following in facts.get(chain[-1].object, ())
            if following not in chain
        ]
    return ()
