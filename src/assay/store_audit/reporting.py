"""The report of an audit as Markdown or as one HTML page that fetches nothing.

Texts of an audited store are not to be trusted: secrets are masked in every finding, and both forms escape them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from assay.errors import InputError
from assay.formats.files import write_lines
from assay.presentation.templates import STYLE, environment, read_shared
from assay.presentation.wording import count_of
from assay.records.store_audits import StoreAudit, StoreFault, StoreFinding

if TYPE_CHECKING:
    from jinja2 import Environment

SHOWN = 25
"""Findings of one fault in a report; `--json` has them all."""
_FOLDER = Path(__file__).with_name("templates")
_MARKS = re.compile(r"([\\`*_\[\]<>|#~!&])")
MEANINGS = {
    StoreFault.DUPLICATE: "the same thing a second time, in the same or in other words",
    StoreFault.CONTRADICTION: "two memories that cannot both be true",
    StoreFault.STALE: "an older value beside a newer one, or a plan whose day has passed",
    StoreFault.JUNK: "text that tells nothing",
    StoreFault.SECRET: "passwords, keys and tokens in clear",
    StoreFault.INJECTED_ORDER: "text that gives orders to the program which reads it",
    StoreFault.SELF_FEEDING: "the memory's own output, saved again",
}
"""What each fault is, in a few words."""


def worst_first(findings: Sequence[StoreFinding], fault: StoreFault) -> list[StoreFinding]:
    """Return the findings of one fault: those that count first, of them those with most text to look at."""
    own = [finding for finding in findings if finding.fault is fault]
    return sorted(own, key=lambda finding: (not finding.certain, -sum(len(part.text) for part in finding.parts)))


def write_report(audit: StoreAudit, path: Path) -> None:
    """Write the report; the ending of the file chooses its form."""
    if path.suffix.lower() in (".html", ".htm"):
        write_lines(path, [html_page(audit)], private=True)
    elif path.suffix.lower() in (".md", ".markdown"):
        write_lines(path, (f"{line}\n" for line in markdown_lines(audit)), private=True)
    else:
        raise InputError(f"{path} has no ending that names a form", remedy="Name it .md or .html.")


def markdown_lines(audit: StoreAudit) -> Iterator[str]:
    """Yield the report as Markdown."""
    yield f"# Audit of {_escape(Path(audit.path).name)}"
    yield ""
    yield (
        f"{audit.kind} store, {count_of(audit.items, 'memory')}, {audit.faulty:,} with a fault ({_share(audit)}), as of"
        f" {audit.as_of:%Y-%m-%d}."
    )
    yield ""
    yield "| fault | count | what it is |"
    yield "| --- | ---: | --- |"
    yield from (f"| {fault} | {audit.counts[fault]:,} | {MEANINGS[fault]} |" for fault in StoreFault)
    yield ""
    if audit.worth_a_look:
        yield f"{audit.worth_a_look:,} more are worth a look and not counted: notes that quote an order."
        yield ""
    for reason, count in audit.unread.items():
        yield f"- Not read: {count:,} {_escape(reason)}"
    if audit.not_compared:
        yield f"- Not compared with others: {audit.not_compared:,} that are too long"
    for fault in StoreFault:
        found = worst_first(audit.findings, fault)
        if found:
            yield from ("", f"## {str(fault).capitalize()} ({audit.counts[fault]:,})", "")
            for finding in found[:SHOWN]:
                yield from _finding_lines(finding)
            if len(found) > SHOWN:
                yield f"and {len(found) - SHOWN:,} more"
    yield ""
    yield f"Digest of the store: `{audit.digest}`"


def _finding_lines(finding: StoreFinding) -> Iterator[str]:
    doubt = "" if finding.certain else " (worth a look, not counted)"
    yield f"- `{_code(finding.key)}`{doubt}: {_escape(finding.reason)} ({_escape(finding.rule)})"
    for part in finding.parts:
        yield f"  - {_escape(part.place)}: `{_code(part.text)}`"
    yield f"  - {_escape(finding.look_at)}"


def _share(audit: StoreAudit) -> str:
    return f"{audit.faulty / audit.items:.1%}" if audit.items else "no memories"


def _escape(text: str) -> str:
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())


def html_page(audit: StoreAudit) -> str:
    """Return the report as one HTML page without scripts."""
    by_fault = [(fault, MEANINGS[fault], worst_first(audit.findings, fault)) for fault in StoreFault]
    page = (
        _environment()
        .get_template("store_audit.html")
        .render(
            audit=audit,
            name=Path(audit.path).name,
            share=_share(audit),
            by_fault=by_fault,
            shown=SHOWN,
            # Our own text, which holds no words of anybody else.
            style=Markup(read_shared(STYLE)),  # noqa: S704
        )
    )
    return page.lstrip() + "\n"


@cache
def _environment() -> Environment:
    return environment(_FOLDER)
