"""Watching: each round takes in what changed since the last, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.memory.engine import Engine
from assay.memory.ingesting.run import watch
from assay.records import Scope
from assay.records.saving import IngestReport


def rounds(
    engine: Engine, scope: Scope, root: Path, *changes: Callable[[], object], prune: bool = False
) -> list[IngestReport]:
    """Make one change before each round, then stop."""
    left = list(changes)

    def wait() -> bool:
        if not left:
            return True
        left.pop(0)()
        return False

    told: list[IngestReport] = []
    watch(engine.ingester, scope, [root], root=root.parent, wait=wait, on_report=told.append, prune=prune)
    return told


def nothing() -> None:
    pass


def test_a_new_and_a_changed_file_are_taken_and_an_idle_round_says_nothing(
    engine: Engine, scope: Scope, root: Path
) -> None:
    (root / "a.md").write_text("one")
    told = rounds(
        engine,
        scope,
        root,
        nothing,
        lambda: (root / "b.md").write_text("two"),
        lambda: (root / "a.md").write_text("one and more"),
    )
    assert [one.fates for one in told] == [{"stored": 1}, {"stored": 1}, {"new version": 1}]
    assert [one.files for one in told] == [1, 1, 1]


def test_a_deleted_file_is_told_and_superseded_when_asked(engine: Engine, scope: Scope, root: Path) -> None:
    for name in "ab":
        (root / f"{name}.md").write_text(f"what {name} says")
    kept = rounds(engine, scope, root, (root / "a.md").unlink)
    pruned = rounds(engine, scope, root, (root / "b.md").unlink, prune=True)

    assert (kept[-1].missing, kept[-1].pruned) == ((f"{root.parent.name}/handbook/a.md",), ())
    assert pruned[-1].pruned == (f"{root.parent.name}/handbook/b.md",)


def test_the_watched_file_itself_may_go(engine: Engine, scope: Scope, root: Path) -> None:
    file = root / "a.md"
    file.write_text("one")
    told: list[IngestReport] = []
    stops = iter([False, True])

    def wait() -> bool:
        file.unlink(missing_ok=True)
        return next(stops)

    watch(engine.ingester, scope, [file], root=root, wait=wait, on_report=told.append)
    assert told[-1].missing == ("handbook/a.md",)


def test_a_file_that_changes_without_another_content_is_not_written_again(
    engine: Engine, scope: Scope, root: Path
) -> None:
    (root / "a.md").write_text("one")
    told = rounds(engine, scope, root, lambda: os.utime(root / "a.md", (1, 1)))
    assert told[-1].fates == {"unchanged": 1}


def test_an_interrupt_ends_it(engine: Engine, scope: Scope, root: Path) -> None:
    def wait() -> bool:
        raise KeyboardInterrupt

    (root / "a.md").write_text("one")
    with pytest.raises(KeyboardInterrupt):
        watch(engine.ingester, scope, [root], root=root, wait=wait, on_report=lambda _: None)
    assert engine.store.problems() == []
