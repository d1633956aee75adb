"""A disk that can be watched and made to fail: a small C library preloaded into one child process.

`compiled` builds it with the machine's C compiler; `environment` is what the child is started with; `control` arms and
disarms faults from inside the child; `disk` rebuilds what would be left after a power cut. Linux only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("assay_shim.c")
ROOT = Path(__file__).parent.parent.parent


def missing() -> str | None:
    """Why the shim cannot be used here, with the remedy; None when it can."""
    if sys.platform != "linux":
        return "the shim needs Linux (LD_PRELOAD and /proc); run this program there"
    if shutil.which("cc") is None:
        return "no C compiler is installed; install one (Debian: apt install gcc libc6-dev)"
    return None


def compiled(folder: Path) -> Path:
    """The library, built into a folder."""
    library = folder / "assay_shim.so"
    flags = ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "-o", str(library), str(SOURCE)], check=True)
    return library


def environment(library: Path, folder: Path, **more: Path) -> dict[str, str]:
    """What a child is started with so that files under a folder pass through the shim."""
    return {
        **os.environ,
        "LD_PRELOAD": str(library),
        "PYTHONPATH": str(ROOT),
        "ASSAY_SHIM_FOLDER": str(folder.resolve()),
        **{f"ASSAY_SHIM_{name.upper()}": str(path) for name, path in more.items()},
    }


def run_child(module: str, arguments: list[str], environment: dict[str, str], seconds: float) -> None:
    """Run a module of this package in a process under the shim, to its end."""
    command = [sys.executable, "-m", module, *arguments]
    subprocess.run(command, env=environment, cwd=ROOT, check=True, timeout=seconds)
