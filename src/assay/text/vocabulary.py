"""Words that decide whether two texts can both hold: negators, opposites, signs of change, and words that say nothing.

English, like the bundled embedder. Every word is written as `assay.text.terms.stems` gives it back.
"""

from __future__ import annotations

from assay.text.terms import stems_of


def words_of(text: str) -> list[str]:
    """Words written one after the other, as lists of them are here."""
    return text.split()


def _stem(words: str) -> frozenset[str]:
    return frozenset(stems_of(words_of(words)))


FILLERS = _stem(
    "a an the this that these those our my your his her its their of and or also please ever really very "
    "quite just currently already it they them we you i he she there here so too will would then"
)
"""Left out before two sentences are compared."""

FUNCTION_WORDS = FILLERS | _stem(
    "is are be been being was were am have has had do does did get gets got make makes made must should shall "
    "may might can could need needs to from in on at by with for as into onto over under out up down off "
    "about than if when while which who whom whose what where how because per each every via through using "
    "use uses used within until till keep keeps stay stays takes take go goes goes let lets give given but "
    "not no"
)
"""Carry no content of their own."""

NEGATORS = _stem("not no never none nobody nothing nowhere neither nor without cannot hardly")

RESTRICTORS = _stem("only solely exclusively except unless")
"""One of them more or less changes what a rule covers."""

CHANGE_SIGNS = _stem(
    "now instead anymore replaced moved switched changed removed dropped renamed rewritten migrated"
    " stopped ceased abandoned suspended "
    "deprecated retired discontinued formerly previously obsolete superseded abolished cancelled postponed"
)
"""A text that has one says itself that something is not as it was."""

VALUE_PREPOSITIONS = frozenset({"with", "by", "to", "as", "via", "through", "using", "is", "are", "be"})
"""Before what a thing is or does: what follows is said of the subject."""

SUBJECT_PREPOSITIONS = frozenset({"for", "in", "on", "at", "from", "of", "under", "per"})
"""Before what narrows a subject: what follows belongs to it."""

VERBS = _stem(
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
"""The same, by word."""

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
