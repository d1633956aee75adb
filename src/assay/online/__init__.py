"""Online evaluation: a change climbs from the offline gate over shadow, interleaving and a test to everybody, or falls.

`shadow` runs a treatment unseen behind the control, `diffs` says how the two differ, `attribution` which channel found
what; `interleaving` merges both into one list; `trials` keeps sequential tests, `graduation` holds their four
conditions, `guardrails` watches what has graduated, and `ladder` is all of it for one change, in one record.
"""
