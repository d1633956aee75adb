"""`assay prompts`: prompts and their versions, splitting questions between two of them, and the results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.formats.grid import grid
from assay.records.analysis import PromptComparison, PromptMetric, SplitSide, SplitStanding
from assay.records.research_log import PromptVersion
from assay.verbs import prompts as prompt_verbs

PromptArgument = Annotated[
    str, typer.Argument(metavar="PROMPT", help="Which prompt, as `assay prompts list` names it.")
]
VersionArgument = Annotated[int, typer.Argument(metavar="VERSION", help="A version; 0 came with Assay.")]
OtherArgument = Annotated[int | None, typer.Argument(metavar="OTHER", help="Another version; default: the one in use.")]
VersionOption = Annotated[int | None, typer.Option("--version", help="Which version; default: the one in use.")]
VersionsOption = Annotated[bool, typer.Option("--versions", help="List its versions instead of its text.")]
FileOption = Annotated[str | None, typer.Option("--file", metavar="FILE", help="The whole new text; - reads it.")]
AddOption = Annotated[str | None, typer.Option("--add", metavar="SENTENCE", help="The text in use with this added.")]
NoteOption = Annotated[str, typer.Option("--note", help="Why; kept with the version.")]
DraftOption = Annotated[bool, typer.Option("--draft", help="Keep it without using it yet.")]
ToVersion = Annotated[int | None, typer.Argument(metavar="VERSION", help="What half of the questions are asked with.")]
EndOption = Annotated[bool, typer.Option("--end", help="Ask all questions with the version in use again.")]
LARGEST_FILE = 1_000_000


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Look at prompts, change them, take changes back, compare.", no_args_is_help=True)
    app.add_typer(group, name="prompts")
    _looking(group)
    _changing(group)
    _splitting(group)


def _looking(group: typer.Typer) -> None:
    @command(group, "list")
    def list_all(surface: Surface) -> None:
        """List every prompt and the version in use."""
        found = surface.call(prompt_verbs.LIST, create=True)
        rows = [(prompt.prompt_id, str(prompt.version), _when(prompt), prompt.note) for prompt in found.prompts]
        surface.show(prompt_verbs.LIST, found, "\n".join(grid([("prompt", "version", "since", "note"), *rows])))

    @command(group, "show")
    def show(
        surface: Surface, prompt: PromptArgument, version: VersionOption = None, versions: VersionsOption = False
    ) -> None:
        """Show the text of a prompt, or its versions."""
        if versions:
            every = surface.call(prompt_verbs.VERSIONS, create=True, prompt_id=prompt)
            surface.show(prompt_verbs.VERSIONS, every, "\n".join(grid(list(_version_rows(every.versions)))))
        else:
            found = surface.call(prompt_verbs.SHOW, create=True, prompt_id=prompt, version=version)
            surface.show(prompt_verbs.SHOW, found, found.text.rstrip("\n"))

    @command(group, "diff")
    def diff(surface: Surface, prompt: PromptArgument, version: VersionArgument, other: OtherArgument = None) -> None:
        """Show what changed between two versions."""
        found = surface.call(prompt_verbs.DIFF, create=True, prompt_id=prompt, first=version, second=other)
        surface.show(prompt_verbs.DIFF, found, found.diff or "Both say the same.")

    @command(group, "compare")
    def compare(
        surface: Surface, prompt: PromptArgument, version: VersionArgument, other: OtherArgument = None
    ) -> None:
        """Compare what sessions came to under two versions."""
        found = surface.call(prompt_verbs.COMPARE, create=True, prompt_id=prompt, first=version, second=other)
        surface.show(prompt_verbs.COMPARE, found, "\n".join(_comparison(found)))


def _changing(group: typer.Typer) -> None:
    @command(group, "set")
    def set_text(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        prompt: PromptArgument,
        file: FileOption = None,
        add: AddOption = None,
        note: NoteOption = "",
        draft: DraftOption = False,
    ) -> None:
        """Write a new version of a prompt: a whole text, or the one in use with a sentence more."""
        if (file is None) == (add is None):
            raise InputError("give either --file or --add", remedy="See `assay prompts set --help`.")
        text = None if file is None else _read(file)
        made = surface.call(
            prompt_verbs.WRITE,
            create=True,
            prompt_id=prompt,
            text=text,
            sentence=add,
            note=note,
            active=not draft,
        )
        state = "kept, not in use" if draft else "in use"
        surface.show(prompt_verbs.WRITE, made, f"Version {made.version} of {prompt} is {state}.")

    @command(group, "use")
    def use(surface: Surface, prompt: PromptArgument, version: VersionArgument) -> None:
        """Use a version from now on."""
        made = surface.call(prompt_verbs.USE, create=True, prompt_id=prompt, version=version)
        surface.show(prompt_verbs.USE, made, f"Version {made.version} of {prompt} is in use.")

    @command(group, "rollback")
    def rollback(surface: Surface, prompt: PromptArgument) -> None:
        """Go back to the version before the one in use."""
        made = surface.call(prompt_verbs.ROLL_BACK, create=True, prompt_id=prompt)
        surface.show(prompt_verbs.ROLL_BACK, made, f"Version {made.version} of {prompt} is in use.")


def _splitting(group: typer.Typer) -> None:
    @command(group, "split")
    def split(surface: Surface, prompt: PromptArgument, version: ToVersion = None, end: EndOption = False) -> None:
        """Answer half of the questions with another version than the one in use; without one, show the split."""
        if end and version is not None:
            raise InputError("give either a version or --end", remedy="See `assay prompts split --help`.")
        if version is not None:
            found = surface.call(prompt_verbs.SPLIT, create=True, prompt_id=prompt, version=version)
        else:
            verb = prompt_verbs.END_SPLIT if end else prompt_verbs.SHOW_SPLIT
            found = surface.call(verb, create=True, prompt_id=prompt)
        surface.show(prompt_verbs.SHOW_SPLIT, found, "\n".join(_standing(found)))


def _standing(found: SplitStanding) -> Iterator[str]:
    split = found.split
    until = "and goes on" if split.ended_at is None else f"and ended {split.ended_at:%Y-%m-%d %H:%M}"
    yield f"The split of {split.prompt_id} began {split.began_at:%Y-%m-%d %H:%M} {until}."
    yield ""
    head = ("side", "questions", "sessions", "mean score", "95 % interval", "pass rate")
    yield from grid([head, *(_side_row(side) for side in (found.first, found.second))])
    yield ""
    if found.delta is None:
        yield "Nothing can be said yet: both sides need scored questions."
        return
    span = "" if found.low is None or found.high is None else f" [{found.low:+.3f}, {found.high:+.3f}]"
    better, worse = found.evidence
    undecided = f"Not decided: evidence {better:.1f} for better, {worse:.1f} for worse; 40 decides."
    yield f"Difference {found.delta:+.3f}{span}. {_DECIDED.get(found.decision or '', undecided)}"
    if found.uneven:
        yield f"No fair coin: {found.uneven}."
    if found.withheld:
        yield found.withheld


_DECIDED = {
    "better": "The second is better.",
    "worse": "The second is worse.",
    "futile": "If the second gains anything, it is too little to matter.",
}


def _side_row(one: SplitSide) -> tuple[str, ...]:
    span = "-" if one.score is None else f"[{_number(one.score.low)}, {_number(one.score.high)}]"
    rate = None if one.pass_rate is None else one.pass_rate.estimate
    mean = None if one.score is None else one.score.estimate
    return one.key, f"{one.questions:,}", f"{one.sessions:,}", _number(mean), span, _number(rate)


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read(LARGEST_FILE + 1) if file == "-" else _start_of(Path(file))
        if len(data) > LARGEST_FILE:
            raise InputError(f"{file} is larger than {LARGEST_FILE:,} bytes", remedy="Give the text of one prompt.")
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(f"cannot read {file}: {problem}", remedy="Give a text file in UTF-8.") from problem


def _start_of(path: Path) -> bytes:
    with path.open("rb") as opened:
        return opened.read(LARGEST_FILE + 1)


def _when(one: PromptVersion) -> str:
    return "as it came" if one.created_at is None else f"{one.created_at:%Y-%m-%d %H:%M}"


def _version_rows(found: tuple[PromptVersion, ...]) -> Iterator[tuple[str, ...]]:
    yield "version", "in use", "since", "by", "note"
    for version in found:
        yield str(version.version), "yes" if version.active else "", _when(version), version.created_by, version.note


def _comparison(found: PromptComparison) -> Iterator[str]:
    first, second = found.questions
    how = f"as pairs, over {found.shared} shared questions" if found.paired else "as independent samples"
    yield f"{found.first}: {first:,} questions. {found.second}: {second:,} questions. Compared {how}."
    yield ""
    head = ("metric", found.first, found.second, "difference", "95 % interval", "p (Holm)", "verdict")
    yield from grid([head, *(_metric_row(metric) for metric in found.metrics)])
    yield ""
    yield found.caution


def _metric_row(one: PromptMetric) -> tuple[str, ...]:
    span = "-" if one.low is None or one.high is None else f"[{one.low:+.3f}, {one.high:+.3f}]"
    return (
        one.metric,
        _number(one.first),
        _number(one.second),
        "-" if one.delta is None else f"{one.delta:+.3f}",
        span,
        _p(one.p_adjusted),
        one.verdict.replace("_", " "),
    )


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
