"""Metrics: what is asked, in what order results count, and how each family is computed.

`spec` a metric as a value; `registering` where every metric registers and what `@metric` adds; `entry` what is known of
each and how it is computed; `catalog` finds them by name, `reference` writes their page.
`case_view` one case as a metric looks at it, `run_facts` a whole run, `outcomes` words for what a metric returns.
`ordering` the one tie order, `columns` many rankings as integers, `ranking` the kernels, `engine` whole runs, which
`gathering`, `few_judged`, `matching` and `repeats` feed.
`ranking_entries`, `anchors`, `answers`, `agent_memory` (with `cold_start`), `channels`, `write_path`, `operations` and
`indexing` register the families; `first_results` and `percentiles` help them.
`scores`, `aggregate`, `breakdown` and `fingerprint` turn cases into numbers that say how they were made; `units` reads
a ranking by chunk, document or class.
"""
