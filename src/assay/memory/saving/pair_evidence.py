"""What two notes as a whole say about each other: a reported change, a repetition, an elaboration.

`agreement` compares sentences that correspond; here the notes are compared with their labels. The result says

- which sentences of the new note report a change of what the old one is about,
- whether the new note repeats the old one in other words, so that nothing is lost without it,
- whether the new note covers all of the old one, so that nothing is lost without that.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.memory.saving.agreement import TOO_LONG, Agreement
from assay.memory.saving.change_words import find_reports, says_more, says_recent
from assay.memory.saving.coverage import Coverage, Vocabulary, measure_coverage
from assay.memory.saving.openings import words_of_note
from assay.memory.saving.subjects import SAME_TITLE, Labelled, find_shared_labels
from assay.text.terms import normalise_phrase
from assay.text.wording import wording

REPORTED_WORDS = 2
"""Content words that a sentence which reports a change shares with the old note; fewer may be about something else.
Under the same title, or in a title, one is enough."""
BEYOND_LABEL = 0.3
"""Share of either note without the words of its labels that the other one has, from which they correspond."""
NAMED_WORDS = 4
"""So many, and the two notes are not about different things, whatever their labels say."""
REPEATED = 0.45
"""Share of the content words of every sentence of a repetition that the old note has, directly or as a synonym."""
REPEATED_BEYOND_LABEL = 0.3
"""The same without the words of a label that both notes have."""
REPHRASED = 0.5
"""Share of the content words of either note that the other one has, from which both may say the same in other words."""
REPHRASED_SENTENCE = 0.3
"""And of each of their sentences."""
MUTUAL = 0.7
"""Share of either note that the other one has, from which they are about one thing, whatever they begin with."""
KNOWN = 0.5
"""Share of a note from which a change that both notes report is the same change."""
COVERED = 0.8
"""Share of the old note's content words that an elaboration repeats."""
COVERED_SENTENCE = 0.75
"""And of each of its sentences."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What two notes say about each other."""

    shared: tuple[str, ...] = ()
    """Labels that both have."""
    reports: tuple[str, ...] = ()
    """Phrases by which the new note says that something changed."""
    same_title: bool = False
    firm: bool = False
    """They correspond in more than a trigger: a title, a reported change, a sentence, or other words."""
    names_old: bool = False
    """A sentence that reports a change names much of what the old note is about."""
    repeats: bool = False
    """The new note says nothing that the old one does not."""
    rephrases: bool = False
    """Each says about half of the other in the same words, and all its facts: alike enough, they say the same."""
    mutual: bool = False
    """Each says nearly everything that the other does."""
    covers: bool = False
    """The new note says everything that the old one does."""


def read_evidence(old: Labelled, new: Labelled, agreement: Agreement) -> Evidence:
    """Compare two notes with their labels; `agreement` is what the comparison of their sentences gave."""
    shared = tuple(find_shared_labels(old, new))
    before, after = wording(old.body), wording(new.body)
    old_words = words_of_note(old.title, old.triggers, before)
    new_words = words_of_note(new.title, new.triggers, after)
    of_new = measure_coverage(after, old_words)
    same_title = SAME_TITLE in shared
    reports = _find_news(old, new, old_words, of_new, least=1 if same_title else REPORTED_WORDS)
    labels = _stems_of(old.title, *old.triggers, new.title, *new.triggers)
    of_old = measure_coverage(before, new_words)
    beyond = max(measure_coverage(before, new_words, labels).share, measure_coverage(after, old_words, labels).share)
    firm = same_title or bool(reports) or agreement.framed or beyond >= BEYOND_LABEL
    if reports or not agreement.agrees or agreement is TOO_LONG:
        return Evidence(
            shared=shared,
            same_title=same_title,
            firm=firm,
            reports=tuple(phrase for phrase, _ in reports),
            names_old=any(count >= NAMED_WORDS for _, count in reports),
        )
    both = (of_new, of_old)
    return Evidence(
        shared=shared,
        same_title=same_title,
        firm=firm,
        rephrases=_adds_nothing(old, new, agreement, of_new)
        and not agreement.lacks_facts
        and _each(both, REPHRASED, REPHRASED_SENTENCE),
        mutual=_each(both, MUTUAL, MUTUAL),
        repeats=_repeats(old, new, agreement, of_new)
        # Under one label the words of the label say nothing about what else the texts have in common.
        and measure_coverage(after, old_words, _stems_of_shared(old, new)).worst_sentence >= REPEATED_BEYOND_LABEL,
        covers=_covers_all(agreement, of_old),
    )


def _stems_of_shared(old: Labelled, new: Labelled) -> frozenset[str]:
    phrases = {normalise_phrase(label) for label in (old.title, *old.triggers)}
    return _stems_of(*(label for label in (new.title, *new.triggers) if normalise_phrase(label) in phrases))


def _stems_of(*labels: str) -> frozenset[str]:
    return frozenset().union(*(wording(label).stems for label in labels))


def _find_news(
    old: Labelled, new: Labelled, old_words: Vocabulary, of_new: Coverage, *, least: int
) -> list[tuple[str, int]]:
    """Phrases of sentences that report a change, each with how many words of the old note its sentence has.

    A change that the old note reports too is no news. One word is enough where it is a name of the old note.
    """
    if says_recent(f"{old.title}. {old.body}") and of_new.share >= KNOWN:
        return []
    names = {fact.value for fact in wording(old.body).facts if fact.kind == "name"}
    found = []
    for report in find_reports(new.title, new.body):
        count = sum(map(old_words.covers, report.content))
        if count >= (1 if report.in_title else least) or names & report.content:
            found.append((report.phrase, count))
    return found


def _repeats(old: Labelled, new: Labelled, agreement: Agreement, of_new: Coverage) -> bool:
    return of_new.worst_sentence >= REPEATED and _adds_nothing(old, new, agreement, of_new)


def _adds_nothing(old: Labelled, new: Labelled, agreement: Agreement, of_new: Coverage) -> bool:
    """Whether the new note has no fact, no topic and no `also` that the old one lacks."""
    if agreement.adds_facts or agreement.doubtful:
        return False
    return not says_more(new.body) and not _adds_topic(old, new, of_new)


def _each(both: tuple[Coverage, Coverage], share: float, worst_sentence: float) -> bool:
    return all(part.share >= share and part.worst_sentence >= worst_sentence for part in both)


def _adds_topic(old: Labelled, new: Labelled, of_new: Coverage) -> bool:
    """Whether the new note has a trigger more, for something that its text says and the old note does not mention."""
    known = {normalise_phrase(label) for label in (old.title, *old.triggers)}
    kept = any(normalise_phrase(trigger) in known for trigger in new.triggers)
    added = [trigger for trigger in new.triggers if normalise_phrase(trigger) not in known]
    return kept and any(wording(trigger).stems & of_new.missing for trigger in added)


def _covers_all(agreement: Agreement, of_old: Coverage) -> bool:
    return not agreement.lacks_facts and of_old.share >= COVERED and of_old.worst_sentence >= COVERED_SENTENCE
