from __future__ import annotations

import pytest

from assay.metrics.catalog import BY_NAME, ENTRIES, near
from assay.metrics.entry import Cutoff, MetricEntry
from assay.metrics.ranking import KERNELS
from assay.metrics.reference import entry_markdown, reference_markdown
from assay.metrics.spec import MetricSpec


def test_no_two_metrics_share_a_name() -> None:
    assert len(BY_NAME) == len(ENTRIES)


def test_every_family_of_the_specification_is_there() -> None:
    assert len({entry.family for entry in ENTRIES}) == 8


def test_every_ranking_metric_can_be_computed_and_every_kernel_is_documented() -> None:
    assert {entry.name for entry in ENTRIES if entry.family == "ranking"} == set(KERNELS)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_says_everything(entry: MetricEntry) -> None:
    assert all([entry.summary, entry.formula, entry.citation, entry.example])
    assert entry.lowest is None or entry.highest is None or entry.lowest < entry.highest
    defaults = tuple((one.name, one.default) for one in entry.parameters)
    spec = MetricSpec(name=entry.name, cutoff=None if entry.cutoff is Cutoff.NONE else 10, parameters=defaults)
    assert spec.parameters == ()


def test_the_reference_page_has_every_metric_in_full() -> None:
    page = reference_markdown()
    for entry in ENTRIES:
        assert entry_markdown(entry) in page
        assert f"| `{entry.name}` |" in page
        assert entry.formula in page
        assert entry.example in page
    assert page.endswith("\n")
    assert "\n\n\n" not in page


def test_near_names_are_few_and_the_likeliest_comes_first() -> None:
    assert near("map", BY_NAME)[0] == "ap"
    assert near("P", BY_NAME)[0] == "precision"
    assert len(near("recal", BY_NAME)) <= 3
    assert near("xyzzy", BY_NAME) == []
