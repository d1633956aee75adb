"""Real Dask processes on loopback: a scheduler, and workers that can be killed one by one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.work.dask_cluster import QUIET

ROOT = Path(__file__).parents[1]
START_S = 120.0


def as_environment(settings: Mapping[str, object]) -> dict[str, str]:
    """Name settings of Dask as its commands read them."""
    return {f"DASK_{name.replace('.', '__').upper()}": str(value) for name, value in settings.items()}


class Cluster:
    """A scheduler and its workers; everything is gone when the `with` block ends."""

    def __init__(self, workers: int = 0, *, threads: int = 1, environment: Mapping[str, str] | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="assay-cluster-")
        places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        paths = {"PYTHONPATH": os.pathsep.join(places)}
        self._environment = {**os.environ, **as_environment(QUIET), **paths, **(environment or {})}
        self._scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self._port = 0
        self.start_scheduler()
        for _ in range(workers):
            self.start_worker(threads=threads)

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        return f"tcp://127.0.0.1:{self._port}"

    def start_scheduler(self) -> None:
        """Start it; a second time on the same port."""
        log = Path(self._folder.name) / f"scheduler-{time.monotonic_ns()}.log"
        self._scheduler = self._start(
            log, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self._port), "--no-dashboard"
        )
        deadline = time.monotonic() + START_S
        while (found := re.search(rb"tcp://127\.0\.0\.1:(\d+)", log.read_bytes())) is None:
            if time.monotonic() > deadline or self._scheduler.poll() is not None:
                raise TimeoutError(log.read_text())
            time.sleep(0.02)
        self._port = int(found[1])

    def start_worker(self, *, threads: int = 1, environment: Mapping[str, str] | None = None) -> None:
        """Start one more, without a nanny: what is killed stays dead."""
        log = Path(self._folder.name) / f"worker-{time.monotonic_ns()}.log"
        options = ["--nthreads", str(threads), "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        options += ["--local-directory", self._folder.name, "--death-timeout", "60", "--memory-limit", "0"]
        self.workers.append(
            self._start(log, "distributed.cli.dask_worker", self.address, *options, environment=environment)
        )

    def _start(
        self, log: Path, module: str, *options: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        with log.open("wb") as told:
            return subprocess.Popen(
                [sys.executable, "-m", module, *options],
                stdout=told,
                stderr=told,
                cwd=ROOT,
                env={**self._environment, **(environment or {})},
            )

    def kill_worker(self, place: int = 0) -> None:
        """SIGKILL a worker."""
        self._end(self.workers.pop(place))

    def kill_scheduler(self) -> None:
        """SIGKILL the scheduler."""
        if self._scheduler is not None:
            self._end(self._scheduler)

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait(20)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self.workers:
            self.kill_worker()
        self.kill_scheduler()
        self._folder.cleanup()
