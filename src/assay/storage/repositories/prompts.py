"""Versions of prompts. The bundled wording is version 0 and no row; at most one version of a prompt is active."""

from __future__ import annotations

from sqlalchemy import func, select, update

from assay.errors import RecordNotFound
from assay.records.research_log import PromptVersion
from assay.storage.repositories.base import Repository
from assay.storage.rows import from_row, to_row
from assay.storage.tables.research import prompts

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

    def _retire(self, prompt_id: str) -> None:
        same = (prompts.c.prompt_id == prompt_id, prompts.c.active == True)  # noqa: E712 - SQL, not Python
        self._connection.execute(update(prompts).where(self._mine(prompts), *same).values(active=False))
