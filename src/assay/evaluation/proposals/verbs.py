"""English verbs of manuals and policies: their forms, and plainer words for some of them."""

from __future__ import annotations

from functools import cache


def word_set(words: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(words.split())


_BASE = """
accept access achieve activate adapt add adjust affect align allocate allow analyze annotate append apply approve
archive arrange arrive ask assign attach attempt authenticate automate avoid back batch begin belong benchmark bind
bless block book borrow break bring browse build bump bundle buy bypass cache calculate call cancel capture cause
center chain change channel charge check choose cite claim clean clear click clone close collect combine come commit
compare compile complete compress compute concatenate configure confirm connect consider construct consume contact
contain continue contrast contribute control convert copy correct cost count cover crawl create crop cross customize
cut deactivate debug decide declare decode decorate decrease deduct default define delay delegate delete deliver
depart depend deploy deprecate describe detect determine develop dial diff dig disable discover display distribute do
document download drop dump duplicate earn edit email embed emit enable encode encrypt end enforce enlarge ensure
enter escape evaluate examine exchange exclude execute exercise exit expand expect expire explain explode export
expose extend extract fail feed fetch fill filter find finish fix flash flush fold follow force format forward gather
generate get give go group guarantee handle hash have help hide highlight hold host identify ignore implement import
improve include increase indent index indicate inform inherit initialize inject insert inspect install integrate
interact intercept introduce invoke iterate join keep knock know label last launch lead leave let limit link lint list
listen live load localize locate lock log look lose lower mail maintain make manage map mark match mean measure merge
mix mock modify monitor mount move name need nest normalize note notify obtain offer offset omit open opt optimize
order organize override overwrite pack package park parse pass paste patch pause pay perform permit persist phone pick
pin pipe place poll populate position post prefer prefix preload prepare preserve press prevent preview print process
produce profile protect prove provide proxy publish pull purchase push put query queue raise randomize reach read
rebase receive recommend record recover recreate redirect redo reduce refactor refer reference reformat refresh refund
register reindex reinstall reject rejoin release reload rely remain remap remember remove rename render reopen reorder
repeat replace report represent reproduce request require reschedule reserve reset reshape resize resolve respect
respond restart restore restrict resume retrieve retry return reuse review rewrite route run sample save scale scan
schedule scrape script search secure see seed select send separate serialize serve set share show shut sign silence
simplify simulate skip slice smoke sort spawn specify speed split stage start stay stop store stream strip stub style
subclass submit subscribe substitute suggest summarize supply support suppress swap switch sync tag tailor take target
tell terminate test throttle throw time toggle trace track transfer transform translate travel treat trigger trim try
tune turn tweak type understand undo unify uninstall unpack unset update upgrade upload use validate vary vendor
verify view visit visualize wait warn watch wear withdraw work wrap write yield zip
"""
BASE_VERBS = word_set(_BASE)
"""Verbs as they stand after "to"."""
_DOUBLED = word_set(
    "begin cut drop get let log map omit plan put run set shut skip split stop strip submit ship pin wrap prefer refer "
    "forget reset quit"
)
_IRREGULAR = {
    "become": "became become", "begin": "began begun", "break": "broke broken", "bring": "brought brought",
    "build": "built built", "buy": "bought bought", "choose": "chose chosen", "come": "came come", "cut": "cut cut",
    "do": "did done", "find": "found found", "get": "got got", "give": "gave given", "go": "went gone",
    "hide": "hid hidden", "hold": "held held", "keep": "kept kept", "know": "knew known", "leave": "left left",
    "let": "let let", "lose": "lost lost", "make": "made made", "mean": "meant meant", "pay": "paid paid",
    "put": "put put", "read": "read read", "reset": "reset reset", "rewrite": "rewrote rewritten", "run": "ran run",
    "see": "saw seen", "send": "sent sent", "set": "set set", "show": "showed shown", "shut": "shut shut",
    "split": "split split", "take": "took taken", "tell": "told told", "throw": "threw thrown",
    "understand": "understood understood", "write": "wrote written", "override": "overrode overridden",
    "overwrite": "overwrote overwritten", "rebuild": "rebuilt rebuilt", "lead": "led led",
}  # fmt: skip
PLAINER = {
    "enable": "turn on", "disable": "turn off", "activate": "turn on", "deactivate": "turn off", "configure": "set up",
    "create": "make", "delete": "remove", "remove": "get rid of", "modify": "change", "customize": "change",
    "obtain": "get", "retrieve": "get", "display": "show", "execute": "run", "invoke": "call", "prevent": "stop",
    "ensure": "guarantee", "determine": "find out", "generate": "produce", "verify": "check", "construct": "build",
    "initialize": "set up", "terminate": "end", "purchase": "buy", "utilize": "use", "perform": "do",
    "specify": "choose", "omit": "leave out", "exclude": "leave out", "discover": "find",
    "suppress": "silence", "submit": "send in", "supply": "give", "locate": "find",
}  # fmt: skip
"""Verbs that people who ask say in another way than people who write manuals."""
PLAINER_WORDS = {
    "multiple": "several", "additional": "extra", "entire": "whole", "previous": "earlier", "specific": "particular",
    "various": "different", "initial": "first", "via": "through", "prior": "before", "occurs": "happens",
    "obtained": "got", "displayed": "shown", "executed": "run", "invoked": "called", "permitted": "allowed",
    "subsequent": "later", "encounters": "meets", "contains": "has", "exists": "is there", "specified": "given",
    "requires": "needs", "require": "need", "terminated": "ended", "modified": "changed", "deleted": "removed",
    "omitted": "left out", "utilizing": "using", "provided": "given",
}  # fmt: skip


def gerund(base: str) -> str:
    """The form in -ing."""
    if base.endswith("ie"):
        return f"{base[:-2]}ying"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")):
        return f"{base[:-1]}ing"
    return f"{base}{base[-1] if base in _DOUBLED else ''}ing"


def third_person(base: str) -> str:
    """The form in -s."""
    if base in {"have", "do", "go"}:
        return {"have": "has", "do": "does", "go": "goes"}[base]
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ies"
    return f"{base}es" if base.endswith(("s", "x", "z", "ch", "sh")) else f"{base}s"


def participle(base: str) -> str:
    """The form after "is"."""
    if base in _IRREGULAR:
        return _IRREGULAR[base].split()[1]
    if base.endswith("e"):
        return f"{base}d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ied"
    return f"{base}{base[-1] if base in _DOUBLED else ''}ed"


@cache
def _forms() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    verbs = BASE_VERBS | _IRREGULAR.keys()
    return (
        {gerund(base): base for base in verbs},
        {third_person(base): base for base in verbs},
        {participle(base): base for base in verbs},
    )


def base_of_gerund(word: str) -> str | None:
    """The verb of "installing"; None where the word is not known as one."""
    return _forms()[0].get(word.lower())


def base_of_third_person(word: str) -> str | None:
    """The verb of "installs"."""
    return _forms()[1].get(word.lower())


def base_of_participle(word: str) -> str | None:
    """The verb of "installed"."""
    return _forms()[2].get(word.lower())


AUXILIARIES = word_set(
    "is are was were can could may might must should will would has have does do cannot can't isn't aren't won't "
    "doesn't don't"
)


def is_verb(word: str) -> bool:
    """Whether a word may be the verb of a clause."""
    low = word.lower()
    return low in AUXILIARIES or low in BASE_VERBS or any(low in forms for forms in _forms())
