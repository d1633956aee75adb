"""The MCP server: the memory and its evaluation as tools for an agent. Thin: each tool calls a use-case and renders.

The official SDK is an optional extra, so nothing here is imported before it is needed.

- `tools`: what a tool is, tools made from the table of verbs, and stored text marked as data.
- `server`: tools, resources and prompts as the protocol lists and calls them, off the event loop.
- `stdio`: the protocol over standard input and output.
- `http`: the protocol over streamable HTTP.
- `sessions`: which principal holds which session over HTTP.
"""
