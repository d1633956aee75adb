"""The schema's history: one numbered file per step under `versions/`, never edited once released."""
