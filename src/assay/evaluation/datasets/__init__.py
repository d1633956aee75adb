"""Datasets: found by name or path, kept in versions, checked before they are used.

- `formats`: the registry of dataset formats, and `@dataset_format`.
- `loading`: load, export and import datasets.
- `registry`: the folder of imported datasets and their versions.
- `bundled`: the datasets that come with Assay.
- `checks`: structure, labels, leakage and generated cases.
- `anchors`: whether gold anchors still lead somewhere, and where they may have moved.
- `validation`: all checks in one list, and what is done about anchors that lead nowhere.
- `contents`: counts of what a dataset holds, and splitting one.
"""

from assay.evaluation.datasets.anchors import Relocation, Unresolved
from assay.evaluation.datasets.checks import Finding, Severity
from assay.evaluation.datasets.contents import show, split_dataset
from assay.evaluation.datasets.formats import DATASET_FORMATS, Source
from assay.evaluation.datasets.loading import (
    Import,
    export_dataset,
    import_dataset,
    keep_fixed,
    load_dataset,
    load_named,
)
from assay.evaluation.datasets.registry import Imported, Registry
from assay.evaluation.datasets.validation import (
    Checked,
    ForScoring,
    apply_relocations,
    check_dataset,
    check_path,
    for_scoring,
)

__all__ = [
    "DATASET_FORMATS",
    "Checked",
    "Finding",
    "ForScoring",
    "Import",
    "Imported",
    "Registry",
    "Relocation",
    "Severity",
    "Source",
    "Unresolved",
    "apply_relocations",
    "check_dataset",
    "check_path",
    "export_dataset",
    "for_scoring",
    "import_dataset",
    "keep_fixed",
    "load_dataset",
    "load_named",
    "show",
    "split_dataset",
]
