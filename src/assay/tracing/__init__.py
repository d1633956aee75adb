"""What Assay does as OpenTelemetry spans, for whoever already watches theirs there; nothing leaves unless configured.

`spans` turns finished searches, saves and answers into spans, named and described by the GenAI and OpenInference
conventions; `exporting` sets up where they go. Needs the extra `otel`.
"""
