"""The history of the schema.

- `versions/`: one numbered file for each step, never edited once released. The first one makes every table.
- `columns`: typed columns and named constraints that steps are written with.
- `older_stores`: brings stores of version 0.1 and later revisions to the first file.
"""
