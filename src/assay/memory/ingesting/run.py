"""One run of ingest: find files, read them, skip what is known, save the rest, and report.

- Metering: a chunker and an embedder that measure their time and the length of chunks.
- Missing files: reported after every run, superseded only on request.
- The run.
- Watch: take in changed files until stopped.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from assay.clock import Clock
from assay.embedding.protocol import Embedder, Progress, Vectors
from assay.embedding.wrappers import AroundEmbedder
from assay.memory.ingesting.files import FoundFile, Walked, find_changed, read_file, suggest_root, walk, walk_again
from assay.memory.saving import Refused, Saver
from assay.records import Draft, Format, SaveDecision, SaveOutcome, Scope
from assay.records.saving import Fate, IngestReport, Skip, SkippedFiles, TokenSpread
from assay.storage import Store, Work
from assay.text.chunking import Chunked, Chunker

# --- Metering: a chunker and an embedder that measure their time and the length of chunks ---

Stopwatch = Callable[[], float]
"""Seconds since some moment."""


@dataclass(kw_only=True, slots=True)
class Meter:
    """What one run has cost so far."""

    stopwatch: Stopwatch
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    chunk_tokens: list[int] = field(default_factory=list)

    @contextmanager
    def timing(self, name: str) -> Iterator[None]:
        """Add what happens inside to one name."""
        begun = self.stopwatch()
        try:
            yield
        finally:
            self.seconds[name] += self.stopwatch() - begun

    def shares(self, total: float) -> dict[str, float]:
        """Seconds by name; what is neither reading, chunking nor embedding is writing."""
        known = {name: self.seconds.get(name, 0.0) for name in ("read", "chunk", "embed")}
        return {"total": total, **known, "write": max(0.0, total - sum(known.values()))}


class MeteredChunker(Chunker):
    """A chunker that counts what it makes."""

    def __init__(self, inner: Chunker, meter: Meter) -> None:
        self.version = inner.version
        self._inner = inner
        self._meter = meter

    def chunk(self, title: str, body: str, format: Format = Format.MARKDOWN) -> Chunked:  # noqa: A002 - the record's word
        """The passages of a document."""
        with self._meter.timing("chunk"):
            made = self._inner.chunk(title, body, format)
        self._meter.chunk_tokens += [piece.token_count for piece in made.pieces]
        return made


class MeteredEmbedder(AroundEmbedder):
    """An embedder that counts what it takes."""

    def __init__(self, inner: Embedder, meter: Meter) -> None:
        super().__init__(inner)
        self._meter = meter

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row of length 1 for each text."""
        with self._meter.timing("embed"):
            return self._inner.embed(texts, progress=progress)


# --- Missing files: reported after every run, superseded only on request ---


class Known(NamedTuple):
    """The current memory of every source, as hashes of their content."""

    hashes: Mapping[str, str | None]
    forgotten: frozenset[tuple[str, str | None]] = frozenset()
    """Source and hash of what was forgotten: the same content again does not bring it back."""

    @classmethod
    def of(cls, work: Work) -> Known:
        """Every source of the tenant."""
        return cls(work.memories.current_hashes(), frozenset(work.memories.forgotten_sources()))

    def has(self, source: str, source_hash: str | None) -> bool:
        """Whether a source is there with this very content, or was forgotten with it."""
        return self.hashes.get(source) == source_hash or (source, source_hash) in self.forgotten

    def below(self, sources: Iterable[str]) -> list[str]:
        """The known ones among these sources and the records of these files."""
        wanted = frozenset(sources)
        return sorted(source_id for source_id in self.hashes if source_id in wanted or _file_of(source_id) in wanted)


def find_missing(known: Known, walked: Walked, seen: Collection[str], partly_read: Collection[str]) -> list[str]:
    """Sources below the walked folders, or in the walked files, that this walk did not meet.

    A file that could not be read whole may still hold what was not met, so nothing of it is missing.
    """
    folders = frozenset(walked.folders)
    return sorted(
        source_id
        for source_id in known.hashes
        if source_id not in seen
        and _file_of(source_id) not in partly_read
        and (_file_of(source_id) in seen or _within(source_id, folders))
        and not _within(source_id, walked.passed)
    )


def prune(work: Work, sources: Sequence[str], now: datetime) -> tuple[str, ...]:
    """Supersede the current memories of these sources; they are kept, out of default search."""
    for source in sources:
        memory = work.memories.current_of_source(source)
        if memory is not None:
            work.memories.update(replace(memory, superseded_at=now, updated_at=now))
            work.audit.append("ingest.prune", memory.id, {"source_id": source})
    return tuple(sources)


def _file_of(source: str) -> str:
    """Return the file of a record. A record's id follows the last `#`."""
    return source.rpartition("#")[0] or source


def _within(source: str, places: Collection[str]) -> bool:
    """Whether a source is one of these places or lies below one."""
    return source in places or any(source[:end] in places for end, sign in enumerate(source) if sign == "/")


