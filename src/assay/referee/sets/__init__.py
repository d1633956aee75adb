"""Readers of the public memory benchmarks and of the bundled one; all give the same frozen values.

- `values`: items, questions, users, sets.
- `catalog`: the sets by name.
- `files`: find and read the files below `--data`.
- `overlays`: corrections of a public answer key, and a converter from LoCoMo's audit.
- `locomo`, `realtalk`, `longmemeval`, `beam`, `personamem`, `factconsolidation`, `precisionmembench`: one reader each.
- `bundled`: the set that comes with Assay.
"""
