"""What a command talks to: the settings that the common options lead to, and how a result is shown.

A command is a function whose first parameter is a `Surface`; `command` gives it the common options. They may stand
before or after the command's name. With `--json` the result is one JSON document on standard output and nothing else.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from assay.access import Access, Grant
from assay.cli.options import Common, print_json, shape
from assay.network import OFFLINE_VARIABLE
from assay.records import Scope
from assay.settings import CONFIG_VARIABLE, LoadedSettings, Settings, load_settings
from assay.verbs import Caller, Verb
from assay.verbs import Surface as VerbSurface
from assay.verbs.verb import Progress, report_nothing
from assay.wiring import open_engine, scope_of

if TYPE_CHECKING:
    from assay.memory.engine import Engine
    from assay.records.run_results import Caveat
    from assay.research.events import Listen
    from assay.work.jobs import Executor

R = TypeVar("R")

MOST_REASONS = 5
"""Reasons why metrics do not apply that are printed without --verbose."""


class Surface:
    """What a command talks to."""

    def __init__(self, common: Common) -> None:
        self.common = common

    @cached_property
    def loaded(self) -> LoadedSettings:
        """The settings with their origins."""
        self._export()
        loaded = load_settings(options={"db": self.common.db, "tenant": self.common.tenant})
        if loaded.settings.withheld:
            keys = ", ".join(loaded.settings.withheld)
            self.progress(f"{loaded.file} is not approved, so it cannot set {keys}. See: assay trust {loaded.file}")
        return loaded

    def _export(self) -> None:
        """Put --config and --offline into the environment: they hold for all of this process and those it starts.

        Systems under test and serving processes read the settings anew.
        """
        if self.common.config is not None:
            os.environ[CONFIG_VARIABLE] = str(self.common.config.absolute())
        if self.common.offline:
            os.environ[OFFLINE_VARIABLE] = "1"

    @property
    def settings(self) -> Settings:
        """The settings."""
        return self.loaded.settings

    @property
    def scope(self) -> Scope:
        """Whose rows are meant."""
        return scope_of(self.settings, via="command line")

    @cached_property
    def console(self) -> Console:
        """Standard output; colours only where it is a terminal, and stored text is never read as markup."""
        return Console(highlight=False, markup=False, emoji=False)

    def progress(self, text: str) -> None:
        """Say on standard error what a long command is about to do; not with --quiet, not with --json."""
        if not self.common.quiet and not self.common.json:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def note(self, text: str) -> None:
        """Something nice to know: not with --quiet, not with --json."""
        if not self.common.quiet and not self.common.json:
            self.console.print(text, soft_wrap=True)

    def caveats(self, caveats: Sequence[Caveat], *, about: str = "") -> None:
        """Print what must be known beside the numbers just shown; not with --json, whose document has it already.

        Unlike notes they are printed with --quiet too. Many reasons why metrics do not apply become one line, unless
        --verbose is given.
        """
        if self.common.json:
            return
        from assay.records.run_results import CaveatKind  # noqa: PLC0415 - most commands have no run to speak of

        folded = [caveat for caveat in caveats if caveat.kind is CaveatKind.NOT_APPLICABLE]
        if self.common.verbose or len(folded) <= MOST_REASONS:
            folded = []
        sentences = [caveat.sentence for caveat in caveats if caveat not in folded]
        if folded:
            sentences.append(f"Some metrics do not apply to some cases, for {len(folded)} reasons: see --verbose.")
        for sentence in sentences:
            self.console.print(f"{about}: {sentence}" if about else sentence, soft_wrap=True)

    def caller(self, engine: Engine | None, command: str) -> Caller:
        """Return the caller of verbs for this terminal: a person who may do everything in this store."""
        grant = Grant(scope=self.scope, access=Access.OPERATOR, person=True)
        return Caller(
            opened=engine,
            settings=self.settings,
            grant=grant,
            surface=VerbSurface.COMMAND_LINE,
            via=f"assay {command}",
        )

    def call(
        self,
        verb: Verb[Any, R],
        *,
        create: bool = False,
        run_once: bool = False,
        listen: Listen | None = None,
        progress: Progress | None = None,
        executor: Executor | None = None,
        **given: Any,
    ) -> R:
        """Call a verb on the store of the settings; `create` makes the store if there is none.

        `run_once` is for what ends with this process (see `open_engine`); `listen` is told of the steps of a question,
        `progress` of how far the work is. An `executor` embeds, where one is given.
        """
        request = verb.make(given)
        spread = None
        if executor is not None:
            from assay.wiring import spread_embedder  # noqa: PLC0415 - loads what runs and clusters need

            spread = spread_embedder(self.settings, executor)
        with open_engine(self.settings, create=create, run_once=run_once, embedder=spread) as engine:
            caller = self.caller(engine, verb.command)
            return verb.call(replace(caller, listen=listen, progress=progress or report_nothing), request)

    def call_unopened(self, verb: Verb[Any, R], **given: Any) -> R:
        """Call a verb that needs no opened store: there may be none, or one that cannot be opened."""
        return verb.call(self.caller(None, verb.command), verb.make(given))

    def call_with_executor(self, verb: Verb[Any, R], executor: Executor | None, **given: Any) -> R:
        """Call a verb that needs no opened store and whose work others may do."""
        return verb.call(replace(self.caller(None, verb.command), executor=executor), verb.make(given))

    def show(self, verb: Verb[Any, R], result: R, shown: RenderableType | str) -> None:
        """Print what a verb returned: its JSON, or something to read."""
        self.result(verb.to_json(result) if self.common.json else None, shown)

    def result(self, value: Any, shown: RenderableType | str) -> None:
        """The outcome: a JSON document for machines, or something to read."""
        if self.common.json:
            print_json(value)
        else:
            # A table fits itself to the screen; lines are for the terminal to wrap, and for pipes to keep whole.
            self.console.print(shown, soft_wrap=isinstance(shown, (str, Text)))


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command that also takes the common options."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(context: typer.Context, **given: Any) -> None:
            own = Common(**{field.name: given.pop(field.name) for field in fields(Common)})
            function(Surface(own.over(context.obj or Common())), **given)

        _surface, *own = inspect.signature(function, eval_str=True).parameters.values()
        return app.command(name)(shape(run, own))

    return register
