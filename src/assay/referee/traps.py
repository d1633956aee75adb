"""The traps that make published comparisons worthless, each found by code: refused, or flagged beside the numbers.

    1  pool                k is at least as large as the pool: recall at k is 1 for everybody
    2  rerank              two systems return the same k results in another order: no set measure can tell them apart
    3  dropped category    a category has fewer scored questions than the set has
    4  empty contexts      a system returned nothing
    5  lost evidence       the key names evidence that is not in the filled text
    6  default left on     a limit, deduplication or language default of a system cuts what it returns
    7  telling prompt      the reader's prompt names the category or the rubric
    8  other embedder      vector systems with different embedders
    9  other judge         answers that were judged with different prompts
    10 averaged repeats    repeated runs differ, and a mean would hide it
    11 other text          systems were filled with different texts
    12 download timed      a measured time includes talking to another host

`refused` means that the number is not given or the table is not made; `flagged` means that it is given with a sentence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import NotComparable
from assay.hashing import content_hash
from assay.referee.records import BenchRecords, Line

POOL, RERANK, DROPPED, EMPTY, LOST, DEFAULT, TELLING, EMBEDDER, JUDGE, REPEATS, TEXT, DOWNLOAD = (
    "pool",
    "rerank",
    "dropped category",
    "empty contexts",
    "lost evidence",
    "default left on",
    "telling prompt",
    "other embedder",
    "other judge",
    "averaged repeats",
    "other text",
    "download timed",
)
TRAPS = (POOL, RERANK, DROPPED, EMPTY, LOST, DEFAULT, TELLING, EMBEDDER, JUDGE, REPEATS, TEXT, DOWNLOAD)
REFUSED, FLAGGED = "refused", "flagged"


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag:
    """One trap that was found."""

    trap: str
    action: str
    """`refused` or `flagged`."""
    set: str
    sentence: str
    system: str = ""

    def as_json(self) -> Line:
        """Return it as results keep it."""
        return {
            "trap": self.trap,
            "action": self.action,
            "set": self.set,
            "system": self.system,
            "sentence": self.sentence,
        }


# --- Traps of the set and the options ---


def smallest_pool(pools: Mapping[str, Line], users: Collection[str]) -> int:
    """Return how many items the smallest memory has that is asked about."""
    return min(len(pools[user]["items"]) for user in users)


def find_pool_traps(name: str, pools: Mapping[str, Line], users: Collection[str], cutoffs: Sequence[int]) -> list[Flag]:
    """Refuse set measures at cutoffs that are not below the smallest pool that is asked about."""
    smallest = smallest_pool(pools, users)
    return [
        Flag(
            trap=POOL,
            action=REFUSED,
            set=name,
            sentence=f"Recall at {cutoff} is not given: a user has only {smallest} items, and whoever returns all of "
            "them is right.",
        )
        for cutoff in cutoffs
        if cutoff >= smallest
    ]


def find_lost_evidence(name: str, questions: Sequence[Line], pools: Mapping[str, Line]) -> list[Flag]:
    """Flag evidence ids of the key that no item has."""
    there = {user: {item[0] for item in pool["items"]} for user, pool in pools.items()}
    lost = [
        (question["id"], item)
        for question in questions
        if question["answerable"]
        for item in question["evidence"]
        if item not in there[question["user"]]
    ]
    if not lost:
        return []
    asked = len({question for question, _ in lost})
    shown = ", ".join(f"{item} ({question})" for question, item in lost[:3])
    return [
        Flag(
            trap=LOST,
            action=FLAGGED,
            set=name,
            sentence=f"The key of {asked} questions names evidence that is not in the filled text: {shown}"
            f"{', ...' if len(lost) > 3 else ''}. No system can find all of it.",
        )
    ]


# --- Traps of what systems returned ---


def find_dropped_categories(name: str, system: str, wanted: Mapping[str, int], scored: Mapping[str, int]) -> list[Flag]:
    """Flag categories of which fewer questions were scored than the set has."""
    short = [(category, count, scored.get(category, 0)) for category, count in wanted.items()]
    missing = [f"{category} ({there} of {count})" for category, count, there in short if there < count]
    if not missing:
        return []
    return [
        Flag(
            trap=DROPPED,
            action=FLAGGED,
            set=name,
            system=system,
            sentence=f"{system} has no result for some questions of {', '.join(missing)}; no verdict is given for it.",
        )
    ]


def find_empty_contexts(name: str, system: str, empty: int, asked: int) -> list[Flag]:
    """Refuse a system that returned nothing at all, flag one that sometimes did."""
    if not empty:
        return []
    if empty == asked:
        sentence = f"{system} returned nothing for all {asked} questions: its row is a failure, not a score."
        return [Flag(trap=EMPTY, action=REFUSED, set=name, system=system, sentence=sentence)]
    sentence = f"{system} returned nothing for {empty} of {asked} questions; they count as not found."
    return [Flag(trap=EMPTY, action=FLAGGED, set=name, system=system, sentence=sentence)]


def find_reranks(name: str, tops: Mapping[str, Mapping[str, Sequence[str]]], cutoff: int) -> list[Flag]:
    """Flag pairs of systems that return the same k results for every question, in another order for some."""
    systems = sorted(tops)
    found = []
    for place, first in enumerate(systems):
        for second in systems[place + 1 :]:
            shared = tops[first].keys() & tops[second].keys()
            pairs = [(list(tops[first][one][:cutoff]), list(tops[second][one][:cutoff])) for one in shared]
            same = bool(pairs) and all(set(before) == set(after) for before, after in pairs)
            if same and any(before != after for before, after in pairs):
                sentence = (
                    f"{first} and {second} return the same {cutoff} results in another order, so recall at {cutoff} "
                    "cannot tell them apart. Read nDCG and MRR."
                )
                found.append(Flag(trap=RERANK, action=FLAGGED, set=name, system=second, sentence=sentence))
    return found


def find_unstable_repeats(name: str, system: str, means: Sequence[float], differing: int, asked: int) -> list[Flag]:
    """Flag repeated runs that do not agree: their mean has a spread that no interval over questions shows."""
    if not differing:
        return []
    sentence = (
        f"{len(means)} repeats of {system} differ on {differing} of {asked} questions: from {min(means):.3f} to "
        f"{max(means):.3f}. The table has their mean."
    )
    return [Flag(trap=REPEATS, action=FLAGGED, set=name, system=system, sentence=sentence)]


# --- Traps of how systems were set up ---


def find_embedder_traps(systems: Mapping[str, Line], shared: str | None) -> list[Flag]:
    """Flag systems with another embedder than the shared one, or with one that is not known."""
    found = []
    for name, line in systems.items():
        embedder = line["declared"].get("embedder")
        if embedder is None or shared is None or embedder == shared:
            continue
        known = embedder != "unknown"
        what = f"uses the embedder {embedder}" if known else "does not say which embedder it uses"
        action = REFUSED if known else FLAGGED
        verdict = "No verdict is given for it" if known else "Its difference may be the embedder's"
        sentence = f"{name} {what}, and the others use {shared}. {verdict}."
        found.append(Flag(trap=EMBEDDER, action=action, set="", system=name, sentence=sentence))
    return found


def find_text_traps(records: BenchRecords) -> list[Flag]:
    """Refuse verdicts about systems that were filled with other texts than the set has."""
    found = []
    for (name, system), users in sorted(records.fills.items()):
        pools = records.pools.get(name, {})
        other = [user for user, digest in users.items() if digest != hash_pool(pools.get(user, {"items": []}))]
        if other:
            sentence = (
                f"{system} was filled with other texts than the set has, for {len(other)} of {len(users)} users "
                f"({other[0]}, ...). No verdict is given for it."
            )
            found.append(Flag(trap=TEXT, action=REFUSED, set=name, system=system, sentence=sentence))
    return found


def find_returned_texts(name: str, system: str, lines: Sequence[Line], *, rewrites: bool) -> list[Flag]:
    """Flag results with other texts than were filled, unless the system says that it rewrites, and unknown ids."""
    other = 0 if rewrites else sum(line.get("other_text", 0) for line in lines)
    unknown = sum(line.get("unknown", 0) for line in lines)
    told = (
        (other, f"{system} returned {other} results with another text than it was filled with."),
        (unknown, f"{system} returned {unknown} results with ids that it was never given; they count as not found."),
    )
    return [
        Flag(trap=TEXT, action=FLAGGED, set=name, system=system, sentence=sentence) for count, sentence in told if count
    ]


def hash_pool(pool: Mapping[str, Any]) -> str:
    """Return one hash of the ids and texts that a user's memory was filled with."""
    return content_hash([[item[0], item[1]] for item in pool["items"]])


