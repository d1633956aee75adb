"""Judges and evaluators that need no model.

All of it is deterministic: the same texts give the same numbers on every machine with the same embedder.

- `support`: how well passages support a claim.
- `judges`: groundedness, abstention, and answers without passages; the fitted weights behind them.
- `plan`: the evaluator of plans.
- `evaluators`: the evaluators of passages and answers, and the built-in panel.
- `similar_questions`: whether two questions ask the same thing in other words.
"""
