"""`assay tune thresholds`: where an embedder's similarities begin to mean something. `fusion` is in `tune_fusion`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay import wiring
from assay.cli.commands import tune_fusion
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.errors import MalformedFile
from assay.evaluation.datasets.bundled import load_scenarios
from assay.extras import need_extra
from assay.formats.grid import grid
from assay.regular_files import read_regular_text

if TYPE_CHECKING:
    from assay.memory.saving.thresholds import Cut, LabelledPair, ThresholdReport

PairsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="JSONL with first, second and label: same, conflict or different. Default: ours."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Measure what a setting should be.", no_args_is_help=True)
    app.add_typer(group, name="tune")
    tune_fusion.register(group)

    @command(group, "thresholds")
    def thresholds(surface: Surface, pairs: PairsOption = None) -> None:
        """Measure similarities of labelled pairs with the configured embedder, and propose thresholds."""
        need_extra("memory")
        from assay.memory.saving.thresholds import measure_thresholds  # noqa: PLC0415 - the extra "memory"

        found = measure_thresholds(_pairs(pairs), wiring.configured_embedder(surface.settings))
        surface.result(plain(found), "\n".join(_lines(found)))


def _pairs(file: Path | None) -> list[LabelledPair]:
    from assay.memory.saving.thresholds import pairs_of  # noqa: PLC0415 - the extra "memory"

    return pairs_of(load_scenarios()) if file is None else list(_read(file))


def _read(file: Path) -> Iterator[LabelledPair]:
    from assay.memory.saving.thresholds import LabelledPair, PairLabel  # noqa: PLC0415 - the extra "memory"

    try:
        lines = read_regular_text(file).splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise MalformedFile(f"cannot read {file}: {problem}", remedy="Name a JSONL file in UTF-8.") from problem
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            yield LabelledPair(str(row["first"]), str(row["second"]), PairLabel(row["label"]))
        except (ValueError, KeyError, TypeError) as problem:
            raise MalformedFile(
                f"line {number} of {file} is no labelled pair ({problem})",
                remedy='Write {"first": ..., "second": ..., "label": "same", "conflict" or "different"}.',
            ) from problem


def _lines(found: ThresholdReport) -> Iterator[str]:
    yield f"{found.model}: similarity of labelled pairs"
    head = ("label", "pairs", "lowest", "quarter", "median", "three quarters", "highest")
    rows = [
        (label, f"{spread.pairs}", *(f"{mark:.3f}" for mark in spread[1:])) for label, spread in found.spreads.items()
    ]
    yield from grid([head, *rows], indent="  ")
    yield "thresholds"
    now = {cut.name: cut for cut in found.current}
    cuts = [(cut.name, *_cut(now[cut.name]), *_cut(cut)) for cut in found.cuts]
    yield from grid([("", "in use", "errors", "proposed", "errors"), *cuts], indent="  ")
    yield "Set what you choose as similarity.duplicate, similarity.merge and similarity.related."


def _cut(cut: Cut) -> tuple[str, str]:
    return f"{cut.value:.2f}", f"{cut.missed} missed, {cut.wrong} wrong of {cut.of}"
