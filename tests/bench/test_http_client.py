"""The bench of the client of services calls a real server both ways, and the pooled way needs few connections."""

from __future__ import annotations

import pytest
from bench.http_client import LOADS, measure


@pytest.mark.slow
def test_both_clients_are_measured_under_every_load(monkeypatch: pytest.MonkeyPatch) -> None:
    # The bench sets it; set here so that it is put back.
    monkeypatch.setenv("SSL_CERT_FILE", "")
    speeds = measure(0.2)
    assert [speed.load for speed in speeds] == [load.name for load in LOADS for _ in range(2)]
    assert all(speed.calls > 0 and 0 < speed.p50_ms <= speed.p99_ms and speed.cpu_ms > 0 for speed in speeds)
    assert all(speed.connections == speed.calls for speed in speeds[::2])
    threads = max(load.threads for load in LOADS)
    assert all(speed.connections <= threads for speed in speeds[1::2])
