"""What a store asks of a database: a place to read from, a place to write to, and a few facts about itself.

Two back ends give it, `sqlite` and `postgres`. Everything above this line is the same for both.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection


class Backend(Protocol):
    """An open database."""

    @property
    def place(self) -> str:
        """Where it is, fit to be shown: a path, or an address without its password."""
        ...

    @property
    def name(self) -> str:
        """`sqlite` or `postgres`."""
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """One consistent snapshot that cannot write."""
        ...

    def writing(self, tenant: str) -> AbstractContextManager[Connection]:
        """One transaction that is durable when the body ends, and gone when the body raises.

        Writes of one tenant are done one after the other, so that the change log grows in the order of commits.
        """
        ...

    def damage(self) -> list[str]:
        """What the database's own check finds wrong with its files; a server looks after its own."""
        ...

    def foreign_code(self) -> list[str]:
        """Triggers, rules and views among the store's tables, in words. Assay makes none."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...
