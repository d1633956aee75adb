"""Commands on memory stores of other tools: audit and repair.

- `assay audit STORE`: what is wrong with the memories in it, with evidence; a plan, a report, an import of the rest.
- `assay repair PLAN --to COPY`: the plan applied to a copy, and the copy audited.

The audit log of Assay's own store is `assay audit-log`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.formats.grid import grid
from assay.presentation.wording import count_of
from assay.records.store_audits import (
    ImportedStore,
    RepairedStore,
    StoreAudit,
    StoreFault,
    StoreFinding,
    StoreKind,
)
from assay.verbs import store_audits

FOUND = 1
"""The exit code when a fault of `--fail-on` was found, or a repaired copy still has a fault that it should not."""
EXAMPLES = 2
"""Findings of each fault that are printed."""
ANY = "any"

StoreArgument = Annotated[Path, typer.Argument(metavar="STORE", help="The store's file or folder; it is only read.")]
KindOption = Annotated[StoreKind, typer.Option("--kind", help="Which tool wrote it.")]
AsOfOption = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help="Days before it have passed. Default: now.")
]
PlanOption = Annotated[Path | None, typer.Option("--plan", metavar="FILE", help="Write the repair plan, as JSON.")]
ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write the report: a .md or .html file.")
]
FailOption = Annotated[
    str, typer.Option("--fail-on", metavar="FAULTS", help="Exit 1 when one of these is found, with commas; or `any`.")
]
ImportOption = Annotated[bool, typer.Option("--import", help="Save the good memories in Assay, through its gate.")]
DryOption = Annotated[bool, typer.Option("--dry-run", help="With --import: say what would be saved.")]
PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN", help="What `assay audit --plan` wrote.")]
ToOption = Annotated[Path, typer.Option("--to", metavar="COPY", help="The copy that is made; must not exist yet.")]
MovedOption = Annotated[
    Path | None, typer.Option("--store", metavar="STORE", help="Where the store is now, if it has moved.")
]


def register_audit(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "audit")
    def audit(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        store: StoreArgument,
        kind: KindOption = StoreKind.AUTO,
        as_of: AsOfOption = None,
        plan: PlanOption = None,
        report: ReportOption = None,
        fail_on: FailOption = "",
        import_good: ImportOption = False,
        dry_run: DryOption = False,
    ) -> None:
        """Audit a memory store of another tool: what is wrong with it, with evidence. The store is only read.

        Reads mem0, MCP server-memory, Chroma, LangGraph, Letta, CLAUDE.md/AGENTS.md and JSONL. For the log of who did
        what in Assay's own store see `assay audit-log`.
        """
        watched = read_faults(fail_on)
        if dry_run and not import_good:
            raise InputError("--dry-run says what --import would save", remedy="Give both, or leave --dry-run out.")
        given: dict[str, Any] = {"path": store, "kind": kind, "as_of": as_of}
        found = surface.call_unopened(store_audits.AUDIT, plan=plan, report=report, **given)
        document = store_audits.AUDIT.to_json(found)
        lines = list(format_audit(found))
        if import_good:
            imported = surface.call(store_audits.IMPORT, create=True, dry_run=dry_run, **given)
            document["imported"] = store_audits.IMPORT.to_json(imported)
            lines += format_import(imported)
        surface.result(document, "\n".join(lines))
        if any(found.counts[fault] for fault in watched):
            raise typer.Exit(FOUND)


def register_repair(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "repair")
    def repair(surface: Surface, plan: PlanArgument, to: ToOption, store: MovedOption = None) -> None:
        """Apply a repair plan to a copy of the audited store, and audit the copy. The store is only read.

        Exits 1 when the copy has a fault that the plan does not explain.
        """
        done = surface.call_unopened(store_audits.REPAIR, plan=plan, to=to, store=store)
        surface.show(store_audits.REPAIR, done, "\n".join(format_repair(done)))
        if not done.is_verified:
            raise typer.Exit(FOUND)


def read_faults(text: str) -> tuple[StoreFault, ...]:
    """Return the faults that a text names, with commas between them; `any` names all of them."""
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if ANY in names:
        return tuple(StoreFault)
    unknown = next((name for name in names if name not in set(map(str, StoreFault))), None)
    if unknown is not None:
        known = ", ".join((*StoreFault, ANY))
        raise InputError(f"{unknown!r} is not a fault", remedy=f"Name some of: {known}.")
    return tuple(StoreFault(name) for name in names)


def format_audit(audit: StoreAudit) -> Iterator[str]:
    """Yield what an audit found, to be read."""
    from assay.store_audit.reporting import worst_first  # noqa: PLC0415 - the extra "memory"

    share = f" ({audit.faulty / audit.items:.1%})" if audit.items else ""
    yield f"{audit.kind} store, {count_of(audit.items, 'memory')}: {audit.faulty:,} with a fault{share}"
    yield from grid([("fault", "count"), *((name, f"{count:,}") for name, count in audit.counts.items())])
    if audit.worth_a_look:
        yield f"{audit.worth_a_look:,} more are worth a look and not counted: notes that quote an order"
    for reason, count in audit.unread.items():
        yield f"not read: {count:,} {reason}"
    if audit.not_compared:
        yield f"not compared with others: {audit.not_compared:,} that are too long"
    for fault in StoreFault:
        for finding in worst_first(audit.findings, fault)[:EXAMPLES]:
            yield from _format_finding(finding)
    for file in audit.files:
        yield f"Wrote {file}"


def _format_finding(finding: StoreFinding) -> Iterator[str]:
    doubt = "" if finding.certain else " (not counted)"
    yield f"{finding.fault}{doubt}: {finding.reason}"
    yield from (f"  {part.place}: {part.text}" for part in finding.parts)
    yield f"  {finding.look_at}"


def format_import(imported: ImportedStore) -> Iterator[str]:
    """Yield what was imported, to be read."""
    would = "would be " if imported.report.dry_run else ""
    counts = ", ".join(f"{count:,} {would}{fate}" for fate, count in imported.report.counts.items())
    yield f"import: {counts or 'nothing'}"
    if imported.left_out:
        yield "left out: " + ", ".join(f"{count:,} {fault}" for fault, count in imported.left_out.items())
    for reason, count in imported.report.skipped.items():
        yield f"not imported: {count:,} {reason}"
    if imported.report.masked:
        yield f"{imported.report.masked:,} secrets masked"


def format_repair(done: RepairedStore) -> Iterator[str]:
    """Yield what a repair did, to be read."""
    counts = ", ".join(f"{count:,} {action}" for action, count in done.actions.items() if count)
    yield f"{done.to}: {done.kind}, {count_of(done.items, 'memory')} ({counts})"
    if done.note:
        yield done.note
    if done.left:
        yield "left for a person: " + ", ".join(f"{count:,} {fault}" for fault, count in done.left.items())
    if done.unexpected:
        yield "still there: " + ", ".join(f"{count:,} {fault}" for fault, count in done.unexpected.items())
        yield f"Audit the copy again for what is left: assay audit {done.to} --plan FILE"
    else:
        yield "Audited again: no fault is left that the plan does not explain."


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    register_audit(app)
    register_repair(app)
