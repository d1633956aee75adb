"""Evaluations taken over for questions that ask the same in other words; only behind the flag `similar_evaluations`.

What was judged has to be the same: the same passages, the same answer, the same panel with the same numbers. Only the
question may be worded otherwise, and with it the plan, whose queries then have to be alike one by one. It outlives a
pipeline, so that whoever asks next gains from it; it belongs to one tenant.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from assay.hashing import content_hash
from assay.records.panel import CheckpointResult
from assay.records.plain import plain
from assay.records.research import Checkpoint, Material, Passage

_log = logging.getLogger("assay.research")
Alike = Callable[[str, str], bool]
"""Whether two texts ask the same."""
REMEMBERED = 512
COMPARED = 32
"""Evaluations of the same things that a question is compared with, the newest first."""
TAKEN_OVER = "taken over from a question that asks the same"


class _Kept(NamedTuple):
    seen: str
    texts: tuple[str, ...]
    result: CheckpointResult


class SimilarEvaluations:
    """Remembers evaluations by what was judged, and finds them again by a question like theirs."""

    def __init__(self, alike: Alike, *, size: int = REMEMBERED) -> None:
        self._alike = alike
        self._kept: deque[_Kept] = deque(maxlen=size)
        self._gate = threading.Lock()

    def find(self, material: Material, judged_by: Any) -> CheckpointResult | None:
        """What was said of the same things for a question alike; it says that it is taken over."""
        seen, texts = _seen(material, judged_by), _texts(material)
        with self._gate:
            candidates = list(islice((one for one in self._kept if one.seen == seen), COMPARED))
        found = next((one for one in candidates if self._are_alike(texts, one.texts)), None)
        return None if found is None else replace(found.result, cached=True, reason=TAKEN_OVER)

    def keep(self, material: Material, judged_by: Any, result: CheckpointResult) -> None:
        """Remember an evaluation; the oldest is forgotten for it."""
        with self._gate:
            self._kept.appendleft(_Kept(_seen(material, judged_by), _texts(material), result))

    def _are_alike(self, mine: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
        """Texts that cannot be compared are not alike: what was to save an evaluation must not cost it."""
        try:
            return all(self._alike(one, other) for one, other in zip(mine, theirs, strict=True))
        except Exception as problem:  # noqa: BLE001 - as above
            _log.warning("questions could not be compared: %s, evaluating", type(problem).__name__)
            return False


def _texts(material: Material) -> tuple[str, ...]:
    """What may be worded otherwise: the question, and at the plan checkpoint what the plan searches."""
    if material.checkpoint is Checkpoint.PLAN and material.plan is not None:
        return (material.question, *material.plan.texts)
    return (material.question,)


def _seen(material: Material, judged_by: Any) -> str:
    """Everything else that moves a verdict, as one key; of the time, the day."""
    day = None if material.now is None else material.now.date().isoformat()
    judged = [_source(one) for one in material.passages]
    answer = plain(replace(material.synthesis, confidence=None)) if material.synthesis is not None else None
    return content_hash([material.checkpoint.value, len(_texts(material)), judged, answer, day, judged_by])


def _source(passage: Passage) -> list[Any]:
    """A passage without how well it matched, which is the question's own."""
    return [passage.memory_id, passage.title, passage.text, plain(passage.updated_at), passage.superseded]
