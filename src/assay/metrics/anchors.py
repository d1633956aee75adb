"""Anchors: was the place that supports the answer retrieved, kept in scope, and cited?

A chunk matches a gold support when the file is the same and its heading path starts with the gold one; with
`snippets` it must also contain one of the support's snippets, if it has any. The place of a chunk is decided before
(`evaluation.placing`). One that could not be placed may match: a case whose value hangs on it is `skipped`, since
neither a hit nor a miss is known. Each function looks at one case. Unanswerable questions have no place to find, so
they enter none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from assay.metrics import outcomes
from assay.metrics.answers import explain_missing_answer, of_answer
from assay.metrics.catalog import Better, Cutoff, FromCase, MetricEntry, Parameter, register
from assay.metrics.inputs import CaseView, check_cutoff
from assay.records.answers import (
    ConflictRule,
    FolderMode,
    GivenAnswer,
    GoldAnchors,
    GoldSupport,
    PlacedChunk,
    RetrievedChunk,
    Spot,
)
from assay.records.evaluations import Cause, Outcome
from assay.records.heading_path import lies_under
from assay.text.claims import claims
from assay.text.terms import normalise_phrase

Chunks = Sequence[RetrievedChunk]
Hits = Sequence[set[int]]
"""For each chunk, the positions of the supports it matches."""


OF_PASSAGES = frozenset({"recall_any", "recall_all", "anchor_precision", "anchor_mrr"})
"""The metrics here that look at what was retrieved."""
NO_ANCHORS = "the case has no anchors"
UNPLACED = "cannot be placed among the dataset's documents"
"""How the reason of a case ends whose value hangs on results that could not be placed."""


def matches(chunk: RetrievedChunk, support: GoldSupport, *, snippets: bool = False) -> bool:
    """Whether a chunk is at the place a support names."""
    spots = chunk.spots if isinstance(chunk, PlacedChunk) else (Spot(chunk.rel_path, chunk.heading_path),)
    if not any(_is_at(spot, support) for spot in spots):
        return False
    return not (snippets and support.snippets) or _holds_any(chunk.text, support.snippets)


def may_match(chunk: RetrievedChunk, support: GoldSupport, *, snippets: bool = False) -> bool:
    """Whether a chunk may be at the place a support names, because its own place is not known."""
    if not isinstance(chunk, PlacedChunk) or chunk.open_in not in ("", support.rel_path):
        return False
    known_not_to = snippets and support.snippets and chunk.text and not _holds_any(chunk.text, support.snippets)
    return not known_not_to


def is_unplaced(outcome: Outcome) -> bool:
    """Whether a case has no value because its results could not be placed."""
    return outcome.cause is Cause.UNPLACED


def _is_at(spot: Spot, support: GoldSupport) -> bool:
    return spot.rel_path == support.rel_path and lies_under(spot.heading_path, support.heading_path)


def _holds_any(text: str, snippets: tuple[str, ...]) -> bool:
    """Line breaks and repeated spaces are the chunker's, not the author's: they do not matter."""
    flat = " ".join(text.split())
    return any(" ".join(snippet.split()) in flat for snippet in snippets)


def recall_any(gold: GoldAnchors, chunks: Chunks, k: int, *, snippets: bool = False) -> Outcome:
    """Whether one of the first k chunks matches one gold support."""
    return _score_if_placed(gold, chunks, k, lambda hits: float(any(hits)), snippets=snippets)


def recall_all(gold: GoldAnchors, chunks: Chunks, k: int, *, snippets: bool = False) -> Outcome:
    """Whether the first k chunks hit every required group."""
    if _nothing_to_find(gold) is None and not gold.required_support_groups:
        return outcomes.not_applicable("the case has no required support groups")
    return _score_if_placed(gold, chunks, k, lambda hits: float(_reaches_all(gold, hits)), snippets=snippets)


def _reaches_all(gold: GoldAnchors, hits: Hits) -> bool:
    reached = _with_equivalents(gold, set[int]().union(*hits))
    return all(reached & set(group) for group in gold.required_support_groups)


def anchor_precision(gold: GoldAnchors, chunks: Chunks, k: int, *, snippets: bool = False) -> Outcome:
    """The chunks among the first k that match a support, divided by k."""
    return _score_if_placed(gold, chunks, k, lambda hits: _count_hits(gold, hits) / k, snippets=snippets)


def anchor_mrr(gold: GoldAnchors, chunks: Chunks, k: int | None = None, *, snippets: bool = False) -> Outcome:
    """One over the place of the first chunk that matches; 0 when none does."""
    return _score_if_placed(gold, chunks, k, _reciprocal_rank, snippets=snippets)


def _reciprocal_rank(hits: Hits) -> float:
    return next((1 / place for place, hit in enumerate(hits, start=1) if hit), 0.0)


def _score_if_placed(
    gold: GoldAnchors, chunks: Chunks, k: int | None, value: Callable[[Hits], float], *, snippets: bool
) -> Outcome:
    """The value, unless it hangs on chunks that could not be placed."""
    check_cutoff(k)
    missing = _nothing_to_find(gold)
    if missing is not None:
        return missing
    first = _distinct(chunks)[:k]
    certain = [_positions(gold, chunk, matches, snippets=snippets) for chunk in first]
    possible = [_positions(gold, chunk, may_match, snippets=snippets) for chunk in first]
    worst = value(certain)
    if worst == value([sure | maybe for sure, maybe in zip(certain, possible, strict=True)]):
        return Outcome.scored(worst)
    count = sum(bool(maybe - sure) for sure, maybe in zip(certain, possible, strict=True))
    return outcomes.skipped(f"{count} of its first {len(first)} results {UNPLACED}", Cause.UNPLACED)


def _positions(gold: GoldAnchors, chunk: RetrievedChunk, test: Callable[..., bool], *, snippets: bool) -> set[int]:
    """The supports for which a test of a chunk holds."""
    return {position for position, support in enumerate(gold.supports) if test(chunk, support, snippets=snippets)}


def _nothing_to_find(gold: GoldAnchors) -> Outcome | None:
    if not gold.answerable:
        return outcomes.not_applicable("the question has no answer to support")
    return None if gold.supports else outcomes.not_applicable("the case has no gold supports")


def _distinct(chunks: Chunks) -> list[RetrievedChunk]:
    keyed: dict[str | int, RetrievedChunk] = {}
    for number, chunk in enumerate(chunks):
        keyed.setdefault(chunk.chunk_id or number, chunk)
    return list(keyed.values())


def _with_equivalents(gold: GoldAnchors, reached: set[int]) -> set[int]:
    return reached.union(*(group for group in gold.equivalent if reached & set(group)))


def _count_hits(gold: GoldAnchors, hits: Hits) -> int:
    """How many chunks count: each that matches, but the members of one equivalence class only once together."""
    names = {position: group for group in gold.equivalent for position in group}
    counted, used = 0, set[tuple[int, ...]]()
    for hit in hits:
        classes = {names[position] for position in hit if position in names}
        counted += bool(classes - used) or any(position not in names for position in hit)
        used |= classes
    return counted


def scope_miss_rate(gold: GoldAnchors, mode: FolderMode, shut_out: Collection[str] | None) -> Outcome:
    """Whether the choice of folders shut out the note of every gold support. A later fallback does not undo the miss.

    `shut_out` are the notes outside the folders that were chosen first; None: the system did not say.
    """
    missing = _nothing_to_find(gold)
    if missing is not None:
        return missing
    if mode is FolderMode.OFF:
        return outcomes.not_applicable("no folders were chosen: folder mode is off")
    if shut_out is None:
        return outcomes.skipped("the system did not say what it left out")
    return outcomes.yes_or_no(all(support.rel_path in shut_out for support in gold.supports))


def attribution_hit_rate(gold: GoldAnchors, answer: GivenAnswer, *, snippets: bool = False) -> Outcome:
    """Whether one of the answer's references matches one gold support. A declined question cites nothing: 0."""
    missing = _nothing_to_find(gold) or _explain_no_citation(answer)
    return missing or _cites_all_sides(answer, [list(gold.supports)], snippets=snippets)


