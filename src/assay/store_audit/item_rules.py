"""Faults that one memory shows by itself: junk, secrets, injected orders, its own output saved again.

What junk, a secret or an order is, is decided by the rules of saving: `score_quality`, `find_doubts`, `find_secrets`.
Here they are asked about memories of other stores, and the words that show the fault are cut out as evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from assay.errors import InputError
from assay.formats.memory_files.reading import title_of
from assay.memory.saving.drafts import mask_secrets, remove_hidden_text
from assay.memory.saving.openings import ALL_VERBS, find_opening
from assay.memory.saving.options import REJECT_BELOW, score_quality
from assay.memory.saving.spam_filter import Doubt, find_doubts, match_orders
from assay.memory.saving.telling_words import answers_a_question, tells_something
from assay.records import Draft, Format
from assay.records.store_audits import EvidencePart, StoreFault, StoreFinding, StoreItem
from assay.store_audit.self_feeding import find_set_phrase
from assay.text.relations import SINGLE_NOUNS, VERB_RELATIONS
from assay.text.secrets import mask_text
from assay.text.terms import stems_of, words
from assay.text.wording import words_of

EXCERPT = 160
"""Characters of a text that a finding shows."""
_QUOTED = re.compile(r"\"[^\"\n]{3,300}\"|'[^'\n]{3,300}'(?!\w)|\u201c[^\u201d\n]{3,300}\u201d|`[^`\n]{3,300}`")
_ABOUT_ORDERS = re.compile(
    r"\b(?:inject(?:ion|ions|ed|ing)|jailbreaks?|attack(?:s|er|ers|ed)?|adversarial|malicious|red[- ]team\w*|phish\w*"
    r"|spam|filters?|filtered|detect\w*|blocks?|blocked|flag(?:s|ged)?|quarantin\w*|scanner|guardrails?|security"
    r"|test(?:s|ed)? (?:case|prompt|string)|payload|vulnerab\w*|exploit\w*|phrases?|wording|patterns?|example)\b",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"(?P<name>[A-Za-z][\w -]{0,40}?)\s*[:=]\s")
_TALK = frozenset(
    words_of(
        "user users assistant human bot ai agent said says say asked asks ask greeted greets greeting replied reply "
        "responded responds response answered thanked thanks acknowledged confirmed message messages conversation "
        "chat session started starts ended ends began continued wants help something question questions "
        "information info details provided provide shared discussed discussion mentioned heartbeat ok ping pong "
        "alive status check checks checked nothing new update updates received sent empty none null na none "
        "undefined task tasks completed complete done successfully success finished processed executed run ran "
        "cron job system log entry memory memories note saved stored updated added created deleted no any changes "
        "change report reports pending input output result results tool call called returned returns ready idle "
        "waiting is are was were has have had been to the a an and or of for with about in on at it this that "
        "their his her they them some more needed required further action actions yet currently now today"
    )
)
"""Words of sentences that only say that there was a conversation or that a program ran."""


class CheckedItem(NamedTuple):
    """A memory as the rules of saving see it."""

    item: StoreItem
    draft: Draft
    clean: str
    """The text without secrets and hidden characters: nothing else is shown or compared."""
    doubts: tuple[Doubt, ...]
    secret_kinds: tuple[str, ...]


def check_item(item: StoreItem) -> CheckedItem | str:
    """Return a memory as a save would check it, or why no save would take it."""
    try:
        draft = make_draft_of(item)
    except InputError as problem:
        return problem.message
    seen, hidden = remove_hidden_text(draft)
    clean, masks = mask_secrets(seen)
    return CheckedItem(
        item=item,
        draft=clean,
        clean=clean.body,
        doubts=find_doubts(clean, hidden),
        secret_kinds=tuple(dict.fromkeys(mask.kind for mask in masks if mask.where in ("body", "metadata"))),
    )


def make_draft_of(item: StoreItem) -> Draft:
    """Return a memory as a draft; raises `InputError` where no draft can hold it."""
    return Draft(
        title=item.title or title_of(item.text) or "Untitled",
        body=item.text,
        format=Format.TEXT,
        metadata={name: value for name, value in item.metadata.items() if name != "assay"},
        valid_from=item.created_at,
        automated=True,
    )


def find_item_faults(checked: CheckedItem) -> Iterator[StoreFinding]:
    """Yield the faults that a memory shows by itself."""
    yield from _find_secrets(checked)
    orders = list(_find_orders(checked))
    yield from orders
    # The gravest fault is enough: all of them remove the memory.
    if any(finding.certain for finding in orders):
        return
    feeding = list(_find_self_feeding(checked))
    yield from feeding or _find_junk(checked)


def show(checked: CheckedItem, text: str | None = None) -> EvidencePart:
    """Return a part of a memory as evidence, shortened and without secrets."""
    shown = " ".join((checked.clean if text is None else text).split())
    cut = shown if len(shown) <= EXCERPT else shown[: EXCERPT - 3] + "..."
    return EvidencePart(checked.item.key, checked.item.place, cut)


def _find_secrets(checked: CheckedItem) -> Iterator[StoreFinding]:
    if not checked.secret_kinds:
        return
    masked = mask_text(checked.item.text, "body", [])
    yield StoreFinding(
        fault=StoreFault.SECRET,
        key=checked.item.key,
        rule="the rules by which a save masks secrets",
        reason=", ".join(checked.secret_kinds),
        parts=(show(checked),),
        look_at="Revoke the secret: whoever could read the store has it. Then redact it.",
        replacement=masked if masked != checked.item.text else None,
    )


def _find_orders(checked: CheckedItem) -> Iterator[StoreFinding]:
    found = [doubt for doubt in checked.doubts if doubt.name in ("orders", "hidden_text")]
    if not found:
        return
    quoted = all(doubt.name == "orders" for doubt in found) and _only_quotes(checked.clean)
    yield StoreFinding(
        fault=StoreFault.INJECTED_ORDER,
        key=checked.item.key,
        rule="the spam filter of a save",
        reason="; ".join(doubt.reason for doubt in found),
        parts=(show(checked, _ordering_sentence(checked.clean)),),
        look_at="Find out who wrote it and what read it since. Remove it unless a person wrote it on purpose.",
        certain=not quoted,
    )


def _only_quotes(text: str) -> bool:
    """Whether orders stand in quotation marks alone, in a note that is about such orders."""
    without = _QUOTED.sub(" ", text)
    return without != text and bool(_ABOUT_ORDERS.search(without)) and not match_orders(without)


def _ordering_sentence(text: str) -> str:
    sentences = re.split(r"(?<=[.!?])\s+|\n+", text)
    return next((sentence for sentence in sentences if match_orders(sentence)), text)


def _find_self_feeding(checked: CheckedItem) -> Iterator[StoreFinding]:
    found = find_set_phrase(checked.clean)
    if found is None:
        return
    yield StoreFinding(
        fault=StoreFault.SELF_FEEDING,
        key=checked.item.key,
        rule=found.rule,
        reason=f"it has the words {found.part[:80]!r}",
        parts=(show(checked),),
        look_at="Check whether what it repeats is stored as a note of its own. If not, save that without the phrase.",
    )


def _find_junk(checked: CheckedItem) -> Iterator[StoreFinding]:
    rule, reason = "", ""
    stuffed = next((doubt for doubt in checked.doubts if doubt.name in ("stuffing", "title", "triggers")), None)
    quality = score_quality(checked.draft)
    if quality.score < REJECT_BELOW:
        parts = ", ".join(f"{part.name} {part.value:.2f}" for part in quality.parts)
        rule = "the quality score of a save"
        reason = f"{quality.score:.2f} is below {REJECT_BELOW:.2f}: {parts}"
    elif stuffed is not None:
        rule, reason = "the spam filter of a save", f"{stuffed.name}: {stuffed.reason}"
    elif not _tells_more_than_talk(checked):
        rule = "the words of a save that tell something"
        reason = "it only says that somebody talked or that a program ran"
    if rule:
        yield StoreFinding(
            fault=StoreFault.JUNK,
            key=checked.item.key,
            rule=rule,
            reason=reason,
            parts=(show(checked),),
            look_at="Read it once: a short text may mean something to its owner.",
        )


def _tells_more_than_talk(checked: CheckedItem) -> bool:
    """Whether a text names two things besides users, assistants, messages and runs of programs.

    Under a title of the store, such as the name of an entity, one thing is enough: `vegan` of an entity `Ada`.
    """
    rest = " ".join(word for word in words(checked.clean) if word not in _TALK)
    if not checked.item.title:
        return tells_something("", rest)
    # A title that asks makes one thing enough, and this one names none itself; `VAT` with `21 %` tells a number.
    has_number = any(map(str.isdigit, checked.clean))
    return has_number or answers_a_question(checked.item.title, checked.clean) or tells_something("?", rest)


def title_in_question(checked: CheckedItem) -> str:
    """Return the title that says what a text is about; empty where the text says so itself.

    `Likes tea` is about the entity that it is an observation of; `Petra likes tea` is not about the heading above it.
    """
    if not checked.item.title:
        return ""
    text = checked.clean.strip()
    lowered = f" {text[:1].lower()}{text[1:200]} "
    begins_with_verb = any(verb.pattern.match(lowered) for verb in VERB_RELATIONS)
    is_order = not find_opening(text) and not ALL_VERBS.isdisjoint(stems_of(words(text)[:1]))
    # `Port: 80` is a line about the thing that stands above it; `relay: owner Petra` names its thing.
    entry = _ENTRY.match(text)
    is_property = entry is not None and not SINGLE_NOUNS.isdisjoint(stems_of(words(entry["name"])[-1:]))
    return checked.item.title if begins_with_verb or is_order or is_property else ""
