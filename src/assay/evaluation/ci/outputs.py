"""Which files a gate writes besides its answer: whole or not at all, a step's summary added to what is there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.evaluation.ci.junit import junit
from assay.evaluation.ci.markdown import pull_request, summary
from assay.evaluation.ci.sarif import case_lines, sarif
from assay.evaluation.comparing import Compared
from assay.evaluation.gating.verdict import Verdict
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
        if self.sarif is not None and compared is not None:
            write_lines(self.sarif, [json.dumps(self._findings(compared, baseline), indent=1), "\n"])
        if self.summary is not None:
            with writing(self.summary), self.summary.open("a", encoding="utf-8") as file:
                file.write(summary(verdict, compared))
        wanted = (self.junit, self.summary, self.comment, None if compared is None else self.sarif)
        return [path for path in wanted if path is not None]

    def _findings(self, compared: Compared, baseline: str) -> dict[str, Any]:
        file = str(self.cases) if self.cases is not None else baseline
        return sarif(compared, artifact=file, lines=case_lines(Path(file), compared.control.cases))


def step_summary(environment: Mapping[str, str] | None = None) -> Path:
    """The file in which the running step of a workflow takes its summary."""
    given = (os.environ if environment is None else environment).get(STEP_SUMMARY)
    if not given:
        raise InputError(
            f"--summary was given and {STEP_SUMMARY} is not set",
            remedy="Give --summary-file FILE outside a workflow.",
        )
    return Path(given)
