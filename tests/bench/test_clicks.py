"""The agreement of click labels is told for each certainty, and only where there are labels."""

from __future__ import annotations

from bench.clicks import CERTAINTIES, Known, label, show_agreement

from assay.online.labels import SURE
from assay.statistics.online_tests import Attraction

OFTEN = Attraction(shown=100, clicks=40, expected=10.0)
NEVER = Attraction(shown=100, clicks=0, expected=10.0)
UNCLEAR = Attraction(shown=10, clicks=1, expected=1.0)


def test_a_label_is_made_only_where_clicks_can_tell() -> None:
    assert [label(seen, SURE) for seen in (OFTEN, NEVER, UNCLEAR)] == [True, False, None]


def test_agreement_is_counted_for_each_certainty_and_the_products_is_named() -> None:
    title, *rows = show_agreement("shop", [Known(OFTEN, True), Known(NEVER, False), Known(NEVER, True)])
    assert "3 pairs, 2 of them known to be better" in title
    assert len(rows) == len(CERTAINTIES)
    assert all("3 labels ( 1 used more,  2 used less)   2 agree   67%" in row for row in rows)
    assert [row for row in rows if "the product's" in row] == [row for row in rows if row.startswith(f"  {SURE:.2f}")]


def test_no_label_is_no_agreement_of_zero() -> None:
    rows = show_agreement("shop", [Known(UNCLEAR, True)])
    assert rows[-1].endswith("0 agree  not measured")
