"""Offline use-cases: what a question about quality is answered with, whoever asks."""