def _explain_no_citation(answer: GivenAnswer) -> Outcome | None:
    """Why there is no citation to look at: an answerable question that was declined is 0, not left out."""
    return Outcome.scored(0.0) if answer.abstained else explain_missing_answer(answer)


def _cites_all_sides(answer: GivenAnswer, sides: Sequence[Sequence[GoldSupport]], *, snippets: bool = False) -> Outcome:
    """Whether each side is cited by one of its supports; not known where that hangs on an unplaced citation."""
    if all(_cites(answer, side, matches, snippets=snippets) for side in sides):
        return outcomes.yes_or_no(True)
    if all(
        _cites(answer, side, matches, snippets=snippets) or _cites(answer, side, may_match, snippets=snippets)
        for side in sides
    ):
        return outcomes.skipped(f"a citation {UNPLACED}", Cause.UNPLACED)
    return outcomes.yes_or_no(False)


def _cites(
    answer: GivenAnswer, supports: Sequence[GoldSupport], test: Callable[..., bool], *, snippets: bool = False
) -> bool:
    return any(test(reference, support, snippets=snippets) for reference in answer.references for support in supports)


def cite_newer(gold: GoldAnchors, answer: GivenAnswer) -> Outcome:
    """Whether the answer cites the newest of the notes that disagree. It may cite the older ones too."""
    missing = _other_rule(gold, ConflictRule.CITE_NEWER) or _explain_no_citation(answer)
    if missing is not None:
        return missing
    newest = _newest(gold.supports)
    if not newest:
        return outcomes.skipped("several supports and not all are dated: the newer one is not known")
    return _cites_all_sides(answer, [newest])


