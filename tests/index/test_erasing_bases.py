"""Deleting the files of a tenant's index: after whoever is making new ones, and without harm to searches."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.storage.homes import BOUND_S

from assay.index.base import Generations


def test_everything_but_the_lock_goes(tmp_path: Path) -> None:
    generations = Generations(tmp_path, store="s", tenant="acme")
    assert generations.erase() is None
    with generations.lock(), generations.making() as made:
        (made / "words").write_text("zanzimarker")
        made.rename(generations.folder / "g1")
        (generations.folder / "current").write_text("g1")
    assert generations.erase() == generations.folder
    assert [path.name for path in generations.folder.iterdir()] == ["fold.lock"]


def test_it_waits_for_whoever_folds_an_older_state(tmp_path: Path) -> None:
    """A base that is published after the erasure would bring the words back."""
    generations = Generations(tmp_path, store="s", tenant="acme")
    with generations.lock():
        erasing = threading.Thread(target=generations.erase)
        erasing.start()
        erasing.join(0.1)
        assert erasing.is_alive()
        (generations.folder / "g1").mkdir()
    erasing.join(BOUND_S)
    assert not erasing.is_alive()
    assert not (generations.folder / "g1").exists()
