"""A whole research pipeline whose model fails in each of fifteen ways, alone and mixed: every question is answered.

The pipeline is the real one: a memory with a few notes, planner, panel, reviewer and synthesiser over the real client,
and a real server on the loopback. Whatever the server does, an answer with citations or an explicit abstention comes
back within all deadlines and a little, nothing is sent more than three times, and the record says what was scored or
why not. Sound replies come in between, so that it is shown that models are asked at all.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.records import Draft, Scope
from assay.records.research_log import EvaluatedBy, TracedAnswer
from assay.settings import Settings
from assay.testing.fault_server import FAULTS, Act, FaultService, Handler, envelope, refusing, sending, serving
from assay.wiring import open_engine, open_research
from reliability.judge_faults import resident_mb
from reliability.outcome import Check, at_least, below, none_of

STAGE_S = 0.4
"""Each deadline of the pipeline: short, since many of them are waited for."""
SOUND_S = 10.0
"""The same where every reply is sound: a busy machine must not look like a fault."""
GRACE_S = 5.0
MOST_SENT = 3
MOST_PLANS = 3
MOST_MB = 50.0
SOUND = "sound"
SCOPE = Scope(tenant="faults", principal="faults")
QUESTION = "How long does the session cookie live?"
NOTES = {
    "Cookie": "The session cookie lives for twelve hours. It is renewed with every request.",
    "Logins": "Logins are limited to five attempts a minute.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class PipelineFaultsOutcome:
    """What was seen over all questions."""

    questions: int
    faults: Mapping[str, Mapping[str, int]]
    """How evaluation ended, by fault."""
    raised: tuple[str, ...]
    unanswered: tuple[str, ...]
    """Neither a citation nor a reason."""
    unexplained: tuple[str, ...]
    """Neither a finite score nor a reason why there is none."""
    too_often: tuple[str, ...]
    too_many_plans: tuple[str, ...]
    not_kept: tuple[str, ...]
    by_model: int
    """Sound questions that models scored: proof that they are asked."""
    longest_s: float
    deadline_s: float
    grown_mb: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return f"{self.questions} questions answered over a model that failed in {len(self.faults) - 1} ways"

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("questions that raised", self.raised),
            none_of("questions without an answer or an abstention", self.unanswered),
            none_of("records without a finite score or a reason", self.unexplained),
            none_of(f"questions to the model sent more than {MOST_SENT} times", self.too_often),
            none_of(f"sessions with more than {MOST_PLANS} plans", self.too_many_plans),
            none_of("records that were not kept", self.not_kept),
            below("the longest question", self.longest_s, self.deadline_s + GRACE_S, "s"),
            below("memory grown by", self.grown_mb, MOST_MB, "MB"),
            at_least("ways of failing", len(self.faults) - 1, len(FAULTS) + 1),
            at_least("questions scored by a model", self.by_model, 1),
        )


class _Seen:
    def __init__(self) -> None:
        self.faults: dict[str, Counter[str]] = {}
        self.raised: list[str] = []
        self.unanswered: list[str] = []
        self.unexplained: list[str] = []
        self.too_often: list[str] = []
        self.too_many_plans: list[str] = []
        self.not_kept: list[str] = []
        self.by_model = 0
        self.longest = 0.0

    def note(self, fault: str, answer: TracedAnswer | Exception, sent: Counter[str], seconds: float) -> None:
        """One question."""
        self.longest = max(self.longest, seconds)
        self.too_often += [f"{fault}: {count}" for count in sent.values() if count > MOST_SENT]
        if isinstance(answer, Exception):
            self.raised.append(f"{fault}: {answer!r}")
            return
        session = answer.session
        self.faults.setdefault(fault, Counter())[_ended(answer)] += 1
        if not answer.synthesis.citations and not answer.synthesis.reason:
            self.unanswered.append(fault)
        scored = session.overall_score is not None and math.isfinite(session.overall_score)
        if not scored and not ((session.skipped and session.skip_reason) or session.judge_failed):
            self.unexplained.append(fault)
        if session.iterations > MOST_PLANS:
            self.too_many_plans.append(f"{fault}: {session.iterations}")
        if not answer.kept:
            self.not_kept.append(fault)
        self.by_model += fault == SOUND and session.evaluated_by is EvaluatedBy.MODEL


def run(*, folder: Path, times: int, seed: int = 1) -> PipelineFaultsOutcome:
    """Each fault that many times alone, as many mixtures of them, and as many questions with sound replies."""
    rng, seen = random.Random(seed), _Seen()
    _fill(folder)
    _one(folder, SOUND, [sound], seen)
    begun = resident_mb(reset=True)
    deadline = 0.0
    for _ in range(times):
        for name in FAULTS:
            deadline = _one(folder, name, [FAULTS[name]], seen)
        some = rng.choices([one for one in FAULTS if one != "refused"], k=6)
        _one(folder, "mixed", [act for name in some for act in (FAULTS[name], sound)], seen)
    return PipelineFaultsOutcome(
        questions=sum(sum(one.values()) for one in seen.faults.values()) + len(seen.raised),
        faults={name: dict(one) for name, one in seen.faults.items()},
        raised=tuple(seen.raised),
        unanswered=tuple(seen.unanswered),
        unexplained=tuple(seen.unexplained),
        too_often=tuple(seen.too_often),
        too_many_plans=tuple(seen.too_many_plans),
        not_kept=tuple(seen.not_kept),
        by_model=seen.by_model,
        longest_s=seen.longest,
        deadline_s=deadline,
        grown_mb=resident_mb() - begun,
    )


def _settings(folder: Path, url: str, stage_s: float = STAGE_S) -> Settings:
    stages = {name: {"timeout_s": stage_s} for name in ("plan", "retrieval", "answer")}
    return Settings(
        db=str(folder / "notes.db"),
        embedder="none",
        index_folder=folder / "indexes",
        model_url=url,
        model_name="faulty:1",
        model_deadline_s=stage_s,
        model_concurrency=8,
        research={"synthesis_s": stage_s, **stages},
    )


def _fill(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with open_engine(_settings(folder, "http://127.0.0.1:9/v1"), run_once=True) as engine:
        for title, body in NOTES.items():
            engine.saver.save(SCOPE, Draft(title=title, body=body))


def _one(folder: Path, fault: str, acts: Sequence[Act], seen: _Seen) -> float:
    """One question; gives back all deadlines together."""
    with _place(fault, acts) as (url, service):
        settings = _settings(folder, url, SOUND_S if fault == SOUND else STAGE_S)
        with open_engine(settings, run_once=True) as engine:
            # A kept reply would answer for the server: each question is another.
            question = f"{QUESTION} ({fault} {len(seen.raised)} {sum(map(len, seen.faults.values()))} {time.time_ns()})"
            research = open_research(settings, engine, SCOPE)
            began = time.monotonic()
            try:
                answer: TracedAnswer | Exception = research.ask(SCOPE, question)
            except Exception as problem:  # noqa: BLE001 - that nothing is raised is what is to be shown
                answer = problem
            seconds = time.monotonic() - began
            seen.note(fault, answer, _sent(service), seconds)
            return research.longest_s


def _sent(service: FaultService | None) -> Counter[str]:
    """How often each question was sent: the repair of a reply belongs to what it repairs."""
    heard = [] if service is None else [one for one in service.heard if one.method == "POST" and one.body]
    return Counter(json.dumps(one.body["messages"][:2]) for one in heard)


@contextmanager
def _place(fault: str, acts: Sequence[Act]) -> Iterator[tuple[str, FaultService | None]]:
    if fault == "refused":
        with refusing() as url:
            yield url, None
    else:
        with serving(*acts) as service:
            yield service.url, service


def _ended(answer: TracedAnswer) -> str:
    session = answer.session
    if session.judge_failed:
        return "judge_failed"
    return "skipped" if session.skipped else f"scored by {session.evaluated_by}"


def sound(handler: Handler) -> None:
    """A reply in the shape that was asked for."""
    body = handler.heard.body
    if body is None:
        sending(b"{}", 404)(handler)
        return
    asked = body.get("response_format", {}).get("json_schema", {})
    sending(envelope(json.dumps(_filled(asked.get("schema", {"type": "object"})))))(handler)


def _filled(schema: Mapping[str, Any]) -> Any:
    """A value that fits a schema."""
    kind = schema["type"]
    if kind == "object":
        return {name: _filled(inner) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [_filled(schema["items"])]
    if "enum" in schema:
        return schema["enum"][0]
    return {"string": "session cookie", "boolean": False, "integer": 1}.get(kind, 0.9)
