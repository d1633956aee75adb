"""Probes of dataset fields: a small dataset in which one field differs, written to a file, read back, checked and run.

Hashes are left out of what is compared: every field that moves a number is in them, whether or not anything else shows
it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tests.systems.test_mcp_server import FILL, mapped
from tests.truth.probing import Probe, Stage, Values, make_probes, set_environment, tell

from assay.cli.dataset_tables import overview_lines
from assay.evaluation.datasets import load_dataset
from assay.evaluation.datasets.contents import show
from assay.evaluation.datasets.validation import check_dataset
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running, run
from assay.formats.golden import write_golden_lines
from assay.network import ANYWHERE
from assay.records.answers import ConflictRule, EquivalenceClasses, FolderMode, GoldAnchors, GoldSupport
from assay.records.datasets import Asking, Case, Dataset, Document, Grade, SessionContext, Turn
from assay.records.evidence import JudgmentSource
from assay.records.memory import Edge, EdgeKind, Format, Tier
from assay.records.saving import SaveDecision, SaveTask
from assay.records.searching import Intent
from assay.systems.mcp_server import open_server
from assay.wiring import open_system

JULY, AUGUST = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)
TEXTS = {
    "tea": "# Tea\n\nGreen tea is steeped for two minutes.\n\n## Water\n\nThe water has eighty degrees.",
    "oven": "# Oven\n\nThe oven is polled every five seconds.",
    "router": "# Router\n\nThe router sits in the cellar. The oven is far away.",
    "lamp": "# Lamp\n\nThe lamp of the hall is green.",
}
DOCUMENTS = {
    name: Document(id=name, title=name.title(), text=text, rel_path=f"{name}.md", folder=f"house/{name}")
    for name, text in TEXTS.items()
}
SUPPORTS = (
    GoldSupport(rel_path="tea.md", heading_path="Tea > Water", snippets=("eighty degrees",), dated=JULY),
    GoldSupport(rel_path="oven.md", heading_path="Oven", dated=AUGUST),
)
ANCHORED = Case(
    id="c_anchored",
    query="How warm is the water of green tea?",
    grades=(Grade(document_id="tea", grade=3),),
    anchors=GoldAnchors(supports=SUPPORTS, required_support_groups=((0,), (1,))),
)
PLAIN = Case(
    id="c_plain",
    query="How often is the oven polled?",
    grades=(Grade(document_id="oven", grade=3), Grade(document_id="router", grade=1)),
    reference_answer="Every five seconds.",
)
UNANSWERABLE = Case(id="c_none", query="Who painted the ceiling?", answerable=False)
BASE = Dataset(name="house", documents=tuple(DOCUMENTS.values()), cases=(PLAIN, ANCHORED, UNANSWERABLE))
Make = Callable[[Any], Dataset]


def see_dataset(stage: Stage, dataset: Dataset, *, system: str = "assay", **run: Any) -> Any:
    """Write a dataset to a file, read it back, and look at it, at what is wrong with it, and at a run over it."""
    folder = stage.new_folder() / dataset.name
    write_golden_lines(folder, dataset)
    found = load_dataset(str(folder))
    overview = [line for line in overview_lines(show(found)) if "sha256" not in line]
    findings = [str(finding) for finding in check_dataset(found)]
    return overview, findings, tell(lambda: see_run(stage, found, system, **run))


def see_run(stage: Stage, dataset: Dataset, system: str, asking: Asking = Asking.LAST) -> Any:
    """Run a system over a dataset; return its numbers, broken down, its caveats, and what was found for each case."""
    with set_environment(ASSAY_EMBEDDER_KIND="none"):
        opened = open_system(system, dataset)
        try:
            done = run(dataset, opened, RunOptions(spec=system, asking=asking), Running())
        finally:
            opened.close()
    numbers = {
        str(spec): (aggregate.value, aggregate.scored)
        for spec, aggregate in done.aggregates.items()
        if not str(spec).startswith("latency")
    }
    parts = {
        (label, part, str(spec)): aggregate.value
        for label, found in done.breakdowns.items()
        for part, aggregates in found.items()
        for spec, aggregate in aggregates.items()
        if not str(spec).startswith("latency")
    }
    caveats = [caveat.sentence for caveat in done.caveats if caveat.kind != "latency"]
    return numbers, parts, caveats, sorted(case.id for case in dataset.cases)


def change(make: Make, first: Any, other: Any, **run: Any) -> Values:
    """Look at two datasets that differ in one value."""
    return Values(first, other, lambda stage, value: tell(lambda: see_dataset(stage, make(value), **run)))


def of_dataset(field: str, first: Any, other: Any, **run: Any) -> Values:
    """Change a field of the dataset itself."""
    return change(lambda value: replace(BASE, **{field: value}), first, other, **run)


def of_document(field: str, first: Any, other: Any, *, query: str = "", of: str = "lamp", **run: Any) -> Values:
    """Change a field of one document; `query` is asked besides."""

    def make(value: Any) -> Dataset:
        documents = {**DOCUMENTS, of: replace(DOCUMENTS[of], **{field: value})}
        more = (Case(id="c_more", query=query, grades=(Grade(document_id="lamp", grade=3),)),) if query else ()
        return replace(BASE, documents=tuple(documents.values()), cases=(*BASE.cases, *more))

    return change(make, first, other, **run)


def place_in_folder(folder: str) -> Dataset:
    """Return the dataset with one document in a folder, and all others in one."""
    documents = [replace(document, folder="house") for document in BASE.documents]
    return replace(BASE, documents=(*documents[:-1], replace(documents[-1], folder=folder)))


def of_case(field: str, first: Any, other: Any, *, case: Case = PLAIN, **run: Any) -> Values:
    """Change a field of one case."""

    def make(value: Any) -> Dataset:
        changed = replace(case, **{field: value})
        return replace(BASE, cases=tuple(changed if kept.id == case.id else kept for kept in BASE.cases))

    return change(make, first, other, **run)


def ask_at(moment: datetime) -> Dataset:
    """Return the dataset with documents of July, and a case that is asked at a moment."""
    documents = tuple(replace(document, dated=JULY) for document in BASE.documents)
    return replace(BASE, documents=documents, cases=(replace(PLAIN, asked_at=moment), *BASE.cases[1:]))


def of_grade(field: str, first: Any, other: Any, **more: Any) -> Values:
    """Change a field of one grade."""

    def make(value: Any) -> Dataset:
        grade = replace(Grade(document_id="oven", grade=3, **more), **{field: value})
        others = (
            Grade(document_id="oven", grade=0, annotator="ben", confidence=0.6),
            Grade(document_id="router", grade=1),
        )
        changed = replace(PLAIN, grades=(grade, *others))
        return replace(BASE, cases=(changed, *BASE.cases[1:]))

    return change(make, first, other)


def of_anchors(field: str, first: Any, other: Any, **run: Any) -> Values:
    """Change a field of what an anchored case expects."""
    assert ANCHORED.anchors is not None
    anchors = ANCHORED.anchors

    def make(value: Any) -> Dataset:
        if field == "answerable":
            changed = replace(ANCHORED, anchors=GoldAnchors(answerable=value), answerable=value, grades=())
        else:
            changed = replace(ANCHORED, anchors=replace(anchors, **{field: value}))
        return replace(BASE, cases=(PLAIN, changed, UNANSWERABLE))

    return change(make, first, other, **run)


def of_support(field: str, first: Any, other: Any) -> Values:
    """Change a field of one place that supports an answer."""

    def make(value: Any) -> Dataset:
        supports = (replace(SUPPORTS[0], **{field: value}), SUPPORTS[1])
        anchors = GoldAnchors(supports=supports, recency_conflict_rule=ConflictRule.CITE_NEWER)
        return replace(BASE, cases=(PLAIN, replace(ANCHORED, anchors=anchors), UNANSWERABLE))

    return change(make, first, other, system="assay:answer")


def of_session(field: str, first: Any, other: Any) -> Values:
    """Change a field of the session in which a case is asked."""
    session = SessionContext(session_id="s1", working_memory=("router",), turn=1)

    def make(value: Any) -> Dataset:
        changed = replace(PLAIN, session=replace(session, **{field: value}))
        again = replace(ANCHORED, session=session)
        return replace(BASE, cases=(changed, again, UNANSWERABLE))

    return change(make, first, other)


def of_turn(field: str, first: Any, other: Any) -> Values:
    """Change a field of an earlier turn of a conversation, all of whose turns are asked."""

    def make(value: Any) -> Dataset:
        turn = replace(Turn(speaker="user", text="I speak of the cellar."), **{field: value})
        return replace(BASE, cases=(replace(PLAIN, history=(turn,)), *BASE.cases[1:]))

    return change(make, first, other, asking=Asking.USER)


def fill_server(stage: Stage, dated: datetime) -> Any:
    """Put documents into a memory server whose notes begin with their date, and find one by it."""
    lamp = replace(DOCUMENTS["lamp"], dated=dated)
    dataset = replace(BASE, documents=(lamp,), cases=(replace(PLAIN, query=f"{JULY.isoformat()} lamp", grades=()),))
    fill = {**FILL, "document": {"key": "{id}", "body": "{date} {text}"}}
    with closing(open_server(mapped(stage.new_folder(), fill=fill), dataset, gate=ANYWHERE)) as system:
        return [chunk.text for chunk in system.retrieve(dataset.cases[0].query, 1, dataset.cases[0]).passages]


def run_save(stage: Stage, save: SaveTask | None) -> Any:
    """Run a case as it is, or as a save: no file format but the bundled one keeps saves."""
    dataset = replace(BASE, cases=(replace(PLAIN, save=save),))
    return tell(lambda: see_run(stage, dataset, "assay"))


SAVE = SaveTask(
    title="Oven", body="The oven is polled every ten seconds.", after="oven", expected=(SaveDecision.SUPERSEDE,)
)
LEAKED = "Which lamp of the hall is green?"
EDGE = Edge(source_id="router", target_id="oven", kind=EdgeKind.CAUSED, created_at=JULY)
LONG = (Turn(speaker="user", text="I speak of the cellar."), Turn(speaker="assistant", text="Go on."))
TABLE = {
    "dataset.name": of_dataset("name", "house", "home"),
    "dataset.documents": of_dataset("documents", BASE.documents, BASE.documents[:3]),
    "dataset.cases": of_dataset("cases", BASE.cases, BASE.cases[:2]),
    "dataset.version": of_dataset("version", "1.0.0", "2.0.0"),
    "dataset.description": of_dataset("description", "", "Notes of a house."),
    "dataset.created_at": of_dataset("created_at", "", "July 2026"),
    "dataset.lowest_grade": of_dataset("lowest_grade", 0, 1),
    "dataset.highest_grade": of_dataset("highest_grade", 3, 4),
    "dataset.relevance_level": of_dataset("relevance_level", 1, 2),
    "dataset.ranked_unit": of_dataset("ranked_unit", "entity", "passage"),
    "dataset.floors": of_dataset("floors", {}, {"recall@5": 0.99}),
    "dataset.edges": change(lambda edges: replace(BASE, cases=(PLAIN,), edges=edges), (), (EDGE,)),
    "document.id": of_document("id", "lamp", "light", query="Which lamp is green?"),
    "document.text": of_document("text", TEXTS["lamp"], "An oven is polled too, every five seconds."),
    "document.title": of_document("title", "Lamp", "How often the oven is polled"),
    "document.entity_type": of_document("entity_type", "KNOWLEDGE_ARTIFACT", "DECISION"),
    "document.format": of_document("format", Format.MARKDOWN, Format.TEXT),
    "document.rel_path": of_document("rel_path", "tea.md", "hall/tea.md", of="tea"),
    "document.folder": change(place_in_folder, "house", "garden"),
    "document.tags": of_document("tags", (), ("which lamp of the hall is green",), query=LEAKED),
    "document.metadata": of_document("metadata", {}, {"asked": LEAKED}, query=LEAKED),
    "document.tier": of_document("tier", Tier.NORMAL, Tier.CONSTITUTIONAL),
    "document.triggers": of_document("triggers", (), ("oven polled",)),
    "document.dated": Values(JULY, AUGUST, fill_server),
    "case.id": of_case("id", "c_plain", "c_other"),
    "case.query": of_case("query", PLAIN.query, "Where does the router sit?"),
    "case.grades": of_case("grades", PLAIN.grades, (Grade(document_id="router", grade=3),)),
    "case.declared_relevant": of_case("declared_relevant", None, ("lamp",)),
    "case.top_chunk": of_case("top_chunk", "oven:chunk:0", "lamp:chunk:0"),
    "case.anchors": of_case("anchors", None, GoldAnchors(supports=SUPPORTS)),
    "case.answerable": of_case("answerable", True, False, case=replace(PLAIN, grades=())),
    "case.reference_answer": of_case("reference_answer", "Every five seconds.", "Never.", system="assay:answer"),
    "case.category": of_case("category", "", "kitchen"),
    "case.difficulty": of_case("difficulty", "", "hard"),
    "case.tags": of_case("tags", (), ("kitchen",)),
    "case.vault": of_case("vault", "", "house"),
    "case.intent": of_case("intent", None, Intent.FIND_SPEC),
    "case.folder_mode": of_case("folder_mode", FolderMode.OFF, FolderMode.ON, case=ANCHORED),
    "case.session": of_case("session", None, SessionContext(session_id="s1", working_memory=("router",))),
    "case.equivalence": of_case("equivalence", None, EquivalenceClasses(classes=(frozenset({"oven", "router"}),))),
    "case.causal_chain": of_case("causal_chain", (), ("router", "oven")),
    "case.harvested_at": of_case("harvested_at", None, JULY),
    "case.history": of_case("history", (), LONG, asking=Asking.USER),
    "case.asked_at": change(ask_at, AUGUST, datetime(2026, 6, 1, tzinfo=UTC)),
    "case.rubric": of_case("rubric", (), ("It names seconds.",)),
    "case.current_value": of_case("current_value", "every five seconds", "in the cellar"),
    "case.outdated_values": of_case(
        "outdated_values", (), ("in the cellar",), case=replace(PLAIN, current_value="every five seconds")
    ),
    "case.save": Values(None, SAVE, run_save),
    "grade.document_id": of_grade("document_id", "oven", "lamp"),
    "grade.grade": of_grade("grade", 3, 1),
    "grade.source": of_grade("source", JudgmentSource.MANUAL, JudgmentSource.IMPLICIT),
    "grade.annotator": of_grade("annotator", "", "ben"),
    "grade.confidence": of_grade("confidence", 1.0, 0.5),
    "grade.channels": of_grade("channels", (), ("bm25",)),
    "session.session_id": of_session("session_id", "s1", "s2"),
    "session.working_memory": of_session("working_memory", ("router",), ("oven",)),
    "session.turn": of_session("turn", 1, 3),
    "turn.speaker": of_turn("speaker", "user", "assistant"),
    "turn.text": of_turn("text", "I speak of the cellar.", "I speak of the hall lamp."),
    "anchors.supports": of_anchors("supports", SUPPORTS, (SUPPORTS[1], SUPPORTS[1])),
    "anchors.required_support_groups": of_anchors("required_support_groups", (), ((0,), (1,))),
    "anchors.equivalent": of_anchors("equivalent", (), ((0, 1),)),
    "anchors.answerable": of_anchors("answerable", True, False),
    "anchors.recency_conflict_rule": of_anchors(
        "recency_conflict_rule", None, ConflictRule.CITE_BOTH, system="assay:answer"
    ),
    "support.rel_path": of_support("rel_path", "tea.md", "lamp.md"),
    "support.heading_path": of_support("heading_path", "Tea > Water", "Oven"),
    "support.snippets": of_support("snippets", ("eighty degrees",), ("ninety degrees",)),
    "support.dated": of_support("dated", JULY, datetime(2026, 9, 1, tzinfo=UTC)),
    "equivalence.classes": of_case(
        "equivalence",
        EquivalenceClasses(classes=(frozenset({"oven", "lamp"}),)),
        EquivalenceClasses(classes=(frozenset({"oven", "router"}),)),
    ),
}
PROBES: dict[str, Probe] = make_probes("dataset", TABLE)
