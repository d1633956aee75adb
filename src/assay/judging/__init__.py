"""Judges: how good an answer, its passages and its plan are, by a model or without one.

- `protocol`: what a judge and an evaluator are.
- `registry`: judges by name, and `@judge` to add one.
- `builtin`: judges and evaluators that need no model.
- `model_judge`: judges that ask a model.
- `rubric`: what a judge is to judge (files in `rubrics/`), and how a reply becomes a verdict.
- `prompts`: prompts of planner, synthesiser, roles and reviewer, and their versions.
- `injection`: protection against orders in judged text.
- `canaries`: planted cases that show whether a judge obeys such orders.
- `labels`: cases that people judged.
- `calibration`: how far a judge agrees with people.
- `certification_cases`: answers that are right, wrong on purpose, declining and attacked.
- `certification`: what a judge makes of them, as a certificate.
- `licence`: whether a gate may use a judge, by its calibration and its certificate.
- `rerun`: a second opinion on an old run or on a sample of verdicts.
- `panel`: all roles of a checkpoint, one verdict, and escalation to a larger model.
- `panel_options`: the numbers that decide a panel's verdict.
- `admission`: when a model's grades of memories count beside people's.
- `relevance`: a model grades how relevant a memory is to a question.
- `roles`: the roles of the panel, by a model or built in.
- `persistence`: replies, spending and secrets in the store.
"""
