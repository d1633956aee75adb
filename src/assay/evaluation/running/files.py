"""The files of a run: seals, lines, the folder, and the journal while it runs.

- Seals: checksums that show later edits.
- Cases and manifests as JSON.
- The folder of a run, and finding runs.
- The append-only journal of a run.

Seals: checksums that show later edits:

    manifest.json   "seal": the hash of everything else in the file
    cases.jsonl     every line ends in "seal": the first digits of the hash of the line before it
    result.json     "seal": the hash of everything else in the file, of the manifest and of all lines of the cases

A seal is a plain hash, not a signature: it shows an edit, a damaged disk or a merge gone wrong. An attacker who forges
a run can compute a new seal. Files that version 0.1 wrote have no seal; they can be read, and are reported as unsealed.
"""

from __future__ import annotations

import difflib
import fcntl
import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from assay.errors import AssayError, BrokenSeal, MalformedFile, RunFailed, RunNotFound
from assay.evaluation.running.json_text import Columns, Plain, canonical_pieces, indented_pieces, plain
from assay.evaluation.running.result_reading import ResultLines, read_lines
from assay.hashing import HASH_PREFIX, content_hash, hash_pieces
from assay.metrics.catalog import recall
from assay.metrics.outcome_columns import CaseOrder
from assay.private_files import make_private_folder, open_new_private, open_private
from assay.records.answers import GivenAnswer, RetrievedChunk
from assay.records.evaluations import CaseResult, Retrieved, RunManifest, Seen, SeenStage
from assay.records.saving import Written

if TYPE_CHECKING:
    from types import TracebackType

    from assay.clock import Clock

# --- Seals: checksums that show later edits ---

SEAL = "seal"
"""The field that holds the seal, in every file."""
RUN_AGAIN = "Run again, or let `assay run DATASET --resume {run}` compute it anew from the cases."
_DIGITS = 16
_LINE = re.compile(rb'(.*),"seal":"([0-9a-f]{16})"\}', re.DOTALL)


class ResultSeal(NamedTuple):
    """What the seal of a result holds."""

    result: str
    manifest: str
    cases: str


