"""Judges and evaluators that need no model.

All of it is deterministic: the same texts give the same numbers on every machine with the same embedder.

- `support`: how well passages support a claim.
- `judges`: groundedness, abstention, and answers without passages; the fitted weights behind them.
- `correctness`: whether an answer says what the gold answer says; the fitted weights behind it, and word overlap.
- `answer_features`: what the correctness judge weighs.
- `answer_parts`: the parts of a gold answer, and which of them a candidate has.
- `gold_answers`: gold answers that contradict their own evidence.
- `answerability`: how likely the passages of a search answer a question, and which sentences fit it best.
- `plan_signals`: what is measured of a plan, and the fitted weights of it.
- `plan`: the check of plans.
- `evaluators`: the checks of passages and answers, and the built-in check of every checkpoint.
- `similar_questions`: whether two questions ask the same thing in other words.
"""
