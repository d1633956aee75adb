"""Gate verdicts as files for build servers: JUnit XML, Markdown and SARIF.

- JUnit XML: one test for each rule.
- Markdown for step summaries and pull requests.
- SARIF 2.1.0: one finding for each case that became worse.
- Which files a gate writes.
- The commit that is measured.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from assay.errors import AssayError, InputError
from assay.evaluation.comparison import Compared, is_loss, leading, movers, number
from assay.evaluation.gating.verdict import RuleVerdict, Status, Verdict, order_rulings, verdict_of_error, word
from assay.extras import DISTRIBUTION
from assay.formats.files import write_lines, writing
from assay.hashing import content_hash

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from assay.records.run_results import Mover

# --- JUnit XML: one test for each rule ---

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold in any spelling."""


def junit(verdict: Verdict) -> str:
    """The whole file."""
    suite = Element(
        "testsuite",
        name=_legal(f"assay gate {verdict.dataset}".rstrip()),
        tests=str(len(verdict.rules)),
        failures=str(len(verdict.of(Status.FAIL))),
        errors=str(len(verdict.of(Status.INCONCLUSIVE))),
        skipped=str(len(verdict.of(Status.NOT_APPLICABLE))),
    )
    properties = SubElement(suite, "properties")
    for name, value in (("run", verdict.run), ("baseline", verdict.baseline or ""), ("status", verdict.status.value)):
        SubElement(properties, "property", name=name, value=_legal(value))
    for rule in verdict.rules:
        _case(suite, rule)
    if verdict.caveats:
        SubElement(suite, "system-out").text = _legal("\n".join(caveat.sentence for caveat in verdict.caveats))
    indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suite, encoding="unicode")}\n'


_ELEMENTS = {
    Status.FAIL: ("failure", "regression"),
    Status.INCONCLUSIVE: ("error", "inconclusive"),
    Status.NOT_APPLICABLE: ("skipped", ""),
}


def _case(suite: Element, ruling: RuleVerdict) -> None:
    classname = f"assay.gate.{ruling.rule.replace(' ', '_')}"
    case = SubElement(suite, "testcase", classname=_legal(classname), name=_legal(ruling.title), time="0")
    if ruling.status in _ELEMENTS:
        name, kind = _ELEMENTS[ruling.status]
        SubElement(case, name, {"message": _legal(ruling.sentence)} | ({"type": kind} if kind else {}))
    else:
        SubElement(case, "system-out").text = _legal(ruling.sentence)


