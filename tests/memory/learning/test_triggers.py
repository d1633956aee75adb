"""Learned triggers in the store: through every safeguard, each with its audit line, into results and out again."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text
from tests.memory.learning.desk import FLAG, OTHERS, SIX, Desk
from tests.storage.homes import raw

from assay.errors import NotReady
from assay.index import Indexes, IndexOptions
from assay.records import Boost, Explanation, Judgment, JudgmentSource, Origin, Scope
from assay.storage import Store


def test_six_sessions_teach_a_word_that_stays_in_the_shadow(desk: Desk) -> None:
    desk.clock.advance(days=10)
    desk.on()
    desk.learn("quagga habitat")
    assert desk.terms("shadow") == ["habitat", "quagga"]
    assert desk.memory().learned_triggers == ()
    told = desk.audit("learning.audit")[0].detail
    assert [one["session"] for one in told["evidence"]] == list(SIX)
    assert {one["principal"] for one in told["evidence"]} == {"ada"}
    assert {one["rank"] for one in told["evidence"]} == {4}
    assert len(desk.audit("learning.shadow")) == 2


def test_one_session_teaches_nothing_however_often(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.learn("quagga", sessions=("s_1",) * 50)
    assert desk.terms() == []


def test_five_sessions_teach_nothing_and_the_sixth_does(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.learn("quagga", sessions=SIX[:5])
    assert desk.terms() == []
    desk.learn("quagga", sessions=SIX[5:])
    assert desk.terms() == ["quagga"]


@pytest.mark.parametrize(("passed_over", "learned"), [(34, ["quagga"]), (35, [])], ids=["6 of 40", "6 of 41"])
def test_what_is_mostly_passed_over_is_not_learned(sqlite_desk: Desk, passed_over: int, learned: list[str]) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.chosen("quagga", session="s_1")
    desk.many(passed_over, "quagga", (*OTHERS, "m_1"))
    desk.many(100, "okapi", (*OTHERS, "m_1"))
    desk.many(100, "quagga", OTHERS)
    desk.learn("quagga", sessions=SIX[1:])
    assert desk.terms() == learned


@pytest.mark.parametrize(("in_vain", "learned"), [(2, ["quagga"]), (3, [])])
def test_a_question_that_never_leads_to_a_memory_speaks_against_a_word_of_it(
    sqlite_desk: Desk, in_vain: int, learned: list[str]
) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.chosen("quagga", session="s_1")
    desk.many(in_vain, "where is the QUAGGA sold", (*OTHERS, "m_1"))
    desk.learn("quagga", sessions=SIX[1:])
    assert desk.terms() == learned


def test_ten_trials_for_one_question_in_vain_make_noise_of_a_term(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.learn("quagga")
    desk.try_out("quagga", chosen=3)
    desk.many(9, "quagga soup", (*OTHERS, "m_1"))
    assert desk.learning.standing(desk.scope).noise.rate == 0.0
    desk.many(1, "quagga soup", (*OTHERS, "m_1"))
    assert desk.learning.standing(desk.scope).noise.rate == 1.0


def test_evidence_from_searches_that_are_logged_no_longer_teaches_nothing(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.learn("quagga", sessions=SIX[:5])
    desk.clock.advance(days=1)
    with desk.store.writing(desk.scope) as work:
        work.queries.remove_before(desk.clock.now())
    desk.learn("quagga", sessions=SIX[5:])
    assert desk.terms() == []


def test_one_of_several_principals_alone_teaches_nothing(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.put("m_mallory", written_by="mallory")
    desk.put("m_bob", written_by="bob")
    desk.clock.advance(days=10)
    desk.on()
    for number in range(20):
        desk.chosen("quagga", session=f"s_{number}", principal="mallory")
    desk.learning.catch_up(desk.scope)
    assert desk.terms() == []
    desk.chosen("quagga", session="s_bob", principal="bob")
    desk.learning.catch_up(desk.scope)
    assert desk.terms() == ["quagga"]


def test_nothing_is_learned_while_the_switch_is_off_or_from_before_it_was_on(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.learn("quagga")
    desk.clock.advance(seconds=1)
    desk.on()
    desk.learning.catch_up(desk.scope)
    assert desk.learned() == []


@pytest.mark.parametrize(("rank", "learned"), [(3, []), (4, ["quagga"])], ids=["among the first three", "below them"])
def test_the_first_three_teach_nothing(sqlite_desk: Desk, rank: int, learned: list[str]) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    for session in SIX:
        desk.chosen("quagga", session=session, rank=rank)
    desk.learning.catch_up(desk.scope)
    assert desk.terms() == learned
    assert len(desk.audit("learning.top_three")) == (6 if rank == 3 else 0)


@pytest.mark.parametrize(("hours", "learned"), [(72 - 1 / 60, []), (72, ["quagga"])])
def test_a_young_memory_learns_nothing(sqlite_desk: Desk, hours: float, learned: list[str]) -> None:
    desk = sqlite_desk
    desk.clock.advance(hours=hours)
    desk.on()
    desk.learn("quagga")
    assert desk.terms() == learned
    assert bool(desk.audit("learning.age")) is not bool(learned)


def test_the_denylist_has_its_line(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.learn("what is the best thing")
    assert desk.learned() == []
    assert desk.audit("learning.denylist")[0].detail["said"] == "what is the best thing"


def test_three_terms_in_eight_hours_and_the_fourth_when_they_are_over(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.learn("quagga habitat savanna steppe")
    assert len(desk.terms()) == 3
    assert "steppe" in desk.audit("learning.rate")[0].detail["said"]
    desk.clock.advance(hours=8, seconds=-1)
    desk.learn("steppe", sessions=("s_7",))
    assert len(desk.terms()) == 3
    desk.clock.advance(seconds=1)
    desk.learn("steppe", sessions=("s_8",))
    assert desk.terms() == ["habitat", "quagga", "savanna", "steppe"]


def test_a_choice_of_an_evaluation_or_for_another_sessions_query_teaches_nothing(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    for session in ("s_1", "s_2", "s_3"):
        query = desk.asked("quagga", session=session, origin=Origin.EVALUATION)
        assert desk.read("m_1", session).events == ()
        desk.asked("quagga", session=f"{session}_other")
        desk.vote(session_id=session, query_id=desk.asked("quagga", session=f"{session}_other"))
        assert desk.events(query) == []
    desk.learning.catch_up(desk.scope)
    assert desk.learned() == []
    assert (
        desk.audit("learning.top_three")[0]
        .detail["said"]
        .startswith("the query and rank that returned it are not known")
    )


def test_nothing_applies_in_the_shadow_week_whatever_was_learned(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.measured(200)
    desk.clock.advance(days=28)
    desk.on()
    desk.learn("quagga")
    desk.try_out("quagga here")
    desk.clock.advance(days=7, seconds=-2)
    with pytest.raises(NotReady, match="shadow period ends"):
        desk.learning.approve(desk.scope)
    desk.clock.advance(seconds=1)
    assert desk.learning.approve(desk.scope).applying
    assert desk.memory().learned_triggers == ("quagga",)


def test_the_gate_opens_with_200_queries_and_28_days_and_an_approval(desk: Desk) -> None:
    desk.on()
    desk.measured(200)
    desk.clock.advance(days=20)
    desk.learn("quagga")
    desk.try_out("quagga here")
    desk.clock.advance(days=8, seconds=-2)
    with pytest.raises(NotReady, match="1 of 2 evaluation cycles"):
        desk.learning.approve(desk.scope)
    desk.clock.advance(seconds=1)
    desk.learning.catch_up(desk.scope)
    assert desk.terms("applied") == []
    assert desk.audit("learning.gate")[0].detail["said"] == "approval refused"
    desk.learning.approve(desk.scope)
    assert desk.terms("applied") == ["quagga"]
    assert desk.audit("learning.gate")[0].detail["said"] == "applied"
    assert len(desk.audit("learning.full_text")) == 1


def test_with_199_queries_the_gate_stays_closed(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.on()
    desk.measured(199)
    desk.clock.advance(days=20)
    desk.learn("quagga")
    desk.clock.advance(days=20)
    desk.chosen("quagga here", session="s_9")
    assert desk.learning.standing(desk.scope).cycles == 1
    desk.measured(1)
    assert desk.learning.standing(desk.scope).cycles == 2


def test_the_same_ten_questions_run_twenty_times_are_no_cycle(desk: Desk) -> None:
    ten = [f"Where is number {number}?" for number in range(10)]
    for _ in range(21):
        desk.measured(10, questions=ten)
    desk.clock.advance(days=40)
    stands = desk.learning.standing(desk.scope)
    assert (stands.cycles, stands.questions, stands.questions_needed) == (0, 10, 100)


def test_the_same_hundred_questions_measured_again_after_two_weeks_are_a_second_cycle(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    hundred = [f"Where is number {number}?" for number in range(100)]
    desk.measured(100, questions=hundred)
    desk.clock.advance(days=14)
    assert desk.learning.standing(desk.scope).cycles == 1
    desk.measured(100, questions=[question.upper() for question in hundred])
    desk.clock.advance(days=14)
    assert desk.learning.standing(desk.scope).cycles == 2


def test_runs_that_are_not_of_this_memory_are_no_cycle(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.measured(300, reason="it ran python:constant")
    desk.clock.advance(days=40)
    stands = desk.learning.standing(desk.scope)
    assert (stands.cycles, stands.questions) == (0, 0)


def test_a_flag_review_is_an_approval_too(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.on()
    desk.measured(200)
    desk.clock.advance(days=21)
    desk.learn("quagga")
    desk.try_out("quagga here")
    desk.clock.advance(days=7)
    desk.flags.review(desk.store, desk.scope, FLAG)
    desk.learning.catch_up(desk.scope)
    assert desk.terms("applied") == ["quagga"]


def noisy(desk: Desk, terms: int, bad: int) -> float | None:
    """Learn terms, each tried ten times; of them, some are tried in vain."""
    for number in range(terms):
        memory = f"m_n{number}"
        desk.put(memory)
    desk.clock.advance(days=3)
    for number in range(terms):
        memory = f"m_n{number}"
        desk.learn(f"term{number}x", memory)
        desk.try_out(f"again term{number}x", memory, chosen=int(number >= bad))
    return desk.learning.standing(desk.scope).noise.rate


@pytest.mark.parametrize(("bad", "applied"), [(0, True), (1, False)], ids=["0 of 20", "1 of 20 is 5 %"])
def test_five_percent_of_noise_is_too_much(sqlite_desk: Desk, bad: int, applied: bool) -> None:
    desk = sqlite_desk
    desk.on()
    desk.measured(200)
    desk.clock.advance(days=25)
    assert noisy(desk, 20, bad) == pytest.approx(bad / 20)
    if applied:
        assert desk.learning.approve(desk.scope).applying
    else:
        with pytest.raises(NotReady, match=r"the noise is 5.0%"):
            desk.learning.approve(desk.scope)


def test_a_low_grade_makes_noise_of_a_term_that_was_chosen(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.learn("quagga")
    query = desk.try_out("quagga here")[-1]
    assert desk.learning.standing(desk.scope).noise.rate == 0.0
    grade = Judgment(
        query_id=query,
        memory_id="m_1",
        relevance=1,
        source=JudgmentSource.MANUAL,
        created_at=desk.clock.now(),
    )
    with desk.store.writing(desk.scope) as work:
        work.judgments.put_many([grade])
    assert desk.learning.standing(desk.scope).noise.rate == 1.0


def test_without_a_trial_the_noise_is_not_known(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.learn("quagga")
    assert desk.learning.standing(desk.scope).noise.rate is None
    desk.clock.advance(seconds=1)
    desk.many(9, "quagga", (*OTHERS, "m_1"))
    assert desk.learning.standing(desk.scope).noise.rate is None
    desk.many(1, "quagga", (*OTHERS, "m_1"))
    assert desk.learning.standing(desk.scope).noise.rate == 1.0


def test_a_search_before_a_term_was_learned_is_no_trial(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.clock.advance(days=10)
    desk.on()
    desk.many(20, "quagga", (*OTHERS, "m_1"))
    desk.clock.advance(seconds=1)
    desk.learn("quagga")
    assert desk.terms("shadow") == ["quagga"]
    assert desk.learning.standing(desk.scope).noise.tried == 0


def test_a_term_that_is_noise_itself_does_not_apply_among_good_ones(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.on()
    desk.measured(200)
    desk.clock.advance(days=18)
    assert noisy(desk, 21, 1) == pytest.approx(1 / 21)
    desk.clock.advance(days=7)
    assert desk.learning.approve(desk.scope).terms["applied"] == 20
    assert desk.terms("shadow") == ["term0x"]


def test_applied_terms_go_back_into_the_shadow_when_noise_grows(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.open_the_gate()
    assert desk.memory().learned_triggers == ("habitat", "quagga")
    query = desk.try_out("quagga habitat")[0]
    grade = Judgment(
        query_id=query, memory_id="m_1", relevance=0, source=JudgmentSource.MANUAL, created_at=desk.clock.now()
    )
    with desk.store.writing(desk.scope) as work:
        work.judgments.put_many([grade])
    desk.learning.catch_up(desk.scope)
    assert (desk.memory().learned_triggers, desk.terms("shadow")) == ((), ["habitat", "quagga"])
    assert "back in the shadow: the noise is 100.0%" in desk.audit("learning.shadow")[0].detail["said"]


def test_terms_end_after_thirty_days_and_come_back_only_on_new_evidence(desk: Desk) -> None:
    desk.open_the_gate()
    before = desk.memory()
    assert desk.memory().learned_triggers == ("habitat", "quagga")
    desk.clock.advance(days=23, seconds=-2)
    desk.learning.catch_up(desk.scope)
    assert desk.terms("applied") == ["habitat", "quagga"]
    desk.clock.advance(seconds=1)
    desk.learning.catch_up(desk.scope)
    assert desk.terms("expired") == ["habitat", "quagga"]
    assert desk.memory().learned_triggers == ()
    assert desk.memory().updated_at == before.updated_at
    assert len(desk.audit("learning.ttl")) == 2
    desk.learn("quagga", sessions=tuple(f"late_{number}" for number in range(5)))
    assert desk.terms("applied") == []
    desk.learn("quagga", sessions=("late_5",))
    assert desk.terms("shadow", "applied") == ["quagga"]


def explained(desk: Desk) -> list[tuple[Explanation, float]]:
    """What made each hit's score, and the score."""
    found = desk.shelf.search("m_1 quagga", explain=True)
    return [(hit.explanation, hit.score) for hit in found if hit.explanation is not None]


