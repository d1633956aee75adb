"""Every defect: the good material of a question, and the same material with that one defect.

- What a defect is planted with.
- Defects of plans.
- Defects of passages.
- Defects of answers.
- All of them.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from itertools import chain, zip_longest
from typing import NamedTuple

from assay.records.research import Checkpoint, Dimension, Material, Passage, PlannedQuery, Synthesis
from assay.research.planner import RulePlanner
from assay.text.claims import sentences
from assay.text.questions import key_words
from assay.text.terms import stems
from bench.defects.answers import (
    Quoted,
    content_stems,
    list_runs,
    list_sentences,
    passage_key,
    quote_answer,
    refuse,
    synthesise,
    write_answer,
)
from bench.defects.question_sets import SHOWN, ResearchedQuestion
from bench.defects.text_changes import change_name, change_number, cut_off, list_names, negate_sentence

# --- What a defect is planted with ---


class Pair(NamedTuple):
    """The good material, and the one with the defect."""

    good: Material
    bad: Material


@dataclass(frozen=True)
class Surroundings:
    """All questions of one set: other questions, other passages, other names."""

    questions: tuple[ResearchedQuestion, ...]

    @cached_property
    def names(self) -> list[str]:
        """Names in the passages of the set."""
        return list_names(passage.text for asked in self.questions for passage in asked.passages[:2])

    def list_others(self, asked: ResearchedQuestion) -> list[ResearchedQuestion]:
        """List the questions that other documents answer, the most similar topic first: what they find overlaps."""
        others = [
            other
            for other in self.questions
            if not (other.question.needed & asked.question.related or asked.question.needed & other.question.related)
        ]
        return sorted(others, key=lambda other: -_overlap(other.documents, asked.documents))


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / max(1, len(first | second))


Plant = Callable[[ResearchedQuestion, Surroundings, random.Random], Pair | None]
"""Makes the pair; None where the question offers nothing to plant the defect in."""


def number_passages(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Number passages from 1, in their order."""
    return tuple(replace(passage, number=number) for number, passage in enumerate(passages, start=1))


# --- Defects of plans ---


def _show_plan(asked: ResearchedQuestion) -> Material:
    return Material(checkpoint=Checkpoint.PLAN, question=asked.question.text, plan=asked.plan, now=asked.now)


def join_questions(first: str, second: str, *, in_one_sentence: bool) -> str:
    """Ask two questions at once.

    >>> join_questions("When is breakfast?", "Is there a pool?", in_one_sentence=True)
    'When is breakfast, and is there a pool?'
    """
    begin = f"{second[:1].lower()}{second[1:]}" if second[1:2].islower() else second
    return f"{first.rstrip(' ?.')}, and {begin}" if in_one_sentence else f"{first} And {begin}"


def _join_with_similar(
    asked: ResearchedQuestion, others: Iterable[ResearchedQuestion], rng: random.Random
) -> tuple[str, ResearchedQuestion] | None:
    """Return both questions as one, and the other one; only questions of one sentence are joined."""
    other = next((other for other in others if _is_one_sentence(other.question.text)), None)
    if other is None or not _is_one_sentence(asked.question.text):
        return None
    return join_questions(asked.question.text, other.question.text, in_one_sentence=rng.random() < 0.5), other


def _is_one_sentence(question: str) -> bool:
    return len(sentences(question)) == 1 and not question.rstrip().endswith((".", "!"))


