"""A dataset from a real store: what was asked and chosen there, on both back ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.engines import engine_at
from tests.storage.homes import Home

from assay.errors import BadValue, NothingMeasured
from assay.evaluation.datasets import export_dataset, load_dataset
from assay.evaluation.harvesting import BuildOptions, build
from assay.evaluation.labelling import read_tasks, write_tasks
from assay.memory.engine import Engine
from assay.records import Draft, EdgeKind, EventType, FeedbackEvent, JudgmentSource, Origin, Scope, SearchRequest

TEXTS = {
    "Sign-in": "Every client signs in with the authorisation code flow and PKCE.",
    "Cookies": "The session cookie is strict and lives for twelve hours.",
    "Deploys": "Nothing is released after noon, so that whoever is on call is awake.",
    "Backups": "Backups are written every night and restored once a month as a test.",
}


def used(engine: Engine, scope: Scope) -> dict[str, str]:
    """Memories, three questions, and what came of them; gives back the memories by title."""
    drafts = {title: Draft(title=title, body=text) for title, text in TEXTS.items()}
    ids = {title: engine.saver.save(scope, draft, gated=False).memory_id or "" for title, draft in drafts.items()}
    engine.link(scope, ids["Sign-in"], EdgeKind.SUPPORTS, ids["Cookies"])
    asked = [
        engine.searcher.search(scope, SearchRequest(query=query))
        for query in ("how do clients sign in", "How do clients sign in?", "when are backups written")
    ]
    engine.searcher.search(scope, SearchRequest(query="how long lives a cookie", origin=Origin.EVALUATION))
    engine.store.log.flush()
    seen = [
        (EventType.VALIDATE_USEFUL, asked[0].query_id, ids["Sign-in"]),
        (EventType.READ_AFTER_SEARCH, asked[1].query_id, ids["Cookies"]),
    ]
    with engine.store.writing(scope) as work:
        work.feedback.record(
            [
                FeedbackEvent(
                    event_key=f"k{number}",
                    event_type=kind,
                    session_id="s",
                    created_at=engine.clock.now(),
                    query_id=query,
                    memory_id=memory,
                )
                for number, (kind, query, memory) in enumerate(seen)
            ]
        )
    return ids


def test_questions_become_cases_with_what_use_says(home: Home, scope: Scope, tmp_path: Path) -> None:
    with engine_at(home) as engine:
        ids = used(engine, scope)
        before = len(engine.searcher.search(scope, SearchRequest(query="sign in", origin=Origin.EVALUATION)))
        built = build(engine, scope, BuildOptions(to_label=1))
        with engine.store.reading(scope) as work:
            assert work.queries.count(origin=Origin.USE) == 3
    assert before
    assert built.harvested == 2
    cases = {one.query: one for one in built.dataset.cases}
    assert set(cases) == {"How do clients sign in?", "when are backups written"}
    graded = {one.document_id: (one.grade, one.source) for one in cases["How do clients sign in?"].grades}
    assert graded == {
        ids["Sign-in"]: (3, JudgmentSource.VALIDATED),
        ids["Cookies"]: (2, JudgmentSource.IMPLICIT),
    }
    assert cases["when are backups written"].grades == ()
    assert {one.id for one in built.dataset.documents} == set(ids.values())
    assert [(one.source_id, one.target_id) for one in built.dataset.edges] == [(ids["Sign-in"], ids["Cookies"])]
    assert {one.case_id for one in built.tasks} <= {one.id for one in cases.values()}
    export_dataset(built.dataset, tmp_path / "use")
    assert load_dataset(tmp_path / "use").content_hash == built.dataset.content_hash
    write_tasks(tmp_path / "to_label.jsonl", built.tasks)
    assert read_tasks(tmp_path / "to_label.jsonl") == list(built.tasks)


def test_a_log_with_nothing_to_use_is_told(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        engine.saver.save(scope, Draft(title="Note", body="Something that was never asked for by anybody here."))
        engine.searcher.search(scope, SearchRequest(query="anybody", origin=Origin.EVALUATION))
        with pytest.raises(NothingMeasured, match="no usable query"):
            build(engine, scope, BuildOptions())


@pytest.mark.parametrize("given", [{"size": 0}, {"unjudged": 4}, {"to_label": -1}])
def test_what_cannot_be_built_is_refused(given: dict[str, int]) -> None:
    with pytest.raises(BadValue):
        BuildOptions(**given)  # type: ignore[arg-type] # what a command line may be given
