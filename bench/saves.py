"""What saves decide on labelled scenarios, end to end with the bundled embedder: `python -m bench.saves [--json]`.

Each scenario has a tenant of its own in a store that is thrown away: the old note is there, the new one is saved with
the gate enforced. Fails when an update, a negation or a changed number is rejected or merged away, or when one of two
notes that are both true is superseded, in either set.

Then the short notes of `data/short_notes.jsonl`, each saved alone: how much junk the gate accepts and how many real
notes it refuses. Fails when it refuses a real note of the first two sets. And every note of the scenarios, saved alone:
each is a good note, and the gate must refuse none.

Then the pairs of sentences of `data/word_order.jsonl`: paraphrases in another order, which are to agree, and reversals,
which are not.

Then the pairs of notes of `data/save_pairs.jsonl`, longer and reworded: written after the rules, the second part after
the misses of the first had been looked at.

`--cases FILE` (or `--data DIR` with a `save_scenarios.jsonl`) measures scenarios of another author: lines of JSON with
`id`, `kind`, `old`, `new` and `expected`, one of store, duplicate, merge, supersede, contradict_keep_both. What both
sets have in common is printed side by side, with 95 % Wilson intervals.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.evaluation.datasets.bundled import FILES, load_scenarios
from assay.flags import Flags
from assay.index import Indexes
from assay.memory.saving import SaveOptions, Saver
from assay.memory.saving.agreement import compare_statements
from assay.metrics.write_path import SaveConfusion, save_confusion
from assay.records import Draft, SaveDecision, SaveOutcome, SaveTrial, Scope
from assay.records.saving import Scenario
from assay.statistics import wilson
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


@contextmanager
def open_saver(embedder: Embedder) -> Iterator[tuple[Saver, Flags, Store]]:
    """Open a saver over a store that is thrown away, whose gate enforces from the first day."""
    clock = FixedClock()
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "saves.db", clock=clock) as store:
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
        yield saver, flags, store
        indexes.close()


def run(scenarios: Sequence[Scenario], embedder: Embedder) -> list[Trial]:
    """Save every scenario, each for a tenant of its own."""
    with open_saver(embedder) as (saver, flags, store):
        return [Trial(scenario, _save(scenario, saver, flags, store)) for scenario in scenarios]


def _save(scenario: Scenario, saver: Saver, flags: Flags, store: Store) -> SaveOutcome:
    scope = _enforce(Scope(tenant=scenario.id), flags, store)
    saver.save(scope, scenario.old, gated=False)
    return saver.save(scope, scenario.new)


def _enforce(scope: Scope, flags: Flags, store: Store) -> Scope:
    flags.activate(store, scope, "save_quality_gate")
    flags.review(store, scope, "save_quality_gate")
    return scope


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


# --- Short notes: junk that is to be refused, and real notes that are not ---

SHORT_NOTES = Path(__file__).parent / "data" / "short_notes.jsonl"


class ShortNote(NamedTuple):
    """A short note by hand, and what the gate did with it."""

    label: str
    """`junk` or `real`."""
    kind: str
    set: str
    """`development`; `held out`: written with it, and only its score was looked at; `fresh`: written afterwards."""
    title: str
    body: str
    refused: bool

    @property
    def wrong(self) -> bool:
        """Whether junk was accepted or a real note refused."""
        return self.refused != (self.label == "junk")


def save_short_notes(embedder: Embedder) -> list[ShortNote]:
    """Save every short note alone, for a tenant of its own."""
    rows = [json.loads(line) for line in SHORT_NOTES.read_text(encoding="utf-8").splitlines()]
    notes = []
    with open_saver(embedder) as (saver, flags, store):
        for number, row in enumerate(rows):
            scope = _enforce(Scope(tenant=f"note-{number}"), flags, store)
            outcome = saver.save(scope, Draft(title=row["title"], body=row["body"]))
            notes.append(ShortNote(**row, refused=outcome.decision is SaveDecision.REJECT))
    return notes


def save_good_notes(embedder: Embedder) -> list[ShortNote]:
    """Save the notes of every scenario alone: none of them is junk."""
    notes = []
    with open_saver(embedder) as (saver, flags, store):
        for name in FILES:
            drafts = [draft for scenario in load_scenarios(name) for draft in (scenario.old, scenario.new)]
            for number, draft in enumerate(drafts):
                scope = _enforce(Scope(tenant=f"{name[:4]}-{number}"), flags, store)
                refused = saver.save(scope, draft).decision is SaveDecision.REJECT
                notes.append(ShortNote("real", "scenario", f"scenarios, {name}", draft.title, draft.body, refused))
    return notes


def show_short_notes(console: Console, notes: Sequence[ShortNote]) -> None:
    """Print both error rates of each set, and every mistake."""
    table = Table(title="Notes saved alone with the gate enforced")
    for heading in ("set", "junk accepted", "real notes refused"):
        table.add_column(heading, justify="left" if heading == "set" else "right")
    for name in dict.fromkeys(note.set for note in notes):
        table.add_row(name, *(_describe_wrong(notes, name, label) for label in ("junk", "real")))
    console.print(table)
    for note in notes:
        if note.wrong:
            console.print(f"  {note.set}, {note.label}: {note.title!r} / {note.body!r}", highlight=False, markup=False)


def _describe_wrong(notes: Sequence[ShortNote], name: str, label: str) -> str:
    own = [note for note in notes if note.set == name and note.label == label]
    if not own:
        return "none there"
    return f"{sum(note.wrong for note in own)} of {len(own)}"


# --- Word order: paraphrases and reversals ---

WORD_ORDER = Path(__file__).parent / "data" / "word_order.jsonl"


class OrderedPair(NamedTuple):
    """Two sentences with the same words in another order, and whether they are taken to agree."""

    kind: str
    """`paraphrase` or `reversal`."""
    set: str
    old: str
    new: str
    agrees: bool

    @property
    def wrong(self) -> bool:
        """Whether a paraphrase contradicts, or a reversal agrees."""
        return self.agrees != (self.kind == "paraphrase")


def compare_ordered_pairs() -> list[OrderedPair]:
    """Compare every pair."""
    rows = [json.loads(line) for line in WORD_ORDER.read_text(encoding="utf-8").splitlines()]
    return [OrderedPair(**row, agrees=compare_statements(row["old"], row["new"]).agrees) for row in rows]


def show_ordered_pairs(console: Console, pairs: Sequence[OrderedPair]) -> None:
    """Print both error rates of each set, and every mistake."""
    table = Table(title="Word order")
    for heading in ("set", "paraphrases that contradict", "reversals that agree"):
        table.add_column(heading, justify="left" if heading == "set" else "right")
    for name in dict.fromkeys(pair.set for pair in pairs):
        own = [[pair for pair in pairs if (pair.set, pair.kind) == (name, kind)] for kind in ("paraphrase", "reversal")]
        table.add_row(name, *(f"{sum(pair.wrong for pair in kind)} of {len(kind)}" for kind in own))
    console.print(table)
    for pair in pairs:
        if pair.wrong:
            console.print(f"  {pair.set}, {pair.kind}: {pair.old} / {pair.new}", highlight=False, markup=False)


# --- Scenarios of another author ---

EXPECTED = ("store", "contradict_keep_both", "duplicate", "merge", "supersede")


class OutsideCase(NamedTuple):
    """A scenario of another author, and what the save did."""

    id: str
    kind: str
    expected: str
    outcome: SaveOutcome

    @property
    def decided(self) -> str:
        """The decision, with a `contradicts` edge told apart from a plain store."""
        return "contradicts" if self.outcome.contradicts else self.outcome.decision.value


def save_outside_cases(file: Path, embedder: Embedder, *, part: str | None = None) -> list[OutsideCase]:
    """Save every scenario of a file, or of one `set` in it, each for a tenant of its own."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    rows = [row for row in rows if part is None or row.get("set") == part]
    cases = []
    with open_saver(embedder) as (saver, flags, store):
        for row in rows:
            scope = _enforce(Scope(tenant=row["id"]), flags, store)
            saver.save(scope, _draft(row["old"]), gated=False)
            cases.append(OutsideCase(row["id"], row["kind"], row["expected"], saver.save(scope, _draft(row["new"]))))
    return cases


