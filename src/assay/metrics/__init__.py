"""Metrics: how they are named, registered, computed and aggregated.

- `spec`: `ndcg(gain=exp)@10` as a value.
- `catalog`: what is known of each metric, the registry, `@metric`, and the reference page.
- `inputs`: what metric functions are given; `outcomes`: what they return.
- `ordering`: the order in which results count, with ties.
- `ranking`: the kernels of ranking metrics; `ranking_metrics`: their catalog entries; `ranked_grades`: rankings joined
  with judgments; `engine`: ranking metrics of whole runs.
- `anchors`, `answers`, `agent_memory`, `channels`, `write_path`, `operations`, `indexing`: the other families.
- `aggregate`: scores of many cases, means, breakdowns and fingerprints.
"""
