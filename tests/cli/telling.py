"""What a command told: its exit code and what it printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from assay.cli.main import main


class Told(NamedTuple):
    """The end of one command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


Run = Callable[..., Told]


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in process, as `assay` would."""

    def call(*arguments: str) -> Told:
        with pytest.raises(SystemExit) as end:
            main(arguments)
        shown = capsys.readouterr()
        return Told(int(end.value.code or 0), shown.out, shown.err)

    return call
