"""A case and a manifest survive their way through a file."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from assay.evaluation.running.files import case_line, manifest_json, read_case, read_manifest, share_outcomes
from assay.records.answers import GivenAnswer, RetrievedChunk
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved, RunManifest, Seen

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12).map(
    lambda text: text.strip() or "x"
)
numbers = st.floats(allow_nan=False, allow_infinity=False)
ids = st.lists(words, max_size=4).map(tuple)
chunks = st.lists(st.builds(RetrievedChunk, rel_path=words, heading_path=words, text=words), max_size=2).map(tuple)
retrieved = st.builds(
    Retrieved,
    ids=ids,
    scores=st.none() | st.lists(numbers, max_size=4).map(tuple),
    passages=chunks,
    pinned=ids,
    stages=st.dictionaries(words, numbers, max_size=3),
    seen=st.none()
    | st.builds(
        Seen,
        indexed=st.none() | ids,
        channels=st.none() | st.dictionaries(words, ids, max_size=3),
        excluded=st.none() | ids,
        fused=st.none() | ids,
    ),
    answer=st.none() | st.builds(GivenAnswer, text=words, references=chunks, abstained=st.none() | st.booleans()),
    cost=st.none() | numbers,
    notes=ids,
)
cases = st.builds(
    CaseResult,
    case_id=words,
    repeat=st.integers(0, 9),
    status=st.sampled_from(CaseStatus),
    retrieved=st.none() | retrieved,
    total_ms=st.none() | numbers,
    error=words,
    cost=st.none() | numbers,
)


@given(cases)
def test_a_case_is_one_line_that_gives_it_back(case: CaseResult) -> None:
    line = case_line(case)
    assert "\n" not in line
    assert read_case(json.loads(line)) == case


def test_what_is_at_its_default_is_left_out() -> None:
    case = CaseResult(case_id="q1", status=CaseStatus.EMPTY, retrieved=Retrieved(ids=()))
    assert case_line(case) == '{"case_id":"q1","status":"empty","retrieved":{"ids":[]}}'


def test_a_manifest_comes_back_equal_and_shows_its_hashes() -> None:
    manifest = RunManifest(
        run_id="run_1",
        name="new",
        dataset="house",
        dataset_version="1.0.0",
        system="assay",
        instrument={"depth": 10, "metrics": {"mrr": "sha256:ab"}},
        subject={"system": "assay"},
        metrics=("mrr",),
        k=10,
        case_ids=("q1", "q2"),
        started_at=datetime(2026, 5, 1, tzinfo=UTC),
    )
    written = json.loads(json.dumps(manifest_json(manifest)))
    assert read_manifest(written) == manifest
    assert written["instrument_hash"] == manifest.instrument_hash


def test_equal_outcomes_of_a_file_are_one_object_and_its_text_stays_the_same() -> None:
    """A million cases would otherwise hold seven million small dictionaries."""
    text = (
        '{"a":{"kind":"scored","value":1.0},"b":{"kind":"scored","value":1.0},"c":{"kind":"scored","value":1},'
        '"d":{"kind":"skipped","reason":"x"},"e":{"kind":[1]},"f":{"value":1.0}}'
    )
    found = json.loads(text, object_hook=share_outcomes())
    assert found["a"] is found["b"]
    assert found["c"] is not found["a"]
    assert json.dumps(found, separators=(",", ":")) == text


def test_the_ids_of_documents_are_in_memory_once() -> None:
    line = case_line(CaseResult(case_id="q", status=CaseStatus.OK, retrieved=Retrieved(ids=("a document", "b"))))
    first, second = (read_case(json.loads(line)).retrieved for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.ids[0] is second.ids[0]
