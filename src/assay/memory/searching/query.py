"""Reading a question: its words and phrases, what it is after, and the words that expansion adds.

- The query, split once for all channels into words, stems, quoted phrases, prefixes and runs of words.
- Intent: which of seven kinds a query is, from its words and patterns alone.
- Query expansion by pseudo-relevance feedback: terms that the first results share and other passages lack.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from types import MappingProxyType
from typing import NamedTuple

from assay.memory.searching.options import SearchOptions
from assay.records import Intent
from assay.storage.full_text import AllOf, AnyOf, FullTextQuery, Phrase, Prefix
from assay.text.terms import look_up_stems, stems_of, words

# --- The query, split once for all channels into words, stems, quoted phrases, prefixes and runs of words ---
#
# Nothing in a query is an operator. Text in double quotes is a phrase, a word with one `*` at its end is a prefix, and
# everything else is words.
#
# A query may have 100,000 characters. Its first 2,048 words are read (`READ_WORDS`), and of those at most 64 different
# ones (`MAX_TERMS`) are looked up: the rarest when their frequencies are given, else the first. Phrases, prefixes and
# runs of words have caps of their own.
#
# `full_text_query` makes the question for the precise channel. What is quoted or ends in `*` has to be there. Of plain
# words all have to be there, or two of the three rarest when the rarer of the two is rare enough for all its matches
# to be looked at. Words above the frequency cap are not asked for, nor are words that no passage holds; a passage that
# lacks them scores less, it is not lost.

READ_WORDS = 2_048
MAX_TERMS = 64
MAX_PHRASES = 8
LONGEST_PHRASE = 16
"""Words of a quoted phrase that are used; the rest of a longer one is ignored."""
MAX_PREFIXES = 8
SHORTEST_PREFIX = 2
"""A shorter one would match a large part of all words."""
LONGEST_RUN = 8
"""Words in a trigger that can be found in a query."""
MOST_REQUIRED = 16
"""Plain words that must all be present; of more words, the rarest are required."""
RUN_WORDS = 250
"""Runs are made of this many words from the beginning: at most 8 * 250 of them, one question to the database."""

_QUOTED = re.compile(r'"([^"]+)"')
_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"'})

Frequency = Callable[[str], int]
"""How many passages of the tenant hold a term."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedQuery:
    """A query in the terms of the lexical channels."""

    text: str
    words: tuple[str, ...]
    """In order, repeated ones too; at most `READ_WORDS`."""
    terms: tuple[str, ...]
    """The different words that are looked up, in order of appearance, without prefixes."""
    stems: Mapping[str, int]
    """The stems that are looked up, with how often each is in the query."""
    phrases: tuple[tuple[str, ...], ...]
    """Quoted phrases of more than one word."""
    prefixes: tuple[str, ...]
    runs: tuple[str, ...]
    """Every run of up to `LONGEST_RUN` words, joined as trigger phrases are."""
    term_set: frozenset[str]
    """`terms`, to look a word up in."""
    left_out: int
    """Different stems that the caps left out."""

    @property
    def is_empty(self) -> bool:
        """Whether the query has no word, such as `???` or an emoji."""
        return not self.words


def parse(text: str, *, frequency: Frequency | None = None) -> ParsedQuery:
    """Parse a query. `frequency` gives that of a stem; it is called only when there are too many stems."""
    plain = text.translate(_QUOTES)
    found = words(plain)
    read = found[:READ_WORDS]
    of_word = dict(zip(read, look_up_stems(read), strict=True))
    counts = Counter(map(of_word.__getitem__, read))
    beyond = stems_of(found[READ_WORDS:]) if len(found) > READ_WORDS else ()
    kept = frozenset(_keep_terms(counts, frequency))
    prefixes = _prefixes(plain)
    terms = tuple(word for word in dict.fromkeys(read) if of_word[word] in kept and word not in prefixes)[:MAX_TERMS]
    return ParsedQuery(
        text=text,
        words=tuple(read),
        terms=terms,
        stems=MappingProxyType({stem: times for stem, times in counts.items() if stem in kept}),
        phrases=_phrases(plain),
        prefixes=prefixes,
        runs=tuple(dict.fromkeys(_runs(read[:RUN_WORDS]))),
        term_set=frozenset(terms),
        left_out=len({*counts, *beyond}) - len(kept),
    )


def full_text_query(
    parsed: ParsedQuery, frequency: Frequency, document_count: int, options: SearchOptions
) -> FullTextQuery | None:
    """Build the full-text query of the precise channel; None if no word is left for it.

    `frequency` is that of a word as written. Plain words beside a quoted phrase are not required; they only rank.
    """
    required: list[FullTextQuery] = [Phrase(phrase) for phrase in parsed.phrases]
    required += [Prefix(prefix) for prefix in parsed.prefixes]
    plain = None if parsed.phrases else _of_plain_words(parsed, frequency, document_count, options)
    if plain is not None:
        required.append(plain)
    return _all_of(required) if required else None


