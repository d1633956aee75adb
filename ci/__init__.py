"""Pieces for continuous integration that are not part of the installed package."""
