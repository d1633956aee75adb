"""What the report and the dashboard are made with, so that both look and escape alike.

`templates` is the one Jinja environment, with the macros in `templates/macros.html` (chips, charts, tables) and the
parts of a run in `templates/run_parts.html`. `charts` is the one chart kit, `wording` how numbers are written and
coloured. `assets` reads the one style sheet (`assay.css`) and the script that draws charts (`charts.js`). Nothing here
knows about runs, requests or stores: callers give values, and get text.
"""
