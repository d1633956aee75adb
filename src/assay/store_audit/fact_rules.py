"""Facts of several memories on one topic that cannot all be true now, and plans whose day has passed.

Which value takes the place of which is decided by `replaces_value` and `is_another_view`, the rules of saving. A store
that has both values has a stale memory where it is known which came later: by the times of the store, by a day that
the sentence names, or because the sentence reports a change. Where nothing tells, it has a contradiction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations
from typing import NamedTuple

from assay.memory.saving.fact_changes import is_another_view
from assay.records.store_audits import StoreFault, StoreFinding
from assay.storage.repositories.facts import replaces_value
from assay.store_audit.item_rules import CheckedItem, show
from assay.store_audit.outdated_marks import is_marked
from assay.store_audit.pair_rules import contradiction_finding, is_dated, stale_finding
from assay.store_audit.passed_dates import find_passed_date
from assay.text.facts import StatedFact, is_same_value, read_facts
from assay.text.relations import RelationKind

MOST_ON_TOPIC = 12
"""Facts on one topic that are compared with each other, the newest: a topic with more is one of a log."""


class OwnedFact(NamedTuple):
    """A fact and the memory that states it."""

    fact: StatedFact
    checked: CheckedItem

    @property
    def statement(self) -> str:
        """The sentence that states it."""
        return self.checked.clean[self.fact.start : self.fact.stop].strip()


def find_fact_faults(items: Sequence[CheckedItem], skipped: frozenset[str]) -> Iterator[StoreFinding]:
    """Yield stale memories and contradictions between facts of one owner. `skipped` are keys of copies."""
    by_topic: dict[tuple[str, str], list[OwnedFact]] = defaultdict(list)
    for checked in items:
        if checked.item.key in skipped or is_marked(checked.clean):
            continue
        title = checked.item.title
        for fact in read_facts(checked.clean, title=title):
            by_topic[checked.item.owner, fact.topic].append(OwnedFact(fact, checked))
    for facts in by_topic.values():
        for one, other in combinations(facts[-MOST_ON_TOPIC:], 2):
            if one.checked is not other.checked and (found := _compare(one, other)) is not None:
                yield found


def _compare(first: OwnedFact, second: OwnedFact) -> StoreFinding | None:
    old, new, known = _put_in_order(first, second)
    reason = f"{old.fact.shown!r} / {new.fact.shown!r}: the same subject and relation"
    if known and replaces_value(new.fact, old.fact):
        rule = "the facts of a save: another value of a relation that holds one"
        return stale_finding(old.checked, new.checked, rule, reason, now=f"now {new.fact.shown}")
    if _conflict(old.fact, new.fact):
        return contradiction_finding(old.checked, new.checked, "the facts of a save: two views", reason)
    return None


def _conflict(old: StatedFact, new: StatedFact) -> bool:
    """Whether two facts cannot both be true: one value too many, or the same value stated and denied."""
    if not is_another_view(new, old):
        return False
    # Another value of a relation that nobody knows enough of may well be true beside the first.
    return old.kind is new.kind is RelationKind.SINGLE or is_same_value(old.value, new.value)


def _put_in_order(first: OwnedFact, second: OwnedFact) -> tuple[OwnedFact, OwnedFact, bool]:
    """Return two facts with the earlier one first, and whether it is known which one that is."""
    if first.fact.is_change is not second.fact.is_change and not is_dated(first.checked, second.checked):
        old, new = (first, second) if second.fact.is_change else (second, first)
        return old, new, True
    times = _time_of(first), _time_of(second)
    if times[0] is None or times[1] is None or times[0] == times[1]:
        return first, second, False
    old, new = (first, second) if times[0] < times[1] else (second, first)
    return old, new, True


def _time_of(owned: OwnedFact) -> datetime | None:
    since = owned.fact.since
    if since is not None:
        return datetime(since.year, since.month, since.day, tzinfo=UTC)
    return owned.checked.item.created_at


def find_passed_plans(items: Sequence[CheckedItem], as_of: datetime) -> Iterator[StoreFinding]:
    """Yield memories that look forward to a day which is over."""
    for checked in items:
        if is_marked(checked.clean):
            continue
        written = checked.item.created_at
        found = find_passed_date(checked.clean, as_of.date(), None if written is None else written.date())
        if found is not None:
            yield StoreFinding(
                fault=StoreFault.STALE,
                key=checked.item.key,
                rule="a day that has passed",
                reason=f"it looks forward to {found.named!r}, which ended on {found.last}",
                parts=(show(checked, found.sentence),),
                look_at="Check whether it happened: what came of it may be worth a note of its own.",
                replacement=f"passed on {found.last}",
            )
