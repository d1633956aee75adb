"""Rules about facts: numbers and times, what something is or does, why, and whether."""

from __future__ import annotations

from collections.abc import Iterator

from assay.evaluation.proposals.clauses import (
    ASIDES,
    DETERMINERS,
    LINKS,
    MODALS,
    NOUNS_TOO,
    VAGUE,
    Draft,
    Sentence,
    cut_and,
    cut_tail,
    is_imperative,
    is_number,
    join,
    rule,
    subject_of,
    verb_at,
)
from assay.evaluation.proposals.passages import (
    Passage,
)
from assay.evaluation.proposals.verbs import (
    AUXILIARIES,
    base_of_gerund,
    base_of_participle,
    base_of_third_person,
    word_set,
)
from assay.evaluation.proposals.wording import (
    is_identifier,
    is_name,
    is_plural,
)

# --- Numbers and times ---

_TIME = word_set("second seconds minute minutes hour hours day days week weeks month months year years")


@rule("duration")
def ask_duration(sentence: Sentence) -> Iterator[Draft]:
    """Ask "X is kept for 90 days." as "How long is X kept?"."""
    words, low = sentence.words, [word.lower().rstrip(",;") for word in sentence.words]
    verb = verb_at(words, LINKS | MODALS)
    at = next(
        (
            p
            for p in range(1, len(low) - 2)
            if low[p] in {"for", "within"} and is_number(low[p + 1]) and low[p + 2] in _TIME
        ),
        None,
    )
    if verb is None or at is None or at <= verb + 1:
        return
    subject, rest = subject_of(sentence, verb), words[verb + 1 : at]
    if subject and 1 <= len(rest) <= 6 and not any("," in word for word in rest):
        ask = "How long" if low[at] == "for" else "How soon"
        yield Draft(f"{ask} {low[verb]} {subject} {join(rest)}?")


@rule("amount")
def ask_amount(sentence: Sentence) -> Iterator[Draft]:
    """Ask "X lasts for 90 days.", "X takes 5 minutes." and "X costs 12 euros." as "How long" and "How much"."""
    low = [word.lower().rstrip(",;") for word in sentence.words]
    for at, word in enumerate(low[1:7], start=1):
        base = word if word in {"take", "cost", "last"} else base_of_third_person(word)
        figure = at + (2 if low[at + 1 : at + 2] in (["for"], ["about"]) else 1)
        if base is None or figure + 1 >= len(low) or not is_number(low[figure]):
            continue
        subject = subject_of(sentence, at)
        timed = low[figure + 1] in _TIME and (base == "take" or low[at + 1] == "for")
        if subject and (timed or base == "cost"):
            does = "do" if word == base else "does"
            yield Draft(f"How {'much' if base == 'cost' else 'long'} {does} {subject} {base}?")
        return


@rule("clock")
def ask_clock(sentence: Sentence) -> Iterator[Draft]:
    """Ask "X is done every night at 02:00." as "When is X done?", and "X opens at 9 am." as "When does X open?"."""
    words, low = sentence.words, [word.lower().rstrip(",;") for word in sentence.words]
    at = next((place for place in range(2, len(low) - 1) if low[place] == "at" and _is_time(low[place + 1])), None)
    if at is None:
        return
    link = verb_at(words, LINKS)
    if link is not None and link < at <= link + 5 and base_of_participle(low[link + 1]):
        subject = subject_of(sentence, link)
        if subject:
            yield Draft(f"When {low[link]} {subject} {low[link + 1]}?")
    base = base_of_third_person(low[at - 1])
    if base in {"open", "close", "start", "begin", "end"} and (subject := subject_of(sentence, at - 1)):
        yield Draft(f"When does {subject} {base}?")


def _is_time(word: str) -> bool:
    return (word[:1].isdigit() and (":" in word or word.endswith(("am", "pm")))) or word in {"noon", "midnight"}


@rule("count")
def ask_count(sentence: Sentence) -> Iterator[Draft]:
    """Ask "Guests may bring up to two dogs." as "How many dogs may guests bring?"."""
    words, low = sentence.words, [word.lower().rstrip(",;") for word in sentence.words]
    verb = verb_at(words, MODALS)
    at = next(
        (p for p in range(1, len(low) - 1) if is_number(low[p]) and low[p + 1].endswith("s") and low[p + 1].isalpha()),
        None,
    )
    if verb is None or at is None or not verb + 1 < at <= verb + 5 or low[at + 1] in _TIME:
        return
    subject = subject_of(sentence, verb)
    action = [
        word
        for word in words[verb + 1 : at]
        if word.lower() not in {"up", "to", "at", "most", "least", "no", "more", "than"}
    ]
    if subject and action and low[verb] != "cannot":
        yield Draft(f"How many {low[at + 1]} {low[verb]} {subject} {join(action)}?")


