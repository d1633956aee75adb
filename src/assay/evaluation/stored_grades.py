"""Grades of logged searches, given on the dashboard or imported: under whose name, and what they replace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.errors import NotAllowed
from assay.records import Judgment, Scope

if TYPE_CHECKING:
    from assay.storage import Store, Work  # needs an extra that a run without a store does not


def annotator_of(scope: Scope, named: str, *, may_name_others: bool) -> str:
    """Return the name under which grades are stored: the caller's, or the one an admin imports grades for.

    Raises `NotAllowed` when anybody else names another annotator than themselves.
    """
    if named in ("", scope.principal, scope.identity):
        return scope.identity
    if may_name_others:
        return named
    raise NotAllowed(
        f"{scope.principal!r} may not grade as {named!r}",
        remedy="Leave annotator out: grades are kept under your own name. An admin may import grades of others.",
    )


def keep_grades(store: Store, scope: Scope, grades: Sequence[Judgment]) -> None:
    """Keep grades of logged searches and stored memories; a grade that changes is kept in the audit log as it was."""
    queries, memories = ({getattr(grade, name) for grade in grades} for name in ("query_id", "memory_id"))
    for query_id in queries:
        store.log.make_sure_of(query_id)
    with store.writing(scope) as work:
        for query_id in queries:
            work.queries.get(query_id)
        for memory_id in memories:
            work.memories.get(memory_id)
        changed = _changes(work, grades)
        work.judgments.put_many(grades)
        for annotator in sorted({grade.annotator for grade in grades}):
            kept = sum(grade.annotator == annotator for grade in grades)
            said = [change for change in changed if change["annotator"] == annotator]
            work.audit.append("judgments.put", annotator, {"kept": kept, "given_by": scope.identity, "changed": said})


def _changes(work: Work, grades: Sequence[Judgment]) -> list[dict[str, Any]]:
    """Return each grade that becomes another one, with what it was."""
    asked = {grade.query_id for grade in grades}
    before = {_key(grade): grade for query_id in asked for grade in work.judgments.of(query_id)}
    return [
        {
            "query_id": grade.query_id,
            "memory_id": grade.memory_id,
            "annotator": grade.annotator,
            "before": old.relevance,
            "after": grade.relevance,
        }
        for grade in grades
        if (old := before.get(_key(grade))) is not None and old.relevance != grade.relevance
    ]


def _key(grade: Judgment) -> tuple[str, str, str, str]:
    return grade.query_id, grade.memory_id, str(grade.source), grade.annotator
