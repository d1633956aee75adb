"""The append-only file of a run while it runs: one case a line, handed to the system at once, on the disk soon.

A line is given to the operating system before the next case is asked, so that killing the process loses nothing that
was finished. It is forced to the disk when `SYNC_S` have passed since the last time and at the end: what a power cut
may take is a fraction of a second of cases, which a resume asks again.
"""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.clock import Clock
from assay.errors import RunFailed
from assay.evaluation.running.folder import RunFolder, naming_the_file
from assay.evaluation.running.lines import case_line
from assay.evaluation.running.seals import seal_line
from assay.private_files import open_private
from assay.records.evaluations import CaseResult

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

    def done(self) -> tuple[CaseResult, ...]:
        """What is there already."""
        return self._files.read_cases()

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
