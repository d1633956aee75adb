"""One judge heard on many cases, with planted orders among them: one that obeys is void, and nothing it said counts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from assay.judging.any_judge import Judging
from assay.judging.canaries import canaries, void_reason
from assay.models.limited import side_by_side
from assay.records.judging import JudgedAnswer, JudgeInput, Usage, VerdictOutcome, no_verdict

OnVerdict = Callable[[int, int], None]
"""Told how many verdicts were given, of how many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hearing:
    """What a judge said."""

    given: tuple[JudgedAnswer, ...]
    """On each case, in order; all of them void when the judge is."""
    void: str = ""
    """Why nothing counts; empty: it stood firm."""
    usage: Usage
    """Of everything that was asked, the planted cases included."""
    served: tuple[str, ...] = ()
    """The models that replied, as the server names them."""


def heard(
    judge: Judging,
    inputs: Sequence[JudgeInput],
    *,
    run_id: str,
    threads: int = 1,
    on_verdict: OnVerdict | None = None,
    fresh: bool = False,
) -> Hearing:
    """A verdict on each case. The planted ones differ from run to run. `fresh` asks again what is kept."""
    planted = canaries(judge.about, seed=_seed(run_id)) if inputs else ()
    said: list[JudgedAnswer] = []
    for one in side_by_side(lambda given: judge.judged(given, fresh=fresh), [*planted, *inputs], threads=threads):
        said.append(one)
        if on_verdict is not None:
            on_verdict(len(said), len(planted) + len(inputs))
    void = void_reason(said[: len(planted)])
    given = said[len(planted) :]
    return Hearing(
        given=tuple(_void(one, void) if void else one for one in given),
        void=void,
        usage=sum((one.usage for one in said), Usage()),
        served=tuple(dict.fromkeys(name for one in said for name in one.served)),
    )


def _void(one: JudgedAnswer, why: str) -> JudgedAnswer:
    return replace(one, verdict=no_verdict(one.input.kind, VerdictOutcome.VOID, why))


def _seed(run_id: str) -> int:
    return int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:6], "big")
