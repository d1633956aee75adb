"""The calls that a memory has in this process and over HTTP alike: one method for each verb.

`assay.Memory` answers them with its own engine, `assay.Client` with a server.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from assay.records import (
    Channel,
    Edge,
    EdgeKind,
    ErasedMemory,
    FolderCounts,
    FolderMode,
    Format,
    Intent,
    JudgmentSource,
    LoggedQuery,
    MemoryPage,
    MemoryStatus,
    Mode,
    Origin,
    PackedContext,
    RecentSessions,
    SaveOutcome,
    SearchPage,
    SearchResult,
    SessionSummary,
    TaskEnded,
    TaskOutcome,
    TaskOutcomes,
    TaskRecord,
    Tier,
    TierChange,
    Why,
)
from assay.records.access import Access, CreatedToken, SignInLine, SignInList, TenantPage, TokenLine, TokenList
from assay.records.attribution import Attribution
from assay.records.flags import (
    CollectedVotes,
    FlagList,
    FlagState,
    LadderList,
    LadderPage,
    LadderStep,
    ShadowList,
    ShadowSummary,
    TrialState,
    VoteKind,
    WatchedChanges,
)
from assay.records.learning import (
    CaughtUp,
    LearnedTerms,
    LearningChanges,
    LearningStatus,
    RecordedEvents,
    RolledBack,
    Validated,
)
from assay.records.maintenance import AuditChains, AuditPage
from assay.records.memory_list import HealthReport
from assay.records.traces import ShownTrace, TraceCases, TraceFault, TracePage, TraceReport
from assay.verbs import Verb, auditing, health, reading, searching, usage
from assay.verbs import access as access_verbs
from assay.verbs import flags as flag_verbs
from assay.verbs import judgments as judgment_verbs
from assay.verbs import ladder as ladder_verbs
from assay.verbs import learning as learning_verbs
from assay.verbs import memory as memory_verbs
from assay.verbs import sessions as session_verbs
from assay.verbs import traces as trace_verbs
from assay.verbs import variants as variant_verbs
from assay.verbs.judgments import CollectedJudgments, JudgmentPage, JudgmentStatus, KeptJudgments, ModelGrades
from assay.verbs.variants import RemovedVariant

Result = TypeVar("Result")


class MemoryCalls(ABC):
    """What a memory can be asked to do."""

    @abstractmethod
    def _call(self, verb: Verb[Any, Result], /, **given: Any) -> Result:
        """Call a verb with the fields of its request."""

    def save(
        self,
        title: str,
        body: str,
        *,
        triggers: Sequence[str] | None = None,
        tier: Tier | str | None = None,
        folder: str | None = None,
        tags: Sequence[str] | None = None,
        format: Format | str = Format.MARKDOWN,  # noqa: A002 - the record's own word
        context_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        source_id: str | None = None,
        valid_from: datetime | None = None,
        automated: bool = False,
        **more: Any,
    ) -> SaveOutcome:
        """Keep a memory; the outcome says what every step decided.

        What is not given is empty in a new memory; an update takes it over from the memory it supersedes. Give an empty
        value, such as `tags=()`, to save without. `more` are further fields of the request, such as rel_path.
        """
        return self._call(
            memory_verbs.SAVE,
            title=title,
            body=body,
            triggers=triggers,
            tier=tier,
            folder=folder,
            tags=tags,
            format=format,
            context_type=context_type,
            metadata=metadata,
            source_id=source_id,
            valid_from=valid_from,
            automated=automated,
            **more,
        )

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        mode: Mode | str = Mode.AUTO,
        intent: Intent | str | None = None,
        folder: str | None = None,
        folder_mode: FolderMode | str = FolderMode.OFF,
        tiers: Sequence[Tier | str] = (),
        tags: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        include_superseded: bool = False,
        channels: Sequence[Channel | str] | None = None,
        previous_query: str | None = None,
        session_id: str | None = None,
        context_type: str | None = None,
        token_budget: int | None = None,
        tokens_used: int = 0,
        min_relevance: float | None = None,
        explain: bool = False,
    ) -> SearchResult:
        """Find memories: hits with score, title and text; with `explain`, every number behind the score, and steps.

        `min_relevance` leaves out hits with a lower probability of being relevant; the result counts them.
        `previous_query` is the question before this one in a conversation, so that a follow-up is understood.
        """
        return self._call(
            searching.SEARCH,
            query=query,
            k=k,
            mode=mode,
            intent=intent,
            folder=folder,
            folder_mode=folder_mode,
            tiers=tiers,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            include_superseded=include_superseded,
            channels=channels,
            previous_query=previous_query,
            session_id=session_id,
            context_type=context_type,
            token_budget=token_budget,
            tokens_used=tokens_used,
            min_relevance=min_relevance,
            explain=explain,
        )

    def context(
        self,
        query: str,
        *,
        token_budget: int = 2_000,
        k: int = 20,
        folder: str | None = None,
        context_type: str | None = None,
        tokens_used: int = 0,
        session_id: str | None = None,
    ) -> PackedContext:
        """Pack everything to know for a task into a token budget: standing rules first, then what is relevant.

        `tokens_used` is what your context already holds of the budget.
        """
        return self._call(
            searching.CONTEXT,
            query=query,
            token_budget=token_budget,
            k=k,
            folder=folder,
            context_type=context_type,
            tokens_used=tokens_used,
            session_id=session_id,
        )

    def match_triggers(self, text: str, *, k: int | None = None, session_id: str | None = None) -> SearchResult:
        """Find memories one of whose trigger phrases stands in a text word for word."""
        return self._call(searching.TRIGGERS, text=text, k=k, session_id=session_id)

    def link(
        self, source_id: str, kind: EdgeKind | str, target_id: str, *, strength: float = 1.0, evidence: str = ""
    ) -> Edge:
        """Join two memories: the first caused, enabled, supports, ... the second."""
        return self._call(
            memory_verbs.LINK,
            source_id=source_id,
            kind=kind,
            target_id=target_id,
            strength=strength,
            evidence=evidence,
        )

    def why(self, memory_id: str) -> Why:
        """What caused, enabled or supports a memory, and what stands behind that in turn."""
        return self._call(memory_verbs.WHY, memory_id=memory_id)

    def list(
        self,
        *,
        folder: str | None = None,
        tags: Sequence[str] = (),
        tier: Tier | str | None = None,
        status: MemoryStatus | str | None = None,
        since: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> MemoryPage:
        """One page of memories, newest first, with how many there are; `cursor` is `next_cursor` of the page before."""
        return self._call(
            reading.LIST_MEMORIES,
            folder=folder,
            tags=tags,
            tier=tier,
            status=status,
            since=since,
            limit=limit,
            cursor=cursor,
        )

    def folders(self) -> FolderCounts:
        """Every folder and how many current memories are in it."""
        return self._call(reading.FOLDERS)

    def update(self, memory_id: str, *, automated: bool = False, **changes: Any) -> SaveOutcome:
        """Save a new version of a memory that takes its place.

        `changes` are title, body, triggers, tags, folder, tier, format, context_type or metadata; what is not given
        stays. As with `save`, `automated` says that a program writes on its own.
        """
        return self._call(memory_verbs.UPDATE, memory_id=memory_id, automated=automated, **changes)

    def tier(self, memory_id: str, tier: Tier | str, *, reason: str = "") -> TierChange:
        """Change the tier of a memory in place; the answer names the tier it had, which undoes the change."""
        return self._call(memory_verbs.TIER, memory_id=memory_id, tier=tier, reason=reason)

    def erase(self, memory_id: str, *, versions: bool = False) -> ErasedMemory:
        """Erase a memory to the last byte, as `forget` does, and count what was erased."""
        return self._call(reading.ERASE, memory_id=memory_id, versions=versions)

    def restore(self, memory_id: str) -> SaveOutcome:
        """Bring back a forgotten, quarantined or superseded memory, or take a merge apart."""
        return self._call(memory_verbs.RESTORE, memory_id=memory_id)

    def validate(
        self,
        memory_id: str,
        was_useful: bool,
        *,
        query_id: str | None = None,
        session_id: str | None = None,
        note: str = "",
        event_key: str | None = None,
    ) -> Validated:
        """Say whether a memory was useful: it moves how much the memory is trusted and where it ranks."""
        return self._call(
            usage.VALIDATE,
            memory_id=memory_id,
            was_useful=was_useful,
            query_id=query_id,
            session_id=session_id,
            note=note,
            event_key=event_key,
        )

    def record(self, events: Sequence[Mapping[str, Any]]) -> RecordedEvents:
        """Record what was read or written; an event has a session_id, and one of memory_id, path and wrote."""
        return self._call(usage.RECORD, events=list(events))

    def health(self) -> HealthReport:
        """Whether every channel finds what it should, and how everything around it is."""
        return self._call(health.HEALTH)

    def flags(self) -> FlagList:
        """Every flag as it stands."""
        return self._call(flag_verbs.LIST)

    def set_flag(
        self,
        name: str,
        percent: int | None = None,
        *,
        shadow: bool | None = None,
        graduates_itself: bool | None = None,
        why: str | None = None,
    ) -> FlagState:
        """Switch a flag or a variant: 0 is off, 100 is on for everybody; what is None stays as it was.

        `why` is kept in the audit log.
        """
        return self._call(
            flag_verbs.SET, name=name, percent=percent, shadow=shadow, graduates_itself=graduates_itself, why=why
        )

    def review_flag(self, name: str) -> FlagState:
        """Say that you have looked at what a flag did, so that it may act."""
        return self._call(flag_verbs.REVIEW, name=name)

    def variants(self) -> FlagList:
        """Return every variant: other configurations and systems that are compared with what is served."""
        return self._call(variant_verbs.LIST)

    def define_variant(self, name: str, spec: str) -> FlagState:
        """Define a variant: a spec such as `assay:search.fusion=rrf` under a name of its own."""
        return self._call(variant_verbs.DEFINE, name=name, spec=spec)

    def remove_variant(self, name: str) -> RemovedVariant:
        """Delete a variant; what was measured of it is kept."""
        return self._call(variant_verbs.REMOVE, name=name)

    def shadow(self) -> ShadowList:
        """Return what shadow runs came to, by change, intent and session."""
        return self._call(variant_verbs.SHADOW)

    def replay_shadow(self, feature_id: str, last: int = 200) -> ShadowSummary:
        """Ask the newest searches of use again, with a change and without it, and compare."""
        return self._call(variant_verbs.REPLAY, feature_id=feature_id, last=last)

    def add_judgments(
        self, judgments: Sequence[Mapping[str, Any]], *, annotator: str = "", by_model: bool = False
    ) -> KeptJudgments:
        """Keep grades of logged searches: each has a query_id, a memory_id and a relevance of 0 to 3."""
        return self._call(judgment_verbs.ADD, judgments=list(judgments), annotator=annotator, by_model=by_model)

    def judgments(
        self,
        *,
        query_id: str | None = None,
        source: JudgmentSource | str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> JudgmentPage:
        """Return one page of judgments, or all of one search."""
        return self._call(judgment_verbs.LIST, query_id=query_id, source=source, cursor=cursor, limit=limit)

    def collect_judgments(self) -> CollectedJudgments:
        """Keep what use says of results as judgments."""
        return self._call(judgment_verbs.COLLECT)

    def grade_by_model(self, most: int = 100) -> ModelGrades:
        """Let the model of the settings grade what searches found, pairs that people graded first."""
        return self._call(judgment_verbs.GRADE, most=most)

    def judgment_status(self) -> JudgmentStatus:
        """Return how many judgments each source gave, what reads them, and which models' grades count."""
        return self._call(judgment_verbs.STATUS)

    def changes(self) -> LadderList:
        """Return every change that took a step on the ladder, with its last one."""
        return self._call(ladder_verbs.LIST)

    def change(self, feature_id: str) -> LadderPage:
        """Return everything known of a change: its steps, its test, and the four conditions of graduation."""
        return self._call(ladder_verbs.SHOW, feature_id=feature_id)

    def begin_test(
        self, feature_id: str, kind: VoteKind | str = VoteKind.PAIRED, *, why: str | None = None
    ) -> TrialState:
        """Begin a sequential test of a flag, or a new attempt after one that ended; `why` is kept."""
        return self._call(ladder_verbs.BEGIN, feature_id=feature_id, kind=kind, why=why)

    def pause_test(self, feature_id: str, why: str | None = None) -> TrialState:
        """Stop taking votes; `why` is kept."""
        return self._call(ladder_verbs.PAUSE, feature_id=feature_id, why=why)

    def resume_test(self, feature_id: str, why: str | None = None) -> TrialState:
        """Go on with a paused test and the votes it has; `why` is kept."""
        return self._call(ladder_verbs.RESUME, feature_id=feature_id, why=why)

    def collect_votes(self, feature_id: str) -> CollectedVotes:
        """Turn what was seen since the last time into votes, and decide what can be decided."""
        return self._call(ladder_verbs.COLLECT, feature_id=feature_id)

    def graduate(self, feature_id: str, why: str | None = None) -> LadderStep:
        """Give a change to all users; refused while one of the four conditions does not hold. `why` is kept."""
        return self._call(ladder_verbs.GRADUATE, feature_id=feature_id, why=why)

    def roll_back(self, feature_id: str, why: str | None = None) -> LadderStep:
        """Set a flag back to what it was before it graduated; `why` is kept."""
        return self._call(ladder_verbs.ROLL_BACK, feature_id=feature_id, why=why)

    def watch_changes(self) -> WatchedChanges:
        """Look after every change that has graduated, and take back what breaks a guardrail."""
        return self._call(ladder_verbs.WATCH)

    def learning(self) -> LearningStatus:
        """Return how learning stands: what is on, what was learned, and what keeps it from being applied."""
        return self._call(learning_verbs.STATUS)

    def learn(self) -> CaughtUp:
        """Learn from what was recorded since the last time; a running program does so by itself."""
        return self._call(learning_verbs.RUN)

    def learned_terms(self, memory_id: str | None = None) -> LearnedTerms:
        """Return learned terms with their state."""
        return self._call(learning_verbs.TERMS, memory_id=memory_id)

    def learning_changes(
        self,
        *,
        memory_id: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> LearningChanges:
        """Return one page of what learning did to memories, oldest first."""
        return self._call(learning_verbs.LIST_CHANGES, memory_id=memory_id, since=since, limit=limit, cursor=cursor)

    def approve_learning(self) -> LearningStatus:
        """Let learned terms into memories; raises `NotReady` while anything else is missing."""
        return self._call(learning_verbs.APPROVE)

    def roll_back_learning(
        self, *, memory_id: str | None = None, since: datetime | None = None, writer: str | None = None
    ) -> RolledBack:
        """Take back votes, promotions and learned terms: of a memory, from a moment on, by a writer."""
        return self._call(learning_verbs.ROLL_BACK, memory_id=memory_id, since=since, writer=writer)

    def sessions(self, *, limit: int = 20, cursor: str | None = None) -> RecentSessions:
        """Return one page of sessions, those with the newest searches first."""
        return self._call(session_verbs.LIST_SESSIONS, limit=limit, cursor=cursor)

    def session(self, session_id: str) -> SessionSummary:
        """Show what happened in a session: its searches, the memories it met, its tasks and its numbers."""
        return self._call(session_verbs.SHOW_SESSION, session_id=session_id)

    def searches(self, *, origin: Origin | str | None = None, limit: int = 50, cursor: str | None = None) -> SearchPage:
        """Return one page of the log of searches, newest first; `origin` is why they were asked."""
        return self._call(session_verbs.LIST_SEARCHES, origin=origin, limit=limit, cursor=cursor)

    def logged_search(self, query_id: str) -> LoggedQuery:
        """Show one logged search with what every channel offered."""
        return self._call(session_verbs.SHOW_SEARCH, query_id=query_id)

    def attribution(self, *, since: datetime | None = None, until: datetime | None = None) -> Attribution:
        """Return what each channel gave to the searches of use, by default of the last 30 days."""
        return self._call(session_verbs.ATTRIBUTION, since=since, until=until)

    def preflight(
        self,
        task_id: str,
        *,
        knowledge: float,
        uncertainty: float,
        context: float,
        goal: str = "",
        folder: str = "",
        session_id: str | None = None,
    ) -> TaskRecord:
        """Say what is known before a task, each from 0 to 1; may be said again until the task has ended."""
        return self._call(
            session_verbs.PREFLIGHT,
            task_id=task_id,
            knowledge=knowledge,
            uncertainty=uncertainty,
            context=context,
            goal=goal,
            folder=folder,
            session_id=session_id,
        )

    def postflight(
        self,
        task_id: str,
        *,
        knowledge: float,
        uncertainty: float,
        context: float,
        result: str = "",
        outcome: TaskOutcome | str | None = None,
        useful: Sequence[str] = (),
        not_useful: Sequence[str] = (),
        session_id: str | None = None,
    ) -> TaskEnded:
        """Say what is known after a task and which memories helped; the result lists what is left to judge.

        `outcome` says how the task ended: done, failed or abandoned.
        """
        return self._call(
            session_verbs.POSTFLIGHT,
            task_id=task_id,
            knowledge=knowledge,
            uncertainty=uncertainty,
            context=context,
            result=result,
            outcome=outcome,
            useful=useful,
            not_useful=not_useful,
            session_id=session_id,
        )

    def task_outcomes(self) -> TaskOutcomes:
        """Compare the searches of tasks that were done with those of tasks that failed, with intervals."""
        return self._call(session_verbs.OUTCOMES)

    def audit(self, **filters: Any) -> AuditPage:
        """Return one page of the audit log, newest first.

        Filters are action, actor, target, since, until, all_tenants, limit and cursor.
        """
        return self._call(auditing.LIST, **filters)

    def check_audit(self, *, all_tenants: bool = False) -> AuditChains:
        """Check that no entry of the audit log was changed or removed."""
        return self._call(auditing.CHECK, all_tenants=all_tenants)

    def tenants(self, *, cursor: str | None = None, limit: int = 100) -> TenantPage:
        """One page of the tenants of the store, with counts of their memories and tokens; for operators."""
        return self._call(access_verbs.LIST_TENANTS, cursor=cursor, limit=limit)

    def tokens(self, *, all_tenants: bool = False) -> TokenList:
        """Every token of the tenant, never their text; of every tenant for operators."""
        return self._call(access_verbs.LIST_TOKENS, all_tenants=all_tenants)

    def create_token(
        self, name: str, access: Access | str = Access.READ, *, days: int | None = None, person: bool = False
    ) -> CreatedToken:
        """Make a token that lets others reach a server; its text is in the result, and nowhere else."""
        return self._call(access_verbs.CREATE_TOKEN, name=name, access=access, days=days, person=person)

    def revoke_token(self, token_id: str) -> TokenLine:
        """Let a token open nothing from now on."""
        return self._call(access_verbs.REVOKE_TOKEN, token_id=token_id)

    def sign_ins(self) -> SignInList:
        """Every browser that signed in with a token of the tenant."""
        return self._call(access_verbs.LIST_SIGN_INS)

    def end_sign_in(self, session_id: str) -> SignInLine:
        """Let a browser's sign-in open nothing from now on."""
        return self._call(access_verbs.END_SIGN_IN, session_id=session_id)

    def traces(
        self,
        *,
        session_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        cursor: str | None = None,
        limit: int = 20,
    ) -> TracePage:
        """One page of the traces of other systems, newest first."""
        return self._call(
            trace_verbs.LIST_TRACES, session_id=session_id, since=since, until=until, cursor=cursor, limit=limit
        )

    def trace(self, trace_id: str, *, slow_ms: float = trace_verbs.SLOW_MS) -> ShownTrace:
        """One trace: its spans, the way of each document to the answer, and its checks."""
        return self._call(trace_verbs.SHOW, trace_id=trace_id, slow_ms=slow_ms)

    def trace_report(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        most: int = 1_000,
        slow_ms: float = trace_verbs.SLOW_MS,
    ) -> TraceReport:
        """What the newest traces of a period come to, and what could not be measured."""
        return self._call(trace_verbs.REPORT, since=since, until=until, most=most, slow_ms=slow_ms)

    def traces_to_cases(
        self,
        dataset: str,
        *,
        trace_ids: Sequence[str] = (),
        failing: Sequence[TraceFault | str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        most: int = 1_000,
        slow_ms: float = trace_verbs.SLOW_MS,
    ) -> TraceCases:
        """Make traces cases of a dataset, for people to label: those named, or those with one of the faults."""
        return self._call(
            trace_verbs.CASES,
            dataset=dataset,
            trace_ids=trace_ids,
            failing=failing,
            since=since,
            until=until,
            most=most,
            slow_ms=slow_ms,
        )
