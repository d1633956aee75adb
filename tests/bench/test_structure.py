"""The figures of the code are counted as their page says."""

from __future__ import annotations

from pathlib import Path

from bench.structure import measure, read_modules, report

FIRST = '''"""Whoever reads this is told a story."""

from __future__ import annotations

from assay import second


def _told(one: int) -> int:
    """Add one."""
    return one + 1


def load_run() -> list[int]:
    # A comment where a reader would be surprised.
    return [_told(one) for one in (1, 2)]


class Found:
    """First."""
'''
SECOND = '''"""Second."""


class Found:
    """Second."""

    @property
    def used(self) -> bool:
        """A property may be an adjective."""
        return True


def embed() -> None:
    """Not a participle."""
    import json  # noqa: PLC0415
'''


def test_names_docstrings_and_imports_are_counted(tmp_path: Path) -> None:
    package = tmp_path / "src" / "assay"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "first.py").write_text(FIRST)
    (package / "second.py").write_text(SECOND)
    figures = measure(read_modules(package))
    assert figures.files == 3
    assert figures.participles == ["assay.first._told"]
    assert figures.private_used_once == ["assay.first._told"]
    assert figures.equal_classes == {"Found": 2}
    assert (figures.one_loops, figures.loops) == (1, 1)
    assert figures.story_words == {"whoever": 1, "told": 1}
    assert figures.comments == 1
    assert figures.inner_imports == 1
    assert (figures.cycles, figures.longest_chain) == (0, 2)
    assert "| functions named by a past participle | 1 (25.0 %) |" in list(report(figures))


def test_modules_that_import_each_other_are_a_cycle(tmp_path: Path) -> None:
    package = tmp_path / "src" / "assay"
    package.mkdir(parents=True)
    (package / "first.py").write_text("from assay import second\n")
    (package / "second.py").write_text("from assay import first\n")
    assert measure(read_modules(package)).cycles == 1
