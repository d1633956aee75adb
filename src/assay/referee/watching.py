"""What is noticed while a system runs: hosts it talks to, defaults that cut its results, time and disk it uses."""

from __future__ import annotations

import hashlib
import ipaddress
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from assay.embedding.protocol import Embedder, Progress, Vectors
from assay.embedding.wrappers import AroundEmbedder
from assay.referee.contenders.contract import Contender
from assay.referee.records import Line
from assay.referee.sets.values import MemoryItem
from assay.referee.traps import DEFAULT, DOWNLOAD, FLAGGED

Stopwatch = Callable[[], float]

# --- Hosts that a system talks to while it is timed ---


class _Connections:
    """Hears of every connection of this process; Python's audit hooks cannot be removed, so there is one for all."""

    def __init__(self) -> None:
        self.listening: list[NetworkWatch] = []
        self._installed = False

    def install(self) -> None:
        """Begin to hear; the second time nothing happens."""
        if not self._installed:
            self._installed = True
            sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.listening or event not in ("socket.connect", "socket.getaddrinfo"):
            return
        where = arguments[1] if event == "socket.connect" else arguments[0]
        host = where[0] if isinstance(where, tuple) and where else where
        if isinstance(host, bytes):
            host = host.decode(errors="replace")
        if isinstance(host, str) and not _is_local(host):
            for watch in self.listening:
                if threading.get_ident() not in watch.ignored:
                    watch.hosts.add(host)


_CONNECTIONS = _Connections()


class NetworkWatch:
    """Collects the hosts beyond this machine that are contacted inside a `with` block.

    `ignored` are threads whose connections are not the system's, such as those of a worker to its scheduler.
    """

    def __init__(self, ignored: Collection[int] = ()) -> None:
        self.hosts: set[str] = set()
        self.ignored = frozenset(ignored)

    def __enter__(self) -> Self:
        _CONNECTIONS.install()
        _CONNECTIONS.listening.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _CONNECTIONS.listening.remove(self)


