"""Checkpoints: a whole copy of the store, made while it is in use, with a description, verified before it is used.

- `folder`: the folder of checkpoints: descriptions, complete copies only, and what a restore leaves as it is.
- `sqlite`: checkpoints of a SQLite file, made by its online backup.
- `postgres`: checkpoints of a PostgreSQL schema.

Checkpoints are listed from their folder, not from a table, because they are needed when the database cannot be read.
"""
