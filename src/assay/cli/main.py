"""The entry of the command line: the program's own options, and the one way an error ends.

Exit codes: 0 done or passed, 1 a regression, 2 inconclusive or nothing to measure, 3 wrong use, 4 the store or the
program failed, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from assay.cli.group import LazyGroup, load_command
from assay.cli.interrupts import INTERRUPTED, INTERRUPTED_NOTE
from assay.cli.options import Common, print_json, with_common
from assay.errors import AssayError, InputError
from assay.extras import missing_extra

app = typer.Typer(
    name="assay",
    cls=LazyGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


VersionOption = Annotated[bool, typer.Option("--version", help="Show the version and end.")]


@app.callback(invoke_without_command=True)
@with_common
def _root(context: typer.Context, show_version: VersionOption = False, **given: Any) -> None:
    """Measure, explain and safely improve what an agent remembers and what a RAG system retrieves."""
    context.obj = Common(**given)
    if show_version:
        version = load_command("version")
        version.invoke(version.make_context("version", [], parent=context))
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and leave with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(args=given, prog_name="assay", standalone_mode=False)
    except AssayError as problem:
        code = _tell(problem, given)
    except typer.TyperException as problem:
        wrong = _usage(problem)
        if "gate" in given:
            from assay.cli.commands import gate  # noqa: PLC0415 - a command is loaded when it is used

            gate.tell_files_of_usage_error(given, wrong)
        code = _tell(wrong, given)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; say nothing more, also not while Python shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except ModuleNotFoundError as problem:
        # A part that is not installed is the user's choice, not a fault of the program.
        code = _tell(missing_extra(problem) or _internal(problem), given)
    except Exception as problem:  # noqa: BLE001 - the last line of defence: a sentence instead of a traceback
        code = _tell(_internal(problem), given)
    if code == INTERRUPTED:
        sys.stderr.write(INTERRUPTED_NOTE)
    sys.exit(code if isinstance(code, int) else 0)


def _usage(problem: typer.TyperException) -> InputError:
    context = getattr(problem, "ctx", None)
    path = context.command_path if context is not None else "assay"
    # A group without a command has printed its help and says nothing more.
    message = problem.format_message().rstrip(".") or f"`{path}` needs the name of a command"
    return InputError(message, remedy=f"See `{path} --help`.")


def _internal(problem: Exception) -> AssayError:
    text = str(problem).strip() or type(problem).__name__
    failure = AssayError(
        f"Assay itself failed: {type(problem).__name__}: {text}",
        remedy="This is a bug. Run the command again with --verbose and report what it prints.",
    )
    failure.__cause__ = problem
    return failure


def _tell(problem: AssayError, given: Sequence[str]) -> int:
    if "--json" in given:
        print_json(problem.as_json())
    else:
        console = Console(stderr=True, highlight=False)
        console.print(Text.assemble(("error", "bold red"), f"  {problem.message}"), soft_wrap=True)
        console.print(Text.assemble(("  try", "bold"), f"  {problem.remedy}"), soft_wrap=True)
    if "--verbose" in given or "-v" in given:
        traceback.print_exception(problem)
    return problem.exit_code
