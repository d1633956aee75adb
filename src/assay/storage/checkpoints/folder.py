"""Where checkpoints lie: one folder per store, a copy and a manifest for each, nothing half-made in the listing."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from assay.errors import CheckpointFailed, CheckpointNotFound, StoreFull, StoreReadOnly
from assay.private_files import make_private_folder
from assay.storage.checkpoints import manifest
from assay.storage.checkpoints.manifest import Checkpoint


class CheckpointFolder:
    """The checkpoints of one store."""

    def __init__(self, path: Path, *, suffix: str, older: Sequence[str] = ()) -> None:
        """`older` are suffixes of copies that earlier versions made."""
        self.path = path
        self._suffix = suffix
        self._older = tuple(older)

    def list(self) -> list[Checkpoint]:
        """Every complete checkpoint, oldest first."""
        found = (self._read(file) for file in self._descriptions())
        return [one for one in found if one is not None]

    def find(self, wanted: str) -> Checkpoint:
        """By id, or by a name that only one checkpoint has."""
        by_id = [file for file in self._descriptions() if file.stem == wanted]
        # By its id a checkpoint is found even when the description of another one is garbled.
        found = [manifest.read(file) for file in by_id] or [one for one in self.list() if one.name == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            raise CheckpointNotFound(
                f"{len(found)} checkpoints are named {wanted!r}",
                remedy=f"Use an id: {', '.join(one.id for one in found)}.",
            )
        raise CheckpointNotFound(
            f"there is no checkpoint {wanted!r} in {self.path}", remedy="See `assay checkpoint list`."
        )

    def _read(self, description: Path) -> Checkpoint | None:
        """What a description says; None when somebody deleted that checkpoint since we looked."""
        try:
            return manifest.read(description)
        except CheckpointFailed:
            if description.exists():
                raise
            return None

    def _descriptions(self) -> Sequence[Path]:
        return sorted(self.path.glob("*.json"))

    def copy_of(self, checkpoint: Checkpoint) -> Path:
        """The file that holds the copy."""
        there = [self.path / f"{checkpoint.id}{suffix}" for suffix in (self._suffix, *self._older)]
        return next((file for file in there if file.exists()), there[0])

    def verify_content(self, checkpoint: Checkpoint) -> Path:
        """The copy's file, once its bytes are proven to be those that were written."""
        copy = self.copy_of(checkpoint)
        try:
            found = manifest.hash_of(copy)
        except OSError as problem:
            raise CheckpointFailed(
                f"the copy {copy} cannot be read: {problem.strerror}", remedy="Choose another checkpoint."
            ) from problem
        if found != checkpoint.content:
            raise CheckpointFailed(
                f"checkpoint {checkpoint.id} is damaged: its content is {found}, not {checkpoint.content}",
                remedy="Choose another checkpoint; nothing was replaced.",
            )
        return copy

    @contextmanager
    def adding(self, checkpoint_id: str) -> Iterator[Path]:
        """A path to write a new copy to; gone again when the body raises."""
        copy = self.path / f"{checkpoint_id}{self._suffix}"
        with _file_problems(self.path):
            make_private_folder(self.path)
            os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            try:
                yield copy
            except BaseException:
                copy.unlink(missing_ok=True)
                raise

    def complete(self, checkpoint: Checkpoint) -> None:
        """List a copy that is whole."""
        with _file_problems(self.path):
            manifest.write(self.path / f"{checkpoint.id}.json", checkpoint)

    def delete(self, checkpoint: Checkpoint) -> None:
        """Delete a copy; unlisted first, so that a kill in between leaves nothing that looks whole."""
        with _file_problems(self.path):
            (self.path / f"{checkpoint.id}.json").unlink(missing_ok=True)
            self.copy_of(checkpoint).unlink(missing_ok=True)


class KeptInFolder(ABC):
    """Checkpoints of either back end: listing and deleting need their folder alone."""

    @property
    @abstractmethod
    def _folder(self) -> CheckpointFolder: ...

    def list(self) -> list[Checkpoint]:
        """Every checkpoint, oldest first."""
        return self._folder.list()

    def delete(self, wanted: str) -> Checkpoint:
        """Delete one by id or name."""
        found = self._folder.find(wanted)
        self._folder.delete(found)
        return found


@contextmanager
def _file_problems(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno in (28, 122):
            raise StoreFull(
                f"no space for a checkpoint in {folder}", remedy="Free some space, or set `checkpoints.folder`."
            ) from problem
        if problem.errno in (1, 13, 30):
            raise StoreReadOnly(
                f"cannot write in {folder}: {problem.strerror}", remedy="Set `checkpoints.folder` to a writable folder."
            ) from problem
        raise CheckpointFailed(f"{folder}: {problem}", remedy="Check the folder, then try again.") from problem
