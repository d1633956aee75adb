"""People who want to be forgotten: what is known of each is written wherever Assay writes, erased, and looked for.

Each person stands in memories (one merged, one superseded), searches, feedback, tasks, edges, audit lines, archives,
index files and a checkpoint. Each is erased by name while another process reads. Afterwards every file is searched for
the name, for the words of the texts and for a marker word that no other text holds, in whatever case. As many others
stay, and must be whole.
"""

from __future__ import annotations

import gzip
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from assay import Settings
from assay.clock import Clock
from assay.memory import retention
from assay.memory.engine import Engine
from assay.records import Draft, EdgeKind, EventType, FeedbackEvent, Forget, Scope, SearchRequest, TaskReport
from assay.storage.erasing import search
from assay.testing import FixedClock, HashedEmbedder
from assay.wiring import open_engine
from reliability.crew import Crew, wait_until
from reliability.outcome import Check, at_least, none_of

SCOPE = Scope(tenant="erasure", principal="reliability")
SYLLABLES = ("bra", "cor", "dun", "fel", "gri", "hos", "jun", "kel", "lom", "mir", "nor", "pax", "quin", "sul", "vex")
LONGEST_S = 900.0
DAYS = 91.0


class Person(NamedTuple):
    """Somebody, with a word that stands in texts about them alone."""

    first: str
    last: str
    marker: str

    @property
    def name(self) -> str:
        """As it stands in texts."""
        return f"{self.first} {self.last}"

    def needles(self) -> list[bytes]:
        """What must not be found: the name as written, its rarer part, the address, the marker."""
        words = (self.name, self.last, f"{self.first}.{self.last}@example.org", self.marker)
        return [word.lower().encode() for word in words]


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasureOutcome:
    """What was seen afterwards."""

    backend: str
    people: int
    stayed: int
    files_searched: int
    bytes_searched: int
    found_before: int
    """Needles that stood in files before anything was erased: the search must be able to find."""
    found_after: tuple[str, ...]
    reported_left: tuple[str, ...]
    """What the erasure itself said is left."""
    others_lost: tuple[str, ...]
    problems: tuple[str, ...]
    reads: int
    reader_errors: int
    longest_s: float
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return (
            f"{self.people} people erased beside {self.stayed} others on {self.backend}, {self.reads} reads meanwhile; "
            f"{self.files_searched} files of {self.bytes_searched / 1e6:.1f} MB searched, the longest erasure took "
            f"{self.longest_s:.1f} s; {self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("names, texts or markers found in any file", self.found_after),
            none_of("files that the erasure itself calls left over", self.reported_left),
            none_of("memories of others lost", self.others_lost),
            none_of("tables that disagree", self.problems),
            none_of("errors of the reader", self.reader_errors),
            at_least("needles found before", self.found_before, 4 * self.people),
            at_least("reads meanwhile", self.reads, 1),
        )


class Place(NamedTuple):
    """Where the store is and which files may hold its bytes."""

    settings: Settings
    folders: tuple[Path, ...]
    settle: Sequence[str] = ()
    """What a server is told before its own files are searched."""


def run(*, folder: Path, people: int, seed: int, place: Place | None = None) -> ErasureOutcome:
    """Write, erase, search."""
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    where = place or Place(_settings(str(folder / "notes.db")), (folder,))
    rng = random.Random(seed)
    crowd = _crowd(rng, 2 * people)
    gone, stay = crowd[:people], crowd[people:]
    clock = FixedClock()
    with ExitStack() as held:
        engine = held.enter_context(open_engine(where.settings, clock=clock, embedder=HashedEmbedder(dimension=32)))
        _write(engine, clock, crowd, folder / "archives")
        _settle(engine, where)
        before = _found(where, gone)
        crew = held.enter_context(Crew())
        lines = folder / "reader"
        reader = crew.start(_read, where.settings, folder / "stop", lines, time.monotonic() + LONGEST_S)
        wait_until((folder / "reading").exists, 60.0, "the first read")
        left, longest = _erase(engine, gone)
        (folder / "stop").touch()
        reader.join(30.0)
        reads, errors = _read_lines(lines)
        problems = tuple(engine.store.problems())
        lost = tuple(person.name for person in stay if not _is_there(engine, person))
        _settle(engine, where)
    files = _files(where)
    return ErasureOutcome(
        backend="sqlite" if place is None else "postgres",
        people=len(gone),
        stayed=len(stay),
        files_searched=len(files),
        bytes_searched=sum(path.stat().st_size for path in files),
        found_before=len(before),
        found_after=tuple(_found(where, gone)),
        reported_left=left,
        others_lost=lost,
        problems=problems,
        reads=reads,
        reader_errors=errors,
        longest_s=longest,
        seconds=time.monotonic() - began,
    )


