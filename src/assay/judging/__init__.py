"""Judges: `protocol` what a judge is, `judge` those that ask a model, `builtin` those that do not.

`rubric` and `rubrics/` what is asked, `parsing` and `verdict` how a reply becomes a verdict, `injection` what keeps
judged text from judging itself. `calibration` how far a judge agrees with people, `spot_check` and `rerun` a second
look.
"""