PAIRS = Path(__file__).parent / "data" / "save_pairs.jsonl"


class Share(NamedTuple):
    """How many of some scenarios went as they should, or as they must not."""

    hits: int
    of: int

    def __str__(self) -> str:
        if not self.of:
            return "none"
        bounds = wilson(self.hits, self.of)
        return f"{self.hits} of {self.of} ({bounds.low:.2f} to {bounds.high:.2f})"


class Judged(NamedTuple):
    """One scenario of any set, reduced to what all sets have in common."""

    expected: str
    decided: str


MEASURES = {
    "updates superseded": ("supersede", {"supersede"}),
    "updates superseded or marked": ("supersede", {"supersede", "contradicts"}),
    "updates lost": ("supersede", {"reject", "merge"}),
    "both true, one superseded": ("both", {"supersede"}),
    "both true, one lost": ("both", {"reject", "merge"}),
    "duplicates recognised": ("duplicate", {"reject", "merge"}),
    "duplicates called contradictions": ("duplicate", {"contradicts"}),
    "elaborations lost": ("merge", {"reject", "merge"}),
    "elaborations that supersede": ("merge", {"supersede"}),
}
"""For each figure: the scenarios it counts, by expectation, and the decisions it counts among them."""


def measure(judged: Sequence[Judged]) -> dict[str, Share]:
    """Count what the sets have in common."""
    return {
        name: Share(
            sum(trial.expected == expected and trial.decided in decisions for trial in judged),
            sum(trial.expected == expected for trial in judged),
        )
        for name, (expected, decisions) in MEASURES.items()
    }


