"""Reconsolidation needs a checkpoint: PostgreSQL takes it without pg_dump, and a failure is said everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.memory.engines import engine_at
from tests.storage.homes import Home

from assay.memory.engine import Engine
from assay.records import SaveDecision, SaveOutcome, Scope, make_draft
from assay.records.memory_list import Condition
from assay.verbs.memory import SAVE

MONDAY = make_draft(title="Release day", body="Releases go out on Monday at 10:00.")
TUESDAY = make_draft(title="Release day", body="Releases go out on Tuesday at 11:00.")


@pytest.fixture
def blocked(home: Home, tmp_path: Path) -> Iterator[Engine]:
    """An engine whose checkpoints have nowhere to go."""
    (tmp_path / "taken").write_text("a file where the folder should be")
    with engine_at(home, checkpoint_folder=tmp_path / "taken" / "checkpoints") as engine:
        yield engine


@pytest.mark.parametrize("programs", ["missing", "old"])
def test_an_update_supersedes_without_a_fitting_pg_dump(
    home: Home, scope: Scope, tmp_path: Path, programs: str
) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    if programs == "old":
        (folder / "pg_dump").write_text("#!/bin/sh\necho 'aborting because of server version mismatch' >&2\nexit 1\n")
        (folder / "pg_dump").chmod(0o755)
    with engine_at(home, postgres_programs=folder) as engine:
        old = engine.saver.save(scope, MONDAY)
        new = engine.saver.save(scope, TUESDAY)
        assert (new.decision, new.superseded, new.held_off) == (SaveDecision.SUPERSEDE, (old.memory_id,), "")
        assert [one.name for one in engine.store.checkpoints.list()] == ["before reconsolidation"]
        state = engine.flag_states(scope)["reconsolidation"]
        assert state.activated_at is not None
        assert state.held_off == ""


def test_without_a_checkpoint_save_flag_and_health_say_the_same(blocked: Engine, scope: Scope) -> None:
    old = blocked.saver.save(scope, MONDAY)
    assert old.held_off == ""
    new = blocked.saver.save(scope, TUESDAY)
    state = blocked.flag_states(scope)["reconsolidation"]
    assert state.on
    assert "no checkpoint could be taken" in state.held_off
    assert "taken" in state.held_off
    assert new.superseded == ()
    assert new.held_off == f"would have superseded {old.memory_id}, but reconsolidation is held off: {state.held_off}"
    [line] = [one for one in blocked.health(scope).parts if one.name == "reconsolidation"]
    assert (line.state, line.reason) == (Condition.DEGRADED, f"on, but held off: {state.held_off}")
    with blocked.store.reading(scope) as work:
        assert [one.action for one in work.audit.entries(target="reconsolidation")] == ["flag.held_off"]


def test_every_surface_says_what_was_held_off() -> None:
    outcome = SaveOutcome(save_id="sv_1", decision=SaveDecision.STORE, memory_id="m_1", held_off="would have ...")
    assert SAVE.to_json(outcome)["held_off"] == "would have ..."
    assert SAVE.tool is not None
    assert "held_off" not in SAVE.tool.masked


def test_what_was_held_off_goes_on_once_a_checkpoint_can_be_taken(
    blocked: Engine, home: Home, scope: Scope, tmp_path: Path
) -> None:
    blocked.saver.save(scope, MONDAY)
    with engine_at(home, checkpoint_folder=tmp_path / "free") as engine:
        assert engine.flag_states(scope)["reconsolidation"].held_off
        assert engine.saver.save(scope, TUESDAY).superseded
        assert engine.flag_states(scope)["reconsolidation"].held_off == ""
        assert "reconsolidation" not in [one.name for one in engine.health(scope).parts]
