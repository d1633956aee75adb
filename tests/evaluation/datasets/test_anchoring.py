"""Anchors that still hold are left alone; those that do not are told where they may have gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluation.datasets.small import ACCESS, RULES, anchored

from assay.errors import NothingMeasured, UnresolvedAnchors
from assay.evaluation.datasets import apply_relocations, check_dataset, for_scoring
from assay.evaluation.datasets.anchors import Unresolved, find_unresolved_anchors, notes_of
from assay.records.answers import GoldSupport
from assay.records.datasets import Dataset
from assay.records.memory import Format


def gone(dataset: Dataset) -> list[Unresolved]:
    return list(find_unresolved_anchors(dataset, notes_of(dataset)))


@pytest.mark.parametrize(
    "support",
    [
        GoldSupport(rel_path="rules/lab.md"),
        GoldSupport(rel_path="rules/lab.md", heading_path="Lab rules"),
        GoldSupport(
            rel_path="rules/lab.md", heading_path="Lab rules > Visitors", snippets=("nowhere", "with a\nmember")
        ),
        GoldSupport(rel_path="rules/lab.md", snippets=("opens at nine",)),
    ],
)
def test_an_anchor_that_holds_is_left_alone(support: GoldSupport) -> None:
    assert gone(anchored(support)) == []
    assert for_scoring(anchored(support)).excluded == ()


@pytest.mark.parametrize(
    ("support", "problem", "to", "reason"),
    [
        (
            GoldSupport(rel_path="old/lab.md"),
            "there is no file 'old/lab.md'",
            ("rules/lab.md", ""),
            "a file of the same name",
        ),
        (
            GoldSupport(rel_path="lab.md", heading_path="Lab rules > Visitors"),
            "there is no file 'lab.md'",
            ("rules/lab.md", "Lab rules > Visitors"),
            "the same heading path",
        ),
        (
            GoldSupport(rel_path="rules/lab.md", heading_path="House > Visitors"),
            "rules/lab.md has no heading 'House > Visitors'",
            ("rules/lab.md", "Lab rules > Visitors"),
            "the same heading",
        ),
        (
            GoldSupport(rel_path="rules/lab.md", heading_path="Access > Badges"),
            "rules/lab.md has no heading 'Access > Badges'",
            ("access.md", "Access > Badges"),
            "the same heading path",
        ),
        (
            GoldSupport(rel_path="gone.md", heading_path="Anything", snippets=("replaced at the front desk",)),
            "there is no file 'gone.md'",
            ("access.md", "Access"),
            "its snippet stands there",
        ),
        (
            GoldSupport(rel_path="gone.md", heading_path="Any > thing", snippets=("replaced at the front desk",)),
            "there is no file 'gone.md'",
            ("access.md", "Access > Badges"),
            "its snippet stands there",
        ),
    ],
)
def test_an_anchor_that_leads_nowhere_has_a_clear_proposal(
    support: GoldSupport, problem: str, to: tuple[str, str], reason: str
) -> None:
    (found,) = gone(anchored(support))
    assert (found.problem, found.blocks_scoring) == (problem, True)
    assert found.clear is not None
    assert (found.clear.rel_path, found.clear.heading_path, found.clear.reason) == (*to, reason)


def test_a_heading_that_is_only_like_it_is_proposed_and_left_for_a_person() -> None:
    (found,) = gone(anchored(GoldSupport(rel_path="rules/lab.md", heading_path="Lab rules > Opening times")))
    assert found.problem == "rules/lab.md has no heading 'Lab rules > Opening times'"
    assert (found.proposals[0].heading_path, found.proposals[0].reason) == (
        "Lab rules > Opening hours",
        "the heading most like it",
    )
    assert found.clear is None


def test_nothing_is_proposed_where_nothing_is_like_it() -> None:
    (found,) = gone(anchored(GoldSupport(rel_path="pasta.md", heading_path="Sauces")))
    assert (found.proposals, found.clear) == ((), None)


def test_two_places_that_are_as_good_are_left_for_a_person() -> None:
    notes = {"a/x.md": "# T\n\n## Rules\n\nwords", "b/x.md": "# T\n\n## Rules\n\nwords"}
    (found,) = gone(anchored(GoldSupport(rel_path="c/x.md", heading_path="T > Rules"), notes=notes))
    assert [one.rel_path for one in found.proposals] == ["a/x.md", "b/x.md"]
    assert found.clear is None
    assert apply_relocations(anchored(), [found])[1] == []


def test_a_snippet_that_moved_is_told_and_blocks_nothing() -> None:
    support = GoldSupport(rel_path="rules/lab.md", heading_path="Lab rules > Visitors", snippets=("opens at nine",))
    dataset = anchored(support)
    (found,) = gone(dataset)
    assert not found.blocks_scoring
    assert found.clear is not None
    assert found.clear.heading_path == "Lab rules > Opening hours"
    assert for_scoring(dataset).excluded == ()
    assert [one.code for one in check_dataset(dataset) if "snippet" in one.code] == ["snippet-gone"]


def test_moving_anchors_gives_a_copy_in_which_they_hold() -> None:
    dataset = anchored(
        GoldSupport(rel_path="lab.md", heading_path="Lab rules > Visitors", snippets=("with a member",)),
        GoldSupport(rel_path="access.md"),
        GoldSupport(rel_path="pasta.md", heading_path="Sauces"),
    )
    fixed, applied = apply_relocations(dataset, gone(dataset))
    assert [(one.support, move.rel_path) for one, move in applied] == [(0, "rules/lab.md")]
    assert fixed.cases[0].anchors is not None
    assert fixed.cases[0].anchors.supports[0].snippets == ("with a member",)
    assert [one.support for one in gone(fixed)] == [2]
    assert dataset.cases[0].anchors is not None
    assert dataset.cases[0].anchors.supports[0].rel_path == "lab.md"


def test_anchors_can_be_looked_up_under_another_folder(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "lab.md").write_text(RULES.replace("## Visitors", "## Guests"), encoding="utf-8")
    dataset = anchored(GoldSupport(rel_path="rules/lab.md", heading_path="Lab rules > Visitors"))
    assert "unresolved-anchor" not in {one.code for one in check_dataset(dataset)}
    assert "unresolved-anchor" in {one.code for one in check_dataset(dataset, tmp_path)}


def test_unresolved_anchors_block_scoring_unless_left_out_on_purpose() -> None:
    lost = anchored(GoldSupport(rel_path="pasta.md"))
    fine = anchored(GoldSupport(rel_path="access.md")).cases[0]
    both = Dataset(
        name="both",
        documents=lost.documents,
        cases=(*lost.cases, type(fine)(id="c2", query="?", anchors=fine.anchors)),
    )
    with pytest.raises(UnresolvedAnchors, match="1 cases of both have anchors that lead nowhere: 'c1'") as told:
        for_scoring(both)
    assert told.value.exit_code == 2
    kept = for_scoring(both, exclude_unresolved=True)
    assert [one.id for one in kept.dataset.cases] == ["c2"]
    assert kept.instrument == {"excluded_unresolved": ["c1"]}
    assert kept.dataset.content_hash != both.content_hash
    with pytest.raises(NothingMeasured, match="every case of notes"):
        for_scoring(lost, exclude_unresolved=True)
    codes = {one.code: one.severity.value for one in check_dataset(both, exclude_unresolved=True)}
    assert codes["unresolved-anchor"] == "warning"


def test_plain_text_has_no_headings_and_a_dataset_without_documents_cannot_tell() -> None:
    support = GoldSupport(rel_path="access.md", heading_path="Access > Badges")
    dataset = anchored(support)
    plain = tuple(
        type(one)(id=one.id, text=one.text, rel_path=one.rel_path, format=Format.TEXT) for one in dataset.documents
    )
    assert len(gone(Dataset(name="t", documents=plain, cases=dataset.cases))) == 1
    elsewhere = Dataset(name="e", documents=(), cases=dataset.cases)
    assert for_scoring(elsewhere).excluded == ()
    assert "unresolved-anchor" not in {one.code for one in check_dataset(elsewhere)}
    assert ACCESS.startswith("# Access")
