from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputError, UnknownMetric
from assay.metrics.catalog import Cutoff, MetricEntry, Parameter, entries
from assay.metrics.spec import MetricSpec, parse_specs


@pytest.mark.parametrize(
    "text",
    [
        "ndcg@10",
        "ndcg(gain=exp)@10",
        "recall@5",
        "precision@5",
        "mrr@10",
        "mrr",
        "recall_any@5",
        "recall_all@5",
        "judged@10",
        "p95(stage=rerank)",
        "rbp(p=0.95)@100",
        "recall(unjudged=1,vacuous=count)@5",
    ],
)
def test_what_is_printed_is_what_was_written(text: str) -> None:
    assert str(MetricSpec.parse(text)) == text
    assert MetricSpec.parse(str(MetricSpec.parse(text))) == MetricSpec.parse(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ndcg@10", "ndcg(gain=linear)@10"),
        ("ndcg@10", " ndcg ( gain = linear ) @ 10 "),
        ("ndcg@10", "ndcg()@10"),
        ("recall(unjudged=1,vacuous=count)@5", "recall(vacuous=count,unjudged=1)@5"),
        ("rbp(p=0.9)", "rbp(p=0.90)"),
        ("rbp", "rbp(p=.8)"),
    ],
)
def test_specs_of_one_meaning_are_equal_and_hash_alike(one: str, other: str) -> None:
    assert MetricSpec.parse(one) == MetricSpec.parse(other)
    assert len({MetricSpec.parse(one), MetricSpec.parse(other)}) == 1
    assert str(MetricSpec.parse(one)) == str(MetricSpec.parse(other))


def test_specs_of_different_meaning_differ() -> None:
    assert len(set(parse_specs("ndcg,ndcg@5,ndcg@10,ndcg(gain=exp)@10,ndcg(unjudged=1)@10"))) == 5


def test_every_parameter_has_a_value() -> None:
    spec = MetricSpec.parse("ndcg(gain=exp)@10")
    assert spec.at_defaults() == {"gain": "exp", "unjudged": "0", "vacuous": "skip"}


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("ndgc@10", "unknown metric 'ndgc'; close names: ndcg", "`assay metrics`"),
        ("map", "unknown metric 'map'; close names: ap", "`assay metrics`"),
        ("NDCG@10", "close names: ndcg", "`assay metrics`"),
        ("recip_rank", "close names: mrr", "`assay metrics`"),
        ("hit_rate@5", "close names: success", "`assay metrics`"),
        ("ndcg(gian=exp)@10", "ndcg has no parameter 'gian'", "Did you mean 'gain'?"),
        ("ndcg(gain=expo)@10", "ndcg does not know gain=expo", "Did you mean 'exp'?"),
        ("ndcg(gain=exp,gain=exp)@10", "gives the parameter 'gain' twice", "once"),
        ("ndcg(gain)@10", "cannot read the parameters", "(gain=exp)"),
        ("ndcg(gain=)@10", "cannot read the parameters", "(gain=exp)"),
        ("judged(vacuous=count)@10", "judged has no parameter", "no parameters"),
        ("precision", "precision needs a cutoff", "precision@10"),
        ("rprec@5", "rprec takes no cutoff, not @5", "'rprec'"),
        ("ndcg@0", "cannot read metric 'ndcg@0'", "ndcg@10"),
        ("ndcg@-1", "cannot read metric 'ndcg@-1'", "ndcg@10"),
        ("ndcg@ten", "cannot read metric 'ndcg@ten'", "ndcg@10"),
        ("ndcg@1e3", "cannot read metric", "ndcg@10"),
        ("ndcg@", "cannot read metric", "ndcg@10"),
        ("ndcg(gain=exp@10", "cannot read metric", "ndcg@10"),
        ("@10", "cannot read metric", "ndcg@10"),
        ("rbp(p=1.5)", "rbp(p=1.5) is not a number strictly between 0 and 1", "p=0.8"),
        ("rbp(p=nan)", "is not a number strictly between", "p=0.8"),
        ("rbp(p=x)", "is not a number strictly between", "p=0.8"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once_with_what_could(text: str, message: str, remedy: str) -> None:
    with pytest.raises(UnknownMetric) as told:
        MetricSpec.parse(text)
    assert message in told.value.message
    assert remedy in told.value.remedy
    assert isinstance(told.value, InputError)
    assert told.value.exit_code == 3


def test_a_spec_made_by_hand_is_checked_like_one_that_was_read() -> None:
    with pytest.raises(UnknownMetric, match="no parameter"):
        MetricSpec(name="ndcg", cutoff=10, parameters=(("gian", "exp"),))
    with pytest.raises(UnknownMetric, match="cutoff"):
        MetricSpec(name="ndcg", cutoff=0)
    assert MetricSpec(name="ndcg", cutoff=10, parameters=(("gain", "linear"),)) == MetricSpec.parse("ndcg@10")


def test_a_list_tells_of_every_mistake_at_once() -> None:
    with pytest.raises(UnknownMetric) as told:
        parse_specs("ndgc@10,mrr@10,precision,recall(vacous=count)@5")
    assert "'ndgc'" in told.value.message
    assert "precision needs a cutoff" in told.value.message
    assert "'vacous'" in told.value.message


def test_a_list_keeps_its_order_and_drops_repeats() -> None:
    specs = parse_specs(["mrr, ndcg(gain=exp,unjudged=1)@10", "ndcg(gain=linear)@5,ndcg@5", "mrr"])
    assert [str(one) for one in specs] == ["mrr", "ndcg(gain=exp,unjudged=1)@10", "ndcg@5"]


@pytest.mark.parametrize("nothing", ["", " , ", []])
def test_a_list_of_nothing_is_refused(nothing: str | list[str]) -> None:
    with pytest.raises(UnknownMetric, match="no metric was asked for"):
        parse_specs(nothing)


def values_of(parameter: Parameter) -> st.SearchStrategy[str]:
    if parameter.choices:
        return st.sampled_from(parameter.choices)
    return {
        "whole": st.integers(-9, 9).map(str),
        "number": st.floats(-1e3, 1e3).map(repr),
        "share": st.floats(0.01, 0.99).map(repr),
    }.get(parameter.kind, st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True))


@st.composite
def specs(draw: st.DrawFn) -> MetricSpec:
    entry: MetricEntry = draw(st.sampled_from(entries()))
    chosen = draw(st.lists(st.sampled_from(entry.parameters), unique=True)) if entry.parameters else []
    cutoffs = {
        Cutoff.REQUIRED: st.integers(1, 1000),
        Cutoff.OPTIONAL: st.none() | st.integers(1, 1000),
        Cutoff.NONE: st.none(),
    }
    return MetricSpec(
        name=entry.name,
        cutoff=draw(cutoffs[entry.cutoff]),
        parameters=tuple((one.name, draw(values_of(one))) for one in chosen),
    )


@given(spec=specs())
def test_every_spec_prints_to_what_it_is_read_from(spec: MetricSpec) -> None:
    assert MetricSpec.parse(str(spec)) == spec
    assert parse_specs(f"{spec},{spec}") == (spec,)
