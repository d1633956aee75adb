"""Rules about doing: how a task is done, in which order, and what happens in some case."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from assay.evaluation.proposals.clauses import (
    DROPPED,
    LINKS,
    MODALS,
    NOUNS_TOO,
    VAGUE,
    Draft,
    Sentence,
    clause_end,
    cut_tail,
    find_phrase,
    has_verb,
    is_imperative,
    join,
    rule,
    subject_of,
    verb_at,
)
from assay.evaluation.proposals.verbs import (
    AUXILIARIES,
    BASE_VERBS,
    base_of_gerund,
    base_of_participle,
    base_of_third_person,
    word_set,
)
from assay.evaluation.proposals.wording import (
    is_name,
    is_plural,
    swap_verb,
)

# --- How something is done ---

_WISHES = (
    ["want", "to"],
    ["need", "to"],
    ["would", "like", "to"],
    ["wish", "to"],
    ["prefer", "to"],
    ["'d", "like", "to"],
)


@rule("purpose")
def ask_purpose(sentence: Sentence) -> Iterator[Draft]:
    """Ask "To enable X, run Y." as "How do I turn on X?"."""
    words = [word.lower() for word in sentence.words]
    begin = 1 if words[0] == "to" else 3 if words[:3] == ["in", "order", "to"] else _after_wish(words)
    end = clause_end(sentence.words, begin) if begin else None
    if end is None or not _tells_what_to_do(sentence.words[end + 1 :]):
        return
    task = [*sentence.words[begin:end], sentence.words[end].rstrip(",")]
    yield from _how(task)


def _after_wish(words: list[str]) -> int:
    if words[:2] not in (["if", "you"], ["when", "you"]):
        return 0
    for wish in _WISHES:
        if words[2 : 2 + len(wish)] == wish:
            return 2 + len(wish)
    return 0


def _tells_what_to_do(main: list[str]) -> bool:
    """Whether a main clause says what to do or use."""
    low = [word.lower() for word in main[:8]]
    return bool(low) and (
        is_imperative(main)
        or low[:1] == ["simply"]
        or low[0] in {"you", "it's", "there"}
        or any(word in AUXILIARIES for word in low)
    )


def _how(task: list[str]) -> Iterator[Draft]:
    verb = task[0].lower() if task else ""
    if not 2 <= len(task) <= 12 or not verb.isalpha() or verb not in BASE_VERBS or {"things", "stuff"} & set(task):
        return
    if (
        verb in {"do", "be", "have", "make", "help", "learn", "see", "know", "understand", "summarize"}
        and len(task) < 4
    ):
        return
    if verb in {"learn", "see", "know", "understand", "summarize", "be", "illustrate", "demonstrate"}:
        return
    if any(word == "you" and before not in _BEFORE_YOU for before, word in pairwise(task)):
        return
    if any(word in {"use", "run", "call", "see"} and before not in _BEFORE_VERB for before, word in pairwise(task)):
        return
    yield Draft(f"How do I {join(swap_verb(task))}?")


_BEFORE_YOU = word_set("that which what how where when if as than because while whenever")
_BEFORE_VERB = word_set("to and or can will should may must not the a an i you")


@rule("means")
def ask_means(sentence: Sentence) -> Iterator[Draft]:
    """Ask "You can X by doing Y." and "Use Y to X." as "How do I X?"."""
    words, low = sentence.words, [word.lower() for word in sentence.words]
    if low[:2] in (["you", "can"], ["you", "may"]) and "by" in low[3:] and not any("," in word for word in words[:10]):
        by = low.index("by", 3)
        if by + 1 < len(low) and low[by + 1].endswith("ing"):
            yield from _how(words[2:by])
    if low[0] in {"use", "call", "pass", "set", "run", "add"} and "to" in low[2:10] and low[1] not in _NO_TOOL:
        to = low.index("to", 2)
        plain = not any("," in word for word in words[:to]) and low[to - 1] not in _TAKES_TO
        if to <= 8 and to + 1 < len(low) and low[to + 1] in BASE_VERBS and plain:
            yield from _how(cut_tail(words[to + 1 :]))
    for lets in (
        ["lets", "you"],
        ["allows", "you", "to"],
        ["enables", "you", "to"],
        ["let", "you"],
        ["allow", "you", "to"],
    ):
        at = find_phrase(low[:10], lets)
        if at is not None and at > 0 and low[0] not in VAGUE:
            yield from _how(cut_tail(words[at + len(lets) :]))
    at = find_phrase(low[:10], ["be", "used", "to"])
    if at is not None and at > 1 and low[at - 1] in {"can", "may"} and _subject_like(sentence, at):
        yield from _how(cut_tail(words[at + 3 :]))


_NO_TOOL = word_set("of it this that these those them one")
_TAKES_TO = word_set("necessary able need way order how attempt want needed required likely enough due up")


def _subject_like(sentence: Sentence, end: int) -> bool:
    first = verb_at(sentence.words, LINKS | MODALS)
    return first is not None and first < end and bool(subject_of(sentence, first))


@rule("heading task")
def ask_heading_task(sentence: Sentence) -> Iterator[Draft]:
    """Ask the heading "Installing on Windows" as "How do I install on Windows?"."""
    words = sentence.passage.heading.split()
    verb = base_of_gerund(words[0]) if words else None
    low = [word.lower() for word in sentence.words]
    tells = is_imperative(sentence.words) or low[:2] == ["you", "can"] or low[0] == "to"
    tells = tells and sentence.passage.opens_section
    if verb is None or not tells or not 2 <= len(words) <= 8 or verb in {"use", "understand", "see", "do", "get"}:
        return
    yield from _how([verb, *(sentence.speech.lower_heading(words[1:]))])


@rule("order")
def ask_order(sentence: Sentence) -> Iterator[Draft]:
    """Ask "Before doing X, do Y." as "What do I have to do before doing X?"."""
    words, low = sentence.words, [word.lower() for word in sentence.words]
    end = clause_end(words) if low[0] in {"before", "after"} else None
    if end is None or not 3 <= end <= 12:
        return
    main = words[end + 1 :]
    gerund = base_of_gerund(low[1]) is not None
    if (gerund or (low[1] == "you" and end > 3)) and (is_imperative(main) or main[:1] == ["you"]):
        task = join(low[1], words[2:end], words[end].rstrip(","))
        yield Draft(f"What do I have to do {low[0]} {task}?")


@rule("way")
def ask_way(sentence: Sentence) -> Iterator[Draft]:
    """Ask "X can be done with Y." as "How can X be done?", and "X is stored in Y." as "Where is X stored?"."""
    words, low = sentence.words, [word.lower() for word in sentence.words]
    verb = verb_at(words, LINKS | {"can", "should", "must"})
    if verb is None:
        return
    at = verb + 2 if low[verb + 1 : verb + 2] == ["be"] else verb + 1 if low[verb] in LINKS else len(low)
    link = low[at + 1] if at + 2 < len(low) else ""
    subject = subject_of(sentence, verb)
    if not subject or at >= len(low) or base_of_participle(low[at]) is None or low[at] in _MADE_OF:
        return
    been = join("be" if at == verb + 2 else "", low[at])
    place = words[at + 2 : at + 6]
    there = any(is_name(word) for word in place) or {"file", "directory", "folder", "section", "database"} & set(place)
    if low[at] in _PLACED and link in {"in", "at", "under", "inside"} and there:
        yield Draft(f"Where {low[verb]} {subject} {been}?")
    elif link in {"by", "with", "via", "using", "through"} and (link != "by" or low[at + 2].endswith("ing")):
        yield Draft(f"How {low[verb]} {subject} {been}?")


_MADE_OF = word_set("written made based built used called known meant")
_PLACED = word_set("stored located kept saved written found installed placed defined configured documented set")


@rule("choice")
def ask_choice(sentence: Sentence) -> Iterator[Draft]:
    """Ask "Unlike X, Y does Z." as "How is Y different from X?", and "Use X instead of Y." as a choice."""
    words, low = sentence.words, [word.lower() for word in sentence.words]
    if low[0] == "unlike":
        end = clause_end(words)
        main = words[end + 1 :] if end is not None and end <= 6 else []
        verb = next((p for p, w in enumerate(main[:6]) if p and (w in AUXILIARIES or base_of_third_person(w))), None)
        if verb is not None and end is not None and not {word.lower() for word in main[:verb]} & VAGUE:
            other = join(words[1:end], words[end].rstrip(","))
            yield Draft(
                f"How {'are' if is_plural(join(main[:verb])) else 'is'} {join(main[:verb])} different from {other}?",
                "",
            )
    instead = find_phrase(low[:9], ["instead", "of"])
    if low[0] == "use" and instead is not None and 2 <= instead <= 5:
        rest = cut_tail(words[instead + 2 : instead + 6])
        stop = next(
            (p for p, w in enumerate(rest) if w in {"to", "for", "in", "when", "if", "with", "on", "as"}), len(rest)
        )
        if 0 < stop <= 3:
            yield Draft(f"Should I use {join(words[1:instead])} or {join(rest[:stop])}?")


# --- What happens, and what to do, in some case ---


@rule("condition")
def ask_condition(sentence: Sentence) -> Iterator[Draft]:
    """Ask "If X, Y happens." as "What happens if X?"."""
    words, low = sentence.words, [word.lower() for word in sentence.words]
    if low[0] not in {"if", "when"} or _after_wish(low):
        return
    end = clause_end(words)
    if end is None or end + 3 > len(words) or {"then", "please"} & set(low[:end]):
        return
    condition = _clean_condition([*words[1:end], words[end].rstrip(",")])
    if not condition or {"and", "or", "but"} & set(low[end + 1 : end + 4]):
        return
    yield Draft(f"{_what_then(low[end + 1 :])} {low[0]} {join(condition)}?")


def _clean_condition(words: list[str]) -> list[str]:
    """A condition without asides; empty where it is not one clause with a subject of its own."""
    opened = next((at for at, word in enumerate(words) if word.startswith("(")), len(words))
    closed = next((at for at, word in enumerate(words) if word.endswith(")")), opened)
    kept = [word for word in [*words[:opened], *words[closed + 1 :]] if word.lower() not in DROPPED]
    low = [word.lower() for word in kept]
    if not 3 <= len(kept) <= 13 or not has_verb(kept) or "would" in low:
        return []
    if any(low[: len(opening)] == opening for opening in _SOFT):
        return []
    if low[0].endswith("ing") or base_of_participle(low[0]) or low[0] in {"in", "not", "so", "possible", "needed"}:
        return []
    if any(word in {"you", "i"} for word in low[2:]) and not _JOINING & set(low):
        return []
    finite = [word for word in low if word in AUXILIARIES or (base_of_third_person(word) and word not in NOUNS_TOO)]
    return [] if len(finite) > 1 and not _JOINING & set(low) else kept


_SOFT = (
    ["you", "find", "yourself"], ["you", "have", "to"], ["you", "are", "ready"], ["you", "are", "looking"],
    ["you", "are", "a"], ["you're", "a"], ["you're", "looking"], ["you", "find"], ["you", "expect"], ["you", "look"],
    ["you", "want"], ["you", "see"], ["you're", "not", "sure"], ["you", "are", "not", "sure"], ["you", "like"],
    ["you", "are", "interested"], ["you're", "interested"], ["you", "notice"], ["you", "can"],
    ["you", "contribute"], ["you", "feel"], ["you're", "reaching"], ["you", "think"], ["you", "care"],
)  # fmt: skip
"""How conditions begin that only lead over to the next subject."""
_JOINING = word_set("and or that which who but after before until while than whether")


def _what_then(main: list[str]) -> str:
    main = main[1:] if main[:1] in (["then"], ["please"], ["simply"], ["just"], ["always"], ["never"]) else main
    if main[:2] in (["you", "can"], ["you", "may"], ["you", "could"]):
        return "What can I do"
    if (
        is_imperative(main)
        or main[:2] == ["do", "not"]
        or main[:1] == ["don't"]
        or main[:2] in (["you", "should"], ["you", "must"], ["you", "need"], ["you", "have"])
    ):
        return "What should I do"
    return "What happens"


_BEFORE_WHETHER = word_set(
    "check checks checking see know knows determine determines ask asks test tests even only as decide case out "
    "useful helpful especially particularly exactly except"
)
"""Words after which "if" and "when" do not open a condition of the sentence."""


@rule("late condition")
def ask_late_condition(sentence: Sentence) -> Iterator[Draft]:
    """Ask "X is done when Y." as "When is X done?", and "Y happens if X." as "What happens if X?"."""
    words, low = sentence.words, [word.lower() for word in sentence.words]
    at = next((place for place, word in enumerate(low) if word in {"if", "when"} and place > 2), None)
    if at is None or any(word.endswith(",") for word in words):
        return
    condition, main = _clean_condition(words[at + 1 :]), words[:at]
    if not condition or low[at - 1] in _BEFORE_WHETHER or low[0] in {"this", "these", "that", "it", "that's", "it's"}:
        return
    link = verb_at(main, LINKS)
    if link is not None and link + 1 < len(main) and base_of_participle(main[link + 1]) and len(main) - link <= 5:
        subject = subject_of(sentence, link)
        if subject:
            yield Draft(f"When {main[link].lower()} {subject} {join(main[link + 1 :])}?")
            return
    if 4 <= len(main) <= 14 and _has_subject(sentence, main):
        yield Draft(f"What happens {low[at]} {join(condition)}?")


def _has_subject(sentence: Sentence, main: list[str]) -> bool:
    """Whether a clause begins with a subject and its verb."""
    for at, word in enumerate(main[1:8], start=1):
        if word in AUXILIARIES or (base_of_third_person(word) and word not in NOUNS_TOO):
            return bool(subject_of(sentence, at))
    return False
