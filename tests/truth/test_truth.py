"""Every flag, setting, request field, dataset field and stored column changes something a user can see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.truth.exemptions import EXEMPT, KNOWN
from tests.truth.items import Kind, list_items
from tests.truth.probing import Stage, run_probe
from tests.truth.registry import PROBES


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.close()


@pytest.mark.parametrize("kind", list(Kind))
def test_every_item_has_one_probe(kind: Kind) -> None:
    items = set(list_items(kind))
    probed = {item for item in PROBES if item.startswith(f"{kind}:")}
    exempt = {item for item in EXEMPT if item.startswith(f"{kind}:")}
    assert sorted(items - probed - exempt) == [], "these have no probe: add one to the module of their kind"
    assert sorted((probed | exempt) - items) == [], "these are no items any more: remove their probes"
    assert sorted(probed & exempt) == [], "these have a probe and an exemption: keep one"


def test_every_exception_has_a_reason() -> None:
    for table in (EXEMPT, KNOWN):
        assert all(len(reason.split()) >= 3 for reason in table.values())
    assert KNOWN.keys() <= PROBES.keys()


SLOW = (
    "dataset:",
    "column:",
    "setting:postgres.",
    "setting:judge.",
    "field:checkpoint.",
    "field:file.report.",
    "field:file.why.",
    "field:memory.erase.",
    "field:run.",
    "field:store.rescan.",
)
"""Items whose probes run datasets, copy stores or start servers: under `make soak`."""


def mark(item: str) -> Any:
    """Return an item with what is known of it."""
    marks = [pytest.mark.slow] if item.startswith(SLOW) else []
    if item in KNOWN:
        marks.append(pytest.mark.xfail(reason=KNOWN[item], raises=AssertionError, strict=True))
    return pytest.param(item, marks=marks)


@pytest.mark.parametrize("item", [mark(item) for item in PROBES])
def test_another_value_changes_what_a_user_sees(stage: Stage, item: str) -> None:
    verdict = run_probe(PROBES[item], stage)
    assert verdict.has_effect, str(verdict)
