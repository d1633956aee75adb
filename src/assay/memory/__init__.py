"""The memory engine. `engine` is the parts together; each folder is one thing it does.

`saving` keeps what is worth keeping and decides what becomes of what is like it; `searching` finds and explains;
`ingesting` takes in files; `importing` takes in memories of other tools, `exporting` writes them out, `portable` is
Assay's own export and the way back; `forgetting` erases to the last byte. `sessions`, `graph` and `health` are what a
session was given, why a memory is as it is, and whether every channel still finds what it should.
"""
