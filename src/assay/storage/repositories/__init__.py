"""The only place with SQL: one repository for each subject, each bound to one connection and one scope.

- `base`: what every repository is built on: connection, scope, row numbers, and facts about the store.
- `memories`: memories, and filters on them.
- `edges`: edges between memories, and what is near a memory by them.
- `memory_lists`: memories as sorted lists, and what waits for a decision.
- `chunks`: chunks with their full-text rows, indexing results and trigger phrases.
- `facts`: facts that memories state, and which of them still hold.
- `passages`: passages as search reads them.
- `stems`: the word index inside PostgreSQL: stems of passages, counts of stems, and BM25 over them.
- `passage_filters`: filters of a search as SQL conditions, for an index that PostgreSQL answers from.
- `vectors`: vectors of chunks, and nearest-vector search inside PostgreSQL.
- `queries`: the query log.
- `evidence`: judgments, results, feedback and experiments.
- `judging`: judge inputs, verdicts, calibrations, cached replies, budgets, and prompt versions.
- `research`: answered questions.
- `traces`: traces of other systems and their spans.
- `sessions`: sessions with their tasks, files that hold rows, and decisions of saves.
- `learning`: votes, memory columns, learned terms and their evidence.
- `access`: access tokens, sign-ins, request keys, owners of files, and feature flags.
- `tenants`: which tenants a store has, and what each holds.
- `coordination`: leases, shared limits and live questions of several servers.
- `history`: the change log and the audit log.
- `month_partitions`: the months of the query log on PostgreSQL.
- `retention`: rows that are old enough to leave the log, and how they come back.
- `erasure`: erases rows from every table, and masks secrets that an older version stored.
- `whole_tables`: whole tables of every tenant, for moving a store.
- `prepared`: runs prepared statements directly on SQLite's driver.
"""