# --- The run ---
#
# A document is known by its source id and the hash of its content: what is unchanged is neither chunked nor embedded.
# Everything else goes to `Saver.save_many`, which commits in batches of about two seconds, so an interrupted run keeps
# what it has done and the next one goes on from there. Documents are read while earlier ones are saved: memory holds
# one batch. How far a run is counts what is done with, not what was read: embedding takes nearly all of the time.


class Step(NamedTuple):
    """How far a run is, after another document is durable or a file needed nothing."""

    place: str
    """The file it belongs to."""
    files: int
    """Files that are done with."""
    of_files: int
    size: int
    """What is done with, in bytes of the files."""
    of_size: int
    documents: int
    """Documents that were kept."""
    chunks: int
    """Chunks of them."""

    def __str__(self) -> str:
        return (
            f"{self.documents:,} documents in {self.chunks:,} chunks;"
            f" {self.files:,} of {self.of_files:,} files are done"
        )


OnFile = Callable[[Step], None]
MakeSaver = Callable[[Meter | None], Saver]
"""A saver; with a meter, one whose chunker and embedder count into it."""


class Ingester:
    """Puts files into the store."""

    def __init__(
        self, *, store: Store, make_saver: MakeSaver, clock: Clock, stopwatch: Stopwatch = time.perf_counter
    ) -> None:
        self._store = store
        self._clock = clock
        self._make_saver = make_saver
        self._stopwatch = stopwatch

    def ingest(
        self,
        scope: Scope,
        paths: Sequence[Path],
        *,
        root: Path | None = None,
        globs: Sequence[str] = (),
        follow_links: bool = False,
        gate: bool = False,
        prune: bool = False,
        conversation: bool = False,
        on_file: OnFile | None = None,
    ) -> IngestReport:
        """Take in every file the paths lead to.

        With `gate`, each is compared with what is there as a save is; with `conversation`, files are read as chats.
        """
        walked = walk(paths, root=root, globs=globs, follow_links=follow_links)
        return self.take(scope, walked, gate=gate, prune=prune, conversation=conversation, on_file=on_file)

    def take(
        self,
        scope: Scope,
        walked: Walked,
        *,
        gate: bool = False,
        prune: bool = False,
        conversation: bool = False,
        gone: Sequence[str] = (),
        on_file: OnFile | None = None,
    ) -> IngestReport:
        """Take in what a walk found; `gone` are source ids that are known to have left the disk."""
        meter = Meter(stopwatch=self._stopwatch)
        begun = self._stopwatch()
        with self._store.reading(scope) as work:
            known = Known.of(work)
        run = _Run(known, meter, on_file, conversation=conversation)
        for draft, outcome in self._make_saver(meter).save_many(scope, run.drafts(walked), gated=gate):
            run.note(draft, outcome)
        absent = (*find_missing(known, walked, run.seen, run.partly_read), *known.below(gone))
        removed = self._prune(scope, absent) if prune else ()
        return run.report(walked, absent, removed, self._stopwatch() - begun)

    def _prune(self, scope: Scope, absent: Sequence[str]) -> tuple[str, ...]:
        with self._store.writing(scope) as work:
            return prune(work, absent, self._clock.now())


@dataclass(slots=True)
class _FileProgress:
    """One file on its way into the store."""

    file: FoundFile
    waiting: deque[int] = field(default_factory=deque)
    """The length of each document that was read and is not saved yet."""
    saved: int = 0
    """Characters of those that are."""
    read: bool = False
    """Whether all of it was read."""

    @property
    def done(self) -> bool:
        """Whether nothing of it is left to do."""
        return self.read and not self.waiting


