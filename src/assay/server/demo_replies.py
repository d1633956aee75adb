"""Questions of the demo that models answer and judge: recorded replies, replayed through the real pipeline.

The replies in `demo_replies.json` were written by hand; no model made them. Planning, searching, aggregation of scores,
iteration and escalation are those of every question. Sessions carry `RECORDED`, by which pages say so.
"""

from __future__ import annotations

from assay.memory.engine import Engine
from assay.records import Scope
from assay.records.research_log import TracedAnswer
from assay.server.demo_history import TAG
from assay.settings import Settings
from assay.wiring.research import open_recorded_research

REPLIES = ("server", "demo_replies.json")
RECORDED = "recorded-replies"
"""The tag of sessions whose models were recorded."""


def replay_all(engine: Engine, settings: Settings, scope: Scope) -> list[TracedAnswer]:
    """Ask every question of the recording; return the answers."""
    recorded = open_recorded_research(settings, engine, scope, *REPLIES)
    return [recorded.pipeline.ask(scope, question, tags=(TAG, RECORDED)) for question in recorded.questions]
