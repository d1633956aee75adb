"""The newest statement on a topic stands above the older ones, and outdated facts are named."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.searching.shelf import Shelf, ids

from assay.memory.searching.current_facts import EQUALLY_WELL, Placed, arrange_by_time
from assay.memory.searching.query import parse
from assay.records import Filters, MemoryRecord, Mode, Scope
from assay.storage import ServedFact
from assay.testing import FixedClock, note
from assay.text.facts import join_name, normalise_name
from assay.text.relations import RelationKind
from assay.text.terms import stems

QUERY = "Which city does Ada work in?"


def put_in_turn(shelf: Shelf, *memories: MemoryRecord, end: bool = True) -> None:
    """Keep memories an hour apart, and settle their facts as a save does."""
    for memory in memories:
        shelf.clock.advance(seconds=3600)
        now = shelf.clock.now()
        shelf.put(note(memory.id, title=memory.title, body=memory.body, valid_from=now, metadata=memory.metadata))
        with shelf.store.writing(shelf.scope) as work:
            work.facts.settle(work.facts.topics_touched_by([memory.id]), may_end=end)


def fact(
    memory_id: str,
    value: str,
    *,
    hours: int,
    by_program: bool = False,
    protected: bool = True,
    kind: RelationKind = RelationKind.UNKNOWN,
) -> ServedFact:
    began = FixedClock().now() + timedelta(hours=hours)
    return ServedFact(
        memory_id=memory_id,
        position=0,
        topic="ada citi work",
        value=value,
        shown=value,
        negated=False,
        start=0,
        stop=10,
        valid_from=began,
        valid_to=None,
        ended_by=None,
        restated_at=None,
        kind=kind,
        memory_number=hours,
        by_program=by_program,
        protected=protected,
        in_current_memory=True,
        written_at=began,
    )


def test_the_newer_of_several_values_is_not_put_above_the_older() -> None:
    order = [Placed("m_old", 0.9), Placed("m_new", 0.8)]
    for kind, expected in ((RelationKind.SEVERAL, ["m_old", "m_new"]), (RelationKind.SINGLE, ["m_new", "m_old"])):
        facts = [fact("m_old", "Oslo", hours=1, kind=kind), fact("m_new", "Bergen", hours=2, kind=kind)]
        assert arrange_by_time(order, facts, stems(QUERY)).order == expected


def test_of_two_views_the_newer_comes_first_and_the_explanation_says_why(shelf: Shelf) -> None:
    put_in_turn(
        shelf,
        note("m_old", title="Ada", body="Ada worked in the city of Oslo."),
        note("m_new", title="Ada", body="Ada worked in the city of Bergen."),
    )
    found = shelf.search(QUERY, explain=True)
    assert ids(found) == ["m_new", "m_old"]
    assert all(hit.explanation and hit.explanation.recompute() == pytest.approx(hit.score) for hit in found)
    moves = {hit.memory_id: hit.explanation.current_fact for hit in found if hit.explanation}
    if (move := moves["m_new"]) is not None:
        assert move.reason == "it says 'Bergen' where m_old said 'Oslo' before"
    assert "current-facts" in [stage.name for stage in found.stages]
    assert [hit.outdated for hit in found] == [(), ()], "the relation may hold both"


def test_a_fact_that_ended_is_named_with_what_holds_now(shelf: Shelf) -> None:
    long = "The rate limit of the billing API is 100 requests. The billing API runs in two regions."
    put_in_turn(
        shelf,
        note("m_long", title="Billing API", body=long),
        note("m_new", title="Billing API limits", body="The rate limit of the billing API is 500 requests."),
    )
    found = shelf.search("rate limit of the billing API")
    assert ids(found) == ["m_new", "m_long"]
    [outdated] = found.hits[1].outdated
    assert (outdated.value, outdated.now, outdated.by) == ("100 requests", "500 requests", "m_new")
    assert outdated.statement == "The rate limit of the billing API is 100 requests."
    assert outdated.describe() == (
        f'outdated: "100 requests" since {shelf.clock.now():%Y-%m-%d}, now "500 requests" (m_new)'
    )


def test_as_of_a_date_what_held_then_is_not_outdated(shelf: Shelf) -> None:
    put_in_turn(shelf, note("m_old", title="Limit", body="The limit of the API is 100. It is strict."))
    before = shelf.clock.now() + timedelta(minutes=5)
    put_in_turn(shelf, note("m_new", title="Limit", body="The limit of the API is 500."))

    then = shelf.search("limit of the API", filters=Filters(as_of=before))
    assert [(hit.memory_id, hit.outdated) for hit in then] == [("m_old", ())]
    now = shelf.search("limit of the API")
    assert [(hit.memory_id, bool(hit.outdated)) for hit in now] == [("m_new", False), ("m_old", True)]


def test_a_newer_result_moves_only_if_it_matches_about_equally_well() -> None:
    facts = [fact("m_old", "oslo", hours=1), fact("m_new", "bergen", hours=2)]
    asked = set(stems(QUERY))
    near = arrange_by_time([Placed("m_old", 1.0), Placed("m_new", EQUALLY_WELL)], facts, asked)
    assert near.order == ["m_new", "m_old"]
    assert near.moves["m_new"].from_rank == 2
    far = arrange_by_time([Placed("m_old", 1.0), Placed("m_new", EQUALLY_WELL - 0.01)], facts, asked)
    assert far == (["m_old", "m_new"], {})


def test_nothing_moves_for_a_topic_that_the_query_does_not_ask_about() -> None:
    facts = [fact("m_old", "oslo", hours=1), fact("m_new", "bergen", hours=2)]
    order = [Placed("m_old", 1.0), Placed("m_new", 0.9)]
    assert arrange_by_time(order, facts, set(stems("boats of the harbour"))).order == ["m_old", "m_new"]


def test_what_a_program_wrote_never_moves_above_what_a_person_wrote() -> None:
    order = [Placed("m_person", 1.0), Placed("m_program", 0.99)]
    newer = fact("m_program", "bergen", hours=2, by_program=True, protected=False)
    asked = set(stems(QUERY))
    assert arrange_by_time(order, [fact("m_person", "oslo", hours=1), newer], asked).moves == {}
    older = fact("m_person", "oslo", hours=1, by_program=True, protected=False)
    assert arrange_by_time(order, [older, newer], asked).order == ["m_program", "m_person"]


CHAIN = (
    note("m_author", title="Book", body="The author of The Moonstone is Wilkie Collins."),
    note("m_born", title="Life", body="Wilkie Collins was born in the city of London."),
    note("m_continent", title="Place", body="London is located in the continent of Europe."),
    note("m_other", title="Tea", body="The tea of the guest house is served at four."),
)


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.FOCUSED, Mode.DEEP])
def test_a_question_is_followed_from_fact_to_fact(shelf: Shelf, mode: Mode) -> None:
    put_in_turn(shelf, *CHAIN)
    found = shelf.search("Where was the author of The Moonstone born?", mode=mode, explain=True)
    assert ids(found)[:2] == ["m_author", "m_born"]
    steps = [hit.explanation.step for hit in found.hits[:2] if hit.explanation]
    assert [(step.hop, step.about, step.leads_to) for step in steps if step] == [
        (0, "moonstone", "Wilkie Collins"),
        (1, "wilkie collins", "London"),
    ]
    assert all(hit.explanation and hit.explanation.recompute() == pytest.approx(hit.score) for hit in found)


def test_two_hops_are_followed_and_no_more(sqlite_shelf: Shelf) -> None:
    further = note("m_further", title="Size", body="Europe is located in the region of Eurasia.")
    put_in_turn(sqlite_shelf, *CHAIN, further)
    found = sqlite_shelf.search(
        "On which continent was the author of The Moonstone born?", mode=Mode.DEEP, explain=True
    )
    steps = {hit.memory_id: hit.explanation.step for hit in found if hit.explanation}
    assert {name for name, step in steps.items() if step} == {"m_author", "m_born", "m_continent"}


def test_quick_mode_follows_nothing(sqlite_shelf: Shelf) -> None:
    put_in_turn(sqlite_shelf, *CHAIN)
    found = sqlite_shelf.search("Where was the author of The Moonstone born?", mode=Mode.QUICK, explain=True)
    assert all(hit.explanation and hit.explanation.step is None for hit in found)


def test_a_question_in_one_step_keeps_its_order(sqlite_shelf: Shelf) -> None:
    put_in_turn(sqlite_shelf, *CHAIN)
    found = sqlite_shelf.search("Who is the author of The Moonstone?", mode=Mode.DEEP, explain=True)
    assert ids(found)[0] == "m_author"
    assert all(hit.explanation and hit.explanation.step is None for hit in found)


@pytest.mark.parametrize("mode", [Mode.FOCUSED, Mode.DEEP])
def test_a_note_that_holds_the_whole_question_stays_first(sqlite_shelf: Shelf, mode: Mode) -> None:
    put_in_turn(
        sqlite_shelf,
        note("m_target", title="Target", body="The deploy target of Billing is Frankfurt."),
        note("m_region", title="Region", body="The region of Frankfurt is eu-central-1."),
        note("m_answer", title="Failures", body="Deploys of Billing fail when the certificate is too old."),
    )
    assert ids(sqlite_shelf.search("Why do deploys of Billing fail?", mode=mode))[0] == "m_answer"
    followed = sqlite_shelf.search("In which region is the deploy target of Billing?", mode=mode)
    assert ids(followed)[:2] == ["m_target", "m_region"]


@given(st.text(alphabet="theano AB.-'12é", max_size=40))
def test_a_run_of_a_question_is_named_as_a_fact_names_it(text: str) -> None:
    for run in parse(text).runs:
        assert join_name(run.split()) == normalise_name(run)


def test_a_store_without_facts_has_none_to_follow(shelf: Shelf) -> None:
    put_in_turn(shelf, note("m_1", title="Tea", body="Tea at four."))
    with shelf.store.reading(Scope()) as work:
        assert not work.facts.may_exist()
    put_in_turn(shelf, *CHAIN)
    with shelf.store.reading(Scope()) as work:
        assert work.facts.may_exist()


def test_a_step_that_may_not_be_shown_is_not_shown(sqlite_shelf: Shelf) -> None:

    put_in_turn(sqlite_shelf, *CHAIN)
    found = sqlite_shelf.search(
        "Where was the author of The Moonstone born?", mode=Mode.DEEP, filters=Filters(folder="elsewhere")
    )
    assert ids(found) == []