def read_observed(observed: Sequence[Line]) -> list[Flag]:
    """Return the flags for what was noticed while systems ran: defaults that are on, hosts that were contacted."""
    return [
        Flag(
            trap=line["trap"],
            action=line["action"],
            set=line.get("set", ""),
            system=line["system"],
            sentence=line["sentence"],
        )
        for line in observed
    ]


# --- Traps of the answers layer ---


def refuse_telling_prompt(prompt: str, *, question: str, category: str, rubric: Sequence[str]) -> None:
    """Refuse a prompt that names the category of its question or a part of the judge's rubric."""
    said = _words(prompt.replace(question, " "))
    for what, words in (("category", category), *(("rubric", part) for part in rubric)):
        wanted = _words(words)
        # A category that is an everyday word, such as `date`, tells nothing unless it is named as such.
        is_named = f" category {wanted.strip()} " in said if len(wanted.split()) == 1 else wanted in said
        if wanted.strip() and is_named:
            raise NotComparable(
                f"the reader's prompt names the {what} of the question: {words!r}",
                remedy="Write a prompt that is the same for all questions.",
            )


def refuse_mixed_judges(answers: Mapping[Any, Mapping[str, Line]]) -> None:
    """Refuse answers that were not all judged by one judge with one prompt."""
    prompts = sorted({str(line.get("judge_prompt")) for found in answers.values() for line in found.values()})
    if len(prompts) > 1:
        raise NotComparable(
            f"the answers were judged with {len(prompts)} different prompts: {', '.join(prompts[:3])}",
            remedy="Judge all answers again with one judge and one prompt.",
        )


def refuse_mixed_layers(layers: Collection[str]) -> None:
    """Refuse a table that would hold numbers of both layers."""
    if len(set(layers)) > 1:
        raise NotComparable(
            "retrieval and answers would stand in one table: an answer's score depends on its reader and its judge",
            remedy="Run `assay bench memory` once for each layer.",
        )


def _words(text: str) -> str:
    plain = "".join(letter if letter.isalnum() else " " for letter in text.casefold())
    return f" {' '.join(plain.split())} "
