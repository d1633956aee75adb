"""What the report and the dashboard share, so that both look and escape alike.

- `templates`: the one Jinja environment, the style sheet and the scripts. The macros are in `templates/macros.html`
  (chips, charts, tables), the parts of a run in `templates/run_parts.html`, the files in `assets/`.
- `charts`: the one chart kit; `templates/charts.html` draws its figures as SVG.
- `markdown`: Markdown of answers as HTML that can do nothing.
- `explanations`: how a score came about, as lines to read.
- `outcomes`: the words and colours of what became of a question.
- `wording`: how numbers, times and texts are written and coloured.

Nothing here depends on runs, requests or stores: callers give values and get text.
"""
