"""Reading facts: each pattern, what gives none, where it stands, and relations that may hold several values."""

from __future__ import annotations

from datetime import date
from itertools import permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.storage.repositories.facts import replaces_value
from assay.text.facts import (
    LONGEST_READ,
    MOST_FACTS,
    StatedFact,
    count_sentences,
    is_same_value,
    name_run,
    normalise_name,
    read_facts,
)
from assay.text.relations import SEVERAL_NOUNS, RelationKind

SINGLE, SEVERAL, UNKNOWN = RelationKind.SINGLE, RelationKind.SEVERAL, RelationKind.UNKNOWN


def read_one(sentence: str, title: str = "") -> StatedFact:
    [fact] = read_facts(sentence, title=title)
    return fact


@pytest.mark.parametrize(
    ("sentence", "subject", "shown", "kind"),
    [
        ("The author of The Moonstone is Wilkie Collins.", "moonstone", "Wilkie Collins", SINGLE),
        ("Ada's favourite editor is Helix.", "ada", "Helix", SINGLE),
        ("The API rate limit is 100.", "api rate limit", "100", SINGLE),
        ("The API has a limit of 100 requests.", "api", "100 requests", SINGLE),
        ("The country where Lou Reed was educated is France.", "lou reed", "France", SINGLE),
        ("The export job runs on port 8080.", "export job", "8080", SINGLE),
        ("The meeting takes 30 minutes.", "meeting", "30 minutes", UNKNOWN),
        ("The invoice is due on 12 May.", "invoice", "12 May", UNKNOWN),
        ("Acme is headquartered in Paris.", "acme", "Paris", SINGLE),
        ("Ada lives in the city of Paris.", "ada", "Paris", SINGLE),
        ("Billing is owned by Ada.", "billing", "Ada", SINGLE),
        ("Ada prefers tea over coffee.", "ada", "tea", SINGLE),
        ("Ada works for Acme.", "ada", "Acme", UNKNOWN),
        ("We use uv for packaging.", "packaging", "uv", UNKNOWN),
        ("The song was written by Ada.", "song", "Ada", UNKNOWN),
        ("Ada speaks French.", "ada", "French", SEVERAL),
        ("Ada's sister is Grace.", "ada", "Grace", SEVERAL),
        ("The members of the team are Ada and Bob.", "team", "Ada and Bob", SEVERAL),
    ],
)
def test_a_sentence_is_read_into_subject_and_value(sentence: str, subject: str, shown: str, kind: RelationKind) -> None:
    fact = read_one(sentence)
    assert (fact.subject, fact.shown, fact.kind, fact.negated) == (subject, shown, kind, False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The owner of billing is Ada.", "Billing's owner is Bob."),
        ("The limit of the API is 100.", "The API has a limit of 500."),
        ("The API limit is 100.", "The API's limit is now 500."),
        ("Acme is based in Paris.", "Acme relocated to Rome."),
        ("Ada prefers tea over coffee.", "Ada now prefers coffee to tea."),
        ("We use flake8 for linting.", "Use ruff instead of flake8 for linting."),
        ("The rate limit is 100.", "The rate limit was raised from 100 to 500."),
    ],
)
def test_wordings_of_one_question_have_one_topic_and_the_later_value_replaces_the_earlier(one: str, other: str) -> None:
    old, new = read_one(one), read_one(other)
    assert old.topic == new.topic
    assert replaces_value(new, old)


@pytest.mark.parametrize(
    "sentence",
    [
        "Is the limit 100?",
        "The limit might be 100.",
        "If the limit is 100, stop the job.",
        "I think the owner of billing is Ada.",
        "The limit of the API should be 100.",
        "Perhaps Acme is based in Paris.",
        "The reason is simple.",
        "It is 100.",
        "They use ruff.",
        "What a day.",
        "See https://example.org/limit: 100 for more.",
        "# The limit of the API is 100",
        "| The limit of the API is 100 |",
        "The export job runs on rails.",
        "lol",
        "",
    ],
)
def test_what_asks_supposes_hedges_or_names_nothing_gives_no_fact(sentence: str) -> None:
    assert read_facts(sentence, title="Notes") == ()


