"""Embedders: `protocol` what one is; the others are one adapter each."""
