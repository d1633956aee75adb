"""Systems that can be evaluated: Assay, functions, services, MCP servers, run files, frameworks and vector stores.

- `protocol`: what a system is, and hashes of its code.
- `registry`: the registry of systems, `@system`, and names such as `assay:mode=quick` or `python:pkg.module:search`.
- `boundary`: the only way a system is called; anything it does or raises becomes an outcome.
- `assay_engine`: Assay itself, searching and saving.
- `assay_answers`: Assay itself, answering questions as `assay ask` does.
- `python_function`: a Python function.
- `http_service`: a service over HTTP.
- `mcp_server`: an MCP server.
- `mcp_connection`: the connection to an MCP server, and its description file.
- `run_file`: a TREC run file.
- `adapters`: frameworks, vector stores and search engines.
- `replies`: description files, and what functions and services may return.
- `reported_steps`: what a reply says of its channels and stages.
"""