@rule("opening")
def ask_opening(sentence: Sentence) -> Iterator[Draft]:
    """Ask "The pool is open from 7:00 to 22:00." as "When is the pool open?"."""
    words, low = sentence.words, [word.lower() for word in sentence.words]
    link = verb_at(words, LINKS)
    at = low.index("from") if "from" in low else None
    if link is None or at is None or not link < at <= link + 3 or not {"to", "until"} & set(low[at + 2 : at + 5]):
        return
    timed = any(mark in low[at + 1] for mark in (":", "am", "pm", "noon", "nine", "eight", "seven", "ten"))
    subject = subject_of(sentence, link)
    if subject and timed:
        yield Draft(f"When {low[link]} {subject} {join(words[link + 1 : at])}".strip() + "?")


@rule("default")
def ask_default(sentence: Sentence) -> Iterator[Draft]:
    """Ask "X defaults to 5." and, in the description of X, "Default: 5" as "What is the default of X?"."""
    words, low = sentence.words, [word.lower() for word in sentence.words]
    name = _described(sentence.passage)
    if "defaults" in low[1:5] and low[low.index("defaults") + 1 : low.index("defaults") + 2] == ["to"]:
        subject = subject_of(sentence, low.index("defaults"))
        if subject and (is_name(subject.split()[-1]) or len(subject.split()) > 2):
            yield Draft(f"What does {subject} default to?")
        elif name and low.index("defaults") == 0:
            yield Draft(f"What does {name} default to?")
    elif low[0] in {"default:", "default"} and name and len(words) > 1:
        yield Draft(f"What is {name} set to by default?", answer=f"{name} is {join(words[1:])} by default.")
    elif low[:3] == ["the", "default", "is"] and name:
        yield Draft(f"What is the default of {name}?")


# --- What something is, does, means ---


def _described(passage: Passage) -> str:
    """The option, function or setting that a sentence is about, by its block or its heading."""
    for name in (passage.term, passage.heading):
        spelt = [part.split("(")[0].split("=")[0].strip("` ") for part in name.split(",")]
        best = max(spelt, key=len)
        if best and len(best.split()) == 1 and len(best) < 50 and is_identifier(best) and not _is_file(best):
            return best
    return ""


def _is_file(name: str) -> bool:
    return name.endswith((".py", ".md", ".rst", ".txt", ".cfg", ".toml", ".yml", ".yaml", ".json", ".ini", ".html"))


@rule("described")
def ask_described(sentence: Sentence) -> Iterator[Draft]:
    """Ask the description of an option, function or setting as "What does X do?"."""
    passage = sentence.passage
    name = _described(passage)
    opens = passage.is_first and (bool(passage.term) or passage.opens_section)
    low = sentence.words[0].lower()
    if (
        not name
        or not opens
        or len(sentence.words) < 5
        or low.startswith(
            (
                "default",
                "new",
                "changed",
                "added",
                "deprecated",
                "same",
                "see",
                "this",
                "bases",
                "scope",
                "type",
                "for",
                "by",
                "note",
                "to",
                "should",
                "here",
            )
        )
    ):
        return
    does = is_imperative(sentence.words) or base_of_third_person(low) or low in {"if", "when", "whether", name.lower()}
    yield Draft(f"What does {name} do?" if does else f"What is {name} for?")


@rule("used for")
def ask_used_for(sentence: Sentence) -> Iterator[Draft]:
    """Ask "X is used to do Y." as "What is X used for?"."""
    low = [word.lower() for word in sentence.words]
    link = verb_at(sentence.words, LINKS)
    if link is None or low[link + 1 : link + 2] != ["used"] or low[link + 2 : link + 3] not in (["to"], ["for"]):
        return
    subject = subject_of(sentence, link)
    if subject:
        yield Draft(f"What {low[link]} {subject} used for?")


