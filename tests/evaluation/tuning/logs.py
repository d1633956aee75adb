"""Logged cases made by hand or drawn: what tuning is given without an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from assay.evaluation.tuning.choices import LoggedCase
from assay.records import Channel, ChannelCandidates, Intent

Scores = Mapping[str, float]
"""By passage id."""


def logged(
    number: int, lists: Mapping[Channel, Scores], grades: Mapping[str, int], intent: Intent = Intent.UNDERSTAND
) -> LoggedCase:
    """One case; passages are `memory#position`, and a memory is its own unit."""
    given = tuple(
        ChannelCandidates(
            channel=channel.value,
            ids=tuple(sorted(scores, key=lambda one: (-scores[one], one))),
            scores=tuple(sorted(scores.values(), reverse=True)),
        )
        for channel, scores in sorted(lists.items())
    )
    passages = {one for scores in lists.values() for one in scores}
    return LoggedCase(
        case_id=f"q{number:03}",
        lists=given,
        intent=intent,
        grades=grades,
        unit_of={one: one.rpartition("#")[0] for one in passages},
    )


def drawn(
    cases: int, rng: np.random.Generator, *, words: float, vectors: float, memories: int = 30
) -> list[LoggedCase]:
    """Cases in which one memory is right, and each channel's scores follow that as much as is said: 0 is noise."""
    found = []
    for number in range(cases):
        right = int(rng.integers(memories))
        found.append(
            logged(
                number,
                {
                    Channel.BM25: _scores(rng, memories, right, words, scale=10.0),
                    Channel.VECTOR: _scores(rng, memories, right, vectors, scale=1.0),
                },
                {f"m{right}": 3},
            )
        )
    return found


def _scores(rng: np.random.Generator, memories: int, right: int, telling: float, *, scale: float) -> dict[str, float]:
    values: Sequence[float] = rng.uniform(0.0, 1.0 - telling, size=memories).tolist()
    return {f"m{place}#0": scale * (value + (telling if place == right else 0.0)) for place, value in enumerate(values)}
