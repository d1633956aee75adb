"""What a session costs: hit@10 of the same questions without and with one: `python -m bench.sessions [--json]`.

The questions of the bundled dataset `agent-memory` are asked of a store that holds its memories, 20 in one session, as
an agent asks them in one conversation. A question is hit when a memory of grade 2 or better is among its first ten
results; it is *named* when such a memory is a result or is named as given earlier in the session. The last column
repeats each session's questions in the same session: what is left of them when everything was asked before.

Fails when a session of 20 questions loses more than one hit, or any question is no longer named.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from assay import Settings
from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.evaluation.datasets.loading import load_dataset
from assay.memory.engine import Engine
from assay.records import Scope, SearchRequest, SearchResult
from assay.records.datasets import Case, Dataset
from assay.systems.assay_engine import take_in
from assay.wiring import open_engine

QUESTIONS = 20
"""Asked in one session."""
DEPTH = 10
RELEVANT = 2
"""The least grade of a memory that answers."""
MOST_LOST = 1
"""Hits that a session may lose."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionFigures:
    """What one session of questions came to."""

    questions: int
    plain: int
    """Questions hit without a session."""
    in_session: int
    """Questions hit in the session, by full results alone."""
    named: int
    """Questions hit in the session, by full results or by those named as given earlier."""
    named_again: int
    """The same when every question is asked a second time in the session."""
    held_back: int
    tokens_saved: int

    @property
    def passes(self) -> bool:
        """Whether the session costs no more than it may."""
        return self.plain - self.in_session <= MOST_LOST and self.named >= self.plain


def measure_sessions(engine: Engine, scope: Scope, dataset: Dataset, *, sessions: int) -> Iterator[SessionFigures]:
    """Ask the dataset's questions in sessions, and without; only questions that have an answer count."""
    answers = {one.id: answers_of(engine, scope, one) for one in dataset.cases}
    asked = [one for one in dataset.cases if answers[one.id] and one.session is None]
    for number in range(sessions):
        cases = asked[number * QUESTIONS : (number + 1) * QUESTIONS]
        if len(cases) < QUESTIONS:
            return
        yield _measure_session(engine, scope, cases, answers, f"bench-{number}")


def answers_of(engine: Engine, scope: Scope, case: Case) -> frozenset[str]:
    """The memories that answer a question."""
    with engine.store.reading(scope) as work:
        wanted = [document for document, grade in case.labels.items() if grade >= RELEVANT]
        return frozenset(memory.id for document in wanted for memory in work.memories.by_source(document))


def _measure_session(
    engine: Engine, scope: Scope, cases: Sequence[Case], answers: dict[str, frozenset[str]], session: str
) -> SessionFigures:
    plain = [_search(engine, scope, case) for case in cases]
    first = [_search(engine, scope, case, session) for case in cases]
    second = [_search(engine, scope, case, session) for case in cases]
    wanted = [answers[case.id] for case in cases]
    return SessionFigures(
        questions=len(cases),
        plain=_count(wanted, [result.ids for result in plain]),
        in_session=_count(wanted, [result.ids for result in first]),
        named=_count(wanted, [named_ids(result) for result in first]),
        named_again=_count(wanted, [named_ids(result) for result in second]),
        held_back=sum(len(result.held_back) for result in first),
        tokens_saved=sum(result.tokens_saved for result in first),
    )


def _search(engine: Engine, scope: Scope, case: Case, session: str | None = None) -> SearchResult:
    return engine.searcher.search(scope, SearchRequest(query=case.query, k=DEPTH, session_id=session))


def named_ids(result: SearchResult) -> tuple[str, ...]:
    """Every memory that a reply names, in full or as given earlier."""
    return (*result.ids, *(held.memory_id for held in result.held_back))


def _count(wanted: Sequence[frozenset[str]], found: Sequence[Sequence[str]]) -> int:
    return sum(not answers.isdisjoint(ids) for answers, ids in zip(wanted, found, strict=True))


def run(folder: Path, embedder: Embedder, *, sessions: int) -> list[SessionFigures]:
    """The figures over a new store in a folder."""
    dataset = load_dataset("agent-memory")
    scope = Scope(tenant="bench")
    settings = Settings(db=str(folder / "sessions.db"), tenant=scope.tenant)
    with open_engine(settings, embedder=embedder) as engine:
        take_in(engine, scope, dataset)
        return list(measure_sessions(engine, scope, dataset, sessions=sessions))


def main() -> int:
    """Print a line for each session; 1 when one of them loses too much."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=10, help="how many sessions of 20 questions")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), load_bundled(), sessions=given.sessions)
    if given.json:
        print(json.dumps([asdict(one) for one in figures]))
    else:
        print("session  questions  plain  in session  named  asked again, named  held back  tokens saved")
        for number, one in enumerate(figures, start=1):
            print(
                f"{number:>7}  {one.questions:>9}  {one.plain:>5}  {one.in_session:>10}  {one.named:>5}"
                f"  {one.named_again:>18}  {one.held_back:>9}  {one.tokens_saved:>12,}"
            )
    return 0 if all(one.passes for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
