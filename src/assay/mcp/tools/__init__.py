"""The table of tools: every tool there is, in the order a client is shown them. The reference page is made from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.mcp.tool import Tool
from assay.mcp.tools import keeping
from assay.mcp.verb_tools import TOOLS as OF_VERBS

TOOLS: tuple[Tool[Any, Any], ...] = (
    *OF_VERBS,
    *keeping.TOOLS,
)
BY_NAME: Mapping[str, Tool[Any, Any]] = {one.name: one for one in TOOLS}
