"""The judges of a run as a report names them: who judged what, with which prompt, how reliable, at what price.

Everything comes from the manifest of the run, where `assay judge run` and `assay judge spot-check` write it. A run that
version 0.1 judged has the judge's name and id alone; what is not known is None and is said to be not recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.evaluation.judged_scores import CALIBRATION, FINGERPRINT, JUDGE, SPENT, SPOT_CHECK
from assay.records.evaluations import RunManifest

NOBODY = "no judge was asked"
_UNKNOWN = "not recorded"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedJudge:
    """One judge of a run."""

    about: str
    """What it judged, such as groundedness."""
    name: str
    id: str
    fingerprint: Mapping[str, Any]
    """Model, rubric, prompt and parameters; empty: not recorded."""
    gates: bool
    why: str
    """Why no gate listens to it."""
    calibration: Mapping[str, Any] | None
    spot_check: Mapping[str, Any] | None
    spent: Mapping[str, Any]

    @property
    def temperature(self) -> float | None:
        """The temperature the model was asked with; None: no model, or not recorded."""
        found = self.fingerprint.get("parameters", {}).get("temperature")
        return None if found is None else float(found)

    @property
    def tokens(self) -> int | None:
        """Tokens sent and replied, as the server counted them; None: not recorded."""
        counted = [self.spent.get(name) for name in ("prompt_tokens", "completion_tokens")]
        return None if None in counted else sum(counted)  # type: ignore[arg-type] # None was just looked for

    def reliability(self) -> dict[str, Any]:
        """How far its verdicts can be trusted: agreement with people, disagreement of a second judge."""
        calibration, check = self.calibration or {}, self.spot_check or {}
        return {
            "judge": self.name,
            "judge_id": self.id,
            "kappa": calibration.get("kappa"),
            "kappa_interval": calibration.get("kappa_interval"),
            "calibration_n": calibration.get("cases"),
            "calibration_expires_at": calibration.get("expires_at"),
            "disagreement_rate": check.get("disagreement_rate"),
            "disagreement_interval": check.get("interval"),
            "spot_check_n": check.get("spot_check_n"),
            "second_judge": check.get("second"),
            "gates_listen": self.gates,
            "why_not": self.why,
        }

    def as_config(self) -> dict[str, Any]:
        """Return who it is, for `config.json`: everything that moves its verdicts, and what judging took."""
        known = self.fingerprint
        return {
            "about": self.about,
            "judge": self.name,
            "judge_id": self.id,
            "judge_kind": known.get("judge_kind"),
            "model": known.get("model"),
            "model_digest": known.get("model_digest"),
            "rubric": known.get("rubric"),
            "prompt_version": known.get("rubric_version"),
            "prompt_hash": known.get("prompt_hash"),
            "parser_version": known.get("parser_version"),
            "temperature": self.temperature,
            "parameters": known.get("parameters"),
            "tokens": self.tokens,
            "spent": dict(self.spent),
        }

    def facts(self) -> list[tuple[str, str]]:
        """Return what the report lists under "How it was measured"."""
        return [
            (f"judge of {self.about}", f"{self.name} ({self.id})"),
            (f"{self.about}: prompt", self._prompt()),
            (f"{self.about}: reliability", f"{self._calibrated()}; {self._checked()}"),
            (f"{self.about}: gates", "listen" if self.gates else f"do not listen: {self.why or _UNKNOWN}"),
            (f"{self.about}: tokens", _UNKNOWN if self.tokens is None else self._tokens()),
        ]

    def _prompt(self) -> str:
        known = self.fingerprint
        if not known:
            return _UNKNOWN
        model = f"model {known['model']}" if known.get("model") else "no model"
        hot = "" if self.temperature is None else f", temperature {self.temperature:g}"
        return f"{known['rubric']} {known['rubric_version']}, {known['prompt_hash']}, {model}{hot}"

    def _calibrated(self) -> str:
        found = self.calibration
        if found is None:
            return "never calibrated" if self.fingerprint else f"calibration {_UNKNOWN}"
        kappa = "no kappa" if found.get("kappa") is None else f"kappa {found['kappa']:.2f}"
        if not found.get("passed"):
            return f"{kappa} over {found['cases']} labels, calibration not passed"
        return f"{kappa} over {found['cases']} labels, until {str(found['expires_at'])[:10]}"

    def _checked(self) -> str:
        found = self.spot_check
        if found is None:
            return "no second judge was asked"
        share = f"{found['disagreement_rate']:.0%}"
        return f"a second judge disagreed on {share} of {found['spot_check_n']} verdicts"

    def _tokens(self) -> str:
        cost = self.spent.get("cost_usd")
        cached = self.spent.get("cached")
        kept = f" (and {cached:,} replies from the cache)" if cached else ""
        return f"{self.tokens:,}" + ("" if cost is None else f", {cost:.4f} USD") + kept


def judges_of(manifest: RunManifest) -> tuple[ReportedJudge, ...]:
    """Return the judges of a run by what they judged; none where nobody judged it."""
    named = manifest.instrument.get(JUDGE) or {}
    facts = manifest.subject.get(JUDGE) or {}
    return tuple(
        ReportedJudge(
            about=about,
            name=str(judge.get("name", "")),
            id=str(judge.get("id", "")),
            fingerprint=facts.get(about, {}).get(FINGERPRINT) or {},
            gates=bool(facts.get(about, {}).get("gates")),
            why=str(facts.get(about, {}).get("why", "")),
            calibration=facts.get(about, {}).get(CALIBRATION),
            spot_check=facts.get(about, {}).get(SPOT_CHECK),
            spent=facts.get(about, {}).get(SPENT) or {},
        )
        for about, judge in named.items()
    )
