"""Writes the generated pages: `python -m docs.generate` (or `make docs`). A test fails when one is stale.

`reference/cli.md` comes from the commands' own help, `settings.md` from the table of settings, `errors.md` from the
error tree, `tables.md` from the schema, `mcp.md` from the table of tools, `http.md` from the routes of the API,
`acts.md` from the table of acts, the import table of `architecture.md` from what the test enforces, its walks from
`docs/walks.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from tests.architecture import LAYERS, OPEN_TO_ALL

import assay
from assay import errors, extend, statistics, testing
from assay.access import ACTS, Policy
from assay.access.policies import PUBLIC
from assay.cli.main import app
from assay.mcp.tools import TOOLS
from assay.metrics.catalog import reference_markdown
from assay.server.application import RESOURCES
from assay.settings import APPROVALS, KNOWN, Approval, fit_to_show
from assay.storage.tables import metadata
from docs.walks import SOURCE, WALKS, Walk

DOCS = Path(__file__).parent
MADE = "<!-- Made by `make docs`. Do not edit. -->"


def pages() -> dict[Path, str]:
    """Every generated page and its text."""
    reference = DOCS / "reference"
    return {
        reference / "cli.md": _cli(),
        reference / "settings.md": _settings(),
        reference / "errors.md": _errors(),
        reference / "tables.md": _tables(),
        reference / "metrics.md": f"{reference_markdown().rstrip()}\n\n{MADE}\n",
        reference / "python.md": _python(),
        reference / "mcp.md": _mcp(),
        reference / "http.md": _http(),
        reference / "acts.md": _acts(),
        DOCS / "architecture.md": _architecture(),
    }


def _cli() -> str:
    lines = [f"# Commands\n\n{MADE}\n", "Every command takes the common options, before or after its name:\n"]
    root = typer.main.get_command(app)
    lines += _options(root, skip=("help", "install_completion", "show_completion"))
    lines.append("\nExit codes: 0 done or passed, 1 regression, 2 inconclusive or nothing to measure, 3 wrong use,")
    lines.append("4 the store or the program failed, 130 interrupted.\n")
    common = tuple(parameter.name or "" for parameter in root.params)
    for name, command in _commands(root, "assay"):
        lines += [f"## `{name}`\n", f"{(command.help or '').strip()}\n"]
        lines += _options(command, skip=(*common, "help"))
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _options(command: Any, skip: tuple[str, ...]) -> list[str]:
    shown = [parameter for parameter in command.params if parameter.name not in skip]
    return [f"- `{_spelling(parameter)}`: {(parameter.help or '').strip()}" for parameter in shown]


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    return ", ".join(parameter.opts)


def _http() -> str:
    lines = [f"# HTTP API\n\n{MADE}\n"]
    lines.append("`GET /api/openapi.json` of a running server describes every field, with examples.\n")
    for resource in RESOURCES:
        lines += [
            f"## {resource.tag}: `{resource.prefix or '/'}`\n",
            "| route | act | access | what it does |",
            "| --- | --- | --- | --- |",
        ]
        lines += [
            f"| `{route.method} {route.path}` | `{route.act.name}` | {_access(route.act.policy)} | "
            f"{_said(route.handler)} |"
            for route in resource.routes
        ]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _acts() -> str:
    lines = [
        f"# Acts\n\n{MADE}\n",
        "What a caller can ask a server for, and the access each act needs: over HTTP, on pages and over MCP alike.",
        "Each access includes the ones before it: read, write, admin (of one tenant), operator (of the whole store).",
        "The person at the command line is the operator. [Serve](../guides/serve.md) says how to give access.\n",
        "| act | access | what it does | over HTTP | MCP tools |",
        "| --- | --- | --- | --- | --- |",
    ]
    for act in ACTS.values():
        routes = [f"`{route.method} {route.path}`" for one in RESOURCES for route in one.routes if route.act is act]
        tools = [f"`{tool.name}`" for tool in TOOLS if tool.act is act]
        lines.append(
            f"| `{act.name}` | {_access(act.policy)} | {act.does} | {'<br>'.join(routes)} | {'<br>'.join(tools)} |"
        )
    return "\n".join(lines) + "\n"


def _access(policy: Policy) -> str:
    return "everybody" if policy is PUBLIC else policy.access.value


def _said(handler: Any) -> str:
    return (inspect.getdoc(handler) or "").splitlines()[0].replace("|", "\\|")


def _settings() -> str:
    lines = [
        f"# Settings\n\n{MADE}\n",
        "Options win over the environment, that over `assay.toml`, that over the default.",
        "`assay config` shows each value and where it came from; `assay init --settings-file` writes a file.\n",
        "A file found in or above the working folder needs approval (`assay trust`) for what the last column says:",
        "[privacy](../guides/privacy.md).\n",
        "| key in `assay.toml` | variable | value | default | meaning | needs approval |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in KNOWN:
        default = (
            "the user's data folder"
            if one.key == "db"
            else ""
            if one.default is None or one.default == ()
            else f"`{fit_to_show(one.default)}`"
        )
        # A KeyError here means: add the new setting to APPROVALS.
        approval = "" if APPROVALS[one.key] is Approval.NEVER else APPROVALS[one.key].value
        meaning = one.meaning.replace("|", "\\|")
        lines.append(f"| `{one.key}` | `{one.variable}` | {one.kind} | {default} | {meaning} | {approval} |")
    return "\n".join(lines) + "\n"


def _errors() -> str:
    lines = [
        f"# Errors\n\n{MADE}\n",
        "Every error names the value and the remedy. On every surface it has one shape:",
        '`{"error": {"code": ..., "message": ..., "remedy": ...}}`.\n',
        "| code | exit | what happened |",
        "| --- | --- | --- |",
    ]
    for kind in _family(errors.AssayError):
        code = kind("", remedy="").code
        lines.append(f"| `{code}` | {kind.exit_code} | {(inspect.getdoc(kind) or '').splitlines()[0]} |")
    return "\n".join(lines) + "\n"


def _family(kind: type[errors.AssayError]) -> Iterator[type[errors.AssayError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _family(child)


def _tables() -> str:
    lines = [
        f"# Tables\n\n{MADE}\n",
        "The same on SQLite and PostgreSQL. Times are UTC text, JSON is canonical text.\n",
    ]
    for table in metadata.sorted_tables:
        columns = ", ".join(f"`{column.name}`" for column in table.columns)
        lines.append(f"- **{table.name}**: {columns}")
    return "\n".join(lines) + "\n"


def _python() -> str:
    lines = [
        f"# Python\n\n{MADE}\n",
        "The public names of `assay`, `assay.extend`, `assay.statistics` and `assay.testing`.\n",
    ]
    for module in (assay, extend, statistics, testing):
        lines.append(f"## {module.__name__}\n")
        lines += [_entry(name, getattr(module, name)) for name in module.__all__]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _entry(name: str, thing: object) -> str:
    """One line: how it is called, and the first sentence of what it says of itself."""
    if not inspect.isfunction(thing) and not inspect.isclass(thing):
        return f"- `{name}`: {thing!r:.120}"
    called = str(inspect.signature(thing)) if inspect.isfunction(thing) else ""
    return f"- `{name}{called}`: {(inspect.getdoc(thing) or '').splitlines()[0]}"


def _mcp() -> str:
    lines = [
        f"# MCP tools\n\n{MADE}\n",
        "What `assay mcp` offers; [guides/mcp.md](../guides/mcp.md) says how to use it.",
        "Each tool is an act of the [table of acts](acts.md), with the same access as over HTTP.",
        "With `--read-only` nothing is left but what needs `read`.",
        "Resources: `health://`, `memory://ID`. Prompt: `save_what_we_learnt`.\n",
    ]
    for tool in TOOLS:
        lines += [f"## `{tool.name}`\n", f"{tool.description}\n"]
        lines.append(f"Act: `{tool.act.name}` (needs {tool.policy.access.value}).\n")
        lines += [
            f"- `{name}`{' (required)' if field.is_required() else ''}: {field.description}"
            for name, field in tool.arguments.model_fields.items()
        ]
        lines.append(f"- gives: {', '.join(f'`{name}`' for name in tool.output_schema()['properties'])}\n")
    return "\n".join(lines).rstrip() + "\n"


def _architecture() -> str:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    page = _replace_section(page, "import table", _import_table())
    return _replace_section(page, "walks", "\n".join(_walk(walk) for walk in WALKS))


def _replace_section(page: str, name: str, text: str) -> str:
    """Return a page with a new text between the two comments that mark a section."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{MADE}\n\n{text.strip()}\n{end}{after}"


