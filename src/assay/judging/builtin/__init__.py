"""What works without a model: a groundedness judge, an abstention reader, and an evaluator for every role of the panel.

All of it is deterministic: the same texts give the same numbers on every machine with the same embedder.
"""
