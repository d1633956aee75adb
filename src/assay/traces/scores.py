"""Scores of traces as `gen_ai.evaluation.result` events, by the OpenTelemetry GenAI conventions.

The events of a trace stand in one span of their own in that trace, below the span that was checked. Its id follows from
the trace, so that a backend that gets the scores twice has them once. A score that is missing has no value, not 0.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.formats.files import write_lines
from assay.records.traces import TraceCheck
from assay.traces.analysis import GROUNDEDNESS, AnalysedTrace
from assay.traces.reading import EPOCH

EVENT = "gen_ai.evaluation.result"
SPAN_NAME = "assay evaluation"
NOT_MEASURED = "not_measured"
_HEX_32 = re.compile(r"[0-9a-f]{32}")
_HEX_16 = re.compile(r"[0-9a-f]{16}")
INTERNAL = 1
Attribute = str | float


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluatedTrace:
    """The scores of one trace, ready to leave."""

    trace_id: str
    """32 hexadecimal digits."""
    span_id: str
    """16 hexadecimal digits, the same whenever this trace is scored."""
    parent_id: str | None
    """The span that was checked; None: it has no id that OTLP can hold."""
    at: datetime
    judge: str
    events: tuple[dict[str, Attribute], ...]


def evaluate(trace: AnalysedTrace, *, at: datetime, texts: bool) -> EvaluatedTrace:
    """The scores of a trace. `texts`: explanations may quote the answer."""
    own_id = trace.summary.trace_id
    digits = own_id.replace("-", "").lower()
    span_id = next((check.span_id for check in trace.checks if check.span_id), None)
    return EvaluatedTrace(
        # The id of a UUID is its digits. What cannot be an id of OTLP is hashed; `assay.trace_id` names it.
        trace_id=digits if _HEX_32.fullmatch(digits) else _hash(own_id, 32),
        span_id=_hash(f"{SPAN_NAME} {own_id}", 16),
        parent_id=span_id if span_id and _HEX_16.fullmatch(span_id) else None,
        at=at,
        judge=trace.judge_name,
        events=tuple(_event(check, texts=texts) | {"assay.trace_id": own_id} for check in trace.checks),
    )


def _hash(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _event(check: TraceCheck, *, texts: bool) -> dict[str, Attribute]:
    told: dict[str, Attribute] = {"gen_ai.evaluation.name": check.name}
    if check.value is not None:
        told["gen_ai.evaluation.score.value"] = check.value
    label = check.label if check.value is not None else NOT_MEASURED
    if label:
        told["gen_ai.evaluation.score.label"] = label
    quotes = check.name == GROUNDEDNESS and check.value is not None
    if check.reason and (texts or not quotes):
        told["gen_ai.evaluation.explanation"] = check.reason
    return told


def write_scores(path: Path, evaluated: Iterable[EvaluatedTrace]) -> int:
    """Write an OTLP JSON file, one request a line, for the owner's eyes only; return the number of events."""
    events = 0

    def lines() -> Iterator[str]:
        nonlocal events
        for trace in evaluated:
            events += len(trace.events)
            yield json.dumps(to_otlp(trace), separators=(",", ":")) + "\n"

    write_lines(path, lines(), private=True)
    return events


def to_otlp(trace: EvaluatedTrace) -> dict[str, Any]:
    """The scores of one trace as a request of OTLP."""
    at = str(nanoseconds(trace.at))
    span = {
        "traceId": trace.trace_id,
        "spanId": trace.span_id,
        **({"parentSpanId": trace.parent_id} if trace.parent_id else {}),
        "name": SPAN_NAME,
        "kind": INTERNAL,
        "startTimeUnixNano": at,
        "endTimeUnixNano": at,
        "attributes": _attributes([("assay.judge", trace.judge)]),
        "events": [
            {"timeUnixNano": at, "name": EVENT, "attributes": _attributes(event.items())} for event in trace.events
        ],
        "status": {},
    }
    resource = {"attributes": _attributes([("service.name", "assay")])}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "assay"}, "spans": [span]}]}]}


def nanoseconds(moment: datetime) -> int:
    """A time as OTLP writes it."""
    return int((moment - EPOCH).total_seconds() * 1_000_000) * 1_000


def _attributes(pairs: Iterable[tuple[str, Attribute]]) -> list[dict[str, Any]]:
    return [
        {"key": name, "value": {"stringValue": value} if isinstance(value, str) else {"doubleValue": value}}
        for name, value in pairs
    ]


def count_events(evaluated: Sequence[EvaluatedTrace]) -> int:
    """The number of events of some traces."""
    return sum(len(trace.events) for trace in evaluated)
