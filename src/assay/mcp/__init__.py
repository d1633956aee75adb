"""The MCP server: the memory and its evaluation as tools for an agent. Thin: each tool calls a use-case and renders.

The official SDK is an optional extra, so a name of this package is loaded with its module when it is first used.

- `tools`: what a tool is, tools made from the table of verbs, and stored text marked as data.
- `server`: tools, resources and prompts as the protocol lists and calls them, off the event loop.
- `stdio`: the protocol over standard input and output.
- `http`: the protocol over streamable HTTP.
- `sessions`: which principal holds which session over HTTP.
- `running`: serve over either, or within the server of the API.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.mcp.running import Where, mount, serve_http, serve_stdio

__all__ = ["Where", "mount", "serve_http", "serve_stdio"]


if not TYPE_CHECKING:  # a checker would take every name for one that exists

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'assay.mcp' has no attribute {name!r}")
        return getattr(importlib.import_module("assay.mcp.running"), name)
