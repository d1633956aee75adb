"""Intent: what a query is after, one of seven kinds, from words and patterns alone.

Each cue is a set of phrases with a weight: 3 for phrases that hardly mean anything else, 2 for strong ones, 1 for a
hint. A kind scores the sum of its cues that occur; the highest score wins, and of equals the kind that stands first in
`CUES`, the more specific one. Where no cue speaks, the query is taken to ask for understanding: the kind whose weights
are those of no particular kind, so that silence does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from assay.records import Intent

READ_CHARACTERS = 500
"""A query says what it is after at its beginning; the rest of a long one is pasted text."""


class Cue(NamedTuple):
    """Phrases that speak for a kind."""

    weight: int
    pattern: re.Pattern[str]


class IntentGuess(NamedTuple):
    """The kind chosen, and why."""

    intent: Intent
    scores: Mapping[Intent, int]
    """Of the kinds that any cue spoke for."""
    evidence: tuple[str, ...]
    """The words of the query that spoke for the kind chosen."""


def _says(weight: int, *phrases: str) -> Cue:
    """Phrases anywhere; `*` stands for the rest of a word, `/` parts alternatives of one word."""
    return Cue(weight, re.compile(rf"\b(?:{_pattern(phrases)})\b", re.IGNORECASE))


def _opens(weight: int, *phrases: str) -> Cue:
    """The same at the beginning, after any words of courtesy."""
    courtesy = (
        r"(?:(?:please|could you|can you|can we|could we|how (?:to|do i|do we|should i|should we|can i)|let us) )*"
    )
    return Cue(weight, re.compile(rf"^\W*{courtesy}(?:{_pattern(phrases)})\b", re.IGNORECASE))


def _shaped(weight: int, pattern: str) -> Cue:
    """A pattern in which case matters."""
    return Cue(weight, re.compile(pattern))


def _pattern(phrases: tuple[str, ...]) -> str:
    return "|".join(" ".join(map(_word, phrase.split())) for phrase in phrases)


def _word(word: str) -> str:
    return "(?:" + re.escape(word).replace(r"\*", r"\w*").replace("/", "|") + ")"


CUES: Mapping[Intent, tuple[Cue, ...]] = MappingProxyType(
    {
        Intent.SECURITY_AUDIT: (
            _says(
                3, "security", "secure", "insecure", "vulnerab*", "exploit*", "attack*", "malicious", "hack*", "malware"
            ),
            _says(3, "xss", "csrf", "ssrf", "rce", "owasp", "mitm", "cve", "log4shell", "heartbleed", "zero day"),
            _says(
                3, "sql/code/command/prompt/shell injection", "path traversal", "threat model*", "harden*", "pentest*"
            ),
            _says(
                2, "secrets", "secret", "credential*", "password*", "api key/keys", "private key/keys", "certificate*"
            ),
            _says(
                2, "encrypt*", "unencrypted", "plaintext", "sanitiz*", "sanitis*", "sandbox*", "escape user", "forge*"
            ),
            _says(
                2, "access control", "permission*", "privilege*", "authori*", "unauthori*", "admin/root rights/access"
            ),
            _says(2, "safe against", "leak to/into", "leaks to/into", "bypass*", "other tenants/users/customers"),
            _says(1, "audit", "token*", "injection", "authenticat*", "validate", "untrusted", "affected by", "expose*"),
        ),
        Intent.FIND_DECISION: (
            _says(
                3, "decision*", "decided", "decide", "rationale", "trade-off/trade-offs/tradeoff/tradeoffs", "adr/adrs"
            ),
            _says(
                3,
                "why did/do/are/have/were we/they/our",
                "why did/does/is the team",
                "reason/reasons we/for/behind/why",
            ),
            _says(
                3, "motivation for/behind", "alternatives considered", "alternatives were", "what made us", "made us"
            ),
            _says(2, "did/have/had we/they", "did/has the team", "we/they/team chose/picked/agreed/settled/concluded"),
            _says(
                2, "approved", "rejected", "agreed", "agree to", "concluded", "conclude", "conclusion*", "signed off"
            ),
            _says(
                2, "instead of", "rather than", "in favour/favor of", "settle/settled on", "outcome of", "why was/were"
            ),
            _says(
                1, "choose", "chose", "chosen", "pick", "picked", "over", "meeting", "considered", "option", "dropped"
            ),
        ),
        Intent.FIND_SPEC: (
            _says(3, "spec", "specs", "specification*", "specified", "requirement*", "rfc/rfcs", "prd/prds", "openapi"),
            _says(
                3,
                "user story/stories",
                "acceptance criteria/criterion",
                "design doc/docs/document/documents",
                "swagger",
            ),
            _says(3, "api/data/interface contract/contracts", "interface/protocol/schema/format/type definition*"),
            _says(
                2,
                "expected behaviour/behavior",
                "what must/shall/should the",
                "schema/contract/definition/format of/for",
            ),
            _says(
                2, "service level", "sla/slas/slo/slos", "mandatory", "required fields", "compliance", "allowed values"
            ),
            _says(
                1, "documented", "schema", "contract", "protocol", "criteria", "must", "shall", "standard*", "fields"
            ),
        ),
        Intent.FIX_BUG: (
            _shaped(3, r"\b(?:\w+(?:Error|Exception)|Traceback|SIGSEGV|NaN|ERROR|FATAL|E[A-Z]{5,})\b"),
            _says(
                3, "fix*", "bug", "bugs", "buggy", "debug*", "crash*", "broken", "regression*", "deadlock*", "segfault*"
            ),
            _says(3, "stack trace", "stacktrace", "null pointer", "race condition", "memory leak", "infinite loop"),
            _says(
                2, "fail", "fails", "failed", "failing", "failure*", "error", "errors", "exception*", "hang", "hangs"
            ),
            _says(
                2, "stuck", "flaky", "leak", "leaks", "corrupt*", "timeout/timeouts/timing out", "freezes", "off by one"
            ),
            _says(
                2, "does/do/is/are/has not", "doesn't/don't/isn't/can't/won't/cannot", "no longer", "stopped working"
            ),
            _says(2, "wrong", "wrongly", "incorrect*", "unexpected*", "refused", "skips", "resolve", "troubleshoot*"),
            _says(
                2, "logged out", "never finishes/returns/ends", "keeps *ing", "lost", "disappear*", "twice", "too slow"
            ),
            _says(
                1, "since/after the/an/a upgrade/update/release", "since version/yesterday", "missing", "empty", "issue"
            ),
        ),
        Intent.REFACTOR: (
            _says(
                3, "refactor*", "clean up", "cleanup", "restructur*", "reorgani*", "moderni*", "consolidat*", "decoupl*"
            ),
            _says(
                3,
                "dead code",
                "technical debt",
                "tech debt",
                "code smell*",
                "get rid of",
                "reduce coupling",
                "god class",
            ),
            _opens(
                3, "merge", "split", "break up", "tidy", "rename", "simplify", "extract", "move", "remove", "replace"
            ),
            _opens(
                3, "convert", "migrate", "unify", "inline", "untangle", "rework", "rewrite", "separate", "deduplicate"
            ),
            _says(
                2, "renam*", "simplif*", "duplicat*", "untangl*", "readable", "readability", "maintainab*", "coupling"
            ),
            _says(1, "legacy", "smaller", "shared", "old", "naming", "into one", "global state", "composition"),
        ),
        Intent.ADD_FEATURE: (
            _opens(3, "add", "implement", "build", "create", "introduce", "support", "enable", "extend", "integrate"),
            _opens(3, "write", "allow", "let", "provide", "offer", "set up", "make it possible", "develop", "expose"),
            _says(3, "new/missing feature", "feature request", "support for"),
            _says(
                2,
                "add",
                "adding",
                "implement*",
                "introduc*",
                "integrat*",
                "build a/an/the/our",
                "offer a/an",
                "create a/an",
            ),
            _says(
                2, "i/we want/need/would", "i'd/we'd like", "we/i should", "would be nice", "as a user", "ability to"
            ),
            _says(1, "new", "adapter", "plugin", "button", "option to"),
        ),
        Intent.UNDERSTAND: (
            _says(2, "explain", "describe", "overview", "understand", "meaning of", "mean", "difference between"),
            _says(
                2, "tell me", "walk me through", "introduction to", "summary of", "relationship between", "what happens"
            ),
            _opens(1, "what", "how", "where", "who", "which", "when"),
        ),
    }
)


def classify(query: str) -> IntentGuess:
    """The kind of a query; the same for the same text, always."""
    read = query[:READ_CHARACTERS]
    found = {intent: _found(cues, read) for intent, cues in CUES.items()}
    scores = {intent: sum(weight for weight, _ in hits) for intent, hits in found.items() if hits}
    chosen = max(scores, key=scores.__getitem__, default=Intent.UNDERSTAND)
    return IntentGuess(chosen, MappingProxyType(scores), tuple(text for _, text in found[chosen]))


def _found(cues: tuple[Cue, ...], query: str) -> list[tuple[int, str]]:
    return [(cue.weight, hit.group().strip()) for cue in cues if (hit := cue.pattern.search(query))]
