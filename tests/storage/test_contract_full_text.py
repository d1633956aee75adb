"""Full text: both back ends match what a plain reading of the words matches, whatever was typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text as sql
from tests.storage import samples
from tests.storage.homes import BOUND_S, Home, raw

from assay.errors import BadValue, RecordExists, SearchTimeout
from assay.records import MemoryRecord, Scope
from assay.storage import AllOf, AnyOf, Field, FullTextQuery, Phrase, Prefix, Saved, Store, Within
from assay.storage.full_text import DEEPEST, MOST_TERMS
from assay.testing import note
from assay.text.terms import words

ALPHABET = [
    "deploy", "deploys", "Deploy", "roll", "back", "rollback", "NEAR", "AND", "OR", "NOT", "title", "body", "tenant",
    "naïve", "日本語", "テスト", "हिन्दी", "a", "b", "0", "x²", "ß",
    '"', "'", "''", "*", ":", "(", ")", "{title}", "^", "-", "+", "&", "|", "!", "<->", ":*", "\\", "%", "_", "--", ";",
    "§", "🚀", "👩\u200d🚀", "\u202e", "$1", ":name", "?",
]  # fmt: skip
passage_text = st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=12).map(" ".join)
asked_text = st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=3).map(" ".join)


def leaves() -> st.SearchStrategy[FullTextQuery]:
    typed = asked_text.map(words).filter(bool)
    return st.one_of(
        typed.map(lambda found: found[0]),
        typed.map(Phrase),
        typed.map(lambda found: Prefix(found[0][:2])),
    )


def larger(parts: st.SearchStrategy[FullTextQuery]) -> st.SearchStrategy[FullTextQuery]:
    some = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(some.map(AllOf), some.map(AnyOf))


in_any_field = st.recursive(leaves(), larger, max_leaves=4)
in_one_field = st.builds(Within, st.sampled_from(Field), in_any_field)
questions = st.recursive(st.one_of(in_any_field, in_one_field), larger, max_leaves=3)


def holds(query: FullTextQuery, fields: dict[Field, list[str]]) -> bool:
    """What a question means, said plainly."""
    match query:
        case str():
            return any(query in found for found in fields.values())
        case Prefix(word):
            return any(one.startswith(word) for found in fields.values() for one in found)
        case Phrase(wanted):
            return any(list(wanted) in runs(found, len(wanted)) for found in fields.values())
        case Within(field, part):
            return holds(part, {field: fields[field]} if field in fields else {})
        case AllOf(parts):
            return all(holds(part, fields) for part in parts)
        case AnyOf(parts):
            return any(holds(part, fields) for part in parts)


def runs(found: Sequence[str], length: int) -> list[list[str]]:
    return [list(found[start : start + length]) for start in range(len(found) - length + 1)]


def fields_of(memory: MemoryRecord, passage: str) -> dict[Field, list[str]]:
    return {
        Field.TITLE: words(memory.title),
        Field.TRIGGERS: [word for trigger in memory.triggers for word in words(trigger)],
        Field.BODY: words(passage),
    }


def keep(store: Store, scope: Scope, *texts: str, **given: object) -> None:
    """One memory for each text, the first with number 1."""
    with store.writing(scope) as work:
        work.memories.add_many(
            Saved(note(f"m_{position}", **given), [samples.chunk(f"m_{position}", text=text, heading_path="")])
            for position, text in enumerate(texts)
        )


def matching(store: Store, scope: Scope, query: FullTextQuery, limit: int = 100) -> list[int]:
    with store.reading(scope) as work:
        return work.passages.matching(query, limit)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    passages=st.lists(st.tuples(passage_text, passage_text, passage_text), min_size=1, max_size=4),
    asked=st.lists(questions, min_size=1, max_size=6),
)
def test_every_question_matches_what_a_plain_reading_matches(
    store: Store, passages: list[tuple[str, str, str]], asked: list[FullTextQuery]
) -> None:
    with store.writing(Scope(tenant="plain")) as work:
        kept: dict[int, dict[Field, list[str]]] = {}
        for position, (title, trigger, passage) in enumerate(passages):
            memory = note(f"m_{position}", title=title, triggers=(trigger,), learned_triggers=("unlearned",))
            work.memories.add(memory, [samples.chunk(memory.id, text=passage, heading_path="")])
            kept[work.passages.page()[-1].number] = fields_of(memory, passage)
        for query in asked:
            expected = sorted((number for number, fields in kept.items() if holds(query, fields)), reverse=True)
            assert work.passages.matching(query, 100) == expected
        for position in range(len(passages)):
            work.memories.remove(f"m_{position}")


def test_matches_come_newest_first_and_their_words_on_request(store: Store, scope: Scope) -> None:
    keep(store, scope, "The café opens.", "A CAFE, closed!", title="Döner & more", triggers=("late-night", "food"))
    with store.reading(scope) as work:
        assert work.passages.matching("cafe", 10) == [2, 1]
        assert work.passages.matching("cafe", 1) == [2]
        assert work.passages.words([2, 99, 1]) == {
            1: " doner more \n late night food \n the cafe opens ",
            2: " doner more \n late night food \n a cafe closed ",
        }
        assert work.passages.words([]) == {}
    with store.reading(Scope(tenant="other")) as work:
        assert work.passages.words([1, 2]) == {}


def test_a_phrase_longer_than_any_position_a_database_keeps_is_found(store: Store, scope: Scope) -> None:
    filler = "word " * 17_000
    keep(store, scope, f"{filler} the needle {filler}", f"{filler} needle the")
    assert matching(store, scope, Phrase(["the", "needle", "word"])) == [1]


def test_a_phrase_does_not_cross_fields(store: Store, scope: Scope) -> None:
    keep(store, scope, "body words", title="title end", triggers=("trigger",))
    for crossing in (["end", "trigger"], ["trigger", "body"], ["end", "body"]):
        assert matching(store, scope, Phrase(crossing)) == []
    assert matching(store, scope, Phrase(["title", "end"])) == [1]


def test_a_heading_path_belongs_to_the_body(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), [samples.chunk("m_1", text="Do it.", heading_path="Guide > Install")])
    assert matching(store, scope, Within(Field.BODY, Phrase(["guide", "install", "do"]))) == [1]


def test_learned_triggers_are_in_no_full_text_row(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1", learned_triggers=("zebra",)), samples.chunks("m_1", 1))
        work.memories.update(note("m_1", learned_triggers=("zebra", "quagga"), title="Other"))
        work.memories.update(note("m_1", learned_triggers=("okapi",)), samples.chunks("m_1", 2))
    for learned in ("zebra", "quagga", "okapi"):
        assert matching(store, scope, learned) == []
        with store.reading(scope) as work:
            assert work.triggers.matching([learned]) == []
    table = "passages_fts_content" if store.backend_name == "sqlite" else "passages_text"
    with raw(store) as connection:
        rows = connection.execute(sql(f"SELECT * FROM {table}")).all()
    assert rows
    assert not any(learned in str(row) for row in rows for learned in ("zebra", "quagga", "okapi"))


def test_a_new_title_or_trigger_takes_the_place_of_the_old_in_every_passage(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1", title="Old name", triggers=("old phrase",)), samples.chunks("m_1", 3))
        work.memories.update(note("m_1", title="New name", triggers=("new phrase",)))
    assert matching(store, scope, "old") == []
    assert matching(store, scope, Within(Field.TITLE, "new")) == [3, 2, 1]
    assert matching(store, scope, Within(Field.TRIGGERS, Phrase(["new", "phrase"]))) == [3, 2, 1]


def test_new_chunks_have_new_numbers_and_the_old_ones_words_are_gone(store: Store, scope: Scope) -> None:
    keep(store, scope, "first words")
    with store.writing(scope) as work:
        work.memories.update(note("m_0"), [samples.chunk("m_0", text="second words", heading_path="")])
    assert matching(store, scope, "first") == []
    assert matching(store, scope, "second") == [2]


def test_deleting_a_memory_leaves_no_word_behind(store: Store, scope: Scope) -> None:
    keep(store, scope, "kept words", "gone words")
    with store.writing(scope) as work:
        work.memories.remove("m_1")
    assert matching(store, scope, "words") == [1]
    assert store.problems() == []


def test_a_superseded_memory_stays_in_the_full_text(store: Store, scope: Scope) -> None:
    keep(store, scope, "some words")
    with store.writing(scope) as work:
        work.memories.update(note("m_0", superseded_at=samples.AT))
    assert matching(store, scope, "words") == [1]


def test_a_tenant_finds_its_own_passages_only_alone_or_not(store: Store) -> None:
    ours, theirs = Scope(tenant="ours"), Scope(tenant="theirs")
    keep(store, ours, "shared word")
    assert matching(store, ours, "shared") == [1]
    assert matching(store, theirs, "shared") == []
    keep(store, theirs, "shared word", "shared word")
    assert matching(store, ours, "shared") == [1]
    assert matching(store, theirs, AnyOf(["shared", Prefix("wor")])) == [3, 2]
    assert matching(store, Scope(tenant="nobody"), "shared") == []


def test_a_work_that_was_rolled_back_leaves_no_word(store: Store, scope: Scope) -> None:
    def save_twice() -> None:
        with store.writing(scope) as work:
            work.memories.add(note("m_1"), samples.chunks("m_1", 1))
            work.memories.add(note("m_1"))

    with pytest.raises(RecordExists):
        save_twice()
    assert matching(store, scope, "passage") == []
    keep(store, scope, "passage")
    assert len(matching(store, scope, "passage")) == 1


@pytest.mark.parametrize(
    "query",
    [
        "two words", "", "Upper", 'quo"te', "§tenant", "café",
        Phrase([]), Phrase(["ok", "not ok"]), Prefix(""), Prefix("a*"), AllOf([]), AnyOf([AllOf([])]),
        Within(Field.TITLE, AllOf([Within(Field.BODY, "word")])),
    ],
)  # fmt: skip
def test_what_is_no_analysed_word_is_refused(store: Store, scope: Scope, query: FullTextQuery) -> None:
    with store.reading(scope) as work, pytest.raises(BadValue) as refused:
        work.passages.matching(query, 10)
    assert refused.value.remedy


def nested(levels: int) -> FullTextQuery:
    query: FullTextQuery = "word"
    for level in range(levels - 1):
        query = AllOf([query, "word"]) if level % 2 else AnyOf([query, "word"])
    return query


def test_the_largest_question_is_answered_and_a_larger_one_refused(store: Store, scope: Scope) -> None:
    keep(store, scope, "word")
    assert matching(store, scope, AnyOf(["word"] * MOST_TERMS)) == [1]
    assert matching(store, scope, AllOf([Phrase(["word"])] * MOST_TERMS)) == [1]
    assert matching(store, scope, nested(DEEPEST)) == [1]
    for larger in (AnyOf(["word"] * (MOST_TERMS + 1)), nested(DEEPEST + 1)):
        with store.reading(scope) as work, pytest.raises(BadValue):
            work.passages.matching(larger, 10)


@pytest.fixture
def stalled(home: Home, store: Store, scope: Scope) -> Iterator[Store]:
    """A store whose full text takes longer than any budget: many rows for SQLite, a held lock for PostgreSQL."""
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 1_000))
    if home.backend == "sqlite":
        yield store
        return
    other = home.open()
    with raw(other) as connection:
        connection.execute(sql("LOCK TABLE passages_text IN ACCESS EXCLUSIVE MODE"))
        yield store


def test_a_question_that_takes_too_long_is_given_up_and_the_work_goes_on(stalled: Store, scope: Scope) -> None:
    with stalled.reading(scope) as work:
        with pytest.raises(SearchTimeout, match="0 ms") as given_up:
            work.passages.matching("passage", 1_000, budget_s=0.0)
        assert given_up.value.remedy
        assert work.memories.count() == 1
        assert len(work.passages.page()) == 1_000


def test_the_budget_of_one_question_is_not_that_of_the_next(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.memories.add(note("m_1"), samples.chunks("m_1", 300))
    with store.reading(scope) as work:
        assert len(work.passages.matching("passage", 1_000, budget_s=BOUND_S)) == 300
        if store.backend_name == "postgres":
            left = work._bound.connection.execute(sql("SHOW statement_timeout")).scalar_one()
            assert left == "0"
        assert len(work.passages.page()) == 300
