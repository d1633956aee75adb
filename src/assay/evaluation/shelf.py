"""The runs, datasets and labels that one caller may see: the only way that the server and MCP take to files.

    shelf = wiring.shelf_of(settings, engine, scope)
    shelf.find_run("latest"), shelf.load_dataset("docs"), shelf.label_session("docs")

Each tenant's files lie in folders of their own (`FilePlaces`). The folders that the settings name are those of the
settings' own tenant, and in them may lie files of others: runs of version 0.1, and what the command line made for
another tenant. There the store's row decides (`owned_files`); a file without a row belongs to the settings' own tenant.
Files of another tenant are not found, as if they did not exist. See `design/files-of-a-tenant.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assay.errors import AssayError, NothingMeasured, RunNotFound
from assay.evaluation.baselines import Baseline, BaselineHead, bless, read_head, write_baseline
from assay.evaluation.datasets import Imported, Registry, load_named
from assay.evaluation.datasets.bundled import list_bundled
from assay.evaluation.datasets.registry import CARD
from assay.evaluation.gating import GateOptions
from assay.evaluation.labelling import (
    Applied,
    Label,
    LabelJournal,
    LabelSession,
    Pressed,
    apply_labels,
    rewordings,
    standing,
    tasks_of,
)
from assay.evaluation.lookup import Lookup
from assay.evaluation.question_review import list_proposals, review_question
from assay.evaluation.readings import Reading
from assay.evaluation.reporting import Report, gather
from assay.evaluation.reporting.building import look_around
from assay.evaluation.results import RunResult, load_run
from assay.evaluation.running.files import LATEST, RunFolder, list_runs
from assay.evaluation.running.live import LiveFolder, LiveRun, describe_unfinished
from assay.private_files import make_private_folder
from assay.records import Scope
from assay.records.access import FileKind
from assay.records.datasets import Dataset, ProposedQuestions, ReviewDecision
from assay.records.values import MAX_SHORT_LABEL

if TYPE_CHECKING:
    from assay.clock import Clock
    from assay.storage import Store

TENANTS = "tenants"
"""The folder beside the runs that holds a folder for each tenant but the settings' own."""
LONGEST_FOLDER_NAME = 200
_PLAIN = re.compile(r"[a-z0-9_-]")
_RUN_ID = re.compile(r"run_[0-9A-Za-z]{1,64}")


class TenantFolders(NamedTuple):
    """Where the files of one tenant lie."""

    runs: Path
    datasets: Path
    labels: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class FilePlaces:
    """Where files lie: what the settings name is their own tenant's, every other tenant has folders of its own."""

    own_tenant: str
    runs: Path
    datasets: Path

    @property
    def shared(self) -> TenantFolders:
        """The folders that the settings name."""
        return TenantFolders(self.runs, self.datasets, self.runs.parent / "labels")

    def apart(self, tenant: str) -> TenantFolders:
        """The folders that hold files of this tenant alone."""
        root = self.runs.parent / TENANTS / folder_name(tenant)
        return TenantFolders(root / "runs", root / "datasets", root / "labels")


def folder_name(tenant: str) -> str:
    """Return a folder's name for a tenant: no two tenants share one, not even where upper and lower case are the same.

    Small letters, digits, `_` and `-` stay as they are, everything else becomes `%` and two hexadecimal digits. A name
    that would be too long for a disk becomes `%%` and a hash.
    """
    spelt = "".join(
        sign if _PLAIN.fullmatch(sign) else "".join(f"%{byte:02X}" for byte in sign.encode()) for sign in tenant
    )
    return spelt if len(spelt) <= LONGEST_FOLDER_NAME else f"%%{sha256(tenant.encode()).hexdigest()}"


