"""What one trace comes to: its tree, question and answer, the way of each document, and its checks.

The checks are the built-in ones, by words alone: they need no model, and the same trace always gets the same scores. A
value that the spans do not allow to compute is None with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from assay.judging.builtin.judges import BuiltinGroundedness, JudgedClaim, read_abstention, verdict_of
from assay.records.judging import GroundednessVerdict
from assay.records.traces import (
    SEARCHES,
    ShownTrace,
    SpanLine,
    SpanRole,
    TraceCandidate,
    TraceCheck,
    TraceDocument,
    TraceFault,
    TraceSpan,
    TraceSummary,
)
from assay.storage.repositories.traces import MOST_SPANS
from assay.text.claims import claims

SLOW_MS = 10_000.0
"""From here on a trace counts as slow, unless the caller names another time."""
GROUNDEDNESS, ABSTENTION, STALENESS, LATENCY, COST = "groundedness", "abstention", "staleness", "latency_ms", "cost_usd"
_CITATION = re.compile(r"\[(\d{1,3})\]")
Superseded = Mapping[str, datetime | None]
"""Of documents that are memories of this store: since when each is superseded; None: it still holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenPrices:
    """Dollars for a million tokens of one model, for spans that state tokens and no cost."""

    model: str
    sent: float
    replied: float


@dataclass(frozen=True, kw_only=True, slots=True)
class AnalysisOptions:
    """What the reading of a trace depends on besides its spans."""

    slow_ms: float = SLOW_MS
    prices: TokenPrices | None = None


