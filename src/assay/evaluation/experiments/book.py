"""`experiments.json`: every experiment, oldest first, in a file that people read and commit.

A new one is added to what is there under a lock, and the file is replaced as a whole: two processes that finish at the
same moment both find their place, and a reader never sees half a file.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import BadValue, MalformedFile, RecordNotFound
from assay.evaluation.experiments.deciding import Outcome
from assay.evaluation.experiments.record import Experiment
from assay.formats.files import write_lines, writing

FILE_NAME = "experiments.json"
VERSION = 1


class Book:
    """The experiments of one file."""

    def __init__(self, path: Path = Path(FILE_NAME)) -> None:
        self.path = path

    def add(self, experiment: Experiment) -> None:
        """Write one down, behind all the others."""
        with self._locked():
            known = self.all()
            if any(one.id == experiment.id for one in known):
                raise BadValue(
                    f"{self.path} has the experiment {experiment.id!r} already", remedy="Give it another id."
                )
            listed = [one.as_json() for one in (*known, experiment)]
            whole = {"version": VERSION, "experiments": listed}
            write_lines(self.path, [json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False), "\n"])

    def all(self) -> list[Experiment]:
        """Every experiment, oldest first; none where there is no file."""
        if not self.path.exists():
            return []
        try:
            found = json.loads(self.path.read_bytes())
            return [Experiment.from_json(one) for one in _listed(found)]
        except (OSError, ValueError, BadValue) as problem:
            raise MalformedFile(
                f"{self.path} holds no experiments: {problem}", remedy="Correct it, or name another file with --file."
            ) from problem

    def get(self, wanted: str) -> Experiment:
        """One experiment by its id, or the newest as `latest`."""
        known = self.all()
        if wanted == "latest" and known:
            return known[-1]
        for one in known:
            if one.id == wanted:
                return one
        listed = ", ".join(one.id for one in known[-3:]) or "none"
        raise RecordNotFound(f"{self.path} has no experiment {wanted!r}", remedy=f"The newest are: {listed}.")

    def tries(self) -> dict[str, Try]:
        """Return, by the id of each experiment, which of how many tries over its dataset and control it is."""
        return count_tries(self.all())

    def earlier(self, series: tuple[str, str, str]) -> int:
        """Return how many tries of a series are written down."""
        return sum(experiment.series == series for experiment in self.all())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        place = self.path.with_name(f".{self.path.name}.lock")
        with writing(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


class Try(NamedTuple):
    """Where an experiment stands among those over the same dataset and control."""

    number: int
    of: int
    accepted: int

    @property
    def sentence(self) -> str:
        """The count, to be read."""
        return f"try {self.number} of {self.of}, {self.accepted} accepted"


def count_tries(experiments: Sequence[Experiment]) -> dict[str, Try]:
    """Count tries of the same series, in the order they are written down."""
    of = Counter(one.series for one in experiments)
    accepted = Counter(one.series for one in experiments if one.verdict is Outcome.ACCEPTED)
    seen: Counter[tuple[str, str, str]] = Counter()
    tries = {}
    for experiment in experiments:
        series = experiment.series
        seen[series] += 1
        tries[experiment.id] = Try(number=seen[series], of=of[series], accepted=accepted[series])
    return tries


def _listed(found: Any) -> list[dict[str, Any]]:
    known = found if isinstance(found, dict) else {}
    if known.get("version") != VERSION or not isinstance(known.get("experiments"), list):
        raise BadValue(
            f"it is no list of experiments of version {VERSION}", remedy="It is written by `assay experiment run`."
        )
    listed: list[dict[str, Any]] = known["experiments"]
    return listed
