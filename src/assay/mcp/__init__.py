"""The MCP server: the memory and its evaluation as tools for an agent. Thin: each tool calls a use-case and renders.

`tools` makes the tools from the table of verbs and `tool` says what a tool is; `policies` says what each may do and who
may; `host` runs the work off the event loop; `framing` marks stored text as data; `server` answers the protocol;
`stdio` and `http` carry it. The official SDK is an optional extra, so nothing here is imported before it is needed.
"""
