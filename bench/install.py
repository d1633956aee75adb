"""What an install costs: megabytes and seconds of the base, of [memory] and of [all], with pip and with uv.

    python -m bench.install [--python python3.12] [--choices base,memory,all] [--tools uv,pip]

Builds the wheel and installs it into new environments, twice with each tool: first with an empty cache (everything is
fetched from the package registry that pip is set up for), then with the cache of the first time. Sizes are of installed
files without compiled Python code, which pip writes and uv does not.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
CHOICES = {"base": "", "pdf": "[pdf]", "memory": "[memory]", "all": "[all]"}
UV = Path(sys.executable).parent / "uv"


class Install(NamedTuple):
    """One choice of extras, installed with one tool."""

    choice: str
    tool: str
    cold_s: float
    warm_s: float
    sizes: dict[str, float]
    """Megabytes of each package, the largest first."""


def package_size(package: Distribution) -> float:
    """Return the megabytes of a package's installed files, compiled Python code aside."""
    places = [Path(str(file.locate())) for file in package.files or () if file.suffix != ".pyc"]
    return sum(place.stat().st_size for place in places if place.is_file()) / 1_000_000


def measure_sizes(environment: Path) -> dict[str, float]:
    """Return the megabytes of each package of an environment, the largest first; what `venv` brings does not count."""
    folder = next((environment / "lib").glob("python*/site-packages"))
    sizes = {package.name: package_size(package) for package in distributions(path=[str(folder)])}
    chosen = [(name, size) for name, size in sizes.items() if name not in {"pip", "setuptools"}]
    return dict(sorted(chosen, key=lambda item: -item[1]))


def install(requirement: str, tool: str, python: str, cache: Path, environment: Path) -> float:
    """Install into a new environment and return the seconds, the making of the environment aside."""
    if tool == "pip":
        subprocess.run([python, "-m", "venv", str(environment)], check=True)
        command = [str(environment / "bin" / "pip"), "install", "--quiet", "--cache-dir", str(cache), requirement]
    else:
        subprocess.run([str(UV), "venv", "--quiet", "--python", python, str(environment)], check=True)
        command = [str(UV), "pip", "install", "--quiet", "--cache-dir", str(cache), requirement]
    begun = time.monotonic()
    subprocess.run(command, check=True, env={**os.environ, "VIRTUAL_ENV": str(environment)}, stderr=subprocess.PIPE)
    return time.monotonic() - begun


def measure(wheel: Path, choice: str, tool: str, python: str, folder: Path) -> Install:
    """Install one choice twice, with an empty and with a filled cache."""
    place = folder / f"{choice}-{tool}"
    requirement = f"assaykit{CHOICES[choice]} @ {wheel.as_uri()}"
    times = [install(requirement, tool, python, place / "cache", place / name) for name in ("cold", "warm")]
    sizes = measure_sizes(place / "warm")
    return Install(choice, tool, times[0], times[1], sizes)


def check(folder: Path, choice: str, tool: str) -> str:
    """Return what the installed command says of its version, so that an install that does not start is noticed."""
    program = folder / f"{choice}-{tool}" / "warm" / "bin" / "assay"
    return subprocess.run([str(program), "--version"], check=True, capture_output=True, text=True).stdout.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Install everything that was asked for and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--choices", default="base,memory,all")
    parser.add_argument("--tools", default="uv,pip")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        wheel = next(folder.glob("*.whl"))
        version = subprocess.run([options.python, "--version"], check=True, capture_output=True, text=True).stdout
        print(f"{version.strip()}, load {os.getloadavg()[0]:.0f}\n")
        print("| install | tool | packages | MB | cold cache | warm cache |")
        print("| --- | --- | --- | --- | --- | --- |")
        largest: dict[str, float] = {}
        for choice in options.choices.split(","):
            for tool in options.tools.split(","):
                done = measure(wheel, choice, tool, options.python, folder)
                check(folder, choice, tool)
                total = sum(done.sizes.values())
                times = f"{done.cold_s:.1f} s | {done.warm_s:.1f} s"
                print(f"| {choice} | {tool} | {len(done.sizes)} | {total:.1f} | {times} |", flush=True)
                largest = done.sizes
        print(f"\nThe ten largest packages of {choice}:\n")
        for name, size in list(largest.items())[:10]:
            print(f"| {name} | {size:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
