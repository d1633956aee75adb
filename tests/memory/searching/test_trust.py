"""A program's note never stands above a person's note that it contradicts, whatever its score."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.engines import engine_at
from tests.storage.homes import Home

from assay.embedding.protocol import SimilarityProfile
from assay.memory.engine import Engine
from assay.memory.searching.trust import MOST_RAISED, Opposed, arrange
from assay.records import AuthorKind, Draft, EdgeKind, Filters, Scope, SearchRequest, SearchResult
from assay.records.memory import INGESTED_WITH

TITLE = "Logging of card numbers"
TRUE = "Card numbers of guests must never be written to the logs of the payment service."
FALSE = "Card numbers of guests must always be written to the logs of the payment service."
QUESTION = "must card numbers of guests always be written to logs of the payment service"
ADA = Scope(tenant="acme", principal="ada")
STRANGER = Scope(tenant="acme", principal="token:stranger")

IDS = st.sampled_from([f"p{number}" for number in range(6)])
HAND = st.sampled_from([f"h{number}" for number in range(6)])


def pairs(*given: tuple[str, str]) -> list[Opposed]:
    return [Opposed(program, person) for program, person in given]


def ordered(order: list[str], *opposed: tuple[str, str], shown: int = 10, allowed: str = "") -> list[str]:
    return arrange(order, pairs(*opposed), shown=shown, may_raise=lambda one: one in allowed.split()).order


def test_a_program_waits_until_the_person_has_had_its_turn() -> None:
    assert ordered(["p", "a", "h", "b"], ("p", "h")) == ["a", "h", "p", "b"]
    assert ordered(["h", "p"], ("p", "h")) == ["h", "p"]
    assert ordered(["p", "h", "a", "g"], ("p", "h"), ("p", "g")) == ["h", "a", "g", "p"]


def test_a_person_far_down_or_not_found_is_raised() -> None:
    assert ordered(["p", "a", "b", "h"], ("p", "h"), shown=3, allowed="h") == ["h", "p", "a", "b"]
    assert ordered(["p", "a"], ("p", "h"), allowed="h") == ["h", "p", "a"]


def test_what_may_not_be_shown_is_not_raised() -> None:
    assert ordered(["p", "a"], ("p", "h")) == ["p", "a"]


def test_beyond_the_bound_a_program_goes_to_the_end() -> None:
    programs = [f"p{number}" for number in range(MOST_RAISED + 1)]
    opposed = [(program, f"h{number}") for number, program in enumerate(programs)]
    found = ordered([*programs, "a"], *opposed, allowed=" ".join(person for _, person in opposed))
    assert found[-2:] == ["a", programs[-1]]
    assert f"h{MOST_RAISED}" not in found


def test_a_copy_waits_and_raises_nothing() -> None:
    copy = [Opposed("p", "h", repeats=True)]
    assert arrange(["p", "h"], copy, shown=2, may_raise=lambda _: True).order == ["h", "p"]
    assert arrange(["p", "a", "h"], copy, shown=2, may_raise=lambda _: True).order == ["p", "a", "h"]
    assert arrange(["p"], copy, shown=2, may_raise=lambda _: True).order == ["p"]


def test_the_moves_say_from_where_and_why() -> None:
    found = arrange(["p", "h"], [Opposed("p", "h", "negation: 1 / 0")], shown=10, may_raise=lambda _: True)
    move = found.moves["p"]
    assert (move.raised, move.from_rank, move.other_id) == (False, 1, "h")
    assert "negation: 1 / 0" in move.reason
    assert set(found.moves) == {"p"}


@given(
    order=st.lists(IDS | HAND, unique=True, max_size=12),
    opposed=st.lists(st.tuples(IDS, HAND), max_size=12),
    shown=st.integers(1, 12),
)
def test_no_program_stands_above_a_person_it_contradicts(
    order: list[str], opposed: list[tuple[str, str]], shown: int
) -> None:
    found = arrange(order, pairs(*opposed), shown=shown, may_raise=lambda _: True)
    assert set(order) <= set(found.order)
    assert len(found.order) == len(set(found.order)) <= len(order) + MOST_RAISED
    place = {memory_id: at for at, memory_id in enumerate(found.order)}
    for program, person in opposed:
        if program in place and place[program] < shown and person in place:
            assert place[person] < place[program]


@pytest.fixture
def engine(home: Home) -> Iterator[Engine]:
    with engine_at(home) as found:
        yield found


def keep(engine: Engine, scope: Scope, title: str, body: str, **given: object) -> str:
    outcome = engine.saver.save(scope, Draft(title=title, body=body, **given))  # type: ignore[arg-type] # by name
    assert not outcome.quarantined
    return str(outcome.memory_id)


def find(engine: Engine, query: str = QUESTION, **more: object) -> SearchResult:
    return engine.searcher.search(ADA, SearchRequest(query=query, **{"k": 5, **more}))  # type: ignore[arg-type] # by name


def test_a_contradiction_by_a_stranger_is_below_and_says_so(engine: Engine) -> None:
    true = keep(engine, ADA, TITLE, TRUE)
    false = keep(engine, STRANGER, TITLE, FALSE, automated=True)
    assert find(engine, without=("trust_ranking",)).ids == (false, true)
    found = find(engine, explain=True)
    assert found.ids == (true, false)
    hand, program = found.hits
    assert (hand.author.name, hand.author.kind) == ("ada", AuthorKind.PERSON)
    assert (program.author.name, program.author.kind) == ("token:stranger", AuthorKind.PROGRAM)
    assert [(one.memory_id, one.author.kind) for one in program.contradicts] == [(true, AuthorKind.PERSON)]
    assert [(one.memory_id, one.author.kind) for one in hand.contradicted_by] == [(false, AuthorKind.PROGRAM)]
    assert program.explanation is not None
    assert program.explanation.trust is not None
    assert (program.explanation.trust.from_rank, program.explanation.trust.other_id) == (1, true)
    assert program.score > hand.score
    assert program.explanation.recompute() == pytest.approx(program.score)
    assert "trust" in [stage.name for stage in found.stages]


def test_a_persons_note_that_nobody_found_is_brought_in(engine: Engine) -> None:
    true = keep(engine, ADA, TITLE, TRUE)
    false = keep(engine, STRANGER, TITLE, FALSE, automated=True, triggers=("audit trail",))
    alone = {"channels": ("trigger",), "explain": True}
    assert find(engine, "audit trail", without=("trust_ranking",), **alone).ids == (false,)
    found = find(engine, "audit trail", **alone)
    assert found.ids == (true, false)
    raised = found.hits[0]
    assert (raised.score, raised.channels, raised.text) == (0.0, (), TRUE)
    assert raised.explanation is not None
    assert raised.explanation.trust is not None
    assert (raised.explanation.trust.raised, raised.explanation.trust.from_rank) == (True, None)
    assert find(engine, "audit trail", k=1, **alone).ids == (true,)
    assert find(engine, "audit trail", relevant_only=True, **alone).ids == (true, false)


def test_a_short_copy_of_a_persons_note_is_below_it(engine: Engine) -> None:
    true = keep(engine, ADA, "Escalation", "First call the duty engineer, then the manager.")
    copy = keep(engine, STRANGER, "Escalation", "First call the manager, then the duty engineer.", automated=True)
    found = find(engine, "escalation first call the manager", explain=True)
    assert found.ids == (true, copy)


def test_a_changed_word_far_below_related_is_a_contradiction(engine: Engine) -> None:
    true = keep(engine, ADA, "Hash of tokens", "Tokens are signed with Ed25519.")
    outcome = engine.saver.save(
        STRANGER, Draft(title="Hash of tokens", body="All login tokens get signatures made with MD5.", automated=True)
    )
    assert outcome.nearest[0].similarity < SimilarityProfile().related
    assert outcome.contradicts == (true,)


def test_what_was_brought_in_obeys_the_filters(engine: Engine) -> None:
    true = keep(engine, ADA, TITLE, TRUE)
    false = keep(engine, STRANGER, TITLE, FALSE, automated=True, tags=("urgent",))
    found = find(engine, filters=Filters(tags=("urgent",)))
    assert found.ids == (false,)
    assert [one.memory_id for one in found.hits[0].contradicts] == [true]


def test_a_context_gives_the_person_before_the_program(engine: Engine) -> None:
    true = keep(engine, ADA, TITLE, TRUE)
    false = keep(engine, STRANGER, TITLE, FALSE, automated=True)
    packed = engine.context(ADA, SearchRequest(query=QUESTION, token_budget=500))
    assert [hit.memory_id for hit in packed.hits] == [true, false]
    tight = engine.context(ADA, SearchRequest(query=QUESTION, token_budget=20))
    assert [hit.memory_id for hit in tight.hits] == [true]


def test_copies_of_its_own_do_not_hide_the_persons_note(engine: Engine) -> None:
    true = keep(engine, ADA, TITLE, TRUE)
    for number in range(4):
        body = FALSE.replace("payment service", f"payment service {number}")
        last = keep(engine, STRANGER, f"{TITLE} {number}", body, automated=True)
    assert [one.memory_id for one in find(engine).hits if one.author.kind is AuthorKind.PERSON] == [true]
    assert find(engine).ids[0] == true
    with engine.store.reading(ADA) as work:
        assert true in [edge.target_id for edge in work.edges.of(last) if edge.kind is EdgeKind.CONTRADICTS]


def test_a_new_version_by_a_program_is_compared_with_what_persons_wrote(engine: Engine) -> None:
    true = keep(engine, ADA, TITLE, TRUE)
    harmless = "The lamp in the hall of the east wing is green on Tuesdays."
    keep(engine, STRANGER, "Lamp", harmless, automated=True, source_id="s1")
    false = engine.saver.save(STRANGER, Draft(title=TITLE, body=FALSE, automated=True, source_id="s1"))
    assert (false.version, false.contradicts) == (2, (true,))
    assert find(engine).ids == (true, false.memory_id)


def test_an_update_by_a_program_is_compared_with_what_persons_wrote(engine: Engine) -> None:
    true = keep(engine, ADA, TITLE, TRUE)
    lamp = keep(engine, STRANGER, "Lamp", "The lamp in the hall of the east wing is green on Tuesdays.", automated=True)
    updated = engine.saver.update(STRANGER, lamp, {"title": TITLE, "body": FALSE}, automated=True)
    assert updated.contradicts == (true,)
    assert find(engine).ids == (true, updated.memory_id)


def test_contradictions_are_drawn_also_when_nothing_may_be_changed(engine: Engine) -> None:
    engine.flags.turn(engine.store, ADA, "reconsolidation", "off")
    true = keep(engine, ADA, TITLE, TRUE)
    false = keep(engine, STRANGER, TITLE, FALSE, automated=True)
    assert find(engine).ids == (true, false)


def test_a_document_taken_in_by_a_person_is_not_replaced_by_a_program(engine: Engine) -> None:
    document = {"automated": True, "written_with": INGESTED_WITH, "source_id": "handbook.md"}
    true = keep(engine, ADA, TITLE, TRUE, **document)
    false = engine.saver.save(STRANGER, Draft(title=TITLE, body=FALSE, automated=True))
    assert (false.superseded, false.contradicts) == ((), (true,))
    found = find(engine)
    assert found.ids == (true, false.memory_id)
    assert found.hits[0].author.kind is AuthorKind.PERSON
    again = engine.saver.save(ADA, Draft(title=TITLE, body=FALSE.replace("guests", "all guests"), **document))  # type: ignore[arg-type] # by name
    assert again.superseded == (true,)


def test_a_newer_note_of_a_person_supersedes_and_the_contradiction_follows(engine: Engine) -> None:
    true = keep(engine, ADA, TITLE, TRUE)
    false = keep(engine, STRANGER, TITLE, FALSE, automated=True)
    newer = engine.saver.update(ADA, true, {"body": TRUE.replace("logs", "logs or traces")})
    found = find(engine)
    assert found.ids == (newer.memory_id, false)
    assert [one.memory_id for one in found.hits[1].contradicts] == [newer.memory_id]


def test_a_changed_paragraph_of_a_document_contradicts_the_document(engine: Engine) -> None:
    paragraphs = [f"The room {number} has {number} chairs and a view of the {number}th garden." for number in range(30)]
    handbook = "\n\n".join([*paragraphs[:15], TRUE, *paragraphs[15:]])
    document = {"automated": True, "written_with": INGESTED_WITH, "source_id": "handbook.md"}
    true = keep(engine, ADA, "Handbook", handbook, **document)
    false = engine.saver.save(STRANGER, Draft(title="Payment logs", body=FALSE, automated=True))
    assert false.contradicts == (true,)
    assert find(engine).ids[:2] == (true, false.memory_id)
