"""Numbers about the server itself, in the format of Prometheus: requests, times, refusals, what is under way."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ServerMetrics:
    """One server's numbers. Labels are declared paths and codes of errors, so their number is bounded."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "assay_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "assay_request_seconds", "How long an answer took.", ("route",), buckets=SECONDS, registry=self.registry
        )
        self.refused = Counter("assay_refused", "Requests the guard refused.", ("code",), registry=self.registry)
        self.under_way = Gauge("assay_requests_under_way", "Requests being answered.", registry=self.registry)
        self.log_dropped = Gauge("assay_query_log_dropped", "Searches the log had no room for.", registry=self.registry)

        self.shadow = Gauge(
            "assay_shadow_searches",
            "Searches of this process by what became of their shadow: seen, sampled, dropped, compared, failed.",
            ("what",),
            registry=self.registry,
        )

    def told(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self.registry)