def test_code_between_fences_is_not_read() -> None:
    text = "```\nmax_upload_mb: 50\n```\nmax_upload_mb: 60"
    assert [fact.shown for fact in read_facts(text, title="Uploads")] == ["60"]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("max_upload_mb: 50", "50"),
        ("MAX_RETRIES=5", "5"),
        ("`http.timeout` = 30s  # seconds", "30s"),
        ("- cache-size: 12", "12"),
    ],
)
def test_a_configuration_key_is_about_what_the_title_names(line: str, value: str) -> None:
    fact = read_one(line, title="Export job")
    assert (fact.subject, fact.shown, fact.kind) == ("export job", value, SINGLE)
    assert read_one(line, title="Import job").topic != fact.topic


def test_a_bare_property_is_about_what_the_title_names_and_about_nothing_without_one() -> None:
    assert read_one("The limit is 100.", title="API").topic == read_one("The API limit is 100.").topic
    assert read_facts("The limit is 100.") == ()


@pytest.mark.parametrize(
    ("sentence", "is_change"),
    [
        ("The owner of billing is not Ada.", False),
        ("The owner of billing is no longer Ada.", True),
        ("Ada no longer speaks French.", True),
        ("Ada does not speak French.", False),
    ],
)
def test_negation_is_kept_apart_from_the_value(sentence: str, is_change: bool) -> None:
    fact = read_one(sentence)
    assert (fact.negated, fact.is_change) == (True, is_change)
    assert fact.shown in {"Ada", "French"}


def test_only_a_denial_that_says_something_changed_ends_what_it_denies() -> None:
    old = read_one("The owner of billing is Ada.")
    assert replaces_value(read_one("The owner of billing is no longer Ada."), old)
    assert not replaces_value(read_one("The owner of billing is not Ada."), old)
    assert not replaces_value(read_one("The owner of billing is no longer Bob."), old)


@pytest.mark.parametrize("sentence", ["In staging, the API limit is 50.", "The API limit is 50 in staging."])
def test_a_scope_makes_another_topic(sentence: str) -> None:
    scoped = read_one(sentence)
    assert scoped.topic != read_one("The API limit is 100.").topic
    assert scoped.topic == read_one("In staging, the API limit is 70.").topic


@pytest.mark.parametrize(
    "sentence",
    [
        "As of 2026-10-15 the owner of billing is Ada.",
        "Since 15 October 2026, the owner of billing is Ada.",
        "The owner of billing is Ada as of October 15, 2026.",
    ],
)
def test_the_day_that_a_sentence_names_is_read_and_no_part_of_the_value(sentence: str) -> None:
    fact = read_one(sentence)
    assert (fact.since, fact.value) == (date(2026, 10, 15), "ada")
    assert fact.topic == read_one("The owner of billing is Bob.").topic


def test_a_day_that_is_in_no_calendar_is_no_day() -> None:
    assert read_one("As of 2026-02-31 the owner of billing is Ada.").since is None


def test_what_is_replaced_is_named() -> None:
    assert read_one("Use ruff instead of flake8 for linting.").replaces == "flake8"
    assert read_one("Ada prefers tea over coffee.").replaces == read_one("Ada prefers coffee over tea.").value


def test_values_in_other_words_are_the_same_and_other_numbers_are_not() -> None:
    assert is_same_value("london", "england london")
    assert not is_same_value("100", "500")
    assert not is_same_value("100 request", "request")
    assert read_one("The meeting takes 30 minutes.").value == read_one("The meeting takes 1800 seconds.").value


def test_names_lose_their_article() -> None:
    assert normalise_name("The  Moonstone") == "moonstone"
    assert normalise_name("The") == "the"


@pytest.mark.parametrize("run", ["moonstone", "the moonstone", "the", "the the end", "author of the moonstone"])
def test_a_run_of_words_makes_the_name_that_its_text_makes(run: str) -> None:
    assert name_run(run) == normalise_name(run)


def test_the_first_verb_of_a_sentence_is_its_relation() -> None:
    assert read_one("Ada knows that port since Bob lives in Rome.").kind is SEVERAL


def test_each_fact_stands_where_its_sentence_does() -> None:
    text = (
        "# Billing\n\nDr. Smith's office is room 12. The owner of billing is Ada!\n"
        "- The API limit is 100; the API port is 8443.\n1) Nothing else.\n> The capital of France is Paris."
    )
    facts = read_facts(text)
    assert [text[fact.start : fact.stop] for fact in facts] == [
        "Dr. Smith's office is room 12.",
        "The owner of billing is Ada!",
        "The API limit is 100;",
        "the API port is 8443.",
        "The capital of France is Paris.",
    ]
    assert count_sentences(text) == 6


