"""A verdict as JUnit XML: one test a rule, `failure` for a regression, `error` for what could not be decided."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from assay.evaluation.gating.verdict import RuleVerdict, Status, Verdict

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold in any spelling."""


def junit(verdict: Verdict) -> str:
    """The whole file."""
    suite = Element(
        "testsuite",
        name=_legal(f"assay gate {verdict.dataset}".rstrip()),
        tests=str(len(verdict.rules)),
        failures=str(len(verdict.of(Status.FAIL))),
        errors=str(len(verdict.of(Status.INCONCLUSIVE))),
        skipped=str(len(verdict.of(Status.NOT_APPLICABLE))),
    )
    properties = SubElement(suite, "properties")
    for name, value in (("run", verdict.run), ("baseline", verdict.baseline or ""), ("status", verdict.status.value)):
        SubElement(properties, "property", name=name, value=_legal(value))
    for one in verdict.rules:
        _case(suite, one)
    if verdict.caveats:
        SubElement(suite, "system-out").text = _legal("\n".join(caveat.sentence for caveat in verdict.caveats))
    indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suite, encoding="unicode")}\n'


_ELEMENTS = {
    Status.FAIL: ("failure", "regression"),
    Status.INCONCLUSIVE: ("error", "inconclusive"),
    Status.NOT_APPLICABLE: ("skipped", ""),
}


def _case(suite: Element, one: RuleVerdict) -> None:
    classname = f"assay.gate.{one.rule.replace(' ', '_')}"
    case = SubElement(suite, "testcase", classname=_legal(classname), name=_legal(one.title), time="0")
    if one.status in _ELEMENTS:
        name, kind = _ELEMENTS[one.status]
        SubElement(case, name, {"message": _legal(one.sentence)} | ({"type": kind} if kind else {}))
    else:
        SubElement(case, "system-out").text = _legal(one.sentence)


def _legal(text: str) -> str:
    """Control characters and lone surrogates as visible escapes: no parser takes them, however they are written."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
