"""One file per command; each has `register(app)`, and a line in `assay.cli.group`."""
