"""From a question to an answer with citations: plan, search, synthesise, each step evaluated.

- `pipeline`: ask a question and keep the whole record.
- `run`: the steps of one question.
- `events`: what a run reports while it works.
- `planner`: from a question to search queries.
- `search`: from queries to numbered passages.
- `support`: the words of a passage that support a sentence.
- `synthesiser`: from passages to an answer with citations.
- `numbering`: passages numbered in the order in which the answer cites them.
- `checkpoints`: evaluation of plan, passages and answer, and what happens when evaluation fails.
- `attempts`: when a plan is tried again, and which plan and answer are chosen.
- `outcomes`: the outcome of a question, whether it passed, and its overall score.
- `options`: every number that steers the pipeline.
- `custom`: evaluation dimensions of your own.
- `rating`: what people say of an answer.
- `record`: the record of a question as JSON.
- `export`: the record written to files.
"""
