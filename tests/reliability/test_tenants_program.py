"""The program about tenants can fail: each is shown something wrong, and must say so."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reliability.outcome import broken
from reliability.tenants import NAMES, TenantsOutcome, _Tenant, _Town
from tests.server.serving import bearer, reaching, services_at

from assay.records import Scope
from assay.testing import FixedClock

GOOD = TenantsOutcome(
    memories=30,
    searches=100,
    probes=20,
    hits=800,
    refused=400,
    public=("/healthz", "/login", "/readyz"),
    opened=(),
    foreign=(),
    told_apart=(),
    miscounted=(),
    moved=(),
    failed=(),
    seconds=1.0,
)


@pytest.mark.parametrize(
    "wrong",
    [
        {"hits": 3},
        {"foreign": ("a saw b",)},
        {"told_apart": ("GET /x",)},
        {"miscounted": ("a: 31 memories, not 30",)},
        {"moved": ("oven polls",)},
        {"failed": ("GET /x: 500",)},
        {"opened": ("GET /x: 200",)},
        {"refused": 0},
        {"public": ("/a", "/b", "/c", "/d")},
    ],
)
def test_one_thing_wrong_is_one_promise_broken(wrong: dict[str, Any]) -> None:
    assert broken(GOOD) == []
    assert len(broken(replace(GOOD, **wrong))) == 1


def test_rows_of_another_tenant_are_seen_by_mark_and_by_id(tmp_path: Path) -> None:
    with services_at(tmp_path, clock=FixedClock(), server_requests_per_minute=1_000_000) as services:
        one, other = (_Tenant(name, bearer(services, scope=Scope(tenant=name, principal=name))) for name in NAMES[:2])
        with reaching(services, local=False, pages=True) as client:
            town = _Town(client, services, [one, other], random.Random(1))
            town.settle(one, 3)
            town.settle(other, 3)
            town._look(one, "its own", f'{{"title": "{one.mark}", "id": "{one.memories[0]}"}}')
            assert town.seen.foreign == []
            town._look(one, "a title", f'{{"title": "{other.mark}"}}')
            town._look(one, "an id", f'{{"id": "{other.memories[2]}"}}')
            assert [line.partition(" at ")[2] for line in town.seen.foreign] == ["a title", "an id"]
            assert list(town.miscounted(one)) == []
            one.asked += 1
            assert list(town.miscounted(one)) == ["alderfen: 3 questions, not 4"]
            # A tenant that is let in as another finds what is not its own.
            one.headers.update(other.headers)
            for _ in range(20):
                town.probe()
            assert town.seen.told_apart or town.seen.foreign[2:]
