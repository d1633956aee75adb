"""The commands of the guide to clusters, as they stand there, on a free port."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "use-a-cluster.md"
WAIT_S = 300.0


def commands() -> list[str]:
    return re.findall(r"^\$ (.*)$", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_guide_has_its_commands() -> None:
    assert sum(command.startswith("dask ") for command in commands()) == 3
    assert sum("--cluster" in command for command in commands()) == 2


@pytest.mark.slow
def test_every_command_of_the_guide_runs(tmp_path: Path) -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    background: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands():
            words = shlex.split(command.replace("8786", str(port)).removesuffix("&"))
            if command.endswith("&"):
                with (tmp_path / f"log-{len(background)}").open("wb") as log:
                    background.append(subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=log, stderr=log))
                continue
            ended = _run(words, tmp_path, environment)
            assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
    finally:
        for process in background:
            process.terminate()
        for process in background:
            process.wait(30)
    kept = [len(path.read_text().splitlines()) for path in tmp_path.glob(".assay/runs/*/cases.jsonl")]
    assert kept == [20, 20]


def _run(words: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command; `assay doctor` again while workers are still on their way."""
    for _ in range(20):
        ended = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=WAIT_S
        )
        if ended.returncode == 0 or words[1] != "doctor":
            break
    return ended