def _newest(supports: tuple[GoldSupport, ...]) -> list[GoldSupport]:
    """The supports of the latest date. A single support is the newer one without a date."""
    if len(supports) == 1:
        return list(supports)
    dates = [support.dated for support in supports if support.dated is not None]
    return [support for support in supports if support.dated == max(dates)] if len(dates) == len(supports) else []


def cite_both(gold: GoldAnchors, answer: GivenAnswer) -> Outcome:
    """Whether the answer cites every side of the conflict."""
    return _other_rule(gold, ConflictRule.CITE_BOTH) or _explain_no_citation(answer) or _cites_every_side(gold, answer)


def acknowledge_both(gold: GoldAnchors, answer: GivenAnswer) -> Outcome:
    """Whether the answer names every side of the conflict in its text: it quotes a side, or marks a sentence with it.

    A reference that no sentence points to is not enough; `cite_both` is content with it.
    """
    missing = _other_rule(gold, ConflictRule.ACKNOWLEDGE_BOTH) or _explain_no_citation(answer)
    if missing is not None:
        return missing
    sides = _sides(gold)
    if len(sides) < 2:
        return outcomes.skipped("the case names only one side of the conflict")
    marked = {number for claim in claims(answer.text) for number in claim.citations}
    used = tuple(reference for number, reference in enumerate(answer.references, start=1) if number in marked)
    unquoted = [side for side in sides if not _quotes(answer.text, side)]
    return _cites_all_sides(replace(answer, references=used), unquoted)


def _quotes(text: str, side: Sequence[GoldSupport]) -> bool:
    """Whether a text has the words of one of a side's snippets, in order; Markdown marks do not matter."""
    said = f" {normalise_phrase(text)} "
    snippets = (normalise_phrase(snippet) for support in side for snippet in support.snippets)
    return any(snippet and f" {snippet} " in said for snippet in snippets)


def _other_rule(gold: GoldAnchors, rule: ConflictRule) -> Outcome | None:
    if gold.recency_conflict_rule is not rule:
        return outcomes.not_applicable(f"the case does not ask for {rule}")
    return _nothing_to_find(gold)


