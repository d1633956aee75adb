"""PrecisionMemBench: cases over a seed of beliefs, each with the beliefs that a search may return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.referee.sets.files import find_file, hash_files, need, read_json, read_moment
from assay.referee.sets.values import MemoryItem, MemoryQuestion, MemorySet, MemoryUser, PublishedCounts

NAME = "precisionmembench"
USER = "test-user"
PUBLISHED = PublishedCounts(chats=None, questions=89, source="77 cases and the 12 turns of two session cases")
QUIRKS = (
    (
        "An item is one belief: its name, aliases, content and why it matters. Superseded beliefs are in the seed and "
        "are filled too, as in the published harness."
    ),
    (
        "The evidence is `relevantBeliefs.shouldOnlyInclude`. Cases that expect nothing there cannot be measured by "
        "recall; they are asked and counted as `nothing to find`."
    ),
    (
        "Pinned facts, open questions and the persona prelude are always-on parts of one product; they are not "
        "searched for, and not measured here."
    ),
    "Cases name a scope such as `domain:code`. The contract of systems has no filters, so all search the whole seed.",
    "A session case is asked turn by turn with the user's message alone.",
    "All beliefs but one belong to one user: there is one cluster, and no difference can be significant.",
)
SESSION = "Session drift"


def read_precisionmembench(data: Path) -> MemorySet:
    """Read the seed and both kinds of cases."""
    cases = find_file(data, ("retrieval.cases.json",), what="PrecisionMemBench")
    seed = find_file(data, ("beliefs.seed.json",), what="PrecisionMemBench")
    sessions = cases.with_name("session-retrieval.cases.json")
    users: dict[str, list[MemoryItem]] = {}
    for belief in read_json(seed):
        users.setdefault(str(need(belief, "user_id", seed)), []).append(_read_belief(belief, seed))
    questions = [_read_case(case, cases) for case in read_json(cases)]
    if sessions.is_file():
        questions += list(_read_sessions(read_json(sessions), sessions))
    files = [cases, seed, *([sessions] if sessions.is_file() else [])]
    # A user without beliefs is one of the cases: what is asked there must find nothing.
    for question in questions:
        users.setdefault(question.user, [])
    return MemorySet(
        name=NAME,
        users=tuple(MemoryUser(id=user, items=tuple(items)) for user, items in users.items()),
        questions=tuple(questions),
        quirks=QUIRKS,
        published=PUBLISHED,
        files=hash_files(files),
    )


def _read_belief(belief: Mapping[str, Any], path: Path) -> MemoryItem:
    name = str(need(belief, "canonical_name", path)).replace("_", " ")
    aliases = ", ".join(map(str, belief.get("aliases") or ()))
    also = f" (also: {aliases})" if aliases else ""
    why = str(belief.get("why_it_matters") or "")
    return MemoryItem(
        id=str(need(belief, "_id", path)),
        text=f"{name}{also}: {need(belief, 'content', path)} {why}".strip(),
        session="seed",
        date=read_moment(str(belief.get("created_at") or ""), "%Y-%m-%dT%H:%M:%SZ"),
    )


def _read_case(case: Mapping[str, Any], path: Path) -> MemoryQuestion:
    expected = _expected(case)
    return MemoryQuestion(
        id=str(need(case, "caseId", path)),
        user=str(case.get("userId") or USER),
        text=str(need(case, "query", path)),
        evidence=expected,
        category=str(case.get("category", "")),
        answerable=bool(expected),
    )


def _read_sessions(cases: Any, path: Path) -> Iterator[MemoryQuestion]:
    for case in cases:
        for turn in need(case, "turns", path):
            expected = _expected(turn)
            yield MemoryQuestion(
                id=f"{need(case, 'caseId', path)}#{turn.get('turnIndex', 0)}",
                user=USER,
                text=str(need(turn, "userMessage", path)),
                evidence=expected,
                category=SESSION,
                answerable=bool(expected),
            )


def _expected(case: Mapping[str, Any]) -> tuple[str, ...]:
    beliefs = (case.get("expect") or {}).get("relevantBeliefs") or {}
    return tuple(map(str, beliefs.get("shouldOnlyInclude") or ()))
