#!/usr/bin/env bash
# Ends with 0 when retrieval is as good as the baseline, with 1 when it is worse, with 2 when that cannot be decided.
set -uo pipefail

assay run hotel --system python:search:retrieve --metrics recall@5,ndcg@5 --name candidate > run.txt || exit $?
assay gate candidate --junit gate.xml --comment comment.md > gate.txt
verdict=$?
cut -c -110 gate.txt | grep -E '^(PASS|FAIL|INCONCLUSIVE)'
exit "$verdict"
