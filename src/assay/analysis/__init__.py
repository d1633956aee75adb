"""Offline analysis of answered questions and tasks: what the scores add up to, where they are low, and what to change.

- `aggregates`: pass rate, scores and failures of many sessions, and the trend by week.
- `over_time`: outcomes, pass rate, times and tokens of each day or week.
- `rate_alerts`: alerts when the rate of an outcome changes.
- `questions`: distinct questions with their scores.
- `traits`: the traits that questions share, and tests of a trait.
- `patterns`: traits that go with lower scores, and suggestions for the prompts concerned.
- `prompts`: versions of prompts, and which one is in use.
- `prompt_comparison`: two versions of a prompt compared on sessions of both.
- `prompt_splits`: results so far of a split of questions between two versions.
- `task_outcomes`: the searches of tasks that were done and of tasks that failed.
- `thresholds`: pass thresholds tuned to ratings by people.
- `offline`: the whole analysis at once, for the command line and the server.
"""
