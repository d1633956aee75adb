"""Import: memories of other tools through the ordinary saver, again and again without changing what is there.

A memory is known by its source id and the hash of its content: the same file twice changes nothing, changed content is
a new version. As with `ingest`, memories of one file are not compared with each other unless the gate is requested:
two similar notes must not merge or replace each other because they came in one file. Batches are committed as
they are saved, so an interrupted import keeps what it has done, and the next run goes on from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from assay.clock import Clock
from assay.errors import InputError
from assay.formats.memory_files import ImportSource
from assay.formats.memory_files.markdown import LINKS_TO
from assay.memory.ingesting.run import Known
from assay.memory.saving import Refused, Saver, drafts
from assay.records import Draft, Edge, EdgeKind, SaveDecision, SaveOutcome, Scope
from assay.records.saving import ImportFormat, ImportItem, ImportLink, ImportProblem, ImportReport
from assay.storage import Store, Work

EDGES_AT_A_TIME = 500
LINK_STRENGTH = 0.5
"""Strength of the edge made from a link or a foreign relation: the two memories are related, the reason is unknown."""
MEANT = frozenset({EdgeKind.CAUSED, EdgeKind.ENABLED, EdgeKind.CONTRADICTS, EdgeKind.DERIVED_FROM, EdgeKind.SUPPORTS})
"""Relations of Assay's own that a file may name. `supersedes` is not among them: no import retires a memory."""

OnProgress = Callable[[int, int], None]
"""Called with the number of bytes read and the total."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportOptions:
    """How to import."""

    user: str | None = None
    """Only this user's memories, of a file that holds those of several."""
    folder: str = ""
    """Put everything below this folder."""
    gate: bool = False
    """Compare each memory with what is there, as a save is: duplicates are turned away, conflicts supersede."""
    dry_run: bool = False
    """Write nothing; say what would be done."""


class Importer:
    """Imports files of other tools."""

    def __init__(self, *, store: Store, saver: Saver, clock: Clock) -> None:
        self._store = store
        self._saver = saver
        self._clock = clock

    def run(
        self, scope: Scope, source: ImportSource, options: ImportOptions, on_progress: OnProgress | None = None
    ) -> ImportReport:
        """Import everything in a file or folder."""
        with self._store.reading(scope) as work:
            known = Known.of(work)
        run = _Run(source, options, known, on_progress)
        if options.dry_run:
            for draft in run.drafts():
                run.expect(draft)
        else:
            for draft, result in self._saver.save_many(scope, run.drafts(), gated=options.gate):
                run.note(draft, result)
            run.edges = self._link(scope, run)
        report = run.report()
        if not options.dry_run:
            with self._store.writing(scope) as work:
                told = {"format": report.format, **report.counts, "edges": report.edges}
                work.audit.append("memory.import", source.path.name, told)
        return report

    def _link(self, scope: Scope, run: _Run) -> int:
        """Join imported memories as their file joins them."""
        made = 0
        waiting = iter(run.links.items())
        while some := list(islice(waiting, EDGES_AT_A_TIME)):
            with self._store.writing(scope) as work:
                for place, links in some:
                    made += self._link_one(work, run, place, links)
        return made

    def _link_one(self, work: Work, run: _Run, place: _Place, links: Sequence[ImportLink]) -> int:
        source = work.memories.current_of_source(place.source_id)
        if source is None:
            return 0
        own = [edge for edge in work.edges.of(source.id) if edge.source_id == source.id]
        there = {(edge.target_id, edge.kind) for edge in own}
        made = 0
        wanted = _by_target(links)
        targets = {target: work.memories.current_of_source(target) for target, _ in wanted}
        # A version inherits the edges of the one before; a link that its text no longer has goes.
        linked = {memory.id for memory in targets.values() if memory is not None}
        for edge in own:
            if edge.evidence == LINKS_TO and edge.target_id not in linked:
                work.edges.remove(edge.source_id, edge.target_id, edge.kind)
        for (target, kind), relations in wanted.items():
            found = targets[target]
            if found is None:
                detail = f"{', '.join(relations)} {target!r}"
                run.problem(place, "link to a memory that is not there", detail)
            elif found.id != source.id and (found.id, kind) not in there:
                work.edges.put(
                    Edge(
                        source_id=source.id,
                        target_id=found.id,
                        kind=kind,
                        strength=1.0 if str(kind) in relations else LINK_STRENGTH,
                        evidence="; ".join(relations),
                        created_at=self._clock.now(),
                    )
                )
                made += 1
        return made


class _Place(NamedTuple):
    source_id: str
    file: str
    line: int | None


