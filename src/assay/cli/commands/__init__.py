"""The commands. Each file has `register(app)`, and each command a line in `assay.cli.group`.

Memories:
- `memories`: save, update, list, show, link, why, restore.
- `search`: search.
- `feedback`: validate, rate, observe.
- `documents`: ingest, import, export.
- `sessions`: session, attribution and task.
- `learn`: what was learned from use, and its approval.
- `audit`: audit and repair memory stores of other tools.
- `erasure`: forget, rescan, retention.
- `checkpoint`: whole copies of the store.
- `move`: moves the whole store to another database.

Questions:
- `ask`: answers a question from the memory.
- `analyze`: statistics of answered questions and patterns in low scores.
- `prompts`: versions of prompts, compared and split.

Evaluation:
- `start`: from documents or a table of questions to a dataset, a first run, a baseline and a gate.
- `dataset`: imports, checks, splits, builds and writes golden datasets.
- `traces`: traces of other systems: import, list, show, report, scores.
- `label`: grades candidates of questions.
- `judgments`: grades of what searches found, and which of them count.
- `run`: runs a system over a dataset.
- `measure`: measures run files against judgments.
- `bench`: compares memory systems, checks and imports capsules.
- `compare`: compares runs over the same cases.
- `baseline`: the run that later runs are compared with.
- `gate`: decides whether a run passes.
- `report`: the report of a run.
- `judge`: judges the answers of a run, and calibrates judges.
- `metrics`: the catalog of metrics.

Changes:
- `experiment`: experiment and simulate.
- `tune`: measures which value a setting should have.
- `flag`: feature flags.
- `variant`: other configurations and systems under names of their own.
- `shadow`: treatments that run beside what is shown.
- `ladder`: tests, graduates and rolls back a change.

Installation:
- `setup`: init, config, trust, doctor, health, index.
- `serving`: serve and mcp.
- `access`: tenant, token and audit-log.
- `demo`: two configurations over a dataset, compared and gated.
- `help`: the help of a command.
- `version`: the version of Assay.
"""
