"""What saves decide on labelled scenarios, end to end with the bundled embedder: `python -m bench.saves [--json]`.

Each scenario has a tenant of its own in a store that is thrown away: the old note is there, the new one is saved with
the gate enforced. Fails when an update, a negation or a changed number is rejected or merged away, or when one of two
notes that are both true is superseded, in either set.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.evaluation.datasets.bundled import FILES, load_scenarios
from assay.flags import Flags
from assay.index import Indexes
from assay.memory.saving import SaveOptions, Saver
from assay.metrics.write_path import SaveConfusion, save_confusion
from assay.records import SaveDecision, SaveOutcome, SaveTrial, Scope
from assay.records.saving import Scenario
from assay.storage import Store, open_store
from assay.testing import FixedClock
from assay.text.chunking import Chunker


class Trial(NamedTuple):
    """One scenario and what became of it."""

    scenario: Scenario
    outcome: SaveOutcome

    @property
    def right(self) -> bool:
        """Whether the decision is one of those that lose nothing."""
        return self.outcome.decision in self.scenario.expected

    @property
    def lost(self) -> bool:
        """Whether the decision lost something that must not be lost."""
        return self.outcome.decision in self.scenario.forbidden


def run(scenarios: Sequence[Scenario], embedder: Embedder, folder: Path) -> list[Trial]:
    """Save every scenario, each for a tenant of its own."""
    clock = FixedClock()
    with open_store(folder / "saves.db", clock=clock) as store:
        store.checkpoints.create("empty")
        indexes = Indexes(store, None, clock=clock)
        flags = Flags(clock=clock)
        saver = Saver(
            store=store,
            embedder=embedder,
            indexes=indexes,
            flags=flags,
            chunker=Chunker(embedder.count_tokens, embedder.token_limit),
            clock=clock,
            options=SaveOptions(warn_only=timedelta(0)),
        )
        trials = [Trial(one, _save(one, saver, flags, store)) for one in scenarios]
        indexes.close()
    return trials


def _save(scenario: Scenario, saver: Saver, flags: Flags, store: Store) -> SaveOutcome:
    scope = Scope(tenant=scenario.id)
    flags.activate(store, scope, "save_quality_gate")
    flags.review(store, scope, "save_quality_gate")
    saver.save(scope, scenario.old, gated=False)
    return saver.save(scope, scenario.new)


def confusion(trials: Sequence[Trial]) -> SaveConfusion:
    """Against the best decision, or the one taken when it loses nothing either."""
    return save_confusion(
        SaveTrial(
            expected=trial.outcome.decision if trial.right else trial.scenario.expected[0],
            decided=trial.outcome.decision,
        )
        for trial in trials
    )


def shown(console: Console, name: str, trials: Sequence[Trial]) -> None:
    counted = confusion(trials)
    table = Table(title=f"{name}: {len(trials)} scenarios, expected (rows) against decided (columns)")
    table.add_column("")
    for decision in SaveDecision:
        table.add_column(decision.value, justify="right")
    for expected in SaveDecision:
        table.add_row(expected.value, *(str(counted.count(expected, decided)) for decided in SaveDecision))
    console.print(table)
    rate = counted.accuracy
    console.print(f"right {rate.hits} of {rate.of}; lost something: {sum(trial.lost for trial in trials)}")
    kinds = Counter(trial.scenario.kind for trial in trials)
    right = Counter(trial.scenario.kind for trial in trials if trial.right)
    console.print("  ".join(f"{kind} {right[kind]}/{count}" for kind, count in kinds.items()), highlight=False)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.saves", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    asked = parser.parse_args(arguments)
    embedder = load_bundled()
    found = {}
    for name in FILES:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = run(load_scenarios(name), embedder, Path(folder))
    if asked.json:
        print(json.dumps({name: [_plain(trial) for trial in trials] for name, trials in found.items()}, indent=2))
    else:
        console = Console(width=120)
        for name, trials in found.items():
            shown(console, name, trials)
    return int(any(trial.lost for trials in found.values() for trial in trials))


def _plain(trial: Trial) -> dict[str, object]:
    nearest = trial.outcome.nearest
    return {
        "id": trial.scenario.id,
        "expected": [one.value for one in trial.scenario.expected],
        "decided": trial.outcome.decision.value,
        "similarity": nearest[0].similarity if nearest else None,
        "reasons": list(nearest[0].reasons) if nearest else [],
    }


if __name__ == "__main__":
    sys.exit(main())
