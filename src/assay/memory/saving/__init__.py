"""Saving: what keeps the store clean. `saver` is the way in; the rest is one module for each step.

`structure` what a draft must be, `hidden` what nobody sees and `secrets` what is masked, `trust` whether it is a note
at all (over `orders` and `stuffing`), `quality` what it is worth; `preparing` these together with chunks and vectors;
`neighbours` which memories are like it; `copying` whether it crowds others out; `agreement` and `subject` (over
`wording` and `vocabulary`) whether they contradict it and are about the same thing; `reconsolidation` the table that
decides, `gate` what the flags allow, `decisions` both together; `writing` the rows; `quarantine` what no search finds;
`forgotten` what is hidden until it is restored, `updating` a new version of a memory, `inheriting` what it takes over,
`rights` who may change what; `restoring` how to take it back; `thresholds` how to measure them.
"""

from assay.memory.saving.options import SaveOptions
from assay.memory.saving.saver import Refused, Result, Saver

__all__ = ["Refused", "Result", "SaveOptions", "Saver"]
