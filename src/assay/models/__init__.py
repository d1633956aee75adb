"""Models behind an address: `endpoint` is the one client of OpenAI-compatible services."""
