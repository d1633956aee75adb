"""Runs command lines in the environment under test, each in a process forked after the commands were loaded.

Reads a JSON list of steps on standard input and prints a JSON list of outcomes. It imports nothing but Assay and the
standard library: it runs where the test tools are not installed.
"""

import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from assay.cli.group import COMMANDS, load_command
from assay.cli.main import main

SECONDS = 120
LOADED = np.__name__
"""In every environment, and slow to load: each child has it from the start."""


def load_commands() -> None:
    """Load what can be loaded here of every command, so that children need not read the same modules again.

    What needs a part that is missing fails here as it fails in the child, which tells the user.
    """
    for entries in COMMANDS.values():
        for entry in entries:
            with suppress(Exception):
                load_command(entry.name)


def run_step(step: dict[str, Any]) -> dict[str, Any]:
    """Run one command line in a child; its exit code, what it printed, and how long it took."""
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        _become(step)
    _, status = os.waitpid(child, 0)
    told = {name: Path(f"{name}.txt").read_text(encoding="utf-8") for name in ("stdout", "stderr")}
    return {"code": os.waitstatus_to_exitcode(status), "seconds": time.monotonic() - begun, **told}


def _become(step: dict[str, Any]) -> NoReturn:
    signal.alarm(SECONDS)
    Path("stdin.txt").write_text(step.get("stdin", ""), encoding="utf-8")
    for number, name, flags in (
        (0, "stdin.txt", os.O_RDONLY),
        (1, "stdout.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, "stderr.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        os.dup2(os.open(name, flags, 0o600), number)
    try:
        main(step["arguments"])
    except SystemExit as ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code if isinstance(ended.code, int) else 0)
    os._exit(99)


if __name__ == "__main__":
    load_commands()
    json.dump([run_step(step) for step in json.load(sys.stdin)], sys.stdout)