@contextmanager
def on_postgres(folder: Path) -> Iterator[Place]:
    """A server of our own, whose data folder can be searched.

    Old segments of its write-ahead log are deleted instead of used again: what an administrator sets who wants erased
    bytes gone before the log has come round.
    """
    # Imported here: the server is a development dependency.
    from tests.storage.homes import running_postgres  # noqa: PLC0415

    with running_postgres() as server:
        server.run("ALTER SYSTEM SET wal_recycle = off", "SELECT pg_reload_conf()")
        settings = _settings(server.address, folder, programs=server.programs)
        yield Place(settings, (folder, server.data), settle=("SELECT pg_switch_wal()", "CHECKPOINT"))


def _settings(db: str, folder: Path | None = None, *, programs: Path | None = None) -> Settings:
    return Settings(
        db=db,
        tenant=SCOPE.tenant,
        principal=SCOPE.principal,
        index_exact_below=10,
        postgres_programs=programs,
        checkpoint_folder=None if folder is None else folder / "checkpoints",
        index_folder=None if folder is None else folder / "index",
    )


def _crowd(rng: random.Random, count: int) -> list[Person]:
    found: dict[str, Person] = {}
    while len(found) < count:
        first, last, marker = ("".join(rng.choices(SYLLABLES, k=size)) for size in (2, 3, 4))
        found.setdefault(last, Person(first.title(), last.title(), f"{marker}{len(found)}q"))
    return list(found.values())


def _write(engine: Engine, clock: FixedClock, crowd: Sequence[Person], archives: Path) -> None:
    for person in crowd:
        _remember(engine, person)
    _search_and_react(engine, clock, crowd, "early")
    clock.advance(days=DAYS)
    engine.store.log.flush()
    retention.run(engine.store, SCOPE, archives, retention.RetentionPolicy(), clock)
    _search_and_react(engine, clock, crowd, "late")
    engine.indexes.compact(SCOPE)
    engine.store.checkpoints.create("with everybody")


def _remember(engine: Engine, person: Person) -> None:
    address = f"{person.first}.{person.last}@example.org"
    texts = {
        "profile": f"{person.name} can be reached at {address} and uses the word {person.marker} for herself.",
        "call": f"On the phone {person.name} told us about the {person.marker} contract, which ends in May.",
        "contract": f"The {person.marker} contract of {person.name} ends in May; the fee is 400 a month.",
    }
    saved = [
        engine.saver.save(
            SCOPE,
            Draft(title=f"{kind} of {person.name}", body=text, triggers=(f"{person.last} {kind}",), folder="people"),
        ).memory_id
        for kind, text in texts.items()
    ]
    # The same source again: a version that supersedes the one before.
    for fee in (400, 500):
        draft = Draft(
            title=f"fee of {person.name}", body=f"{person.marker} pays {fee}.", source_id=f"fee/{person.last}"
        )
        saved.append(engine.saver.save(SCOPE, draft).memory_id)
    kept = [one for one in dict.fromkeys(saved) if one is not None]
    engine.link(SCOPE, kept[0], EdgeKind.SUPPORTS, kept[-1], evidence=f"both are about {person.name}")


