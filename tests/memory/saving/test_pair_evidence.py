"""What two notes say about each other: reported changes, openings, repetitions and elaborations."""

from __future__ import annotations

import pytest

from assay.embedding.protocol import SimilarityProfile
from assay.memory.saving.change_words import find_reports
from assay.memory.saving.coverage import Vocabulary, measure_coverage
from assay.memory.saving.neighbours import Pair, Verdict, compare_texts, decide_pair
from assay.memory.saving.openings import find_opening
from assay.memory.saving.subjects import Labelled
from assay.text.terms import stems_of
from assay.text.wording import wording


def note(title: str, body: str, *triggers: str) -> Labelled:
    return Labelled(title=title, body=body, triggers=triggers)


def compare(old: Labelled, new: Labelled, similarity: float = 0.8) -> tuple[Pair, Verdict]:
    pair = compare_texts(old, new, similarity)
    return pair, decide_pair(pair, SimilarityProfile())


@pytest.mark.parametrize(
    ("sentence", "phrase"),
    [
        ("The ferry no longer stops at the island.", "no longer"),
        ("The fee was raised in spring.", "was raised"),
        ("We have dropped the second interview.", "have dropped"),
        ("Switched the pump to the winter setting.", "switched"),
        ("Rehearsal is on Fridays, still in the hall.", "still"),
    ],
)
def test_a_reported_change_is_found(sentence: str, phrase: str) -> None:
    assert [report.phrase for report in find_reports("Note", sentence)] == [phrase]


@pytest.mark.parametrize(
    "sentence",
    [
        "We now count the boxes as well.",
        "No more than five boxes are handed out.",
        "The session is ended after an hour.",
        "Changes are announced on the board.",
    ],
)
def test_an_addition_or_a_rule_is_no_report(sentence: str) -> None:
    assert not find_reports("Note", sentence)


def test_a_title_reports_a_change_without_its_verb() -> None:
    assert [report.in_title for report in find_reports("Ferry fee raised", "It is 12 euros.")] == [True]


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("The lower meadow is mown in June.", "the lower meadow"),
        ("Since the flood in May the lower meadow is mown late.", "the lower meadow"),
        ("Because the bridge is closed, buses stop at the mill.", "buses"),
        ("Wash the windows in June.", ""),
        ("The kitchen crew lunches at noon.", "the kitchen crew lunches"),
    ],
)
def test_the_opening_is_what_stands_before_the_verb(text: str, opening: str) -> None:
    assert find_opening(text) == stems_of(opening.split())


def test_coverage_counts_synonyms_and_common_roots_and_names_what_is_missing() -> None:
    known = Vocabulary(wording("Staff may buy tickets from the importer.").stems)
    covered = measure_coverage(wording("Employees purchase tickets for the import. Dogs travel free."), known)
    assert covered.missing == set(stems_of(["dogs", "travel", "free"]))
    assert covered.worst_sentence == 0.0
    assert covered.share == pytest.approx(4 / 7)
    assert measure_coverage(wording(""), known).share == 1.0


def test_openings_that_name_different_things_keep_both_though_a_number_conflicts() -> None:
    old = note("Mowing", "The upper meadow is mown twice a year, in June and in August.", "mowing")
    new = note("Mowing", "The lower meadow is now mown three times a year because it is wet.", "mowing")
    pair, verdict = compare(old, new)
    assert (pair.distinct, verdict) == (True, Verdict.STORE)


def test_a_value_before_the_verb_is_an_update() -> None:
    old = note("Quorum", "Seven members make a quorum.", "quorum")
    new = note("Quorum", "Nine members make a quorum.", "quorum")
    assert compare(old, new, 0.95)[1] is Verdict.SUPERSEDE


@pytest.mark.parametrize("similarity", [0.5, 0.65, 0.8])
def test_a_reported_change_under_the_same_title_supersedes(similarity: float) -> None:
    old = note("Choir", "The choir sings in the parish hall on Wednesdays.", "choir")
    new = note("Choir", "The choir has left the parish hall for good and sings at school.", "choir")
    assert compare(old, new, similarity)[1] is Verdict.SUPERSEDE


def test_a_reported_change_without_a_common_label_only_marks() -> None:
    old = note("Where the choir sings", "The choir sings in the parish hall.", "choir room")
    new = note("Farewell", "The choir no longer sings in the parish hall.", "news")
    assert compare(old, new, 0.7)[1] is Verdict.CONTRADICTS


def test_a_change_that_the_old_note_reports_too_is_no_news() -> None:
    old = note("Paper forms", "Paper forms are no longer accepted, only the portal is.", "forms")
    new = note("Paper forms", "Only the portal is used: paper forms are not accepted any more.", "forms")
    pair, verdict = compare(old, new, 0.9)
    assert pair.agrees, pair.reasons
    assert verdict in (Verdict.MERGE, Verdict.REJECT)


