"""The egress program sees what tries to get out, by whichever way it can look, and covers every command."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from reliability.egress import EgressOutcome, watch
from reliability.egress_commands import COMMANDS, Command, CommandFailedError, Workplace
from reliability.outcome import broken
from reliability.shim.network import compile_network_shim, read_attempts, recording

from assay.cli.main import app
from reliability import isolation, shim

HELD = EgressOutcome(
    commands=("save",),
    failed=(),
    attempts=(),
    unrouted=0,
    ways=("shim",),
    control={"shim": 4},
    left=(),
    seconds=1.0,
)


def run_python(place: Workplace, program: str) -> None:
    subprocess.run([sys.executable, "-c", program], env=dict(place.environment), check=True, cwd=place.folder)


def attempt(program: str) -> Command:
    """A command that runs a program and swallows its error."""
    lines = "import socket\ntry:\n    " + program + "\nexcept OSError: pass"
    return Command(name="try", act=lambda place: run_python(place, lines))


def fail(_: Workplace) -> None:
    raise CommandFailedError("exit 4")


def test_a_way_of_looking_is_there() -> None:
    """Without a compiler and without namespaces the program could prove nothing, and this suite neither."""
    assert shim.missing() is None or isolation.missing() is None


@pytest.mark.parametrize(
    ("program", "seen"),
    [
        ("socket.create_connection(('192.0.2.7', 443), timeout=2)", "try: connect 192.0.2.7 port 443"),
        ("socket.getaddrinfo('telemetry.invalid', 443)", "try: getaddrinfo telemetry.invalid"),
        ("socket.gethostbyaddr('192.0.2.7')", "try: gethostbyaddr 192.0.2.7"),
        (
            "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.7', 53))",
            "try: sendto 192.0.2.7 port 53",
        ),
        (
            "socket.socket(type=socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('192.0.2.7', 53))",
            "try: sendmsg 192.0.2.7 port 53",
        ),
    ],
)
@pytest.mark.skipif(shim.missing() is not None, reason=str(shim.missing()))
def test_each_way_out_is_recorded_and_refused(tmp_path: Path, program: str, seen: str) -> None:
    found = watch(tmp_path, (attempt(program),), isolated=False)
    assert found.attempts == (seen,)
    assert [check.promise for check in broken(found)] == [
        "0 attempts to connect, send or look up a name beyond this machine"
    ]


@pytest.mark.skipif(shim.missing() is not None, reason=str(shim.missing()))
def test_what_stays_on_this_machine_is_not_recorded(tmp_path: Path) -> None:
    library, log = compile_network_shim(tmp_path), tmp_path / "log"
    program = (
        "import socket\n"
        "with socket.create_server(('127.0.0.1', 0)) as server:\n"
        "    socket.create_connection(('localhost', server.getsockname()[1])).close()\n"
        "one, other = socket.socketpair()\n"
        "one.sendmsg([b'x'])\n"
        "socket.getaddrinfo('192.0.2.7', 80)\n"
    )
    run_python(Workplace(folder=tmp_path, environment=recording(library, log)), program)
    assert read_attempts(log) == []


def test_a_file_left_in_the_home_folder_is_noticed(tmp_path: Path) -> None:
    program = "import os, pathlib; pathlib.Path(os.environ['HOME'], 'deviceid').write_text('x')"
    found = watch(tmp_path, (Command(name="mark", act=lambda place: run_python(place, program)),), isolated=False)
    assert found.left == ("deviceid",)


def test_a_command_that_fails_proves_nothing(tmp_path: Path) -> None:
    assert watch(tmp_path, (Command(name="fail", act=fail),), isolated=False).failed == ("fail: exit 4",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"attempts": ("save: connect 192.0.2.1 port 9",)},
        {"unrouted": 1},
        {"left": ("deviceid",)},
        {"failed": ("save: exit 4",)},
        {"ways": (), "control": {}},
        {"control": {"shim": 4, "namespace": 0}},
    ],
)
def test_whatever_is_wrong_breaks_the_promise(wrong: dict[str, object]) -> None:
    assert broken(HELD) == []
    assert broken(replace(HELD, **wrong)) != []  # type: ignore[arg-type]


def test_every_command_of_the_command_line_is_watched() -> None:
    group = typer.main.get_command(app)
    known = set(group.commands)  # type: ignore[attr-defined]
    assert {command.name.split()[0] for command in COMMANDS} == known
