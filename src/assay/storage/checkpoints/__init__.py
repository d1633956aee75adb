"""Checkpoints: a whole copy of the store, taken online, described by a file beside it, verified before it is used.

`manifest` what a checkpoint says of itself, `folder` where they lie, `sqlite_files` the online backup of SQLite,
`postgres_tables` the tables of PostgreSQL, `postgres_dumps` what earlier versions made with pg_dump. A checkpoint
describes itself and is listed from its folder, not from a table: the day it is needed is the day the database cannot
be read.
"""
