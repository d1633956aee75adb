"""Online evaluation: test a change on live traffic before it is rolled out, and roll it back if it harms.

- `shadow`: run a treatment unseen after the control, and compare the results.
- `interleaving`: merge both results into one list, and count what is used of it as votes.
- `trials`: sequential tests, stored with every vote.
- `graduation`: the four conditions of a rollout, and the guardrails after it.
- `ladder`: all steps of one change in one record, with the evidence of offline runs.
- `labels`: relevance labels from clicks and from models.
- `health`: what `assay health` reports of metrics, drift, learning and tests.
"""