def learned_boosts(desk: Desk) -> list[Boost]:
    return [one for why, _ in explained(desk) for one in why.boosts if one.name == "learned_triggers"]


def test_an_applied_term_raises_its_memory_and_says_so_until_it_fades(desk: Desk) -> None:
    desk.open_the_gate()
    [boost] = learned_boosts(desk)
    a_week_old = 1 - (7 * 86_400 + 1) / (30 * 86_400)
    assert boost.factor == pytest.approx(1 + 0.2 * 0.7 * a_week_old)
    assert boost.reason == "learned 'quagga'"
    assert all(why.recompute() == pytest.approx(score) for why, score in explained(desk))
    desk.clock.advance(days=8, seconds=-1)
    [boost] = learned_boosts(desk)
    assert boost.factor == pytest.approx(1 + 0.2 * 0.7 / 2)
    desk.flags.turn(desk.store, desk.scope, FLAG, False)
    assert learned_boosts(desk) == []


def test_a_learned_trigger_finds_nothing_by_itself(desk: Desk) -> None:
    desk.open_the_gate()
    words_only = desk.shelf.search("quagga", channels=("fts5", "bm25", "trigger"))
    assert words_only.ids == ()
    assert desk.shelf.searcher.match_triggers(desk.scope, "a quagga habitat").ids == ()


