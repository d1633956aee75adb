"""What tuning starts from: Assay over a dataset's documents, and the fusion that its settings put in force."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from assay.errors import InputError
from assay.evaluation.tuning import FusionChoice
from assay.evaluation.tuning.choices import choice_of
from assay.records.datasets import Dataset
from assay.systems.assay_engine import AssaySystem, OnDocument
from assay.systems.registry import parse_spec
from assay.wiring.engines import search_options
from assay.wiring.systems import corpus_settings, open_system


class Tunable(NamedTuple):
    """A system whose fusion can be replayed."""

    system: AssaySystem
    incumbent: FusionChoice
    aggregated: bool
    """Whether further passages add to a memory's score."""


def open_tunable(text: str, dataset: Dataset, *, on_document: OnDocument | None = None) -> Tunable:
    """The system a spec such as `assay` or `assay:embedder.kind=static` names, with the fusion in force."""
    spec = parse_spec(text, Path.cwd())
    if spec.configuration is None:
        raise InputError(f"{text} does not tell what its channels found", remedy="Fusion is tuned for assay[:...].")
    incumbent = choice_of(search_options(corpus_settings(spec.configuration, dataset)))
    system = open_system(text, dataset, on_document=on_document)
    if not isinstance(system, AssaySystem):
        raise InputError(f"{text} is not Assay", remedy="Fusion is tuned for assay[:...].")
    return Tunable(system, incumbent, bool(system.subject()["flags"]["docscore_aggregation"]))