@rule("definition")
def ask_definition(sentence: Sentence) -> Iterator[Draft]:
    """Ask "X is a kind of Y." as "What is X?", and "X means Y." as "What does X mean?"."""
    words, low = sentence.words, [word.lower() for word in sentence.words]
    link = verb_at(words, LINKS, most=5)
    if link is not None and low[link] in {"is", "are"} and low[link + 1 : link + 2] in (["a"], ["an"], ["the"]):
        subject = subject_of(sentence, link)
        if subject and _worth_defining(sentence, subject) and len(words) - link > 4:
            yield Draft(f"What {low[link]} {subject}?")
    means = next((at for at, word in enumerate(low[:6]) if at and word in {"means", "refers"}), None)
    if means is not None:
        subject = subject_of(sentence, means)
        if subject and _worth_defining(sentence, subject):
            yield Draft(f"What does {subject} mean?")


def _worth_defining(sentence: Sentence, subject: str) -> bool:
    """Whether a subject says which thing is meant: "a line" could be any line."""
    head = [word for word in subject.split() if word.lower() not in DETERMINERS]
    quantified = subject.split(maxsplit=1)[0].lower() in {"each", "every", "any", "all", "no"}
    if not head or quantified or base_of_gerund(head[0]) or any(word.isdigit() for word in head):
        return False
    return len(head) > 1 or any(is_identifier(word) or sentence.speech.is_proper(word) for word in head)


@rule("returns")
def ask_returns(sentence: Sentence) -> Iterator[Draft]:
    """Ask "X returns Y." as "What does X return?"."""
    low = [word.lower() for word in sentence.words]
    at = next(
        (
            p
            for p, word in enumerate(low[:6])
            if p and word in {"returns", "accepts", "raises", "expects", "yields", "contains", "requires"}
        ),
        None,
    )
    if at is None or len(low) - at < 4:
        return
    subject = subject_of(sentence, at)
    verb = base_of_third_person(low[at])
    telling = any(is_identifier(word) for word in subject.split()) or len(subject.split()) > 2
    if subject and telling and any(is_name(word) for word in subject.split()) and verb:
        yield Draft(f"What does {subject} {verb}?")


@rule("treats")
def ask_treats(sentence: Sentence) -> Iterator[Draft]:
    """Ask "Black prefers double quotes.", under the heading "Strings", as "How does Black handle strings?"."""
    heading = sentence.passage.heading.split()
    name = sentence.words[0]
    verb = next((word for word in sentence.words[1:3] if word not in ASIDES and not word.endswith("ly")), "")
    acts = (base_of_third_person(verb) or "have") not in _OFFERS or verb in {"will", "does", "doesn't"}
    known = sentence.passage.is_first and name == sentence.speech.main_name
    acts = acts and bool(heading) and not base_of_gerund(heading[0]) and heading[0].lower() not in VAGUE
    if not (known and acts and 0 < len(heading) <= 3) or heading[-1].lower() in _NO_SUBJECTS:
        return
    subject = join(sentence.speech.lower_heading(heading))
    if is_plural(subject) and name.lower() not in subject.lower() and "?" not in subject:
        yield Draft(f"How does {name} handle {subject}?")


_OFFERS = word_set("support provide come offer have need use include expect")
"""Verbs that say that something is there, and not how it is handled."""
_NO_SUBJECTS = word_set("notes basics details examples options settings arguments steps resources goals features")


# --- Why, and whether ---


@rule("reason")
def ask_reason(sentence: Sentence) -> Iterator[Draft]:
    """Ask "X cannot do Y because Z." as "Why can X not do Y?"."""
    low = [word.lower().rstrip(",") for word in sentence.words]
    at = low.index("because") if "because" in low else None
    if at is None or at < 4 or len(low) - at < 4 or low[at + 1] == "of":
        return
    main = [*sentence.words[: at - 1], sentence.words[at - 1].rstrip(",")]
    if any("," in word for word in main) or len(main) > 16:
        return
    turned = _turn(sentence, main)
    if turned:
        yield Draft(f"Why {turned}?")


def _turn(sentence: Sentence, main: list[str]) -> str:
    """A statement in the order of a question: auxiliary, subject, rest; empty where it has another shape."""
    verb = verb_at(main, frozenset({*LINKS, *MODALS, "does", "do", "has", "have"}))
    if verb is not None:
        subject = "you" if main[0].lower() == "you" and verb == 1 else subject_of(sentence, verb)
        said, rest = main[verb].lower(), main[verb + 1 :]
        if not subject or not rest:
            return ""
        if said in {"has", "have"} and not base_of_participle(rest[0]):
            return ""
        if said == "cannot":
            said, rest = "can", ["not", *rest]
        if rest[0] == "not" and said in {"does", "do", "can", "should", "must", "will", "is", "are"}:
            return join(said, subject, rest)
        return join(said, subject, cut_and(rest))
    for at, word in enumerate(main[1:6], start=1):
        base = base_of_third_person(word)
        if base is not None and word.lower() not in NOUNS_TOO:
            subject = subject_of(sentence, at)
            return join("does", subject, base, main[at + 1 :]) if subject and len(main) > at + 1 else ""
    return ""


