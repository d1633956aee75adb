"""Any dataset there can be: what round trips are tried with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from assay.records import Edge, EdgeKind, Format, Intent, JudgmentSource, Tier
from assay.records.answers import ConflictRule, EquivalenceClasses, FolderMode, GoldAnchors, GoldSupport
from assay.records.datasets import Case, Dataset, Document, Grade, SessionContext, Turn

letters = st.characters(codec="utf-8", exclude_characters="\x00")
texts = st.text(letters, max_size=40)
visible = texts.filter(lambda one: one.strip())
labels = st.lists(visible, max_size=3).map(tuple)
ids = st.from_regex(r"[a-z0-9é][a-z0-9é:. -]{0,9}", fullmatch=True)
plain_ids = st.from_regex(r"[a-z0-9é][a-z0-9é:.-]{0,9}", fullmatch=True)
moments = st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)).map(lambda one: one.replace(tzinfo=UTC))  # noqa: DTZ001
json_values = st.one_of(st.none(), st.booleans(), st.integers(-9999, 9999), texts, st.lists(texts, max_size=2))
metadata = st.dictionaries(texts.filter(lambda one: one != "format"), json_values, max_size=3)
formats = st.sampled_from(list(Format))

documents = st.builds(
    Document,
    id=ids,
    text=texts,
    title=texts,
    entity_type=visible,
    format=formats,
    rel_path=texts,
    folder=texts,
    tags=labels,
    metadata=st.one_of(metadata, st.builds(lambda base, kind: {**base, "format": kind.value}, metadata, formats)),
    tier=st.sampled_from(list(Tier)),
    triggers=labels,
    dated=st.none() | moments,
)


def grades(document_ids: list[str]) -> st.SearchStrategy[tuple[Grade, ...]]:
    """Judgments of these documents, some with more to say than the grade."""
    said = st.builds(
        Grade,
        document_id=st.sampled_from(document_ids or ["nobody"]),
        grade=st.integers(0, 3),
        source=st.sampled_from(list(JudgmentSource)),
        annotator=st.sampled_from(["", "ada", "ben"]),
        confidence=st.sampled_from([1.0, 0.5]),
        channels=labels,
    )
    plain = st.builds(Grade, document_id=st.sampled_from(document_ids or ["nobody"]), grade=st.integers(0, 3))
    many = st.lists(said, max_size=3, unique_by=lambda one: (one.document_id, one.source, one.annotator))
    few = st.lists(plain, max_size=3, unique_by=lambda one: one.document_id)
    return st.one_of(few, many).map(tuple)


histories = st.lists(st.builds(Turn, speaker=st.sampled_from(["user", "agent"]), text=texts), max_size=2).map(tuple)
supports = st.builds(
    GoldSupport,
    rel_path=visible,
    heading_path=st.sampled_from(["", "A", "A > B", "Über > uns"]),
    snippets=labels,
    dated=st.none() | moments,
)


fact_values = st.lists(visible, max_size=3, unique=True).map(
    lambda found: {"current_value": found[0], "outdated_values": tuple(found[1:])} if found else {}
)
"""The current value of what a case asks, and those that held before."""


@st.composite
def anchors(draw: Any, *, answerable: bool) -> GoldAnchors:
    """Gold anchors, with groups over the supports there are."""
    gold = draw(st.lists(supports, max_size=3).map(tuple))
    places = st.lists(st.integers(0, max(0, len(gold) - 1)), min_size=1, max_size=2, unique=True).map(tuple)
    return GoldAnchors(
        supports=gold,
        required_support_groups=draw(st.lists(places, max_size=2).map(tuple)) if gold else (),
        equivalent=draw(st.lists(places, max_size=1).map(tuple)) if gold else (),
        answerable=answerable,
        recency_conflict_rule=draw(st.none() | st.sampled_from(list(ConflictRule))),
    )


@st.composite
def anchored_cases(draw: Any, ident: str) -> Case:
    """A case of anchored JSONL."""
    answerable = draw(st.booleans())
    return Case(
        id=ident,
        query=draw(visible),
        anchors=draw(anchors(answerable=answerable)),
        answerable=answerable,
        reference_answer=draw(st.none() | texts),
        category=draw(texts),
        difficulty=draw(texts),
        tags=draw(labels),
        vault=draw(texts),
        intent=draw(st.none() | st.sampled_from(list(Intent))),
        folder_mode=draw(st.sampled_from(list(FolderMode))),
        history=draw(histories),
        rubric=draw(st.lists(texts, max_size=2).map(tuple)),
        **draw(fact_values),
    )


@st.composite
def cases(draw: Any, ident: str, document_ids: list[str]) -> Case:
    """A case with everything a case can hold."""
    from_anchors = draw(anchored_cases(ident))
    found = draw(grades(document_ids))
    classes = draw(st.none() | st.lists(ids, max_size=4, unique=True))
    return Case(
        id=ident,
        query=from_anchors.query,
        grades=found,
        top_chunk=draw(st.none() | visible),
        anchors=draw(st.none() | st.just(from_anchors.anchors)),
        answerable=from_anchors.answerable,
        reference_answer=from_anchors.reference_answer,
        category=from_anchors.category,
        difficulty=from_anchors.difficulty,
        tags=from_anchors.tags,
        vault=from_anchors.vault,
        intent=from_anchors.intent,
        folder_mode=from_anchors.folder_mode,
        session=draw(st.none() | st.builds(SessionContext, session_id=visible, turn=st.integers(0, 9))),
        equivalence=None if classes is None else EquivalenceClasses(classes=(frozenset(classes),) if classes else ()),
        causal_chain=draw(labels),
        harvested_at=draw(st.none() | moments),
        history=draw(histories),
        asked_at=draw(st.none() | moments),
        rubric=from_anchors.rubric,
        current_value=from_anchors.current_value,
        outdated_values=from_anchors.outdated_values,
    )


@st.composite
def datasets(draw: Any) -> Dataset:
    """A dataset with everything a golden file keeps."""
    found = draw(st.lists(documents, max_size=4, unique_by=lambda one: one.id))
    names = draw(st.lists(ids, max_size=3, unique=True))
    edge = st.builds(
        Edge,
        source_id=st.just("a"),
        target_id=st.just("b"),
        kind=st.sampled_from(list(EdgeKind)),
        created_at=moments,
        strength=st.floats(0, 1),
        evidence=texts,
    )
    return Dataset(
        name=draw(plain_ids),
        documents=tuple(found),
        cases=tuple(draw(cases(one, [document.id for document in found])) for one in names),
        version=draw(st.sampled_from(["1.0.0", "2.10.3"])),
        description=draw(texts),
        created_at=draw(texts),
        highest_grade=draw(st.integers(3, 9)),
        relevance_level=draw(st.integers(1, 3)),
        ranked_unit=draw(st.sampled_from(["entity", "chunk"])),
        floors=draw(st.dictionaries(visible, st.floats(0, 1000), max_size=2)),
        edges=tuple(draw(st.lists(edge, max_size=2))),
    )
