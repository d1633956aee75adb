"""Model files: where they lie, and whether they are the ones that were meant."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from assay.errors import MissingExtra, ModelDamaged
from assay.extras import install_command
from assay.hashing import HASH_PREFIX, content_hash


def package_file(package: str, inner: str) -> Path | None:
    """A file inside an installed package, found without importing the package."""
    folder = package_folder(package)
    return folder / inner if folder is not None and (folder / inner).is_file() else None


def package_folder(package: str) -> Path | None:
    """The folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    folders = None if spec is None else spec.submodule_search_locations
    return Path(folders[0]) if folders else None


def sha256_of(file: Path) -> str:
    """The hash of a file's content, in hexadecimal."""
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as problem:
        raise ModelDamaged(
            f"cannot read the model file {file}: {problem.strerror}", remedy="Check the path and its permissions."
        ) from problem


def identify_model(name: str, hashes: Mapping[str, str], **choices: str | int) -> str:
    """A model's name that changes with its files and with every choice that moves its vectors."""
    identity = content_hash({"files": dict(hashes), **choices})
    return f"{name}:{identity.removeprefix(HASH_PREFIX)[:8]}"


class PinnedFile(NamedTuple):
    """A file inside an installed package, and what must be in it."""

    what: str
    package: str
    inner: str
    sha256: str

    def find(self) -> Path | None:
        """Where it is, if it is installed."""
        return package_file(self.package, self.inner)

    def verify(self, *, extra: str, place: Path | None = None) -> Path:
        """Where it is (`place` instead of the package's), once its content was compared with the pinned hash."""
        file = place or self.find()
        if file is None:
            raise MissingExtra(f"{self.what} is not installed", remedy=f"Install it: {install_command(extra)}")
        found = sha256_of(file)
        if found != self.sha256:
            raise ModelDamaged(
                f"the model file {file} has sha256 {found}, expected {self.sha256}",
                remedy=f"Install the locked version of the package {self.package} again.",
            )
        return file