_ASKED_WITH = {
    "can": "Can",
    "cannot": "Can",
    "may": "May",
    "must": "must",
    "should": "Should",
    "will": "Will",
    "could": "Could",
}


@rule("whether")
def ask_whether(sentence: Sentence) -> Iterator[Draft]:
    """Ask "X must not be Y." and "X does not Y." as "Can X be Y?" and "Does X Y?"."""
    words, low = sentence.words, [word.lower() for word in sentence.words]
    verb = verb_at(words, frozenset({*_ASKED_WITH, "does", "do", "doesn't", "don't"}), most=6)
    if verb is None:
        return
    subject = "I" if low[0] == "you" and verb == 1 else subject_of(sentence, verb)
    rest = words[verb + 1 :]
    denied = low[verb] in {"cannot", "doesn't", "don't"} or rest[:1] == ["not"]
    rest = cut_and(cut_tail(rest[1:] if rest[:1] == ["not"] else rest))
    if not subject or len(rest) < 2 or ASIDES & {word.lower() for word in rest} or "only" in rest:
        return
    if not denied and (low[verb] not in {"must", "may"} or subject == "I"):
        return
    if low[verb] == "may" and rest[0] in {"be", "have"} and not _is_ruled(rest):
        return
    yield Draft(f"{_ask_whether(low[verb], subject, denied=denied)} {join(rest)}?")


def _is_ruled(rest: list[str]) -> bool:
    """Whether "may be done" gives leave, with its bounds, and does not say what is possible."""
    return bool({"until", "within", "by", "up", "before", "after"} & set(rest[2:]))


def _ask_whether(verb: str, subject: str, *, denied: bool) -> str:
    many = subject == "I" or is_plural(subject)
    if verb in {"does", "do", "doesn't", "don't"}:
        return f"{'Do' if many else 'Does'} {subject}"
    if verb == "must" and not denied:
        return f"{'Do' if many else 'Does'} {subject} have to"
    return f"{_ASKED_WITH['can' if verb == 'must' else verb]} {subject}"


def _odd_object(base: str, rest: list[str]) -> bool:
    """Whether what follows a verb is not an object: another verb, as in "has written" or "changes can"."""
    again = any(word in AUXILIARIES or (base_of_third_person(word) and word not in NOUNS_TOO) for word in rest)
    if rest[0] in {"to", "in", "for", "of", "both", "several", "many", "some", "only"} or is_number(rest[0]):
        return True
    return again or base in {"have", "provide", "offer"} or (base == "have" and bool(base_of_participle(rest[0])))


_ASKED_WHETHER = word_set(
    "accept add allow apply change check cover depend enforce format handle have honour ignore include install keep "
    "load modify need offer preserve provide read reject remove replace require respect return run save send store "
    "support take track treat understand use validate warn write"
)
"""Verbs of which people ask whether something does it."""


@rule("does")
def ask_does(sentence: Sentence) -> Iterator[Draft]:
    """Ask "Black ignores files in X." as "Does Black ignore files in X?"."""
    words = sentence.words
    for at, word in enumerate(words[1:4], start=1):
        base = base_of_third_person(word)
        subject = subject_of(sentence, at) if base in _ASKED_WHETHER and word.islower() else ""
        if base and subject and any(is_name(part) for part in subject.split()):
            rest = cut_and(cut_tail(words[at + 1 :], most=10))
            if base == "have" and len(rest) > 1 and is_number(rest[0]):
                yield Draft(f"How many {join(rest[1:])} does {subject} have?")
            elif len(rest) > 1 and rest[0] == "no" and not ASIDES & set(rest):
                rest = rest[: rest.index("and")] if "and" in rest[2:] else rest
                kept = rest[1:] if rest[1].endswith("s") else ["a", *rest[1:]]
                yield Draft(f"Does {subject} {base} {join(kept)}?")
            elif len(rest) >= 2 and not ASIDES & set(rest) and not _odd_object(base, rest):
                yield Draft(f"Does {subject} {base} {join(rest)}?")
            return
