"""One record of each kind with every field filled, by values that have broken stores before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.hashing import content_hash
from assay.records import (
    AbTest,
    AbTestStatus,
    ChannelCandidates,
    Chunk,
    Edge,
    EdgeKind,
    EvalResult,
    EventType,
    FeedbackEvent,
    Format,
    Judgment,
    JudgmentSource,
    LoggedQuery,
    MemoryRecord,
    Origin,
    RunType,
    SaveDecision,
    ShadowRun,
    Tier,
)
from assay.records.evidence import RESULT_NUMBERS
from assay.records.values import INT64_MAX, INT64_MIN
from assay.storage import ChunkVector, Saved, SaveRecord
from assay.testing import note

AWKWARD = (
    'Zo\u00eb\'s "50 %" \\ _done_ \\N \\u0041 {x} $1 :name ?; --\u00df\u0131 \u6f22\u5b57 '
    "e\u0301 \u05d0\u05d1\u202e \ufeff\uffff\U0010ffff \U0001f469\u200d\U0001f680 <b>&amp;</b>\t\r\n."
)
LONG = "\U0001f680 words \u00e9 " * 20_000
LONG_KEY = "".join(chr(0x20000 + (number * 7919) % 40_000) for number in range(500))
"""As long as an indexed text may be, in letters of four bytes that no compression shortens."""
AT = datetime(2026, 1, 5, 9, 0, 0, 123456, tzinfo=UTC)
EARLY = datetime(1, 1, 1, tzinfo=UTC)
LATE = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
ELSEWHERE = datetime(2026, 1, 5, 9, 0, tzinfo=timezone(timedelta(hours=5, minutes=45)))
LARGEST = 1.7976931348623157e308
SMALLEST = 5e-324
NESTED: dict[str, Any] = {
    AWKWARD: [None, True, False, 0, -1, INT64_MAX, INT64_MIN, 0.1, LARGEST, SMALLEST, "", {}, []],
    "": {"deep": {"deeper": [[[AWKWARD]]]}},
}


def memory(id: str = "m_full", **given: Any) -> MemoryRecord:  # noqa: A002 - the record's own word
    filled: dict[str, Any] = {
        "title": AWKWARD,
        "body": LONG + AWKWARD,
        "created_at": EARLY,
        "updated_at": LATE,
        "valid_from": ELSEWHERE,
        "superseded_at": AT,
        "rel_path": f"a b/{AWKWARD}/\u00e9.md",
        "folder": LONG_KEY,
        "triggers": (AWKWARD, "second", "second"),
        "learned_triggers": (AWKWARD,),
        "tier": Tier.CONSTITUTIONAL,
        "context_type": AWKWARD,
        "surroundings": AWKWARD,
        "entity_type": AWKWARD,
        "format": Format.JSON,
        "tags": ("b", "a", AWKWARD),
        "metadata": NESTED,
        "source_id": LONG_KEY,
        "source_hash": "sha256:" + "0" * 64,
        "version": INT64_MAX,
        "confidence": 0.1 + 0.2,
        "validation_count": INT64_MAX,
        "access_count": 0,
        "frequency": 7,
        "written_by": AWKWARD,
        "written_with": AWKWARD,
    }
    return MemoryRecord(id=id, **{**filled, **given})


def chunk(memory_id: str = "m_full", position: int = 0, **given: Any) -> Chunk:
    filled: dict[str, Any] = {"text": AWKWARD, "heading_path": "Guide > \u00c9tape > \U0001f680", "token_count": 12}
    return Chunk(memory_id=memory_id, position=position, **{**filled, **given})


def chunks(memory_id: str, number: int) -> list[Chunk]:
    return [chunk(memory_id, position, text=f"{memory_id} passage {position}") for position in range(number)]


def unit(*weights: float) -> NDArray[np.float32]:
    """A vector of length 1 in that direction."""
    given = np.array(weights, np.float32)
    return given / np.float32(np.linalg.norm(given))


def directions(rows: int, length: int = 8, seed: int = 7) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).normal(size=(rows, length))
    unit: NDArray[np.float32] = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return unit


def halved(given: NDArray[np.float32]) -> NDArray[np.float32]:
    return given.astype(np.float16).astype(np.float32)


def embedded(memory_id: str, *texts: str, model: str = "model-1", **given: Any) -> Saved:
    """A memory with one embedded chunk for each text."""
    texts = texts or (f"{memory_id} passage",)
    pieces = [chunk(memory_id, position, text=text, heading_path="") for position, text in enumerate(texts)]
    made = [ChunkVector(content_hash(text), unit(1, 1 + position, len(text))) for position, text in enumerate(texts)]
    return Saved(note(memory_id, **given), pieces, made, model, "chunker-1", {"context": 1})


def save_record(save_id: str = "sv_1", **given: Any) -> SaveRecord:
    return SaveRecord(save_id=save_id, **{"decision": SaveDecision.STORE, "at": AT, **given})


def edge(source: str, target: str, **given: Any) -> Edge:
    filled: dict[str, Any] = {"kind": EdgeKind.SUPPORTS, "created_at": AT, "strength": 1 / 3, "evidence": AWKWARD}
    return Edge(source_id=source, target_id=target, **{**filled, **given})


def query(query_id: str = "q_1", **given: Any) -> LoggedQuery:
    filled: dict[str, Any] = {"query": f"what is {query_id}?", "tool_name": "search", "created_at": AT}
    return LoggedQuery(query_id=query_id, **{**filled, **given})


def full_query(query_id: str = "q_full") -> LoggedQuery:
    return query(
        query_id,
        query=LONG + AWKWARD,
        tool_name=LONG_KEY,
        origin=Origin.CANARY,
        intent=LONG_KEY,
        mode=AWKWARD,
        session_id=LONG_KEY,
        result_ids=("m_2", "m_1#0", "m_2"),
        channel_contributions=NESTED,
        total_latency_ms=LARGEST,
        fusion_weights=NESTED,
        quality_proxy_score=-SMALLEST,
        trace_id=AWKWARD,
        is_eval_corpus=True,
        eval_category=AWKWARD,
        previous_query=LONG + AWKWARD,
        candidates=(
            ChannelCandidates(channel="graph", ids=(), scores=()),
            ChannelCandidates(channel="lexical", ids=("m_1#0", "m_2#1"), scores=(LARGEST, -SMALLEST)),
        ),
    )


def judgment(query_id: str = "q_1", memory_id: str = "m_1", **given: Any) -> Judgment:
    filled: dict[str, Any] = {"relevance": 2, "source": JudgmentSource.MANUAL, "created_at": AT, "annotator": "ada"}
    return Judgment(query_id=query_id, memory_id=memory_id, **{**filled, **given})


def result(run_id: str = "run_1", **given: Any) -> EvalResult:
    filled: dict[str, Any] = {"run_type": RunType.FULL, "query_count": 3, "created_at": AT}
    return EvalResult(run_id=run_id, **{**filled, **given})


def full_result(run_id: str = "run_full") -> EvalResult:
    return result(
        run_id,
        run_type=RunType.REGRESSION,
        feature_id="rerank",
        channel_contribution_json=NESTED,
        query_count=INT64_MAX,
        control_run_id="run_0",
        is_significant=False,
        per_query_results=NESTED,
        metrics_json=NESTED,
        **{name: -(number + 1) / 3 for number, name in enumerate(RESULT_NUMBERS)},
    )


def event(event_key: str = "e_1", **given: Any) -> FeedbackEvent:
    filled: dict[str, Any] = {"event_type": EventType.REFERENCE, "session_id": "s_1", "created_at": AT}
    return FeedbackEvent(event_key=event_key, **{**filled, "query_id": "q_1", **given})


def ab_test(feature_id: str = "rerank", **given: Any) -> AbTest:
    filled: dict[str, Any] = {"upper_bound": 2.9, "lower_bound": -2.9, "started_at": AT, "updated_at": AT}
    return AbTest(feature_id=feature_id, **{**filled, **given})


def full_ab_test(feature_id: str = "rerank") -> AbTest:
    return ab_test(
        feature_id,
        attempt=3,
        status=AbTestStatus.GRADUATED,
        log_likelihood_ratio=-1 / 3,
        upper_bound=LARGEST,
        lower_bound=-LARGEST,
        sample_count=INT64_MAX,
        control_mrr_sum=SMALLEST,
        treatment_mrr_sum=0.1,
        control_ndcg_sum=0.2,
        treatment_ndcg_sum=0.3,
        min_samples=0,
        graduation_threshold=1e-9,
        state_json=NESTED,
        started_at=EARLY,
        updated_at=LATE,
        graduated_at=AT,
    )


def shadow_run(query_id: str = "q_1", **given: Any) -> ShadowRun:
    filled: dict[str, Any] = {
        "feature_id": "rerank",
        "control_result_ids": ("m_1", "m_2"),
        "treatment_result_ids": (),
        "created_at": AT,
    }
    return ShadowRun(query_id=query_id, **{**filled, **given})


def full_shadow_run(query_id: str = "q_full") -> ShadowRun:
    return shadow_run(
        query_id,
        rank_correlation=-1 / 3,
        set_overlap=0.5,
        top_result_changed=True,
        order_differences=4,
        mrr_delta=-0.1,
        ndcg_delta=SMALLEST,
        control_latency_ms=1e-3,
        treatment_latency_ms=LARGEST,
        rbo=0.25,
        classified="major",
        problem="none that anybody saw",
    )


def notes(*ids: str) -> list[MemoryRecord]:
    return [note(id) for id in ids]  # noqa: A001 - the record's own word
