from __future__ import annotations

import pytest

from assay.metrics.catalog import Cutoff, FromRanking, MetricEntry, entries, entry_markdown, near, reference_markdown
from assay.metrics.spec import MetricSpec

NAMES = [entry.name for entry in entries()]


def test_no_two_metrics_share_a_name() -> None:
    assert len({entry.name for entry in entries()}) == len(entries())


def test_every_family_of_the_specification_is_there() -> None:
    assert len({entry.family for entry in entries()}) == 8


def test_every_ranking_metric_can_be_computed_and_every_kernel_is_documented() -> None:
    kernels = {entry.name: entry.compute.kernel for entry in entries() if isinstance(entry.compute, FromRanking)}
    assert {entry.name for entry in entries() if entry.family == "ranking"} == set(kernels)
    assert {name: kernel.__name__ for name, kernel in kernels.items()} == {name: name for name in kernels}


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_an_entry_says_everything(entry: MetricEntry) -> None:
    assert all([entry.summary, entry.formula, entry.citation, entry.example])
    assert entry.lowest is None or entry.highest is None or entry.lowest < entry.highest
    defaults = tuple((one.name, one.default) for one in entry.parameters)
    spec = MetricSpec(name=entry.name, cutoff=None if entry.cutoff is Cutoff.NONE else 10, parameters=defaults)
    assert spec.parameters == ()


def test_the_reference_page_has_every_metric_in_full() -> None:
    page = reference_markdown()
    for entry in entries():
        assert entry_markdown(entry) in page
        assert f"| `{entry.name}` |" in page
        assert entry.formula in page
        assert entry.example in page
    assert page.endswith("\n")
    assert "\n\n\n" not in page


def test_near_names_are_few_and_the_likeliest_comes_first() -> None:
    assert near("map", NAMES)[0] == "ap"
    assert near("P", NAMES)[0] == "precision"
    assert len(near("recal", NAMES)) <= 3
    assert near("xyzzy", NAMES) == []
