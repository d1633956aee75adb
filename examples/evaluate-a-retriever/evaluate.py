"""Measure two retrievers and compare them question by question."""

from __future__ import annotations

from search import HOTEL, count_words, weigh_words

from assay import compare, evaluate

METRICS = "recall@5,ndcg@5"

before = evaluate(HOTEL, count_words, metrics=METRICS, name="count")
after = evaluate(HOTEL, weigh_words, metrics=METRICS, name="weigh")
print(before)
print(after)
print()
print(compare(before, after))
