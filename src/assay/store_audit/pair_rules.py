"""Faults between two memories of one owner: the same again, and texts that contradict each other.

Comparing every two of ten thousand memories is out of the question, so words nominate: memories that share their rare
words. What becomes of a nominated pair is decided by the table of saving, `decide_pair`, as if the later memory were
saved beside the earlier one. The table wants a similarity; without an embedder it is the share of content words that
both texts have, with a profile of its own (`LEXICAL_PROFILE`), as every embedder has one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.embedding.protocol import SimilarityProfile
from assay.memory.saving.agreement import LONGEST_COMPARED
from assay.memory.saving.neighbours import LABELLED, Pair, Verdict, compare_texts, decide_pair
from assay.memory.saving.options import SaveOptions
from assay.memory.saving.subjects import GENERIC, SAME_TITLE, Labelled, find_shared_labels
from assay.records.store_audits import StoreFault, StoreFinding
from assay.store_audit.item_rules import CheckedItem, show, title_in_question
from assay.store_audit.outdated_marks import is_marked
from assay.store_audit.self_feeding import normalise_entry
from assay.text.terms import normalise_phrase
from assay.text.wording import FUNCTION_WORDS, wording

LEXICAL_PROFILE = SimilarityProfile(duplicate=0.9, merge=0.8, related=0.6)
"""Where the share of common content words begins to mean something; set on the development half of `bench/audit.py`."""
LEAST_REPEATED = 0.75
"""Share of common content words from which a repetition without a common title counts: words are a weaker sign than
vectors, and observations from conversations on one topic share up to this."""
RARE_WORDS = 8
"""Words of a memory by which others are nominated, its rarest."""
MOST_SHARING = 200
"""Memories that share a word; a word that more share nominates none."""
LONGEST = min(4_000, LONGEST_COMPARED)
"""Characters of a memory that is compared with others."""
MOST_UNDER_TITLE = 3
"""Memories of one owner with the same title, up to which it is the title of a note."""
UNTITLED = "Note"
"""The title of a memory without one: a title that says nothing, so that no two memories share it."""


class NearPair(NamedTuple):
    """Two memories of one owner, the earlier first, and what saving the later one would do."""

    old: CheckedItem
    new: CheckedItem
    pair: Pair
    verdict: Verdict
    labelled: bool
    """Both have the same title, and few others have it."""


def find_exact_copies(items: Sequence[CheckedItem]) -> Iterator[StoreFinding]:
    """Yield memories whose words are those of an earlier memory of the same owner."""
    first: dict[tuple[str, str, str], CheckedItem] = {}
    for checked in items:
        said = normalise_entry(checked.clean)
        key = (checked.item.owner, normalise_entry(title_in_question(checked)), said)
        original = first.setdefault(key, checked)
        if original is not checked:
            yield _duplicate(checked, original, "the same words", "every word is the same, in the same order")


def _duplicate(copy: CheckedItem, original: CheckedItem, rule: str, reason: str) -> StoreFinding:
    return StoreFinding(
        fault=StoreFault.DUPLICATE,
        key=copy.item.key,
        rule=rule,
        reason=reason,
        parts=(show(copy), show(original)),
        look_at="Check that the memory which stays says all that this one says.",
        other=original.item.key,
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """The content words of memories, and which memories have each."""

    of_items: list[frozenset[str]]
    holders: Mapping[str, list[int]]

    @classmethod
    def of(cls, items: Sequence[CheckedItem]) -> _Words:
        of_items = [_content(checked) for checked in items]
        holders: dict[str, list[int]] = defaultdict(list)
        for place, found in enumerate(of_items):
            for word in found:
                holders[word].append(place)
        return cls(of_items, holders)

    def share(self, one: int, other: int) -> float:
        """Return twice the common words by all words of both."""
        mine, theirs = self.of_items[one], self.of_items[other]
        total = len(mine) + len(theirs)
        return 2 * len(mine & theirs) / total if total else 0.0

    def nominate(self, place: int, most: int) -> list[tuple[float, int]]:
        """Return the earlier memories most like one, with their similarity."""
        rarest = sorted(self.of_items[place], key=lambda word: (len(self.holders[word]), word))[:RARE_WORDS]
        votes: dict[int, float] = defaultdict(float)
        for word in rarest:
            holders = self.holders[word]
            if len(holders) <= MOST_SHARING:
                for other in holders:
                    if other < place:
                        # Who shares a rare word is more likely about the same thing than who shares several usual ones.
                        votes[other] += 1 / len(holders)
        likely = sorted(votes, key=lambda other: (-votes[other], other))
        least = LEXICAL_PROFILE.related * LABELLED
        found = ((self.share(place, other), other) for other in likely[: 4 * most])
        return [(share, other) for share, other in found if share >= least][:most]


def _content(checked: CheckedItem) -> frozenset[str]:
    text = wording(checked.clean[:LONGEST])
    return (text.stems | {fact.value for fact in text.facts}) - FUNCTION_WORDS


def find_near_pairs(items: Sequence[CheckedItem], skipped: frozenset[str]) -> Iterator[NearPair]:
    """Yield the pairs of which saving the later memory would not just store it. `skipped` are keys of copies."""
    by_owner: dict[str, list[CheckedItem]] = defaultdict(list)
    for checked in items:
        if checked.item.key not in skipped and not is_marked(checked.clean) and len(checked.clean) <= LONGEST:
            by_owner[checked.item.owner].append(checked)
    for owned in by_owner.values():
        found, titles = _Words.of(owned), _Titles.of(owned)
        for place, checked in enumerate(owned):
            near = dict.fromkeys(titles.earlier(place), LEXICAL_PROFILE.related)
            for similarity, other in found.nominate(place, SaveOptions().neighbours):
                near[other] = max(similarity, near.get(other, 0.0))
            for other, similarity in near.items():
                compared = _compare(titles, owned[other], checked, similarity)
                if compared.verdict is not Verdict.STORE:
                    yield compared


@dataclass(frozen=True, slots=True)
class _Titles:
    """Which memories have a title of their own: one that few share. What many share is a heading or an entity."""

    of_items: list[str]
    holders: Mapping[str, list[int]]

    @classmethod
    def of(cls, items: Sequence[CheckedItem]) -> _Titles:
        of_items = [normalise_phrase(checked.item.title) for checked in items]
        holders: dict[str, list[int]] = defaultdict(list)
        for place, title in enumerate(of_items):
            holders[title].append(place)
        own = {title: places for title, places in holders.items() if title and title not in GENERIC}
        return cls(of_items, {title: places for title, places in own.items() if len(places) <= MOST_UNDER_TITLE})

    def earlier(self, place: int) -> list[int]:
        """Return the earlier memories under the same title, if it is one of their own: the title nominates them."""
        return [other for other in self.holders.get(self.of_items[place], ()) if other < place]

    def are_own(self, *items: CheckedItem) -> bool:
        """Whether all of these memories have titles that few share."""
        return all(normalise_phrase(checked.item.title) in self.holders for checked in items)

    def label(self, checked: CheckedItem) -> Labelled:
        """Return a memory with the title that says what it is about."""
        title = checked.item.title if self.are_own(checked) else title_in_question(checked)
        return Labelled(title=title or UNTITLED, body=checked.clean)


def _compare(titles: _Titles, first: CheckedItem, second: CheckedItem, similarity: float) -> NearPair:
    old, new = in_order(first, second)
    before, after = titles.label(old), titles.label(new)
    pair = compare_texts(before, after, similarity)
    labelled = titles.are_own(old, new) and SAME_TITLE in find_shared_labels(before, after)
    return NearPair(old, new, pair, decide_pair(pair, LEXICAL_PROFILE), labelled)


def in_order(first: CheckedItem, second: CheckedItem) -> tuple[CheckedItem, CheckedItem]:
    """Return two memories with the earlier one first: by their times, or as they stand in the store."""
    times = first.item.created_at, second.item.created_at
    if times[0] is not None and times[1] is not None and times[1] < times[0]:
        return second, first
    return first, second


def is_dated(one: CheckedItem, other: CheckedItem) -> bool:
    """Whether the store says which of two memories is the later one."""
    times = one.item.created_at, other.item.created_at
    return None not in times and times[0] != times[1]


def find_pair_faults(near: Iterator[NearPair]) -> Iterator[StoreFinding]:
    """Yield what the verdicts on pairs mean for a store that holds both."""
    copied: set[str] = set()
    for old, new, pair, verdict, labelled in near:
        reasons = ", ".join(pair.reasons[:3]) or f"{pair.similarity:.2f} of their words are the same"
        repeats = verdict in (Verdict.REJECT, Verdict.MERGE) or (verdict is Verdict.SUPERSEDE and pair.agrees)
        if repeats and not labelled and pair.similarity < LEAST_REPEATED:
            continue
        if repeats:
            keeps, goes = _choose_kept(old, new, pair)
            if goes.item.key not in copied:
                copied.add(goes.item.key)
                yield _duplicate(goes, keeps, "the table of a save: a repetition", reasons)
        elif not pair.denies and not labelled:
            # Words in the place of others are mostly about something else: values that changed are found as facts.
            continue
        elif pair.reports or (verdict is Verdict.SUPERSEDE and is_dated(old, new)):
            yield stale_finding(old, new, "the table of a save: an update", reasons, now=new.clean)
        else:
            yield contradiction_finding(old, new, "the table of a save: a contradiction", reasons)


def _choose_kept(old: CheckedItem, new: CheckedItem, pair: Pair) -> tuple[CheckedItem, CheckedItem]:
    """Return the memory that stays and the one that goes: the one that says more stays, else the earlier."""
    says_more = pair.covers and len(new.clean) > len(old.clean)
    return (new, old) if says_more else (old, new)


def stale_finding(old: CheckedItem, new: CheckedItem, rule: str, reason: str, *, now: str) -> StoreFinding:
    """Return the finding that a memory is outdated by a later one; `now` is what holds instead."""
    return StoreFinding(
        fault=StoreFault.STALE,
        key=old.item.key,
        rule=rule,
        reason=reason,
        parts=(show(old), show(new)),
        look_at="Check that the later memory is right; the earlier one may be about something else.",
        other=new.item.key,
        replacement=" ".join(now.split())[:200],
    )


def contradiction_finding(old: CheckedItem, new: CheckedItem, rule: str, reason: str) -> StoreFinding:
    """Return the finding that two memories cannot both be true, and nothing tells which one is."""
    return StoreFinding(
        fault=StoreFault.CONTRADICTION,
        key=new.item.key,
        rule=rule,
        reason=reason,
        parts=(show(new), show(old)),
        look_at="Decide which one is true, and remove the other. No rule can tell.",
        other=old.item.key,
    )
