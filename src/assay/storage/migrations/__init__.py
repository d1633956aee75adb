"""The history of the schema.

- `columns`: typed columns and named constraints for use in migrations.
- `older_stores`: brings stores of version 0.1 and of later revisions to the first file of `versions/`.

The folder `versions/` has one numbered file for each step, never edited once released. The first creates every table.
"""
