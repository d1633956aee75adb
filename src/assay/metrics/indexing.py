"""Indexing: which documents search can never find, which chunks were left out and why, how large chunks are.

All of it is a property of a set of documents. Percentiles are nearest-rank.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from assay.metrics import outcomes
from assay.metrics.catalog import Better, FromRun, MetricEntry, Parameter, register
from assay.metrics.inputs import RunFacts, mean, percentile
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import Outcome, Rate
from assay.records.saving import IndexedDocument, IndexVersions

ANY_REASON = "any"


def no_chunk_rate(document: IndexedDocument, *, embedded: bool = False) -> Outcome:
    """Whether a document has no chunk: none made, or, counting only embedded ones, none that search can find."""
    return outcomes.yes_or_no((document.embedded if embedded else document.attempted) == 0)


def chunk_skip_rate(documents: Iterable[IndexedDocument], reason: str = ANY_REASON) -> Rate:
    """Chunks that were made and not embedded, for one reason or for any, among all that were made."""
    attempted = skipped = 0
    for document in documents:
        attempted += document.attempted
        skipped += sum(count for why, count in document.skipped.items() if reason in (ANY_REASON, why))
    return Rate(hits=skipped, of=attempted)


@dataclass(frozen=True, kw_only=True, slots=True)
class TokensPerChunk:
    """How large the embedded chunks are."""

    min: float
    mean: float
    p95: float
    max: float


def tokens_per_chunk(documents: Iterable[IndexedDocument]) -> TokensPerChunk | None:
    """None when no chunk was embedded."""
    tokens = [count for document in documents for count in document.chunk_tokens]
    average, tail = mean(tokens), percentile(tokens, 95)
    if average is None or tail is None:
        return None
    return TokensPerChunk(min=min(tokens), mean=average, p95=tail, max=max(tokens))


class Statistic(StrEnum):
    """Which number of a distribution; the names of the fields of `TokensPerChunk`."""

    MIN = "min"
    MEAN = "mean"
    P95 = "p95"
    MAX = "max"


def chunk_tokens(documents: Iterable[IndexedDocument], stat: Statistic = Statistic.MEAN) -> Outcome:
    """One number of that distribution."""
    sizes = tokens_per_chunk(documents)
    return outcomes.not_applicable("no chunk was embedded") if sizes is None else Outcome.scored(getattr(sizes, stat))


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionsFound:
    """What the documents of one index were made with."""

    versions: tuple[IndexVersions, ...]
    """Distinct, in order. More than one: parts of the index were made differently."""
    unknown: int
    """Documents that do not say."""

    @property
    def count(self) -> Outcome:
        """How many different ones there are."""
        if not self.versions:
            return outcomes.not_applicable("no document says what it was indexed with")
        return Outcome.scored(len(self.versions))


def index_versions(documents: Iterable[IndexedDocument]) -> VersionsFound:
    """The versions of chunker, embedder and index among some documents."""
    seen = Counter(document.versions for document in documents)
    unknown = seen.pop(None, 0)
    return VersionsFound(versions=tuple(sorted(version for version in seen if version is not None)), unknown=unknown)


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexCoverage:
    """Everything a report shows of one index."""

    no_chunks: Rate
    """Documents of which no chunk was made."""
    unsearchable: Rate
    """Documents of which no chunk was embedded, these included."""
    attempted: int
    embedded: int
    skipped: Mapping[str, int]
    """Chunks by the reason why they were not embedded."""
    tokens: TokensPerChunk | None
    versions: VersionsFound


def index_coverage(documents: Sequence[IndexedDocument]) -> IndexCoverage:
    """The whole account of one set of documents."""
    reasons: Counter[str] = Counter()
    for document in documents:
        reasons.update(document.skipped)
    return IndexCoverage(
        no_chunks=Rate.over(no_chunk_rate(document) for document in documents),
        unsearchable=Rate.over(no_chunk_rate(document, embedded=True) for document in documents),
        attempted=sum(document.attempted for document in documents),
        embedded=sum(document.embedded for document in documents),
        skipped=dict(sorted(reasons.items())),
        tokens=tokens_per_chunk(documents),
        versions=index_versions(documents),
    )


def coverage_by_doc_type(documents: Iterable[IndexedDocument]) -> dict[str, IndexCoverage]:
    """The same for each type of document, since chunking failures cluster by type; "" holds those of no type."""
    groups: defaultdict[str, list[IndexedDocument]] = defaultdict(list)
    for document in documents:
        groups[document.doc_type].append(document)
    return {doc_type: index_coverage(groups[doc_type]) for doc_type in sorted(groups)}


def describe_index(coverage: IndexCoverage) -> dict[str, Any]:
    """Return the account of an index as a run keeps it; the metrics of this family are read from it."""
    return {
        "documents": coverage.no_chunks.of,
        "without_chunks": coverage.no_chunks.hits,
        "unsearchable": coverage.unsearchable.hits,
        "attempted": coverage.attempted,
        "embedded": coverage.embedded,
        "skipped": dict(coverage.skipped),
        "tokens_per_chunk": None if coverage.tokens is None else asdict(coverage.tokens),
        "versions": len(coverage.versions.versions),
    }


def _of_index(compute: Callable[[MetricSpec, Mapping[str, Any]], Outcome]) -> Callable[[MetricSpec, RunFacts], Outcome]:
    def compute_run(spec: MetricSpec, facts: RunFacts) -> Outcome:
        if facts.indexed is None:
            return outcomes.not_applicable("the system does not tell how its documents were indexed")
        return compute(spec, facts.indexed)

    return compute_run


def _read_no_chunks(spec: MetricSpec, index: Mapping[str, Any]) -> Outcome:
    field = "without_chunks" if spec.parameter("counting") == "attempted" else "unsearchable"
    if field not in index:
        return outcomes.skipped("the run was stored before this was kept")
    return outcomes.share(index[field], index["documents"], "there are no documents")


def _read_skips(spec: MetricSpec, index: Mapping[str, Any]) -> Outcome:
    reason = spec.parameter("reason")
    skipped = sum(count for why, count in index["skipped"].items() if reason in (ANY_REASON, why))
    return outcomes.share(skipped, index["attempted"], "no chunk was made")


def _read_sizes(spec: MetricSpec, index: Mapping[str, Any]) -> Outcome:
    sizes = index["tokens_per_chunk"]
    if sizes is None:
        return outcomes.not_applicable("no chunk was embedded")
    return Outcome.scored(sizes[spec.parameter("stat")])


def _read_versions(_: MetricSpec, index: Mapping[str, Any]) -> Outcome:
    if not index.get("versions"):
        return outcomes.not_applicable("no document says what it was indexed with")
    return Outcome.scored(index["versions"])


_COVERAGE = "the core metrics document, indexing coverage metrics."

ENTRIES = (
    MetricEntry(
        name="no_chunk_rate",
        compute=FromRun(_of_index(_read_no_chunks)),
        family="indexing",
        summary="How many documents can search never find, because they have no chunk?",
        formula="documents with no chunk / documents",
        better=Better.LOWER,
        parameters=(
            Parameter(
                name="counting",
                meaning="chunks that were made, or only those that were embedded",
                default="attempted",
                choices=("attempted", "embedded"),
            ),
        ),
        citation=_COVERAGE,
        disagreement="The document counts documents that produced no chunk; one whose chunks were all skipped is"
        " just as invisible, and counting=embedded includes it.",
        example="Four documents: two with chunks, one whose only chunk was skipped, one with none: 1/4 = 0.25",
    ),
    MetricEntry(
        name="chunk_skip_rate",
        compute=FromRun(_of_index(_read_skips)),
        family="indexing",
        summary="How many chunks were made and not embedded?",
        formula="skipped chunks / attempted chunks",
        better=Better.LOWER,
        parameters=(
            Parameter(
                name="reason",
                meaning="one reason, such as `context` for the embedder's context limit, or any",
                default=ANY_REASON,
            ),
        ),
        citation=_COVERAGE,
        disagreement="Over chunks, not documents: one long document with many skipped chunks shows.",
        example="Ten chunks attempted, one over the context limit, one empty: reason=context gives 0.1, any gives 0.2",
    ),
    MetricEntry(
        name="chunk_tokens",
        compute=FromRun(_of_index(_read_sizes)),
        family="indexing",
        summary="How large are the chunks?",
        formula="min, mean, p95 or max of the tokens of the embedded chunks",
        highest=None,
        better=Better.NEITHER,
        parameters=(
            Parameter(
                name="stat",
                meaning="which number of the distribution",
                default="mean",
                choices=tuple(stat.value for stat in Statistic),
            ),
        ),
        citation=_COVERAGE,
        disagreement="Skipped chunks are not in it; p95 is nearest-rank.",
        example="Chunks of 100, 200 and 600 tokens: min 100, p95 and max 600, mean 300",
    ),
    MetricEntry(
        name="index_versions",
        compute=FromRun(_of_index(_read_versions)),
        family="indexing",
        summary="Was the whole index made with one chunker, one embedder and one index version?",
        formula="number of distinct (chunker, embedder, index) versions among the documents",
        lowest=1,
        highest=None,
        better=Better.LOWER,
        citation=_COVERAGE,
        disagreement="The document lists the versions; the number says at a glance whether they are mixed.",
        example="Nine documents with chunker v1 and one with v2: 2",
    ),
)
register(__name__, ENTRIES)
