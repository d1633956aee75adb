"""Sections are found by their words wherever they went, and a section that is gone is found nowhere."""

from __future__ import annotations

from pathlib import Path

from tests.evaluation.datasets.small import anchored

from assay.evaluation.datasets.anchors import (
    SectionWording,
    Unresolved,
    Worded,
    find_unresolved_anchors,
    notes_of,
    runs_of,
)
from assay.records.answers import GoldSupport

BEES = "Bees dance to tell each other where the flowers are, and how far it is to fly there today."
SHIPS = "Ships wait outside the harbour until the tide lets them in, which may take half a night."
SAME = "Before you begin, read the rules of the house and sign them at the desk by the door."
BEFORE = {
    "animals/bees.md": f"# Bees\n\n## Begin\n\n{SAME}\n\n## Dance\n\n{BEES}\n",
    "sea/ships.md": f"# Ships\n\n## Begin\n\n{SAME}\n\n## Tide\n\n{SHIPS}\n",
}


def lost(tmp_path: Path, support: GoldSupport, **now: str) -> Unresolved:
    """What is said of an anchor into the notes above, once they are what a folder holds."""
    for name, text in now.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    dataset = anchored(support, notes=BEFORE)
    (found,) = find_unresolved_anchors(dataset, notes_of(dataset, tmp_path))
    return found


def test_words_are_found_under_another_heading_in_another_file(tmp_path: Path) -> None:
    support = GoldSupport(rel_path="animals/bees.md", heading_path="Bees > Dance")
    found = lost(tmp_path, support, insects=f"# Insects\n\n## How they talk\n\n{BEES}\n", ships=BEFORE["sea/ships.md"])
    assert found.clear is not None
    assert (found.clear.rel_path, found.clear.heading_path) == ("insects.md", "Insects > How they talk")
    assert found.clear.reason == "its words stand there"


def test_a_few_other_words_do_not_hide_a_section(tmp_path: Path) -> None:
    support = GoldSupport(rel_path="animals/bees.md", heading_path="Bees > Dance")
    edited = BEES.replace("today", "tomorrow").replace("tell", "show")
    found = lost(tmp_path, support, insects=f"# Insects\n\n## Begin\n\n{SAME}\n\n## Talk\n\n{edited}\n")
    assert found.clear is not None
    assert found.clear.heading_path == "Insects > Talk"


def test_a_section_that_was_removed_goes_nowhere_though_its_heading_stands_elsewhere(tmp_path: Path) -> None:
    support = GoldSupport(rel_path="animals/bees.md", heading_path="Bees > Dance")
    found = lost(tmp_path, support, ships=f"{BEFORE['sea/ships.md']}\n## Dance\n\nOn deck, on Sundays, after tea.\n")
    assert [one.heading_path for one in found.proposals] == ["Ships > Dance"]
    assert found.clear is None


def test_boilerplate_belongs_to_the_file_it_stood_in(tmp_path: Path) -> None:
    support = GoldSupport(rel_path="animals/bees.md", heading_path="Bees > Begin")
    moved = {"insects": f"# Insects\n\n## First\n\n{SAME}\n\n## Dance\n\n{BEES}\n", "ships": BEFORE["sea/ships.md"]}
    found = lost(tmp_path, support, **moved)
    assert found.clear is not None
    assert (found.clear.rel_path, found.clear.heading_path) == ("insects.md", "Insects > First")


def test_boilerplate_that_was_removed_is_not_found_in_another_file(tmp_path: Path) -> None:
    support = GoldSupport(rel_path="animals/bees.md", heading_path="Bees > Begin")
    moved = {"insects": f"# Insects\n\n## Dance\n\n{BEES}\n", "ships": BEFORE["sea/ships.md"]}
    assert lost(tmp_path, support, **moved).clear is None


def test_an_anchor_to_a_whole_file_follows_the_file(tmp_path: Path) -> None:
    found = lost(tmp_path, GoldSupport(rel_path="animals/bees.md"), insects=BEFORE["animals/bees.md"])
    assert found.clear is not None
    assert (found.clear.rel_path, found.clear.heading_path) == ("insects.md", "")
    assert found.clear.reason == "its file went there"


def test_a_heading_with_nothing_under_it_is_not_taken_for_the_section_below_it() -> None:
    before = [Worded("a.md", "A", BEES, bare=True), Worded("a.md", "A > B", BEES)]
    now = [Worded("b.md", "X", BEES, bare=True), Worded("b.md", "X > Y", BEES)]
    wording = SectionWording(before, now)
    assert [one.heading_path for one in wording.now_at("a.md", "A")] == ["X"]
    assert [one.heading_path for one in wording.now_at("a.md", "A > B")] == ["X > Y"]


def test_a_section_nobody_knew_and_one_without_words_say_nothing() -> None:
    wording = SectionWording([Worded("a.md", "A", "")], [Worded("a.md", "B", "")])
    assert wording.now_at("a.md", "A") == wording.now_at("a.md", "Z") == []
    assert not wording.knows("a.md", "A")
    assert runs_of("two words") == runs_of("words TWO")
