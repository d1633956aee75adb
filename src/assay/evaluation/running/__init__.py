"""Running a system over a dataset: what is fixed before the first case, asking, writing down, stopping and going on.

`planning` what is fixed before the first case, `runner` the loop, `executing` who works through the cases, `budget`
when to stop. `lines` one case as one line of JSON, `seals` what shows that a file was edited, `journal` the file that
grows, `folder` the files of a run and how runs are found. `sensitivity` what a set of cases can show, `stored` a run as
a row of a store.
"""
