"""The public surface is a short list, and the list is true."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import assay
from assay.errors import AssayError


def test_the_root_exports_exactly_these_names() -> None:
    assert assay.__all__ == [
        "AssayError",
        "Client",
        "Dataset",
        "Memory",
        "Research",
        "Scope",
        "Settings",
        "compare",
        "evaluate",
        "gate",
        "load_settings",
        "measure",
        "open_store",
        "report",
        "why",
    ]
    assert dir(assay) == assay.__all__


def test_there_are_at_most_fifteen() -> None:
    assert len(assay.__all__) <= 15


def test_every_public_name_can_be_had_and_is_documented() -> None:
    for name in assay.__all__:
        assert inspect.getdoc(getattr(assay, name)), name


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(AttributeError, match="open_store"):
        assay.open_stoer  # noqa: B018 - the point of the test


def test_importing_the_package_loads_nothing_heavy() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import assay, sys; print([m for m in sys.modules if m.startswith('assay.')])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "[]"


def test_every_error_can_be_caught_by_one_name() -> None:
    assert issubclass(assay.AssayError, Exception)
    assert assay.AssayError is AssayError
