"""The documentation, and `python -m docs.generate`, which writes its generated pages."""
