"""The files of a run, and how runs are found: by id, by name, by path, or as `latest`.

What Assay wrote carries a seal (`seals`), and a file that was edited since is refused by every reader.
`cases.jsonl` only ever grows. Whatever ends a run in the middle of a line leaves a torn last line, which the next
reader passes over and the next writer cuts off; every line before it counts.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from assay.errors import AssayError, BrokenSeal, MalformedFile, RunFailed, RunNotFound
from assay.evaluation.running import seals
from assay.evaluation.running.lines import Plain, case_line, manifest_json, read_case, read_manifest
from assay.private_files import make_private_folder, open_new_private
from assay.records.evaluations import CaseResult, RunManifest

DEFAULT_RUNS = Path(".assay/runs")
"""Where runs are kept when nobody says otherwise, below the working folder."""
LATEST = "latest"


class RunFolder:
    """One run's files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = path / "manifest.json"
        self.cases = path / "cases.jsonl"
        self.result = path / "result.json"

    @property
    def finished(self) -> bool:
        """Whether everything was computed from it."""
        return self.result.is_file()

    def write_manifest(self, manifest: RunManifest) -> None:
        """Fix what is run over what; makes the folder."""
        with naming_the_file(self.path):
            make_private_folder(self.path)
        sealed = seals.add_seal(manifest_json(manifest))
        write_whole(self.manifest, json.dumps(sealed, indent=1, ensure_ascii=False) + "\n")

    def read_manifest(self, *, checked: bool = True) -> RunManifest:
        """What was run over what; raises `BrokenSeal` where the file was edited, unless only its name is wanted."""
        return read_manifest(self._manifest(checked=checked))

    def _manifest(self, *, checked: bool = True) -> Plain:
        if not self.manifest.is_file():
            raise RunNotFound(f"{self.path} holds no run", remedy="Give the folder that holds manifest.json.")
        found: Plain = _json(self.manifest)
        if checked:
            seals.check_seal(found, self.manifest, "Run again, or take the file from a copy.")
        return found

    def write_result(self, content: Plain) -> None:
        """Write everything that was computed, sealed together with the manifest and the cases that are there."""
        sealed = seals.seal_result(content, self._manifest(), self._case_bytes())
        write_whole(self.result, json.dumps(sealed, indent=1, ensure_ascii=False, allow_nan=False) + "\n")

    def read_result(self) -> Plain:
        """Everything that was computed; raises `BrokenSeal` where the file or its manifest was edited."""
        if not self.result.is_file():
            raise RunNotFound(
                f"the run in {self.path} was not finished",
                remedy=f"Finish it: assay run DATASET --resume {self.path.name}.",
            )
        found: Plain = _json(self.result)
        seals.check_result(found, self._manifest(), self.result)
        return found

    def check_cases(self, result: Plain) -> None:
        """Refuse cases that are not those a result was computed from."""
        seals.check_cases(result, self._case_bytes(), self.cases)

    def read_cases(self) -> tuple[CaseResult, ...]:
        """Every whole line, in the order they were written; raises `BrokenSeal` where a line was edited."""
        return tuple(self._cases())

    def _case_bytes(self) -> bytes:
        return self.cases.read_bytes() if self.cases.is_file() else b""

    def _cases(self) -> Iterator[CaseResult]:
        # Lines of version 0.1 have no seal; a manifest that has one says that its lines have them, too.
        demanded = self.manifest.is_file() and seals.SEAL in self._manifest()
        for number, line in enumerate(self._case_bytes().split(b"\n")[:-1], start=1):
            if (intact := seals.check_line(line)) is False or (intact is None and demanded):
                raise BrokenSeal(
                    f"{self.cases}, line {number:,} was changed after Assay wrote it",
                    remedy=f"Take the line out: `assay run DATASET --resume {self.path.name}` asks the case again.",
                )
            try:
                yield read_case(json.loads(line))
            except (ValueError, TypeError, KeyError, AssayError) as problem:
                raise MalformedFile(
                    f"{self.cases}, line {number:,} is no case of a run: {problem}",
                    remedy="Take the line out and resume: the case is asked again.",
                ) from problem

    def write_cases(self, cases: Iterable[CaseResult]) -> None:
        """All lines at once."""
        write_whole(self.cases, "".join(f"{seals.seal_line(case_line(one))}\n" for one in cases))


def write_whole(path: Path, text: str) -> None:
    """A file that is there as a whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with naming_the_file(path):
        try:
            with open_new_private(beside) as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


class naming_the_file:  # noqa: N801 - read as a phrase: with naming_the_file(path)
    """Turn what the disk refuses into an error that names the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(problem, OSError):
            raise RunFailed(
                f"cannot write {self._path}: {problem.strerror or problem}",
                remedy="Make room or choose another folder with --runs. Cases that were written down are kept: resume.",
            ) from problem


def find_run(wanted: str, runs: Path) -> Path:
    """The folder of a run given by path, id, name (the newest of that name) or as `latest`."""
    if (Path(wanted) / "manifest.json").is_file():
        return Path(wanted)
    known = list_runs(runs)
    if wanted == LATEST and known:
        return known[-1]
    if (runs / wanted / "manifest.json").is_file() and Path(wanted).name == wanted:
        return runs / wanted
    named = [path for path in known if _json(path / "manifest.json").get("name") == wanted]
    if named:
        return named[-1]
    raise _not_found(wanted, runs, known)


def _not_found(wanted: str, runs: Path, known: list[Path]) -> RunNotFound:
    if not known:
        return RunNotFound(f"no run {wanted!r}: {runs} holds no runs", remedy="Make one: assay run DATASET.")
    near = difflib.get_close_matches(wanted, run_names(runs), n=2)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return RunNotFound(f"no run {wanted!r} in {runs}", remedy=f"{hint}The newest is {known[-1].name}.")


def run_names(runs: Path) -> list[str]:
    """What the runs of a folder can be called by: their names and ids."""
    known = list_runs(runs)
    return sorted(
        {str(_json(path / "manifest.json").get("name", "")) for path in known} | {path.name for path in known}
    )


def list_runs(runs: Path) -> list[Path]:
    """Every run in a folder of runs, oldest first: ids grow with time."""
    return sorted(path.parent for path in runs.glob("*/manifest.json")) if runs.is_dir() else []


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as problem:
        raise MalformedFile(f"cannot read {path}: {problem}", remedy="The file is damaged: run again.") from problem
