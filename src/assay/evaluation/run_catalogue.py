"""What lists and charts show of every run, read once from its files and remembered.

    catalogue = RunCatalogue()
    catalogue.entries(shelf.runs())

Reading a run checks its seal, which takes some milliseconds: too long for a thousand runs at every look. So storing a
run writes its entry down beside it (`keep_entry`), and a list remembers all entries, in this process and in a file
beside the runs. Both hold as long as the size and time of the run's files stay the same. A file that was edited since
is read again, and shown as edited.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import AssayError, BrokenSeal
from assay.evaluation.running.files import RunFolder, add_seal, check_seal
from assay.private_files import open_new_private
from assay.records.evaluations import RunManifest
from assay.records.run_results import CaveatKind

FILE = ".catalogue.json"
"""The file beside the runs; it can be removed at any time."""
ENTRY_FILE = ".entry.json"
"""The file in the folder of a run; it can be removed at any time."""
VERSION = 1


class CatalogueValue(NamedTuple):
    """One metric of a run; None: it has no value, or no interval."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEntry:
    """One run in a list."""

    run_id: str
    name: str
    dataset: str
    dataset_version: str
    system: str
    started_at: datetime
    cases: int
    finished: bool
    commit: str = ""
    tags: tuple[str, ...] = ()
    edited: bool = False
    """Whether one of its files was changed after Assay wrote it; its numbers are then hidden."""
    stopped_early: bool = False
    """Whether a sequential test ended the run: its numbers are not those of a full run."""
    metrics: Mapping[str, CatalogueValue] = field(default_factory=dict)
    """Empty: the run was not finished, or its files were edited."""

    @property
    def has_numbers(self) -> bool:
        """Whether its numbers can be shown and compared."""
        return self.finished and not self.edited


_FIELDS = tuple(field.name for field in fields(RunEntry))


