"""The only place with SQL: one repository per subject, each bound to one connection and one scope.

`memories` memories with their chunks, `memory_filters` which of them a list shows, `edges`, `changes` the change log,
`audit`, `queries` the query log with its candidates, `judgments`, `results`, `feedback`, `ab_tests`, `shadow_runs`,
`meta` facts about the store itself.
"""
