"""Commands run as real processes, every attempt to reach something beyond this machine recorded: there must be none.

Two ways of looking. A preloaded library (`shim/network_shim.c`) records connecting, sending and looking up names, by
whatever library. Where the kernel permits it, all of it happens in a network namespace without routes, whose counters
also see what goes around the C library (`isolation`). One of them has to be there, and each is shown a control process
that does try to reach something: a way that does not see it proves nothing.

What the commands leave in the home folder is looked at as well: device ids and queues of events would lie there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reliability import isolation, shim
from reliability.egress_commands import COMMANDS, Command, CommandFailedError, Workplace, inherited, prepare
from reliability.outcome import Check, at_least, none_of
from reliability.shim import ROOT
from reliability.shim.network import compile_network_shim, read_attempts, recording

OWN_FOLDERS = (".local/share/assay", ".cache/assay", ".config/assay")
"""Where Assay keeps files below the home folder."""
CONTROL = """
import socket
def attempt(act):
    try:
        act()
    except OSError:
        pass
attempt(lambda: socket.create_connection(("192.0.2.1", 9), timeout=2))
attempt(lambda: socket.getaddrinfo("egress-control.invalid", 80))
attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 9)))
attempt(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", ("2001:db8::1", 9)))
"""
"""Tries to reach addresses that are set aside for documentation, and a name that cannot exist."""
CONTROL_ATTEMPTS = 3
"""At least: a machine without IPv6 cannot make the last of the four."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EgressOutcome:
    """What was run, and what it tried to reach."""

    commands: tuple[str, ...]
    failed: tuple[str, ...]
    """Commands that did not do their work, with the reason."""
    attempts: tuple[str, ...]
    """Each attempt with the command that made it."""
    unrouted: int
    """What the kernel counted besides, where there was a namespace."""
    ways: tuple[str, ...]
    """How it was looked: `shim`, `namespace`."""
    control: dict[str, int]
    """Attempts of the control process that each way saw."""
    left: tuple[str, ...]
    """Files in the home folder outside Assay's own folders."""
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return (
            f"{len(self.commands)} commands run under {' and '.join(self.ways) or 'nothing'} "
            f"({', '.join(self.commands)}): {len(self.attempts) + self.unrouted} attempts to reach anything "
            f"beyond this machine; {self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        seen = min(self.control.values(), default=0)
        return (
            at_least("ways of looking", len(self.ways), 1),
            at_least("attempts of the control process seen, each way", seen, CONTROL_ATTEMPTS),
            none_of("commands that did not do their work", self.failed),
            none_of("attempts to connect, send or look up a name beyond this machine", self.attempts),
            none_of("packets without a route", self.unrouted),
            none_of("files left outside Assay's folders", self.left),
        )


def run(*, folder: Path, amount: int, isolated: bool | None = None) -> EgressOutcome:
    """Run the first commands of the list; in a network namespace where that is permitted, unless it is said."""
    folder.mkdir(parents=True, exist_ok=True)
    if isolated is None:
        isolated = isolation.missing() is None
    if not isolated:
        return watch(folder, COMMANDS[:amount], isolated=False)
    inside = [sys.executable, "-m", "reliability.egress", str(folder), str(amount)]
    done = subprocess.run([*isolation.ENTER, *inside], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    listed: dict[str, Any] = {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
    return EgressOutcome(**{**found, **listed})


def watch(folder: Path, commands: tuple[Command, ...], *, isolated: bool) -> EgressOutcome:
    """Run commands in this namespace; `isolated` says that it is one without routes."""
    began = time.monotonic()
    library = None if shim.missing() else compile_network_shim(folder)
    control = _control(folder, library, isolated=isolated)
    before = isolation.count_unrouted() if isolated else 0
    work, home = folder / "work", folder / "home"
    home.mkdir()
    prepare(work)
    failed, attempts = [], []
    for number, command in enumerate(commands):
        log = folder / f"attempts-{number}.log"
        watched = {} if library is None else recording(library, log)
        place = Workplace(folder=work, environment={**inherited(), "HOME": str(home), **watched})
        try:
            command.act(place)
        except (CommandFailedError, OSError, ValueError, LookupError, subprocess.SubprocessError) as problem:
            failed.append(f"{command.name}: {problem}")
        attempts += [f"{command.name}: {attempt.call} {attempt.target}" for attempt in read_attempts(log)]
    return EgressOutcome(
        commands=tuple(command.name for command in commands),
        failed=tuple(failed),
        attempts=tuple(attempts),
        unrouted=isolation.count_unrouted() - before if isolated else 0,
        ways=tuple(control),
        control=control,
        left=tuple(_strangers(home)),
        seconds=time.monotonic() - began,
    )


def _control(folder: Path, library: Path | None, *, isolated: bool) -> dict[str, int]:
    """What each way of looking sees of a process that does try to get out."""
    seen = {}
    if library is not None:
        log = folder / "control.log"
        _try_to_get_out(recording(library, log))
        seen["shim"] = len(read_attempts(log))
    if isolated:
        # Without the library, which would refuse before the kernel is asked.
        before = isolation.count_unrouted()
        _try_to_get_out({})
        seen["namespace"] = isolation.count_unrouted() - before
    return seen


def _try_to_get_out(watched: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", CONTROL], env={**inherited(), **watched}, check=True, timeout=60)


def _strangers(home: Path) -> list[str]:
    own = [home / name for name in OWN_FOLDERS]
    files = (path for path in sorted(home.rglob("*")) if path.is_file())
    return [str(path.relative_to(home)) for path in files if not any(path.is_relative_to(place) for place in own)]


if __name__ == "__main__":
    isolation.raise_loopback()
    print(json.dumps(asdict(watch(Path(sys.argv[1]), COMMANDS[: int(sys.argv[2])], isolated=True))))
