"""`assay gate`: may this run go in? Exit code 0 passed, 1 a regression, 2 it cannot be decided."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.colours import colour_verdicts
from assay.cli.runs import RunArgument, RunsOption, SeedOption, has_store, lookup, writing_rows
from assay.cli.surface import Surface, command
from assay.clock import SystemClock
from assay.errors import AssayError, InputError
from assay.evaluation.ci import Outputs, find_step_summary, step_summary
from assay.evaluation.gating import GateOptions, Verdict
from assay.evaluation.gating.rules import answer, ask
from assay.evaluation.gating.verdict import Question, Status, order_rulings, word
from assay.evaluation.lookup import Lookup
from assay.evaluation.readings import Reading
from assay.evaluation.result_rows import keep_regression, regression_row
from assay.evaluation.self_test import self_test
from assay.formats.grid import grid
from assay.verbs import runs as run_verbs

BaselineOption = Annotated[
    str, typer.Option("--baseline", "-b", metavar="FILE|RUN", help="What the run is held against.")
]
NoBaselineOption = Annotated[bool, typer.Option("--no-baseline", help="Ask only what needs no baseline, as floors.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Any drop beyond what is allowed fails, noise or not.")]
MetricOption = Annotated[
    str | None,
    typer.Option("--metric", metavar="NAME", help="The one metric that decides; default: all, corrected by Holm."),
]
LostOption = Annotated[int, typer.Option("--allow-lost", metavar="N", min=0, help="Cases that may be lost.")]
JunitOption = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML, a test a rule.")]
SummaryOption = Annotated[bool, typer.Option("--summary", help="Add to the step's summary ($GITHUB_STEP_SUMMARY).")]
SummaryFileOption = Annotated[
    Path | None, typer.Option("--summary-file", metavar="FILE", help="Add the same Markdown to a file.")
]
CommentOption = Annotated[
    Path | None, typer.Option("--comment", metavar="FILE", help="Write a pull request's comment, the verdict first.")
]
SarifOption = Annotated[
    Path | None, typer.Option("--sarif", metavar="FILE", help="Write the cases that fell as SARIF.")
]
CasesOption = Annotated[
    Path | None, typer.Option("--cases", metavar="FILE", help="The dataset's file, for SARIF to point into.")
]
SelfTestOption = Annotated[
    bool, typer.Option("--self-test", help="Ask the gate itself: how often it cries wolf, and what it cannot see.")
]
ReplaysOption = Annotated[int, typer.Option("--replays", min=10, help="Of the self-test.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "gate")
    def gate(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        run: RunArgument = "latest",
        baseline: BaselineOption = "baseline.json",
        no_baseline: NoBaselineOption = False,
        strict: StrictOption = False,
        metric: MetricOption = None,
        allow_lost: LostOption = 0,
        junit: JunitOption = None,
        summary: SummaryOption = False,
        summary_file: SummaryFileOption = None,
        comment: CommentOption = None,
        sarif: SarifOption = None,
        cases: CasesOption = None,
        self_test: SelfTestOption = False,
        replays: ReplaysOption = 200,
        runs: RunsOption = None,
        seed: SeedOption = 0,
    ) -> None:
        """Hold a run against its floors and its baseline; exit 0 passed, 1 a regression, 2 undecided."""

        def options() -> GateOptions:
            return GateOptions(
                strict=strict,
                lost=allow_lost,
                floors=surface.settings.floors,
                metric=metric or surface.settings.gate_metric or None,
                seed=seed,
            )

        if self_test:
            _refuse_outputs(junit, summary_file, comment, sarif, summary=summary)
            one, other = _two(lookup(surface, runs), run, baseline)
            _self_test(surface, one, other, replays, options())
            return
        against = None if no_baseline else baseline
        chosen = summary_file or (find_step_summary() if summary else None)
        outputs = Outputs(junit=junit, summary=chosen, comment=comment, sarif=sarif, cases=cases)
        with outputs.replacing(run=run, baseline=against):
            if summary and chosen is None:
                step_summary()  # raises: there is none
            verdict, question = _apply_gate(lookup(surface, runs), run, against, options(), outputs)
        note = _store_verdict(surface, question, verdict)
        surface.show(
            run_verbs.GATE, verdict.result(), colour_verdicts(_format_verdict(verdict, verbose=surface.common.verbose))
        )
        surface.caveats(verdict.caveats)
        if note:
            surface.note(note)
        raise typer.Exit(verdict.exit_code)


def tell_files_of_usage_error(arguments: Sequence[str], problem: AssayError) -> None:
    """Replace the files of an earlier gate when this command line could not be read at all.

    A workflow that publishes them would otherwise show the verdict of another run.
    """
    named = {name: _file_after(f"--{name}", arguments) for name in ("junit", "comment", "sarif")}
    wanted = Outputs(**{name: path for name, path in named.items() if path is not None})
    if wanted == Outputs():
        return
    with suppress(AssayError), wanted.replacing(run="not read", baseline=None):
        raise problem


def _file_after(option: str, arguments: Sequence[str]) -> Path | None:
    """The file an option names, as `--junit FILE` or `--junit=FILE`; the last one counts."""
    found = None
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == option and equals:
            found = value
        elif argument == option and place + 1 < len(arguments):
            found = arguments[place + 1]
    return Path(found) if found else None


def _apply_gate(
    place: Lookup, run: str, against: str | None, options: GateOptions, outputs: Outputs
) -> tuple[Verdict, Question]:
    """The verdict, with its files written, and what it answers."""
    reading = place.run(run)
    question = ask(reading, None if against is None else place.baseline(against), options)
    verdict = answer(question)
    outputs.write(verdict, question.compared, baseline=against or "")
    return verdict, question


def _store_verdict(surface: Surface, question: Question, verdict: Verdict) -> str:
    """Also keep a row in the store, if there is one. If the store refuses it, the verdict only gets a note."""
    if not has_store(surface):
        return ""
    row = regression_row(
        question.run, question.compared, verdict, at=SystemClock().now(), metric=question.options.metric
    )
    return keep_regression(row, partial(writing_rows, surface))


def _format_verdict(verdict: Verdict, *, verbose: bool) -> str:
    """What is wrong, and how much is right; everything with --verbose, or where nothing is wrong."""
    passed = len(verdict.of(Status.PASS))
    if verdict.passed:
        rows = [(word(ruling.status), ruling.sentence) for ruling in order_rulings(verdict)]
        return "\n".join([f"PASS  all {passed} rules hold", *grid(rows, indent="  ")])
    quiet = () if verbose else (Status.PASS, Status.NOT_APPLICABLE)
    rows = [(word(ruling.status), ruling.sentence) for ruling in order_rulings(verdict) if ruling.status not in quiet]
    return "\n".join(grid([*rows, *([] if verbose else [("PASS", f"{passed} other rules")])], gap="  "))


def _refuse_outputs(*files: Path | None, summary: bool) -> None:
    """A self-test gives no verdict; files left from an earlier gate would pass for its own."""
    named = [str(path) for path in files if path is not None] + (["the step's summary"] if summary else [])
    if named:
        raise InputError(
            f"--self-test writes no {', '.join(named)}",
            remedy="Leave the output options out, or leave out --self-test.",
        )


def _self_test(surface: Surface, one: Reading, other: Reading, replays: int, options: GateOptions) -> None:
    found = self_test(one, other, replays=replays, options=options)
    surface.result(found.as_json(), "\n".join([f"Between {one.name} and {other.name}:", *found.sentences()]))


def _two(place: Lookup, run: str, baseline: str) -> tuple[Reading, Reading]:
    """Two repeats of the run where it has some that differ, else the baseline and the run."""
    repeats = place.repeats(run)
    if len(repeats) > 1 and repeats[0].outcomes != repeats[1].outcomes:
        return repeats[0], repeats[1]
    return place.baseline(baseline), place.run(run)
