"""Places that support an answer: matched, retrieved, kept in scope, cited."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.examples import check_entries, mean, missing, value

from assay.errors import BadValue
from assay.metrics import anchors
from assay.records.answers import ConflictRule, FolderMode, GivenAnswer, GoldAnchors, GoldSupport, RetrievedChunk
from assay.records.evaluations import Outcome, OutcomeKind

INSTALL = GoldSupport(rel_path="guide.md", heading_path="Install")
USE = GoldSupport(rel_path="guide.md", heading_path="Use")
NOISE = RetrievedChunk(rel_path="other.md", heading_path="Install")
ON_LINUX = RetrievedChunk(rel_path="guide.md", heading_path="Install > Linux")
USING = RetrievedChunk(rel_path="guide.md", heading_path="Use")
ONE = GoldAnchors(supports=(INSTALL,))
HOPS = GoldAnchors(supports=(INSTALL, USE), required_support_groups=((0,), (1,)))
UNANSWERABLE = GoldAnchors(supports=(INSTALL,), answerable=False)

DECLINED = GivenAnswer(text="I do not know.", abstained=True)
OLD = GoldSupport(rel_path="2023.md", dated=datetime(2023, 1, 1, tzinfo=UTC))
NEW = GoldSupport(rel_path="2025.md", dated=datetime(2025, 1, 1, tzinfo=UTC))


def chunk_of(support: GoldSupport) -> RetrievedChunk:
    return RetrievedChunk(rel_path=support.rel_path, heading_path=support.heading_path)


def citing(*supports: GoldSupport, text: str = "So it is.") -> GivenAnswer:
    return GivenAnswer(text=text, references=tuple(chunk_of(support) for support in supports))


def conflict(rule: ConflictRule, *supports: GoldSupport) -> GoldAnchors:
    return GoldAnchors(supports=supports, recency_conflict_rule=rule)


def test_every_entry_has_its_worked_example() -> None:
    in_work = GoldAnchors(supports=(GoldSupport(rel_path="work/a.md"), GoldSupport(rel_path="home/b.md")))
    newer, both = (conflict(rule, OLD, NEW) for rule in (ConflictRule.CITE_NEWER, ConflictRule.CITE_BOTH))
    shut_out = [{"home/b.md"}, {"work/a.md", "home/b.md"}]
    cited = [citing(INSTALL), GivenAnswer(text="So it is.", references=(NOISE,)), DECLINED]
    disputed = conflict(ConflictRule.ACKNOWLEDGE_BOTH, OLD, NEW)
    assert anchors.recall_any(HOPS, [ON_LINUX], 5) == Outcome.scored(1)
    check_entries(
        anchors.ENTRIES,
        "anchors",
        {
            "recall_any": value(anchors.recall_any(ONE, [NOISE, NOISE, ON_LINUX], 5)),
            "recall_all": value(anchors.recall_all(HOPS, [ON_LINUX], 5)),
            "anchor_precision": value(anchors.anchor_precision(ONE, [ON_LINUX, NOISE, ON_LINUX], 5)),
            "anchor_mrr": value(anchors.anchor_mrr(ONE, [NOISE, NOISE, ON_LINUX])),
            "scope_miss_rate": mean([anchors.scope_miss_rate(in_work, FolderMode.ON, notes) for notes in shut_out]),
            "attribution_hit_rate": mean([anchors.attribution_hit_rate(ONE, answer) for answer in cited]),
            "cite_newer": value(anchors.cite_newer(newer, citing(OLD))),
            "cite_both": value(anchors.cite_both(both, citing(OLD, NEW))),
            "acknowledge_both": value(anchors.acknowledge_both(disputed, citing(OLD, NEW, text="It is so [1]."))),
        },
    )


@pytest.mark.parametrize(
    ("path", "heading", "expected"),
    [
        ("guide.md", "Install", True),
        ("guide.md", "  Install   >Linux ", True),
        ("guide.md", "Install > Linux > Arch", True),
        ("guide.md", "Installing", False),
        ("guide.md", "", False),
        ("guide.md", "Guide > Install", False),
        ("Guide.md", "Install", False),
        ("docs/guide.md", "Install", False),
    ],
)
def test_a_chunk_matches_in_the_same_file_at_or_below_the_gold_heading(path: str, heading: str, expected: bool) -> None:
    assert anchors.matches(RetrievedChunk(rel_path=path, heading_path=heading), INSTALL) is expected


def test_a_support_without_a_heading_is_the_whole_file() -> None:
    assert anchors.matches(ON_LINUX, GoldSupport(rel_path="guide.md"))


def test_a_snippet_is_needed_only_when_asked_for_and_only_where_there_is_one() -> None:
    support = GoldSupport(rel_path="guide.md", snippets=("apt  install assay", "brew install"))
    with_it = RetrievedChunk(rel_path="guide.md", text="Run apt\ninstall assay now.")
    without = RetrievedChunk(rel_path="guide.md", text="Run it.")
    assert anchors.matches(without, support)
    assert not anchors.matches(without, support, snippets=True)
    assert anchors.matches(with_it, support, snippets=True)
    assert anchors.matches(without, GoldSupport(rel_path="guide.md"), snippets=True)
    gold = GoldAnchors(supports=(support,))
    assert anchors.recall_any(gold, [without], 5, snippets=True) == Outcome.scored(0)
    assert anchors.anchor_mrr(gold, [without, with_it], snippets=True) == Outcome.scored(0.5)


def test_snippets_are_ignored_unless_asked_for() -> None:
    support = GoldSupport(rel_path="guide.md", snippets=("brew install",))
    gold = GoldAnchors(supports=(support,), required_support_groups=((0,),))
    newer = conflict(ConflictRule.CITE_NEWER, support)
    for metric in (anchors.recall_any, anchors.recall_all, anchors.anchor_precision, anchors.anchor_mrr):
        assert metric(gold, [chunk_of(support)], 1) == Outcome.scored(1)
        assert metric(gold, [chunk_of(support)], 1, snippets=True) == Outcome.scored(0)
    assert anchors.attribution_hit_rate(gold, citing(support)) == Outcome.scored(1)
    assert anchors.attribution_hit_rate(gold, citing(support), snippets=True) == Outcome.scored(0)
    assert anchors.cite_newer(newer, citing(support)) == Outcome.scored(1)


def test_what_lies_beyond_the_cutoff_does_not_count() -> None:
    chunks = [NOISE, NOISE, ON_LINUX]
    assert anchors.recall_any(ONE, chunks, 2) == Outcome.scored(0)
    assert anchors.anchor_mrr(ONE, chunks, 2) == Outcome.scored(0)
    assert anchors.anchor_precision(ONE, chunks, 2) == Outcome.scored(0)
    assert anchors.recall_all(HOPS, [ON_LINUX, USING], 1) == Outcome.scored(0)
    assert anchors.recall_all(HOPS, [ON_LINUX, USING], 100) == Outcome.scored(1)


def test_the_worked_ranks_of_the_document() -> None:
    assert anchors.anchor_mrr(ONE, [ON_LINUX]) == Outcome.scored(1.0)
    assert value(anchors.anchor_mrr(ONE, [NOISE, NOISE, ON_LINUX])) == pytest.approx(0.33, abs=0.005)
    assert anchors.anchor_mrr(ONE, [NOISE]) == Outcome.scored(0)


def test_nothing_retrieved_is_zero_and_nothing_to_find_is_not() -> None:
    assert anchors.recall_any(ONE, [], 5) == Outcome.scored(0)
    assert anchors.anchor_precision(ONE, [], 5) == Outcome.scored(0)
    assert anchors.recall_all(HOPS, [], 5) == Outcome.scored(0)
    for gold in (UNANSWERABLE, GoldAnchors()):
        for metric in (anchors.recall_any, anchors.recall_all, anchors.anchor_precision, anchors.anchor_mrr):
            assert missing(metric(gold, [ON_LINUX], 5)) is OutcomeKind.NOT_APPLICABLE


def test_recall_all_needs_required_groups_and_one_hit_in_each() -> None:
    assert missing(anchors.recall_all(ONE, [ON_LINUX], 5)) is OutcomeKind.NOT_APPLICABLE
    either = GoldAnchors(supports=(INSTALL, USE), required_support_groups=((0, 1),))
    assert anchors.recall_all(either, [USING], 5) == Outcome.scored(1)


def test_a_cutoff_below_one_is_refused() -> None:
    for metric in (anchors.recall_any, anchors.recall_all, anchors.anchor_precision, anchors.anchor_mrr):
        with pytest.raises(BadValue):
            metric(HOPS, [ON_LINUX], 0)


def test_a_chunk_listed_twice_counts_at_its_first_place_and_the_rest_move_up() -> None:
    noise = RetrievedChunk(rel_path="other.md", chunk_id="n1")
    hit = RetrievedChunk(rel_path="guide.md", heading_path="Install", chunk_id="g1")
    assert anchors.anchor_mrr(ONE, [noise, noise, hit]) == Outcome.scored(0.5)
    assert anchors.anchor_precision(ONE, [hit, hit, hit], 3) == Outcome.scored(1 / 3)
    assert anchors.recall_any(ONE, [noise, noise, hit], 2) == Outcome.scored(1)
    late = RetrievedChunk(rel_path="other.md", chunk_id="n2")
    assert anchors.anchor_mrr(ONE, [noise, late, hit, noise]) == Outcome.scored(1 / 3)


def test_chunks_without_an_id_are_each_their_own() -> None:
    assert anchors.anchor_precision(ONE, [ON_LINUX, ON_LINUX], 2) == Outcome.scored(1)


def test_members_of_an_equivalence_class_count_once_together() -> None:
    copy = GoldSupport(rel_path="copy.md")
    classed = GoldAnchors(supports=(INSTALL, copy, USE), equivalent=((0, 1),))
    assert anchors.anchor_precision(classed, [ON_LINUX, chunk_of(copy)], 2) == Outcome.scored(0.5)
    assert anchors.anchor_precision(classed, [ON_LINUX, USING, USING, chunk_of(copy)], 4) == Outcome.scored(0.75)
    plain = GoldAnchors(supports=classed.supports)
    assert anchors.anchor_precision(plain, [ON_LINUX, chunk_of(copy)], 2) == Outcome.scored(1)


def test_an_equivalent_support_satisfies_a_required_group() -> None:
    copy = GoldSupport(rel_path="copy.md")
    gold = GoldAnchors(supports=(INSTALL, copy, USE), required_support_groups=((0,), (2,)), equivalent=((0, 1),))
    assert anchors.recall_all(gold, [chunk_of(copy), USING], 5) == Outcome.scored(1)
    assert anchors.recall_all(gold, [chunk_of(copy)], 5) == Outcome.scored(0)
    assert anchors.recall_all(gold, [USING], 5) == Outcome.scored(0)


@pytest.mark.parametrize(
    ("required", "equivalent"),
    [(((),), ()), (((1,),), ()), ((), ((-1,),)), ((), ((0,), (0,)))],
)
def test_groups_that_name_no_support_or_one_twice_are_refused(
    required: tuple[tuple[int, ...], ...], equivalent: tuple[tuple[int, ...], ...]
) -> None:
    with pytest.raises(BadValue):
        GoldAnchors(supports=(INSTALL,), required_support_groups=required, equivalent=equivalent)


@pytest.mark.parametrize("mode", [FolderMode.ON, FolderMode.ON_WITH_FALLBACK])
@pytest.mark.parametrize(
    ("shut_out", "missed"), [(set(), 0), ({"docs/guide.md"}, 0), ({"docs/guide.md", "docs/more.md"}, 1)]
)
def test_a_scope_miss_is_the_note_of_every_support_shut_out(
    mode: FolderMode, shut_out: set[str], missed: float
) -> None:
    gold = GoldAnchors(supports=(GoldSupport(rel_path="docs/guide.md"), GoldSupport(rel_path="docs/more.md")))
    assert anchors.scope_miss_rate(gold, mode, shut_out) == Outcome.scored(missed)


def test_without_folder_choice_or_support_there_is_no_scope_to_miss() -> None:
    assert missing(anchors.scope_miss_rate(ONE, FolderMode.OFF, ())) is OutcomeKind.NOT_APPLICABLE
    assert missing(anchors.scope_miss_rate(UNANSWERABLE, FolderMode.ON, ())) is OutcomeKind.NOT_APPLICABLE
    assert missing(anchors.scope_miss_rate(ONE, FolderMode.ON, None)) is OutcomeKind.SKIPPED


def test_attribution_is_for_answers_to_answerable_questions() -> None:
    assert missing(anchors.attribution_hit_rate(UNANSWERABLE, citing(INSTALL))) is OutcomeKind.NOT_APPLICABLE
    assert missing(anchors.attribution_hit_rate(ONE, GivenAnswer(text=""))) is OutcomeKind.SYSTEM_FAILED
    assert anchors.attribution_hit_rate(ONE, citing()) == Outcome.scored(0)


def test_each_conflict_rule_speaks_only_of_its_own_cases() -> None:
    newer = conflict(ConflictRule.CITE_NEWER, OLD, NEW)
    assert missing(anchors.cite_both(newer, citing(OLD, NEW))) is OutcomeKind.NOT_APPLICABLE
    assert missing(anchors.cite_newer(ONE, citing(INSTALL))) is OutcomeKind.NOT_APPLICABLE
    assert missing(anchors.cite_newer(conflict(ConflictRule.CITE_NEWER), citing())) is OutcomeKind.NOT_APPLICABLE


def test_citing_the_newer_note_may_cite_the_older_too() -> None:
    newer = conflict(ConflictRule.CITE_NEWER, NEW, OLD)
    assert anchors.cite_newer(newer, citing(OLD, NEW)) == Outcome.scored(1)


def test_a_declined_question_cites_nothing_and_counts_as_0() -> None:
    assert anchors.attribution_hit_rate(ONE, DECLINED) == Outcome.scored(0)
    assert anchors.cite_newer(conflict(ConflictRule.CITE_NEWER, NEW, OLD), DECLINED) == Outcome.scored(0)
    assert anchors.cite_both(conflict(ConflictRule.CITE_BOTH, NEW, OLD), DECLINED) == Outcome.scored(0)
    assert anchors.acknowledge_both(conflict(ConflictRule.ACKNOWLEDGE_BOTH, NEW, OLD), DECLINED) == Outcome.scored(0)


def test_acknowledging_both_sides_means_naming_them_in_the_text() -> None:
    quoted = replace(OLD, snippets=("It is **rising damp**",))
    disputed = conflict(ConflictRule.ACKNOWLEDGE_BOTH, quoted, NEW)
    named = citing(OLD, NEW, text="One says damp [1]. The other says condensation [2].")
    assert anchors.acknowledge_both(disputed, named) == Outcome.scored(1)
    one_sided = citing(OLD, NEW, text="It is condensation, says the other [2].")
    assert anchors.acknowledge_both(disputed, one_sided) == Outcome.scored(0)
    said = citing(NEW, text="It is rising damp, or else condensation [1].")
    assert anchors.acknowledge_both(disputed, said) == Outcome.scored(1)
    assert anchors.acknowledge_both(disputed, citing(text="It is damp.")) == Outcome.scored(0)
    other = conflict(ConflictRule.CITE_BOTH, OLD, NEW)
    assert missing(anchors.acknowledge_both(other, named)) is OutcomeKind.NOT_APPLICABLE
    lonely = conflict(ConflictRule.ACKNOWLEDGE_BOTH, OLD)
    assert missing(anchors.acknowledge_both(lonely, named)) is OutcomeKind.SKIPPED


def test_which_note_is_newer_is_never_guessed() -> None:
    undated = GoldSupport(rel_path="undated.md")
    assert missing(anchors.cite_newer(conflict(ConflictRule.CITE_NEWER, NEW, undated), citing(NEW))) is (
        OutcomeKind.SKIPPED
    )
    assert anchors.cite_newer(conflict(ConflictRule.CITE_NEWER, undated), citing(undated)) == Outcome.scored(1)


def test_citing_both_means_every_note_or_every_group() -> None:
    both = conflict(ConflictRule.CITE_BOTH, OLD, NEW)
    assert anchors.cite_both(both, citing(NEW)) == Outcome.scored(0)
    three = conflict(ConflictRule.CITE_BOTH, OLD, NEW, INSTALL, USE)
    assert anchors.cite_both(three, citing(OLD, NEW)) == Outcome.scored(0)
    assert anchors.cite_both(three, citing(OLD, NEW, USE)) == Outcome.scored(1)
    one_note = conflict(ConflictRule.CITE_BOTH, INSTALL, USE)
    assert missing(anchors.cite_both(one_note, citing(INSTALL, USE))) is OutcomeKind.SKIPPED
    grouped = GoldAnchors(
        supports=(INSTALL, USE),
        required_support_groups=((0,), (1,)),
        recency_conflict_rule=ConflictRule.CITE_BOTH,
    )
    assert anchors.cite_both(grouped, citing(INSTALL, USE)) == Outcome.scored(1)
    assert anchors.cite_both(grouped, citing(USE)) == Outcome.scored(0)


CHUNKS = st.lists(st.sampled_from([NOISE, ON_LINUX, USING]), max_size=12)
CUTOFFS = st.integers(min_value=1, max_value=15)


@given(CHUNKS, CUTOFFS)
def test_values_are_in_range_and_all_implies_any(chunks: list[RetrievedChunk], k: int) -> None:
    found = [
        value(metric(HOPS, chunks, k))
        for metric in (anchors.recall_all, anchors.recall_any, anchors.anchor_precision, anchors.anchor_mrr)
    ]
    assert all(0 <= one <= 1 for one in found)
    assert found[0] <= found[1]
    assert (found[1] == 1) == (found[2] > 0) == (found[3] > 0)


@given(CHUNKS, CUTOFFS)
def test_a_longer_list_never_lowers_recall_or_mrr(chunks: list[RetrievedChunk], k: int) -> None:
    for metric in (anchors.recall_all, anchors.recall_any, anchors.anchor_mrr):
        assert value(metric(HOPS, chunks, k)) <= value(metric(HOPS, chunks, k + 1))


@given(CHUNKS, CUTOFFS)
def test_moving_a_hit_up_never_lowers_anything(chunks: list[RetrievedChunk], k: int) -> None:
    risen = sorted(chunks, key=lambda chunk: chunk is NOISE)
    for metric in (anchors.recall_any, anchors.anchor_precision, anchors.anchor_mrr):
        assert value(metric(HOPS, chunks, k)) <= value(metric(HOPS, risen, k))
