"""Generated cases: questions with anchors that resolve, marked, and not counted until somebody agreed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import EndpointUnavailable, InputError, NothingMeasured
from assay.evaluation.caveats import left_out_caveats
from assay.evaluation.datasets import check_dataset, export_dataset, for_scoring, load_dataset
from assay.evaluation.datasets.checks import ACCEPTED, GENERATED
from assay.evaluation.question_generation import GenerateOptions, find_key_sections, generate
from assay.models.chat import ChatReply, ChatRequest, ModelFingerprint
from assay.records.datasets import Document
from assay.records.run_results import CaveatKind

NOTES = {
    "deploys.md": "# Deploys\n\n## When\n\nThe release window is from nine until noon on working days.\n\n"
    "## How\n\nTo undo a release, press the red button and call the duty engineer.\n",
    "auth/sign-in.md": "# Sign-in\n\nThe authorisation code flow is used because implicit grants leak tokens in "
    "redirects.\n\n```\nTo use this code, run a thing that nobody would ask about.\n```\n",
    "plain.txt": "Backups are kept for ninety days in two places.",
}
QUESTIONS = [
    "Why is the authorisation code flow used?",
    "When is the release window?",
    "How do I undo a release?",
    "How long are backups kept?",
]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    for name, text in NOTES.items():
        place = tmp_path / "notes" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return tmp_path / "notes"


class Scripted:
    """Replies in turn; an error is raised."""

    name = "scripted"

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[ChatRequest] = []

    def fingerprint(self) -> ModelFingerprint:
        return ModelFingerprint(model=self.name)

    def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        reply = self.replies.pop(0) if self.replies else "no"
        if isinstance(reply, Exception):
            raise reply
        return ChatReply(text=reply, model=self.name, latency_ms=1.0)


def test_every_case_is_marked_and_its_anchor_resolves(notes: Path, tmp_path: Path) -> None:
    found = generate(notes)
    assert found.source == "rules"
    assert [one.query for one in found.dataset.cases] == QUESTIONS
    for case in found.dataset.cases:
        assert GENERATED in case.tags
        assert "rules" in case.tags
        assert any(tag.startswith("rule:") for tag in case.tags)
        (support,) = case.anchors.supports if case.anchors else ()
        assert support.snippets[0] in NOTES[support.rel_path]
    findings = {one.code for one in check_dataset(found.dataset)}
    assert "unresolved-anchor" not in findings
    assert "snippet-gone" not in findings
    assert "unlabelled" in findings
    export_dataset(found.dataset, tmp_path / "made", kind="anchored")
    assert [one.id for one in load_dataset(tmp_path / "made").cases] == [one.id for one in found.dataset.cases]


def test_the_same_documents_give_the_same_cases(notes: Path) -> None:
    assert generate(notes).dataset.content_hash == generate(notes).dataset.content_hash


def test_code_is_not_asked_about_and_rare_words_tell_most() -> None:
    documents = [
        Document(
            id="a", text="# A\n\nThis is said in every document of the set. The zebra crossing opens at dawn today.\n"
        ),
        Document(
            id="b",
            text="# B\n\nThis is said in every document of the set.\n\n```\nthe zebra walks in code and so on\n```\n",
        ),
    ]
    assert [one.sentence for one in find_key_sections(documents)] == [
        "The zebra crossing opens at dawn today.",
        "This is said in every document of the set.",
    ]


def test_no_more_are_made_than_asked_for(notes: Path) -> None:
    assert len(generate(notes, GenerateOptions(per_document=1)).dataset.cases) == 3
    assert len(generate(notes, GenerateOptions(most=2)).dataset.cases) == 2
    assert len(generate(notes / "plain.txt").dataset.documents) == 1


def test_generated_cases_do_not_count_until_labelled(notes: Path) -> None:
    dataset = generate(notes).dataset
    with pytest.raises(NothingMeasured, match=r"all \d+ cases of notes were generated") as problem:
        for_scoring(dataset)
    assert problem.value.exit_code == 2
    first, *others = dataset.cases
    labelled = replace(dataset, cases=(replace(first, tags=(*first.tags, ACCEPTED)), *others))
    scored = for_scoring(labelled)
    assert [one.id for one in scored.dataset.cases] == [first.id]
    assert scored.unlabelled == tuple(one.id for one in others)
    assert scored.instrument == {"excluded_unlabelled": list(scored.unlabelled)}
    [caveat] = left_out_caveats(scored.instrument)
    assert (caveat.kind, caveat.count) == (CaveatKind.PARTIAL, len(others))
    assert caveat.sentence.startswith(f"{len(others)} generated cases are not labelled yet")


def test_a_model_asks_in_its_own_words_and_must_quote(notes: Path) -> None:
    quote = "Backups are kept for ninety\ndays in two places."
    model = Scripted(
        json.dumps({"question": "How long do copies last?", "quote": "never said anywhere"}),
        EndpointUnavailable("it is gone", remedy="Start it."),
        "no JSON at all",
        "Here you are: " + json.dumps({"question": "How long do copies last?", "quote": quote}),
    )
    found = generate(notes, GenerateOptions(per_document=2), model=model)
    assert found.source == "model:scripted"
    assert found.thrown_away == 3
    (case,) = found.dataset.cases
    assert case.query == "How long do copies last?"
    assert "model:scripted" in case.tags
    assert all("<part>" in one.messages[1].content for one in model.asked)


def test_a_model_that_gives_nothing_is_told(notes: Path) -> None:
    with pytest.raises(NothingMeasured, match="made no question"):
        generate(notes, model=Scripted())


def test_documents_without_a_sentence_and_places_that_are_not_there_are_told(tmp_path: Path) -> None:
    (tmp_path / "bare.md").write_text("# Only\n\n## Headings\n", encoding="utf-8")
    with pytest.raises(NothingMeasured, match="no sentence"):
        generate(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        generate(tmp_path / "nowhere")


RST = """\
Jobs: pausing and resuming
==========================

Scrapy keeps the state of a crawl on disk when the setting ``JOBDIR`` names a
directory for it, one for each spider.

Is it safe to share it?
-----------------------

The directory must not be shared between spiders,
nor between jobs of the same spider.

.. code-block:: none

    this is not a sentence that anybody would ask about
"""


def test_restructured_text_is_read_with_its_headings_and_whole_sentences(notes: Path, tmp_path: Path) -> None:
    (notes / "topics").mkdir()
    (notes / "topics" / "jobs.rst").write_text(RST, encoding="utf-8")
    (notes / "requirements.txt").write_text(
        "# everything the documentation needs to build\nsphinx==7\n", encoding="utf-8"
    )
    (notes / "conf.py").write_text("name = 1\n", encoding="utf-8")
    found = generate(notes)
    assert found.taken == {".md": 2, ".rst": 1, ".txt": 1}
    assert found.skipped == {".py": 1, "requirements.txt": 1}
    shared = next(one for one in found.dataset.cases if one.query == "Can the directory be shared between spiders?")
    assert shared.anchors is not None
    assert shared.anchors.supports[0].heading_path == "Jobs: pausing and resuming > Is it safe to share it?"
    assert shared.reference_answer == (
        "The directory must not be shared between spiders, nor between jobs of the same spider."
    )
    export_dataset(found.dataset, tmp_path / "made", kind="anchored")
    checked = check_dataset(load_dataset(tmp_path / "made"))
    assert not [one for one in checked if one.code in {"unresolved-anchor", "snippet-gone"}]


def test_a_file_that_is_not_a_document_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text("name = 1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"conf\.py is not a document that Assay reads"):
        generate(tmp_path / "conf.py")
