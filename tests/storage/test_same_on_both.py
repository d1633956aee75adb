"""The contract is one suite: every test of it runs once on SQLite and once on PostgreSQL, and none is skipped."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent


def collected() -> list[str]:
    """The names pytest would run, from the files of the contract."""
    files = sorted(str(file) for file in HERE.glob("test_contract_*.py"))
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *files], cwd=HERE.parents[1], capture_output=True, text=True, timeout=300, check=True
    )
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_every_contract_test_runs_once_on_each_back_end() -> None:
    variants = Counter(collected())
    assert len(variants) > 150
    assert set(variants.values()) == {1}
    backends: dict[str, set[str]] = {}
    for name in variants:
        found = re.search(r"\[(sqlite|postgres)(-|\])", name)
        assert found, f"{name} does not use the store fixture"
        backends.setdefault(name.replace(found.group(1), "*", 1), set()).add(found.group(1))
    assert {name: found for name, found in backends.items() if found != {"sqlite", "postgres"}} == {}


def test_no_contract_test_is_skipped_or_marked_as_failing() -> None:
    marked = [
        f"{file.name}: {mark}"
        for file in HERE.glob("test_contract_*.py")
        for mark in re.findall(r"skip\w*\(|mark\.skip\w*|mark\.xfail|importorskip", file.read_text(encoding="utf-8"))
    ]
    assert marked == []
