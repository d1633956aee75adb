"""Which files a gate writes besides its answer: whole or not at all, a step's summary added to what is there.

No file of an earlier gate outlives the next one: `replacing` removes them first, and a gate that cannot be asked writes
why in their place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError, InputError
from assay.evaluation.ci.junit import junit
from assay.evaluation.ci.markdown import pull_request, summary
from assay.evaluation.ci.sarif import case_lines, refused_sarif, sarif
from assay.evaluation.comparing import Compared
from assay.evaluation.gating.verdict import Verdict, refused
from assay.formats.files import write_lines, writing

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outputs:
    """Where each form goes; None: it is not wanted."""

    junit: Path | None = None
    summary: Path | None = None
    """Added to: a step may have several summaries."""
    comment: Path | None = None
    sarif: Path | None = None
    cases: Path | None = None
    """The dataset's file, for findings to point into; None: they point into the baseline."""

    def write(self, verdict: Verdict, compared: Compared | None, *, baseline: str) -> list[Path]:
        """Write what is wanted; gives back the files."""
        if self.junit is not None:
            write_lines(self.junit, [junit(verdict)])
        if self.comment is not None:
            write_lines(self.comment, [pull_request(verdict, compared)])
        if self.sarif is not None:
            findings = refused_sarif(verdict) if compared is None else self._findings(compared, baseline)
            write_lines(self.sarif, [json.dumps(findings, indent=1), "\n"])
        if self.summary is not None:
            with writing(self.summary), self.summary.open("a", encoding="utf-8") as file:
                file.write(summary(verdict, compared))
        return [path for path in (self.junit, self.summary, self.comment, self.sarif) if path is not None]

    @contextmanager
    def replacing(self, *, run: str, baseline: str | None) -> Iterator[None]:
        """Remove the files of an earlier gate, and write the reason into them when this one ends without a verdict."""
        for path in (self.junit, self.comment, self.sarif):
            if path is not None and path.is_file():
                with writing(path):
                    path.unlink()
        try:
            yield
        except AssayError as problem:
            self.write(refused(problem, run=run, baseline=baseline), None, baseline=baseline or "")
            raise
        except Exception as problem:
            failure = AssayError(f"Assay itself failed: {type(problem).__name__}: {problem}", remedy="Report this.")
            self.write(refused(failure, run=run, baseline=baseline), None, baseline=baseline or "")
            raise

    def _findings(self, compared: Compared, baseline: str) -> dict[str, Any]:
        file = str(self.cases) if self.cases is not None else baseline
        return sarif(compared, artifact=file, lines=case_lines(Path(file), compared.control.cases))


def find_step_summary(environment: Mapping[str, str] | None = None) -> Path | None:
    """The file in which the running step of a workflow takes its summary; None outside a workflow."""
    given = (os.environ if environment is None else environment).get(STEP_SUMMARY)
    return Path(given) if given else None


def step_summary(environment: Mapping[str, str] | None = None) -> Path:
    """The file in which the running step of a workflow takes its summary; raises `InputError` outside a workflow."""
    given = find_step_summary(environment)
    if given is None:
        raise InputError(
            f"--summary was given and {STEP_SUMMARY} is not set",
            remedy="Give --summary-file FILE outside a workflow.",
        )
    return given
