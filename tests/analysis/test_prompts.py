"""Prompts: version 0 came with the program, every change is checked and kept, and any version can be used again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.prompts import REPLY, PromptBook, with_sentence
from assay.errors import BadValue, InputError, MalformedFile
from assay.judging.prompts import PROMPT_IDS, parse_prompt, read_bundled
from assay.records import Scope
from assay.storage import Store

TEXT = 'system = """You plan."""\ntask = """Plan.\nThen stop."""\n'


@pytest.fixture
def book(store: Store) -> PromptBook:
    return PromptBook(store)


def test_every_prompt_is_in_use_as_it_came(book: PromptBook, scope: Scope) -> None:
    found = book.in_use(scope)
    assert tuple(found) == PROMPT_IDS
    assert {one.version for one in found.values()} == {0}
    assert found["planner"].text == read_bundled("planner")
    assert book.wording(scope, "planner") == found["planner"]


def test_a_new_version_is_used_compared_and_taken_back(book: PromptBook, store: Store, scope: Scope) -> None:
    made = book.write(scope, "planner", TEXT, note="shorter")
    assert (made.version, made.active, made.created_by, made.key) == (1, True, "ada", "planner@1")
    assert book.add_sentence(scope, "planner", "Mind the year.").version == 2
    assert "+Mind the year." in book.diff(scope, "planner", 1).splitlines()
    assert "-Mind the year." in book.diff(scope, "planner", 2, 1).splitlines()
    assert book.diff(scope, "planner", 2, 2) == ""

    assert book.roll_back(scope, "planner").version == 1
    assert book.roll_back(scope, "planner").version == 0
    assert book.in_use(scope)["planner"].text == read_bundled("planner")
    with pytest.raises(InputError, match="nothing before version 0"):
        book.roll_back(scope, "planner")
    assert book.use(scope, "planner", 2).version == 2
    assert [(one.version, one.active) for one in book.versions(scope, "planner")] == [(2, True), (1, False), (0, False)]

    with store.reading(scope) as work:
        told = [(one.action, one.detail["version"]) for one in work.audit.entries(target="planner")]
    used = [("prompt.use", 2), ("prompt.use", 0), ("prompt.use", 1)]
    assert told == [*used, ("prompt.write", 2), ("prompt.write", 1)]


def test_a_draft_is_kept_and_not_used(book: PromptBook, scope: Scope) -> None:
    assert not book.write(scope, "planner", TEXT, active=False).active
    assert book.wording(scope, "planner").version == 0
    assert book.wording(scope, "planner", 1).text == TEXT


def test_prompts_of_another_tenant_stay_there(book: PromptBook, scope: Scope) -> None:
    book.write(scope, "planner", TEXT)
    assert book.wording(Scope(tenant="other"), "planner").version == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Plan well.", "not TOML"),
        ('system = "x"', "task"),
        ('system = "x"\ntask = ""', "task"),
        ('system = "x"\ntask = "y"\ntemperature = 1', "temperature"),
    ],
)
def test_a_wording_that_could_not_be_asked_is_refused(book: PromptBook, scope: Scope, text: str, why: str) -> None:
    with pytest.raises(MalformedFile, match=why):
        book.write(scope, "planner", text)
    assert len(book.versions(scope, "planner")) == 1


def test_what_is_not_there_is_named(book: PromptBook, scope: Scope) -> None:
    with pytest.raises(BadValue, match="no prompt 'nope'"):
        book.versions(scope, "nope")
    with pytest.raises(InputError, match="no version 7"):
        book.use(scope, "planner", 7)
    with pytest.raises(BadValue, match="says already"):
        book.write(scope, "planner", read_bundled("planner"))
    with pytest.raises(BadValue, match="no sentence"):
        book.add_sentence(scope, "planner", "  ")


@pytest.mark.parametrize("prompt_id", PROMPT_IDS)
def test_what_a_prompt_says_of_the_reply_stays_its_last_word(prompt_id: str) -> None:
    text = read_bundled(prompt_id)
    before, after = parse_prompt(prompt_id, text), parse_prompt(prompt_id, with_sentence(prompt_id, text, "Be brief."))
    assert after.system == before.system
    assert after.task.replace("\nBe brief.", "", 1) == before.task
    assert after.task.endswith("Be brief.") != (REPLY in before.task)


@given(sentence=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60))
def test_any_sentence_comes_back_as_it_was_added(sentence: str) -> None:
    words = " ".join(sentence.split())
    if words:
        task = parse_prompt("planner", with_sentence("planner", TEXT, sentence)).task
        assert task == f"Plan.\nThen stop.\n{words}".strip()
