"""Metrics: what is asked, in what order results count, and how each family is computed.

`spec` a metric as a value; `entry`, `catalog` and `reference` what is known of each.
`ordering` the one tie order, `columns` many rankings as integers, `ranking` the kernels, `engine` whole runs, which
`gathering`, `few_judged`, `matching` and `repeats` feed.
`anchors`, `answers`, `agent_memory`, `channels`, `write_path`, `operations`, `indexing`: the other families, by case.
`scores`, `aggregate`, `breakdown` and `fingerprint` turn cases into numbers that say how they were made; `units` reads
a ranking by chunk, document or class.
"""
