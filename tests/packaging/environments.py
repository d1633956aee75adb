"""Environments as a stranger has them: the built wheel with one choice of extras, and nothing else of this machine.

The wheel's own metadata says which packages belong to an extra. They are linked from the environment that runs the
tests, not fetched, so that no registry is needed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent.parent
EXTRAS = {"base": "", "memory": "memory", "all": "all"}
"""The environments, each with its extra."""
ACCELERATORS = frozenset({"httptools", "uvloop"})
"""Make a server faster and are not needed; left out where the environment of the tests does not have them."""
_NOT_LINKED = {"..", "bin", "__pycache__"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """An environment of its own."""

    name: str
    folder: Path
    packages: tuple[str, ...]
    """What is installed beside Assay."""

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def assay(self) -> Path:
        return self.folder / "bin" / "assay"


def build_wheel(folder: Path) -> Path:
    """Build the wheel into a folder, from the files as they are."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return next(folder.glob("*.whl"))


def make_environment(name: str, wheel: Path, folder: Path) -> Environment:
    """Install a wheel with the extra of `EXTRAS[name]` into a new environment."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    uv = Path(sys.executable).parent / "uv"
    command = [str(uv), "pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(folder), str(wheel)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    target = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    own = Distribution.at(next(target.glob("assaykit-*.dist-info")))
    packages = _closure(own, EXTRAS[name])
    for package in packages:
        link_package(distribution(package), target)
    return Environment(name=name, folder=folder, packages=tuple(packages))


def _closure(own: Distribution, extra: str) -> list[str]:
    """Every package that a distribution with an extra needs, and that this machine's platform gets."""
    found: set[str] = set()
    waiting = list(_required(own, extra))
    seen: set[tuple[str, str]] = set()
    while waiting:
        needed = waiting.pop()
        name = canonicalize_name(needed.name)
        if name in ACCELERATORS and not _is_installed(name):
            continue
        for inner in ("", *sorted(needed.extras)):
            if (name, inner) not in seen:
                seen.add((name, inner))
                found.add(name)
                waiting += _required(distribution(name), inner)
    return sorted(found)


def _required(owner: Distribution, extra: str) -> Iterator[Requirement]:
    for line in owner.requires or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": extra}):
            yield needed


def link_package(package: Distribution, target: Path) -> None:
    """Link what a package installed; folders that packages share are opened and their content is linked."""
    for file in package.files or ():
        if file.parts[0] not in _NOT_LINKED:
            _link(Path(str(package.locate_file(""))), target, file.parts)


def _link(source: Path, target: Path, parts: tuple[str, ...]) -> None:
    here, there = source / parts[0], target / parts[0]
    if there.is_symlink() or not here.exists():
        return
    if here.is_dir() and not (here / "__init__.py").exists() and len(parts) > 1 and _is_namespace(here):
        there.mkdir(exist_ok=True)
        _link(here, there, parts[1:])
    else:
        there.symlink_to(here)


def _is_namespace(folder: Path) -> bool:
    """Whether several packages put modules into this folder."""
    return not folder.name.endswith((".dist-info", ".libs")) and bool(re.fullmatch(r"[A-Za-z_]\w*", folder.name))


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