def _cites_every_side(gold: GoldAnchors, answer: GivenAnswer) -> Outcome:
    sides = _sides(gold)
    if len(sides) < 2:
        return outcomes.skipped("the case names only one side of the conflict")
    return _cites_all_sides(answer, sides)


def _sides(gold: GoldAnchors) -> list[list[GoldSupport]]:
    """The required groups where the case has them, else one side for each note."""
    if gold.required_support_groups:
        return [[gold.supports[position] for position in group] for group in gold.required_support_groups]
    notes = dict.fromkeys(support.rel_path for support in gold.supports)
    return [[support for support in gold.supports if support.rel_path == note] for note in notes]


_SNIPPETS = Parameter(
    name="snippets",
    meaning="whether a chunk must also contain one of the support's snippets",
    default="ignore",
    choices=("ignore", "require"),
)


def _of_passages(compute: Callable[..., Outcome]) -> Callable[[CaseView], Outcome]:
    """Compute over the passages of a case that has anchors."""

    def compute_view(view: CaseView) -> Outcome:
        if view.case.anchors is None:
            return outcomes.not_applicable(NO_ANCHORS)
        return compute(view.case.anchors, view.given.passages, view.spec.cutoff, snippets=_needs_snippets(view))

    return compute_view


def _needs_snippets(view: CaseView) -> bool:
    return view.parameter("snippets") == "require"


def _scope_miss(view: CaseView) -> Outcome:
    gold, seen = view.case.anchors, view.given.seen
    if gold is None:
        return outcomes.not_applicable("the case has no place to find")
    left_out = None if seen is None else seen.excluded if seen.shut_out is None else seen.shut_out
    known = view.dataset.by_id
    shut_out = None if left_out is None else {known[document].rel_path for document in left_out if document in known}
    return scope_miss_rate(gold, view.case.folder_mode, shut_out)


def _of_citations(compute: Callable[[GoldAnchors, GivenAnswer], Outcome]) -> Callable[[CaseView], Outcome]:
    """Compute over the answer to a case that has anchors."""

    def compute_answer(view: CaseView, answer: GivenAnswer) -> Outcome:
        gold = view.case.anchors
        return outcomes.not_applicable(NO_ANCHORS) if gold is None else compute(gold, answer)

    return of_answer(compute_answer)


def _attribution(view: CaseView) -> Outcome:
    snippets = _needs_snippets(view)
    return _of_citations(lambda gold, answer: attribution_hit_rate(gold, answer, snippets=snippets))(view)


_CORE = "the core metrics document"