def add_seal(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a file with its seal."""
    bare = _without_seal(content)
    return {**bare, SEAL: content_hash(bare)}


def check_seal(content: Mapping[str, Any], path: Path, remedy: str) -> bool:
    """Refuse a file that was edited; return whether it has a seal at all."""
    if SEAL not in content:
        return False
    if content[SEAL] != content_hash(_without_seal(content)):
        raise _broken(path, remedy)
    return True


def seal_result(
    content: Mapping[str, Any], manifest: Mapping[str, Any], cases: str, columns: Columns | None = None
) -> dict[str, Any]:
    """Return the content of `result.json` with a seal over it and over the files it was computed from.

    `cases` is the hash of `cases.jsonl`; `columns`, where they are given, stand for the field `per_case`.
    """
    bare = _without_seal(content)
    whole = hash_pieces(canonical_pieces(bare, columns))
    return {**bare, SEAL: ResultSeal(whole, _manifest_hash(manifest), cases)._asdict()}


def check_result(
    content: Mapping[str, Any], manifest: Mapping[str, Any], path: Path, columns: Columns | None = None
) -> bool:
    """Refuse a `result.json` that was edited or belongs to another manifest; return whether it has a seal at all."""
    remedy = RUN_AGAIN.format(run=path.parent.name)
    if SEAL not in content:
        if SEAL in manifest:  # version 0.1 sealed neither
            raise _broken(path, remedy)
        return False
    seal = _read_result_seal(content[SEAL], path, remedy)
    if seal.result != hash_pieces(canonical_pieces(_without_seal(content), columns)):
        raise _broken(path, remedy)
    if seal.manifest != _manifest_hash(manifest):
        raise _broken(path.with_name("manifest.json"), "Run again, or take the file from a copy.")
    return True


def check_cases(content: Mapping[str, Any], cases: str, path: Path) -> None:
    """Refuse a `cases.jsonl` whose hash is not that of the lines the result was computed from."""
    run = path.parent.name
    if SEAL in content:
        seal = _read_result_seal(content[SEAL], path, RUN_AGAIN.format(run=run))
        if seal.cases != cases:
            raise _broken(
                path,
                f"Run again, or take changed lines out: `assay run DATASET --resume {run}` asks those cases again.",
            )


def seal_line(line: str) -> str:
    """Return one line of `cases.jsonl` with its seal as the last field."""
    bare = line.removesuffix("}")
    return f'{bare},"{SEAL}":"{line_digits(bare.encode())}"}}'


def check_line(line: bytes) -> bool | None:
    """Whether the seal of a line is right; None: the line has none."""
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    return line_digits(found[1]) == found[2].decode()


def line_digits(bare: bytes) -> str:
    """The seal of a line, given without it."""
    return hashlib.sha256(bare).hexdigest()[:_DIGITS]


def _without_seal(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != SEAL}


def _manifest_hash(manifest: Mapping[str, Any]) -> str:
    return content_hash(_without_seal(manifest))


def _read_result_seal(found: Any, path: Path, remedy: str) -> ResultSeal:
    try:
        return ResultSeal(**found)
    except TypeError as problem:
        raise _broken(path, remedy) from problem


def _broken(path: Path, remedy: str) -> BrokenSeal:
    return BrokenSeal(f"{path} was changed after Assay wrote it: its content does not match its seal", remedy=remedy)


# --- Cases and manifests as JSON ---


def case_line(result: CaseResult) -> str:
    """One line, without its end. NaN never passes."""
    return _LINE_ENCODER.encode(plain(result))


_LINE_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def read_case(found: Plain) -> CaseResult:
    """What `case_line` wrote."""
    retrieved = found.get("retrieved")
    known = {name: value for name, value in found.items() if name != SEAL}
    return CaseResult(**{**known, "retrieved": None if retrieved is None else _read_retrieved(retrieved)})


NOTHING: Plain = {}
"""One for all cases; nobody may change it."""


def _read_retrieved(found: Plain) -> Retrieved:
    # The same documents come back in many cases: each id is in memory once.
    known: Plain = {"outdated": NOTHING, "stages": NOTHING, **found, "ids": tuple(map(sys.intern, found["ids"]))}
    for name in ("pinned", "notes", "scores"):
        if name in known:
            known[name] = tuple(known[name])
    if "outdated" in known:
        known["outdated"] = _tuples(known["outdated"])
    known["passages"] = _chunks(known.get("passages", []))
    if "seen" in known:
        known["seen"] = _read_seen(known["seen"])
    if "answer" in known:
        answer = known["answer"]
        known["answer"] = GivenAnswer(**{**answer, "references": _chunks(answer.get("references", []))})
    if "saved" in known:
        known["saved"] = Written(**known["saved"])
    return Retrieved(**known)


def _chunks(found: list[Plain]) -> tuple[RetrievedChunk, ...]:
    return tuple(RetrievedChunk(**chunk) for chunk in found)


def _read_seen(found: Plain) -> Seen:
    read: Mapping[str, Callable[[Any], Any]] = {
        "channels": _tuples,
        "channel_scores": _tuples,
        "tokens_saved": int,
        "exact_ms": float,
        "names_all_channels": bool,
        "stages": _read_stages,
    }
    return Seen(**{name: read.get(name, tuple)(given) for name, given in found.items() if given is not None})


def _read_stages(found: list[Plain]) -> tuple[SeenStage, ...]:
    return tuple(
        SeenStage(**{**stage, **({"dropped": tuple(stage["dropped"])} if "dropped" in stage else {})})
        for stage in found
    )


def _tuples(found: Mapping[str, list[Any]]) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(listed) for name, listed in found.items()}


def manifest_json(manifest: RunManifest) -> Plain:
    """Every field, and both hashes for readers of the file."""
    whole = {field.name: plain(getattr(manifest, field.name)) for field in fields(manifest)}
    return {**whole, "instrument_hash": manifest.instrument_hash, "subject_hash": manifest.subject_hash}


def read_manifest(found: Plain) -> RunManifest:
    """What `manifest_json` wrote."""
    known = {field.name: found[field.name] for field in fields(RunManifest) if field.name in found}
    known["started_at"] = datetime.fromisoformat(known["started_at"])
    recall(known["metrics"], known.get("own_metrics", {}))
    known |= {name: tuple(known[name]) for name in ("metrics", "case_ids", "tags") if name in known}
    return RunManifest(**known)


# --- The folder of a run, and finding runs ---
#
# What Assay wrote carries a seal (`seals`), and a file that was edited since is refused by every reader.
# `cases.jsonl` only ever grows. Whatever ends a run in the middle of a line leaves a torn last line, which the next
# reader passes over and the next writer cuts off; every line before it counts.

DEFAULT_RUNS = Path(".assay/runs")
"""The default folder of runs, below the working folder."""
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
        sealed = add_seal(manifest_json(manifest))
        write_whole(self.manifest, [json.dumps(sealed, indent=1, ensure_ascii=False), "\n"])

    def read_manifest(self, *, checked: bool = True) -> RunManifest:
        """The manifest of the run; raises `BrokenSeal` where the file was edited, unless only its name is needed."""
        return read_manifest(self.load_manifest(checked=checked))

    def load_manifest(self, *, checked: bool = True) -> Plain:
        """The same as JSON values."""
        if not self.manifest.is_file():
            raise RunNotFound(f"{self.path} holds no run", remedy="Give the folder that holds manifest.json.")
        found: Plain = _json(self.manifest)
        if checked:
            check_seal(found, self.manifest, "Run again, or take the file from a copy.")
        return found

    def write_result(self, content: Plain, columns: Columns | None = None) -> None:
        """Write everything that was computed, sealed together with the manifest and the cases that are there.

        `columns`, where they are given, stand for the field `per_case` of the content.
        """
        sealed = seal_result(content, self.load_manifest(), self._hash_cases(), columns)
        write_whole(self.result, chain(indented_pieces(sealed, columns), ("\n",)))

    def read_result(self) -> Plain:
        """Everything that was computed; raises `BrokenSeal` where the file or its manifest was edited."""
        if not self.finished:
            raise RunNotFound(
                f"the run in {self.path} was not finished",
                remedy=f"Finish it: assay run DATASET --resume {self.path.name}.",
            )
        found: Plain = _json(self.result, share_outcomes())
        check_result(found, self.load_manifest(), self.result)
        return found

    def read_result_lines(self, manifest: Plain, order: CaseOrder) -> ResultLines | None:
        """The same with the outcomes in columns; None: the file cannot be read so, and `read_result` says more."""
        found = None
        with suppress(OSError), self.result.open("rb") as file:
            found = read_lines(file, order)
        if found is not None:
            check_result(found.content, manifest, self.result, found.columns)
        return found

    def check_cases(self, result: Plain) -> None:
        """Refuse cases that are not those a result was computed from."""
        check_cases(result, self._hash_cases(), self.cases)

    def read_cases(self) -> tuple[CaseResult, ...]:
        """Every whole line, in the order they were written; raises `BrokenSeal` where a line was edited."""
        return tuple(self.iterate_cases(self.load_manifest() if self.manifest.is_file() else {}))

    def _hash_cases(self) -> str:
        if not self.cases.is_file():
            return HASH_PREFIX + hashlib.sha256().hexdigest()
        with self.cases.open("rb") as file:
            return HASH_PREFIX + hashlib.file_digest(file, "sha256").hexdigest()

    def iterate_cases(self, manifest: Plain) -> Iterator[CaseResult]:
        """The same one by one."""
        read = self.case_reader(manifest)
        yield from (read(number, line) for number, line in enumerate(self.iterate_lines(), start=1))

    def case_reader(self, manifest: Plain) -> Callable[[int, bytes], CaseResult]:
        """What reads one line by its number, and raises `BrokenSeal` or `MalformedFile` where it is not as written."""
        # Lines of version 0.1 have no seal; a manifest that has one says that its lines have them, too.
        demanded = SEAL in manifest

        def read(number: int, line: bytes) -> CaseResult:
            if (intact := check_line(line)) is False or (intact is None and demanded):
                raise BrokenSeal(
                    f"{self.cases}, line {number:,} was changed after Assay wrote it",
                    remedy=f"Take the line out: `assay run DATASET --resume {self.path.name}` asks the case again.",
                )
            try:
                return read_case(json.loads(line))
            except (ValueError, TypeError, KeyError, AssayError) as problem:
                raise MalformedFile(
                    f"{self.cases}, line {number:,} is not a case of a run: {problem}",
                    remedy="Take the line out and resume: the case is asked again.",
                ) from problem

        return read

    def iterate_lines(self) -> Iterator[bytes]:
        """Whole lines without their ends, one by one: as one text and a list, all would be in memory twice."""
        if not self.cases.is_file():
            return
        with self.cases.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield line[:-1]

    def write_cases(self, cases: Iterable[CaseResult]) -> None:
        """All lines at once."""
        write_whole(self.cases, (f"{seal_line(case_line(case))}\n" for case in cases))


def write_whole(path: Path, pieces: Iterable[str]) -> None:
    """A file that is there as a whole or not at all, made of pieces of text."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with naming_the_file(path):
        try:
            with open_new_private(beside) as file:
                file.writelines(pieces)
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


def _json(path: Path, hook: Callable[[Plain], Plain] | None = None) -> Any:
    try:
        return json.loads(path.read_bytes(), object_hook=hook)
    except (OSError, ValueError) as problem:
        raise MalformedFile(f"cannot read {path}: {problem}", remedy="The file is damaged: run again.") from problem


def share_outcomes() -> Callable[[Plain], Plain]:
    """Return a hook for JSON that gives equal outcomes of cases as one dictionary, which nobody may change.

    A run has an outcome for every case and metric, and most of them are equal: a million cases with seven metrics take
    a quarter of the memory.
    """
    known: dict[tuple[Any, ...], Plain] = {}

    def share(found: Plain) -> Plain:
        if len(found) > _MOST_OF_OUTCOME or "kind" not in found:
            return found
        try:
            # 1 and 1.0 are equal, but not the same text of a file, which its seal is of.
            return known.setdefault((type(found.get("value")), *found.items()), found)
        except TypeError:  # a list or a table as a value: not an outcome
            return found

    return share


_MOST_OF_OUTCOME = 4
"""Fields of an outcome: kind, value, reason and cause."""

# --- The append-only journal of a run ---
#
# A line is given to the operating system before the next case is asked, so that killing the process loses nothing that
# was finished. It is forced to the disk when `SYNC_S` have passed since the last time and at the end: what a power cut
# may take is a fraction of a second of cases, which a resume asks again.

SYNC_S = 0.25


class Journal:
    """Writes one run's cases. Opening cuts a torn last line; only one process at a time may write."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._files = RunFolder(path)
        self._clock = clock
        self._lock = threading.Lock()
        with naming_the_file(self._files.cases):
            self._descriptor = open_private(self._files.cases, os.O_RDWR | os.O_APPEND)
        self._claim()
        with naming_the_file(self._files.cases):
            self._whole = _cut_torn_line(self._descriptor)
        self._synced = clock.monotonic()

    def _claim(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(self._descriptor)
            raise RunFailed(
                f"another process is writing the run {self._files.path.name}", remedy="Wait for it, or end it first."
            ) from problem

    def load_cases(self) -> tuple[CaseResult, ...]:
        """What is there already."""
        return self._files.read_cases() if self._whole else ()

    def add(self, result: CaseResult) -> None:
        """Keep a case. A disk that is full leaves the file as it was before the line."""
        line = f"{seal_line(case_line(result))}\n".encode()
        with self._lock, naming_the_file(self._files.cases):
            self._write(line)
            if self._clock.monotonic() - self._synced >= SYNC_S:
                self._sync()

    def _write(self, line: bytes) -> None:
        try:
            written = 0
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except OSError:
            with suppress(OSError):  # else the next to open it cuts the line off
                os.ftruncate(self._descriptor, self._whole)
            raise
        self._whole += len(line)

    def _sync(self) -> None:
        os.fsync(self._descriptor)
        self._synced = self._clock.monotonic()

    def close(self) -> None:
        """Force everything to the disk and let others write."""
        try:
            with naming_the_file(self._files.cases):
                self._sync()
        finally:
            os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _cut_torn_line(descriptor: int) -> int:
    """Take off what follows the last end of a line; how long the file is then."""
    size = os.fstat(descriptor).st_size
    end, chunk = size, 65_536
    while end > 0:
        begin = max(0, end - chunk)
        place = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if place >= 0:
            end = begin + place + 1
            break
        end = begin
    if end != size:
        os.ftruncate(descriptor, end)
    return end
