"""Running a system over a dataset: planning, asking every case, writing results down, stopping and resuming.

- `planning`: the budget, and what is fixed before the first case.
- `runner`: the loop over cases, and the use-case behind every surface.
- `files`: seals, lines, the folder and the journal of a run.
"""