def _import_table() -> str:
    rows = ["| folder | what it is for | may import |", "| --- | --- | --- |"]
    for layer in LAYERS:
        allowed = ", ".join(f"`{name}`" for name in sorted(layer.may_import)) or "-"
        rows.append(f"| `{layer.name}` | {layer.purpose} | {allowed} |")
    rows.append(f"\nOpen to all: {', '.join(f'`{name}`' for name in sorted(OPEN_TO_ALL))}.")
    return "\n".join(rows)


def _walk(walk: Walk) -> str:
    """Return the steps of a walk as a table, each with a link to its line."""
    folders = " → ".join(f"`{layer}`" for layer in walk.layers)
    lines = [f"### {walk.title}: {walk.begins_with}\n", f"Folders, in the order they are entered: {folders}.\n"]
    lines += ["| step | file and line | function | called by | what happens |", "| --- | --- | --- | --- | --- |"]
    for number, step in enumerate(walk.steps):
        inner = step.path.relative_to(SOURCE / "assay").as_posix()
        place = f"[{inner}:{step.line()}](../src/assay/{inner}#L{step.line()})"
        caller = walk.caller_of(number)
        calls = "" if caller is None else str(walk.steps.index(caller) + 1)
        lines.append(f"| {number + 1} | {place} | `{step.name}` | {calls} | {step.does} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write what is stale."""
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
