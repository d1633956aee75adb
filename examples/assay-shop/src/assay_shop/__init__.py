"""An example of a package that adds to Assay: `metrics`, `systems` and `judges`, each one entry point."""
