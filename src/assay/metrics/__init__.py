"""Metrics: how they are named, registered, computed and aggregated.

- `spec`: `ndcg(gain=exp)@10` as a value.
- `catalog`: what is known of each metric, the registry, `@metric`, and the reference page.
- `inputs`: what metric functions are given.
- `outcomes`: what metric functions return.
- `ordering`: the order in which results count, with ties.
- `ranking`: the kernels of ranking metrics.
- `ranking_metrics`: the catalog entries of ranking metrics.
- `ranked_grades`: rankings joined with judgments.
- `engine`: ranking metrics of whole runs.
- `anchors`: whether the supporting places were retrieved, kept and cited.
- `top_chunk`: whether the expected chunk comes first.
- `answers`: judged answers, abstention and citations.
- `reference_text`: compares an answer with a reference answer by numbers and words.
- `agent_memory`: what an agent must be reminded of, and cold starts.
- `returned`: how much of what was returned is relevant, and how much there is to read.
- `channels`: what each search channel adds.
- `current_facts`: whether results state what is true now.
- `write_path`: what saves do, stale memories and lost text.
- `operations`: latency, cost and failures.
- `indexing`: documents and chunks that search cannot find.
- `aggregate`: scores of many cases, means, breakdowns and fingerprints.
- `outcome_columns`: the outcomes of one metric by case, in a few bytes a case.
"""
