"""What a probe is, what it needs, and its verdict."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.folders import IN_MEMORY, has_room_in_memory
from tests.storage.homes import PostgresServer, running_postgres
from tests.verbs.surfaces import Place, place_at

from assay.access import Access, Grant
from assay.errors import AssayError
from assay.memory.engine import Engine
from assay.records import Scope
from assay.settings import Settings
from assay.testing import FixedClock, HashedEmbedder
from assay.verbs import Caller, Surface
from assay.verbs.table import VERBS
from assay.wiring import open_engine

ADA = Scope(tenant="default", principal="ada")
"""Who acts in probes that open a store of their own."""


class Stage:
    """What probes share: folders, a store that every surface reaches, a PostgreSQL server; each made when asked for.

    `more` keeps whatever the probes of one kind share.
    """

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._folders = 0
        self.more: dict[str, Any] = {}
        root = IN_MEMORY if has_room_in_memory(gigabytes=1) else None
        self.root = Path(self._opened.enter_context(tempfile.TemporaryDirectory(dir=root, prefix="truth-")))

    def new_folder(self) -> Path:
        """Return an empty folder."""
        self._folders += 1
        folder = self.root / f"f{self._folders}"
        folder.mkdir()
        return folder

    def share(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what was made under a name before, or make it."""
        if name not in self.more:
            self.more[name] = make()
        return self.more[name]

    def hold(self, opened: Any) -> Any:
        """Keep a context open until the audit is over."""
        return self._opened.enter_context(opened)

    @property
    def place(self) -> Place:
        """A store with a server before it, with new tenants for whoever asks."""
        folder = self.share("place folder", self.new_folder)
        found: Place = self.share("place", lambda: self.hold(place_at(folder, str(folder / "notes.db"))))
        return found

    @property
    def postgres(self) -> PostgresServer:
        """A server with a database."""
        found: PostgresServer = self.share("postgres", lambda: self.hold(running_postgres()))
        return found

    def settings(self, **changed: Any) -> Settings:
        """Return settings whose store lies in a new folder and that need no model."""
        folder = self.new_folder()
        given = {
            "db": str(folder / "notes.db"),
            "principal": ADA.principal,
            "embedder": "none",
            "flush_interval_s": 60.0,
            "index_folder": folder / "indexes",
            "runs_folder": folder / "runs",
            "datasets_folder": folder / "datasets",
        }
        return Settings(**{**given, **changed})

    @contextmanager
    def engine(self, settings: Settings | None = None, *, hashed: bool = True, **changed: Any) -> Iterator[Engine]:
        """Open an engine over a new store, with vectors of words; its clock stands still."""
        embedder = HashedEmbedder() if hashed else None
        used = settings or self.settings(**changed)
        with open_engine(used, clock=FixedClock(), embedder=embedder, run_once=True) as engine:
            yield engine

    @contextmanager
    def at_home(self) -> Iterator[None]:
        """Give the process a home folder of its own, the same for the whole audit."""
        home = str(self.root / "home")
        ours = {f"XDG_{name}_HOME": f"{home}/{name.lower()}" for name in ("CONFIG", "DATA", "CACHE", "STATE")}
        with set_environment(ours, without=("ASSAY_", "XDG_", "PG"), HOME=home):
            yield

    def close(self) -> None:
        """End what is open and remove the files."""
        self._opened.close()


@contextmanager
def set_environment(
    variables: Mapping[str, str] | None = None, *, without: tuple[str, ...] = (), **more: str
) -> Iterator[None]:
    """Set variables for the length of a block, and take away those that begin so."""
    before = dict(os.environ)
    for name in [name for name in before if without and name.startswith(without)]:
        del os.environ[name]
    os.environ.update({**(variables or {}), **more})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


Look = Callable[[Stage, Any], Any]
"""Do something with a value of the item, and return what a user sees of it."""


@dataclass(frozen=True, slots=True)
class Probe:
    """How one item is tried."""

    item: str
    look: Look
    first: Any
    other: Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a probe saw."""

    item: str
    first: Any = field(repr=False)
    again: Any = field(repr=False)
    other: Any = field(repr=False)

    @property
    def is_steady(self) -> bool:
        """Whether the same value gives the same output."""
        return bool(self.first == self.again)

    @property
    def has_effect(self) -> bool:
        """Whether another value changes the output, and nothing else does."""
        return self.is_steady and bool(self.first != self.other)

    def __str__(self) -> str:
        """Say what is wrong, with the item's name."""
        if not self.is_steady:
            return f"{self.item}: the same value gives two outputs, {_cut(self.first)} and {_cut(self.again)}"
        return f"{self.item} has no effect: both values give {_cut(self.first)}"


def _cut(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 400 else f"{shown[:400]}..."


def run_probe(probe: Probe, stage: Stage) -> Verdict:
    """Try the first value twice, then the other; nothing of the user's own settings and files takes part."""
    with stage.at_home():
        return Verdict(
            probe.item,
            first=probe.look(stage, probe.first),
            again=probe.look(stage, probe.first),
            other=probe.look(stage, probe.other),
        )


class Values(NamedTuple):
    """Two values of an item and what to do with them."""

    first: Any
    other: Any
    look: Look


def make_probes(kind: str, table: Mapping[str, Values]) -> dict[str, Probe]:
    """Return the probes of one kind, by item."""
    return {
        f"{kind}:{name}": Probe(f"{kind}:{name}", values.look, values.first, values.other)
        for name, values in table.items()
    }


def collect(*tables: Mapping[str, Probe]) -> dict[str, Probe]:
    """Join tables of probes; an item that stands in two of them is refused."""
    joined: dict[str, Probe] = {}
    for table in tables:
        twice = joined.keys() & table.keys()
        if twice:
            raise ValueError(f"two probes for {', '.join(sorted(twice))}; keep one")
        joined |= table
    return joined


def see_hits(hits: Iterable[Any]) -> list[Any]:
    """Return what a user sees of hits: id, score, passages, channels, boosts."""
    return [
        (
            hit.memory_id,
            round(hit.score, 9),
            [passage.position for passage in hit.passages],
            [str(channel) for channel in hit.channels],
            [] if hit.explanation is None else [str(boost) for boost in hit.explanation.boosts],
        )
        for hit in hits
    ]


def call(engine: Engine, settings: Settings, name: str, scope: Scope = ADA, /, **given: Any) -> Any:
    """Call a verb as a person with every right, and return the JSON of its result, or of the error."""
    grant = Grant(scope, Access.OPERATOR, person=True)
    caller = Caller(opened=engine, settings=settings, grant=grant, surface=Surface.PYTHON, via="truth")
    verb = VERBS[name]
    return tell(lambda: verb.to_json(verb.call(caller, verb.make(given))))


def tell(work: Callable[[], Any]) -> Any:
    """Return what work gives, or the code and message of the error that a user would see."""
    try:
        return work()
    except AssayError as problem:
        return {"error": problem.code, "message": problem.message}