def _legal(text: str) -> str:
    """Control characters and lone surrogates as visible escapes: no parser takes them, however they are written."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# --- Markdown for step summaries and pull requests ---
#
# Texts of cases are somebody's words: nothing in them becomes markup, a link or a mention.

MARKER = "<!-- assay gate -->"
"""The first line of a comment, by which a workflow finds the one to replace."""
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!])")
_MENTION = re.compile(r"(?<!\w)([@#])(?=\w)")
_MOST_MOVERS = 5


def summary(verdict: Verdict, compared: Compared | None = None) -> str:
    """The summary of a build step."""
    return "\n".join(
        [*_head(verdict), "", *_table(order_rulings(verdict)), *_describe_changes(compared), *_caveats(verdict), ""]
    )


def pull_request(verdict: Verdict, compared: Compared | None = None) -> str:
    """A comment: the verdict, what is wrong, and the rest folded away."""
    wrong = [ruling for ruling in order_rulings(verdict) if ruling.status in (Status.FAIL, Status.INCONCLUSIVE)]
    rest = [ruling for ruling in order_rulings(verdict) if ruling not in wrong]
    lines = [
        MARKER,
        *_head(verdict),
        "",
        *(f"- **{word(ruling.status)}** {escape(ruling.sentence)}" for ruling in wrong),
    ]
    if rest:
        lines += ["", f"<details><summary>{len(rest)} other rules</summary>", "", *_table(rest), "", "</details>"]
    return "\n".join([*lines, *_describe_changes(compared), *_caveats(verdict), ""])


def escape(text: str) -> str:
    """Words as words: one line, no markup, no mention of anybody."""
    plain = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    # A zero-width space after the sign: the word reads the same and calls nobody.
    return _MENTION.sub("\\1\u200b", plain)


def _head(verdict: Verdict) -> list[str]:
    against = "without a baseline" if verdict.baseline is None else f"against {escape(verdict.baseline)}"
    counts = ", ".join(f"{len(found)} {status.value}" for status in _COUNTED if (found := verdict.of(status)))
    where = f" on {escape(verdict.dataset)}" if verdict.dataset else ""
    return [
        f"## Assay gate: {word(verdict.status)}",
        "",
        f"{escape(verdict.run)}{where}, {against}: {counts or 'no rule applied'}.",
    ]


_COUNTED = (Status.FAIL, Status.INCONCLUSIVE, Status.PASS)


def _table(rules: list[RuleVerdict]) -> list[str]:
    rows = [f"| {word(rule.status)} | {escape(rule.title)} | {escape(rule.sentence)} |" for rule in rules]
    return ["| | rule | |", "| --- | --- | --- |", *rows]


def _describe_changes(compared: Compared | None) -> list[str]:
    if compared is None:
        return []
    worse = [mover for mover in compared.movers if is_loss(mover)][:_MOST_MOVERS]
    changed = [f"- {escape(str(difference))}" for difference in compared.changed]
    return [
        *(["", "Cases that fell most:", "", *map(_mover, worse)] if worse else []),
        *(["", "What changed:", "", *changed] if changed else []),
    ]


def _caveats(verdict: Verdict) -> list[str]:
    """What a reader must know beside the numbers, folded away."""
    if not verdict.caveats:
        return []
    listed = [f"- {escape(caveat.sentence)}" for caveat in verdict.caveats]
    head = f"<details><summary>Read beside these numbers ({len(listed)})</summary>"
    return ["", head, "", *listed, "", "</details>"]


def _mover(mover: Mover) -> str:
    values = f"{escape(mover.metric)} {number(mover.before)} -> {number(mover.after)}"
    return f"- {escape(f'{mover.case} {mover.query}')}: {values}"


# --- SARIF 2.1.0: one finding for each case that became worse ---
#
# A finding points at the line of the file that names the case: the dataset where it is known, else the baseline.
# Places are relative to where the gate ran, which is the root of the checkout in CI; a file elsewhere is told by its
# `file:` address. What is the same finding in two runs has the same fingerprint: case and metric, never numbers or
# lines.

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
WORSE, LOST = "assay/case-regression", "assay/case-lost"
MOST = 1_000
"""The most findings in one file, because viewers refuse many more. The largest stay; the others are counted."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def sarif(compared: Compared, *, artifact: str, lines: Mapping[str, int] | None = None) -> dict[str, Any]:
    """One result for each case that fell; `artifact` is the file they belong to, `lines` the line of each case."""
    metric = leading(tuple(compared.metrics))
    moved = movers(compared.control, compared.treatment, metric, len(compared.control.cases))
    fell = [mover for mover in moved if is_loss(mover)]
    run: dict[str, Any] = {
        "tool": {"driver": _driver()},
        "automationDetails": {"id": f"assay gate/{compared.treatment.dataset}/"},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {ROOT: {"description": {"text": "Where the gate ran."}}},
        "invocations": [{"executionSuccessful": True}],
        "results": [_result(mover, artifact, (lines or {}).get(mover.case, 1)) for mover in fell[:MOST]],
        "properties": {"metric": metric, "omitted": max(0, len(fell) - MOST)},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def refusal_sarif(verdict: Verdict) -> dict[str, Any]:
    """No results, and why: for a gate that could not compare anything."""
    notifications = [
        {"level": "error", "message": {"text": rule.sentence}}
        for rule in verdict.rules
        if rule.status in (Status.FAIL, Status.INCONCLUSIVE)
    ]
    run: dict[str, Any] = {
        "tool": {"driver": _driver()},
        "automationDetails": {"id": f"assay gate/{verdict.dataset}/"},
        "columnKind": "utf16CodeUnits",
        "invocations": [{"executionSuccessful": False, "toolExecutionNotifications": notifications}],
        "results": [],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def case_lines(path: Path, cases: Collection[str]) -> dict[str, int]:
    """The first line of a JSON or JSONL file that names each case, from 1; nothing where there is no such file."""
    found: dict[str, int] = {}
    wanted = frozenset(cases)
    if not path.is_file():
        return found
    for line_number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        for text in _STRING.findall(line):
            name = _unquote(text)
            if name in wanted:
                found.setdefault(name, line_number)
    return found


def _unquote(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return ""


def _driver() -> dict[str, Any]:
    rules = [
        _rule(WORSE, "CaseRegression", "warning", "A case is answered worse than in the baseline."),
        _rule(LOST, "CaseLost", "error", "A case that the baseline answered is not answered at all."),
    ]
    return {"name": "assay", **_version(), "rules": rules}


def _version() -> dict[str, str]:
    try:
        return {"semanticVersion": version(DISTRIBUTION)}
    except PackageNotFoundError:  # run from a folder that was never installed
        return {}


def _rule(ident: str, name: str, level: str, text: str) -> dict[str, Any]:
    remedy = "See `assay compare` for what changed, and `assay report` for where the evidence was lost."
    return {
        "id": ident,
        "name": name,
        "shortDescription": {"text": text},
        "fullDescription": {"text": f"{text} The value is of one metric, case by case."},
        "help": {"text": remedy},
        "defaultConfiguration": {"level": level},
    }


def _result(mover: Mover, artifact: str, line: int) -> dict[str, Any]:
    lost = mover.after == 0.0
    called = f"{mover.case} {mover.query}".rstrip()
    way = "fell" if mover.after < mover.before else "rose"
    text = f"{called}: {mover.metric} {way} from {number(mover.before)} to {number(mover.after)}"
    return {
        "ruleId": LOST if lost else WORSE,
        "ruleIndex": int(lost),
        "level": "error" if lost else "warning",
        "message": {"text": text},
        "locations": [{"physicalLocation": _place(artifact, line)}] if artifact else [],
        "partialFingerprints": {"case/v1": content_hash([mover.case, mover.metric])},
        "properties": {"case": mover.case, "metric": mover.metric, "before": mover.before, "after": mover.after},
    }


def _place(artifact: str, line: int) -> dict[str, Any]:
    path = Path(artifact)
    if path.is_absolute() and not path.is_relative_to(Path.cwd()):
        location = {"uri": path.as_uri()}
    else:
        relative = path.relative_to(Path.cwd()) if path.is_absolute() else path
        location = {"uri": quote(relative.as_posix()), "uriBaseId": ROOT}
    return {"artifactLocation": location, "region": {"startLine": line}}


# --- Which files a gate writes ---
#
# No file of an earlier gate outlives the next one: `replacing` removes them first, and a gate that cannot be asked
# writes why in their place.

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outputs:
    """The path of each format; None to leave it out."""

    junit: Path | None = None
    summary: Path | None = None
    """Added to: a step may have several summaries."""
    comment: Path | None = None
    sarif: Path | None = None
    cases: Path | None = None
    """The dataset's file, for findings to point into; None: they point into the baseline."""

    def write(self, verdict: Verdict, compared: Compared | None, *, baseline: str) -> list[Path]:
        """Write the chosen files and return their paths."""
        if self.junit is not None:
            write_lines(self.junit, [junit(verdict)])
        if self.comment is not None:
            write_lines(self.comment, [pull_request(verdict, compared)])
        if self.sarif is not None:
            findings = refusal_sarif(verdict) if compared is None else self._findings(compared, baseline)
            write_lines(self.sarif, [json.dumps(findings, indent=1), "\n"])
        if self.summary is not None:
            with writing(self.summary), self.summary.open("a", encoding="utf-8") as file:
                file.write(summary(verdict, compared))
        return [path for path in (self.junit, self.summary, self.comment, self.sarif) if path is not None]

    @contextmanager
    def replacing(self, *, run: str, baseline: str | None) -> Iterator[None]:
        """Remove the files of an earlier gate, and write the reason into them when this one ends without a verdict."""
        for path in (self.junit, self.comment, self.sarif):
            if path is not None and path.is_file():
                with writing(path):
                    path.unlink()
        try:
            yield
        except AssayError as problem:
            self.write(verdict_of_error(problem, run=run, baseline=baseline), None, baseline=baseline or "")
            raise
        except Exception as problem:
            failure = AssayError(f"Assay itself failed: {type(problem).__name__}: {problem}", remedy="Report this.")
            self.write(verdict_of_error(failure, run=run, baseline=baseline), None, baseline=baseline or "")
            raise

    def _findings(self, compared: Compared, baseline: str) -> dict[str, Any]:
        file = str(self.cases) if self.cases is not None else baseline
        return sarif(compared, artifact=file, lines=case_lines(Path(file), compared.control.cases))


def find_step_summary(environment: Mapping[str, str] | None = None) -> Path | None:
    """The file in which the running step of a workflow takes its summary; None outside a workflow."""
    given = (os.environ if environment is None else environment).get(STEP_SUMMARY)
    return Path(given) if given else None


def step_summary(environment: Mapping[str, str] | None = None) -> Path:
    """The file in which the running step of a workflow takes its summary; raises `InputError` outside a workflow."""
    given = find_step_summary(environment)
    if given is None:
        raise InputError(
            f"--summary was given and {STEP_SUMMARY} is not set",
            remedy="Give --summary-file FILE outside a workflow.",
        )
    return given


# --- The commit that is measured ---

COMMITS = ("GITHUB_SHA", "CI_COMMIT_SHA")
"""Variables in which CI services name the commit."""
_HASH = re.compile(r"[0-9a-f]{40,64}")


def find_commit(folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Return the commit of the code in a folder: as CI names it, else as git's own files do; empty: not known."""
    known = os.environ if environment is None else environment
    named = next((known[name] for name in COMMITS if _HASH.fullmatch(known.get(name, ""))), "")
    return named or next((_read_head(above / ".git") for above in (folder, *folder.parents) if _is_git(above)), "")


def _is_git(folder: Path) -> bool:
    return (folder / ".git" / "HEAD").is_file()


def _read_head(git: Path) -> str:
    """Return the commit that HEAD names; empty where its branch is packed away or has none."""
    try:
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        branch = head.removeprefix("ref:").strip()
        found = (git / branch).read_text(encoding="utf-8").strip() if branch != head else head
    except (OSError, ValueError):
        return ""
    return found if _HASH.fullmatch(found) else ""
