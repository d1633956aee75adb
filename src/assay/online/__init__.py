"""Online evaluation: test a change on live traffic before it is rolled out, and roll it back if it harms.

- `shadow`: run a treatment unseen after the control, and compare the results.
- `sides`: the memory's search with a change and without it.
- `judged`: which grades count, and what a ranking is worth by them.
- `vote_sources`: why a running test gets no votes.
- `interleaving`: merge both results into one list, and count what is used of it as votes.
- `trials`: sequential tests, stored with every vote.
- `graduation`: the four conditions of a rollout, and the guardrails after it.
- `ladder`: all steps of one change in one record, with the evidence of offline runs.
- `labels`: relevance labels from clicks and from models.
- `attribution`: what each channel gave to the searches of use.
- `health`: what `assay health` reports of metrics, drift, learning and tests.
"""
