"""What people say of an answer is said of what it cites, once, and read back as one rating."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.errors import InputError, RecordNotFound
from assay.memory.engine import Engine
from assay.records import Draft, Scope
from assay.records.research_log import TracedAnswer
from assay.research.rating import find_citations, rate, rating_of
from assay.settings import Settings
from assay.wiring import open_engine, open_research

ADA, BOB, CAT = (Scope(principal=name) for name in ("ada", "bob", "cat"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(db=str(tmp_path / "notes.db"), embedder="none", index_folder=tmp_path / "indexes")


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    with open_engine(settings, run_once=True) as engine:
        engine.saver.save(ADA, Draft(title="Cookie", body="The session cookie lives for twelve hours."))
        yield engine


@pytest.fixture
def answer(settings: Settings, engine: Engine) -> TracedAnswer:
    return open_research(settings, engine, ADA).ask(ADA, "How long does the session cookie live?")


def rating(engine: Engine, answer: TracedAnswer) -> bool | None:
    with engine.store.reading(ADA) as work:
        return rating_of(work, answer.trace)


def test_nobody_has_said_anything_at_first(engine: Engine, answer: TracedAnswer) -> None:
    assert rating(engine, answer) is None


@pytest.mark.parametrize("useful", [True, False])
def test_a_rating_is_a_validation_of_what_the_answer_cites(engine: Engine, answer: TracedAnswer, useful: bool) -> None:
    (said,) = rate(engine, ADA, answer.log_id, useful=useful).memories
    assert said.memory_id == answer.synthesis.citations[0].memory_id == find_citations(answer.trace)[0]
    assert said.query_id in answer.trace["retrieval_evaluation"]["query_ids"]
    assert rating(engine, answer) is useful


def test_the_same_said_twice_counts_once(engine: Engine, answer: TracedAnswer) -> None:
    rate(engine, ADA, answer.log_id, useful=True)
    (again,) = rate(engine, ADA, answer.log_id, useful=True).memories
    assert again.repeated


def test_principals_whose_long_names_begin_alike_are_counted_apart(engine: Engine, answer: TracedAnswer) -> None:
    first, second = (Scope(tenant=ADA.tenant, principal=f"token:kitchen-{'x' * 40}-{number}") for number in (1, 2))
    rate(engine, first, answer.log_id, useful=True)
    (other,) = rate(engine, second, answer.log_id, useful=True).memories
    assert not other.repeated
    assert rate(engine, second, answer.log_id, useful=True).memories[0].repeated


def test_a_validation_by_hand_for_the_answers_search_says_the_same(engine: Engine, answer: TracedAnswer) -> None:
    query_id = answer.trace["retrieval_evaluation"]["query_ids"][0]
    engine.validate(ADA, find_citations(answer.trace)[0], False, query_id=query_id)
    assert rating(engine, answer) is False


def test_the_majority_of_people_counts_and_an_even_split_says_nothing(engine: Engine, answer: TracedAnswer) -> None:
    rate(engine, ADA, answer.log_id, useful=False)
    rate(engine, BOB, answer.log_id, useful=True)
    assert rating(engine, answer) is None
    rate(engine, CAT, answer.log_id, useful=True)
    assert rating(engine, answer) is True


def test_what_cites_nothing_or_is_not_there_cannot_be_rated(settings: Settings, engine: Engine) -> None:
    silent = open_research(settings, engine, ADA).ask(ADA, "Who was the first king of Poland?")
    with pytest.raises(InputError, match="cites nothing"):
        rate(engine, ADA, silent.log_id, useful=True)
    with pytest.raises(RecordNotFound):
        rate(engine, ADA, "r_nobody", useful=True)