def _of_plain_words(
    parsed: ParsedQuery, frequency: Frequency, document_count: int, options: SearchOptions
) -> FullTextQuery | None:
    times = {term: found for term in parsed.terms if (found := frequency(term))}
    rarest = sorted(times, key=lambda term: (times[term], term))
    # With nothing but common words, the rarest of them is better than no question.
    usable = [term for term in rarest if times[term] <= options.too_common(document_count)] or rarest[:1]
    if not usable:
        return None
    pairs = [AllOf(pair) for pair in combinations(usable[:3], 2) if times[pair[0]] <= options.full_text_limit]
    every = _all_of(usable[:MOST_REQUIRED])
    return AnyOf([every, *pairs]) if len(usable) > 2 and pairs else every


def _all_of(parts: Sequence[FullTextQuery]) -> FullTextQuery:
    return parts[0] if len(parts) == 1 else AllOf(parts)


def _keep_terms(counts: Counter[str], frequency: Frequency | None) -> Iterable[str]:
    if frequency is None or len(counts) <= MAX_TERMS:
        return list(counts)[:MAX_TERMS]
    # Unknown terms find nothing, so the rarest known ones come first.
    return sorted(counts, key=lambda stem: (not (times := frequency(stem)), times))[:MAX_TERMS]


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    if '"' not in text:
        return ()
    quoted = (tuple(words(found.group(1)))[:LONGEST_PHRASE] for found in _QUOTED.finditer(text))
    return tuple(dict.fromkeys(phrase for phrase in quoted if len(phrase) > 1))[:MAX_PHRASES]


def _prefixes(text: str) -> tuple[str, ...]:
    """The last word before a trailing `*`; `**bold**` and `2*3` are none."""
    if "*" not in text:
        return ()
    starred = (token for token in text.split() if token.endswith("*") and token.count("*") == 1)
    last = (found[-1] for token in islice(starred, READ_WORDS) if (found := words(token)))
    return tuple(dict.fromkeys(word for word in last if len(word) >= SHORTEST_PREFIX))[:MAX_PREFIXES]


def _runs(read: Sequence[str]) -> list[str]:
    runs = list(read)
    every = [*runs]
    for length in range(1, min(LONGEST_RUN, len(read))):
        runs = [f"{run} {word}" for run, word in zip(runs, read[length:], strict=False)]
        every += runs
    return every


# --- Intent: which of seven kinds a query is, from its words and patterns alone ---
#
# Each cue is a set of phrases with a weight: 3 for phrases that hardly mean anything else, 2 for strong ones, 1 for a
# hint. A kind scores the sum of its cues that occur; the highest score wins, and of equals the kind that stands first
# in
# `CUES`, the more specific one. Where no cue speaks, the query is taken to ask for understanding: the kind whose
#   weights
# are those of no particular kind, so that silence does no harm.

INTENT_CHARACTERS = 500
"""Characters that are read: the rest of a long query is usually pasted text."""


class Cue(NamedTuple):
    """Phrases that point to a kind of query."""

    weight: int
    pattern: re.Pattern[str]
    needed: tuple[str, ...] = ()
    """Beginnings of words, as `read_plainly` gives them, one of which is in every text that the pattern matches.

    Empty: not known.
    """

    def search(self, query: str, plain: str | None) -> re.Match[str] | None:
        """Find the phrases in a query; `plain` is the query as `read_plainly` gives it."""
        # Most cues are in no query, and looking for a few plain strings is ten times as quick as the pattern.
        if plain is not None and self.needed and not any(map(plain.__contains__, self.needed)):
            return None
        return self.pattern.search(query)


class IntentGuess(NamedTuple):
    """The kind chosen, and why."""

    intent: Intent
    scores: Mapping[Intent, int]
    """Scores of the kinds that any cue points to."""
    evidence: tuple[str, ...]
    """The words of the query that point to the chosen kind."""


def _says(weight: int, *phrases: str) -> Cue:
    """Phrases anywhere in the query; `*` matches the rest of a word, `/` separates alternatives of one word."""
    return Cue(weight, re.compile(rf"\b(?:{_pattern(phrases)})\b", re.IGNORECASE), _find_needed(phrases))


def _opens(weight: int, *phrases: str) -> Cue:
    """The same at the beginning, after any words of courtesy."""
    courtesy = (
        r"(?:(?:please|could you|can you|can we|could we|how (?:to|do i|do we|should i|should we|can i)|let us) )*"
    )
    return Cue(weight, re.compile(rf"^\W*{courtesy}(?:{_pattern(phrases)})\b", re.IGNORECASE), _find_needed(phrases))


def _case_sensitive_cue(weight: int, pattern: str) -> Cue:
    """A pattern in which case matters."""
    return Cue(weight, re.compile(pattern))


