"""Traces of other systems in, scores out: production traffic as sessions, searches, candidates and answers.

Reading:
- `reading`: what readers share: refused spans, times, texts and documents in other systems' forms.
- `json_stream`: JSON values of a file one by one, however large the file is.
- `conventions`: attributes of OpenInference and of the OpenTelemetry GenAI conventions as a span.
- `otlp_json`: OTLP as JSON.
- `otlp_protobuf`: OTLP as protobuf. Needs the extra `otel`.
- `phoenix`: exports of Phoenix.
- `langfuse`: exports of Langfuse.
- `langsmith`: exports of LangSmith.
- `importing`: a file or a request into the store.

Using:
- `analysis`: what one trace comes to: tree, question, answer, the way of each document, checks.
- `summing`: what many traces come to.
- `cases`: traces as cases of a dataset that people label.
- `replaying`: recorded traces as a system under test.
- `scores`: scores as `gen_ai.evaluation.result` events.
"""
