"""What counts as a claim."""

from __future__ import annotations

from assay.text.claims import MOST_CLAIMS, claims, find_citations, sentences, without_citations


def test_each_sentence_is_a_claim_with_its_own_citations() -> None:
    found = claims("Water boils at 100 degrees [1]. Ice is cold [2, 3]. It is wet.")
    assert [(one.text, one.citations) for one in found] == [
        ("Water boils at 100 degrees.", (1,)),
        ("Ice is cold.", (2, 3)),
        ("It is wet.", ()),
    ]


def test_questions_greetings_and_leads_are_no_claims() -> None:
    assert claims("Hello! Here are three reasons: Do you agree? Sure! ...") == []
    assert [one.text for one in claims("Here is why:\n- It saves time.")] == ["It saves time."]


def test_a_number_alone_is_a_claim_and_a_word_alone_is_not() -> None:
    assert [one.text for one in claims("42")] == ["42"]
    assert claims("Yes.") == []


def test_the_number_of_claims_is_bounded() -> None:
    assert len(claims("It rains a lot. " * 5_000)) == MOST_CLAIMS


def test_marks_are_read_and_removed() -> None:
    assert find_citations("a [1] b [2;1]") == (1, 2)
    assert without_citations("so it is [1] .") == "so it is."


def test_a_mark_at_the_end_of_the_text_belongs_to_the_last_sentence() -> None:
    assert sentences("Backups run at night. [1] They are kept for 30 days. [2]") == [
        "Backups run at night. [1]",
        "They are kept for 30 days. [2]",
    ]
    assert [claim.citations for claim in claims("Backups run at night. [1] They are kept. [2][3]")] == [(1,), (2, 3)]