class AnalysedTrace:
    """One trace; every part is computed when it is asked for. `spans` has at least one span."""

    def __init__(
        self, spans: Sequence[TraceSpan], superseded: Superseded | None = None, options: AnalysisOptions | None = None
    ) -> None:
        self.spans = sorted(spans, key=lambda span: (span.started_at, span.span_id))
        self._superseded = superseded or {}
        self._options = options or AnalysisOptions()
        self._judge = BuiltinGroundedness()

    # --- The tree ---

    @cached_property
    def lines(self) -> tuple[SpanLine, ...]:
        """Spans as a tree in the order of their starts; one without its parent stands at the top."""
        known = {span.span_id for span in self.spans}
        children: dict[str | None, list[TraceSpan]] = {}
        for span in self.spans:
            children.setdefault(span.parent_id if span.parent_id in known else None, []).append(span)
        lines: list[SpanLine] = []
        placed: set[str] = set()
        self._place(children.get(None, ()), children, lines, placed)
        # What is left names parents in a circle.
        for span in self.spans:
            if span.span_id not in placed:
                self._place([span], children, lines, placed)
        return tuple(lines)

    def _place(
        self,
        roots: Iterable[TraceSpan],
        children: Mapping[str | None, list[TraceSpan]],
        lines: list[SpanLine],
        placed: set[str],
    ) -> None:
        waiting = [(root, 0) for root in reversed(list(roots))]
        while waiting:
            span, depth = waiting.pop()
            if span.span_id in placed:
                continue
            placed.add(span.span_id)
            offset = (span.started_at - self.spans[0].started_at).total_seconds() * 1_000
            orphan = depth == 0 and span.parent_id is not None
            lines.append(SpanLine(span=span, depth=depth, offset_ms=offset, orphan=orphan))
            waiting += [(child, depth + 1) for child in reversed(children.get(span.span_id, []))]

    @cached_property
    def root(self) -> TraceSpan | None:
        """The span that everything happened in; None: it is not stored, or there are several."""
        roots = [line.span for line in self.lines if line.depth == 0]
        return roots[0] if len(roots) == 1 and roots[0].parent_id is None else None

    @cached_property
    def searches(self) -> list[TraceSpan]:
        """Spans that searched, without those inside another search: that one has their result."""
        own = {span.span_id: span for span in self.spans}
        return [
            span
            for span in self.spans
            if span.role in SEARCHES and (span.parent_id not in own or own[span.parent_id].role not in SEARCHES)
        ]

    @cached_property
    def models(self) -> list[TraceSpan]:
        """Spans of models, without those that another one stands in: frameworks wrap the call that has the tokens."""
        order = {line.span.span_id: place for place, line in enumerate(self.lines)}
        own = [span for span in self.spans if span.role is SpanRole.MODEL]
        # In a circle of parents only one direction counts: the one that the tree shows.
        wrapping = {span.parent_id for span in own if order.get(span.parent_id or "", len(order)) < order[span.span_id]}
        return [span for span in own if span.span_id not in wrapping]

    # --- Question and answer ---

    @cached_property
    def question(self) -> str:
        """What was asked: of the root, else of the first search, else of the first model; empty: not recorded."""
        chosen = [*([self.root] if self.root else []), *self.searches, *self.models]
        return next((span.input for span in chosen if span.input.strip()), "")

    @cached_property
    def answered_by(self) -> TraceSpan | None:
        """The span whose output is the answer: the root unless it only searched, else the last model."""
        root = self.root
        if root is not None and root.output.strip() and root.role in (SpanRole.CHAIN, SpanRole.MODEL):
            return root
        models = [span for span in self.models if span.output.strip()]
        return max(models, key=lambda span: span.ended_at or span.started_at, default=None)

    @property
    def answer(self) -> str:
        """The answer; empty: none is recorded."""
        return "" if self.answered_by is None else self.answered_by.output

    # --- The way of each document ---

    @cached_property
    def reranker(self) -> TraceSpan | None:
        """The last reranking that states what it returned."""
        found = [span for span in self.spans if span.role is SpanRole.RERANKER and span.documents]
        return found[-1] if found else None

    @cached_property
    def given(self) -> tuple[TraceDocument, ...]:
        """The documents that the answer could use: of the last reranking, else of all searches, best ranks first."""
        if self.reranker is not None:
            return _distinct(self.reranker.documents)
        depth = max((len(span.documents) for span in self.searches), default=0)
        return _distinct(
            span.documents[rank] for rank in range(depth) for span in self.searches if rank < len(span.documents)
        )

    def lists(self) -> dict[str, tuple[str, ...]]:
        """The ids that each search returned, by its name; a name that comes again has a number."""
        found: dict[str, tuple[str, ...]] = {}
        for span in self.searches:
            name, number = span.name or span.role.value, 2
            while name in found:
                name, number = f"{span.name or span.role.value} {number}", number + 1
            found[name] = tuple(dict.fromkeys(document.id for document in span.documents))
        return found

    @cached_property
    def texts(self) -> dict[str, str]:
        """The text of each document, where a span carries it."""
        spans = [span for span in self.spans if span.role in SEARCHES or span.role is SpanRole.RERANKER]
        every = [document for span in spans for document in (*span.candidates, *span.documents)]
        return {document.id: document.text for document in every if document.text}

    @cached_property
    def documents(self) -> tuple[str, ...]:
        """Ids of all documents that were searched out or given, each once: what was given first."""
        found = [document.id for document in self.given]
        found += [document for ids in self.lists().values() for document in ids]
        return tuple(dict.fromkeys(found))

    def candidates(self) -> tuple[TraceCandidate, ...]:
        """Each document with its rank at every step, and whether the answer uses it."""
        lists, used = self.lists(), self.used
        given = {document.id: rank for rank, document in enumerate(self.given, start=1)}
        stale = self._stale_by_id
        return tuple(
            TraceCandidate(
                document_id=document,
                found_by={name: ids.index(document) + 1 for name, ids in lists.items() if document in ids},
                reranked=given.get(document) if self.reranker is not None else None,
                given_rank=given.get(document),
                used=None if used is None else document in used,
                stale=stale.get(document),
                text=self.texts.get(document, ""),
            )
            for document in self.documents
        )

    @cached_property
    def _stale_by_id(self) -> dict[str, bool]:
        """Whether documents were out of date when they were retrieved; those of which it is not known are left out."""
        found: dict[str, bool] = {}
        for span in self.searches:
            for document in span.documents:
                ends = [] if document.stale_after is None else [document.stale_after]
                if document.id in self._superseded:
                    superseded_at = self._superseded[document.id]
                    ends += [] if superseded_at is None else [superseded_at]
                elif not ends:
                    continue
                found[document.id] = found.get(document.id, False) or any(end <= span.started_at for end in ends)
        return found

    @cached_property
    def used(self) -> frozenset[str] | None:
        """Documents that the answer cites by number, or that support one of its claims; None: not known."""
        if self.judged is None:
            return None
        passages = [document.id for document in self.given]
        cited = {int(number) for number in _CITATION.findall(self.answer)}
        supporting = {claim.passage for claim in self.judged if claim.is_supported and claim.passage is not None}
        return frozenset(passages[place - 1] for place in cited | supporting if 1 <= place <= len(passages))

    # --- Checks ---

    @cached_property
    def judged(self) -> list[JudgedClaim] | None:
        """The claims of the answer, judged by what was given; None: there is nothing to judge by."""
        if self._why_not_judged:
            return None
        return self._judge.judge_claims(claims(self.answer), [self.texts.get(found.id, "") for found in self.given])

    @cached_property
    def _why_not_judged(self) -> str:
        if not self.answer.strip():
            return "no answer is recorded"
        if read_abstention(self.answer).abstained:
            return "the answer declines to answer"
        if not claims(self.answer):
            return "the answer makes no claim"
        if not self.searches and self.reranker is None:
            return "the trace has no search"
        if self.given and not any(document.id in self.texts for document in self.given):
            return "the spans carry no texts of documents"
        return ""

    @cached_property
    def verdict(self) -> GroundednessVerdict | None:
        """Whether the answer is supported by what was given."""
        if self.judged is None:
            return None
        if not self.given:
            return self._judge.judge(self.question, self.answer, [])
        return verdict_of(self.judged)

    @property
    def judge_name(self) -> str:
        """Which check scores groundedness."""
        return self._judge.name

    @cached_property
    def checks(self) -> tuple[TraceCheck, ...]:
        """Every score of the trace."""
        answered = None if self.answered_by is None else self.answered_by.span_id
        return (
            self._check_groundedness(answered),
            self._check_abstention(answered),
            self._check_staleness(),
            _check(LATENCY, self.duration_ms, "the end of a span is not recorded"),
            _check(COST, self.cost_usd, self._why_no_cost),
        )

    def _check_groundedness(self, span_id: str | None) -> TraceCheck:
        verdict = self.verdict
        if verdict is None or verdict.score is None:
            reason = self._why_not_judged if verdict is None else verdict.reason
            return TraceCheck(name=GROUNDEDNESS, value=None, reason=reason, span_id=span_id)
        label = "ungrounded" if verdict.unsupported_claims else "grounded"
        return TraceCheck(name=GROUNDEDNESS, value=verdict.score, label=label, reason=verdict.reason, span_id=span_id)

    def _check_abstention(self, span_id: str | None) -> TraceCheck:
        if not self.answer.strip():
            return TraceCheck(name=ABSTENTION, value=None, reason="no answer is recorded", span_id=span_id)
        reading = read_abstention(self.answer)
        label = "abstained" if reading.abstained else "answered"
        return TraceCheck(
            name=ABSTENTION, value=float(reading.abstained), label=label, reason=reading.words, span_id=span_id
        )

    def _check_staleness(self) -> TraceCheck:
        known = self._stale_by_id
        if not known:
            reason = "no document was retrieved" if not self.documents else "no document states until when it is valid"
            return TraceCheck(name=STALENESS, value=None, reason=reason)
        share = sum(known.values()) / len(known)
        reason = f"{sum(known.values())} of {len(known)} documents whose validity is known were out of date"
        return TraceCheck(name=STALENESS, value=share, label="stale" if share else "current", reason=reason)

    @cached_property
    def duration_ms(self) -> float | None:
        """How long the trace took; None: an end is missing."""
        if self.root is not None and self.root.duration_ms is not None:
            return self.root.duration_ms
        ends = [span.ended_at for span in self.spans if span.ended_at is not None]
        # The root may be a trace without an end of its own, as Langfuse exports it; its steps have theirs.
        open_ends = [span for span in self.spans if span.ended_at is None and span is not self.root]
        if not ends or open_ends:
            return None
        return (max(ends) - self.spans[0].started_at).total_seconds() * 1_000

    @cached_property
    def _costs(self) -> list[float | None]:
        others = [span for span in self.spans if span.role is not SpanRole.MODEL and span.cost_usd is not None]
        return [self._cost_of(span) for span in (*self.models, *others)]

    def _cost_of(self, span: TraceSpan) -> float | None:
        prices = self._options.prices
        if span.cost_usd is not None or prices is None or span.model != prices.model:
            return span.cost_usd
        if span.input_tokens is None or span.output_tokens is None:
            return None
        return (span.input_tokens * prices.sent + span.output_tokens * prices.replied) / 1_000_000

    @property
    def cost_usd(self) -> float | None:
        """What the models cost; None: at least one does not state it."""
        known = [cost for cost in self._costs if cost is not None]
        return sum(known) if self._costs and len(known) == len(self._costs) else None

    @property
    def _why_no_cost(self) -> str:
        return "a model span states no cost" if self._costs else "the trace has no model span"

    @cached_property
    def faults(self) -> tuple[TraceFault, ...]:
        """What may be wrong with it."""
        labels = {check.label for check in self.checks}
        found = {
            TraceFault.UNGROUNDED: "ungrounded" in labels,
            TraceFault.ABSTAINED: "abstained" in labels,
            TraceFault.EMPTY: any(not span.documents and not span.problem for span in self.searches),
            TraceFault.STALE: "stale" in labels,
            TraceFault.SLOW: self.duration_ms is not None and self.duration_ms >= self._options.slow_ms,
            TraceFault.FAILED: any(span.problem for span in self.spans),
        }
        return tuple(fault for fault, is_so in found.items() if is_so)

    # --- As it is shown ---

    @cached_property
    def summary(self) -> TraceSummary:
        """What the trace comes to."""
        return TraceSummary(
            trace_id=self.spans[0].trace_id,
            started_at=self.spans[0].started_at,
            session_id=next((span.session_id for span in self.spans if span.session_id), None),
            question=self.question,
            answer=self.answer,
            spans=len(self.spans),
            incomplete=len(self.spans) >= MOST_SPANS,
            searches=len(self.searches),
            documents=len(self.documents),
            duration_ms=self.duration_ms,
            models=tuple(dict.fromkeys(span.model for span in self.models if span.model)),
            input_tokens=_sum([span.input_tokens for span in self.models]),
            output_tokens=_sum([span.output_tokens for span in self.models]),
            cost_usd=self.cost_usd,
            checks=self.checks,
            faults=self.faults,
        )

    def show(self) -> ShownTrace:
        """The trace with its spans and the way of each document."""
        return ShownTrace(summary=self.summary, spans=self.lines, candidates=self.candidates(), judge=self.judge_name)


def _distinct(documents: Iterable[TraceDocument]) -> tuple[TraceDocument, ...]:
    return tuple({document.id: document for document in reversed(list(documents))}.values())[::-1]


def _sum(counts: Sequence[int | None]) -> int | None:
    """The sum; None where there is nothing, or where one is not known."""
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None


def _check(name: str, value: float | None, reason: str) -> TraceCheck:
    return TraceCheck(name=name, value=value, reason="" if value is not None else reason)
