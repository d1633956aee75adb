"""What Assay does as OpenTelemetry spans, for whoever already watches theirs there; nothing leaves unless configured.

`spans` turns finished searches and saves into spans, `researching` answered questions, named and described by the GenAI
and OpenInference conventions; `exporting` sets up where they go. Needs the extra `otel`.
"""
