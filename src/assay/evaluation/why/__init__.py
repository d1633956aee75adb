"""Why a query of a run lost its gold: from what was recorded, and by asking the system again.

- `words`: words of queries and documents, and how rare they are.
- `probing`: asks a system again: deeper, with other words, and with fewer.
- `reasons`: the reason for a loss, and the suggestion that follows from the evidence.
- `explaining`: one query explained, and all lost queries of a run.
- `terminal`: both as text for a terminal.
"""
