"""Commands for single memories: save, update, tier, list, show, link, why, restore.

- `assay save`: keep one memory, and say what every step decided.
- `assay show`: all stored data about one memory.
- `assay update`: save a new version of one memory; what is not given stays as it was.
- `assay tier`: change how much one memory matters, in place.
- `assay list`: the memories there are, newest first, with what became of each.
- `assay link`: join two memories.
- `assay why`: the reasons behind a memory, as a tree.
- `assay restore`: undo the forgetting, quarantine, supersede or merge of one memory.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from rich.tree import Tree

from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.formats.grid import grid
from assay.presentation.wording import count_of
from assay.records import (
    EdgeKind,
    Format,
    MemoryLine,
    MemoryPage,
    MemoryRecord,
    MemoryStatus,
    Nearest,
    Reason,
    SaveDecision,
    SaveOutcome,
    ShownEdge,
    ShownFact,
    ShownMemory,
    Tier,
    TierChange,
    Why,
)
from assay.records.memory import CHANGEABLE, TEXT_FIELDS
from assay.verbs import memory as memory_verbs
from assay.verbs import reading
from assay.verbs.paging import LARGEST

# --- `assay save`: keep one memory, and say what every step decided ---

NOTHING_KEPT = 2
"""The exit code of a save that was turned away."""

BodyArgument = Annotated[
    Path | None, typer.Argument(metavar="[FILE|-]", help="The body; - or nothing: standard input.")
]
SaveTitleOption = Annotated[str, typer.Option("--title", "-t", help="What it is called.")]
SaveTextOption = Annotated[str | None, typer.Option("--text", help="The body itself, instead of a file.")]
SaveTierOption = Annotated[
    Tier | None, typer.Option(help="How much it matters; an update keeps that of the old memory, a new one is normal.")
]
SaveTriggerOption = Annotated[
    list[str] | None,
    typer.Option("--trigger", help='A phrase that should bring it up; may repeat. "" for none, also in an update.'),
]
SaveTagOption = Annotated[list[str] | None, typer.Option("--tag", help='May repeat. "" for none, also in an update.')]
SaveFolderOption = Annotated[
    str | None, typer.Option(help='Where it belongs, such as decisions/auth. "" for none, also in an update.')
]
FormatOption = Annotated[Format, typer.Option("--format", help="How the body is written.")]
ContextOption = Annotated[str | None, typer.Option("--context-type", help="What kind of work it belongs to.")]
SurroundingsOption = Annotated[
    str | None, typer.Option("--surroundings", help="What stood around it: searches find it by these words too.")
]
SourceOption = Annotated[str | None, typer.Option("--source-id", help="The same id again means a new version.")]
AutomatedOption = Annotated[
    bool, typer.Option("--automated", help="A program writes: never replace what a person wrote.")
]


def register_save(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "save")
    def save(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        title: SaveTitleOption,
        file: BodyArgument = None,
        text: SaveTextOption = None,
        tier: SaveTierOption = None,
        trigger: SaveTriggerOption = None,
        tag: SaveTagOption = None,
        folder: SaveFolderOption = None,
        body_format: FormatOption = Format.MARKDOWN,
        context_type: ContextOption = None,
        surroundings: SurroundingsOption = None,
        source_id: SourceOption = None,
        automated: AutomatedOption = False,
    ) -> None:
        """Keep a memory: masked, scored, compared with what is like it, then stored, merged or turned away.

        An update takes over folder, tags, triggers, tier and links from what it supersedes, unless they are given.
        """
        outcome = surface.call(
            memory_verbs.SAVE,
            create=True,
            title=title,
            body=read_body(surface, file, text),
            tier=tier,
            triggers=_labels(trigger),
            tags=_labels(tag),
            folder=folder,
            format=body_format,
            context_type=context_type,
            surroundings=surroundings,
            source_id=source_id,
            automated=automated,
        )
        surface.show(memory_verbs.SAVE, outcome, "\n".join(describe_save(outcome)))
        if outcome.decision is SaveDecision.REJECT:
            raise typer.Exit(NOTHING_KEPT)


def _labels(given: list[str] | None) -> list[str] | None:
    """Return the labels of an option that may repeat; an empty label means none."""
    # typer gives an empty list where the option was not used.
    return [label for label in given if label] if given else None


def describe_save(outcome: SaveOutcome) -> list[str]:
    """Describe the outcome of a save in one line, then its details."""
    lines = [_headline(outcome)]
    lines += [f"  masked {mask.kind} in {mask.where} ({mask.length} characters)" for mask in outcome.masks]
    if outcome.inherited:
        kept = "; ".join(f"{value.field} {value.value}" for value in outcome.inherited)
        lines.append(f"  taken over from the old memory: {kept}")
    if outcome.held_off:
        lines.append(f"  {outcome.held_off}")
    lines += [f"  contradicts {other}; both stay" for other in outcome.contradicts]
    lines += [
        f'  outdated in {fact.memory_id}: "{fact.value}", now "{fact.now}"; undo: assay restore {fact.memory_id}'
        for fact in outcome.outdated
    ]
    lines += [f"  doubtful: {step.detail}" for step in outcome.steps if step.decision == "warn"]
    if outcome.would_reject and not outcome.quarantined:
        lines.append(f"  the gate only warns for now; it would have said: {outcome.would_reject}")
    lines += [f"  {count} chunks not embedded: {reason}" for reason, count in outcome.skipped.items()]
    return lines


def _headline(outcome: SaveOutcome) -> str:
    facts = "; ".join(_save_facts(outcome))
    about = f" ({facts})" if facts else ""
    if outcome.unchanged:
        return f"unchanged {outcome.memory_id} ({outcome.steps[-1].detail})"
    if outcome.decision is SaveDecision.REJECT:
        return f"rejected: {outcome.reason}{about}"
    if outcome.decision is SaveDecision.MERGE:
        return f"merged into {outcome.memory_id}{about}; undo: assay restore {outcome.memory_id}"
    if outcome.superseded:
        gone = ", ".join(outcome.superseded)
        return f"superseded {gone} by {outcome.memory_id}{about}; undo: assay restore {outcome.superseded[0]}"
    if outcome.quarantined:
        return f"quarantined {outcome.memory_id}: {outcome.reason}; release: assay restore {outcome.memory_id}"
    version = f" version {outcome.version}" if outcome.version > 1 else ""
    return f"stored {outcome.memory_id}{version}{about}"


def _save_facts(outcome: SaveOutcome) -> list[str]:
    facts = [] if outcome.quality is None else [f"quality {outcome.quality.score:.2f}"]
    if outcome.nearest:
        one = outcome.nearest[0]
        stored = outcome.decision is SaveDecision.STORE and not outcome.contradicts
        facts.append(f'nearest {one.similarity:.2f} "{one.title}"' + ("" if stored else f": {_relation(one)}"))
    return facts


def _relation(one: Nearest) -> str:
    """Return how a memory relates to the draft, if that decided something."""
    agree = "agrees" if one.agrees else "disagrees"
    return f"{agree}, {'same' if one.same_subject else 'other'} subject"


def read_body(surface: Surface, file: Path | None, text: str | None) -> str:
    """The body that the options give: a text, a file, or standard input."""
    if text is not None:
        if file is not None:
            raise InputError(f"both --text and {file} give a body", remedy="Give one of them.")
        return text
    if file is None or str(file) == "-":
        if sys.stdin.isatty():
            surface.note("The body, please; end it with Ctrl-D.")
        return sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(
            f"cannot read {file}: {problem}", remedy="Name a text file in UTF-8, or give the text itself with --text."
        ) from problem


# --- `assay show`: all stored data about one memory ---

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The memory's id, as a search shows it.")]


def register_show(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "show")
    def show(surface: Surface, memory_id: IdArgument) -> None:
        """Show a memory with its chunks, facts, edges, versions and the decisions that led to it."""
        found = surface.call(reading.SHOW, memory_id=memory_id)
        surface.show(reading.SHOW, found, "\n".join(_format_show(found)))


def _format_show(found: ShownMemory) -> Iterator[str]:
    yield from (f"{found.memory.title}", "")
    # What is in quarantine or forgotten is not superseded by anything.
    set_apart = bool(found.quarantined or found.forgotten)
    facts = (fact for fact in _show_facts(found.memory) if not (set_apart and fact[0] == "superseded"))
    yield from grid(list(facts), indent="  ")
    yield from (f"  in quarantine, no search finds it: {reason}" for reason in found.quarantined)
    if found.forgotten is not None:
        since, by = found.forgotten.forgotten_at, found.forgotten.forgotten_by
        yield f"  forgotten {since:%Y-%m-%d %H:%M} by {by}; bring it back: assay restore {found.memory.id}"
    yield from ("", found.memory.body.rstrip(), "")
    yield f"{len(found.chunks)} chunks, {sum(chunk.token_count for chunk in found.chunks):,} tokens"
    yield from (f"  {chunk.position}  {chunk.token_count:>4}  {chunk.heading_path}" for chunk in found.chunks)
    if found.facts:
        yield from ("facts", *grid([_fact(fact) for fact in found.facts], indent="  "))
    if found.edges:
        yield from ("edges", *(f"  {_edge(edge)}" for edge in found.edges))
    if len(found.versions) > 1:
        yield from ("versions", *grid([_version(version) for version in found.versions], indent="  "))
    if found.saves:
        rows = [(f"{save.at:%Y-%m-%d %H:%M}", str(save.decision), save.save_id) for save in found.saves]
        yield from ("saves", *grid(rows, indent="  "))


def _show_facts(memory: MemoryRecord) -> Iterator[tuple[str, str]]:
    facts = {
        "id": memory.id,
        "tier": memory.tier.value,
        "folder": memory.folder,
        "path": memory.rel_path,
        "tags": ", ".join(memory.tags),
        "triggers": ", ".join(memory.triggers),
        **dict(memory.labelled),
        "learned triggers": ", ".join(memory.learned_triggers),
        "source": "" if memory.source_id is None else f"{memory.source_id} (version {memory.version})",
        "valid from": f"{memory.valid_from:%Y-%m-%d %H:%M}",
        "superseded": "" if memory.superseded_at is None else f"{memory.superseded_at:%Y-%m-%d %H:%M}",
        "confidence": f"{memory.confidence:.2f} after {memory.validation_count} validations",
        "written": f"{memory.written_by} with {memory.written_with}" if memory.written_with else memory.written_by,
    }
    yield from ((name, value) for name, value in facts.items() if value)


def _fact(fact: ShownFact) -> tuple[str, str, str]:
    value = f"not {fact.value}" if fact.negated else fact.value
    since = f"since {fact.valid_from:%Y-%m-%d}"
    if fact.valid_to is not None:
        since = f'outdated {fact.valid_to:%Y-%m-%d}, now "{fact.now}" ({fact.ended_by})'
    return f"{fact.subject} {fact.relation}".strip(), value, since


def _edge(one: ShownEdge) -> str:
    outwards = one.edge.target_id == one.other_id
    arrow = f"{one.edge.kind.value} ->" if outwards else f"<- {one.edge.kind.value}"
    evidence = f"  ({one.edge.evidence})" if one.edge.evidence else ""
    return f"{arrow} {one.other_id}  {one.other_title}  {one.edge.strength:.2f}{evidence}"


def _version(memory: MemoryLine) -> tuple[str, str, str]:
    gone = "current" if memory.superseded_at is None else f"until {memory.superseded_at:%Y-%m-%d %H:%M}"
    return f"{memory.version}", memory.memory_id, gone


# --- `assay update`: save a new version of one memory; what is not given stays as it was ---


class Clearable(StrEnum):
    """Fields that an update can empty."""

    TAGS = "tags"
    TRIGGERS = "triggers"
    FOLDER = "folder"


UpdateTitleOption = Annotated[str | None, typer.Option("--title", "-t", help="A new title.")]
UpdateTextOption = Annotated[str | None, typer.Option("--text", help="A new body.")]
FileOption = Annotated[
    Path | None, typer.Option("--file", metavar="FILE|-", help="A new body from a file; - is standard input.")
]
UpdateTierOption = Annotated[Tier | None, typer.Option("--tier", help="A new tier.")]
UpdateTagOption = Annotated[list[str], typer.Option("--tag", help="New tags instead of the old ones; may repeat.")]
UpdateTriggerOption = Annotated[
    list[str], typer.Option("--trigger", help="New trigger phrases instead of the old ones; may repeat.")
]
UpdateFolderOption = Annotated[str | None, typer.Option("--folder", help="A new folder.")]
SetOption = Annotated[
    list[str],
    typer.Option("--set", metavar="FIELD=TEXT", help="Any other field, such as context_type=review; may repeat."),
]
ClearOption = Annotated[list[Clearable], typer.Option("--clear", help="Empty this field; may repeat.")]


def register_update(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "update")
    def update(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        memory_id: IdArgument,
        title: UpdateTitleOption = None,
        text: UpdateTextOption = None,
        file: FileOption = None,
        tier: UpdateTierOption = None,
        tag: UpdateTagOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        trigger: UpdateTriggerOption = [],  # noqa: B006 - the same
        folder: UpdateFolderOption = None,
        other: SetOption = [],  # noqa: B006 - the same
        clear: ClearOption = [],  # noqa: B006 - the same
    ) -> None:
        """Change a memory: a new version takes its place and keeps what is not given. Undo: assay restore OLD-ID."""
        body = None if text is None and file is None else read_body(surface, file, text)
        given: dict[str, Any] = {"title": title, "body": body, "tier": tier, "folder": folder}
        changes = {name: value for name, value in given.items() if value is not None}
        changes |= {name: tuple(value) for name, value in (("tags", tag), ("triggers", trigger)) if value}
        changes |= _read_assignments(other, changes)
        for field in clear:
            if field.value in changes:
                raise InputError(f"--clear {field} and a new value were both given", remedy="Give one of them.")
            changes[field.value] = "" if field is Clearable.FOLDER else ()
        if not changes:
            raise InputError("nothing to change was given", remedy="See `assay update --help` for what can be changed.")
        outcome = surface.call(memory_verbs.UPDATE, memory_id=memory_id, **changes)
        surface.show(memory_verbs.UPDATE, outcome, "\n".join(describe_save(outcome)))
        if outcome.decision is SaveDecision.REJECT:
            raise typer.Exit(NOTHING_KEPT)


def _read_assignments(assignments: Sequence[str], given: Collection[str]) -> dict[str, str]:
    """Return the fields that `--set` gives, by name."""
    changes: dict[str, str] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or name not in TEXT_FIELDS or name not in CHANGEABLE:
            known = ", ".join(field for field in CHANGEABLE if field in TEXT_FIELDS)
            raise InputError(f"--set {assignment!r} changes nothing", remedy=f"Write FIELD=TEXT; fields are {known}.")
        if name in given or name in changes:
            raise InputError(f"a new {name} was given twice", remedy="Give it once.")
        changes[name] = text
    return changes


# --- `assay tier`: change how much a memory matters, in place ---

TierArgument = Annotated[Tier, typer.Argument(metavar="TIER", help=f"{', '.join(Tier)}.")]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the audit log.")]


def register_tier(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "tier")
    def tier(surface: Surface, memory_id: IdArgument, new: TierArgument, reason: ReasonOption = "") -> None:
        """Change the tier of a memory in place: critical ranks a little higher, deprecated is served last."""
        change = surface.call(memory_verbs.TIER, memory_id=memory_id, tier=new, reason=reason)
        surface.show(memory_verbs.TIER, change, describe_tier(change))


def describe_tier(change: TierChange) -> str:
    """Describe a change of tier, and how to undo it."""
    before, after = change.tier_before.value, change.tier.value
    if change.unchanged:
        return f"unchanged {change.memory_id}: its tier is {after} already"
    return f"{change.memory_id}: {before} -> {after}; undo: assay tier {change.memory_id} {before}"


# --- `assay list`: the memories there are, newest first, with what became of each ---

TITLE_WIDTH = 60

ListFolderOption = Annotated[
    str | None, typer.Option("--folder", metavar="FOLDER", help="Only this folder and the folders below it.")
]
ListTagOption = Annotated[list[str], typer.Option("--tag", help="Only memories with this tag; may repeat.")]
ListTierOption = Annotated[Tier | None, typer.Option("--tier", help="Only this tier.")]
StatusOption = Annotated[MemoryStatus | None, typer.Option("--status", help="Only memories with this status.")]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Only memories changed at this time (UTC) or later.")
]
LimitOption = Annotated[int, typer.Option("--limit", help=f"Memories on one page, 1 to {LARGEST}.")]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", metavar="CURSOR", help="Go on where the page before ended: its next_cursor.")
]


def register_list(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "list")
    def list_(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        folder: ListFolderOption = None,
        tag: ListTagOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        tier: ListTierOption = None,
        status: StatusOption = None,
        since: SinceOption = None,
        limit: LimitOption = 50,
        cursor: CursorOption = None,
    ) -> None:
        """List memories, newest first: id, status, tier, folder, date and title."""
        page = surface.call(
            reading.LIST_MEMORIES,
            folder=folder,
            tags=tag,
            tier=tier,
            status=status,
            since=since,
            limit=limit,
            cursor=cursor,
        )
        surface.show(reading.LIST_MEMORIES, page, "\n".join(_format_list(page)))


def _format_list(page: MemoryPage) -> Iterator[str]:
    counts = ", ".join(f"{count:,} {status}" for status, count in page.by_status.items())
    yield count_of(page.total, "memory") + (f": {counts}" if counts else "")
    rows = [
        (
            memory.memory_id,
            memory.status.value,
            memory.tier.value,
            memory.folder or "-",
            f"{memory.updated_at:%Y-%m-%d}",
            memory.title[:TITLE_WIDTH],
        )
        for memory in page.memories
    ]
    yield from grid(rows, indent="  ")
    if page.next_cursor is not None:
        yield f"{len(page.memories):,} shown; next page: --cursor {page.next_cursor}"


# --- `assay link`: join two memories ---

FromArgument = Annotated[str, typer.Argument(metavar="ID", help="The memory the edge leaves.")]
KindArgument = Annotated[EdgeKind, typer.Argument(help="How the first bears on the second.")]
ToArgument = Annotated[str, typer.Argument(metavar="ID", help="The memory it leads to.")]
StrengthOption = Annotated[float, typer.Option(help="From 0 to 1.")]
EvidenceOption = Annotated[str, typer.Option(help="Why this is so.")]


def register_link(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "link")
    def link(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        source: FromArgument,
        kind: KindArgument,
        target: ToArgument,
        strength: StrengthOption = 1.0,
        evidence: EvidenceOption = "",
    ) -> None:
        """Join two memories: the first caused, enabled, supports, ... the second."""
        edge = surface.call(
            memory_verbs.LINK, source_id=source, kind=kind, target_id=target, strength=strength, evidence=evidence
        )
        surface.show(memory_verbs.LINK, edge, f"{source} {kind.value} {target} ({strength:.2f})")


# --- `assay why`: the reasons behind a memory, as a tree ---


def register_why(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "why")
    def why(surface: Surface, memory_id: IdArgument) -> None:
        """Show what caused, enabled or supports a memory, and the reasons behind those."""
        found = surface.call(memory_verbs.WHY, memory_id=memory_id)
        surface.show(memory_verbs.WHY, found, _tree(found))
        if not found.chain.behind:
            surface.note("Nothing is known to stand behind it. Say what does: assay link CAUSE caused " + memory_id)
        for other in found.contradicted_by:
            surface.note(f"contradicted by {other}")
        if found.cut:
            surface.note("The chain goes on; ask about the last memory shown.")


def _tree(found: Why) -> Tree:
    tree = Tree(_label(found.chain), guide_style="dim")
    _grow(tree, found.chain)
    return tree


def _grow(tree: Tree, reason: Reason) -> None:
    for cause in reason.behind:
        _grow(tree.add(_label(cause)), cause)


def _label(one: Reason) -> Text:
    kind = "" if one.kind is None else f"{one.kind.value} "
    strength = "" if one.kind is None else f"  {one.strength:.2f}"
    evidence = f"  ({one.evidence})" if one.evidence else ""
    return Text.assemble((kind, "cyan"), one.title, (f"  {one.memory_id}{strength}{evidence}", "dim"))


# --- `assay restore`: undo the forgetting, quarantine, supersede or merge of one memory ---


def register_restore(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "restore")
    def restore(surface: Surface, memory_id: IdArgument) -> None:
        """Bring back a forgotten, quarantined or superseded memory, or take a merge apart; later saves stay."""
        done = surface.call(memory_verbs.RESTORE, memory_id=memory_id)
        surface.show(memory_verbs.RESTORE, done, describe_restore(done))


def describe_restore(done: SaveOutcome) -> str:
    """Describe what was undone, and what contradicts it now."""
    lines = [f"restored {done.memory_id}: {'; '.join(step.detail for step in done.steps)}"]
    lines += [f"  contradicts {other}; both stay" for other in done.contradicts]
    return "\n".join(lines)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    register_save(app)
    register_update(app)
    register_tier(app)
    register_list(app)
    register_show(app)
    register_link(app)
    register_why(app)
    register_restore(app)
