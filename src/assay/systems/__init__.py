"""Systems that can be evaluated: Assay itself, a Python function, an HTTP service, an MCP server, a run file.

- `protocol`: what a system is, and hashes of its code.
- `registry`: the registry of systems, `@system`, and names such as `assay:mode=quick` or `python:pkg.module:search`.
- `boundary`: the only way a system is called; whatever it does or raises becomes an outcome.
- `assay_engine`, `python_function`, `http_service`, `mcp_server`, `run_file`: the systems of Assay itself.
- `mcp_connection`: the connection to an MCP server.
- `replies`: description files, and what functions and services may return.
"""
