"""The values Assay speaks in: frozen, keyword-only, checked when made.

`memory` what is remembered, `evidence` what is written down while it is used and measured, `history` what happened
to the store, `scope` whose rows, `values` the checks, `ids` how ids are made, `heading_path` how headings are spelt.
"""

from assay.records.evidence import (
    AbTest,
    AbTestStatus,
    ChannelCandidates,
    EvalResult,
    EventType,
    FeedbackEvent,
    Judgment,
    JudgmentSource,
    LoggedQuery,
    Origin,
    RunType,
    ShadowRun,
)
from assay.records.history import AuditEntry, Change, LogPosition, Operation, RowKind
from assay.records.ids import IdFactory
from assay.records.memory import Chunk, Edge, EdgeKind, Format, MemoryRecord, Tier
from assay.records.scope import DEFAULT_TENANT, Scope

__all__ = [
    "DEFAULT_TENANT",
    "AbTest",
    "AbTestStatus",
    "AuditEntry",
    "Change",
    "ChannelCandidates",
    "Chunk",
    "Edge",
    "EdgeKind",
    "EvalResult",
    "EventType",
    "FeedbackEvent",
    "Format",
    "IdFactory",
    "Judgment",
    "JudgmentSource",
    "LogPosition",
    "LoggedQuery",
    "MemoryRecord",
    "Operation",
    "Origin",
    "RowKind",
    "RunType",
    "Scope",
    "ShadowRun",
    "Tier",
]
