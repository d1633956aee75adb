"""OpenTelemetry spans of what Assay does; nothing leaves the machine unless configured. Needs the extra `otel`.

- `spans`: searches, saves and answered questions as spans, by the GenAI and OpenInference conventions.
- `exporting`: where spans go.
- `evaluations`: scores of other systems' traces as spans with evaluation events.
"""
