"""What was logged for each case: the channels' lists as they were fused, and what the case counts as relevant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.errors import NothingMeasured
from assay.evaluation.tuning.choices import NEUTRAL
from assay.metrics.inputs import grades_by_unit
from assay.records import Channel, ChannelCandidates, Intent
from assay.records.datasets import Case
from assay.records.equivalence import NO_CLASSES
from assay.systems.assay_engine import AssaySystem, Trail


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedCase:
    """One case with what fusion was given for it."""

    case_id: str
    lists: tuple[ChannelCandidates, ...]
    intent: Intent
    """Whose weights were used."""
    grades: Mapping[str, int]
    """By unit, those judged not relevant too."""
    unit_of: Mapping[str, str]
    """From a passage's id to what is ranked: its document, or the class of equal documents that one belongs to."""

    @property
    def asked(self) -> tuple[Channel, ...]:
        """The channels that gave a list, in the order of fusion."""
        named = {one.channel for one in self.lists}
        return tuple(one for one in Channel if one.value in named)


def gather(system: AssaySystem, cases: Iterable[Case], *, k: int) -> list[LoggedCase]:
    """Ask every case that has grades, once, and keep what was logged."""
    adaptive = bool(system.subject()["flags"]["adaptive_fusion"])
    found = [logged_case(one, system.trail(one, k), adaptive=adaptive) for one in cases if one.grades]
    if not found:
        raise NothingMeasured(
            "no case has graded documents, and fusion is tuned on those",
            remedy="Give a dataset with relevance labels, such as hotel or agent-memory.",
        )
    return found


def logged_case(case: Case, trail: Trail, *, adaptive: bool) -> LoggedCase:
    """A case and its search, as tuning sees them."""
    classes = case.equivalence or NO_CLASSES
    return LoggedCase(
        case_id=case.id,
        lists=trail.logged.candidates,
        intent=trail.result.intent if adaptive else NEUTRAL,
        grades=grades_by_unit(case.labels, {one: classes.name(one) for one in case.labels}),
        unit_of={
            passage: classes.name(trail.document_of.get(memory_of(passage), memory_of(passage)))
            for offered in trail.logged.candidates
            for passage in offered.ids
        },
    )


def memory_of(passage_id: str) -> str:
    """The memory whose passage this is."""
    return passage_id.rpartition("#")[0]
