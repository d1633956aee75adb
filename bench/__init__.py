"""Programs that print the figures of `bench/README.md`; run one with `python -m bench.NAME`."""
