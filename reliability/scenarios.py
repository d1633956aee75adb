"""Every scenario by name: what it proves, how much of it is done in each form, and how it is run.

`full` is the figure of the promise and what `make soak` runs; `shown` takes about ten minutes in all; `short` is what
the test suite can afford.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from reliability import (
    api_load,
    backups,
    budget,
    cluster,
    door,
    egress,
    erasure,
    events,
    faults,
    first_open,
    hostile,
    injection,
    judge_faults,
    kill,
    killed_restore,
    masking,
    migration,
    pipeline_faults,
    power_cut,
    runs,
    several_servers,
    state_machine,
    tenants,
    writers,
)
from reliability.egress_commands import COMMANDS
from reliability.outcome import Outcome
from reliability.servers import postgres

Run = Callable[[Path, int, int], Outcome]


class Form(StrEnum):
    """How much of it."""

    FULL = "full"
    SHOWN = "shown"
    SHORT = "short"


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """One program."""

    name: str
    proves: str
    unit: str
    """What the amount counts."""
    amounts: dict[Form, int]
    run: Run
    """Called with a folder, the amount and a seed."""


def _amounts(full: int, shown: int, short: int) -> dict[Form, int]:
    return {Form.FULL: full, Form.SHOWN: shown, Form.SHORT: short}


def _kill(folder: Path, amount: int, seed: int) -> Outcome:
    return kill.run(folder=folder, times=amount, seed=seed)


def _power_cut(folder: Path, amount: int, seed: int) -> Outcome:
    acts = 900 if amount >= 100 else 150
    return power_cut.run(folder=folder, times=amount, control_times=max(20, amount // 4), acts=acts, seed=seed)


def _faults(folder: Path, amount: int, seed: int) -> Outcome:
    return faults.run(folder=folder, most_calls=amount, seed=seed)


def _writers(folder: Path, amount: int, seed: int) -> Outcome:  # noqa: ARG001 - contention draws its own lots
    return writers.run(folder=folder, seconds=amount)


def _first_open(folder: Path, amount: int, seed: int) -> Outcome:
    return first_open.run(folder=folder, times=amount, seed=seed)


def _backups(folder: Path, amount: int, seed: int) -> Outcome:  # noqa: ARG001 - the processes draw the lots
    return backups.run(folder=folder, times=amount, restores=max(3, amount // 5))


def _killed_restore(folder: Path, amount: int, seed: int) -> Outcome:
    return killed_restore.run(folder=folder, times=amount, seed=seed)


def _runs(folder: Path, amount: int, seed: int) -> Outcome:
    return runs.run(folder=folder, times=amount, seed=seed)


def _cluster(folder: Path, amount: int, seed: int) -> Outcome:
    return cluster.run(folder=folder, times=amount, seed=seed)


def _migration(folder: Path, amount: int, seed: int) -> Outcome:
    return migration.run(folder=folder, times=amount, seed=seed)


def _events(folder: Path, amount: int, seed: int) -> Outcome:
    return events.run(folder=folder, events=amount, seed=seed)


def _events_postgres(folder: Path, amount: int, seed: int) -> Outcome:
    with postgres() as address:
        return events.run(folder=folder, events=amount, address=address, seed=seed)


def _state_machine(folder: Path, amount: int, seed: int) -> Outcome:
    return state_machine.run(folder=folder, steps=amount, seed=seed)


def _erasure(folder: Path, amount: int, seed: int) -> Outcome:
    return erasure.run(folder=folder, people=amount, seed=seed)


def _erasure_postgres(folder: Path, amount: int, seed: int) -> Outcome:
    folder.mkdir(parents=True, exist_ok=True)
    with erasure.on_postgres(folder) as place:
        return erasure.run(folder=folder, people=amount, seed=seed, place=place)


def _masking(folder: Path, amount: int, seed: int) -> Outcome:
    return masking.run(folder=folder, each=amount, seed=seed)


def _hostile(folder: Path, amount: int, seed: int) -> Outcome:
    return hostile.run(folder=folder, memories=amount, seed=seed)


def _judge_faults(folder: Path, amount: int, seed: int) -> Outcome:
    return judge_faults.run(folder=folder, times=amount, seed=seed)


def _pipeline_faults(folder: Path, amount: int, seed: int) -> Outcome:
    return pipeline_faults.run(folder=folder, times=amount, seed=seed)


def _budget(folder: Path, amount: int, seed: int) -> Outcome:
    return budget.run(folder=folder, restarts=amount, seed=seed)


def _api_load(folder: Path, amount: int, seed: int) -> Outcome:
    memories = 20_000 if amount >= api_load.LEAST_S else 300
    return api_load.run(folder=folder, seconds=amount, memories=memories, seed=seed)


def _several_servers(folder: Path, amount: int, seed: int) -> Outcome:
    memories = 5_000 if amount >= api_load.LEAST_S else 2_000
    with postgres() as address:
        return several_servers.run(folder=folder, address=address, seconds=amount, memories=memories, seed=seed)


def _door(folder: Path, amount: int, seed: int) -> Outcome:
    return door.run(folder=folder, connections=amount, seed=seed)


def _tenants(folder: Path, amount: int, seed: int) -> Outcome:
    return tenants.run(folder=folder, searches=amount, memories=200 if amount >= 1_000 else 30, seed=seed)


def _egress(folder: Path, amount: int, seed: int) -> Outcome:  # noqa: ARG001 - nothing is left to chance
    return egress.run(folder=folder, amount=amount)


def _injection(folder: Path, amount: int, seed: int) -> Outcome:
    return injection.run(folder=folder, documents=amount, seed=seed)


SCENARIOS = (
    Scenario(
        name="egress",
        proves="commands run as real processes try to reach nothing beyond this machine",
        unit="commands",
        amounts=_amounts(len(COMMANDS), len(COMMANDS), 5),
        run=_egress,
    ),
    Scenario(
        name="api_load",
        proves="64 clients at one server, four searches to each save, see no error and no long wait",
        unit="seconds",
        amounts=_amounts(300, 60, 3),
        run=_api_load,
    ),
    Scenario(
        name="several_servers",
        proves="three servers over one PostgreSQL lose, double and hide nothing through a kill and a rolling restart",
        unit="seconds",
        amounts=_amounts(300, 60, 5),
        run=_several_servers,
    ),
    Scenario(
        name="door",
        proves="connections that only wait, large bodies of strangers and wrong tokens do not stop good requests",
        unit="connections of each kind",
        amounts=_amounts(1_100, 1_100, 100),
        run=_door,
    ),
    Scenario(
        name="kill",
        proves="SIGKILL in mid-save loses nothing that was acknowledged, and the store opens again at once",
        unit="kills",
        amounts=_amounts(1000, 300, 8),
        run=_kill,
    ),
    Scenario(
        name="writers",
        proves="eight writing processes never see a lock error, lose no update, and wait less than a second",
        unit="seconds",
        amounts=_amounts(300, 60, 3),
        run=_writers,
    ),
    Scenario(
        name="power_cut",
        proves="a power cut loses no acknowledged save, and of the query log only the newest moments",
        unit="cuts",
        amounts=_amounts(500, 100, 20),
        run=_power_cut,
    ),
    Scenario(
        name="faults",
        proves="a full, read-only or broken disk gives a clear error, old or new state, and reads go on",
        unit="calls tried in each act",
        amounts=_amounts(400, 80, 4),
        run=_faults,
    ),
    Scenario(
        name="first_open",
        proves="processes that open a new store at one moment all get it",
        unit="races",
        amounts=_amounts(200, 100, 5),
        run=_first_open,
    ),
    Scenario(
        name="backups",
        proves="checkpoints made under load are whole and complete, and a restore loses nothing unseen",
        unit="checkpoints",
        amounts=_amounts(200, 50, 5),
        run=_backups,
    ),
    Scenario(
        name="killed_restore",
        proves="a killed restore leaves the store as it was or as the checkpoint has it",
        unit="kills",
        amounts=_amounts(100, 50, 5),
        run=_killed_restore,
    ),
    Scenario(
        name="runs",
        proves="a killed evaluation run, resumed, asks no finished case again and gives the same result",
        unit="kills",
        amounts=_amounts(50, 20, 3),
        run=_runs,
    ),
    Scenario(
        name="cluster",
        proves="runs on a Dask cluster whose workers and schedulers are killed lose no case and count none twice",
        unit="kills",
        amounts=_amounts(200, 40, 3),
        run=_cluster,
    ),
    Scenario(
        name="migration",
        proves="a killed migration leaves the old schema or the new one, and the next opening finishes it",
        unit="kills",
        amounts=_amounts(200, 50, 5),
        run=_migration,
    ),
    Scenario(
        name="events",
        proves="events sent three times through outages are counted once (SQLite)",
        unit="events",
        amounts=_amounts(100_000, 40_000, 4_000),
        run=_events,
    ),
    Scenario(
        name="events_postgres",
        proves="the same on PostgreSQL",
        unit="events",
        amounts=_amounts(100_000, 20_000, 2_000),
        run=_events_postgres,
    ),
    Scenario(
        name="state_machine",
        proves="random steps end as a plain dictionary says, the same on SQLite and PostgreSQL",
        unit="steps",
        amounts=_amounts(50_000, 5_000, 100),
        run=_state_machine,
    ),
    Scenario(
        name="erasure",
        proves="after people are erased, no file holds their names or words, and others lose nothing (SQLite)",
        unit="people",
        amounts=_amounts(20, 10, 2),
        run=_erasure,
    ),
    Scenario(
        name="erasure_postgres",
        proves="the same on PostgreSQL, with the server's own files searched",
        unit="people",
        amounts=_amounts(20, 10, 2),
        run=_erasure_postgres,
    ),
    Scenario(
        name="masking",
        proves="secrets are masked before they are stored, and plain notes are left alone",
        unit="secrets of each kind",
        amounts=_amounts(40, 20, 2),
        run=_masking,
    ),
    Scenario(
        name="hostile",
        proves="hostile memories and one busy voter move nothing that others find, teach nothing and outdate no fact",
        unit="hostile memories",
        amounts=_amounts(200, 200, 28),
        run=_hostile,
    ),
    Scenario(
        name="judge_faults",
        proves="a judge whose endpoint fails in fifteen ways gives a score or a reason, in time and in three requests",
        unit="times for each fault",
        amounts=_amounts(10, 3, 1),
        run=_judge_faults,
    ),
    Scenario(
        name="pipeline_faults",
        proves="a research pipeline whose model fails in fifteen ways answers every question, in time, and says why",
        unit="times for each fault",
        amounts=_amounts(10, 3, 1),
        run=_pipeline_faults,
    ),
    Scenario(
        name="budget",
        proves="64 threads in processes that are killed and restarted never spend beyond a money budget",
        unit="kills",
        amounts=_amounts(20, 8, 1),
        run=_budget,
    ),
    Scenario(
        name="injection",
        proves="no order in judged text moves a verdict that then counts unflagged",
        unit="notes",
        amounts=_amounts(200, 100, 10),
        run=_injection,
    ),
    Scenario(
        name="tenants",
        proves="no tenant sees, counts or feels another's rows, and nobody comes in without a good token",
        unit="searches",
        amounts=_amounts(10_000, 2_000, 100),
        run=_tenants,
    ),
)


def named(name: str) -> Scenario | None:
    """The scenario of that name, if there is one."""
    return next((one for one in SCENARIOS if one.name == name), None)
