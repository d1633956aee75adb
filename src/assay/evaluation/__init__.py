"""Offline use-cases: run, measure, compare, gate, report, label and tune.

- `datasets`: loading, checking and keeping datasets.
- `running`: running a system over a dataset.
- `run_metrics`: default metrics, floors, and one metric of one case.
- `placement`: where results lie in the dataset's documents.
- `scoring`: every metric over every case.
- `caveats`: what a reader must know beside a run's numbers.
- `results`: a finished run as a value.
- `judged_scores`: a run's numbers with the verdicts of judges.
- `run_judging`: judging the answers of a finished run.
- `readings`: what a run measured, case by case.
- `lookup`: runs and baselines by name.
- `shelf`: the runs, datasets and labels that a caller may see.
- `measure`: run files measured against judgments, without a store.
- `comparison`: two or more runs over the same cases.
- `baselines`: the baseline file, and blessing a run.
- `gating`: the rules of the gate.
- `self_test`: false alarms of a gate, and the smallest drop it can see.
- `ci`: verdicts as files for build servers.
- `experiments`: a change of configuration, compared and decided.
- `reporting`: reports as Markdown and HTML.
- `waterfall`: the step at which gold evidence was lost.
- `recommendations`: what to try next.
- `harvesting`: a dataset from logged use.
- `labelling`: labels given by people.
- `question_generation`: questions generated from documents.
- `simulation`: learning from feedback, simulated.
- `tuning`: tuning fusion on logged lists.
"""
