"""The names of `assay.wiring`: loaded when they are used, and refused with the extra that is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from assay import wiring

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sqlalchemy":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.modules.pop("sqlalchemy", None)
sys.meta_path.insert(0, Blocked())
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "sqlalchemy" else find_spec(name, *rest)
from assay import errors, wiring
try:
    wiring.run_retention
except errors.MissingExtra as problem:
    print(problem.remedy)
"""


def told_by(code: str) -> str:
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return told.stdout.strip()


@pytest.mark.parametrize("name", wiring.__all__)
def test_every_name_can_be_had(name: str) -> None:
    assert getattr(wiring, name) is not None


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="open_stor"):
        wiring.open_stor  # type: ignore[attr-defined] # noqa: B018 - that it is missing is the point


def test_the_package_loads_none_of_its_modules() -> None:
    code = "import sys, assay.wiring; print([name for name in sys.modules if name.startswith('assay.wiring.')])"
    assert told_by(code) == "[]"


def test_a_name_that_needs_an_extra_names_it() -> None:
    assert told_by(BLOCKED) == "Install it: pip install 'assaykit[memory]'"
