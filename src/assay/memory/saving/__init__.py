"""Saving: what keeps the store clean.

Read `saver` first; the others are its steps, in this order, and what undoes a save.

- `saver`: takes drafts and saves them in batches; updates of a memory.
- `options`: the settings of saving, and the quality score.
- `telling_words`: which words of a short note tell something.
- `drafts`: what a draft must be, hidden characters and secrets.
- `spam_filter`: is it a note at all, and the quarantine for what is not.
- `preparing`: these steps together with chunks and vectors, before the write lock is taken.
- `lookahead`: preparing the next batch while one is written, where workers embed.
- `garbage`: pauses Python's collector of cycles while a batch is saved.
- `neighbours`: the memories a draft is like, and what becomes of it beside each of them.
- `agreement`: do two texts contradict each other?
- `subjects`: are two texts about the same thing?
- `openings`: what a text is about, read from how its first sentence begins.
- `coverage`: how much of one text another one says as well.
- `change_words`: words by which a note says that something has changed.
- `pair_evidence`: what two notes with their labels say about each other: a change, a repetition, an elaboration.
- `fact_changes`: what the facts of a draft do to memories that state something else.
- `decisions`: what the save does, under the feature flags.
- `writing`: the rows, and what an update inherits.
- `restoring`: forgetting, and undoing a save or a forgetting.
- `thresholds`: measures where an embedder's similarity begins to mean something.
"""

from assay.memory.saving.options import SaveOptions
from assay.memory.saving.saver import Refused, Result, Saver

__all__ = ["Refused", "Result", "SaveOptions", "Saver"]
