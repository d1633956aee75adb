"""Versions of prompts, and which two of them questions are dealt between.

The bundled wording is version 0 and no row; at most one version of a prompt is active. Of splits the last is kept.
"""

from __future__ import annotations

from sqlalchemy import func, select, update

from assay.errors import RecordNotFound
from assay.records.research_log import PromptSplit, PromptVersion
from assay.storage.repositories.base import Repository
from assay.storage.rows import from_row, insert, to_row
from assay.storage.tables.research import prompt_splits, prompts

BUNDLED = 0
"""The version that comes with the program."""


class PromptRows(Repository):
    """What prompts of one tenant were made to say."""

    def add(self, prompt_id: str, text: str, *, note: str = "", active: bool = True) -> PromptVersion:
        """A new version, numbered after the newest."""
        newest = select(func.max(prompts.c.version)).where(self._mine(prompts), prompts.c.prompt_id == prompt_id)
        made = PromptVersion(
            prompt_id=prompt_id,
            version=(self._connection.execute(newest).scalar_one() or BUNDLED) + 1,
            text=text,
            created_at=self._clock.now(),
            created_by=self._principal,
            note=note,
            active=active,
        )
        if active:
            self._retire(prompt_id)
        self._connection.execute(prompts.insert().values({"tenant": self._tenant, **to_row(made, prompts)}))
        return made

    def activate(self, prompt_id: str, version: int) -> None:
        """Use this version from now on; 0 is the bundled one."""
        if version != BUNDLED:
            self.get(prompt_id, version)
        self._retire(prompt_id)
        same = (prompts.c.prompt_id == prompt_id, prompts.c.version == version)
        self._connection.execute(update(prompts).where(self._mine(prompts), *same).values(active=True))

    def get(self, prompt_id: str, version: int) -> PromptVersion:
        """One version."""
        same = (prompts.c.prompt_id == prompt_id, prompts.c.version == version)
        row = self._connection.execute(self._select(prompts, *same)).one_or_none()
        if row is None:
            raise RecordNotFound(
                f"prompt {prompt_id!r} has no version {version}", remedy="List the versions of this prompt."
            )
        return from_row(PromptVersion, row, prompts)

    def versions(self, prompt_id: str | None = None) -> list[PromptVersion]:
        """Of one prompt or of all, newest first."""
        wanted = self._select(prompts).order_by(prompts.c.prompt_id, prompts.c.version.desc())
        if prompt_id is not None:
            wanted = wanted.where(prompts.c.prompt_id == prompt_id)
        return [from_row(PromptVersion, row, prompts) for row in self._connection.execute(wanted)]

    def active(self) -> dict[str, PromptVersion]:
        """What is used in the place of the bundled wording, by prompt."""
        wanted = self._select(prompts, prompts.c.active == True)  # noqa: E712 - SQL, not Python
        found = (from_row(PromptVersion, row, prompts) for row in self._connection.execute(wanted))
        return {one.prompt_id: one for one in found}

    def begin_split(self, prompt_id: str, first: int, second: int) -> PromptSplit:
        """Deal questions between two versions from now on; takes the place of the prompt's last split."""
        made = PromptSplit(
            prompt_id=prompt_id, first=first, second=second, began_at=self._clock.now(), created_by=self._principal
        )
        row = to_row(made, prompt_splits)
        wanted = insert(self._connection, prompt_splits).values({"tenant": self._tenant, **row})
        self._connection.execute(wanted.on_conflict_do_update(index_elements=["tenant", "prompt_id"], set_=row))
        return made

    def end_split(self, prompt_id: str) -> PromptSplit | None:
        """Deal no more; None: nothing was dealt."""
        running = self.split(prompt_id)
        if running is None or running.ended_at is not None:
            return None
        same = (self._mine(prompt_splits), prompt_splits.c.prompt_id == prompt_id)
        self._connection.execute(update(prompt_splits).where(*same).values(ended_at=self._clock.now()))
        return self.split(prompt_id)

    def split(self, prompt_id: str) -> PromptSplit | None:
        """The last split of a prompt, running or ended."""
        found = self._connection.execute(self._select(prompt_splits, prompt_splits.c.prompt_id == prompt_id))
        row = found.one_or_none()
        return None if row is None else from_row(PromptSplit, row, prompt_splits)

    def running_splits(self) -> list[PromptSplit]:
        """Every split that deals questions now."""
        wanted = self._select(prompt_splits, prompt_splits.c.ended_at.is_(None)).order_by(prompt_splits.c.prompt_id)
        return [from_row(PromptSplit, row, prompt_splits) for row in self._connection.execute(wanted)]

    def _retire(self, prompt_id: str) -> None:
        same = (prompts.c.prompt_id == prompt_id, prompts.c.active == True)  # noqa: E712 - SQL, not Python
        self._connection.execute(update(prompts).where(self._mine(prompts), *same).values(active=False))
