"""What was returned as a whole: its precision and its tokens."""

from __future__ import annotations

from tests.metrics.examples import check_entries, missing, value

from assay.metrics.returned import ENTRIES, precision_returned, tokens_returned
from assay.records.answers import EquivalenceClasses
from assay.records.evaluations import OutcomeKind


def test_each_entry_says_what_the_code_gives() -> None:
    computed = {
        "precision_returned": value(precision_returned(["a", "b", "c"], {"a", "c", "z"})),
        "tokens_returned": tokens_returned(["0123456789", "01234567"]),
    }
    check_entries(ENTRIES, "agent memory", computed)


def test_an_empty_list_is_wrong_only_where_something_is_relevant() -> None:
    assert value(precision_returned([], {"a"})) == 0.0
    assert missing(precision_returned([], ())) is OutcomeKind.NOT_APPLICABLE
    assert value(precision_returned(["a"], ())) == 0.0


def test_a_document_counts_once_and_so_does_a_class() -> None:
    assert value(precision_returned(["a", "a", "b"], {"a"})) == 0.5
    alike = EquivalenceClasses(classes=(frozenset("ab"),))
    assert value(precision_returned(["a", "b"], {"a", "b"}, classes=alike)) == 0.5


def test_no_text_is_no_token() -> None:
    assert tokens_returned([]) == tokens_returned([""]) == 0.0
