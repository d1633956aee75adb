"""Metrics: what is asked (specs, catalog), in what order results count, and how each family is computed."""