def judge_trials(trials: Sequence[Trial]) -> list[Judged]:
    """Reduce the project's own scenarios."""
    kinds = {"paraphrase": "duplicate", "restatement": "duplicate", "extension": "merge"}
    return [
        Judged(
            kinds.get(trial.scenario.kind, "supersede" if _is_update(trial.scenario) else "both"),
            "contradicts" if trial.outcome.contradicts else trial.outcome.decision.value,
        )
        for trial in trials
    ]


def _is_update(scenario: Scenario) -> bool:
    return scenario.expected[0] is SaveDecision.SUPERSEDE


def judge_cases(cases: Sequence[OutsideCase]) -> list[Judged]:
    """Reduce scenarios of a file."""
    both = ("store", "contradict_keep_both")
    return [Judged("both" if case.expected in both else case.expected, case.decided) for case in cases]


def show_side_by_side(console: Console, sets: Mapping[str, Sequence[Judged]]) -> None:
    """Print each figure for every set."""
    table = Table(title="Side by side, with 95 % intervals")
    for heading in ("", *sets):
        table.add_column(heading, justify="right" if heading else "left")
    measured = [measure(judged) for judged in sets.values()]
    for name in MEASURES:
        table.add_row(name, *(str(figures[name]) for figures in measured))
    console.print(table)


def _draft(row: dict[str, Any]) -> Draft:
    return Draft(title=row["title"], body=row["body"], triggers=tuple(row["triggers"]))


def show_outside_cases(console: Console, cases: Sequence[OutsideCase]) -> None:
    """Print what was decided for each expectation."""
    columns = ("store", "contradicts", "reject", "merge", "supersede")
    table = Table(title=f"{len(cases)} scenarios, expected (rows) against decided (columns)")
    for heading in ("", *columns):
        table.add_column(heading, justify="right" if heading else "left")
    counted = Counter((case.expected, case.decided) for case in cases)
    for expected in EXPECTED:
        table.add_row(expected, *(str(counted[expected, decided]) for decided in columns))
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.saves", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="measure the scenarios of this file, too")
    parser.add_argument("--data", type=Path, metavar="DIR", help="the same, of DIR/save_scenarios.jsonl")
    asked = parser.parse_args(arguments)
    embedder = load_bundled()
    console = Console(width=200)
    file = asked.cases or (asked.data / "save_scenarios.jsonl" if asked.data else None)
    outside = None if file is None else save_outside_cases(file, embedder)
    if outside is not None and asked.json:
        print(json.dumps([_plain_case(case) for case in outside], indent=2))
        return 0
    found = {name: run(load_scenarios(name), embedder) for name in FILES}
    notes, pairs = [*save_short_notes(embedder), *save_good_notes(embedder)], compare_ordered_pairs()
    if asked.json:
        plain = {name: [_plain(trial) for trial in trials] for name, trials in found.items()}
        more = {"short notes": [note._asdict() for note in notes], "word order": [pair._asdict() for pair in pairs]}
        print(json.dumps({**plain, **more}, indent=2, ensure_ascii=False))
    else:
        for name, trials in found.items():
            shown(console, name, trials)
        show_short_notes(console, notes)
        show_ordered_pairs(console, pairs)
        sets = {name: judge_trials(trials) for name, trials in found.items()}
        for part in ("first", "second"):
            sets[f"pairs, {part}"] = judge_cases(save_outside_cases(PAIRS, embedder, part=part))
        if outside is not None:
            show_outside_cases(console, outside)
            sets["other author"] = judge_cases(outside)
        show_side_by_side(console, sets)
    lost = any(trial.lost for trials in found.values() for trial in trials)
    return int(lost or any(note.wrong and note.label == "real" for note in notes if note.set != "fresh"))


def _plain_case(case: OutsideCase) -> dict[str, object]:
    nearest = case.outcome.nearest
    return {
        "id": case.id,
        "kind": case.kind,
        "expected": case.expected,
        "decided": case.decided,
        "similarity": nearest[0].similarity if nearest else None,
        "reasons": list(nearest[0].reasons) if nearest else [],
    }


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