def _find_needed(phrases: tuple[str, ...]) -> tuple[str, ...]:
    """Of each phrase the beginnings of one word, that with the longest ones; none if a word may begin anyhow."""
    found: dict[str, None] = {}
    for phrase in phrases:
        beginnings = [[choice.partition("*")[0].lower() for choice in word.split("/")] for word in phrase.split()]
        found |= dict.fromkeys(max(beginnings, key=lambda choices: min(map(len, choices))))
    if "" in found:
        return ()
    plain = [read_plainly(one) or "" for one in found]
    # A longer beginning says nothing where a shorter one is asked for, too.
    return tuple(one for one in plain if not any(other != one and other in one for other in plain))


_SEPARATORS = {point: " " for point in range(128) if not (chr(point).isalnum() or chr(point) == "_")}


def read_plainly(text: str) -> str | None:
    """Return a text in lower case with a space for everything between words and one before; None if it is not ASCII."""
    return f" {text.lower().translate(_SEPARATORS)}" if text.isascii() else None


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
            _case_sensitive_cue(3, r"\b(?:\w+(?:Error|Exception)|Traceback|SIGSEGV|NaN|ERROR|FATAL|E[A-Z]{5,})\b"),
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


def classify_intent(query: str) -> IntentGuess:
    """The kind of a query; the same for the same text, always."""
    read = query[:INTENT_CHARACTERS]
    scores: dict[Intent, int] = {}
    found: dict[Intent, list[str]] = {}
    # In the order of the table, by which equal scores are decided.
    for place in _find_possible_cues(read_plainly(read)):
        intent, cue = _EVERY_CUE[place]
        if hit := cue.pattern.search(read):
            scores[intent] = scores.get(intent, 0) + cue.weight
            found.setdefault(intent, []).append(hit.group().strip())
    chosen = max(scores, key=scores.__getitem__, default=Intent.UNDERSTAND)
    return IntentGuess(chosen, MappingProxyType(scores), tuple(found.get(chosen, ())))


_EVERY_CUE = [(intent, cue) for intent, cues in CUES.items() for cue in cues]
_ALWAYS = frozenset(place for place, (_, cue) in enumerate(_EVERY_CUE) if not cue.needed)
"""The places of cues that may be in any text."""
_BY_NEEDED = {
    needed: frozenset(place for place, (_, cue) in enumerate(_EVERY_CUE) if needed in cue.needed)
    for _, cue in _EVERY_CUE
    for needed in cue.needed
}
"""The places of the cues that need each beginning of a word."""
_OF_SEVERAL_WORDS = tuple(needed for needed in _BY_NEEDED if " " in needed.strip())
_LONGEST_NEEDED = max(map(len, _BY_NEEDED))


def _find_possible_cues(plain: str | None) -> Sequence[int]:
    """Return the places of the cues that may be in a query, given as `read_plainly` gives it, in their order."""
    if plain is None:
        return range(len(_EVERY_CUE))
    # A few dozen beginnings of the query's words are looked up at once, instead of hundreds in the query one by one.
    begun = {f" {word[:end]}" for word in set(plain.split()) for end in range(1, min(len(word), _LONGEST_NEEDED) + 1)}
    there = begun & _BY_NEEDED.keys()
    there |= {needed for needed in _OF_SEVERAL_WORDS if needed in plain}
    return sorted(_ALWAYS.union(*map(_BY_NEEDED.__getitem__, there)))


# --- Query expansion by pseudo-relevance feedback: terms that the first results share and other passages lack ---
#
# A relevance model in the manner of RM3 (Abdul-Jaleel and others, TREC 2004): a term is worth the mean of its share in
# each feedback passage, times its idf. The best `count` new terms are added, the best of them with `weight`, the
# others in proportion. Original terms keep weight 1, so that expansion adds to a query and never takes its place.


def expand_query(
    stems: Iterable[str],
    feedback_docs: Sequence[Mapping[str, int]],
    idf: Callable[[str], float],
    *,
    count: int,
    weight: float,
) -> dict[str, float]:
    """Terms with weights: the original ones first, then the added ones, best first."""
    original = dict.fromkeys(stems, 1.0)
    worth = {term: share * idf(term) for term, share in _shares(feedback_docs).items() if term not in original}
    chosen = sorted((term for term in worth if worth[term] > 0.0), key=lambda term: (-worth[term], term))[:count]
    return original | {term: weight * worth[term] / worth[chosen[0]] for term in chosen}


def _shares(documents: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """Return the mean share of informative terms: over two letters, and in two passages if there are two."""
    least = min(2, len(documents))
    lengths = [sum(document.values()) for document in documents]
    found: dict[str, list[float]] = {}
    for document, length in zip(documents, lengths, strict=True):
        for term, times in document.items():
            if len(term) > 2 and not term.isdigit():
                found.setdefault(term, []).append(times / length)
    return {term: math.fsum(shares) / len(documents) for term, shares in found.items() if len(shares) >= least}
