"""Cases that became worse, as SARIF 2.1.0: for tools that show findings one by one."""

from __future__ import annotations

from typing import Any

from assay.evaluation.comparing import Compared, Mover, is_loss, leading, movers
from assay.evaluation.differences import number

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULE = "assay/case-regression"
MOST = 1_000


def sarif(compared: Compared, *, artifact: str) -> dict[str, Any]:
    """One result for each case that fell; `artifact` is the file they are filed under, such as the baseline."""
    metric = leading(tuple(compared.metrics))
    found = [one for one in movers(compared.control, compared.treatment, metric, MOST) if is_loss(one)]
    rule = {"id": RULE, "shortDescription": {"text": "A case is answered worse than in the baseline."}}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "assay", "rules": [rule]}},
                "results": [_result(one, artifact) for one in found],
            }
        ],
    }


def _result(one: Mover, artifact: str) -> dict[str, Any]:
    called = f"{one.case} {one.query}".rstrip()
    text = f"{called}: {one.metric} fell from {number(one.before)} to {number(one.after)}"
    place = {"artifactLocation": {"uri": artifact}, "region": {"startLine": 1}}
    return {
        "ruleId": RULE,
        "level": "error" if one.after == 0.0 else "warning",
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"case": f"{one.case}/{one.metric}"},
        "properties": {"metric": one.metric, "before": one.before, "after": one.after},
    }
