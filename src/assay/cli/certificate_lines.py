"""How a judge's certificate is shown: what it accepted of each group, how stable it is, and why it did not pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from assay.formats.grid import grid
from assay.judging.certification import MOST_FALSE_ACCEPTS, MOST_FALSE_REJECTS, Certified
from assay.judging.certification_cases import CertificationGroup
from assay.records.judging import Certificate

MOST_MISTAKES = 5
"""Wrong verdicts that are shown of each kind."""


def certificate_lines(found: Certified, judge: str) -> Iterator[str]:
    """A certificate for people."""
    certificate, seen = found.certificate, found.certificate.figures
    until = f"certified until {certificate.expires_at:%Y-%m-%d}"
    yield f"{judge} ({certificate.fingerprint_id}): {until if certificate.passed else 'not certified'}"
    yield from grid([("answers", "shown", "wrong verdicts", "95 %", "allowed"), *_group_rows(seen)], indent="  ")
    yield ""
    yield from grid(_rows(seen), indent="  ")
    yield from (f"  not enough: {shortcoming}" for shortcoming in seen["shortcomings"])
    yield from _mistake_lines(found)


def _group_rows(seen: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for group in CertificationGroup:
        told = seen["groups"][group.value]
        share = told["rejected" if group.right else "accepted"]
        verb = "rejected" if group.right else "accepted"
        most = MOST_FALSE_REJECTS if group.right else MOST_FALSE_ACCEPTS
        missing = f", {told['without_verdict']} without a verdict" if told["without_verdict"] else ""
        wrong = "-" if share["value"] is None else f"{share['value'] * 100:.1f} % {verb}"
        yield (group.value, f"{told['answers']}{missing}", wrong, _limits(share), f"{most:.0%}")


def _rows(seen: Mapping[str, Any]) -> list[tuple[str, str]]:
    length, same = seen["length_bias"], seen["stability"]["same"]
    attempts, usage = seen["attempts"], seen["usage"]
    rows = [
        ("false accepts", _percent(seen["false_accepts"])),
        ("false rejects", _percent(seen["false_rejects"])),
        (f"same over {seen['stability']['repeats']} askings", _percent(same)),
        ("length: accepted when padded", _percent(length["to_accepted"])),
        ("length: rejected when padded", _percent(length["to_rejected"])),
        ("position: moved by where the padding is", _percent(seen["position_bias"])),
        *((f"attack: {attack}", f"{_percent(share)} accepted") for attack, share in seen["attacks"].items()),
    ]
    if usage["requests"] or usage["cached"]:
        served = f" by {', '.join(seen['served'])}" if seen["served"] else ""
        rows.append(("replies", f"{usage['fresh']} fresh{served}, {usage['cached']} from the cache"))
    if attempts["number"] > 1:
        rows.append(
            ("attempts", f"number {attempts['number']} of this judge, {attempts['failed_before']} failed before")
        )
    return rows


def _mistake_lines(found: Certified) -> Iterator[str]:
    for group in CertificationGroup:
        own = [(case, said) for case, said in found.mistakes() if case.group is group]
        for case, said in own[:MOST_MISTAKES]:
            verb = "rejected" if group.right else "accepted"
            yield f"  {verb} {group}: {case.question} gold: {case.gold} answer: {case.answer[:200]}"
            yield f"    {said.score:g}: {said.verdict.reason[:200]}"
        if len(own) > MOST_MISTAKES:
            yield f"  and {len(own) - MOST_MISTAKES} more {group} answers"


def _percent(share: Mapping[str, Any]) -> str:
    if share["value"] is None:
        return "-"
    return f"{share['value'] * 100:.1f} % {_limits(share)} of {share['n']}"


def _limits(share: Mapping[str, Any]) -> str:
    return "" if share["low"] is None else f"[{share['low'] * 100:.1f}, {share['high'] * 100:.1f}]"


def certificate_json(certificate: Certificate) -> dict[str, Any]:
    """A certificate for machines."""
    return {
        "fingerprint": certificate.fingerprint_id,
        "judge": dict(certificate.fingerprint),
        "about": certificate.about.value,
        "passed": certificate.passed,
        "made_at": certificate.made_at.isoformat(),
        "expires_at": certificate.expires_at.isoformat(),
        "cases_hash": certificate.cases_hash,
        "cases": certificate.cases,
        "figures": dict(certificate.figures),
    }


def certificate_list_lines(certificates: Sequence[Certificate], now: datetime) -> Iterator[str]:
    """Every certificate, failed ones included, the newest first; nothing where there is none."""
    if not certificates:
        return
    head = ("certified", "judge", "id", "cases", "false accepts", "false rejects", "state")
    yield ""
    yield from grid([head, *(_certificate_row(certificate, now) for certificate in certificates)])


def _certificate_row(certificate: Certificate, now: datetime) -> tuple[str, ...]:
    state = "did not pass"
    if certificate.passed:
        state = "valid until" if certificate.is_valid_at(now) else "ended on"
        state = f"{state} {certificate.expires_at:%Y-%m-%d}"
    return (
        f"{certificate.made_at:%Y-%m-%d %H:%M}",
        str(certificate.fingerprint.get("judge", "-")),
        certificate.fingerprint_id,
        str(certificate.cases),
        _percent(certificate.figures["false_accepts"]),
        _percent(certificate.figures["false_rejects"]),
        state,
    )
