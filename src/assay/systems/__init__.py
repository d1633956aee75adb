"""What can be evaluated: Assay in any configuration, a Python function, an HTTP service, a run file.

`protocol` what a system is, `specs` how one is named (`assay:mode=quick`, `python:pkg.module:search`), `boundary` the
only way one is asked: whatever it does becomes an outcome. `assay_engine`, `python_function`, `http_service`,
`run_file` the systems there are, `replies` what functions and services may return.
"""