def _search_and_react(engine: Engine, clock: Clock, crowd: Sequence[Person], when: str) -> None:
    for person in crowd:
        session = f"{when}-{person.last.lower()}"
        asked = SearchRequest(query=f"what does {person.name} pay for {person.marker}", session_id=session, k=3)
        result = engine.searcher.search(SCOPE, asked)
        event = FeedbackEvent(
            event_key=f"{when}-{person.last}",
            event_type=EventType.REFERENCE,
            session_id=session,
            created_at=clock.now(),
            query_id=result.query_id,
            memory_id=result.ids[0],
            metadata={"wrote": f"{person.name} pays"},
        )
        engine.store.record_feedback(SCOPE, [event])
        with engine.store.writing(SCOPE) as work:
            work.audit.append("note.made", "desk", {"about": f"{person.name} ({person.marker})"})
        engine.preflight(
            SCOPE,
            TaskReport(
                task_id=f"{when}-{person.last}", knowledge=0.1, uncertainty=0.9, context=0.1, goal=f"call {person.name}"
            ),
        )


def _erase(engine: Engine, gone: Sequence[Person]) -> tuple[tuple[str, ...], float]:
    left: list[str] = []
    longest = 0.0
    for place, person in enumerate(gone, start=1):
        began = time.monotonic()
        # The last one takes the copies with it: by then they hold nobody else who was to be forgotten.
        what = Forget(names=(person.name, person.last), checkpoints=place == len(gone))
        left += engine.forget(SCOPE, what).left
        longest = max(longest, time.monotonic() - began)
    return tuple(left), longest


def _is_there(engine: Engine, person: Person) -> bool:
    with engine.store.reading(SCOPE) as work:
        titles = {one.title for one in work.memories.mentioning(person.name)}
    found = engine.searcher.search(SCOPE, SearchRequest(query=f"{person.name} {person.marker}", k=5))
    return len(titles) >= 3 and any(person.name in hit.title for hit in found)


def _settle(engine: Engine, place: Place) -> None:
    """Let a server write down what it has, and drop the log it no longer needs."""
    if not place.settle:
        return
    from sqlalchemy import text  # noqa: PLC0415 - one of two back ends needs it

    with engine.store._backend.alone() as connection:  # type: ignore[attr-defined]  # noqa: SLF001 - below the store
        for statement in [*place.settle, *place.settle]:
            connection.execute(text(statement))


def _files(place: Place) -> list[Path]:
    return sorted(path for folder in place.folders for path in folder.rglob("*") if path.is_file())


def _found(place: Place, people: Sequence[Person]) -> list[str]:
    """Each needle in each file, archives unpacked."""
    needles = [needle for person in people for needle in person.needles()]
    packed = [path for path in _files(place) if path.suffix == ".gz"]
    # In a process of its own: the store is open here, and SQLite's locks go when a file of it is closed.
    found = search([path for path in _files(place) if path.suffix != ".gz"], needles).found
    for path in packed:
        text = gzip.decompress(path.read_bytes()).lower()
        found[str(path)] = [place for place, needle in enumerate(needles) if needle in text]
    return [f"{needles[one].decode()} in {Path(path).name}" for path, places in found.items() for one in places]


def _read(settings: Settings, stop: Path, lines: Path, deadline: float) -> None:
    """Read without a pause, in a process of its own."""
    reads = errors = 0
    with open_engine(settings, create=False, embedder=HashedEmbedder(dimension=32)) as engine:
        while not stop.exists() and time.monotonic() < deadline:
            try:
                with engine.store.reading(SCOPE) as work:
                    work.memories.count()
                    work.memories.page(limit=20)
                reads += 1
                lines.with_name("reading").touch()
            except Exception:  # noqa: BLE001 - counted, and judged by the program
                errors += 1
    lines.write_text(f"{reads} {errors}", encoding="utf-8")


def _read_lines(lines: Path) -> tuple[int, int]:
    reads, errors = lines.read_text(encoding="utf-8").split() if lines.exists() else ("0", "1")
    return int(reads), int(errors)
