"""The licence of a judge: whether a gate may use its verdicts, and if not, why and what to do.

One rule for every judged metric: the judge has a valid calibration, and, where its answers have a right answer to be
held against (correctness), a valid certificate as well. Valid means made by the judge as it is now (fingerprint), not
ended, and passed. `design/judge-licence.md` has the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.judging.calibration import LEAST_SAME
from assay.records.judging import Calibration, Certificate, RubricKind

CERTIFIED_KINDS = frozenset({RubricKind.CORRECTNESS})
"""What is judged against a gold answer, so that answers can be wrong on purpose."""
CERTIFY = "assay judge certify"


@dataclass(frozen=True, kw_only=True, slots=True)
class LicenceQuestion:
    """What is known of a judge when a run was judged."""

    about: RubricKind
    calibration: Calibration | None
    """Its last calibration."""
    certificate: Certificate | None
    """Its last certificate."""
    at: datetime
    served: Sequence[str] = ()
    """The models that replied, as the server names them."""
    alias: str = ""
    """Why the model's name does not identify its weights; empty if it does."""
    void: str = ""
    """Why the verdicts are void; empty if they are not."""


def explain_no_licence(asked: LicenceQuestion) -> str:
    """Say why no gate may use a judge's verdicts, with what to do; empty when one may."""
    if asked.void:
        return asked.void
    return "; ".join(filter(None, (_about_calibration(asked), _about_certificate(asked))))


def _about_calibration(asked: LicenceQuestion) -> str:
    calibration = asked.calibration
    if calibration is None:
        return "its judge was never calibrated"
    if not calibration.passed:
        return f"its judge did not pass its calibration: {'; '.join(calibration.figures.get('shortcomings', []))}"
    if not calibration.gates_at(asked.at):
        return f"the calibration of its judge ended on {calibration.expires_at:%Y-%m-%d}"
    known = calibration.figures.get("served")
    return next(iter((*_wavering(calibration), *_strangers(known, asked.served, "calibrated"))), "") or asked.alias


def _about_certificate(asked: LicenceQuestion) -> str:
    if asked.about not in CERTIFIED_KINDS:
        return ""
    certificate = asked.certificate
    if certificate is None:
        return f"its judge has no certificate: run {CERTIFY}"
    if not certificate.passed:
        reasons = "; ".join(certificate.figures.get("shortcomings", []))
        return f"its judge did not pass its certification on {certificate.made_at:%Y-%m-%d}: {reasons}"
    if not certificate.is_valid_at(asked.at):
        return f"the certificate of its judge ended on {certificate.expires_at:%Y-%m-%d}: run {CERTIFY}"
    return next(_strangers(certificate.figures.get("served"), asked.served, "certified"), "")


def _wavering(calibration: Calibration) -> Iterator[str]:
    """Say that a judge does not agree with itself: version 0.1 measured this and licensed the judge all the same."""
    same = calibration.figures.get("self_consistency", {}).get("same")
    if same is not None and same["value"] < LEAST_SAME:
        yield f"its judge gave the same verdict each time on {same['value']:.0%} of the cases that were asked again"


def _strangers(known: Sequence[str] | None, served: Sequence[str], how: str) -> Iterator[str]:
    """Say that another model replied than the one that is known; version 0.1 did not keep which that was."""
    strangers = [name for name in served if known is not None and name not in known]
    if strangers:
        yield f"{', '.join(strangers)} replied, and {', '.join(known or ['no model'])} was {how}"
