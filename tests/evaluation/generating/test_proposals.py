"""Questions by rule: how each reads, what is thrown away and why, and what is read of a document."""

from __future__ import annotations

import pytest

from assay.evaluation.proposals.checks import find_fault
from assay.evaluation.proposals.choosing import propose_questions
from assay.evaluation.proposals.passages import read_passages, split_sentences
from assay.evaluation.proposals.rules import propose
from assay.evaluation.proposals.wording import Speech
from assay.records.datasets import Document
from assay.records.memory import Format

ASKED = {
    "To enable debug mode, use the `--debug` option.": "How do I turn on debug mode?",
    "If you want to keep your cookies between sessions, set `KEEP_COOKIES`.": (
        "How do I keep my cookies between sessions?"
    ),
    "You can force keyring usage by requesting another provider.": "How do I force keyring usage?",
    "If the cache folder is missing, Kettle makes a new one.": "What happens if the cache folder is missing?",
    "If the panel shows nothing, hold the power key for ten seconds.": "What should I do if the panel shows nothing?",
    "The teardown handler is called when the context is popped.": "When is the teardown handler called?",
    "Before uploading the report, sign the first page.": "What do I have to do before uploading the report?",
    "Backups are kept for ninety days in two places.": "How long are backups kept?",
    "A session cookie lives for 12 hours after the last request.": "How long does a session cookie live?",
    "Late check-out costs 20 euros for each room.": "How much does late check-out cost?",
    "Old sessions are removed every night at 02:00 by a job.": "When are old sessions removed?",
    "Guests may bring up to two dogs of any size.": "How many dogs may guests bring?",
    "The pool is open from 7:00 to 22:00 in summer.": "When is the pool open?",
    "The `timeout_s` option defaults to 30 seconds.": "What does the timeout_s option default to?",
    "The authorisation code flow is used because implicit grants leak tokens.": (
        "Why is the authorisation code flow used?"
    ),
    "The job directory must not be shared between spiders.": "Can the job directory be shared between spiders?",
    "The `Session.close` method returns the number of open handles.": "What does the Session.close method return?",
    "The Bonded Store is the old vault under the east wing.": "What is the Bonded Store?",
    "Unlike template folders, static folders are not searched by name.": (
        "How are static folders different from template folders?"
    ),
    "The nightly reports are stored in the `reports` folder of the share.": "Where are the nightly reports stored?",
    "The Boathouse has no lift and no air conditioning.": "Does the Boathouse have a lift?",
}


def document(text: str, rel_path: str = "guide.md") -> Document:
    kind = Format.TEXT if rel_path.endswith(".rst") else Format.MARKDOWN
    return Document(id=rel_path, text=text, rel_path=rel_path, format=kind)


def ask(text: str, heading: str = "Notes") -> list[str]:
    [passage, *_] = read_passages(document(f"# {heading}\n\n{text}\n"))
    drafts = propose(passage, Speech([passage]))
    return [draft.question for draft in drafts if not find_fault(draft, passage)]


@pytest.mark.parametrize("sentence", ASKED)
def test_a_sentence_is_asked_as_a_person_would(sentence: str) -> None:
    assert ask(sentence)[:1] == [ASKED[sentence]]


@pytest.mark.parametrize(
    "sentence",
    [
        "If this is the case, it does the same as the other one.",
        "To do this, see the section on the following page.",
        "It is a file that they use for the thing below.",
        "When in doubt, please ask the people at the front desk.",
        "To use the form, put the following lines into your file.",
        "Python code blocks in Markdown and reStructuredText files.",
        "Click can do that as of the fourth version of the tool.",
    ],
)
def test_what_cannot_be_asked_well_is_not_asked(sentence: str) -> None:
    assert ask(sentence) == []


def test_a_heading_is_not_repeated_as_a_question() -> None:
    sentence = "The Scrapy shell is an interactive shell for trying out code."
    assert ask(sentence, "Tools") == ["What is the Scrapy shell?"]
    assert ask(sentence, "The Scrapy shell") == []


RST = """\
CONCURRENT_REQUESTS
-------------------

Default: ``16``

The most requests that are sent at the same
time by the downloader.

.. option:: --fast

    Skip the checks of :class:`~kettle.Guard` and `the log <https://example.org>`_ when
    files are read.

.. code-block:: python

    # To enable debug mode, use this code instead.
"""


def test_options_settings_and_wrapped_lines_of_restructured_text() -> None:
    found = propose_questions([document(RST, "settings.rst")], per_document=9, most=9).proposals
    assert [(one.question, one.answer) for one in found] == [
        (
            "What is CONCURRENT_REQUESTS for?",
            "The most requests that are sent at the same time by the downloader.",
        ),
        ("What does --fast do?", "Skip the checks of Guard and the log when files are read."),
    ]


def test_a_default_value_is_asked_about_by_the_name_of_its_setting() -> None:
    text = "KEEP_ALIVE\n----------\n\nDefault: ``16``\n"
    [found] = propose_questions([document(text, "settings.rst")], per_document=9, most=9).proposals
    assert (found.question, found.answer) == (
        "What is KEEP_ALIVE set to by default?",
        "KEEP_ALIVE is 16 by default.",
    )


TABLE = """\
# Options

| Option | Description |
| --- | --- |
| `--dry-run` | Print what would be done, and change no file at all. |
| `--colour` | short |
"""


def test_a_row_of_an_option_table_is_asked_about() -> None:
    [found] = propose_questions([document(TABLE)], per_document=9, most=9).proposals
    assert (found.question, found.rule) == ("What does --dry-run do?", "described")


def test_duplicates_by_words_and_by_answer_are_left_out() -> None:
    text = "To enable debug mode, use the flag. To enable the debug mode, set a variable."
    found = propose_questions([document(f"# A\n\n{text}\n")], per_document=9, most=9)
    assert [one.question for one in found.proposals] == ["How do I turn on debug mode?"]
    assert found.rejected["a duplicate"] == 1


def test_lists_of_changes_are_not_asked_about() -> None:
    text = "# 1.0\n\nTo enable debug mode, use the new flag.\n"
    found = propose_questions([document(text, "changes.md"), document(text, "guide.md")], per_document=9, most=9)
    assert [one.passage.document.rel_path for one in found.proposals] == ["guide.md"]


def test_abbreviations_do_not_end_a_sentence() -> None:
    assert split_sentences("Use a tool, e.g. Black, in 44 rooms. Then stop.") == [
        "Use a tool, e.g. Black, in 44 rooms.",
        "Then stop.",
    ]
