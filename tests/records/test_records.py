"""Every record: frozen, keyword-only, checked when made. Each field refuses what its kind of value cannot be."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields, is_dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from tests.storage import samples

from assay import records
from assay.errors import BadValue
from assay.records import (
    AuditEntry,
    Author,
    AuthorKind,
    Change,
    ChannelCandidates,
    Draft,
    LogPosition,
    Operation,
    RowKind,
    Scope,
    Tier,
    evidence,
    memory,
    scope,
)
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved
from assay.records.evidence import RESULT_NUMBERS
from assay.records.fields import make_checked
from assay.testing import note

NAIVE = datetime(2026, 1, 5, 9, 0)  # noqa: DTZ001 - naive on purpose
ELSEWHERE = datetime(2026, 1, 5, 10, 0, tzinfo=timezone(timedelta(hours=1)))

FULL: dict[str, Callable[[], Any]] = {
    "MemoryRecord": samples.memory,
    "Draft": lambda: Draft(
        title="Poll", body="We poll.", valid_from=samples.AT, supersedes="m_1", given=frozenset({"tags"})
    ),
    "Chunk": samples.chunk,
    "Edge": lambda: samples.edge("m_1", "m_2"),
    "ChannelCandidates": lambda: ChannelCandidates(channel="lexical", ids=("m_1",), scores=(1.0,)),
    "LoggedQuery": samples.full_query,
    "Judgment": samples.judgment,
    "EvalResult": samples.full_result,
    "FeedbackEvent": lambda: samples.event(memory_id="m_1", rank_in_results=1),
    "AbTest": samples.full_ab_test,
    "ShadowRun": samples.full_shadow_run,
    "Change": lambda: Change(seq=1, kind=RowKind.CHUNK, row_id="m_1#0", operation=Operation.DELETE, at=samples.AT),
    "AuditEntry": lambda: AuditEntry(action="a.b", target="t", actor="ada", at=samples.AT, detail={"x": 1}),
    "Scope": lambda: Scope(tenant="acme", principal="ada"),
    "Author": lambda: Author(name="ada", kind=AuthorKind.PERSON),
}

ID = ["../x", "a b", "", "a" * 129, None, 7, "\x00", "\ud800"]
OPTIONAL_ID = ["../x", "a b", "", 7]
TEXT = [None, 7, "a\x00b", "\ud800"]
LABEL = [*TEXT, "", "  ", "x" * 4_001]
OPTIONAL_LABEL = [*TEXT, "x" * 4_001]
SHORT_LABEL = [*TEXT, "", "x" * 501]
KNOWN_OR_LABEL = [7, "", "a\x00", "x" * 4_001]
WHOLE = [-1, 2**63, 1.5, True, None, "1"]
KNOWN_OR_WHOLE = [-1, 2**63, 1.5, True, "1"]
NUMBER = [math.nan, math.inf, -math.inf, True, None, "1"]
KNOWN_OR_NUMBER = [math.nan, math.inf, True, "1", 10**400]
SHARE = [*NUMBER, -0.1, 1.1]
MOMENT = [NAIVE, "2026-01-05", None, 0]
KNOWN_OR_MOMENT = [NAIVE, "2026-01-05", 0]
WORD = ["unheard", "", None, 7]
OBJECT: list[Any] = [
    None,
    [],
    "{}",
    {1: 1},
    {"x": math.nan},
    {"x": 2**63},
    {"x": "\ud800"},
    {"x": "\x00"},
    {"x": object()},
]
KNOWN_OR_OBJECT = OBJECT[1:]
LABELS = [None, "text", 7, [""], ["\ud800"]]
IDS = [None, "m_1", ["a b"], [7]]
FLAG = [0, 1, "yes", None]
KNOWN_OR_FLAG = [0, 1, "yes"]

REFUSED: dict[str, dict[str, list[Any]]] = {
    "MemoryRecord": {
        "id": ID,
        "title": LABEL,
        "body": [*TEXT, "x" * 16_000_001],
        "created_at": MOMENT,
        "updated_at": MOMENT,
        "valid_from": MOMENT,
        "superseded_at": KNOWN_OR_MOMENT,
        "rel_path": OPTIONAL_LABEL,
        "folder": [*OPTIONAL_LABEL, "x" * 501],
        "triggers": LABELS,
        "learned_triggers": LABELS,
        "tier": WORD,
        "context_type": OPTIONAL_LABEL,
        "surroundings": [*TEXT, "x" * 16_000_001],
        "entity_type": LABEL,
        "format": [*WORD, "markdown"],
        "tags": LABELS,
        "metadata": OBJECT,
        "source_id": [*KNOWN_OR_LABEL, "x" * 501],
        "source_hash": KNOWN_OR_LABEL,
        "version": WHOLE,
        "confidence": SHARE,
        "validation_count": WHOLE,
        "access_count": WHOLE,
        "frequency": WHOLE,
        "written_by": OPTIONAL_LABEL,
        "written_with": OPTIONAL_LABEL,
    },
    "Draft": {
        "title": LABEL,
        "body": [*TEXT, "", "x" * 16_000_001],
        "triggers": LABELS,
        "tier": WORD,
        "format": [*WORD, "markdown"],
        "folder": [*OPTIONAL_LABEL, "x" * 501],
        "rel_path": OPTIONAL_LABEL,
        "context_type": OPTIONAL_LABEL,
        "surroundings": [*TEXT, "x" * 16_000_001],
        "entity_type": LABEL,
        "tags": LABELS,
        "metadata": OBJECT,
        "source_id": [*KNOWN_OR_LABEL, "x" * 501],
        "source_hash": KNOWN_OR_LABEL,
        "valid_from": KNOWN_OR_MOMENT,
        "supersedes": OPTIONAL_ID,
        "written_with": OPTIONAL_LABEL,
        "automated": [None, 1, "yes"],
        "given": [frozenset({"title"})],
    },
    "Chunk": {
        "memory_id": ID,
        "position": WHOLE,
        "text": TEXT,
        "heading_path": OPTIONAL_LABEL,
        "token_count": WHOLE,
    },
    "Edge": {
        "source_id": ID,
        "target_id": ID,
        "kind": WORD,
        "created_at": MOMENT,
        "strength": SHARE,
        "evidence": TEXT,
    },
    "ChannelCandidates": {
        "channel": ID,
        "ids": [*IDS, [], ["m_1", "m_2"]],
        "scores": [None, 7, [], [math.nan], [1.0, 2.0], ["1"]],
    },
    "LoggedQuery": {
        "query_id": ID,
        "query": TEXT,
        "tool_name": SHORT_LABEL,
        "created_at": MOMENT,
        "origin": WORD,
        "intent": [*KNOWN_OR_LABEL, "x" * 501],
        "mode": KNOWN_OR_LABEL,
        "session_id": [*KNOWN_OR_LABEL, "x" * 501],
        "result_ids": IDS,
        "channel_contributions": OBJECT,
        "total_latency_ms": KNOWN_OR_NUMBER,
        "fusion_weights": KNOWN_OR_OBJECT,
        "quality_proxy_score": KNOWN_OR_NUMBER,
        "trace_id": KNOWN_OR_LABEL,
        "is_eval_corpus": FLAG,
        "eval_category": KNOWN_OR_LABEL,
        "tokens_saved": KNOWN_OR_WHOLE,
        "held_back": KNOWN_OR_WHOLE,
        "near_top": KNOWN_OR_WHOLE,
        "mode_overridden": KNOWN_OR_FLAG,
        "pressure_level": KNOWN_OR_LABEL,
        "token_usage_ratio": [*KNOWN_OR_NUMBER, -0.1, 1.1],
        "context_type": KNOWN_OR_LABEL,
        "previous_query": [7, "a\x00"],
        "candidates": [[ChannelCandidates(channel="twin", ids=(), scores=())] * 2],
    },
    "Judgment": {
        "query_id": ID,
        "memory_id": ID,
        "relevance": [*WHOLE, 4],
        "source": WORD,
        "created_at": MOMENT,
        "annotator": [*OPTIONAL_LABEL, "x" * 501],
        "confidence": SHARE,
    },
    "EvalResult": {
        "run_id": ID,
        "run_type": WORD,
        "query_count": WHOLE,
        "created_at": MOMENT,
        "feature_id": OPTIONAL_ID,
        **dict.fromkeys(RESULT_NUMBERS, KNOWN_OR_NUMBER),
        "channel_contribution_json": KNOWN_OR_OBJECT,
        "control_run_id": OPTIONAL_ID,
        "is_significant": KNOWN_OR_FLAG,
        "per_query_results": OBJECT,
        "metrics_json": OBJECT,
    },
    "FeedbackEvent": {
        "event_key": ID,
        "event_type": WORD,
        "session_id": SHORT_LABEL,
        "created_at": MOMENT,
        "query_id": OPTIONAL_ID,
        "memory_id": OPTIONAL_ID,
        "rank_in_results": KNOWN_OR_WHOLE,
        "metadata": OBJECT,
    },
    "AbTest": {
        "feature_id": ID,
        "attempt": WHOLE,
        "status": WORD,
        "log_likelihood_ratio": NUMBER,
        "upper_bound": NUMBER,
        "lower_bound": NUMBER,
        "sample_count": WHOLE,
        "control_mrr_sum": NUMBER,
        "treatment_mrr_sum": NUMBER,
        "control_ndcg_sum": NUMBER,
        "treatment_ndcg_sum": NUMBER,
        "min_samples": WHOLE,
        "graduation_threshold": NUMBER,
        "state_json": OBJECT,
        "started_at": MOMENT,
        "updated_at": MOMENT,
        "graduated_at": KNOWN_OR_MOMENT,
    },
    "ShadowRun": {
        "query_id": ID,
        "feature_id": ID,
        "control_result_ids": IDS,
        "treatment_result_ids": IDS,
        "created_at": MOMENT,
        "rank_correlation": KNOWN_OR_NUMBER,
        "set_overlap": KNOWN_OR_NUMBER,
        "top_result_changed": KNOWN_OR_FLAG,
        "order_differences": KNOWN_OR_WHOLE,
        "mrr_delta": KNOWN_OR_NUMBER,
        "ndcg_delta": KNOWN_OR_NUMBER,
        "control_latency_ms": KNOWN_OR_NUMBER,
        "treatment_latency_ms": KNOWN_OR_NUMBER,
        "rbo": KNOWN_OR_NUMBER,
        "classified": KNOWN_OR_LABEL,
        "problem": [7, "a\x00b", "\ud800"],
    },
    "Change": {
        "seq": WHOLE,
        "kind": WORD,
        "row_id": ID,
        "operation": WORD,
        "at": MOMENT,
        "number": KNOWN_OR_WHOLE,
    },
    "AuditEntry": {
        "action": ID,
        "target": SHORT_LABEL,
        "actor": LABEL,
        "at": MOMENT,
        "detail": OBJECT,
        "via": OPTIONAL_LABEL,
        "place": KNOWN_OR_WHOLE,
    },
    "Scope": {
        "tenant": [*ID, "(schema)"],
        "principal": LABEL,
        "principal_id": ["../x", "a b", "a" * 129, 7],
        "via": OPTIONAL_LABEL,
    },
    "Author": {
        "name": OPTIONAL_LABEL,
        "kind": WORD,
    },
}


def made_from(name: str, /, **changed: Any) -> Any:
    full = FULL[name]()
    return type(full)(**{field.name: getattr(full, field.name) for field in fields(full)} | changed)


def test_every_field_of_every_record_is_refused_something_below() -> None:
    stored = [record for module in (evidence, memory, scope) for record in vars(module).values()]
    checked = {record.__name__ for record in stored if isinstance(record, type) and is_dataclass(record)}
    assert set(FULL) == set(REFUSED) == checked
    for name, refusals in REFUSED.items():
        assert set(refusals) == {field.name for field in fields(FULL[name]())}, name


@pytest.mark.parametrize(("name", "field"), [(name, field) for name, some in REFUSED.items() for field in some])
def test_a_field_refuses_what_it_cannot_be_and_names_itself(name: str, field: str) -> None:
    for value in REFUSED[name][field]:
        with pytest.raises(BadValue) as refused:
            made_from(name, **{field: value})
        message = refused.value.message
        assert field in message or name == "ChannelCandidates", (value, message)
        assert refused.value.remedy


@pytest.mark.parametrize("name", FULL)
def test_a_record_made_again_from_its_fields_is_equal(name: str) -> None:
    assert made_from(name) == FULL[name]()


@pytest.mark.parametrize("name", FULL)
def test_a_record_is_frozen_and_takes_keywords_only(name: str) -> None:
    full = FULL[name]()
    first = fields(full)[0].name
    with pytest.raises(FrozenInstanceError):
        setattr(full, first, "other")
    with pytest.raises(TypeError):
        type(full)(getattr(full, first))
    with pytest.raises((AttributeError, TypeError)):
        full.__setattr__("unheard", 1)


@pytest.mark.parametrize("name", FULL)
def test_none_means_not_known_wherever_it_is_the_default(name: str) -> None:
    unknown = {field.name: None for field in fields(FULL[name]()) if field.default is None}
    found = made_from(name, **unknown)
    assert all(getattr(found, field) is None for field in unknown)


@pytest.mark.parametrize("name", FULL)
def test_times_are_kept_in_utc(name: str) -> None:
    times = [field.name for field in fields(FULL[name]()) if "datetime" in str(field.type)]
    found = made_from(name, **dict.fromkeys(times, ELSEWHERE))
    for field in times:
        kept = getattr(found, field)
        assert kept == ELSEWHERE
        assert kept.tzinfo is UTC


@pytest.mark.parametrize("name", FULL)
def test_no_two_records_share_a_default_container(name: str) -> None:
    shared = [field.name for field in fields(FULL[name]()) if field.default_factory is not MISSING]
    required = {
        field.name: getattr(FULL[name](), field.name)
        for field in fields(FULL[name]())
        if field.default is MISSING and field.default_factory is MISSING
    }
    one, two = type(FULL[name]())(**required), type(FULL[name]())(**required)
    assert all(getattr(one, field) is not getattr(two, field) for field in shared)


def test_words_may_be_given_as_plain_text_and_become_members() -> None:
    assert note(tier="critical").tier is Tier.CRITICAL


def test_an_unknown_word_is_answered_with_the_nearest_and_with_all() -> None:
    with pytest.raises(BadValue, match="tier 'criticl' is not known") as refused:
        note(tier="criticl")
    assert refused.value.remedy.startswith("Did you mean 'critical'? Use one of: constitutional, critical, important")
    with pytest.raises(BadValue) as refused:
        note(tier="zzz")
    assert refused.value.remedy.startswith("Use one of: ")


def test_lists_become_tuples_and_objects_become_copies() -> None:
    triggers, metadata = ["a"], {"x": [1]}
    made = note(triggers=triggers, metadata=metadata)
    triggers.append("b")
    metadata["x"].append(2)
    assert made.triggers == ("a",)
    assert made.metadata == {"x": [1]}


def test_an_object_nested_too_deeply_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"in": deep}
    with pytest.raises(BadValue, match="nested deeper than 64"):
        note(metadata=deep)


def test_a_chunk_is_known_by_its_memory_and_position() -> None:
    assert samples.chunk("m_1", 12).id == "m_1#12"


def test_a_query_counts_its_results_and_orders_its_channels() -> None:
    empty = {"ids": (), "scores": ()}
    lexical, vector = ChannelCandidates(channel="lexical", **empty), ChannelCandidates(channel="vector", **empty)
    made = samples.query(result_ids=["m_1", "m_1"], candidates=[vector, lexical])
    assert made.result_count == 2
    assert made.candidates == (lexical, vector)


def test_the_default_scope_is_the_local_one() -> None:
    assert Scope() == Scope(tenant="default", principal="local")
    assert records.DEFAULT_TENANT == "default"


def test_the_numbers_of_a_result_are_exactly_its_optional_floats() -> None:
    numbers = [field.name for field in fields(samples.result()) if field.type == "float | None"]
    assert sorted(numbers) == sorted(RESULT_NUMBERS)


def test_a_position_is_an_epoch_and_a_seq() -> None:
    assert LogPosition("ep_1", 7) == ("ep_1", 7)


def test_a_memory_and_its_draft_have_every_written_field() -> None:
    names = [field.name for field in memory.WRITTEN_FIELDS]
    for record in (memory.Draft, memory.MemoryRecord):
        assert set(names) <= {field.name for field in fields(record)}
    assert len(names) == len(set(names))


def test_a_record_of_checked_values_is_the_record_that_checks_make() -> None:
    given: dict[str, Any] = {"channel": "bm25", "ids": ("m_1#0", "m_2#1"), "scores": (1.5, 0.5)}
    made = make_checked(ChannelCandidates, **given)
    assert made == ChannelCandidates(**given)
    assert hash(made) == hash(ChannelCandidates(**given))
    with pytest.raises(FrozenInstanceError):
        made.channel = "vector"  # type: ignore[misc]
    with pytest.raises(KeyError, match="scores"):
        make_checked(ChannelCandidates, channel="bm25", ids=())


def test_records_that_workers_send_cross_whole() -> None:
    retrieved = Retrieved(ids=("d1", "d2"), scores=(0.5, 0.25), stages={"search": 1.5}, notes=("one twice",))
    sent = CaseResult(case_id="q1", repeat=2, status=CaseStatus.OK, retrieved=retrieved, total_ms=3.5, tries=1)
    for record in (sent, CaseResult(case_id="q2", status=CaseStatus.ERROR, error="it fell")):
        received = pickle.loads(pickle.dumps(record))
        assert received == record
        assert repr(received) == repr(record)
        assert copy.deepcopy(record) == record
