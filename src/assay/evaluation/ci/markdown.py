"""A verdict as Markdown: the summary of a build step, and the comment on a pull request with the verdict first.

Texts of cases are somebody's words: nothing in them becomes markup, a link or a mention.
"""

from __future__ import annotations

import re

from assay.evaluation.comparing import Compared, is_loss
from assay.evaluation.differences import number
from assay.evaluation.gating.verdict import RuleVerdict, Status, Verdict, told, word
from assay.records.run_results import Mover

MARKER = "<!-- assay gate -->"
"""The first line of a comment, by which a workflow finds the one to replace."""
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!])")
_MENTION = re.compile(r"(?<!\w)([@#])(?=\w)")
_MOST_MOVERS = 5


def summary(verdict: Verdict, compared: Compared | None = None) -> str:
    """The summary of a build step."""
    return "\n".join([*_head(verdict), "", *_table(told(verdict)), *_moved(compared), *_caveats(verdict), ""])


def pull_request(verdict: Verdict, compared: Compared | None = None) -> str:
    """A comment: the verdict, what is wrong, and the rest folded away."""
    wrong = [one for one in told(verdict) if one.status in (Status.FAIL, Status.INCONCLUSIVE)]
    rest = [one for one in told(verdict) if one not in wrong]
    lines = [MARKER, *_head(verdict), "", *(f"- **{word(one.status)}** {escaped(one.sentence)}" for one in wrong)]
    if rest:
        lines += ["", f"<details><summary>{len(rest)} other rules</summary>", "", *_table(rest), "", "</details>"]
    return "\n".join([*lines, *_moved(compared), *_caveats(verdict), ""])


def escaped(text: str) -> str:
    """Words as words: one line, no markup, no mention of anybody."""
    plain = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    # A zero-width space after the sign: the word reads the same and calls nobody.
    return _MENTION.sub("\\1\u200b", plain)


def _head(verdict: Verdict) -> list[str]:
    against = "without a baseline" if verdict.baseline is None else f"against {escaped(verdict.baseline)}"
    counts = ", ".join(f"{len(found)} {status.value}" for status in _COUNTED if (found := verdict.of(status)))
    where = f" on {escaped(verdict.dataset)}" if verdict.dataset else ""
    return [
        f"## Assay gate: {word(verdict.status)}",
        "",
        f"{escaped(verdict.run)}{where}, {against}: {counts or 'no rule applied'}.",
    ]


_COUNTED = (Status.FAIL, Status.INCONCLUSIVE, Status.PASS)


def _table(rules: list[RuleVerdict]) -> list[str]:
    rows = [f"| {word(one.status)} | {escaped(one.title)} | {escaped(one.sentence)} |" for one in rules]
    return ["| | rule | |", "| --- | --- | --- |", *rows]


def _moved(compared: Compared | None) -> list[str]:
    if compared is None:
        return []
    worse = [one for one in compared.movers if is_loss(one)][:_MOST_MOVERS]
    changed = [f"- {escaped(str(one))}" for one in compared.changed]
    return [
        *(["", "Cases that fell most:", "", *map(_mover, worse)] if worse else []),
        *(["", "What changed:", "", *changed] if changed else []),
    ]


def _caveats(verdict: Verdict) -> list[str]:
    """What a reader must know beside the numbers, folded away."""
    if not verdict.caveats:
        return []
    listed = [f"- {escaped(caveat.sentence)}" for caveat in verdict.caveats]
    head = f"<details><summary>Read beside these numbers ({len(listed)})</summary>"
    return ["", head, "", *listed, "", "</details>"]


def _mover(one: Mover) -> str:
    values = f"{escaped(one.metric)} {number(one.before)} -> {number(one.after)}"
    return f"- {escaped(f'{one.case} {one.query}')}: {values}"
