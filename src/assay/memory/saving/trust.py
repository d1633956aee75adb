"""Is a draft a note at all? What speaks to the reader's machine, or is made to be found, is named with its reason.

| doubt | said of |
| --- | --- |
| `hidden_text` | characters that nobody sees, more than happen by accident; any that turn or steer what is shown |
| `orders` | text that tells a reading program what to do: one plain order, or two of the doubtful kind |
| `stuffing` | words without sentences: long stretches without a stop, lists, one word over and over, broken order |
| `triggers` | more trigger phrases, or more words in them, than a note of a program has reason for |
| `title` | a title as long as a text |

The check is deterministic and looks at shape, never at subject. It doubts: what is done about it is for `decisions` to
say. `copying` adds doubts that need the memories nearby.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from assay.memory.saving.hidden import HIDDEN_TEXT, PRIVATE, REORDERED
from assay.memory.saving.orders import orders
from assay.memory.saving.stuffing import stuffing
from assay.records import Draft, Mask
from assay.text.terms import words

MOST_TRIGGERS = 10
"""Trigger phrases of a note that a program writes."""
MOST_TRIGGER_WORDS = 40
LONGEST_TITLE = 40
"""Words."""
MOST_HIDDEN = {HIDDEN_TEXT: 12, PRIVATE: 3, REORDERED: 0}
"""Characters of each kind that happen by accident, in text that was copied from a page or an icon font."""
READ = 200_000
"""Characters of a body that are looked at."""


class Doubt(NamedTuple):
    """What is doubtful about a draft."""

    name: str
    reason: str
    kept: bool = False
    """It may be worth having, if a person says so: no gate turns it away."""


def doubts(draft: Draft, masks: Sequence[Mask] = ()) -> tuple[Doubt, ...]:
    """Everything doubtful about a draft whose hidden characters were taken out; `masks` says what they were."""
    found = (
        _doubt_hidden_text(masks),
        _orders(draft),
        _stuffing(draft),
        _triggers(draft.triggers),
        _title(draft.title),
    )
    return tuple(one for one in found if one is not None)


def _doubt_hidden_text(masks: Sequence[Mask]) -> Doubt | None:
    for kind, most in MOST_HIDDEN.items():
        count = sum(mask.length for mask in masks if mask.kind == kind)
        if count > most:
            return Doubt("hidden_text", f"{count} characters that nobody sees ({kind})")
    return None


def _orders(draft: Draft) -> Doubt | None:
    found = orders("\n".join((draft.title, draft.body[:READ], *draft.triggers)))
    return Doubt("orders", "; ".join(found)) if found else None


def _stuffing(draft: Draft) -> Doubt | None:
    found = stuffing(draft.body[:READ])
    return Doubt("stuffing", found) if found else None


def _triggers(phrases: Sequence[str]) -> Doubt | None:
    count = sum(len(words(phrase)) for phrase in phrases)
    if len(phrases) <= MOST_TRIGGERS and count <= MOST_TRIGGER_WORDS:
        return None
    most = f"over {MOST_TRIGGERS} or {MOST_TRIGGER_WORDS}"
    return Doubt("triggers", f"{len(phrases)} triggers of {count} words together, {most}")


def _title(title: str) -> Doubt | None:
    count = len(words(title))
    return Doubt("title", f"a title of {count} words, over {LONGEST_TITLE}") if count > LONGEST_TITLE else None
