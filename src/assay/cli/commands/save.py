"""`assay save`: keep one memory, and say what every step decided."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.records import Format, Nearest, SaveDecision, SaveOutcome, Tier
from assay.verbs import memory as memory_verbs

NOTHING_KEPT = 2
"""The exit code of a save that was turned away."""

BodyArgument = Annotated[
    Path | None, typer.Argument(metavar="[FILE|-]", help="The body; - or nothing: standard input.")
]
TitleOption = Annotated[str, typer.Option("--title", "-t", help="What it is called.")]
TextOption = Annotated[str | None, typer.Option("--text", help="The body itself, instead of a file.")]
TierOption = Annotated[
    Tier | None, typer.Option(help="How much it matters; an update keeps that of the old memory, a new one is normal.")
]
TriggerOption = Annotated[
    list[str] | None,
    typer.Option("--trigger", help='A phrase that should bring it up; may repeat. "" for none, also in an update.'),
]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help='May repeat. "" for none, also in an update.')]
FolderOption = Annotated[
    str | None, typer.Option(help='Where it belongs, such as decisions/auth. "" for none, also in an update.')
]
FormatOption = Annotated[Format, typer.Option("--format", help="How the body is written.")]
ContextOption = Annotated[str | None, typer.Option("--context-type", help="What kind of work it belongs to.")]
SourceOption = Annotated[str | None, typer.Option("--source-id", help="The same id again means a new version.")]
AutomatedOption = Annotated[
    bool, typer.Option("--automated", help="A program writes: never replace what a person wrote.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "save")
    def save(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        title: TitleOption,
        file: BodyArgument = None,
        text: TextOption = None,
        tier: TierOption = None,
        trigger: TriggerOption = None,
        tag: TagOption = None,
        folder: FolderOption = None,
        body_format: FormatOption = Format.MARKDOWN,
        context_type: ContextOption = None,
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
            source_id=source_id,
            automated=automated,
        )
        surface.show(memory_verbs.SAVE, outcome, "\n".join(told(outcome)))
        if outcome.decision is SaveDecision.REJECT:
            raise typer.Exit(NOTHING_KEPT)


def _labels(given: list[str] | None) -> list[str] | None:
    """The labels of an option that may repeat; an empty one says that there are to be none."""
    # typer gives an empty list where the option was not used.
    return [label for label in given if label] if given else None


def told(outcome: SaveOutcome) -> list[str]:
    """What became of a draft, in a line, and what else should be known of it."""
    lines = [_headline(outcome)]
    lines += [f"  masked {mask.kind} in {mask.where} ({mask.length} characters)" for mask in outcome.masks]
    if outcome.inherited:
        kept = "; ".join(f"{one.field} {one.value}" for one in outcome.inherited)
        lines.append(f"  taken over from the old memory: {kept}")
    if outcome.held_off:
        lines.append(f"  {outcome.held_off}")
    lines += [f"  contradicts {other}; both stay" for other in outcome.contradicts]
    lines += [f"  doubtful: {step.detail}" for step in outcome.steps if step.decision == "warn"]
    if outcome.would_reject and not outcome.quarantined:
        lines.append(f"  the gate only warns for now; it would have said: {outcome.would_reject}")
    lines += [f"  {count} chunks not embedded: {reason}" for reason, count in outcome.skipped.items()]
    return lines


def _headline(outcome: SaveOutcome) -> str:
    facts = "; ".join(_facts(outcome))
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


def _facts(outcome: SaveOutcome) -> list[str]:
    facts = [] if outcome.quality is None else [f"quality {outcome.quality.score:.2f}"]
    if outcome.nearest:
        one = outcome.nearest[0]
        stored = outcome.decision is SaveDecision.STORE and not outcome.contradicts
        facts.append(f'nearest {one.similarity:.2f} "{one.title}"' + ("" if stored else f": {_relation(one)}"))
    return facts


def _relation(one: Nearest) -> str:
    """How a memory stands to the draft, where that decided something."""
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
