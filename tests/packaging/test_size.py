"""How large an install without extras is."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.packaging.environments import Environment

MOST_MEGABYTES = 80
UNUSED = {"anyio", "httpx", "idna", "sqlalchemy"}
"""Packages that the base did need, or that only extras need."""


@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="numpy's size is another on other platforms"
)
def test_the_base_install_is_small(base_environment: Environment, wheel: Path) -> None:
    with ZipFile(wheel) as files:
        sizes = {"assay": sum(file.file_size for file in files.infolist())}
    for package in base_environment.packages:
        places = [file.locate() for file in distribution(package).files or () if file.suffix != ".pyc"]
        sizes[package] = sum(Path(str(place)).stat().st_size for place in places)
    megabytes = {name: size / 1_000_000 for name, size in sizes.items()}
    assert sum(megabytes.values()) < MOST_MEGABYTES, sorted(megabytes.items(), key=lambda pair: -pair[1])


def test_the_base_install_has_nothing_that_only_extras_need(base_environment: Environment) -> None:
    assert not UNUSED & set(base_environment.packages)
