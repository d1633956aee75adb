"""Alerts about rates that changed: found in the log, and sent once to a webhook and a file.

An alert is claimed in the audit log before it is sent, in one transaction, so that several serving processes send it
once. What could not be delivered is written there too, with the reason.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay.analysis.rate_alerts import find_alerts, first_needed
from assay.clock import Clock
from assay.errors import AssayError
from assay.private_files import make_private_folder, open_private
from assay.records import Scope
from assay.records.alerts import RateAlert
from assay.records.research_log import ResearchFilter
from assay.settings import Settings
from assay.storage import Store
from assay.storage.repositories.history import AuditFilter
from assay.wiring.network import gatekeeper_of

SENT = "alert.sent"
UNDELIVERED = "alert.undelivered"
NEWEST = 10_000
"""Newest questions that are looked at."""
_DEADLINE_S = 10.0
Send = Callable[[Mapping[str, Any]], None]


def sends_alerts(settings: Settings) -> bool:
    """Whether the settings name somewhere to send alerts to."""
    return bool(settings.alerts_webhook) or settings.alerts_file is not None


def send_new_alerts(settings: Settings, store: Store, scope: Scope, clock: Clock) -> list[RateAlert]:
    """Send the alerts of this week that were not sent before; return them."""
    now = clock.now()
    with store.reading(scope) as work:
        sessions = work.research.brief(ResearchFilter(since=first_needed(now)), newest=NEWEST)
    new = [alert for alert in reversed(find_alerts(sessions, now)) if _claim(store, scope, alert)]
    if not new:
        return []
    ways = _open_ways(settings, clock)
    for alert in new:
        for name, send in ways.items():
            try:
                send(describe_alert(alert, scope))
            except (AssayError, OSError) as problem:
                with store.writing(scope) as work:
                    work.audit.append(UNDELIVERED, alert.id, {"way": name, "reason": str(problem)})
    return new


def describe_alert(alert: RateAlert, scope: Scope) -> dict[str, Any]:
    """Return an alert as it is sent; `text` is what chat services show."""
    return {
        "id": alert.id,
        "tenant": scope.tenant,
        "text": alert.sentence,
        "rate": alert.rate.value,
        "direction": "up" if alert.rose else "down",
        "worse": alert.is_worse,
        "week": alert.week.isoformat(),
        "seen_at": alert.seen_at.isoformat(),
        "share": alert.share,
        "questions": alert.questions,
        "before": {
            "share": alert.before_share,
            "low": alert.before_low,
            "high": alert.before_high,
            "questions": alert.before_questions,
        },
    }


def _claim(store: Store, scope: Scope, alert: RateAlert) -> bool:
    """Write down that an alert is being sent, unless that was done before."""
    with store.writing(scope) as work:
        if work.audit.find(AuditFilter(action=SENT, target=alert.id), limit=1):
            return False
        work.audit.append(SENT, alert.id, {"text": alert.sentence})
        return True


def _open_ways(settings: Settings, clock: Clock) -> dict[str, Send]:
    ways: dict[str, Send] = {}
    if settings.alerts_file is not None:
        file = settings.alerts_file
        ways["alerts.file"] = lambda told: _add_line(settings, file, told)
    if settings.alerts_webhook:
        ways["alerts.webhook"] = lambda told: _post(settings, clock, told)
    return ways


def _post(settings: Settings, clock: Clock, told: Mapping[str, Any]) -> None:
    """Send an alert to the webhook; its address is checked as every other is."""
    from assay.models.endpoint import Endpoint, EndpointOptions  # noqa: PLC0415 - loads the HTTP client

    settings.refuse_withheld("alerts.webhook")
    options = EndpointOptions(url=settings.alerts_webhook, deadline_s=_DEADLINE_S, reads_json=False)
    endpoint = Endpoint(options, gate=gatekeeper_of(settings), clock=clock, rng=np.random.default_rng())
    endpoint.send("", told)


def _add_line(settings: Settings, file: Path, told: Mapping[str, Any]) -> None:
    settings.refuse_withheld("alerts.file")
    make_private_folder(file.parent)
    with os.fdopen(open_private(file, os.O_WRONLY | os.O_APPEND), "a", encoding="utf-8") as opened:
        opened.write(json.dumps(told, ensure_ascii=False) + "\n")