def test_a_long_text_has_its_first_facts_and_a_long_sentence_none() -> None:
    lines = [f"The limit of queue {number} is 5." for number in range(MOST_FACTS + 50)]
    assert len(read_facts("\n".join(lines))) == MOST_FACTS
    assert read_facts(f"The limit of the API is {'very ' * 100}high.") == ()
    assert read_facts("\n" * LONGEST_READ + "The limit of the API is 5.") == ()


# --- Relations that may hold several values ---

WORDS = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=9)
NAMES = st.builds(lambda first, rest: " ".join([first.capitalize(), *rest]), WORDS, st.lists(WORDS, max_size=2))
VALUES = st.one_of(NAMES, WORDS, st.builds(lambda number, word: f"{number} {word}", st.integers(0, 999), WORDS))
VERBS = st.sampled_from(["speaks", "likes", "loves", "knows", "owns", "has", "visited", "met", "collects", "enjoys"])
NOUNS = st.sampled_from([*sorted(SEVERAL_NOUNS & {"friend", "skill", "tag", "member", "brother", "pet", "topic"})])
OPENINGS = st.sampled_from(["", "Now ", "Update: ", "As of 2026-10-15, ", "From now on, "])
SENTENCES = st.one_of(
    st.builds(lambda opening, name, verb: lambda value: f"{opening}{name} {verb} {value}.", OPENINGS, NAMES, VERBS),
    st.builds(
        lambda opening, name, noun: lambda value: f"{opening}{name}'s {noun} is {value}.", OPENINGS, NAMES, NOUNS
    ),
    st.builds(
        lambda opening, name, noun: lambda value: f"{opening}The {noun}s of {name} are {value}.",
        OPENINGS,
        NAMES,
        NOUNS,
    ),
)


@given(SENTENCES, st.lists(VALUES, min_size=2, max_size=4, unique_by=str.lower))
def test_a_relation_that_may_hold_several_values_never_replaces_one(sentence: object, values: list[str]) -> None:
    assert callable(sentence)
    stated = [fact for value in values for fact in read_facts(sentence(value))]
    assume(len(stated) > 1)
    assert {fact.kind for fact in stated} == {SEVERAL}
    for new, old in permutations(stated, 2):
        assert not replaces_value(new, old), (new, old)


@given(st.sampled_from(RelationKind), st.booleans(), VALUES, VALUES)
def test_a_fact_of_one_topic_replaces_no_value_of_several_whatever_its_own_kind(
    kind: RelationKind, is_change: bool, value: str, other: str
) -> None:
    base = StatedFact("ada", "speaks", "ada speak", value.lower(), value, SEVERAL)
    new = base._replace(value=other.lower(), shown=other, kind=kind, is_change=is_change)
    assert not replaces_value(new, base)
    assert not replaces_value(base, new)


@pytest.mark.parametrize("opening", ["We now use", "Ada now prefers", "We must use x", "It has switched from"])
def test_spaces_between_words_neither_count_nor_cost(opening: str) -> None:
    """390 spaces in a sentence once took most of a second, and a text has room for 150 such sentences."""
    assert read_facts(f"{opening}{' ' * 370}a.") == ()
    assert read_one("The   owner of \t billing is  Ada.") == read_one("The owner of billing is Ada.")._replace(stop=33)


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Each worker holds 20 connections.", RelationKind.UNKNOWN),
        ("The worker holds 20 connections.", RelationKind.UNKNOWN),
        ("The export worker holds 20 connections.", RelationKind.SINGLE),
        ("Hermes holds 20 connections.", RelationKind.SINGLE),
    ],
)
def test_a_common_noun_names_nothing_in_particular(sentence: str, kind: RelationKind) -> None:
    [fact] = read_facts(sentence)
    assert fact.kind is kind


def test_now_before_a_verb_is_no_part_of_the_subject() -> None:
    old, new = read_one("The export job runs on port 80."), read_one("The export job now runs on port 90.")
    assert old.topic == new.topic
    assert replaces_value(new, old)


def test_what_stands_in_brackets_behind_a_setting_narrows_it() -> None:
    one, other = read_one("ETA: 15 min (export)", "Plan"), read_one("ETA: 50 min (import)", "Plan")
    assert (one.shown, other.shown) == ("15 min", "50 min")
    assert one.topic != other.topic