class _Run:
    """What one import has seen so far."""

    def __init__(self, source: ImportSource, options: ImportOptions, known: Known, tell: OnProgress | None) -> None:
        self.links: dict[_Place, tuple[ImportLink, ...]] = {}
        self.edges = 0
        self._source = source
        self._options = options
        self._known = known
        self._tell = tell
        self._places: dict[str, _Place] = {}
        self._problems: list[ImportProblem] = []
        self._counts: Counter[str] = Counter()
        self._users: Counter[str] = Counter()
        self._masked = 0
        self._chunks = 0

    def drafts(self) -> Iterator[Draft]:
        """Every memory that is new or has changed."""
        read = 0
        for found in self._source.read():
            read += found.size
            if isinstance(found, ImportProblem):
                self._problems.append(found)
            elif (draft := self._draft_of(found)) is not None:
                yield draft
            if self._tell is not None:
                self._tell(min(read, self._source.size), self._source.size)

    def note(self, draft: Draft, result: SaveOutcome | Refused) -> None:
        """What became of a memory."""
        place = self._places[str(draft.source_id)]
        if isinstance(result, Refused):
            self.problem(place, "refused", result.reason, partial=False)
            return
        self._counts[_fate(result)] += 1
        self._masked += len(result.masks)
        self._chunks += result.chunks

    def expect(self, draft: Draft) -> None:
        """What would become of a memory."""
        place = self._places[str(draft.source_id)]
        try:
            drafts.check_draft(draft)
        except InputError as problem:
            self.problem(place, "refused", problem.message, partial=False)
            return
        self._counts["updated" if draft.source_id in self._known.hashes else "imported"] += 1

    def problem(self, place: _Place, reason: str, detail: str, *, partial: bool = True) -> None:
        """Something that was not imported, or not whole."""
        found = ImportProblem(place=place.file, line=place.line, reason=reason, detail=detail, partial=partial)
        self._problems.append(found)

    def report(self) -> ImportReport:
        """Return the report of the import."""
        skipped = Counter(problem.reason for problem in self._problems if not problem.partial)
        incomplete = Counter(problem.reason for problem in self._problems if problem.partial)
        order = ("imported", "updated", "unchanged", "quarantined", "merged", "rejected")
        return ImportReport(
            format=str(self._source.format),
            counts={name: self._counts[name] for name in order if self._counts[name]},
            skipped=dict(sorted(skipped.items())),
            incomplete=dict(sorted(incomplete.items())),
            edges=self.edges,
            users=dict(sorted(self._users.items())),
            masked=self._masked,
            chunks=self._chunks,
            problems=tuple(self._problems),
            notes=tuple(self._notes()),
            dry_run=self._options.dry_run,
        )

    def _draft_of(self, item: ImportItem) -> Draft | None:
        source_id = str(item.draft.source_id)
        place = _Place(source_id, item.place, item.line)
        if self._options.user is not None and item.user != self._options.user:
            whose = "nobody" if item.user is None else repr(item.user)
            self.problem(place, "another user", f"it is a memory of {whose}", partial=False)
            return None
        if source_id in self._places:
            self.problem(place, "id given twice", f"{source_id!r} was read before", partial=False)
            return None
        self._places[source_id] = place
        if item.user is not None:
            self._users[item.user] += 1
        if (source_id, item.draft.source_hash) in self._known.forgotten:
            self.problem(place, "forgotten here", "bring it back with `assay restore`", partial=False)
            return None
        if item.links or self._source.format in (ImportFormat.OBSIDIAN, ImportFormat.MARKDOWN):
            # A note without links may have had some in its last version.
            self.links[place] = item.links
        if self._known.has(source_id, item.draft.source_hash):
            self._counts["unchanged"] += 1
            return None
        return self._place_in_folder(item.draft)

    def _place_in_folder(self, draft: Draft) -> Draft:
        top = self._options.folder.strip("/")
        return replace(draft, folder=f"{top}/{draft.folder}".strip("/")) if top else draft

    def _notes(self) -> Iterator[str]:
        if len(self._users) > 1:
            yield (
                f"{len(self._users)} users are kept apart in folders of their own below `users`. A search without"
                " --folder finds all of them; to keep them fully apart, import each with --user NAME --tenant NAME."
            )
        elif self._users and self._options.user is None:
            yield f"The memories of {next(iter(self._users))!r} are in a folder below `users`."


def _by_target(links: Sequence[ImportLink]) -> dict[tuple[str, EdgeKind], list[str]]:
    """Return the relations to each target, one edge for each kind."""
    found: dict[tuple[str, EdgeKind], list[str]] = {}
    for link in links:
        named = next((kind for kind in MEANT if kind == link.relation), EdgeKind.SUPPORTS)
        found.setdefault((link.target, named), []).append(link.relation)
    return found


def _fate(outcome: SaveOutcome) -> str:
    if outcome.unchanged:
        return "unchanged"
    if outcome.quarantined:
        return "quarantined"
    if outcome.decision is SaveDecision.MERGE:
        return "merged"
    if outcome.decision is SaveDecision.REJECT:
        return "rejected"
    return "updated" if outcome.version > 1 else "imported"