ENTRIES = (
    MetricEntry(
        name="recall_any",
        compute=FromCase(_of_passages(recall_any)),
        family="anchors",
        summary="Was at least one place that supports the answer retrieved?",
        formula="1 if any of the first k chunks matches any gold support, else 0",
        cutoff=Cutoff.REQUIRED,
        parameters=(_SNIPPETS,),
        citation=f"{_CORE}, section 1.",
        disagreement="The document calls it Recall@K; in the field that is a share of relevant documents, and this is"
        " success@k or hit rate.",
        example="Gold `guide.md` under `Install`; the chunk at place 3 is `guide.md`, `Install > Linux`: @5 gives 1",
    ),
    MetricEntry(
        name="recall_all",
        compute=FromCase(_of_passages(recall_all)),
        family="anchors",
        summary="Multi-hop: was every required part of the evidence retrieved?",
        formula="1 if each required support group has a member matched by one of the first k chunks, else 0",
        cutoff=Cutoff.REQUIRED,
        parameters=(_SNIPPETS,),
        citation=f"{_CORE}, section 1.",
        disagreement="All or nothing, not the share of groups. A hit on an equivalent support satisfies the group.",
        example="Two groups, only the first is hit: recall_any is 1 and recall_all is 0",
    ),
    MetricEntry(
        name="anchor_precision",
        compute=FromCase(_of_passages(anchor_precision)),
        family="anchors",
        summary="How many of the first k chunks support the answer?",
        formula="matching chunks among the first k / k",
        cutoff=Cutoff.REQUIRED,
        parameters=(_SNIPPETS,),
        citation=f"{_CORE}, section 3.",
        disagreement="Divides by k even when fewer chunks came back. Two chunks of one section both count; two members"
        " of one equivalence class count once.",
        example="Three chunks came back, two match: @5 gives 2/5 = 0.4",
    ),
    MetricEntry(
        name="anchor_mrr",
        compute=FromCase(_of_passages(anchor_mrr)),
        family="anchors",
        summary="How high does the first chunk that supports the answer stand?",
        formula="1 / place of the first matching chunk; 0 if none matches",
        cutoff=Cutoff.OPTIONAL,
        parameters=(_SNIPPETS,),
        citation=f"{_CORE}, section 2.",
        disagreement="Over chunks; `mrr` of the ranking family is over documents.",
        example="The first match stands at place 3: 1/3 = 0.33",
    ),
    MetricEntry(
        name="scope_miss_rate",
        compute=FromCase(_scope_miss),
        family="anchors",
        summary="Did the choice of folders shut out every place that supports the answer?",
        formula="1 if no gold support lies in a chosen folder, else 0; only with folder mode on or on_with_fallback",
        better=Better.LOWER,
        citation=f"{_CORE}, section 4.",
        disagreement="The strict definition: one support left in scope is not a miss, and a fallback that widens the"
        " search later does not undo one.",
        example="Gold in `work/` and `home/`; `work` chosen in one case, `travel` in the other: 1 of 2 = 0.5",
    ),
    MetricEntry(
        name="attribution_hit_rate",
        compute=FromCase(_attribution),
        family="anchors",
        summary="Does the answer cite a place that supports it?",
        formula="1 if any reference matches any gold support, else 0; answerable questions only, 0 for a declined one",
        parameters=(_SNIPPETS,),
        citation=f"{_CORE}, section 5.",
        disagreement="Others count answers only: a system that declines 123 of 145 answerable questions then shows 0.73"
        " instead of 0.11.",
        example="Two answers, one cites the gold section, the other an unrelated note, and one abstention: 1 of 3 ="
        " 0.33",
    ),
    MetricEntry(
        name="cite_newer",
        compute=FromCase(_of_citations(cite_newer)),
        family="anchors",
        summary="Where notes disagree by age: does the answer cite the newest?",
        formula="1 if a reference matches a gold support of the latest date, else 0",
        citation=f"{_CORE}, section 1, recency and conflict cases.",
        disagreement="Citing the older note as well is allowed; declining is 0. Several undated supports: skipped.",
        example="Notes of 2023 and 2025 disagree and only the one of 2023 is cited: 0",
    ),
    MetricEntry(
        name="cite_both",
        compute=FromCase(_of_citations(cite_both)),
        family="anchors",
        summary="Where notes disagree: does the answer cite every side?",
        formula="1 if each required group (else each note) is matched by a reference, else 0",
        citation=f"{_CORE}, section 1, recency and conflict cases.",
        disagreement="Two sections of one note are one side unless the case puts them in groups of their own. Declining"
        " is 0.",
        example="Two notes disagree and both are cited: 1",
    ),
    MetricEntry(
        name="acknowledge_both",
        compute=FromCase(_of_citations(acknowledge_both)),
        family="anchors",
        summary="Where notes disagree: does the answer's text name every side?",
        formula="1 if each required group (else each note) is quoted in the text, or marks a sentence of it as its"
        " reference, else 0",
        citation=f"{_CORE}, section 1, recency and conflict cases.",
        disagreement="A reference that no sentence is marked with counts for cite_both and not here. Declining is 0."
        " Whether the answer says that the sides disagree is not read.",
        example="Two notes disagree, both are references, and the text has the mark [1] alone: 0",
    ),
)
register(__name__, ENTRIES)