def test_a_rewording_repeats_and_an_elaboration_does_not() -> None:
    old = note("Keys", "The last person locks the store and hands the key to the porter.", "keys")
    reworded = note("Keys", "Whoever is last locks the store and gives the key to the porter.", "keys")
    more = note("Keys", f"{reworded.body} Spare keys hang in the red cabinet.", "keys", "spare keys")
    assert compare(old, reworded)[1] is Verdict.MERGE
    assert compare(old, more)[1] not in (Verdict.MERGE, Verdict.REJECT)


def test_notes_with_half_of_their_words_in_common_repeat_only_when_very_alike() -> None:
    old = note("Watering the hedge", "The hedge gets water at dawn in July, because by noon the soil is dry.", "hedge")
    new = note(
        "Dry soil",
        "In July the hedge gets water at dawn. By noon the dry soil swallows everything somebody pours over it.",
        "garden",
    )
    assert compare(old, new, 0.82)[1] is Verdict.MERGE
    assert compare(old, new, 0.79)[1] is Verdict.STORE
    longer = note(new.title, f"{new.body} Twice a week is enough.", "garden")
    assert compare(old, longer, 0.82)[1] is Verdict.STORE


def test_what_notes_begin_with_does_not_tell_apart_those_that_say_all_of_each_other() -> None:
    old = note("Old keys", "Keys older than three months are removed by their owner.", "keys")
    same = note("Keys", "The owner of keys removes those that are more than three months old.", "keys")
    other = note("Keys", "The porter of the depot removes badges three months after their date.", "keys")
    assert compare(old, same, 0.85)[1] is Verdict.MERGE
    assert compare(old, other, 0.85)[1] is not Verdict.MERGE


def test_also_when_is_no_addition() -> None:
    old = note("Meeting notes", "The user wants meeting notes written in English even if the meeting was in German.")
    new = note("Language of notes", "Write up meetings in English for the user, also when people spoke German.")
    assert compare(old, new, 0.83)[1] is Verdict.MERGE
    assert compare(old, note(new.title, f"{new.body} Also send them."), 0.83)[1] is Verdict.STORE


def test_what_agrees_supersedes_only_what_it_covers() -> None:
    old = note("Keys", "The porter keeps the key. Visitors sign the grey book.", "keys")
    covering = note("Keys", "The porter keeps the key. Visitors sign the grey book. Dogs wait outside.", "keys")
    partial = note("Keys", "The porter keeps the key. Dogs wait outside by the fence.", "keys")
    assert compare(old, covering)[1] is Verdict.SUPERSEDE
    assert compare(old, partial)[1] is Verdict.STORE


def test_roles_exchanged_in_other_statements_are_two_facts_and_in_the_same_one_a_contradiction() -> None:
    old = note("Depot", "The depot calls the driver when a parcel is ready to leave.", "depot")
    other = note("Depot", "The driver calls the depot if traffic holds him up for long.", "depot")
    assert compare(old, other)[1] is Verdict.STORE
    turned = note("Depot", "The driver calls the depot when a parcel is ready to leave.", "depot")
    assert compare(old, turned, 0.95)[1] is Verdict.SUPERSEDE


def test_a_value_that_only_a_trigger_connects_does_not_supersede_below_related() -> None:
    old = note("Booking the court", "The court is booked at the kiosk, one hour at a time.", "court")
    new = note("Floor of the court", "The floor needs forty minutes to dry after rain.", "court")
    assert compare(old, new, 0.7)[1] is Verdict.STORE
    assert compare(old, new, 0.61)[1] is Verdict.STORE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Visitors may leave without signing.", "Visitors must sign; they may not leave before."),
        ("The user eats fish and eggs but no meat.", "The user is vegan, so no fish and no eggs."),
    ],
)
def test_what_one_text_negates_and_the_other_states_is_no_repetition(old: str, new: str) -> None:
    verdict = compare(note("Rule", old, "rule"), note("Rule", new, "rule"), 0.95)[1]
    assert verdict not in (Verdict.MERGE, Verdict.REJECT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Break after half an hour.", "Break after 30 minutes."),
        ("The rider is 1.83 m tall.", "The rider is six feet tall."),
        ("The gate closes at 12:00.", "The gate closes at noon."),
        ("Mocks are not accepted in reviews.", "Mocks are rejected in reviews."),
    ],
)
def test_the_same_measure_or_statement_in_other_words_agrees(old: str, new: str) -> None:
    pair = compare_texts(note("A", old, "a"), note("A", new, "a"), 0.9)
    assert pair.agrees, pair.reasons
