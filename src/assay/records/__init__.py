"""The values Assay speaks in: frozen, keyword-only, checked when made.

`memory` what is remembered, `evidence` what is written down while it is used and measured, `history` what happened
to the store, `scope` whose rows, `values` the checks, `ids` how ids are made, `heading_path` how headings are spelt.
`searching` a search from request to explained result, `saving` a save from draft to decision.
What metrics read: `anchors` and `answers` one case of a RAG system, `sessions` and `writes` one of a memory, `runs` and
`indexed` how it ran and was indexed, `equivalence` what counts as the same, `outcome` and `rate` what came of it.
"""

from assay.records.anchors import ConflictRule, FolderChoice, FolderMode, GoldAnchors, GoldSupport, RetrievedChunk
from assay.records.answers import AnsweredCase, Claim, GivenAnswer, RubricVerdict
from assay.records.equivalence import EquivalenceClasses
from assay.records.erasing import Erased, ErasurePlan, Forget, Titled
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
from assay.records.indexed import IndexedDocument, IndexVersions
from assay.records.memory import Chunk, Edge, EdgeKind, Format, MemoryRecord, Tier
from assay.records.rate import Rate
from assay.records.runs import CaseRun, CaseStatus, JudgeCall, TokenPrice
from assay.records.saving import Draft, Mask, Nearest, Quality, QualityPart, SaveOutcome, Step
from assay.records.scope import DEFAULT_TENANT, Scope
from assay.records.searching import (
    Boost,
    Channel,
    Explanation,
    Filters,
    FusionMethod,
    Hit,
    HitPassage,
    Intent,
    Mode,
    PassageScore,
    Pinned,
    Pressure,
    SearchRequest,
    SearchResult,
    Stage,
    Telemetry,
    Vote,
)
from assay.records.sessions import (
    KnownFile,
    SessionMemory,
    SessionQuery,
    SessionSummary,
    SessionTotals,
    SummarisedQuery,
    TaskEnded,
    TaskOutcome,
    TaskRecord,
    TaskReport,
)
from assay.records.writes import ContradictingPair, SaveDecision, SaveTrial

__all__ = [
    "DEFAULT_TENANT",
    "AbTest",
    "AbTestStatus",
    "AnsweredCase",
    "AuditEntry",
    "Boost",
    "CaseRun",
    "CaseStatus",
    "Change",
    "Channel",
    "ChannelCandidates",
    "Chunk",
    "Claim",
    "ConflictRule",
    "ContradictingPair",
    "Draft",
    "Edge",
    "EdgeKind",
    "EquivalenceClasses",
    "Erased",
    "ErasurePlan",
    "EvalResult",
    "EventType",
    "Explanation",
    "FeedbackEvent",
    "Filters",
    "FolderChoice",
    "FolderMode",
    "Forget",
    "Format",
    "FusionMethod",
    "GivenAnswer",
    "GoldAnchors",
    "GoldSupport",
    "Hit",
    "HitPassage",
    "IdFactory",
    "IndexVersions",
    "IndexedDocument",
    "Intent",
    "JudgeCall",
    "Judgment",
    "JudgmentSource",
    "KnownFile",
    "LogPosition",
    "LoggedQuery",
    "Mask",
    "MemoryRecord",
    "Mode",
    "Nearest",
    "Operation",
    "Origin",
    "PassageScore",
    "Pinned",
    "Pressure",
    "Quality",
    "QualityPart",
    "Rate",
    "RetrievedChunk",
    "RowKind",
    "RubricVerdict",
    "RunType",
    "SaveDecision",
    "SaveOutcome",
    "SaveTrial",
    "Scope",
    "SearchRequest",
    "SearchResult",
    "SessionMemory",
    "SessionQuery",
    "SessionSummary",
    "SessionTotals",
    "ShadowRun",
    "Stage",
    "Step",
    "SummarisedQuery",
    "TaskEnded",
    "TaskOutcome",
    "TaskRecord",
    "TaskReport",
    "Telemetry",
    "Tier",
    "Titled",
    "TokenPrice",
    "Vote",
]
