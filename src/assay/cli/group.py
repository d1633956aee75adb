"""The group of all commands: it lists them without loading them, and loads a command when it is used.

`COMMANDS` is what `assay --help` shows, panel by panel. A command's module is imported when the command runs, when its
own help is shown, or when something goes through all commands; so a module may import at its top what it needs.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup


class Entry(NamedTuple):
    """A command as `assay --help` lists it."""

    name: str
    help: str
    """The first paragraph of the command's own help; a test compares them."""
    module: str = ""
    """The module below `cli/commands`, where it is not named like the command."""


COMMANDS: Mapping[str, tuple[Entry, ...]] = {
    "Memory": (
        Entry(
            "save",
            "Keep a memory: masked, scored, compared with what is like it, then stored, merged or turned away.",
            module="memories",
        ),
        Entry(
            "update",
            "Change a memory: a new version takes its place and keeps what is not given. Undo: assay restore OLD-ID.",
            module="memories",
        ),
        Entry("search", "Find memories: a ranked list, what every result was found by, and how its score was made."),
        Entry(
            "ask",
            'Answer a question from the memory, with citations or an honest "not answered", and score every step.',
        ),
        Entry("list", "List memories, newest first: id, status, tier, folder, date and title.", module="memories"),
        Entry(
            "show",
            "Show a memory with its chunks, facts, edges, versions and the decisions that led to it.",
            module="memories",
        ),
        Entry(
            "tier",
            "Change the tier of a memory in place: critical ranks a little higher, deprecated is served last.",
            module="memories",
        ),
        Entry(
            "ingest",
            "Take in documents: new and changed ones only, in batches that survive an interruption.",
            module="documents",
        ),
        Entry(
            "import",
            "Import memories from mem0, MCP server-memory, ChatGPT, Obsidian, Markdown, JSONL or an Assay export.",
            module="documents",
        ),
        Entry(
            "export",
            "Export memories: as JSONL with every version, state, edge and date, or as Markdown notes.",
            module="documents",
        ),
        Entry(
            "audit",
            "Audit a memory store of another tool: what is wrong with it, with evidence. The store is only read.",
        ),
        Entry(
            "repair",
            "Apply a repair plan to a copy of the audited store, and audit the copy. The store is only read.",
            module="audit",
        ),
        Entry("link", "Join two memories: the first caused, enabled, supports, ... the second.", module="memories"),
        Entry(
            "why",
            "Show what caused, enabled or supports a memory, and the reasons behind those.",
            module="memories",
        ),
        Entry(
            "restore",
            "Bring back a forgotten, quarantined or superseded memory, or take a merge apart; later saves stay.",
            module="memories",
        ),
        Entry(
            "health",
            "Ask every channel for something it must find, and show indexes, gate, learning, tests and drift.",
            module="setup",
        ),
        Entry("flag", "Switch features on and off, and see where each value comes from."),
        Entry("index", "Look after the derived indexes.", module="setup"),
        Entry("tune", "Measure what a setting should be."),
        Entry("session", "Look at sessions: searches, reads, verdicts, tasks.", module="sessions"),
        Entry(
            "attribution",
            "Show what each channel gave to the searches of use: results it found, alone, and of those that were used.",
            module="sessions",
        ),
        Entry("task", "Say what is known before a task and after it.", module="sessions"),
    ),
    "Feedback and learning": (
        Entry(
            "validate",
            "Say that a memory was useful (+0.10 confidence) or was not (-0.05); often enough, it rises a tier.",
            module="feedback",
        ),
        Entry(
            "rate",
            "Say that an answer was useful or was not: it counts for the memories that it cites.",
            module="feedback",
        ),
        Entry(
            "observe",
            "Record what an agent read or wrote in a session, as feedback on its searches.",
            module="feedback",
        ),
        Entry("learn", "See, approve and take back what was learned from use."),
    ),
    "Evaluation": (
        Entry(
            "start",
            "Go from your documents to questions, a dataset, a first run, a baseline and a gate; goes on where it was.",
        ),
        Entry("dataset", "Bring in, check, split and write golden datasets."),
        Entry("traces", "Bring in traces of other systems, check them, let scores leave."),
        Entry("run", "Run systems over a dataset and measure them; every case is kept, so a stopped run can go on."),
        Entry("measure", "Measure run files against judgments; compare two or more of them query by query."),
        Entry("metrics", "List every metric, or show one with its formula, source, parameters and a worked example."),
        Entry(
            "compare",
            "Compare runs query by query: differences with intervals, biggest movers, list agreement, latency.",
        ),
        Entry("bench", "Compare memory systems on the same texts and questions, and check what others publish."),
        Entry("gate", "Hold a run against its floors and its baseline; exit 0 passed, 1 a regression, 2 undecided."),
        Entry("baseline", "Keep the run that later ones are held against."),
        Entry("report", "Write a run's report, or explain where queries lost their evidence."),
        Entry("judge", "Judge answers, and find out how far the judge can be trusted."),
        Entry("experiment", "Try a change against what is in force, and keep what came of it."),
        Entry("label", "Label question by question in the terminal; goes on where it was stopped."),
        Entry("judgments", "Grade what searches found, collect what use says, and see which grades count for what."),
        Entry("simulate", "Try a policy on simulated users.", module="experiment"),
    ),
    "Live trials": (
        Entry("variant", "Define other configurations and systems, to compare them with what is served."),
        Entry("shadow", "See what a change would do, without showing it to anybody."),
        Entry("ladder", "Take a change up step by step, and down again when it breaks."),
    ),
    "Analysis and prompts": (
        Entry("analyze", "Sum up answered questions, find what low scores have in common, and suggest what to change."),
        Entry("prompts", "Look at prompts, change them, take changes back, compare."),
    ),
    "Setup, maintenance and serving": (
        Entry("demo", "Evaluate two configurations on the hotel dataset: compare, gate, explain, and write a report."),
        Entry("init", "Make the store (or bring an older one up to date) and say where it is.", module="setup"),
        Entry("config", "Show every setting with its value and its origin.", module="setup"),
        Entry(
            "trust",
            "Show what a settings file requests (addresses, key variables, programs), and approve it on confirmation.",
            module="setup",
        ),
        Entry(
            "doctor",
            "Look at SQLite, disk, store, embedder and optional parts, and say what each finding means.",
            module="setup",
        ),
        Entry("checkpoint", "Copy the whole store, and bring it back."),
        Entry(
            "move",
            "Move the whole store to PostgreSQL, or back to a file: every row, verified; the store is only read.",
        ),
        Entry("retention", "Keep the log small: archive old searches, bring them back.", module="erasure"),
        Entry(
            "forget",
            "Erase for good: rows, words, vectors, logs, archives and index files; then search the files for it.",
            module="erasure",
        ),
        Entry(
            "rescan", "Look for secrets in everything that is stored, by the rules of this version.", module="erasure"
        ),
        Entry("serve", "Serve the HTTP API and the dashboard until stopped (Ctrl-C, SIGTERM).", module="serving"),
        Entry("tenant", "See which tenants the store has.", module="access"),
        Entry(
            "token", "Let others reach `assay serve` and `assay mcp --http`, and stop letting them.", module="access"
        ),
        Entry(
            "audit-log",
            "List the audit log, newest first, and check that no entry was changed or removed.",
            module="access",
        ),
        Entry(
            "mcp",
            "Serve the memory to agents (MCP); tokens of `assay token create`, or ASSAY_MCP_TOKEN, open --http.",
            module="serving",
        ),
        Entry("help", "Show the help of the program, or of a command: `assay help run`."),
        Entry("version", "Show the versions of Assay and of the libraries it uses."),
    ),
}
"""Every command, by the title of its panel."""
_ENTRIES = {entry.name: entry for entries in COMMANDS.values() for entry in entries}


def load_command(name: str) -> Any:
    """Import a command's module and build the command."""
    entry = _ENTRIES[name]
    module = import_module(f"assay.cli.commands.{entry.module or entry.name}")
    app = typer.Typer()
    module.register(app)
    return typer.main.get_group(app).commands[name]


class LazyCommands(MutableMapping[str, Any]):
    """The commands by name; one that is looked up is loaded, and its name alone costs nothing."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = load_command(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in _ENTRIES or name in self._loaded

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*_ENTRIES, *self._loaded]))

    def __len__(self) -> int:
        return len(_ENTRIES.keys() | self._loaded.keys())


class LazyGroup(TyperGroup):
    """A group whose commands are loaded when they are used."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LazyCommands()

    def _as_listed(self) -> TyperGroup:
        """Return this group with commands that have a name, a help text and a panel, and nothing behind them."""
        listed = copy.copy(self)
        listed.commands = {
            entry.name: TyperCommand(entry.name, help=entry.help, rich_help_panel=panel)
            for panel, entries in COMMANDS.items()
            for entry in entries
        }
        return listed

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help without loading a command."""
        TyperGroup.format_help(self._as_listed(), ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the name of a command without loading one."""
        ctx.command = self._as_listed()
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            ctx.command = self
