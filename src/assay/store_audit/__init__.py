"""Audit memory stores that other tools wrote: read, find faults, plan the repair, apply it to a copy, import the rest.

Not to be confused with the audit log of Assay's own store (`access.auditing`). Read `auditor` first.

- `auditor`: reads a store, asks every rule, and counts.
- `readers`: one reader for each kind of store; the original is never written to.
- `item_rules`: junk, secrets, injected orders and the memory's own output, by the rules of saving.
- `self_feeding`: entries that a memory made of its own output.
- `pair_rules`: duplicates and contradictions between two texts, by the table of saving.
- `fact_rules`: facts that cannot all be true now, and plans whose day has passed.
- `passed_dates`: sentences that look forward to a day which is over.
- `outdated_marks`: the mark that a repair puts before a text that no longer holds.
- `planning`: the repair plan, as a file.
- `repairing`: applies a plan to a copy and audits the copy.
- `reporting`: the report as Markdown and as an HTML page.
- `importing`: the good memories as an import.
"""
