"""What runs inside a worker: it opens a job once, keeps it, and performs batches of items.

Requests and replies cross as bytes that are read on this side only after both sides are known to run the same Assay.
A worker that lacks Assay altogether fails when Dask looks for this module; the caller learns of both in the same way.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
import threading
import time
from collections import OrderedDict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import AssayError
from assay.extras import DISTRIBUTION
from assay.work.jobs import OpenedJob, RemoteJob

MOST_OPEN = 2
"""Jobs a worker keeps open: the one at hand, and one that another caller has begun."""


class Build(NamedTuple):
    """What must be equal on both sides for results to be the same."""

    assay: str
    code: str
    """Hash of Assay's own files."""
    python: str
    numpy: str

    def differences(self, other: Build) -> list[str]:
        """What differs, with both values."""
        return [
            f"{name} {mine[:12]} instead of {theirs[:12]}"
            for name, mine, theirs in zip(self._fields, self, other, strict=True)
            if mine != theirs
        ]


@cache
def build() -> Build:
    """Return what this process runs."""
    try:
        assay = version(DISTRIBUTION)
    except PackageNotFoundError:  # run from a folder that was never installed
        assay = ""
    python = ".".join(platform.python_version_tuple()[:2])
    try:
        numpy = version("numpy")
    except PackageNotFoundError:
        numpy = ""
    return Build(assay, _hash_code(), python, numpy)


def _hash_code() -> str:
    folder = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


class Request(NamedTuple):
    """A batch on its way to a worker."""

    build: tuple[str, ...]
    key: str
    """Which job."""
    job: bytes | None
    """The pickled description, for a worker that has not opened it yet."""
    items: bytes


class Done(NamedTuple):
    """A batch that was performed."""

    results: bytes
    seconds: float


class Refused(NamedTuple):
    """A worker that cannot take part, and why."""

    reason: str


class Unknown(NamedTuple):
    """A worker that was not told yet what the job is."""


Reply = Done | Refused | Unknown


class _OpenJobs:
    """The jobs that this process has open, the one used last at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[str, OpenedJob | Refused] = OrderedDict()

    def get(self, key: str, description: bytes | None) -> OpenedJob | Refused | Unknown:
        """Return a job, opened if need be; one that could not be opened is not tried again."""
        with self._lock:
            if key not in self._open:
                if description is None:
                    return Unknown()
                self._open[key] = _open(description)
                while len(self._open) > MOST_OPEN:
                    _close(self._open.popitem(last=False)[1])
            self._open.move_to_end(key)
            return self._open[key]

    def close(self, key: str) -> None:
        """Close one job, if it is open."""
        with self._lock:
            opened = self._open.pop(key, None)
        if opened is not None:
            _close(opened)


_OPEN = _OpenJobs()


def _open(description: bytes) -> OpenedJob | Refused:
    try:
        # Only the caller that started this worker, or was let into its cluster, can send requests.
        job: RemoteJob = pickle.loads(description)  # noqa: S301
        return job.open()
    except AssayError as problem:
        return Refused(f"{problem.message}. {problem.remedy}".rstrip("."))
    except Exception as problem:  # noqa: BLE001 - whatever it is, another worker may manage
        return Refused(f"it cannot open the job: {type(problem).__name__}: {problem}")


def _close(opened: OpenedJob | Refused) -> None:
    if not isinstance(opened, Refused):
        opened.close()


def perform(request: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Perform one batch; the reply is named, since Dask carries plain tuples best."""
    reply = _perform(Request(*request))
    return type(reply).__name__, tuple(reply)


def read_reply(found: tuple[str, tuple[Any, ...]]) -> Reply:
    """Read what `perform` returned."""
    kinds: dict[str, type[Done | Refused | Unknown]] = {"Done": Done, "Refused": Refused, "Unknown": Unknown}
    return kinds[found[0]](*found[1])


def _perform(request: Request) -> Reply:
    differences = build().differences(Build(*request.build))
    if differences:
        return Refused(f"it runs another Assay: {', '.join(differences)}")
    job = _OPEN.get(request.key, request.job)
    if isinstance(job, (Refused, Unknown)):
        return job
    begun = time.perf_counter()
    results = [job.perform(item) for item in pickle.loads(request.items)]  # noqa: S301 - as above
    return Done(pickle.dumps(results), time.perf_counter() - begun)


def close_job(key: str) -> None:
    """Close a job that its caller has done with."""
    _OPEN.close(key)