def test_a_learned_trigger_is_in_no_full_text_index(desk: Desk, tmp_path: Path) -> None:
    desk.open_the_gate()
    assert desk.memory().learned_triggers == ("habitat", "quagga")
    # On PostgreSQL the searches of no month yet lie in a part of their table, which the catalogue lists by itself.
    assert held_in_tables(desk.store, "quagga") - {"eval_queries_other.query"} == {
        "memories.learned_triggers",
        "learned_terms.term",
        "learning_evidence.term",
        "learning_changes.after",
        "learning_changes.detail",
        "audit.detail",
        "eval_queries.query",
    }
    folder = tmp_path / "index"
    with Indexes(desk.store, folder, clock=desk.clock, options=IndexOptions(background=False)) as indexes:
        indexes.compact(desk.scope)
        with desk.store.reading(desk.scope) as work:
            view = indexes.view(work)
            assert view.document_frequency("quagga") == 0
            assert view.document_frequency("say") > 0


def held_in_tables(store: Store, word: str) -> set[str]:
    """Every column of every table, full text included, in which a word stands."""
    with raw(store) as connection:
        if store.backend_name == "sqlite":
            names = connection.execute(text("SELECT name FROM sqlite_schema WHERE type = 'table'")).scalars().all()
            columns = [
                (name, column)
                for name in names
                for column in connection.execute(text("SELECT name FROM pragma_table_xinfo(:t)"), {"t": name}).scalars()
            ]
        else:
            wanted = text(
                "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
            )
            columns = [tuple(row) for row in connection.execute(wanted)]
        assert ("passages_fts", "body") in columns or ("passages_text", "terms") in columns
        return {
            f"{table}.{column}"
            for table, column in columns
            if connection.execute(
                text(f'SELECT count(*) FROM "{table}" WHERE CAST("{column}" AS TEXT) LIKE :word'), {"word": f"%{word}%"}
            ).scalar_one()
        }


def test_a_deleted_memory_takes_what_it_learned_along(desk: Desk) -> None:
    desk.open_the_gate()
    with desk.store.writing(desk.scope) as work:
        work.memories.remove("m_1")
    assert desk.learned() == []
    desk.learning.catch_up(desk.scope)


def test_tenants_learn_apart(sqlite_desk: Desk) -> None:
    desk = sqlite_desk
    desk.open_the_gate()
    other = Scope(tenant="other", principal="ada")
    assert desk.learning.terms(other) == []
    assert desk.learning.standing(other).cycles == 0
