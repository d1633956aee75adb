"""Whether each built-in dimension falls for its own defect: `python -m bench.defects`; `__main__` has the options.

- `question_sets`: labelled questions with the plan and the passages that Assay really makes and finds.
- `text_changes`: one change of a text: another number, another name, the opposite, a cut.
- `answers`: answers in the words of the passages that hold the reference answer.
- `planting`: every defect: the good material, and the same material with that defect.
- `cases`: which questions get which defect, the same ones every time.
- `scoring`: the scores of a material, by rules or by a model. All scores come from here.
- `overall`: outcome and overall score of questions that were refused wrongly, or answered wrongly.
- `figures`: AUROC of each dimension for each defect, verdicts, and the tables.
"""
