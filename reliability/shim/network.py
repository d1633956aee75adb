"""The library that records and refuses whatever would leave the machine: built, preloaded, and its log read."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("network_shim.c")
LOG_VARIABLE = "NETWORK_SHIM_LOG"


class Attempt(NamedTuple):
    """One attempt to reach something beyond this machine."""

    call: str
    """The function of the C library, such as `connect` or `getaddrinfo`."""
    target: str
    """An address with its port, or a name."""


def compile_network_shim(folder: Path) -> Path:
    """Build the library into a folder."""
    library = folder / "network_shim.so"
    flags = ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "-o", str(library), str(SOURCE), "-ldl"], check=True)
    return library


def recording(library: Path, log: Path) -> dict[str, str]:
    """The variables with which a process, and all it starts, is watched."""
    return {"LD_PRELOAD": str(library), LOG_VARIABLE: str(log)}


def read_attempts(log: Path) -> list[Attempt]:
    """What was attempted; a log that was never written says nothing was."""
    if not log.is_file():
        return []
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [Attempt(*line.split("\t")[1:3]) for line in lines]