class Shelf:
    """What one caller sees of the files, and where new ones go."""

    def __init__(self, *, store: Store, scope: Scope, places: FilePlaces, clock: Clock) -> None:
        self._store = store
        self._scope = scope
        self._clock = clock
        self._shared = places.shared
        self._apart = places.apart(scope.tenant)
        self._is_own = scope.tenant == places.own_tenant

    @property
    def runs_folder(self) -> Path:
        """Where a new run of this tenant goes."""
        return self._shared.runs if self._is_own else self._apart.runs

    def runs(self) -> list[RunFolder]:
        """Every run of this tenant, oldest first."""
        shared = {path.name: path for path in list_runs(self._shared.runs)}
        visible = self._visible(FileKind.RUN, shared)
        found = {name: path for name, path in shared.items() if name in visible}
        found |= {path.name: path for path in list_runs(self._apart.runs)}
        return [RunFolder(found[name]) for name in sorted(found)]

    def find_run(self, wanted: str) -> RunFolder:
        """The run of that id, the newest of that name, or the newest of all as `latest`; never a path."""
        by_its_id = self._run_of_id(wanted)
        if by_its_id is not None:
            return by_its_id
        known = self.runs()
        if wanted == LATEST and known:
            return known[-1]
        named = [run for run in known if _name_of(run) == wanted]
        if not named:
            raise RunNotFound(
                f"there is no run {wanted!r}", remedy="Name a run by its id or name as the list of runs has it."
            )
        return named[-1]

    def _run_of_id(self, run_id: str) -> RunFolder | None:
        """The run of that id, found without listing the others; None: there is none, or it is another tenant's."""
        if Path(run_id).name != run_id or run_id in ("", ".", ".."):
            return None
        apart, shared = RunFolder(self._apart.runs / run_id), RunFolder(self._shared.runs / run_id)
        if apart.manifest.is_file():
            return apart
        if shared.manifest.is_file() and self._visible(FileKind.RUN, [run_id]):
            return shared
        return None

    def find_live(self, run_id: str) -> LiveFolder:
        """The files about a run in progress, also before its manifest is written."""
        here = LiveFolder(self.runs_folder / run_id)
        if _RUN_ID.fullmatch(run_id) and here.exists and not RunFolder(here.path).manifest.is_file():
            return here
        return LiveFolder(self.find_run(run_id).path)

    def read_live(self, run_id: str) -> LiveRun:
        """How a run goes on, or how far it came."""
        live = self.find_live(run_id)
        return live.read() if live.exists else describe_unfinished(RunFolder(live.path))

    def is_finished(self, run_id: str) -> bool:
        """Whether everything was computed of a run."""
        return RunFolder(self.find_live(run_id).path).finished

    def read_run(self, wanted: str) -> Reading:
        """A finished run, read, with the texts of its cases where its dataset is at hand."""
        return self._lookup().run(load_run(self.find_run(wanted).path))

    def report(self, run: RunFolder, baseline: RunFolder | None, floors: Mapping[str, float]) -> Report:
        """The report of a run, held against another run and against floors."""
        found, against = load_run(run.path), None if baseline is None else load_run(baseline.path)
        return gather(found, look_around(found, self._lookup(), baseline=against, floors=floors))

    def read_cases(self, run: RunFolder) -> tuple[RunResult, Dataset | None]:
        """A finished run with every case, and the dataset it was measured on; None: it is not at hand any more."""
        found = load_run(run.path)
        return found, look_around(found, self._lookup()).dataset

    def bless(
        self, wanted: str, *, note: str, despite: str = "", floors: Mapping[str, float] | None = None
    ) -> Baseline:
        """Make a finished run the baseline of its dataset for this tenant; raises `NotReady` if unfit."""
        reading = self.read_run(wanted)
        options = GateOptions(floors=floors or {})
        baseline = bless(reading, at=self._clock.now(), note=note, despite=despite, options=options)
        make_private_folder(self._baselines)
        write_baseline(self._baseline_file(reading.dataset), baseline)
        return baseline

    def baselines(self) -> dict[str, BaselineHead]:
        """Which run is the baseline of each dataset of this tenant."""
        found = map(read_head, sorted(self._baselines.glob("*.json")))
        return {head.dataset: head for head in found if head is not None}

    @property
    def _baselines(self) -> Path:
        return self.runs_folder.parent / "baselines"

    def _baseline_file(self, dataset: str) -> Path:
        return self._baselines / f"{folder_name(dataset)}.json"

    def claim_run(self, run_id: str) -> None:
        """Write down that a run is this tenant's."""
        self._claim(FileKind.RUN, run_id)

    def list_imports(self) -> list[Imported]:
        """Every version of every dataset that was imported for this tenant."""
        return list(self._registry().entries())

    def dataset_names(self) -> list[str]:
        """The datasets that come with Assay, which are everybody's, and those that were imported for this tenant."""
        return list(dict.fromkeys([*list_bundled(), *self._registry().names()]))

    def load_dataset(self, name: str) -> Dataset:
        """A dataset by its name; raises `RecordNotFound` where this tenant has none of that name."""
        return load_named(name, self._registry())

    def keep_dataset(self, dataset: Dataset, *, origin: str, replacing: bool = False) -> tuple[Imported, bool]:
        """Store a dataset for this tenant under its name and version; the second value is True when it is new."""
        place = file_key(self._shared.datasets / dataset.name / dataset.version)
        shared = self._is_own and place in self._visible(FileKind.DATASET, [place])
        registry = Registry(self._shared.datasets if shared else self._apart.datasets)
        card, new = registry.add(dataset, origin=origin, clock=self._clock, replacing=replacing)
        self._claim(FileKind.DATASET, file_key(card.path))
        return card, new

    def labels(self, dataset: str) -> dict[str, dict[tuple[str, str], Label]]:
        """The labels of a dataset that stand, by annotator (`Scope.identity`) and pair."""
        return standing(self._journal(dataset).labels())

    def label_session(self, dataset: str, loaded: Dataset | None = None) -> LabelSession:
        """The caller's own labelling session over the pairs of a dataset; labels are stored under the caller's name.

        `loaded` is the dataset where it was loaded before.
        """
        tasks = tasks_of(loaded or self.load_dataset(dataset))
        return LabelSession(tasks, self._journal(dataset), self._scope.identity)

    def proposals(self, dataset: str) -> ProposedQuestions:
        """The proposed questions of a dataset, and what was decided about each."""
        return list_proposals(self.load_dataset(dataset), self._journal(dataset).labels(), self._scope.identity)

    def review(self, dataset: str, case_id: str, decision: ReviewDecision, wording: str | None) -> ProposedQuestions:
        """Write down what the caller decides about a proposed question, with a line in the audit log."""
        loaded, journal = self.load_dataset(dataset), self._journal(dataset)
        self.claim_labels(dataset)
        review_question(loaded, journal, self._scope.identity, case_id, decision, wording=wording)
        with self._store.writing(self._scope) as work:
            work.audit.append(f"question.{decision}", case_id, {"dataset": dataset, "wording": wording})
        return list_proposals(loaded, journal.labels(), self._scope.identity)

    def grade(self, dataset: str, case_id: str, document_id: str, grade: int) -> None:
        """Write down the caller's own grade of one document for one case, whether or not the dataset grades it."""
        self.claim_labels(dataset)
        self._journal(dataset).add((case_id, document_id), self._scope.identity, Pressed.GRADE, grade)

    def my_grades(self, dataset: str, case_id: str) -> dict[str, int]:
        """The caller's own grades of one case, by document."""
        mine = self.labels(dataset).get(self._scope.identity, {})
        return {
            document: label.grade
            for (case, document), label in mine.items()
            if case == case_id and label.grade is not None
        }

    def apply_labels(self, dataset: str, *, name: str, version: str) -> tuple[Imported, Applied]:
        """Write everybody's labels of a dataset into a copy of it under a name and version of this tenant."""
        applied = apply_labels(
            self.load_dataset(dataset), self.labels(dataset), rewordings(self._journal(dataset).labels())
        )
        if not applied.grades:
            raise NothingMeasured(f"{dataset} has no labels yet", remedy="Grade at least one pair first.")
        named = replace(applied.dataset, name=name, version=version)
        card, _ = self.keep_dataset(named, origin=f"{dataset}, with labels")
        return card, applied

    def claim_labels(self, dataset: str) -> None:
        """Write down that the labels of a dataset are this tenant's; say so before the first of them is written."""
        self._claim(FileKind.LABELS, file_key(self._journal(dataset).path))

    def labels_file(self, dataset: str) -> Path | None:
        """The file that holds the labels of a dataset; None for a tenant that does not run the server itself."""
        return self._journal(dataset).path if self._is_own else None

    def _journal(self, dataset: str) -> LabelJournal:
        file = name_labels(dataset)
        shared, apart = self._shared.labels / file, self._apart.labels / file
        key = file_key(shared)
        # Only one of the two is ever written: `apart` is there for whoever may not touch the shared file.
        use_shared = key in self._visible(FileKind.LABELS, [key]) and (shared.exists() or not apart.exists())
        return LabelJournal(shared if use_shared else apart, clock=self._clock)

    def _registry(self) -> Registry:
        shared, apart = self._shared.datasets, self._apart.datasets
        keys = {card.parent: file_key(card.parent) for card in shared.glob(f"*/*/{CARD}")}
        visible = self._visible(FileKind.DATASET, keys.values())
        return Registry(
            shared, more=(apart,), shows=lambda place: place.is_relative_to(apart) or keys.get(place) in visible
        )

    def _lookup(self) -> Lookup:
        return Lookup(runs=self.runs_folder, registry=self._registry(), only_named=True)

    def _visible(self, kind: FileKind, names: Iterable[str]) -> set[str]:
        """Return which of these names in the shared folders are this tenant's."""
        wanted = list(names)
        with self._store.reading(self._scope) as work:
            owners = work.owned_files.owners(kind, wanted) if wanted else {}
        mine = self._scope.tenant
        return {name for name in wanted if mine in owners.get(name, ()) or (self._is_own and name not in owners)}

    def _claim(self, kind: FileKind, name: str) -> None:
        with self._store.writing(self._scope) as work:
            work.owned_files.claim(kind, name)


def name_labels(dataset: str) -> str:
    """The name of the file that holds the labels of a dataset."""
    return f"{dataset.replace('@', '-')}.labels.jsonl"


def file_key(path: Path) -> str:
    """Return what the store calls a file that has no id of its own: its whole path, or a hash of one that is long."""
    whole = str(path.resolve())
    return whole if len(whole) <= MAX_SHORT_LABEL else f"sha256:{sha256(whole.encode()).hexdigest()}"


def _name_of(run: RunFolder) -> str | None:
    with suppress(AssayError):
        return run.read_manifest(checked=False).name
    return None