class _Run:
    """What one run has seen so far."""

    def __init__(self, known: Known, meter: Meter, on_file: OnFile | None, *, conversation: bool) -> None:
        self._conversation = conversation
        self.seen: set[str] = set()
        self.partly_read: set[str] = set()
        """Files that could not be read whole: what is missing from them is not known."""
        self._known = known
        self._meter = meter
        self._on_file = on_file
        self._skipped: list[Skip] = []
        self._fates: Counter[str] = Counter()
        self._chunks = 0
        self._masked = 0
        self._chunks_skipped: Counter[str] = Counter()
        self._reading: deque[_FileProgress] = deque()
        """Files that were begun and are not done with."""
        self._files = self._of_files = self._size = self._of_size = 0

    def drafts(self, walked: Walked) -> Iterator[Draft]:
        """Every document that is new or has changed."""
        self._of_files, self._of_size = len(walked.files), sum(file.size for file in walked.files)
        for file in walked.files:
            progress = _FileProgress(file)
            self._reading.append(progress)
            for draft in self._of(file):
                progress.waiting.append(len(draft.body))
                yield draft
            progress.read = True
            self._settle()

    def _settle(self) -> None:
        """Count the files that are read and of which no document waits to be saved; they end in their order."""
        while self._reading and self._reading[0].done:
            progress = self._reading.popleft()
            self._files += 1
            self._size += progress.file.size
            self._tell(progress, inside=0)

    def _tell(self, progress: _FileProgress, *, inside: int) -> None:
        if self._on_file is not None:
            done, size = self._files, self._size + inside
            kept = sum(self._fates.values()) - self._fates[Fate.UNCHANGED]
            step = Step(progress.file.rel_path, done, self._of_files, size, self._of_size, kept, self._chunks)
            self._on_file(step)

    def note(self, draft: Draft, outcome: SaveOutcome | Refused) -> None:
        """What became of one document."""
        if isinstance(outcome, Refused):
            self._skipped.append(Skip(place=draft.rel_path, reason="refused", detail=outcome.reason))
        else:
            self._fates[_fate(outcome)] += 1
            self._chunks += outcome.chunks
            self._masked += len(outcome.masks)
            self._chunks_skipped.update(outcome.skipped)
        # Results come in the order of their drafts, so this one belongs to the first file that waits for any.
        progress = next(progress for progress in self._reading if progress.waiting)
        progress.saved += progress.waiting.popleft()
        if progress.done:
            self._settle()
        else:
            self._tell(progress, inside=min(progress.saved, progress.file.size))

    def report(self, walked: Walked, absent: Sequence[str], pruned: tuple[str, ...], total: float) -> IngestReport:
        """Return the report of the run."""
        return IngestReport(
            files=len(walked.files),
            documents=sum(self._fates.values()),
            fates=_in_order(self._fates),
            chunks=self._chunks,
            chunk_tokens=TokenSpread.of(self._meter.chunk_tokens),
            chunks_skipped=dict(self._chunks_skipped),
            skipped=SkippedFiles.of((*walked.skipped, *self._skipped)),
            missing=tuple(absent),
            pruned=pruned,
            seconds=self._meter.shares(total),
            masked=self._masked,
        )

    def _of(self, file: FoundFile) -> Iterator[Draft]:
        self.seen.add(file.source_id)
        for outcome in self._time_reading(read_file(file, conversation=self._conversation)):
            if isinstance(outcome, Skip):
                self.partly_read.add(file.source_id)
                self._skipped.append(outcome)
            elif self._is_wanted(file, outcome):
                yield outcome

    def _is_wanted(self, file: FoundFile, draft: Draft) -> bool:
        source = draft.source_id or file.source_id
        if source in self.seen and source != file.source_id:
            told = f"the id of {source!r} stands on an earlier line too"
            self._skipped.append(Skip(place=file.rel_path, reason="record", detail=told))
            return False
        self.seen.add(source)
        if not self._known.has(source, draft.source_hash):
            return True
        self._fates[Fate.UNCHANGED] += 1
        return False

    def _time_reading(self, drafts: Iterable[Draft | Skip]) -> Iterator[Draft | Skip]:
        """The same, with the time it takes to make each counted as reading."""
        source = iter(drafts)
        while True:
            with self._meter.timing("read"):
                one = next(source, None)
            if one is None:
                return
            yield one


_FATES = {SaveDecision.MERGE: Fate.MERGED, SaveDecision.REJECT: Fate.REJECTED, SaveDecision.SUPERSEDE: Fate.SUPERSEDED}


def _fate(outcome: SaveOutcome) -> Fate:
    if outcome.unchanged:
        return Fate.UNCHANGED
    if outcome.version > 1:
        return Fate.VERSION
    return _FATES.get(outcome.decision, Fate.STORED)


def _in_order(fates: Mapping[str, int]) -> dict[str, int]:
    return {fate.value: fates[fate] for fate in Fate if fates.get(fate)}


# --- Watch: take in changed files until stopped ---
#
# Files are compared by size and time of change, so an idle round reads no file. A file that is written while it is
# read differs again in the next round and is taken in again.

Wait = Callable[[], bool]
"""Returns when it is time to look again; true to stop."""


def watch(
    ingester: Ingester,
    scope: Scope,
    paths: Sequence[Path],
    *,
    wait: Wait,
    on_report: Callable[[IngestReport], None],
    root: Path | None = None,
    globs: Sequence[str] = (),
    follow_links: bool = False,
    gate: bool = False,
    prune: bool = False,
    conversation: bool = False,
    on_file: OnFile | None = None,
) -> None:
    """Take in everything once, then what has changed since, round after round."""
    root = root or suggest_root(paths)  # once: a path that goes away must not move it
    before = walk(paths, root=root, globs=globs, follow_links=follow_links)
    take = partial(ingester.take, scope, gate=gate, prune=prune, conversation=conversation, on_file=on_file)
    on_report(take(before))
    while not wait():
        after = walk_again(paths, root=root, globs=globs, follow_links=follow_links)
        names = frozenset(find_changed(before.files, after.files))
        if names:
            there = tuple(file for file in after.files if file.source_id in names)
            gone = sorted(names - {known_file.source_id for known_file in there})
            # No folder was walked as far as this report goes: only what changed is looked at.
            fresh = replace(after, files=there, skipped=(), folders=())
            on_report(take(fresh, gone=gone))
        before = after