def _is_local(host: str) -> bool:
    """Whether an address is this machine: loopback, a name of it, or the path of a socket."""
    if host in ("", "localhost") or host.startswith(("/", "\0")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def tell_download(name: str, system: str, hosts: Sequence[str]) -> Line:
    """Return the observation that a timed part talked to other hosts."""
    shown = ", ".join(sorted(hosts)[:3])
    return {
        "trap": DOWNLOAD,
        "action": FLAGGED,
        "set": name,
        "system": system,
        "sentence": f"{system} contacted {shown} while it was timed; its times are not given.",
    }


# --- Defaults that cut what a system returns ---

PROBES = 30
"""Items that a system is probed with."""
_TWINS = (
    "The spare key hangs behind the blue door in the hallway.",
    "The spare key hangs behind the blue door in the hallway!",
)
_FOREIGN = "Der Schlüssel für den Fahrradkeller liegt in der Schublade unter dem Spiegel."
_PROBE_USER = "assay-probe"
_QUESTION = "Which note is about the boxes on the shelf in the storage room?"


def probe_defaults(contender: Contender, depth: int, system: str) -> list[Line]:
    """Fill an instance that is not measured, and see whether limit, deduplication or language cut its results."""
    notes = [
        MemoryItem(id=f"probe-{place}", text=f"Box {place} on the shelf in the storage room holds {word}.")
        for place, word in enumerate(_THINGS[:PROBES])
    ]
    twins = [MemoryItem(id=f"twin-{place}", text=text) for place, text in enumerate(_TWINS)]
    foreign = MemoryItem(id="foreign", text=_FOREIGN)
    contender.fill(_PROBE_USER, [*notes, *twins, foreign])
    found: list[str] = []
    wanted = min(depth, PROBES)
    returned = contender.ask(_PROBE_USER, _QUESTION, wanted)
    if len(returned) < wanted:
        found.append(f"returns {len(returned)} results when {wanted} are requested (a limit or threshold is on)")
    elif len(returned) > wanted:
        found.append(f"returns {len(returned)} results when {wanted} are requested (it ignores the limit)")
    ids = {hit.id for hit in contender.ask(_PROBE_USER, _TWINS[0], min(5, depth))}
    if depth > 1 and len(ids.intersection(item.id for item in twins)) == 1:
        found.append("returns one of two items that differ in a mark only (deduplication is on)")
    if foreign.id not in {hit.id for hit in contender.ask(_PROBE_USER, _FOREIGN, min(5, depth))}:
        found.append("does not find a German sentence by itself (a language default is on)")
    return [
        {
            "trap": DEFAULT,
            "action": FLAGGED,
            "set": "",
            "system": system,
            "sentence": f"{system} {what}.",
        }
        for what in found
    ]


_THINGS = (
    "candles",
    "cables",
    "maps",
    "paint",
    "screws",
    "tents",
    "skates",
    "lamps",
    "books",
    "records",
    "plates",
    "towels",
    "seeds",
    "kites",
    "drums",
    "jars",
    "ropes",
    "masks",
    "boots",
    "globes",
    "puzzles",
    "clocks",
    "flags",
    "bells",
    "wool",
    "corks",
    "nets",
    "pawns",
    "stamps",
    "ribbons",
)


# --- Time and disk ---


BATCH = 256
"""Texts that are embedded, and kept, at once."""


class SharedEmbedder(AroundEmbedder):
    """The embedder of all vector systems: each text is embedded once, and its cost is charged to whoever asks for it.

    `charged` is what the embedding took, or would have taken had it not been known already. So a system is not faster
    for coming second. With a folder, vectors and what they took are kept there for later runs.
    """

    def __init__(
        self, inner: Embedder, *, folder: Path | None = None, stopwatch: Stopwatch = time.perf_counter
    ) -> None:
        super().__init__(inner)
        self._kept = None if folder is None else KeptVectors(folder, inner.model, inner.dimension)
        self._known: dict[str, tuple[Vectors, float]] = {} if self._kept is None else self._kept.read()
        self._stopwatch = stopwatch
        self.charged = 0.0
        """Seconds of embedding that were asked for."""
        self.spent = 0.0
        """Seconds of embedding that really passed."""

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Return one row for each text."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        wanted = list(missing)
        for start in range(0, len(wanted), BATCH):
            self._make({key: missing[key] for key in wanted[start : start + BATCH]})
        if progress is not None:
            progress(len(texts))
        self.charged += sum(self._known[key][1] for key in keys)
        rows = [self._known[key][0] for key in keys]
        return np.stack(rows) if rows else np.zeros((0, self.dimension), np.float32)

    def _make(self, texts: dict[str, str]) -> None:
        begun = self._stopwatch()
        made = self._inner.embed(list(texts.values()))
        took = self._stopwatch() - begun
        self.spent += took
        self._known |= {key: (row, took / len(texts)) for key, row in zip(texts, made, strict=True)}
        if self._kept is not None:
            self._kept.add(list(texts), made, took / len(texts))


class KeptVectors:
    """Vectors in a folder: two files that only grow, of which the shorter one counts after a stop in the middle."""

    def __init__(self, folder: Path, model: str, dimension: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(model.encode()).hexdigest()[:12]
        self._keys, self._rows = folder / f"{name}.keys", folder / f"{name}.f32"
        self._dimension = dimension

    def add(self, keys: Sequence[str], rows: Vectors, seconds: float) -> None:
        """Append vectors, each with the seconds it took."""
        with self._rows.open("ab") as file, self._keys.open("a", encoding="ascii") as names:
            file.write(rows.astype("<f4").tobytes())
            names.write("".join(f"{key} {seconds:.9f}\n" for key in keys))

    def read(self) -> dict[str, tuple[Vectors, float]]:
        """Return what is kept, and cut both files to it."""
        if not self._keys.is_file() or not self._rows.is_file():
            return {}
        lines = [line.split() for line in self._keys.read_text(encoding="ascii").splitlines()]
        numbers = np.fromfile(self._rows, dtype="<f4")
        whole = min(sum(len(line) == 2 for line in lines), len(numbers) // self._dimension)
        matrix = numbers[: whole * self._dimension].reshape(whole, self._dimension)
        self._rows.write_bytes(matrix.tobytes())
        self._keys.write_text("".join(f"{key} {took}\n" for key, took in lines[:whole]), encoding="ascii")
        return {key: (row, float(took)) for (key, took), row in zip(lines[:whole], matrix, strict=True)}


class Meter:
    """Measures one call: wall time without the shared embedder's, plus what the embedding is charged."""

    def __init__(self, embedder: SharedEmbedder | None, stopwatch: Stopwatch = time.perf_counter) -> None:
        self._embedder = embedder
        self._stopwatch = stopwatch
        self.seconds = 0.0
        self.embedding = 0.0

    def __enter__(self) -> Self:
        self._begun = self._stopwatch()
        self._before = self._read()
        return self

    def __exit__(self, *_: object) -> None:
        charged, spent = self._read()
        self.embedding = charged - self._before[0]
        self.seconds = self._stopwatch() - self._begun - (spent - self._before[1]) + self.embedding

    def _read(self) -> tuple[float, float]:
        return (self._embedder.charged, self._embedder.spent) if self._embedder is not None else (0.0, 0.0)


def folder_size(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
