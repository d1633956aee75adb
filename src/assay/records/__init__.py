"""The values that Assay works with: frozen, keyword-only, checked when they are created.

Memories and searches:
- `memory`: memories with their chunks and edges, and the kinds of documents.
- `memory_list`: lists of memories, one memory in full, its history, and the health of a memory.
- `saving`: a save, from the draft to the decision.
- `facts`: facts of memories, and which of them hold no longer.
- `searching`: a search, from the request to the explained result.
- `sessions`: sessions of agents, and the tasks done in them.
- `attribution`: what each channel gave to the searches of use.
- `learning`: learning from use: observations, validations and learned terms.

Evaluation:
- `datasets`: golden datasets: documents, cases, expectations.
- `answers`: answers of a RAG system, and the anchors of their evidence.
- `evaluations`: intervals, the outcome of each case, rates, and the run with its instrument.
- `run_results`: results of runs, of comparisons and of the gate, with caveats, as every surface shows them.
- `rankings`: judgments and rankings in columns (needs numpy).
- `judging`: inputs and verdicts of judges, calibration, and the results of a panel.

Answered questions:
- `research`: a question, from the plan to the evaluated answer.
- `research_log`: the log of answered questions, and versions of prompts.
- `alerts`: rates of answered questions that changed.
- `traces`: spans of other systems, what an import did, and what a trace comes to.
- `analysis`: statistics of answered questions, patterns in low scores, comparisons of prompt versions.

The store and its users:
- `evidence`: rows of the evidence store: queries, judgments, results, feedback, changes and audit entries.
- `explanations`: why queries of a run lost their gold.
- `flags`: feature flags, and the ladder by which a change is tested and promoted.
- `access`: grants, tokens, sign-ins and owners of files.
- `coordination`: what several servers over one store agree on: leases, limits, live questions.
- `maintenance`: checkpoints, retention, rescanning for secrets, erasing and the audit log.
- `store_audits`: audits of memory stores that other tools wrote, repair plans and their results.
- `scope`: which rows a call may read and write, and ids that sort by time.

Building blocks:
- `values`: checks of single values.
- `fields`: checks of a record's fields, and records as JSON and TOML.
- `heading_path`: heading paths such as `Guide > Install > Linux`.
"""

from assay.records.answers import (
    AnsweredCase,
    Claim,
    ConflictRule,
    EquivalenceClasses,
    FolderMode,
    GivenAnswer,
    GoldAnchors,
    GoldSupport,
    RetrievedChunk,
    RubricVerdict,
)
from assay.records.evaluations import CaseRun, CaseStatus, Rate
from assay.records.evidence import (
    AbTest,
    AbTestStatus,
    AuditEntry,
    Change,
    ChannelCandidates,
    EvalResult,
    EventType,
    FeedbackEvent,
    Judgment,
    JudgmentSource,
    LoggedQuery,
    LogPosition,
    Operation,
    Origin,
    RowKind,
    RunType,
    ShadowRun,
)
from assay.records.facts import OutdatedFact, ShownFact
from assay.records.maintenance import Erased, ErasedMemory, ErasurePlan, Forget, Titled
from assay.records.memory import (
    Author,
    AuthorKind,
    Chunk,
    Draft,
    Edge,
    EdgeKind,
    Format,
    MemoryRecord,
    MemoryStatus,
    Tier,
    make_draft,
)
from assay.records.memory_list import (
    FolderCounts,
    MemoryFilter,
    MemoryLine,
    MemoryList,
    MemoryOrder,
    MemoryPage,
    Reason,
    SaveLine,
    ShownEdge,
    ShownMemory,
    Why,
    line_of,
)
from assay.records.saving import (
    ContradictingPair,
    ForgottenMemory,
    IndexedDocument,
    IndexVersions,
    Inherited,
    Mask,
    Nearest,
    Quality,
    QualityPart,
    SaveDecision,
    SaveOutcome,
    SaveTrial,
    Step,
    TierChange,
)
from assay.records.scope import DEFAULT_TENANT, IdFactory, Scope
from assay.records.searching import (
    Boost,
    Channel,
    Contradiction,
    CosineSpread,
    Explanation,
    FactMove,
    Filters,
    FusionMethod,
    HeldBack,
    Hit,
    HitPassage,
    HopStep,
    Intent,
    Mode,
    PackedContext,
    PassageScore,
    Pinned,
    Pressure,
    RelevanceClue,
    RelevanceReason,
    SearchRequest,
    SearchResult,
    Stage,
    Telemetry,
    TrustMove,
    Vote,
)
from assay.records.sessions import (
    KnownFile,
    RecentSession,
    RecentSessions,
    SearchLine,
    SearchPage,
    SessionMemory,
    SessionQuery,
    SessionSummary,
    SessionTotals,
    SummarisedQuery,
    TaskChange,
    TaskEnded,
    TaskOutcome,
    TaskOutcomes,
    TaskRecord,
    TaskReport,
    search_line,
)

__all__ = [
    "DEFAULT_TENANT",
    "AbTest",
    "AbTestStatus",
    "AnsweredCase",
    "AuditEntry",
    "Author",
    "AuthorKind",
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
    "Contradiction",
    "CosineSpread",
    "Draft",
    "Edge",
    "EdgeKind",
    "EquivalenceClasses",
    "Erased",
    "ErasedMemory",
    "ErasurePlan",
    "EvalResult",
    "EventType",
    "Explanation",
    "FactMove",
    "FeedbackEvent",
    "Filters",
    "FolderCounts",
    "FolderMode",
    "Forget",
    "ForgottenMemory",
    "Format",
    "FusionMethod",
    "GivenAnswer",
    "GoldAnchors",
    "GoldSupport",
    "HeldBack",
    "Hit",
    "HitPassage",
    "HopStep",
    "IdFactory",
    "IndexVersions",
    "IndexedDocument",
    "Inherited",
    "Intent",
    "Judgment",
    "JudgmentSource",
    "KnownFile",
    "LogPosition",
    "LoggedQuery",
    "Mask",
    "MemoryFilter",
    "MemoryLine",
    "MemoryList",
    "MemoryOrder",
    "MemoryPage",
    "MemoryRecord",
    "MemoryStatus",
    "Mode",
    "Nearest",
    "Operation",
    "Origin",
    "OutdatedFact",
    "PackedContext",
    "PassageScore",
    "Pinned",
    "Pressure",
    "Quality",
    "QualityPart",
    "Rate",
    "Reason",
    "RecentSession",
    "RecentSessions",
    "RelevanceClue",
    "RelevanceReason",
    "RetrievedChunk",
    "RowKind",
    "RubricVerdict",
    "RunType",
    "SaveDecision",
    "SaveLine",
    "SaveOutcome",
    "SaveTrial",
    "Scope",
    "SearchLine",
    "SearchPage",
    "SearchRequest",
    "SearchResult",
    "SessionMemory",
    "SessionQuery",
    "SessionSummary",
    "SessionTotals",
    "ShadowRun",
    "ShownEdge",
    "ShownFact",
    "ShownMemory",
    "Stage",
    "Step",
    "SummarisedQuery",
    "TaskChange",
    "TaskEnded",
    "TaskOutcome",
    "TaskOutcomes",
    "TaskRecord",
    "TaskReport",
    "Telemetry",
    "Tier",
    "TierChange",
    "Titled",
    "TrustMove",
    "Vote",
    "Why",
    "line_of",
    "make_draft",
    "search_line",
]