def miss_half(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:
    """Search for one of two questions only."""
    joined = _join_with_similar(asked, around.list_others(asked), rng)
    if joined is None:
        return None
    question, other = joined
    whole = RulePlanner().plan(question)
    kept = rng.choice([asked, other])
    good = Material(checkpoint=Checkpoint.PLAN, question=question, plan=whole, now=asked.now)
    return Pair(good, replace(good, plan=replace(whole, queries=kept.plan.queries)))


def plan_another_question(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - as all are called
    """Take the plan of the question with the most similar topic."""
    other = next(iter(around.list_others(asked)), None)
    if other is None:
        return None
    good = _show_plan(asked)
    return Pair(good, replace(good, plan=replace(other.plan, question=asked.question.text)))


def plan_too_broadly(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Search for single words of the question."""
    keys = key_words(asked.question.text)
    if len(keys) < 3:
        return None
    chosen = rng.sample(keys, min(len(keys) - 1, len(asked.plan.queries) + 1))
    good = _show_plan(asked)
    queries = tuple(PlannedQuery(text=word) for word in chosen)
    return Pair(good, replace(good, plan=replace(asked.plan, queries=queries)))


def plan_too_narrowly(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:
    """Add conditions to every query that nobody asked for."""
    other = next(iter(around.list_others(asked)), None)
    if other is None:
        return None
    own = set(content_stems(asked.question.text))
    strange = [word for word in key_words(other.question.text) if not own & set(stems(word))][:3]
    if len(strange) < 2:
        return None
    conditions = " ".join([*strange, str(rng.randint(2009, 2019))])
    good = _show_plan(asked)
    queries = tuple(replace(query, text=f"{query.text} {conditions}") for query in asked.plan.queries)
    return Pair(good, replace(good, plan=replace(asked.plan, queries=queries)))


# --- Defects of passages ---


def _show_passages(asked: ResearchedQuestion) -> Material | None:
    """Return what was found, where the answer is in it."""
    has_answer = quote_answer(asked) if asked.question.reference else asked.needed_passages
    if not has_answer:
        return None
    return Material(
        checkpoint=Checkpoint.RETRIEVAL,
        question=asked.question.text,
        plan=asked.plan,
        passages=asked.passages,
        now=asked.now,
    )


def _find_like(passage: Passage, other: Passage) -> Passage:
    """Return a passage as if it had been found in place of another: with its scores."""
    return replace(passage, score=other.score, channels=other.channels, standing=other.standing)


def _list_without_needed(asked: ResearchedQuestion) -> tuple[Passage, ...]:
    """What is found when the documents that answer are not there: others move up."""
    rest = [passage for passage in asked.found if passage.memory_id not in asked.question.needed]
    return number_passages(rest[:SHOWN])


def _main_passage(asked: ResearchedQuestion) -> Passage:
    """The passage that holds the answer."""
    quoted = quote_answer(asked)
    return quoted[0].passage if quoted else asked.needed_passages[0]


def remove_needed(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Take away every document that answers the question."""
    good, rest = _show_passages(asked), _list_without_needed(asked)
    return None if good is None or not rest else Pair(good, replace(good, passages=rest))


def add_noise(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:
    """Put passages of other questions in place of half or more; the one with the answer stays."""
    good = _show_passages(asked)
    if good is None:
        return None
    known = asked.question.related | asked.documents
    others = [other for other in around.questions if other.id != asked.id]
    pool = list(
        {
            passage_key(passage): passage
            for other in others
            for passage in other.passages[:3]
            if passage.memory_id not in known
        }.values()
    )
    main = _main_passage(asked)
    places = [place for place, passage in enumerate(good.passages) if passage != main]
    count = rng.randint(-(-len(good.passages) // 2), max(1, len(places)))
    if len(pool) < count or len(places) < count:
        return None
    noise = dict(zip(rng.sample(places, count), rng.sample(pool, count), strict=True))
    passages = number_passages(
        _find_like(noise[place], passage) if place in noise else passage for place, passage in enumerate(good.passages)
    )
    return Pair(good, replace(good, passages=passages))


def add_contradiction(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Put a copy beside the passage with the answer that says the opposite, or another number."""
    good = _show_passages(asked)
    if good is None:
        return None
    main = _main_passage(asked)
    about = set(content_stems(asked.question.reference or asked.question.text))
    sentence = max(sentences(main.text), key=lambda found: len(about & set(stems(found))))
    changed = change_number(sentence, rng) or negate_sentence(sentence)
    if changed is None or sentence not in main.text:
        return None
    other = replace(main, memory_id=f"{main.memory_id}-other", text=main.text.replace(sentence, changed, 1))
    beside = [copy for passage in good.passages for copy in ([passage, other] if passage == main else [passage])]
    return Pair(good, replace(good, passages=number_passages(_shorten(beside, len(good.passages), [main, other]))))


def _shorten(passages: Sequence[Passage], most: int, kept: Sequence[Passage]) -> list[Passage]:
    """Drop the last passages that need not be kept."""
    left, needed = list(passages), {passage_key(passage) for passage in kept}
    while len(left) > most:
        left.remove(next(passage for passage in reversed(left) if passage_key(passage) not in needed))
    return left


def supersede(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Mark the source of the answer as replaced by a newer one."""
    good = _show_passages(asked)
    if good is None:
        return None
    source = _main_passage(asked).memory_id
    passages = (replace(passage, superseded=passage.memory_id == source) for passage in good.passages)
    return Pair(good, replace(good, passages=tuple(passages)))


def make_old(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Date every source six to twelve years back, where a question is about how things are."""
    good = _show_passages(asked)
    if good is None or not asked.question.asks_for_now:
        return None
    passages = (
        replace(passage, updated_at=asked.now - timedelta(days=rng.randint(6 * 365, 12 * 365)))
        for passage in good.passages
    )
    return Pair(good, replace(good, passages=tuple(passages)))


def repeat_sources(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Put copies of passages in place of half of them: whole copies, or without the last sentence."""
    good = _show_passages(asked)
    if good is None or len(good.passages) < 4:
        return None
    main = _main_passage(asked)
    places = [place for place, passage in enumerate(good.passages) if passage != main]
    replaced = set(rng.sample(places, len(good.passages) // 2))
    kept = [passage for place, passage in enumerate(good.passages) if place not in replaced]
    whole = rng.random() < 0.5
    passages = (
        _copy(rng.choice(kept), whole=whole) if place in replaced else passage
        for place, passage in enumerate(good.passages)
    )
    return Pair(good, replace(good, passages=number_passages(passages)))


def _copy(passage: Passage, *, whole: bool) -> Passage:
    last = sentences(passage.text)[-1:]
    shorter = passage.text.replace(last[0], "").strip() if last else ""
    return replace(
        passage, memory_id=f"{passage.memory_id}-copy", text=passage.text if whole else shorter or passage.text
    )


# --- Defects of answers ---
#
# Half of the good answers quote the passages, as the built-in synthesiser does; half are the written reference answers,
# as a model would give them, where the passages in view hold them.


def answer_well(asked: ResearchedQuestion) -> tuple[Quoted, ...]:
    """Give the good answer: quoted or written, the same one every time."""
    written = write_answer(asked) if zlib.crc32(asked.id.encode()) % 2 else ()
    return written or quote_answer(asked)


def _show_answer(asked: ResearchedQuestion, passages: Sequence[Passage], synthesis: Synthesis) -> Material:
    return Material(
        checkpoint=Checkpoint.ANSWER,
        question=asked.question.text,
        plan=asked.plan,
        passages=tuple(passages),
        synthesis=synthesis,
        now=asked.now,
    )


def _pair_answers(
    asked: ResearchedQuestion, good: Sequence[Quoted], bad: Sequence[Quoted], passages: Sequence[Passage] | None = None
) -> Pair:
    shown = asked.passages if passages is None else passages
    material = _show_answer(asked, shown, synthesise(good, shown))
    return Pair(material, replace(material, synthesis=synthesise(bad, shown)))


def add_unsupported_sentence(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:
    """Add a sentence on a similar topic that no passage in view holds."""
    answer = answer_well(asked)
    in_view = {passage.memory_id for passage in asked.passages}
    shown = " ".join(passage.text for passage in asked.passages)
    strange = next(
        (
            quoted.text
            for other in around.list_others(asked)
            for quoted in quote_answer(other)
            if quoted.passage.memory_id not in in_view and quoted.text not in shown
        ),
        None,
    )
    if not answer or strange is None:
        return None
    place = rng.randint(0, len(answer))
    added = Quoted(text=strange, passage=answer[max(0, place - 1)].passage)
    return _pair_answers(asked, answer, [*answer[:place], added, *answer[place:]])


def _change_statement(
    asked: ResearchedQuestion, change: Callable[[str], str | None], rng: random.Random
) -> Pair | None:
    """Change one sentence of the good answer: the first, in random order, that can be changed."""
    answer = answer_well(asked)
    for place in rng.sample(range(len(answer)), len(answer)):
        changed = change(answer[place].text)
        if changed is not None:
            return _pair_answers(
                asked, answer, [*answer[:place], replace(answer[place], text=changed), *answer[place + 1 :]]
            )
    return None


def tell_wrong_number(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Change a number of the answer."""
    return _change_statement(asked, lambda text: change_number(text, rng), rng)


def tell_wrong_name(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:
    """Change a name of the answer to another name of the set."""
    return _change_statement(asked, lambda text: change_name(text, around.names, rng), rng)


def tell_opposite(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Negate a sentence of the answer."""
    return _change_statement(asked, negate_sentence, rng)


def answer_half(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:
    """Answer one of two questions only; the passages answer both."""
    answer = answer_well(asked)
    joined = _join_with_similar(asked, (other for other in around.list_others(asked) if answer_well(other)), rng)
    if not answer or joined is None:
        return None
    question, other = joined
    further = answer_well(other)
    passages = _merge(asked, other, [*answer, *further])
    both = replace(_show_answer(asked, passages, synthesise([*answer, *further], passages)), question=question)
    good = replace(both, plan=RulePlanner().plan(question))
    return Pair(good, replace(good, synthesis=synthesise(rng.choice([answer, further]), passages)))


def _merge(asked: ResearchedQuestion, other: ResearchedQuestion, kept: Sequence[Quoted]) -> tuple[Passage, ...]:
    """Merge what two questions found, in turns; the passages that are quoted are always in it."""
    turns = chain.from_iterable(zip_longest(asked.passages, other.passages))
    merged = {passage_key(passage): passage for passage in turns if passage is not None}
    needed = {passage_key(quoted.passage) for quoted in kept}
    room = SHOWN - len(needed)
    spare = [key for key in merged if key not in needed][:room]
    return number_passages(passage for key, passage in merged.items() if key in needed or key in spare)


def _answer_other(asked: ResearchedQuestion, other: ResearchedQuestion | None) -> Pair | None:
    answer = answer_well(asked)
    if not answer or other is None:
        return None
    instead = answer_well(other)
    return _pair_answers(asked, answer, instead, _append_sources(asked, answer, instead))


def _append_sources(
    asked: ResearchedQuestion, answer: Sequence[Quoted], instead: Sequence[Quoted]
) -> tuple[Passage, ...]:
    """Show the sources of another answer last, found as weakly as what they push out."""
    last = asked.passages[-1]
    known = {passage_key(passage) for passage in asked.passages}
    added = {
        passage_key(quoted.passage): _find_like(quoted.passage, last)
        for quoted in instead
        if passage_key(quoted.passage) not in known
    }
    kept = [quoted.passage for quoted in (*answer, *instead)]
    return number_passages([*_shorten(asked.passages, SHOWN - len(added), kept), *added.values()])


def answer_off_topic(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:
    """Answer any other question of the set, with its support in view."""
    others = [other for other in around.list_others(asked) if answer_well(other)]
    return _answer_other(asked, rng.choice(others) if others else None)


def answer_similar_question(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Answer the question with the most similar topic, with its support in view."""
    return _answer_other(asked, next((other for other in around.list_others(asked) if answer_well(other)), None))


def refuse_despite_evidence(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Decline although a passage answers."""
    answer = answer_well(asked)
    if not answer:
        return None
    good = _show_answer(asked, asked.passages, synthesise(answer, asked.passages))
    return Pair(good, replace(good, synthesis=refuse()))


def answer_without_evidence(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Answer from passages that do not hold the answer, where declining would be right."""
    if not quote_answer(asked):
        return None
    passages = _list_without_needed(asked)
    about = set(content_stems(asked.question.text))
    quotable = [Quoted(text=sentence, passage=passage) for passage in passages for sentence in list_sentences(passage)]
    nearest = sorted(quotable, key=lambda quoted: -len(about & set(stems(quoted.text))))[:2]
    if not nearest:
        return None
    good = _show_answer(asked, passages, refuse())
    return Pair(good, replace(good, synthesis=synthesise(nearest, passages)))


def shuffle_sentences(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Shuffle four sentences that stand one after the other in a passage that answers."""
    about = set(content_stems(f"{asked.question.text} {asked.question.reference}"))
    runs = [(passage, run) for passage in asked.needed_passages for run in list_runs(passage, 4)]
    if not runs:
        return None
    passage, run = max(runs, key=lambda found: len(about & set(stems(" ".join(found[1])))))
    good = [Quoted(text=sentence, passage=passage) for sentence in run]
    bad = rng.choice([order for order in _orders(good) if order != good])
    return _pair_answers(asked, good, bad)


def _orders(answer: Sequence[Quoted]) -> Iterator[list[Quoted]]:
    """Yield every order in which the first sentence is no longer first."""
    for place in range(1, len(answer)):
        rest = [quoted for number, quoted in enumerate(answer) if number != place]
        yield [answer[place], *reversed(rest)]
        yield [answer[place], *rest[1:], rest[0]]


def cut_answer(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Break the last sentence off in the middle."""
    answer = answer_well(asked)
    cut = cut_off(answer[-1].text, rng) if answer else None
    return None if cut is None else _pair_answers(asked, answer, [*answer[:-1], replace(answer[-1], text=cut)])


def repeat_sentence(asked: ResearchedQuestion, around: Surroundings, rng: random.Random) -> Pair | None:  # noqa: ARG001 - the same
    """Say one sentence twice."""
    answer = answer_well(asked)
    return None if not answer else _pair_answers(asked, answer, [*answer, rng.choice(answer)])


# --- All of them ---


@dataclass(frozen=True, kw_only=True, slots=True)
class Defect:
    """One kind of defect."""

    name: str
    checkpoint: Checkpoint
    own: tuple[Dimension, ...]
    """Dimensions that must fall for it."""
    also: tuple[Dimension, ...] = ()
    """Dimensions that may well fall too; reported, not required."""
    plant: Plant

    @property
    def dimension(self) -> Dimension:
        """The first one it is about."""
        return (*self.own, *self.also)[0]


_PLAN, _RETRIEVAL, _ANSWER = Checkpoint.PLAN, Checkpoint.RETRIEVAL, Checkpoint.ANSWER
_COVERAGE, _INTENT, _SCOPE = (
    (Dimension.QUERY_COVERAGE,),
    (Dimension.INTENT_ALIGNMENT,),
    (Dimension.SCOPE_APPROPRIATENESS,),
)
_RECALL, _PRECISION, _SOURCES = (Dimension.CONTEXT_RECALL,), (Dimension.CONTEXT_PRECISION,), (Dimension.SOURCE_QUALITY,)
_FAITHFUL, _FACTS, _COMPLETE = (Dimension.FAITHFULNESS,), (Dimension.FACTUAL_ACCURACY,), (Dimension.COMPLETENESS,)
_RELEVANT, _COHERENT = (Dimension.RELEVANCE,), (Dimension.COHERENCE,)
_OUTCOME = (Dimension.COMPLETENESS, Dimension.RELEVANCE)

DEFECTS: tuple[Defect, ...] = (
    Defect(name="misses half of the question", checkpoint=_PLAN, own=_COVERAGE, also=_INTENT, plant=miss_half),
    Defect(
        name="plan for another question", checkpoint=_PLAN, own=_INTENT, also=_COVERAGE, plant=plan_another_question
    ),
    Defect(name="too broad", checkpoint=_PLAN, own=_SCOPE, plant=plan_too_broadly),
    Defect(name="too narrow", checkpoint=_PLAN, own=_SCOPE, plant=plan_too_narrowly),
    Defect(name="needed passage missing", checkpoint=_RETRIEVAL, own=_RECALL, plant=remove_needed),
    Defect(name="noise", checkpoint=_RETRIEVAL, own=_PRECISION, plant=add_noise),
    Defect(name="contradicting passage", checkpoint=_RETRIEVAL, own=_SOURCES, plant=add_contradiction),
    Defect(name="superseded source", checkpoint=_RETRIEVAL, own=_SOURCES, plant=supersede),
    Defect(name="old sources", checkpoint=_RETRIEVAL, own=_SOURCES, plant=make_old),
    Defect(name="repeated sources", checkpoint=_RETRIEVAL, own=_SOURCES, plant=repeat_sources),
    Defect(name="unsupported sentence", checkpoint=_ANSWER, own=_FAITHFUL, plant=add_unsupported_sentence),
    Defect(name="wrong number", checkpoint=_ANSWER, own=_FACTS, also=_FAITHFUL, plant=tell_wrong_number),
    Defect(name="changed name", checkpoint=_ANSWER, own=_FACTS, also=_FAITHFUL, plant=tell_wrong_name),
    Defect(name="negated", checkpoint=_ANSWER, own=_FACTS, also=_FAITHFUL, plant=tell_opposite),
    Defect(name="missing part", checkpoint=_ANSWER, own=_COMPLETE, plant=answer_half),
    Defect(name="off topic", checkpoint=_ANSWER, own=_RELEVANT, also=_COMPLETE, plant=answer_off_topic),
    Defect(
        name="answers a similar question",
        checkpoint=_ANSWER,
        own=_RELEVANT,
        also=_COMPLETE,
        plant=answer_similar_question,
    ),
    Defect(name="refusal despite evidence", checkpoint=_ANSWER, own=(), also=_OUTCOME, plant=refuse_despite_evidence),
    Defect(name="answer without evidence", checkpoint=_ANSWER, own=(), also=_OUTCOME, plant=answer_without_evidence),
    Defect(name="shuffled sentences", checkpoint=_ANSWER, own=_COHERENT, plant=shuffle_sentences),
    Defect(name="cut off", checkpoint=_ANSWER, own=_COHERENT, plant=cut_answer),
    Defect(name="repeated sentence", checkpoint=_ANSWER, own=_COHERENT, plant=repeat_sentence),
)
