"""Datasets: found by name or path, kept in versions, checked before they are trusted.

`loading` a name or path into a dataset and back into files, in the formats that `registering` and `builtin_formats`
register, `export_losses` what a format does not keep, `importing` into the `registry`, `bundled` those that come with
Assay and what they promise, `splitting` parts of one, `showing` what one holds. `checking` asks whether one can be
trusted: `structure` its ids and grades, `labels` who graded and which way, `leakage` what gives answers
away, `anchoring` whether gold anchors still lead somewhere. `fixing` moves anchors and says which cases may be scored.
"""

from assay.evaluation.datasets.anchoring import Relocation, Unresolved
from assay.evaluation.datasets.checking import Checked, check_dataset, check_path
from assay.evaluation.datasets.findings import Finding, Severity
from assay.evaluation.datasets.fixing import ForScoring, apply_relocations, for_scoring
from assay.evaluation.datasets.importing import Import, import_dataset, keep_fixed
from assay.evaluation.datasets.loading import export_dataset, load_dataset, load_named
from assay.evaluation.datasets.registering import DATASET_FORMATS, Source
from assay.evaluation.datasets.registry import Imported, Registry
from assay.evaluation.datasets.showing import show
from assay.evaluation.datasets.splitting import split_dataset

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
