"""No package reaches beyond this machine while its adapter is tried."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse connections to other machines, and fail the test during which one was tried."""
    reached: list[Any] = []
    connect = socket.socket.connect

    def connect_here(opened: socket.socket, address: Any) -> None:
        if opened.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOOPBACK:
            reached.append(address)
            raise ConnectionRefusedError(f"{address} is another machine")
        connect(opened, address)

    monkeypatch.setattr(socket.socket, "connect", connect_here)
    yield
    assert reached == []