class RunCatalogue:
    """Remembers entries of runs; safe to use from several threads."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[str, RunEntry | None]] = {}
        self._loaded: set[Path] = set()
        self._unsaved: set[Path] = set()
        self._lock = threading.Lock()

    def entries(self, runs: Sequence[RunFolder], *, keep: bool = True) -> list[RunEntry]:
        """Return an entry for each run that can be read, newest first.

        With `keep`, what was read is written down for other processes; whoever may only read writes nothing.
        """
        with self._lock:
            folders = {run.path.parent for run in runs}
            for folder in folders - self._loaded:
                self._load(folder)
            changed = {run.path.parent for run in runs if self._refresh(run)}
            self._unsaved |= changed
            if keep:
                for folder in self._unsaved & folders:
                    self._save(folder)
                self._unsaved -= folders
            found = [self._known[run.path][1] for run in runs]
        shown = [entry for entry in found if entry is not None]
        return sorted(shown, key=lambda entry: (entry.started_at, entry.run_id), reverse=True)

    def _refresh(self, run: RunFolder) -> bool:
        """Read a run that is new or was changed; return whether it was."""
        stamp = _stamp(run)
        known = self._known.get(run.path)
        if known is not None and known[0] == stamp:
            return False
        self._known[run.path] = (stamp, _read_kept(run, stamp) or read_entry(run))
        return True

    def _load(self, folder: Path) -> None:
        self._loaded.add(folder)
        # A file that is damaged or of another version costs the time to read the runs again.
        with suppress(OSError, ValueError, TypeError, KeyError):
            stored = json.loads((folder / FILE).read_bytes())
            if stored["version"] != VERSION:
                return
            for name, (stamp, entry) in stored["runs"].items():
                self._known[folder / name] = (stamp, None if entry is None else _entry(entry))

    def _save(self, folder: Path) -> None:
        own = {path.name: known for path, known in self._known.items() if path.parent == folder}
        runs = {name: (stamp, None if entry is None else _plain(entry)) for name, (stamp, entry) in own.items()}
        _write(folder / FILE, {"version": VERSION, "runs": runs})


def keep_entry(run: RunFolder, entry: RunEntry | None = None) -> None:
    """Write down what lists show of a run whose result was just stored, so that no list has to read the run.

    Without an `entry` the run is read once.
    """
    stamp, entry = _stamp(run), entry or read_entry(run)
    if entry is not None:
        _write(run.path / ENTRY_FILE, add_seal({"version": VERSION, "stamp": stamp, "entry": _plain(entry)}))


def _read_kept(run: RunFolder, stamp: str) -> RunEntry | None:
    """Return the entry that was written down for these very files of a run; None: there is none, or it was edited."""
    path = run.path / ENTRY_FILE
    with suppress(OSError, ValueError, TypeError, KeyError, AssayError):
        kept = json.loads(path.read_bytes())
        if kept["version"] == VERSION and kept["stamp"] == stamp and check_seal(kept, path, "Remove the file."):
            return _entry(kept["entry"])
    return None


def _write(path: Path, content: Mapping[str, Any]) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    # A folder that cannot be written costs the time to read the runs again.
    with suppress(OSError):
        beside.unlink(missing_ok=True)
        with open_new_private(beside) as file:
            # As one text: in pieces it takes three times as long.
            file.write(json.dumps(content))
        beside.replace(path)


def read_entry(folder: RunFolder) -> RunEntry | None:
    """Read a run's entry from its files; None if they are damaged (the run's own page shows the error)."""
    try:
        manifest, result, edited = *_read(folder), False
    except BrokenSeal:
        manifest, result, edited = folder.read_manifest(checked=False), None, True
    except AssayError:
        return None
    return make_entry(manifest, result, finished=folder.finished, edited=edited)


def make_entry(
    manifest: RunManifest, result: Mapping[str, Any] | None, *, finished: bool = True, edited: bool = False
) -> RunEntry:
    """The entry of a run; `result` is the content of its `result.json`, None where that is missing or was edited."""
    metrics = {} if result is None else result["metrics"]
    caveats: Iterable[object] = () if result is None else result.get("caveats", ())
    return RunEntry(
        run_id=manifest.run_id,
        name=manifest.name,
        dataset=manifest.dataset,
        dataset_version=manifest.dataset_version,
        system=manifest.system,
        started_at=manifest.started_at,
        cases=len(manifest.case_ids),
        finished=finished,
        commit=manifest.commit,
        tags=manifest.tags,
        edited=edited,
        stopped_early=any(map(_is_early_stop, caveats)),
        metrics={name: _value(metric) for name, metric in metrics.items()},
    )


def _read(folder: RunFolder) -> tuple[RunManifest, Mapping[str, Any] | None]:
    return folder.read_manifest(), folder.read_result() if folder.finished else None


def _value(metric: Mapping[str, Any]) -> CatalogueValue:
    low, high = metric.get("interval") or (None, None)
    return CatalogueValue(metric.get("value"), low, high)


def _is_early_stop(caveat: object) -> bool:
    """Whether a caveat of a result's file says so; those of version 0.1 are sentences."""
    return isinstance(caveat, dict) and caveat.get("kind") == CaveatKind.STOPPED_EARLY


def _stamp(run: RunFolder) -> str:
    """Return sizes and times of the files that an entry is read from."""
    return "-".join(_file_stamp(path) for path in (run.manifest, run.result))


def _file_stamp(path: Path) -> str:
    try:
        found = path.stat()
    except FileNotFoundError:
        return "none"
    return f"{found.st_mtime_ns}:{found.st_size}"


def _plain(entry: RunEntry) -> dict[str, Any]:
    whole = {name: getattr(entry, name) for name in _FIELDS}
    return {**whole, "started_at": entry.started_at.isoformat(), "metrics": dict(entry.metrics)}


def _entry(found: Mapping[str, Any]) -> RunEntry:
    return RunEntry(
        **{
            **found,
            "started_at": datetime.fromisoformat(found["started_at"]),
            "tags": tuple(found["tags"]),
            "metrics": {name: CatalogueValue(*value) for name, value in found["metrics"].items()},
        }
    )
