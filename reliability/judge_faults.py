"""A judge whose endpoint fails in each of fifteen ways, alone and mixed: a verdict, or a reason why there is none.

The judge is the real one, over the real client and a real server on the loopback. Whatever the server does, a call
ends within its deadline and a little, sends at most three questions, and holds no more than a little memory. Which
weights the server has is asked too, and may fail as well.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.clock import SystemClock
from assay.judging.injection import InjectionGuard
from assay.judging.model_judge import JudgeOptions, LlmJudge
from assay.judging.rubric import load_rubric
from assay.models.chat import digest_of
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.models.endpoint_chat import EndpointChat
from assay.network import ANYWHERE
from assay.records.judging import JudgedAnswer, JudgeInput, RubricKind
from assay.testing.fault_server import FAULTS, Act, FaultService, refusing, replying, serving
from reliability.outcome import Check, at_least, below, none_of

DEADLINE_S = 1.0
GRACE_S = 5.0
MOST_REQUESTS = 3
MOST_MB = 50.0
LARGEST_REPLY = 4_000_000
GOOD = '{"supported_claims": ["a"], "unsupported_claims": [], "reason": "fine", "score": 4}'
CASE = JudgeInput(
    kind=RubricKind.GROUNDEDNESS,
    question="How long does the cookie live?",
    answer="Twelve hours [1].",
    passages=("The session cookie lives for twelve hours.",),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeFaultsOutcome:
    """What was seen over all calls."""

    calls: int
    faults: Mapping[str, Mapping[str, int]]
    """How calls ended, by fault."""
    raised: tuple[str, ...]
    unexplained: tuple[str, ...]
    """Calls that ended with neither a finite score nor a reason."""
    too_many: tuple[str, ...]
    longest_s: float
    grown_mb: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return f"{self.calls} verdicts asked of an endpoint that failed in {len(self.faults)} ways"

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("calls that raised", self.raised),
            none_of("calls without a finite score or a reason", self.unexplained),
            none_of(f"calls with more than {MOST_REQUESTS} requests", self.too_many),
            below("the longest call", self.longest_s, DEADLINE_S + GRACE_S, "s"),
            below("memory grown by", self.grown_mb, MOST_MB, "MB"),
            at_least("ways of failing", len(self.faults), len(FAULTS) + 1),
        )


class _Seen:
    def __init__(self) -> None:
        self.faults: dict[str, Counter[str]] = {}
        self.raised: list[str] = []
        self.unexplained: list[str] = []
        self.too_many: list[str] = []
        self.longest = 0.0

    def note(self, fault: str, judged: JudgedAnswer | Exception, requests: int, seconds: float) -> None:
        """One call."""
        self.longest = max(self.longest, seconds)
        if requests > MOST_REQUESTS:
            self.too_many.append(f"{fault}: {requests}")
        if isinstance(judged, Exception):
            self.raised.append(f"{fault}: {judged!r}")
            return
        self.faults.setdefault(fault, Counter())[judged.verdict.outcome.value] += 1
        finite = judged.score is not None and math.isfinite(judged.score)
        if not finite and not judged.verdict.reason:
            self.unexplained.append(f"{fault}: {judged.verdict.outcome}")


def run(*, folder: Path, times: int, seed: int = 1) -> JudgeFaultsOutcome:  # noqa: ARG001 - nothing is written
    """Each fault that many times alone, and as many mixtures of them."""
    rng, seen = random.Random(seed), _Seen()
    begun = resident_mb(reset=True)
    for name in FAULTS:
        for _ in range(times):
            _one(name, [FAULTS[name]], seen)
    for _ in range(times * 3):
        acts = [FAULTS[name] for name in rng.choices([one for one in FAULTS if one != "refused"], k=3)]
        _one("mixed", [*acts, replying(GOOD)], seen)
    return JudgeFaultsOutcome(
        calls=sum(sum(one.values()) for one in seen.faults.values()) + len(seen.raised),
        faults={name: dict(one) for name, one in seen.faults.items()},
        raised=tuple(seen.raised),
        unexplained=tuple(seen.unexplained),
        too_many=tuple(seen.too_many),
        longest_s=seen.longest,
        grown_mb=resident_mb() - begun,
    )


def _one(fault: str, acts: Sequence[Act], seen: _Seen) -> None:
    with _place(fault, acts) as (url, service):
        began = time.monotonic()
        try:
            judged: JudgedAnswer | Exception = _judge(url).judge_case(CASE)
        except Exception as problem:  # noqa: BLE001 - that nothing is raised is what is to be shown
            judged = problem
        seconds = time.monotonic() - began
        asked = [] if service is None else [one for one in service.heard if one.method == "POST"]
        seen.note(fault, judged, len(asked), seconds)


@contextmanager
def _place(fault: str, acts: Sequence[Act]) -> Iterator[tuple[str, FaultService | None]]:
    if fault == "refused":
        with refusing() as url:
            yield url, None
    else:
        with serving(*acts) as service:
            yield service.url, service


def _judge(url: str) -> LlmJudge:
    clock = SystemClock()
    options = EndpointOptions(url=url, deadline_s=DEADLINE_S, first_pause_s=0.05, max_bytes=LARGEST_REPLY)
    endpoint = Endpoint(options, gate=ANYWHERE, clock=clock, rng=np.random.default_rng(0))
    model = EndpointChat(endpoint, name="faulty", clock=clock, digest=lambda: digest_of(endpoint, "faulty"))
    judging = JudgeOptions(deadline_s=DEADLINE_S)
    return LlmJudge(model, load_rubric("groundedness"), guard=InjectionGuard(b"secret"), options=judging)


def resident_mb(*, reset: bool = False) -> float:
    """Memory in use, at its highest since the last reset; 0 where the system does not tell."""
    if reset:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0.0
