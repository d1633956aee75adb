"""Compare claims: vocabulary of contradiction, and sentences as tokens with stems and facts.

- Negators, opposites, signs of change, and words without content.
- Sentences of tokens, with stems and facts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from assay.text.terms import stems_of

# --- Negators, opposites, signs of change, and words without content ---
#
# English, like the bundled embedder. Every word is written as `assay.text.terms.stems` gives it back.


def words_of(text: str) -> list[str]:
    """Words written one after the other, as lists of them are here."""
    return text.split()


def _stems(words: str) -> frozenset[str]:
    return frozenset(stems_of(words_of(words)))


FILLERS = _stems(
    "a an the this that these those our my your his her its their of and or also please ever really very "
    "quite just currently already it they them we you i he she there here so too will would then"
)
"""Left out before two sentences are compared."""

FUNCTION_WORDS = FILLERS | _stems(
    "is are be been being was were am have has had do does did get gets got make makes made must should shall "
    "may might can could need needs to from in on at by with for as into onto over under out up down off "
    "about than if when while which who whom whose what where how because per each every via through using "
    "use uses used within until till keep keeps stay stays takes take go goes goes let lets give given but "
    "not no"
)
"""Carry no content of their own."""

NEGATORS = _stems("not no never none nobody nothing nowhere neither nor without cannot hardly")

RESTRICTORS = _stems("only solely exclusively except unless")
"""One of them more or less changes what a rule covers."""

CHANGE_SIGNS = _stems(
    "now instead anymore replaced moved switched changed removed dropped renamed rewritten migrated"
    " stopped ceased abandoned suspended "
    "deprecated retired discontinued formerly previously obsolete superseded abolished cancelled postponed"
)
"""Phrases by which a text itself reports that something has changed."""

VALUE_PREPOSITIONS = frozenset({"with", "by", "to", "as", "via", "through", "using", "is", "are", "be"})
"""Verbs before what a thing is or does: what follows describes the subject."""

SUBJECT_PREPOSITIONS = frozenset({"for", "in", "on", "at", "from", "of", "under", "per"})
"""Before what narrows a subject: what follows belongs to it."""

VERBS = _stems(
    "is are be was were am been has have had do does did can could may might must shall should will would "
    "need needs use uses used allow allows allowed run runs ran take takes took go goes went keep keeps kept "
    "make makes send sends sent serve serves listen listens live lives prefer prefers choose run start starts "
    "end ends begin begins ship ships leave leaves hold holds cost costs cook cooks work works write writes "
    "read reads call calls depend depends report reports check checks return returns show shows store stores "
    "accept accepts require requires support supports include includes exclude excludes appear appears format "
    "formats copy copies drop drops bake water accept accepts answer answers speak speaks evict evicts "
    "improve improves hurt hurts know knows publish published handle handles fail fails pass passes contain "
    "contains follow follows give gives open opens close"
)

_PAIRS = """
enable/disable allow/forbid allow/deny allow/prohibit allow/block allow/refuse permit/forbid permit/deny grant/revoke
grant/deny accept/reject accept/refuse always/never before/after include/exclude increase/decrease raise/lower
increase/reduce lengthen/shorten improve/worsen improve/hurt improve/degrade help/hurt pass/fail open/close
required/optional mandatory/optional minimum/maximum min/max atleast/atmost all/some all/none every/some all/few
most/few everybody/nobody everyone/nobody everyone/none more/less more/fewer faster/slower fast/slow quick/slow
above/below over/under start/stop begin/end on/off up/down high/low higher/lower true/false add/remove with/without
public/private internal/external first/last left/right manual/automatic manually/automatically synchronous/asynchronous
sync/async supported/deprecated supported/removed morning/evening morning/night day/night hot/cold warm/cold
success/failure succeed/fail read/write safe/dangerous strict/loose strict/lenient keep/delete keep/drop keep/discard
retain/delete hard/soft early/late earlier/later long/short longer/shorter big/small bigger/smaller large/small
larger/smaller rise/fall gain/lose win/lose buy/sell import/export push/pull encode/decode encrypt/decrypt
lock/unlock mount/unmount install/uninstall connect/disconnect online/offline upgrade/downgrade ascending/descending
horizontal/vertical inner/outer client/server source/target light/dark full/empty cheap/expensive better/worse
best/worst older/newer oldest/newest old/new next/previous opt-in/opt-out allowlist/denylist mutable/immutable
same/different equal/different same/separate present/absent wide/narrow deep/shallow inside/outside local/remote
static/dynamic eager/lazy must/may must/optional required/may optimistic/pessimistic single/multiple shared/dedicated
shared/separate single/several like/dislike love/hate agree/disagree trust/distrust approve/reject approved/rejected
active/inactive valid/invalid stable/unstable healthy/unhealthy known/unknown used/unused visible/hidden hide/show
right/wrong good/bad fine/bad alive/dead free/paid busy/idle temporary/permanent plain/encrypted clear/encrypted
"""

OPPOSITES: frozenset[frozenset[str]] = frozenset(
    frozenset(stems_of(pair.replace("-", "").split("/"))) for pair in _PAIRS.split()
)
"""Pairs of which one text has the one and the other text the other."""

OPPOSITES_OF: dict[str, frozenset[str]] = {
    stem: frozenset().union(*(pair - {stem} for pair in OPPOSITES if stem in pair))
    for stem in frozenset().union(*OPPOSITES)
}
"""The same, by term."""

NEGATING_PREFIXES = ("un", "in", "im", "ir", "dis", "non")

MONTH_NAMES = words_of("january february march april may june july august september october november december")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

NUMBER_WORDS = {
    **{
        word: float(value)
        for value, word in enumerate(
            words_of(
                "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
                "fifteen sixteen seventeen eighteen nineteen twenty"
            )
        )
    },
    "thirty": 30.0,
    "forty": 40.0,
    "fifty": 50.0,
    "sixty": 60.0,
    "seventy": 70.0,
    "eighty": 80.0,
    "ninety": 90.0,
    "hundred": 100.0,
    "thousand": 1000.0,
    "twice": 2.0,
    "half": 0.5,
    "dozen": 12.0,
}


def _units(dimension: str, **sizes: float) -> dict[str, tuple[str, float]]:
    return {name: (dimension, size) for names, size in sizes.items() for name in names.split("_")}


UNITS: dict[str, tuple[str, float]] = {
    **_units(
        "time",
        ms_millisecond_milliseconds=0.001,
        s_sec_secs_second_seconds=1,
        min_mins_minute_minutes=60,
        h_hr_hrs_hour_hours=3600,
        day_days=86_400,
        week_weeks=604_800,
        month_months=2_629_800,
        year_years=31_557_600,
    ),
    **_units("bytes", kb_kib=1e3, mb_mib=1e6, gb_gib=1e9, tb_tib=1e12, byte_bytes=1),
    **_units("length", mm=0.001, cm=0.01, m_metre_metres_meter_meters=1, km=1000),
    **_units("mass", mg=0.001, g_gram_grams=1, kg=1000),
    **_units("share", percent=0.01),
    **_units("money", euro_euros_eur=1, dollar_dollars_usd=1.0001, pound_pounds_gbp=1.0002),
    **_units("volume", ml=0.001, l_litre_litres_liter_liters=1),
}
"""Units by name: what they measure, and how much of it. Currencies differ only so that one is never another."""


# --- Sentences of tokens, with stems and facts ---
#
# A fact is a number with what it counts, a date, a weekday, a time, a version or a name. `1,000` and `1000`, `three`
# and
# `3`, `30 s` and `30 seconds`, `2026-07-04` and `4 July 2026` are the same fact.


class Fact(NamedTuple):
    """Something exact that a text states."""

    kind: str
    """`number`, `version`, `date`, `weekday`, `month`, `quarter`, `time` or `name`."""
    value: str
    """In one spelling."""
    of: str = ""
    """For a number: what it counts or measures."""
    shown: str = ""

    def fits(self, other: Fact) -> bool:
        """Whether both state the same. A date without a year fits one with it."""
        if self.kind != other.kind or self.kind != "date":
            return self[:2] == other[:2] and (self.of == other.of or not self.of or not other.of)
        pairs = zip(self.value.split("-"), other.value.split("-"), strict=True)
        return all(mine == another or "?" in (mine, another) for mine, another in pairs)


class Token(NamedTuple):
    """One token of a sentence: letters, a number or a mark."""

    stem: str
    fact: Fact | None = None
    shown: str = ""


_FAR = 100
"""Characters that a pattern looks ahead: without a limit, a hostile text costs the square of its length."""
_CONTRACTIONS = (
    (re.compile(r"\bcan(?:'|\u2019)t\b|\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon(?:'|\u2019)t\b", re.IGNORECASE), "will not"),
    (re.compile(r"n(?:'|\u2019)t\b", re.IGNORECASE), " not"),
    (re.compile(r"(?:'|\u2019)s\b"), ""),
    (re.compile(r"\bat least\b|\bno less than\b|\bno fewer than\b", re.IGNORECASE), "atleast"),
    (re.compile(r"\bat most\b|\bno more than\b|\bup to\b", re.IGNORECASE), "atmost"),
    (re.compile(r"[*`~]{1,3}(?=\S)(.{1,200}?)(?<=\S)[*`~]{1,3}"), r"\1"),
    (re.compile(r"(?<!\w)_{1,2}(?=\S)(.{1,200}?)(?<=\S)_{1,2}(?!\w)"), r"\1"),
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), ""),
    # To keep two imports from running at once is to run one: the two is no number that somebody chose.
    (
        re.compile(
            r"\b((?:keep|prevent|stop|avoid)(?:s|ing|ping)?\s)two\s"
            r"(?=(?:\w{1,30}\s){1,6}(?:at once|at the same time|in parallel|simultaneously|concurrently)\b)",
            re.IGNORECASE,
        ),
        r"\1",
    ),
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+|;\s+")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*"
# A word that nothing is joined to, and no number follows, is none of the exact shapes: they are not tried one by one.
_TOKEN = re.compile(
    rf"""
    (?![^\W\d_]++(?![\w./#-]|\s\d))(?:
    (?P<iso>\b\d{{4}}-\d\d-\d\d\b)
  | (?P<day>\b\d{{1,2}}(?:st|nd|rd|th)?\.?\s(?:of\s)?{_MONTH}\b(?:,?\s\d{{4}}\b)?)
  | (?P<american>\b{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s\d{{4}}\b)?)
  | (?P<time>\b\d{{1,2}}:\d\d\b|\b\d{{1,2}}\s?(?:am|pm)\b)
  | (?P<version>\bv\d+(?:\.\d+)*\b|\b\d+(?:\.\d+){{2,}}\b)
  | (?P<quarter>\bQ[1-4]\b)
  | (?P<code>[#/]?\b(?=[\d_./#-]{{0,{_FAR}}}+[^\W\d_])(?=[\w./#-]{{0,{_FAR}}}[\d_/-])[\w]+(?:[-_./][\w]+)*\b
      |/[\w/.-]{{0,{_FAR}}}\w)
  | (?P<number>\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)
  | (?P<percent>%)
    )
  | (?P<word>[^\W\d_]+)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_GLUED = re.compile(r"(\d+(?:\.\d+)?)([a-z]{1,3})", re.IGNORECASE)


class Sentence(list[Token]):
    """The tokens of a sentence, in order. Never changed: one is shared by all who ask for its text."""

    @cached_property
    def stems(self) -> frozenset[str]:
        """Every stem in it."""
        return frozenset(token.stem for token in self)

    @cached_property
    def telling(self) -> list[str]:
        """The stems that matter for its order: without those that say nothing."""
        return [token.stem for token in self if token.stem not in FILLERS]

    @cached_property
    def negating(self) -> list[str]:
        """The stems that negate, and those that begin like a negated form: not, inactive."""
        return [token.stem for token in self if token.stem in NEGATORS or token.stem.startswith(NEGATING_PREFIXES)]


class Wording:
    """A text taken apart."""

    def __init__(self, text: str) -> None:
        self.sentences = [found for part in _parts(text) if (found := _tokens(part))]

    @cached_property
    def tokens(self) -> list[Token]:
        """All of it, in order."""
        return [token for sentence in self.sentences for token in sentence]

    @cached_property
    def stems(self) -> frozenset[str]:
        """Every stem in it."""
        return frozenset().union(*(sentence.stems for sentence in self.sentences))

    @cached_property
    def content(self) -> frozenset[str]:
        """The stems that carry content."""
        return frozenset(token.stem for token in self.tokens if token.fact is None) - FUNCTION_WORDS

    @cached_property
    def facts(self) -> list[Fact]:
        """What it states exactly."""
        return [token.fact for token in self.tokens if token.fact is not None]

    def before_the_verb(self, stem: str) -> bool | None:
        """Whether a stem is in the subject of its sentence; None when it does not occur."""
        return self._before_the_verb.get(stem)

    @cached_property
    def _before_the_verb(self) -> dict[str, bool]:
        """For every stem at its first occurrence; computed for all stems at once, in a single pass over the text."""
        found: dict[str, bool] = {}
        for sentence in self.sentences:
            stems = [token.stem for token in sentence]
            verb = first_verb(stems)
            here: dict[str, bool] = {}
            for place, stem in enumerate(stems):
                here.setdefault(stem, place < verb)
            for stem, before in here.items():
                found.setdefault(stem, before)
        return found

    @cached_property
    def led_to(self) -> dict[str, set[str]]:
        """The tokens before each token: owned by, written in. At the start of a sentence there is none."""
        found: dict[str, set[str]] = {}
        for sentence in self.sentences:
            for before, stem in pairwise(("", *sentence.telling)):
                found.setdefault(stem, set()).add(before)
        return found


@lru_cache(maxsize=512)
def wording(text: str) -> Wording:
    """A text taken apart; the same text is taken apart once."""
    return Wording(text)


def first_verb(stems: Sequence[str]) -> int:
    """Return the position of the first verb after the first token; the end when none is known."""
    return next((place for place, stem in enumerate(stems) if place and stem in VERBS), len(stems))


def _parts(text: str) -> list[str]:
    for pattern, plain in _CONTRACTIONS:
        text = pattern.sub(plain, text)
    return _SENTENCE.split(text)


def _tokens(sentence: str) -> Sentence:
    found: list[Token] = []
    for match in _TOKEN.finditer(sentence):
        kind = str(match.lastgroup)
        text = match[0]
        if kind == "code" and (glued := _GLUED.fullmatch(text)) and glued[2].lower() in UNITS:
            found += [_number(glued[1]), Token(glued[2].lower(), None, glued[2])]
        elif kind == "percent":
            found.append(Token("percent", None, "%"))
        else:
            found.append(_MAKERS.get(kind, _word)(text) if kind != "word" else _word(text, first=not found))
    return _measure(found)


def _measure(tokens: list[Token]) -> Sentence:
    """Give each number what it counts: the unit or noun after it, else the noun before it."""
    measured = list(tokens)
    for place, token in enumerate(tokens):
        if token.fact is None or token.fact.kind != "number":
            continue
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        if after is not None and after.shown.lower() in UNITS:
            dimension, size = UNITS[after.shown.lower()]
            value = f"{float(token.fact.value) * size:.10g}"
            fact = Fact("number", value, dimension, f"{token.shown} {after.shown}")
            measured[place] = Token(value + dimension, fact, fact.shown)
            measured[place + 1] = Token("", None, "")
        elif counted := _find_counted(tokens, place):
            measured[place] = token._replace(fact=token.fact._replace(of=counted))
    return Sentence(token for token in measured if token.stem)


def _find_counted(tokens: Sequence[Token], place: int) -> str:
    around = [*tokens[place + 1 : place + 2], *reversed(tokens[max(0, place - 2) : place])]
    return next((token.stem for token in around if _is_counted(token)), "")


def _is_counted(token: Token) -> bool:
    return (token.fact is None or token.fact.kind == "name") and token.stem not in FUNCTION_WORDS


def _number(text: str) -> Token:
    # 3.10 is a later version than 3.1: decimals stay as they were written.
    value = text if "." in text else f"{float(text):.10g}"
    return Token(value, Fact("number", value, "", text), text)


def _date(text: str) -> Token:
    day, month, year = _day_month_year(text)
    value = f"{year}-{month}-{day}"
    return Token(value, Fact("date", value, "", text), text)


def _day_month_year(text: str) -> tuple[str, str, str]:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        year, month, day = text.split("-")
        return str(int(day)), str(int(month)), year
    found = re.search(r"[a-z]{3}", re.sub(r"\d+(?:st|nd|rd|th)", "", text.lower()))
    numbers = re.findall(r"\d+", text)
    month = str(MONTHS.index(found[0]) + 1) if found else "?"
    return numbers[0], month, numbers[1] if len(numbers) > 1 else "?"


def _time(text: str) -> Token:
    hours, _, minutes = re.sub(r"[^\d:]", "", text).partition(":")
    hour = int(hours) % 12 + 12 if text.lower().endswith("pm") else int(hours)
    value = f"{hour}:{minutes or '00'}"
    return Token(value, Fact("time", value, "", text), text)


def _version(text: str) -> Token:
    value = text.lower().removeprefix("v")
    return Token(value, Fact("version", value, "", text), text)


def _quarter(text: str) -> Token:
    return Token(text.lower(), Fact("quarter", text.lower(), "", text), text)


def _code(text: str) -> Token:
    """An identifier: a path, a variable, a part number. Spelling counts, case does not."""
    plain = text.lower()
    if "-" in plain and plain.replace("-", "").isalpha() and plain == text:
        return Token(_stem(plain.replace("-", "")), None, text)
    return Token(plain, Fact("name", plain, "", text), text)


@lru_cache(maxsize=8192)
def _word(text: str, *, first: bool = False) -> Token:
    lower = text.lower()
    if lower in NUMBER_WORDS:
        value = f"{NUMBER_WORDS[lower]:g}"
        return Token(value, Fact("number", value, "", text), text)
    if lower[:3] in WEEKDAYS and lower.rstrip("s").endswith("day") and len(lower) > 5:
        return Token(lower[:3], Fact("weekday", lower[:3], "", text), text)
    if lower in MONTH_NAMES and (lower != "may" or (text == "May" and not first)):
        return Token(lower[:3], Fact("month", lower[:3], "", text), text)
    if len(text) == 1 and text.isupper() and not first and text != "I":
        # Hall A is no article.
        return Token(f"letter {lower}", Fact("name", f"letter {lower}", "", text), text)
    stem = _stem(lower)
    named = text[0].isupper() and not first and stem not in FUNCTION_WORDS
    return Token(stem, Fact("name", stem, "", text) if named else None, text)


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    """The stem, in one of the two spellings of English."""
    plain = re.sub(r"(?<=[a-z]{3})our(?=s?$|ed$|ing$)", "or", word) if len(word) > 5 else word
    plain = re.sub(r"(?<=[a-z]{4})is(?=e$|ed$|es$|ing$|ation$)", "iz", plain)
    found = stems_of([plain])
    return found[0] if found else plain


_MAKERS = {
    "iso": _date,
    "day": _date,
    "american": _date,
    "time": _time,
    "version": _version,
    "quarter": _quarter,
    "code": _code,
    "number": _number,
}
