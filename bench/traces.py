"""Import a file of a million spans into one SQLite store, and print the time and the memory it took.

    python -m bench.traces [--spans N] [--form otlp|otlp-protobuf] [--once] [--folder DIR]

The file is made here: traces of eight spans as OpenTelemetry writes them (a chain, an embedding, two retrievers with
ten passages each, a reranker, a memory search, a model and an HTTP call), with passages of a corpus of 5,000 and a
question and an answer of their own in each trace. Then the same file is imported again, which must change nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.clock import SystemClock
from assay.records import Scope
from assay.records.traces import TraceImport
from assay.storage import open_store
from assay.traces.importing import import_files

CORPUS = 5_000
SPANS_A_TRACE = 8
TRACES_A_LINE = 25
WORDS = tuple(
    re.findall(
        r"\w+",
        "guests may check out before noon or ask the desk for a later time breakfast is served from seven until ten in "
        "the garden hall parking costs twelve euros a night and pets are welcome on the ground floor the river room "
        "has a view the pool opens in may and closes in october towels are changed daily unless the card hangs there",
    )
)
BEGIN = 1_760_000_000_000_000_000


def make_text(rng: random.Random, words: int) -> str:
    """Return a sentence of so many words."""
    return " ".join(rng.choices(WORDS, k=words)).capitalize() + "."


def attribute(name: str, value: Any) -> dict[str, Any]:
    """Return an attribute as OTLP writes it."""
    if isinstance(value, int):
        return {"key": name, "value": {"intValue": str(value)}}
    if isinstance(value, float):
        return {"key": name, "value": {"doubleValue": value}}
    return {"key": name, "value": {"stringValue": value}}


def documents(name: str, rng: random.Random, corpus: list[str], count: int) -> list[dict[str, Any]]:
    """Return passages of the corpus as attributes."""
    made = []
    for place, number in enumerate(rng.sample(range(len(corpus)), count)):
        made.append(attribute(f"{name}.{place}.document.id", f"doc-{number}"))
        made.append(attribute(f"{name}.{place}.document.score", 1.0 - place / 20))
        made.append(attribute(f"{name}.{place}.document.content", corpus[number]))
    return made


def make_trace(number: int, rng: random.Random, corpus: list[str]) -> list[dict[str, Any]]:
    """Return the eight spans of one trace."""
    question, answer = f"Question {number}: {make_text(rng, 9)}", make_text(rng, 40)
    kind, model = "openinference.span.kind", [attribute("gen_ai.request.model", "small-1")]
    usage = [attribute("gen_ai.usage.input_tokens", 900), attribute("gen_ai.usage.output_tokens", 60)]
    parts: list[tuple[str, list[dict[str, Any]]]] = [
        ("answer", [attribute(kind, "CHAIN"), attribute("input.value", question), attribute("output.value", answer)]),
        ("embed", [attribute(kind, "EMBEDDING"), attribute("embedding.model_name", "mini")]),
        ("words", [attribute(kind, "RETRIEVER"), attribute("input.value", question)]),
        ("vectors", [attribute(kind, "RETRIEVER"), attribute("input.value", question)]),
        ("rerank", [attribute(kind, "RERANKER"), attribute("reranker.query", question)]),
        (
            "memory",
            [attribute("gen_ai.operation.name", "search_memory"), attribute("gen_ai.memory.query.text", question)],
        ),
        ("chat", [attribute("gen_ai.operation.name", "chat"), *model, *usage, attribute("output.value", answer)]),
        ("POST", [attribute("http.request.method", "POST"), attribute("http.response.status_code", 200)]),
    ]
    for place in (2, 3):
        parts[place][1].extend(documents("retrieval.documents", rng, corpus, 10))
    parts[4][1].extend(documents("reranker.output_documents", rng, corpus, 5))
    begin = BEGIN + number * 1_000_000_000
    return [
        {
            "traceId": f"{number + 1:032x}",
            "spanId": f"{number * SPANS_A_TRACE + place + 1:016x}",
            **({"parentSpanId": f"{number * SPANS_A_TRACE + 1:016x}"} if place else {}),
            "name": name,
            "startTimeUnixNano": str(begin + place * 10_000_000),
            "endTimeUnixNano": str(begin + (80 if place == 0 else place * 10 + 9) * 1_000_000),
            "attributes": attributes,
        }
        for place, (name, attributes) in enumerate(parts)
    ]


def make_lines(spans: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Return requests as a collector writes them, one a line."""
    rng = random.Random(seed)
    corpus = [make_text(rng, 60) for _ in range(CORPUS)]
    traces = spans // SPANS_A_TRACE
    for first in range(0, traces, TRACES_A_LINE):
        made = [
            span
            for number in range(first, min(first + TRACES_A_LINE, traces))
            for span in make_trace(number, rng, corpus)
        ]
        yield {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": made}]}]}


def write_file(path: Path, spans: int, form: str) -> None:
    """Write the file."""
    if form == "otlp":
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in make_lines(spans))
        return
    from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped] # noqa: PLC0415 - the extra
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData  # noqa: PLC0415 - the same

    with path.open("wb") as file:
        for line in make_lines(spans):
            for resource_spans in line["resourceSpans"]:
                for span in resource_spans["scopeSpans"][0]["spans"]:
                    for name in ("traceId", "spanId", "parentSpanId"):
                        if name in span:
                            span[name] = _base64(span[name])
            file.write(ParseDict(line, TracesData()).SerializeToString())


def _base64(digits: str) -> str:
    import base64  # noqa: PLC0415 - only for protobuf

    return base64.b64encode(bytes.fromhex(digits)).decode()


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--form", choices=("otlp", "otlp-protobuf"), default="otlp")
    parser.add_argument("--folder", type=Path, default=None, help="where the file and the store are written")
    parser.add_argument("--once", action="store_true", help="do not import the file a second time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "spans"
        write_file(path, given.spans, given.form)
        say(f"{path.stat().st_size / 1e6:,.0f} MB of {given.form}")
        with open_store(Path(folder) / "traces.db", clock=SystemClock()) as store:
            scope = Scope(tenant="default", principal="bench")
            for title in ("first import",) if given.once else ("first import", "the same again"):
                wall, processor = time.perf_counter(), time.process_time()
                done = import_files(store, scope, [path])
                report(title, done, time.perf_counter() - wall, time.process_time() - processor)
        say(f"store {(Path(folder) / 'traces.db').stat().st_size / 1e6:,.0f} MB")
    say(f"most memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB")


def report(title: str, done: TraceImport, wall: float, processor: float) -> None:
    """Print what one import did and took."""
    counts = {reason.value: count for reason, count in (*done.rejected.items(), *done.noted.items())}
    say(f"{title}: {done.spans:,} spans read, {done.stored:,} stored, {done.traces:,} traces, {counts}")
    say(f"  {wall:,.1f} s, processor {processor:,.1f} s, {done.spans / wall:,.0f} spans/s")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
