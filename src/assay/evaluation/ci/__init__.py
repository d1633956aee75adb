"""A verdict for machines that build: `junit` XML, `markdown` for step summaries and pull requests, `sarif` per case."""
