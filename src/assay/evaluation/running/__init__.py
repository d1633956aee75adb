"""Running a system over a dataset: planning, asking every case, writing results down, stopping and resuming.

- `planning`: the budget, and what is fixed before the first case.
- `early_stopping`: the test that may end a run, fixed before the first case.
- `own_memory`: whether a run is one of this memory, and counts for its evaluation cycles.
- `asking`: the job of a run, in this process and inside workers.
- `runner`: the loop over cases, and the use-case behind every surface.
- `progress`: how far a run is, and what each worker has done, for servers to show.
- `live`: what others see of a run while it goes on.
- `files`: seals, lines, the folder and the journal of a run.
- `json_text`: records and results as JSON.
- `case_columns`: the cases of a run, read line by line into columns.
- `result_reading`: the outcomes of a result, read line by line into columns.
"""
