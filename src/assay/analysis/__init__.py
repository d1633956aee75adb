"""Offline analysis of answered questions: what the scores add up to, where they are low, and what could be changed.

`aggregates` sums up sessions with the means of `score_summary`, `trends` follows them week by week; `asked` turns
sessions into distinct questions with the `traits` that `testing` tests and `patterns` reports; `suggestions` says which
prompt a pattern calls for, and `wording` lets a model say it. `prompts` keeps versions of prompts, `prompt_comparison`
says what they led to. `offline` is all of it at once, for the command line and the server.
"""
